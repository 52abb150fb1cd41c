//! `listen`: the sockets of a process.

use super::placeholder;
use super::placeholder::{Names, Position};
use super::value::{invalid, shown, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::document::{KeySpan, Node, Table, Value};
use crate::model::{DirectoryKind, Piece, Socket, Text};
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

/// Reads `listen`: an address, an array of addresses, or a table of them by descriptor name.
pub fn read(node: &Node, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Vec<Socket> {
    let Some(table) = node.as_table() else {
        return socket(None, node, names, diagnostics).into_iter().collect();
    };
    let mut sockets = Vec::new();
    for entry in table.entries() {
        let name = &*entry.name;
        match ProcessName::new(name) {
            Some(name) => sockets.extend(socket(Some(name), &entry.node, names, diagnostics)),
            None => {
                let message =
                    format!("`{}` can't be a socket's name: lower-case letters, digits, `_` and `-`", shown(name));
                diagnostics.push(Diagnostic::new(Code::ProcessName, &entry.key, message));
            }
        }
    }
    if table.entries().is_empty() {
        diagnostics.push(invalid(node, "`listen` has no address"));
    }
    sockets
}

/// Instances that share a socket share its `O_NONBLOCK` as well, which systemd sets or clears whenever it starts one of
/// them (systemd issue 29600): what an event loop set for itself is gone then. Which of the two a program needs, only its
/// author knows: one that blocks in accept(2) can't go on where that fails.
pub fn check_mode(table: &Table, instances: usize, sockets: &[Socket], diagnostics: &mut Diagnostics) {
    let Some(listen) = table.get("listen") else {
        if let Some(entry) = table.get("non-blocking") {
            let message =
                "`non-blocking` without `listen` has no effect: it is about the sockets that systemd hands over";
            diagnostics.push(Diagnostic::new(Code::MissingKey, &entry.key, message));
        }
        return;
    };
    let service = table.get("service").and_then(|entry| entry.node.as_table());
    // As standard input a socket is always blocking.
    let passed = |directive: &str| service.is_some_and(|service| service.get(directive).is_some());
    let said = table.get("non-blocking").is_some() || passed("NonBlocking") || passed("StandardInput");
    if instances > 1 && !said && sockets.iter().any(|socket| !socket.each_instance) {
        let message = "the instances share a socket, and systemd makes it blocking for all of them whenever it starts one: an event loop can hang in accept then";
        let help = "add `non-blocking = true` for a program that waits in epoll or poll, `non-blocking = false` for one that waits in accept";
        diagnostics.push(Diagnostic::new(Code::SharedSocket, &listen.key, message).help(help));
    }
}

/// A runtime directory is removed when its service, or for a shared one its holder, stops, and the file of a socket that
/// goes on listening would be gone with it.
pub fn check_places(
    sockets: &[Socket],
    runtime_directories: &[&Text],
    listen: KeySpan<'_>,
    diagnostics: &mut Diagnostics,
) {
    let inside = |address: &Text| {
        let literal = |directory: &&&Text| {
            let name = directory.leading();
            directory.pieces().len() == 1 && address.leading().starts_with(&format!("/run/{name}/"))
        };
        matches!(address.pieces().first(), Some(Piece::Directory(DirectoryKind::Runtime, _)))
            || runtime_directories.iter().any(|directory| literal(&directory))
    };
    if sockets.iter().flat_map(|socket| &socket.listen).any(|(_, address)| inside(address)) {
        let message = "a socket can't be in a runtime directory of the process or the group: a restart removes the directory, and the socket's file with it";
        let help = "put it beside: systemd makes the directories above a socket, `\"unix:/run/NAME-sockets/web\"`";
        diagnostics.push(Diagnostic::new(Code::Conflict, &listen, message).help(help));
    }
}

fn socket(name: Option<ProcessName>, node: &Node, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Option<Socket> {
    let nodes: Vec<&Node> = match &node.value {
        Value::String(_) => vec![node],
        Value::Array(elements) if !elements.is_empty() => elements.iter().collect(),
        _ => {
            diagnostics.push(wrong_type(
                "listen",
                "an address such as `\"tcp:8080\"`, an array of them, or a table",
                node,
            ));
            return None;
        }
    };
    let listen: Vec<_> = nodes.iter().filter_map(|node| address(node, names, diagnostics)).collect();
    let each = |(_, address): &(&str, Text)| address.has(|piece| *piece == Piece::Instance);
    let each_instance = listen.iter().any(each);
    if each_instance && !listen.iter().all(each) {
        let message =
            "some addresses have `{instance}` and some don't: instances can't share those and have these in one socket";
        diagnostics
            .push(invalid(node, message).help("name them: `listen = { shared = \"…\", own = \"…{instance}\" }`"));
        return None;
    }
    (!listen.is_empty()).then_some(Socket { name, each_instance, listen })
}

fn address(node: &Node, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Option<(&'static str, Text)> {
    let text = placeholder::read("listen", node, Position::Path, names, diagnostics)?;
    let leading = text.leading().to_owned();
    let Some((directive, address)) = SCHEMES.iter().find_map(|(scheme, directive)| {
        Some((*directive, (*scheme, leading.strip_prefix(scheme)?.strip_prefix(':')?.to_owned())))
    }) else {
        let message = format!("`listen` has no kind of socket `{}`", shown(leading.split(':').next().unwrap_or("")));
        diagnostics.push(invalid(node, message).help("write `tcp:`, `udp:`, `unix:`, `unix-dgram:`, `unix-seqpacket:`, `fifo:` or `vsock:` in front of the address"));
        return None;
    };
    let (scheme, address) = address;
    let plain = text.pieces().iter().all(|piece| matches!(piece, Piece::Literal(_)));
    if address.chars().any(|c| c.is_control()) || address.ends_with('\\') || !address_is_valid(scheme, &address, plain)
    {
        diagnostics
            .push(invalid(node, format!("`{}` isn't an address for `{scheme}:`{}", shown(&address), example(scheme))));
        return None;
    }
    let mut rest = text.clone();
    if let Some(literal) = rest.leading_mut() {
        *literal = if scheme == "vsock" { format!("vsock:{address}") } else { address };
        if literal.is_empty() {
            rest = Text::from(rest.into_pieces().split_off(1));
        }
    }
    Some((directive, rest))
}

/// `plain`: there are no placeholders, so that the whole address can be judged.
fn address_is_valid(scheme: &str, address: &str, plain: bool) -> bool {
    let port = |text: &str| text.parse::<u16>().is_ok_and(|port| port > 0);
    match scheme {
        "tcp" | "udp" if plain => match address.rsplit_once(':') {
            None => port(address),
            Some((host, number)) => {
                let host = host.strip_prefix('[').map_or(Some(host), |host| host.strip_suffix(']'));
                port(number) && host.is_some_and(|host| host.parse::<std::net::IpAddr>().is_ok())
            }
        },
        "tcp" | "udp" => address.chars().all(|c| c.is_ascii_alphanumeric() || ".:[]".contains(c)),
        "vsock" => {
            !plain
                || address
                    .split_once(':')
                    // Without a CID it is any.
                    .is_some_and(|(cid, port)| {
                        !port.is_empty() && [cid, port].iter().all(|part| part.chars().all(|c| c.is_ascii_digit()))
                    })
        }
        "fifo" => !plain || address.starts_with('/'),
        _ => (!plain && address.is_empty()) || address.starts_with(['/', '@']) && (!plain || address.len() > 1),
    }
}

fn example(scheme: &str) -> &'static str {
    match scheme {
        "tcp" | "udp" => "; write a port, or an IP address and a port: `127.0.0.1:80`, `[::1]:80`",
        "vsock" => "; write `CID:PORT`",
        "fifo" => "; write an absolute path",
        _ => "; write an absolute path, or `@NAME`",
    }
}
