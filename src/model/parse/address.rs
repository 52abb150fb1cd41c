//! Where programs listen and are asked, as far as a group file says it literally: to tell whether two of these are one.

use std::net::IpAddr;

use crate::model::{Piece, Probe, Service, Text};
use crate::notify::probe::http::host_and_port;

/// An address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp(Host, u16),
    Udp(Host, u16),
    /// A path, or `@NAME`.
    Unix(String),
}

/// On which of the machine's addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// All of them, or it isn't known on which.
    Any,
    Ip(IpAddr),
    Name(String),
}

impl Host {
    fn read(text: &str) -> Self {
        match text.parse::<IpAddr>() {
            Ok(address) if address.is_unspecified() => Self::Any,
            Ok(address) => Self::Ip(address),
            Err(_) => Self::Name(text.to_ascii_lowercase()),
        }
    }

    /// Whether who asks at one meets who listens on the other.
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::Ip(address), Self::Name(name)) | (Self::Name(name), Self::Ip(address)) => {
                name == "localhost" && address.is_loopback()
            }
            (one, other) => one == other,
        }
    }
}

impl Address {
    /// What a socket unit listens on, for this instance.
    pub fn of_socket(directive: &str, text: &Text, instance: Option<&str>) -> Option<Self> {
        let text = spelled_out(text, instance)?;
        if text.starts_with(['/', '@']) {
            return Some(Self::Unix(text));
        }
        let (host, port) = match text.parse() {
            Ok(port) => (Host::Any, port),
            Err(_) => host_and_port(&text, None).map(|(host, port)| (Host::read(&host), port))?,
        };
        match directive {
            "ListenStream" => Some(Self::Tcp(host, port)),
            "ListenDatagram" => Some(Self::Udp(host, port)),
            _ => None,
        }
    }

    /// Where a program listens that goes by the variable `PORT`.
    pub fn of_port(service: &Service) -> Option<Self> {
        let port = spelled_out(service.environment.get("PORT")?, None)?;
        Some(Self::Tcp(Host::Any, port.parse().ok()?))
    }

    /// The TCP port, where that is one of this machine for sure.
    pub fn port_of_this_machine(&self) -> Option<u16> {
        match self {
            Self::Tcp(Host::Any, port) => Some(*port),
            Self::Tcp(Host::Ip(address), port) if address.is_loopback() => Some(*port),
            Self::Tcp(Host::Name(name), port) if name == "localhost" => Some(*port),
            _ => None,
        }
    }

    /// Where a probe of this instance asks.
    pub fn of_probe(probe: &Probe, instance: Option<&str>) -> Option<Self> {
        let tcp = |text: &str, default| {
            let (host, port) = host_and_port(text, default)?;
            Some(Self::Tcp(Host::read(&host), port))
        };
        match probe {
            Probe::Tcp(text) => tcp(&spelled_out(text, instance)?, None),
            Probe::Unix(text) => spelled_out(text, instance).map(Self::Unix),
            Probe::Http(text, _) => {
                let url = spelled_out(text, instance)?;
                if let Some(rest) = url.strip_prefix("http://") {
                    return tcp(rest.split(['/', '?', '#']).next()?, Some(80));
                }
                let rest = url.strip_prefix("http+unix://")?;
                let end = if rest.starts_with('/') { rest.find(':') } else { rest.find('/') };
                let path = &rest[..end.unwrap_or(rest.len())];
                Some(Self::Unix(path.replace("%2F", "/").replace("%2f", "/")))
            }
            Probe::File(_) | Probe::Command(_) | Probe::Fd(_) | Probe::Listening(_) => None,
        }
    }

    /// Whether who asks at one meets who listens on the other.
    pub fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tcp(one, port), Self::Tcp(other, same)) | (Self::Udp(one, port), Self::Udp(other, same)) => {
                port == same && one.meets(other)
            }
            (one, other) => one == other,
        }
    }
}

/// A text of which all is known.
fn spelled_out(text: &Text, instance: Option<&str>) -> Option<String> {
    let mut all = String::new();
    for piece in text.pieces() {
        all.push_str(match piece {
            Piece::Literal(literal) => literal,
            Piece::Instance => instance?,
            _ => return None,
        });
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_there_meets_who_listens_here() {
        let socket = |text: &str| Address::of_socket("ListenStream", &Text::literal(text), None).unwrap();
        let tcp = |text: &str| Address::of_probe(&Probe::Tcp(Text::literal(text)), None).unwrap();
        let http = |text: &str| Address::of_probe(&Probe::Http(Text::literal(text), Vec::new()), None).unwrap();
        for (listens, asks) in [
            ("80", http("http://127.0.0.1/")),
            ("80", http("http://example.org?x")),
            ("127.0.0.1:80", tcp("localhost:80")),
            ("[::1]:80", tcp("[::1]:80")),
            ("0.0.0.0:80", tcp("10.0.0.1:80")),
            ("/run/a.sock", http("http+unix:///run/a.sock:/x")),
            ("/run/a.sock", http("http+unix://%2Frun%2Fa.sock/x")),
            ("@a", http("http+unix://@a/x")),
        ] {
            assert!(socket(listens).meets(&asks), "{listens} {asks:?}");
        }
        for (listens, asks) in [
            ("80", tcp("127.0.0.1:81")),
            ("10.0.0.1:80", tcp("127.0.0.1:80")),
            ("10.0.0.1:80", tcp("localhost:80")),
            ("/run/a.sock", http("http+unix:///run/b.sock:/x")),
        ] {
            assert!(!socket(listens).meets(&asks), "{listens} {asks:?}");
        }
    }
}
