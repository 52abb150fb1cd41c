//! `ready`, `health` and `settled`.

use super::context::Reader;
use super::placeholder::Position;
use super::value;
use super::value::{Result, backquoted, conflict, did_you_mean, invalid, missing, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::group_file::document::{Node, Table, Value};
use crate::model::service::{Health, Probe, Ready, TimeSpan};
use crate::model::text::{Piece, Text};

/// The probes, by key; `status` belongs to `http`.
pub const PROBES: &[&str] = &["tcp", "unix", "http", "status", "file", "command", "fd", "listening"];
/// The words of `ready`.
pub const WORDS: &[&str] = &["exec", "notify", "oneshot"];
/// The keys of `health`, without its probes.
pub const HEALTH: &[&str] = &["interval-sec", "failures"];
/// The keys of `ready`, without its probes.
pub const READY: &[&str] = &["dbus", "pid-file"];
/// The range of `fd`: the standard streams are no signal of readiness.
pub const FD: (i64, i64) = (3, 1023);
/// The range of `failures`.
pub const FAILURES_RANGE: (i64, i64) = (1, 1000);
/// The default of `interval-sec`.
const INTERVAL: TimeSpan = TimeSpan::seconds("10s", 10);
/// The default of `failures`.
const FAILURES: u32 = 3;

/// The tables of `ready`, each with an example.
const EXAMPLES: &[(&str, &str)] = &[
    ("tcp", "tcp = \"127.0.0.1:8080\""),
    ("unix", "unix = \"/run/app.sock\""),
    ("http", "http = \"http://127.0.0.1:8080/\""),
    ("file", "file = \"/run/app/ready\""),
    ("command", "command = \"/usr/bin/app ping\""),
    ("fd", "fd = 3"),
    ("listening", "listening = 8080"),
    ("dbus", "dbus = \"org.example.App\""),
    ("pid-file", "pid-file = \"/run/app.pid\""),
];

/// True for a key that belongs into `ready`. A `command` more likely means `exec`.
pub fn is_key_of_ready(key: &str) -> bool {
    key != "command" && EXAMPLES.iter().any(|(name, _)| *name == key)
}

impl Reader<'_, '_> {
    /// `ready`: a word, `{ dbus = NAME }`, `{ pid-file = PATH }`, or probes.
    pub fn ready(&mut self, node: &Node) -> Option<Ready> {
        let Some(table) = node.as_table() else {
            return self.diagnostics.ok(ready_word(node));
        };
        if let Some(entry) = READY.iter().find_map(|key| table.get(key)) {
            if table.entries().len() > 1 {
                self.push(conflict(node, format!("`{}` excludes all other keys of `ready`", entry.name)));
                return None;
            }
            return match &*entry.name {
                "dbus" => self.diagnostics.ok(bus_name(&entry.node)).map(Ready::Dbus),
                key => self.path(key, &entry.node).map(Ready::PidFile),
            };
        }
        value::unknown_keys("`ready`", table, &[PROBES, READY].concat(), self.diagnostics);
        self.probes("ready", node, table).map(Ready::Probe)
    }

    /// `health`: probes with `interval-sec` and `failures`.
    pub fn health(&mut self, node: &Node) -> Option<Health> {
        let Some(table) = node.as_table() else {
            let expected = "a table such as `{ http = \"http://127.0.0.1/health\", interval-sec = \"10s\" }`";
            self.push(wrong_type("health", expected, node));
            return None;
        };
        value::unknown_keys("`health`", table, &[PROBES, HEALTH].concat(), self.diagnostics);
        let interval = match table.get("interval-sec") {
            Some(entry) => self.diagnostics.ok(positive("interval-sec", &entry.node))?,
            None => INTERVAL,
        };
        let failures = match table.get("failures") {
            Some(entry) => self.diagnostics.ok(value::integer("failures", &entry.node, FAILURES_RANGE))?,
            None => i64::from(FAILURES),
        };
        let probes = self.probes("health", node, table)?;
        if probes.iter().any(|probe| matches!(probe, Probe::Fd(_))) {
            self.push(conflict(node, "`fd` cannot be a health probe: it signals readiness once"));
            return None;
        }
        Some(Health { probes, interval, failures: u32::try_from(failures).unwrap_or(FAILURES) })
    }

    /// `settled`: probes.
    pub fn settled(&mut self, node: &Node) -> Option<Vec<Probe>> {
        let Some(table) = node.as_table() else {
            self.push(wrong_type("settled", "a table such as `{ http = \"http://127.0.0.1/green\" }`", node));
            return None;
        };
        // These two need the process itself; the settled check runs in a unit of its own.
        let known: Vec<_> = PROBES.iter().copied().filter(|key| !matches!(*key, "fd" | "listening")).collect();
        value::unknown_keys("`settled`", table, &known, self.diagnostics);
        self.probes("settled", node, table)
    }

    fn probes(&mut self, key: &str, node: &Node, table: &Table) -> Option<Vec<Probe>> {
        let known: Vec<_> = PROBES.iter().copied().filter(|name| *name != "status").collect();
        let entries = table.written_order().into_iter().filter(|entry| known.contains(&&*entry.name));
        let read: Vec<_> = entries.map(|entry| self.probe(&entry.name, &entry.node, table)).collect();
        if let Some(status) = table.get("status").filter(|_| table.get("http").is_none()) {
            self.push(missing(status, "`status` has no effect without `http`"));
            return None;
        }
        if read.is_empty() {
            let help = format!("add one of {}", backquoted(&known));
            self.push(missing(node, format!("`{key}` has no probe")).help(help));
            return None;
        }
        read.into_iter().collect()
    }

    fn probe(&mut self, name: &str, node: &Node, table: &Table) -> Option<Probe> {
        let probe = match name {
            "tcp" | "unix" | "http" | "file" => {
                let text = self.text(name, node, Position::Probe)?;
                address(name, node, text).and_then(|text| {
                    Ok(match name {
                        "tcp" => Probe::Tcp(text),
                        "unix" => Probe::Unix(text),
                        "http" => Probe::Http(text, statuses(table)?),
                        _ => Probe::File(text),
                    })
                })
            }
            "command" => {
                let argv = self.command(name, node)?;
                // The arguments of copse-notify include their number.
                if argv.iter().any(|argument| argument.has(|piece| matches!(piece, Piece::EnvWords(_)))) {
                    let message = "`{env:NAME...}` is not possible in a probe: the number of its words is unknown";
                    let help = "let a shell split it: `[\"/bin/sh\", \"-c\", \"exec program $NAME\"]`";
                    self.push(Diagnostic::new(Code::Placeholder, node, message).help(help));
                    return None;
                }
                Ok(Probe::Command(argv))
            }
            "fd" => value::integer(name, node, FD).map(|fd| Probe::Fd(u32::try_from(fd).unwrap_or_default())),
            _ => match node.value {
                Value::Integer(port @ 1..=65535) => Ok(Probe::Listening(Text::literal(port.to_string()))),
                Value::String(_) => return self.text(name, node, Position::Probe).map(Probe::Listening),
                _ => Err(takes(name, "a port, or a string such as `\"{env:PORT}\"`", node)),
            },
        };
        self.diagnostics.ok(probe)
    }
}

fn ready_word(node: &Node) -> Result<Ready> {
    let Value::String(text) = &node.value else {
        let expected = "`\"exec\"`, `\"notify\"`, `\"oneshot\"` or a table such as `{ tcp = \"127.0.0.1:80\" }`";
        return Err(wrong_type("ready", expected, node));
    };
    if let Some((_, example)) = EXAMPLES.iter().find(|(name, _)| name == text) {
        let diagnostic = invalid(node, format!("`ready = \"{text}\"` does not say what to probe"));
        return Err(diagnostic.help(format!("write a table such as `ready = {{ {example} }}`")));
    }
    Ok(match value::word("ready", node, WORDS)? {
        "notify" => Ready::Notify,
        "oneshot" => Ready::Oneshot,
        _ => Ready::Exec,
    })
}

fn bus_name(node: &Node) -> Result<String> {
    let name = value::plain("dbus", node)?;
    // dbus-specification, "Bus names": elements between dots, none empty, none beginning with a digit.
    let element = |element: &str| {
        element.starts_with(|c: char| !c.is_ascii_digit())
            && element.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    if !name.contains('.') || name.len() > 255 || !name.split('.').all(element) {
        return Err(invalid(node, format!("`{}` is not a bus name such as `org.example.Name`", value::shown(&name))));
    }
    Ok(name)
}

/// A span that is finite and more than zero.
fn positive(key: &str, node: &Node) -> Result<TimeSpan> {
    let span = value::span(key, node)?;
    match span.positive() {
        Some(_) => Ok(span),
        None => Err(invalid(node, format!("`{key}` must be finite, and more than zero"))),
    }
}

fn takes(name: &str, expected: &str, node: &Node) -> Diagnostic {
    did_you_mean(
        invalid(node, format!("`{name}` takes {expected}")),
        likely(name, node).map(|likely| format!("{name} = \"{likely}\"")),
    )
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Checks the address of a probe, as far as it is literal.
fn address(name: &str, node: &Node, text: Text) -> Result<Text> {
    let leading = text.leading();
    let literal = text.is_literal();
    let (valid, expected) = match name {
        "tcp" => {
            let valid = leading.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && is_port(port));
            (valid || !literal, "`HOST:PORT`")
        }
        "unix" => {
            let placeholder = !matches!(text.pieces().first(), Some(Piece::Literal(_)));
            (placeholder || leading.starts_with(['/', '@']), "an absolute path, or `@NAME`")
        }
        "http" => {
            let schemes = ["http://", "http+unix://"];
            let valid = schemes.iter().any(|scheme| leading.starts_with(scheme));
            (valid, "an `http://` or `http+unix://` address")
        }
        // Relative to the working directory of the unit, mostly `/`.
        _ => (!text.is_relative(), "an absolute path"),
    };
    if valid { Ok(text) } else { Err(takes(name, expected, node)) }
}

/// The likely value of a probe instead of one that is not valid.
fn likely(name: &str, node: &Node) -> Option<String> {
    let Value::String(text) = &node.value else { return None };
    let port = text.strip_prefix(':').unwrap_or(text);
    match name {
        "tcp" if is_port(port) => Some(format!("127.0.0.1:{port}")),
        "tcp" => text.strip_prefix("http://").map(|rest| rest.trim_end_matches('/').to_owned()),
        "http" if is_port(port) => Some(format!("http://127.0.0.1:{port}")),
        "http" if text.starts_with('/') => Some(format!("http://127.0.0.1:{{env:PORT}}{text}")),
        "http" if !text.contains("://") && !text.contains(['"', '\\']) => Some(format!("http://{text}")),
        _ => None,
    }
}

fn statuses(table: &Table) -> Result<Vec<String>> {
    let Some(entry) = table.get("status") else { return Ok(Vec::new()) };
    let range = |element: &Node| {
        let range = match &element.value {
            Value::Integer(status) => status.to_string(),
            Value::String(range) => range.to_string(),
            _ => String::new(),
        };
        let status = |part: &str| part.parse::<u16>().is_ok_and(|status| (100..=599).contains(&status));
        if range.splitn(2, '-').all(status) {
            return Ok(range);
        }
        Err(invalid(element, "`status` takes statuses and ranges, such as `[200, \"300-399\"]`"))
    };
    value::elements(&entry.node).iter().map(range).collect()
}
