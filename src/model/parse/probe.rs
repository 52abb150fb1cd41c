//! `ready`, `health` and `settled`.

use super::command;
use super::command::Surroundings;
use super::placeholder;
use super::placeholder::Position;
use super::service;
use super::value;
use super::value::{invalid, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::document::{Node, Table, Value};
use crate::model::{Health, Piece, Probe, Ready, Span};

/// The probes, by key; `status` belongs to `http`.
pub const PROBES: &[&str] = &["tcp", "unix", "http", "status", "file", "command", "fd", "listening"];
/// What people write as a key though it is one of `ready`; a `command` is more likely meant to be `exec`.
pub const READY: &[&str] = &["dbus", "pid-file", "tcp", "unix", "http", "file", "fd", "listening"];
/// The words of `ready`.
pub const WORDS: &[&str] = &["exec", "notify", "oneshot"];
/// What `health` takes beside its probes.
pub const HEALTH: &[&str] = &["interval-sec", "failures"];
/// What `ready` takes instead of probes.
pub const OTHERWISE: &[&str] = &["dbus", "pid-file"];
/// What `fd` can be: the standard streams are no signal of readiness.
pub const FD: (i64, i64) = (3, 1023);
/// What `failures` can be.
pub const FAILURES_RANGE: (i64, i64) = (1, 1000);
/// `health` without `interval-sec`.
const INTERVAL: Span = Span::seconds("10s", 10);
/// `health` without `failures`.
const FAILURES: u32 = 3;

/// `ready`: a word, `{ dbus = NAME }`, `{ pid-file = PATH }`, or probes.
pub fn ready(node: &Node, around: &Surroundings<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let table = match &node.value {
        Value::Table(table) => table,
        Value::String(_) => {
            let word = match &node.value {
                Value::String(text) if READY.contains(&&**text) || PROBES.contains(&&**text) => {
                    diagnostics.push(probe_as_word(text, node));
                    None
                }
                _ => value::word("ready", node, WORDS, diagnostics),
            };
            return word.map(|word| match word {
                "notify" => Ready::Notify,
                "oneshot" => Ready::Oneshot,
                _ => Ready::Exec,
            });
        }
        _ => {
            diagnostics.push(wrong_type(
                "ready",
                "`\"exec\"`, `\"notify\"`, `\"oneshot\"` or a table such as `{ tcp = \"127.0.0.1:80\" }`",
                node,
            ));
            return None;
        }
    };
    for (key, read) in
        [("dbus", dbus as fn(&Node, &Surroundings<'_>, &mut Diagnostics) -> Option<Ready>), ("pid-file", pid_file)]
    {
        if let Some(entry) = table.get(key) {
            if table.entries().len() > 1 {
                diagnostics.push(Diagnostic::new(
                    Code::Conflict,
                    &node.place,
                    format!("`{key}` excludes every other way of being ready"),
                ));
                return None;
            }
            return read(&entry.node, around, diagnostics);
        }
    }
    value::unknown_keys("`ready`", table, &[PROBES, OTHERWISE].concat(), diagnostics);
    probes("ready", node, table, around, diagnostics).map(Ready::Probe)
}

/// A probe is a table: it has to be told where to ask.
fn probe_as_word(name: &str, node: &Node) -> Diagnostic {
    let example = match name {
        "tcp" => "tcp = \"127.0.0.1:8080\"",
        "unix" => "unix = \"/run/app.sock\"",
        "file" => "file = \"/run/app/ready\"",
        "command" => "command = \"/usr/bin/app ping\"",
        "fd" => "fd = 3",
        "listening" => "listening = 8080",
        "dbus" => "dbus = \"org.example.App\"",
        "pid-file" => "pid-file = \"/run/app.pid\"",
        _ => "http = \"http://127.0.0.1:8080/\"",
    };
    let message = format!("`ready = \"{name}\"` doesn't say what `{name}` is to be: that is a table");
    invalid(node, message).help(format!("write it like `ready = {{ {example} }}`"))
}

fn dbus(node: &Node, _: &Surroundings<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let name = value::plain("dbus", node, diagnostics)?;
    // dbus-specification, "Bus names": elements between dots, none empty, none beginning with a digit.
    let element = |element: &str| {
        element.starts_with(|c: char| !c.is_ascii_digit())
            && element.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    let valid = name.contains('.') && name.len() <= 255 && name.split('.').all(element);
    if !valid {
        diagnostics
            .push(invalid(node, format!("`{}` isn't a bus name such as `org.example.Name`", value::shown(name))));
        return None;
    }
    Some(Ready::Dbus(name.to_owned()))
}

fn pid_file(node: &Node, around: &Surroundings<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let path = placeholder::read("pid-file", node, Position::Path, around.names, diagnostics)?;
    service::checked_path("pid-file", node, path, diagnostics).map(Ready::PidFile)
}

/// `health`: probes with `interval-sec` and `failures`.
pub fn health(node: &Node, around: &Surroundings<'_>, diagnostics: &mut Diagnostics) -> Option<Health> {
    let Some(table) = node.as_table() else {
        diagnostics.push(wrong_type(
            "health",
            "a table such as `{ http = \"http://127.0.0.1/health\", interval-sec = \"10s\" }`",
            node,
        ));
        return None;
    };
    value::unknown_keys("`health`", table, &[PROBES, HEALTH].concat(), diagnostics);
    let interval = match table.get("interval-sec") {
        Some(entry) => finite("interval-sec", &entry.node, diagnostics)?,
        None => INTERVAL,
    };
    let failures = match table.get("failures") {
        Some(entry) => value::integer("failures", &entry.node, FAILURES_RANGE, diagnostics)?,
        None => i64::from(FAILURES),
    };
    let probes = probes("health", node, table, around, diagnostics)?;
    if probes.iter().any(|probe| matches!(probe, Probe::Fd(_))) {
        diagnostics.push(Diagnostic::new(
            Code::Conflict,
            &node.place,
            "`fd` tells readiness once; it can't tell health",
        ));
        return None;
    }
    Some(Health { probes, interval, failures: u32::try_from(failures).unwrap_or(FAILURES) })
}

/// `settled`: probes.
pub fn settled(node: &Node, around: &Surroundings<'_>, diagnostics: &mut Diagnostics) -> Option<Vec<Probe>> {
    let Some(table) = node.as_table() else {
        diagnostics.push(wrong_type("settled", "a table such as `{ http = \"http://127.0.0.1/green\" }`", node));
        return None;
    };
    // Both are about the process's own start; what is settled is asked from outside of it.
    let known: Vec<_> = PROBES.iter().copied().filter(|key| !matches!(*key, "fd" | "listening")).collect();
    value::unknown_keys("`settled`", table, &known, diagnostics);
    probes("settled", node, table, around, diagnostics)
}

/// A span that ends and isn't zero.
fn finite(key: &str, node: &Node, diagnostics: &mut Diagnostics) -> Option<Span> {
    let span = value::time_span(key, node, diagnostics)?;
    if span.value.finite().is_none_or(|duration| duration.is_zero()) {
        diagnostics.push(invalid(node, format!("`{key}` must be more than zero, and end")));
        return None;
    }
    Some(span)
}

fn probes(
    key: &str,
    node: &Node,
    table: &Table,
    around: &Surroundings<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<Probe>> {
    let mut probes = Vec::new();
    let mut good = true;
    for entry in table.written_order() {
        if !PROBES.contains(&&*entry.name) || entry.name == "status" {
            continue;
        }
        match probe(&entry.name, &entry.node, table, around, diagnostics) {
            Some(probe) => probes.push(probe),
            None => good = false,
        }
    }
    if let Some(status) = table.get("status").filter(|_| table.get("http").is_none()) {
        diagnostics.push(Diagnostic::new(
            Code::MissingKey,
            &status.key,
            "`status` is of an `http` probe, and there is none",
        ));
        good = false;
    }
    if probes.is_empty() && good {
        let known: Vec<_> = PROBES.iter().filter(|name| **name != "status").map(|name| format!("`{name}`")).collect();
        let message = format!("`{key}` has no probe");
        diagnostics.push(
            Diagnostic::new(Code::MissingKey, &node.place, message).help(format!("add one of {}", known.join(", "))),
        );
        return None;
    }
    good.then_some(probes)
}

fn probe(
    name: &str,
    node: &Node,
    table: &Table,
    around: &Surroundings<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Probe> {
    let read =
        |diagnostics: &mut Diagnostics| placeholder::read(name, node, Position::Probe, around.names, diagnostics);
    let refuse = |diagnostics: &mut Diagnostics, what: &str| {
        let diagnostic = invalid(node, format!("`{name}` takes {what}"));
        diagnostics.push(match meant(name, node) {
            Some(meant) => diagnostic.help(format!("write `{name} = \"{meant}\"`")),
            None => diagnostic,
        });
        None
    };
    match name {
        "tcp" => {
            let text = read(diagnostics)?;
            let plain = text.pieces().iter().all(|piece| matches!(piece, Piece::Literal(_)));
            match text.leading().rsplit_once(':') {
                Some((host, port)) if !plain || !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) => {
                    Some(Probe::Tcp(text))
                }
                None if !plain => Some(Probe::Tcp(text)),
                _ => refuse(diagnostics, "`HOST:PORT`"),
            }
        }
        "unix" => {
            let text = read(diagnostics)?;
            let literal = matches!(text.pieces().first(), Some(Piece::Literal(_)));
            if literal && !text.leading().starts_with(['/', '@']) {
                return refuse(diagnostics, "an absolute path, or `@NAME`");
            }
            Some(Probe::Unix(text))
        }
        "http" => {
            let text = read(diagnostics)?;
            if !text.leading().starts_with("http://") && !text.leading().starts_with("http+unix://") {
                return refuse(diagnostics, "an `http://` or `http+unix://` address");
            }
            Some(Probe::Http(text, statuses(table, diagnostics)?))
        }
        "file" => match read(diagnostics)? {
            // Relative to the unit's directory, which is mostly `/`: nobody means that.
            text if text.is_relative() => refuse(diagnostics, "an absolute path"),
            text => Some(Probe::File(text)),
        },
        "command" => {
            let argv = command::read(name, node, around, diagnostics)?;
            // copse-notify is told how many words follow, and only systemd would know.
            if argv.iter().any(|word| word.has(|piece| matches!(piece, Piece::EnvWords(_)))) {
                let message = "`{env:NAME...}` can't stand in a probe's command: how many words it has isn't known";
                let help = "let a shell split it: `[\"/bin/sh\", \"-c\", \"exec program $NAME\"]`";
                diagnostics.push(Diagnostic::new(Code::Placeholder, &node.place, message).help(help));
                return None;
            }
            Some(Probe::Command(argv))
        }
        "fd" => {
            let number = value::integer(name, node, FD, diagnostics)?;
            u32::try_from(number).ok().map(Probe::Fd)
        }
        _ => match node.value {
            Value::Integer(port @ 1..=65535) => Some(Probe::Listening(crate::model::Text::literal(port.to_string()))),
            Value::String(_) => read(diagnostics).map(Probe::Listening),
            _ => refuse(diagnostics, "a port, or a string such as `\"{env:PORT}\"`"),
        },
    }
}

/// What a probe's value that isn't one was most likely meant to be.
fn meant(name: &str, node: &Node) -> Option<String> {
    let port = |text: &str| text.parse::<u16>().is_ok_and(|port| port > 0);
    match (&node.value, name) {
        (Value::String(text), "tcp") if port(text.trim_start_matches(':')) => {
            Some(format!("127.0.0.1:{}", text.trim_start_matches(':')))
        }
        (Value::String(text), "tcp") => text.strip_prefix("http://").map(|rest| rest.trim_end_matches('/').to_owned()),
        (Value::String(text), "http") if text.starts_with('/') || port(text.trim_start_matches(':')) => {
            let gap = if text.starts_with('/') { ":{env:PORT}" } else { "" };
            Some(format!("http://127.0.0.1{gap}{}{text}", if port(text) { ":" } else { "" }))
        }
        (Value::String(text), "http") if !text.contains("://") && !text.contains(['"', '\\']) => {
            Some(format!("http://{text}"))
        }
        _ => None,
    }
}

fn statuses(table: &Table, diagnostics: &mut Diagnostics) -> Option<Vec<String>> {
    let Some(entry) = table.get("status") else { return Some(Vec::new()) };
    let elements: Vec<&Node> = match &entry.node.value {
        Value::Array(elements) => elements.iter().collect(),
        _ => vec![&entry.node],
    };
    let mut ranges = Vec::new();
    for element in elements {
        let range = match &element.value {
            Value::Integer(status) => status.to_string(),
            Value::String(range) => range.to_string(),
            _ => String::new(),
        };
        let valid =
            range.splitn(2, '-').all(|part| part.parse::<u16>().is_ok_and(|status| (100..=599).contains(&status)));
        if !valid {
            diagnostics.push(invalid(element, "`status` takes statuses and ranges: `[200, \"300-399\"]`"));
            return None;
        }
        ranges.push(range);
    }
    Some(ranges)
}
