//! The addresses of sockets, ports and probes, as far as a group file gives them literally.

use std::net::IpAddr;

use crate::model::service::{Probe, Service};
use crate::model::text::{Piece, Text};
use crate::notify::probe::http::host_and_port;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp(Host, u16),
    Udp(Host, u16),
    /// A path, or `@NAME`.
    Unix(String),
}

/// The host part of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// All addresses of the machine, or unknown.
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

    /// True if a connection to one reaches a listener on the other.
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
    /// The address of a socket unit, for an instance.
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

    /// The address of a program that listens on `$PORT`.
    pub fn of_port(service: &Service) -> Option<Self> {
        let port = spelled_out(service.environment.get("PORT")?, None)?;
        Some(Self::Tcp(Host::Any, port.parse().ok()?))
    }

    /// The TCP port, if the address certainly is one of this machine.
    pub fn port_of_this_machine(&self) -> Option<u16> {
        match self {
            Self::Tcp(Host::Any, port) => Some(*port),
            Self::Tcp(Host::Ip(address), port) if address.is_loopback() => Some(*port),
            Self::Tcp(Host::Name(name), port) if name == "localhost" => Some(*port),
            _ => None,
        }
    }

    /// The address that a probe connects to, for an instance.
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

    /// True if a connection to one reaches a listener on the other.
    pub fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tcp(one, port), Self::Tcp(other, same)) | (Self::Udp(one, port), Self::Udp(other, same)) => {
                port == same && one.meets(other)
            }
            (one, other) => one == other,
        }
    }
}

/// The text, if all its placeholders are known.
fn spelled_out(text: &Text, instance: Option<&str>) -> Option<String> {
    let pieces = text.pieces().iter().map(|piece| match piece {
        Piece::Literal(literal) => Some(literal.as_str()),
        Piece::Instance => instance,
        _ => None,
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_reaches_a_listener() {
        let socket = |text: &str| Address::of_socket("ListenStream", &Text::literal(text), None).unwrap();
        let tcp = |text: &str| Address::of_probe(&Probe::Tcp(Text::literal(text)), None).unwrap();
        let http = |text: &str| Address::of_probe(&Probe::Http(Text::literal(text), Vec::new()), None).unwrap();
        for (listener, connection) in [
            ("80", http("http://127.0.0.1/")),
            ("80", http("http://example.org?x")),
            ("127.0.0.1:80", tcp("localhost:80")),
            ("[::1]:80", tcp("[::1]:80")),
            ("0.0.0.0:80", tcp("10.0.0.1:80")),
            ("/run/a.sock", http("http+unix:///run/a.sock:/x")),
            ("/run/a.sock", http("http+unix://%2Frun%2Fa.sock/x")),
            ("@a", http("http+unix://@a/x")),
        ] {
            assert!(socket(listener).meets(&connection), "{listener} {connection:?}");
        }
        for (listener, connection) in [
            ("80", tcp("127.0.0.1:81")),
            ("10.0.0.1:80", tcp("127.0.0.1:80")),
            ("10.0.0.1:80", tcp("localhost:80")),
            ("/run/a.sock", http("http+unix:///run/b.sock:/x")),
        ] {
            assert!(!socket(listener).meets(&connection), "{listener} {connection:?}");
        }
    }
}
