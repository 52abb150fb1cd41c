//! `listen`: the sockets of a process.

use super::context::Reader;
use super::placeholder::Position;
use super::value::{Result, conflict, invalid, missing, shown, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::group_file::document::{Node, Value};
use crate::model::text::{DirectoryKind, Piece, Text};
use crate::model::types::Socket;
use crate::unit::name::ProcessName;

const SCHEMES: &[(&str, &str)] = &[
    ("tcp", "ListenStream"),
    ("udp", "ListenDatagram"),
    ("unix", "ListenStream"),
    ("unix-dgram", "ListenDatagram"),
    ("unix-seqpacket", "ListenSequentialPacket"),
    ("fifo", "ListenFIFO"),
    ("vsock", "ListenStream"),
];

impl Reader<'_, '_> {
    /// `listen`: an address, an array of addresses, or a table of these by descriptor name. `runtime_directories`: of the
    /// process and of the group.
    pub fn sockets(&mut self, node: &Node, runtime_directories: &[Text]) -> Vec<Socket> {
        let mut sockets = Vec::new();
        match node.as_table() {
            None => sockets.extend(self.socket(None, node)),
            Some(table) if table.entries().is_empty() => self.push(invalid(node, "`listen` has no address")),
            Some(table) => {
                for entry in table.entries() {
                    match ProcessName::new(&entry.name) {
                        Some(name) => sockets.extend(self.socket(Some(name), &entry.node)),
                        None => {
                            let message = format!("`{}` is not a valid socket name", shown(&entry.name));
                            let help = "use lower-case letters, digits, `_` and `-`";
                            self.push(Diagnostic::new(Code::ProcessName, entry, message).help(help));
                        }
                    }
                }
            }
        }
        // A runtime directory is removed when its service stops (a shared one: when the group stops), and with it the file
        // of a socket that systemd still listens on.
        let mut addresses = sockets.iter().flat_map(|socket| &socket.listen);
        if addresses.any(|(_, address)| is_inside(address, runtime_directories)) {
            let message = "a socket in a runtime directory of the process or the group is removed at each restart";
            let help = "write `\"unix:/run/NAME-sockets/web\"`: systemd creates the directories above a socket";
            self.push(conflict(node, message).help(help));
        }
        sockets
    }

    /// Instances that share a socket share its `O_NONBLOCK`, which systemd sets or clears each time it starts one of them
    /// (systemd issue 29600), undoing what an event loop has set. Only the author knows which of the two a program needs:
    /// one that blocks in accept(2) fails on a non-blocking socket.
    pub fn check_non_blocking(&mut self, instances: usize, sockets: &[Socket]) {
        let non_blocking = self.table.get("non-blocking");
        let Some(listen) = self.table.get("listen") else {
            if let Some(entry) = non_blocking {
                self.push(missing(entry, "`non-blocking` has no effect without `listen`"));
            }
            return;
        };
        let service = self.table.table("service");
        let passed = |directive: &str| service.is_some_and(|service| service.get(directive).is_some());
        // As standard input a socket is always blocking.
        let decided = non_blocking.is_some() || passed("NonBlocking") || passed("StandardInput");
        if instances > 1 && !decided && sockets.iter().any(|socket| !socket.each_instance) {
            let message = "the instances share a socket, and `non-blocking` is not set: each start of one instance makes \
                           the socket blocking for all, and an event loop can hang in accept(2)";
            let help = "add `non-blocking = true` for a program that waits in epoll or poll, `non-blocking = false` for \
                        one that waits in accept(2)";
            self.push(Diagnostic::new(Code::SharedSocket, listen, message).help(help));
        }
    }

    fn socket(&mut self, name: Option<ProcessName>, node: &Node) -> Option<Socket> {
        let nodes = match &node.value {
            Value::Array(elements) if !elements.is_empty() => elements,
            Value::String(_) => std::slice::from_ref(node),
            _ => {
                let expected = "an address such as `\"tcp:8080\"`, an array of them, or a table";
                self.push(wrong_type("listen", expected, node));
                return None;
            }
        };
        let listen: Vec<_> = nodes.iter().filter_map(|node| self.address(node)).collect();
        let each = |(_, address): &(&str, Text)| address.has(|piece| *piece == Piece::Instance);
        let each_instance = listen.iter().any(each);
        if each_instance && !listen.iter().all(each) {
            let message = "`listen` mixes addresses with and without `{instance}` in one socket unit";
            let help = "write two sockets: `listen = { shared = \"…\", own = \"…{instance}\" }`";
            self.push(invalid(node, message).help(help));
            return None;
        }
        (!listen.is_empty()).then_some(Socket { name, each_instance, listen })
    }

    fn address(&mut self, node: &Node) -> Option<(&'static str, Text)> {
        let text = self.text("listen", node, Position::Path)?;
        self.diagnostics.ok(address(node, text))
    }
}

/// The directive and the address without its scheme.
fn address(node: &Node, mut text: Text) -> Result<(&'static str, Text)> {
    let literal = text.is_literal();
    let scheme = SCHEMES.iter().find_map(|(scheme, directive)| {
        Some((*scheme, *directive, text.leading().strip_prefix(scheme)?.strip_prefix(':')?.to_owned()))
    });
    let Some((scheme, directive, address)) = scheme else {
        let message =
            format!("`listen` has no socket type `{}`", shown(text.leading().split(':').next().unwrap_or("")));
        let known: Vec<_> = SCHEMES.iter().map(|(scheme, _)| format!("`{scheme}:`")).collect();
        return Err(invalid(node, message).help(format!("begin the address with one of {}", known.join(", "))));
    };
    if address.chars().any(char::is_control) || address.ends_with('\\') || !is_valid(scheme, &address, literal) {
        let help = match scheme {
            "tcp" | "udp" => "write a port, or an IP address and a port: `127.0.0.1:80`, `[::1]:80`",
            "vsock" => "write `CID:PORT`",
            "fifo" => "write an absolute path",
            _ => "write an absolute path, or `@NAME`",
        };
        return Err(invalid(node, format!("`{}` is not a valid `{scheme}:` address", shown(&address))).help(help));
    }
    if let Some(leading) = text.leading_mut() {
        *leading = if scheme == "vsock" { format!("vsock:{address}") } else { address };
        if leading.is_empty() {
            text = Text::from(text.into_pieces().split_off(1));
        }
    }
    Ok((directive, text))
}

/// `literal`: without placeholders, so that the whole address can be checked.
fn is_valid(scheme: &str, address: &str, literal: bool) -> bool {
    let port = |text: &str| text.parse::<u16>().is_ok_and(|port| port > 0);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match scheme {
        "tcp" | "udp" if literal => match address.rsplit_once(':') {
            None => port(address),
            Some((host, number)) => {
                let host = host.strip_prefix('[').map_or(Some(host), |host| host.strip_suffix(']'));
                port(number) && host.is_some_and(|host| host.parse::<std::net::IpAddr>().is_ok())
            }
        },
        "tcp" | "udp" => address.chars().all(|c| c.is_ascii_alphanumeric() || ".:[]".contains(c)),
        // An empty CID stands for any.
        "vsock" if literal => {
            address.split_once(':').is_some_and(|(cid, port)| digits(cid) && digits(port) && !port.is_empty())
        }
        "vsock" => true,
        "fifo" => !literal || address.starts_with('/'),
        _ if literal => address.starts_with(['/', '@']) && address.len() > 1,
        _ => address.is_empty() || address.starts_with(['/', '@']),
    }
}

fn is_inside(address: &Text, runtime_directories: &[Text]) -> bool {
    let inside = |directory: &Text| {
        directory.pieces().len() == 1 && address.leading().starts_with(&format!("/run/{}/", directory.leading()))
    };
    matches!(address.pieces().first(), Some(Piece::Directory(DirectoryKind::Runtime, _)))
        || runtime_directories.iter().any(inside)
}
