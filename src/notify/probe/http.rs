//! One GET of HTTP/1.1, of which only the status line is read. No TLS: a
//! health check of one's own machine needs none, and a certificate that has
//! expired says nothing about the program.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::{Attempt, Miss, UnixAddress, socket};

/// More than this is no status line.
const LONGEST_STATUS_LINE: usize = 4096;

/// What is asked, and which answers count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The URL as given, for messages.
    url: String,
    server: Server,
    /// The value of `Host:`.
    authority: String,
    /// Path and query.
    target: String,
    headers: Vec<String>,
    statuses: Vec<(u16, u16)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Server {
    Tcp { host: String, port: u16 },
    Unix(UnixAddress),
}

impl Request {
    /// Reads a URL: `http://HOST[:PORT][/PATH]`,
    /// `http+unix://%2Frun%2Fsocket/PATH` or `http+unix:///run/socket:/PATH`.
    ///
    /// # Errors
    /// One sentence about what it isn't.
    pub fn parse(url: &str) -> Result<Request, String> {
        if url.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(format!("`{url}` holds a blank or control character; write it as `%20`"));
        }
        let plain = url.split('#').next().unwrap_or_default();
        let (server, authority, target) = if let Some(rest) = plain.strip_prefix("http://") {
            tcp_server(rest, url)?
        } else if let Some(rest) = plain.strip_prefix("http+unix://") {
            unix_server(rest, url)?
        } else if plain.starts_with("https://") {
            return Err(format!("`{url}` needs TLS, which isn't spoken here; ask the plain port, or use a command"));
        } else {
            return Err(format!("`{url}` isn't an `http://` or `http+unix://` URL"));
        };
        Ok(Request { url: url.to_owned(), server, authority, target, headers: Vec::new(), statuses: Vec::new() })
    }

    /// Adds a header, `Name: value`.
    ///
    /// # Errors
    /// One sentence if it isn't one.
    pub fn header(&mut self, header: &str) -> Result<(), String> {
        let name = header.split(':').next().unwrap_or_default();
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let fits = header.contains(':') && !name.is_empty() && name.chars().all(is_token);
        if !fits || header.chars().any(char::is_control) {
            return Err(format!("`{}` isn't a header of the form `Name: value`", header.escape_debug()));
        }
        self.headers.push(header.to_owned());
        Ok(())
    }

    /// Adds statuses that count: `204`, `200-399`, `200,300-399`.
    ///
    /// # Errors
    /// One sentence if they aren't.
    pub fn statuses(&mut self, ranges: &str) -> Result<(), String> {
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| {
                let plain = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
                text.parse::<u16>().ok().filter(|number| plain && (100..600).contains(number))
            };
            match (number(first.trim()), number(last.trim())) {
                (Some(first), Some(last)) if first <= last => self.statuses.push((first, last)),
                _ => {
                    return Err(format!("`{range}` isn't a status or a range like `200-399`"));
                }
            }
        }
        Ok(())
    }

    fn counts(&self, status: u16) -> bool {
        if self.statuses.is_empty() {
            return (200..400).contains(&status);
        }
        self.statuses.iter().any(|(first, last)| (*first..=*last).contains(&status))
    }

    fn text(&self) -> String {
        let given = |name: &str| {
            self.headers.iter().any(|header| header.split(':').next().is_some_and(|own| own.eq_ignore_ascii_case(name)))
        };
        let mut text = format!("GET {} HTTP/1.1\r\n", self.target);
        for (name, value) in [
            ("Host", self.authority.as_str()),
            ("User-Agent", concat!("copse-notify/", env!("CARGO_PKG_VERSION"))),
            ("Accept", "*/*"),
            ("Connection", "close"),
        ] {
            if !given(name) {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for header in &self.headers {
            text.push_str(header);
            text.push_str("\r\n");
        }
        text + "\r\n"
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

type Parts = (Server, String, String);

fn tcp_server(rest: &str, url: &str) -> Result<Parts, String> {
    let (authority, target) = split_target(rest);
    if authority.contains('@') {
        return Err(format!("`{url}` holds a user name; send an `Authorization:` header instead"));
    }
    let (host, port) =
        host_and_port(authority, Some(80)).ok_or_else(|| format!("`{url}` has no host, or no port after the colon"))?;
    Ok((Server::Tcp { host, port }, authority.to_owned(), target))
}

fn unix_server(rest: &str, url: &str) -> Result<Parts, String> {
    let no_socket = || format!("`{url}` names no socket; write `http+unix:///run/app.sock:/path`");
    let (path, target) = if rest.starts_with('/') {
        let (path, target) = rest.split_once(':').unwrap_or((rest, "/"));
        let target = if target.is_empty() { "/" } else { target };
        (percent_decoded(path), target.to_owned())
    } else {
        let (authority, target) = split_target(rest);
        (percent_decoded(authority), target)
    };
    let path = path.filter(|path| path.len() > 1 && matches!(path[0], b'/' | b'@')).ok_or_else(no_socket)?;
    if !target.starts_with('/') {
        return Err(no_socket());
    }
    let address = match path.strip_prefix(b"@") {
        Some(name) => UnixAddress::Abstract(name.to_vec()),
        None => {
            let path = String::from_utf8(path).map_err(|_| no_socket())?;
            UnixAddress::Path(PathBuf::from(path))
        }
    };
    Ok((Server::Unix(address), "localhost".to_owned(), target))
}

fn split_target(rest: &str) -> (&str, String) {
    match rest.find(['/', '?']) {
        Some(at) if rest[at..].starts_with('?') => (&rest[..at], format!("/{}", &rest[at..])),
        Some(at) => (&rest[..at], rest[at..].to_owned()),
        None => (rest, "/".to_owned()),
    }
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok().filter(|byte| *byte != 0)?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    Some(bytes)
}

/// Splits `HOST:PORT`, `[V6]:PORT`; the port may be missing where there is a
/// default.
pub fn host_and_port(text: &str, default: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        (host, after.strip_prefix(':').or(after.is_empty().then_some(""))?)
    } else {
        let (host, port) = text.split_once(':').unwrap_or((text, ""));
        // A second colon: an IPv6 address that misses its brackets.
        if port.contains(':') {
            return None;
        }
        (host, port)
    };
    let port = match (port, default) {
        ("", Some(default)) => default,
        (digits, _) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().filter(|port| *port > 0)?
        }
        _ => return None,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Asks once.
pub(super) fn get(request: &Request, attempt: &Attempt<'_>) -> Result<(), Miss> {
    let socket = match &request.server {
        Server::Tcp { host, port } => socket::tcp(host, *port, attempt)?,
        Server::Unix(address) => socket::unix(address, attempt)?,
    };
    send_all(&socket, request.text().as_bytes(), attempt)?;
    let line = read_line(&socket, attempt)?;
    let status = status_of(&line).ok_or_else(|| Miss::NotYet("the answer isn't HTTP".to_owned()))?;
    if !request.counts(status) {
        return Err(Miss::NotYet(format!("status {status}")));
    }
    drain(&socket, attempt);
    Ok(())
}

fn send_all(socket: &OwnedFd, mut rest: &[u8], attempt: &Attempt<'_>) -> Result<(), Miss> {
    while !rest.is_empty() {
        match send(socket, rest, SendFlags::NOSIGNAL) {
            Ok(sent) => rest = &rest[sent..],
            Err(Errno::AGAIN) => attempt.wait(socket.as_fd(), PollFlags::OUT)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(Miss::not_yet(error)),
        }
    }
    Ok(())
}

fn read_line(socket: &OwnedFd, attempt: &Attempt<'_>) -> Result<Vec<u8>, Miss> {
    let mut line = Vec::new();
    let mut buffer = [0; 1024];
    while line.len() < LONGEST_STATUS_LINE {
        match recv(socket, &mut buffer, RecvFlags::empty()) {
            Ok((_, 0)) => return Err(Miss::NotYet("closed without an answer".to_owned())),
            Ok((_, count)) => {
                line.extend_from_slice(&buffer[..count]);
                if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                    line.truncate(end);
                    return Ok(line);
                }
            }
            Err(Errno::AGAIN) => attempt.wait(socket.as_fd(), PollFlags::IN)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(Miss::not_yet(error)),
        }
    }
    Err(Miss::NotYet("the answer isn't HTTP".to_owned()))
}

fn status_of(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line).ok()?.trim_end_matches('\r');
    let rest = line.strip_prefix("HTTP/1.")?;
    let (version, rest) = rest.split_once(' ')?;
    let digits = rest.get(..3)?;
    let ends = rest.len() == 3 || rest.as_bytes()[3] == b' ';
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    (matches!(version, "0" | "1") && ends && plain).then(|| digits.parse().ok())?
}

/// Reads on for a moment: a server whose answer is cut off logs a broken pipe
/// or a reset, once for every probe.
fn drain(socket: &OwnedFd, attempt: &Attempt<'_>) {
    let mut buffer = [0; 4096];
    for _ in 0..16 {
        match recv(socket, &mut buffer, RecvFlags::empty()) {
            Ok((_, count)) if count > 0 => {}
            Err(Errno::AGAIN) => {
                let moment = Attempt { watched: attempt.watched, deadline: Instant::now() + Duration::from_millis(5) };
                if moment.wait(socket.as_fd(), PollFlags::IN).is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target_of(url: &str) -> String {
        Request::parse(url).unwrap().target
    }

    #[test]
    fn urls() {
        assert_eq!(target_of("http://h"), "/");
        assert_eq!(target_of("http://h:81/a?b#c"), "/a?b");
        assert_eq!(target_of("http://[::1]:81?x"), "/?x");
        assert_eq!(target_of("http+unix://%2Frun%2Fa.sock/x"), "/x");
        assert_eq!(target_of("http+unix:///run/a.sock:/x"), "/x");
        assert_eq!(target_of("http+unix:///run/a.sock"), "/");
        assert_eq!(
            Request::parse("http+unix://%2Frun%2Fa.sock/x").unwrap().server,
            Server::Unix(UnixAddress::Path("/run/a.sock".into()))
        );
        assert_eq!(
            Request::parse("http+unix://@app/x").unwrap().server,
            Server::Unix(UnixAddress::Abstract(b"app".to_vec()))
        );
    }

    #[test]
    fn what_is_no_url_is_refused_in_words() {
        for (url, message) in [
            ("https://h/", "`https://h/` needs TLS, which isn't spoken here; ask the plain port, or use a command"),
            ("ftp://h/", "`ftp://h/` isn't an `http://` or `http+unix://` URL"),
            ("http://u@h/", "`http://u@h/` holds a user name; send an `Authorization:` header instead"),
            ("http://h:x/", "`http://h:x/` has no host, or no port after the colon"),
            ("http:///x", "`http:///x` has no host, or no port after the colon"),
            ("http://h/a b", "`http://h/a b` holds a blank or control character; write it as `%20`"),
            ("http+unix://x/y", "`http+unix://x/y` names no socket; write `http+unix:///run/app.sock:/path`"),
        ] {
            assert_eq!(Request::parse(url).unwrap_err(), message);
        }
    }

    #[test]
    fn hosts_and_ports() {
        let split = |text| host_and_port(text, None);
        assert_eq!(split("h:80"), Some(("h".to_owned(), 80)));
        assert_eq!(split("[::1]:80"), Some(("::1".to_owned(), 80)));
        for bad in ["h", "h:", ":80", "h:0", "h:65536", "::1:80", "[::1]", "[x]:80", "h:+1", "[::1]80"] {
            assert_eq!(split(bad), None, "{bad}");
        }
    }

    #[test]
    fn statuses_and_headers() {
        let mut request = Request::parse("http://h").unwrap();
        assert!(request.counts(200) && request.counts(399) && !request.counts(404));
        request.statuses("204, 300-302").unwrap();
        request.statuses("503").unwrap();
        for (status, counts) in [(204, true), (200, false), (301, true), (303, false), (503, true)] {
            assert_eq!(request.counts(status), counts, "{status}");
        }
        for bad in ["", "20", "300-200", "200-", "99", "600", "+20", "2xx"] {
            assert!(request.statuses(bad).is_err(), "{bad}");
        }
        request.header("host: example.org").unwrap();
        request.header("X-A: b").unwrap();
        for bad in ["x", ": y", "a b: c", "A: b\r\nX: y"] {
            assert!(request.header(bad).is_err(), "{bad}");
        }
        assert_eq!(
            request.text(),
            format!(
                "GET / HTTP/1.1\r\nUser-Agent: copse-notify/{}\r\nAccept: */*\r\n\
                 Connection: close\r\nhost: example.org\r\nX-A: b\r\n\r\n",
                env!("CARGO_PKG_VERSION")
            )
        );
    }

    #[test]
    fn status_lines() {
        for (line, status) in [
            ("HTTP/1.1 200 OK\r", Some(200)),
            ("HTTP/1.0 404", Some(404)),
            ("HTTP/1.1 2000 x", None),
            ("HTTP/2 200", None),
            ("SSH-2.0-x", None),
            ("HTTP/1.1 +20 x", None),
        ] {
            assert_eq!(status_of(line.as_bytes()), status, "{line}");
        }
    }
}
