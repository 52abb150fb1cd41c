//! A line of the journal, for people.

use anstyle::AnsiColor;
use serde_json::{Map, Value};

use crate::basic::diagnostic::one_line;
use crate::basic::local_time;
use crate::basic::scope::Scope;
use crate::change::observe::members::Member;
use crate::change::observe::subject::Subject;

/// The fields that are read, besides the time, which journalctl always writes.
pub(crate) const FIELDS: [&str; 10] = [
    "MESSAGE",
    "PRIORITY",
    "_SYSTEMD_UNIT",
    "_SYSTEMD_USER_UNIT",
    "UNIT",
    "USER_UNIT",
    "COPSE_UNIT",
    "SYSLOG_IDENTIFIER",
    "_UID",
    "_HOSTNAME",
];

/// The least urgent lines of the service manager that are shown live (sd-daemon(3)).
const WARNING: u8 = 4;

/// What precedes the name of a unit in that of its failure policy check.
pub(super) const GAVE_UP: &str = "copse-gave-up@";

/// Readable on black and on white; red is for errors.
const COLORS: [AnsiColor; 5] =
    [AnsiColor::Cyan, AnsiColor::Yellow, AnsiColor::Green, AnsiColor::Magenta, AnsiColor::Blue];

/// Longer names push the rest of their line to the right.
const NAME_MAX: usize = 24;

/// The name of the readiness gate.
const GATE: &str = "copse-ready";

/// The name of a unit: its label, for units of copse's own without the group.
fn name(group: &str, unit: &str) -> String {
    let label = Subject::new(group, unit).label;
    let own =
        label.strip_suffix(group).and_then(|kind| kind.strip_suffix('@')).filter(|kind| kind.starts_with("copse-"));
    own.map(str::to_owned).unwrap_or(label)
}

/// Formats lines: the time, the name, the message.
pub(crate) struct Painter {
    scope: Scope,
    live: bool,
    /// The width of host names so far, if they are shown.
    hosts: Option<usize>,
    group: String,
    width: usize,
    color: bool,
    /// The names in the order of their first lines: neighbours have different colors.
    seen: Vec<String>,
}

impl Painter {
    pub(crate) fn new(scope: Scope, group: &str, members: &[Member], color: bool) -> Self {
        let widths = members.iter().map(|member| member.subject.label.chars().count());
        let width = widths.filter(|width| *width <= NAME_MAX).max().unwrap_or(0);
        Self { scope, live: false, hosts: None, group: group.to_owned(), width, color, seen: Vec::new() }
    }

    /// For a whole group: makes room for the name of the gate.
    pub(crate) fn whole(mut self) -> Self {
        self.width = self.width.max(GATE.len());
        self
    }

    /// For lines that are shown as they are written: the time has no date, and of the service manager's lines there are
    /// only warnings and errors, because the caller shows what happens to units with [`Painter::own_line`].
    pub(crate) fn live(mut self) -> Self {
        self.live = true;
        self
    }

    /// Shows the host in front of each name.
    pub(crate) fn with_hosts(mut self) -> Self {
        self.hosts = Some(0);
        self
    }

    /// A line of this command about a member of the group, or about the group.
    pub(crate) fn own_line(&mut self, name: &str, micros: u64, text: &str) -> String {
        format!("{} copse: {}\n", self.head("", name, Some(micros)), one_line(text))
    }

    fn head(&mut self, host: &str, name: &str, micros: Option<u64>) -> String {
        let time = micros.and_then(local_time::local).unwrap_or_default();
        let time = if self.live { time.rsplit(' ').next().unwrap_or_default() } else { &time };
        let host = match &mut self.hosts {
            None => String::new(),
            Some(width) => {
                *width = host.chars().count().clamp(*width, (*width).max(NAME_MAX));
                format!("{host:<width$} ")
            }
        };
        format!("{time} {host}{}", self.name(name))
    }

    /// A line of `journalctl --output=json` as one or more lines; `None` if it is not to be shown, or not JSON.
    pub(crate) fn line(&mut self, json: &str) -> Option<String> {
        let Value::Object(fields) = serde_json::from_str(json).ok()? else { return None };
        let text = |field: &str| fields.get(field).and_then(Value::as_str);
        let (from, about) = match self.scope {
            Scope::System => (text("_SYSTEMD_UNIT"), text("UNIT")),
            Scope::User => (text("_SYSTEMD_USER_UNIT"), text("USER_UNIT")),
        };
        let manager = from.is_none_or(|from| from == "init.scope") && about.is_some();
        if self.live && manager && text("PRIORITY").and_then(|text| text.parse().ok()).is_none_or(|p: u8| p > WARNING) {
            return None;
        }
        // What copse did to a unit, or found out about it.
        let copse = text("COPSE_UNIT").or_else(|| from?.strip_prefix(GAVE_UP));
        let unit = copse.or(if manager { about } else { from });
        // Without a unit, the identifier: generated units set it to the unit's name.
        let name = one_line(&name(&self.group, unit.or(text("SYSLOG_IDENTIFIER")).unwrap_or("?")));
        let host = one_line(text("_HOSTNAME").unwrap_or("?"));
        let head = self.head(&host, &name, text("__REALTIME_TIMESTAMP").and_then(|micros| micros.parse().ok()));
        let by = match (copse, manager) {
            (Some(_), _) => "copse: ",
            (None, true) => "systemd: ",
            (None, false) => "",
        };
        let message = without_colors(&message(&fields));
        let lines = message.trim_end_matches('\n').split('\n').enumerate();
        let line = |(index, line): (usize, &str)| {
            format!("{head} {}{}\n", if index == 0 { by } else { "" }, one_line(line.trim_end_matches('\r')))
        };
        Some(lines.map(line).collect())
    }

    fn name(&mut self, name: &str) -> String {
        let index = self.seen.iter().position(|seen| seen == name).unwrap_or_else(|| {
            self.seen.push(name.to_owned());
            self.seen.len() - 1
        });
        let padded = format!("{name:<width$} |", width = self.width);
        let style = COLORS[index % COLORS.len()].on_default();
        if self.color { format!("{style}{padded}{style:#}") } else { padded }
    }
}

/// `MESSAGE`: text, or numbers if it is not text.
pub(crate) fn message(fields: &Map<String, Value>) -> String {
    match fields.get("MESSAGE") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(bytes)) => {
            let byte = |value: &Value| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
            String::from_utf8_lossy(&bytes.iter().filter_map(byte).collect::<Vec<u8>>()).into_owned()
        }
        _ => String::new(),
    }
}

/// Removes `ESC [ … m`: a process writes colors for a terminal of its own. Other escape sequences stay, to be made visible.
fn without_colors(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').strip_prefix('m') {
            Some(rest) => plain.push_str(rest),
            None => plain.extend(["\u{1b}[", piece]),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::observe::members::{Kind, Start};

    fn painter(colour: bool) -> Painter {
        let member = |label: &str| Member {
            subject: Subject::new("g", &format!("g-{label}.service")),
            kind: Kind::Process,
            start: Start::Auto,
            process: None,
            defined: true,
        };
        Painter::new(Scope::System, "g", &[member("web@1"), member("redis")], colour)
    }

    /// What is written of a line, without the time.
    fn shown(painter: &mut Painter, json: &str) -> String {
        let text = painter.line(json).unwrap();
        text.lines().map(|line| format!("{}\n", line.trim_start())).collect()
    }

    #[test]
    fn who_wrote_it_and_who_it_is_about() {
        let mut painter = painter(false);
        for (json, expected) in [
            (r#"{"MESSAGE":"hello","_SYSTEMD_UNIT":"g-web@1.service"}"#, "web@1 | hello\n"),
            (
                r#"{"MESSAGE":"Started Web.","_SYSTEMD_UNIT":"init.scope","UNIT":"g-redis.service"}"#,
                "redis | systemd: Started Web.\n",
            ),
            (r#"{"MESSAGE":"a","_SYSTEMD_UNIT":"g-redis.service","UNIT":"g-web@1.service"}"#, "redis | a\n"),
            (
                r#"{"MESSAGE":"restart: ready","_SYSTEMD_UNIT":"session-1.scope","COPSE_UNIT":"g-web@1.service"}"#,
                "web@1 | copse: restart: ready\n",
            ),
            (r#"{"MESSAGE":"gave up","_SYSTEMD_UNIT":"copse-gave-up@g-redis.service"}"#, "redis | copse: gave up\n"),
            (
                r#"{"MESSAGE":"waits for redis","_SYSTEMD_UNIT":"copse-ready@g.service"}"#,
                "copse-ready | waits for redis\n",
            ),
            (r#"{"MESSAGE":"one\ntwo\n","_SYSTEMD_UNIT":"g-redis.service"}"#, "redis | one\nredis | two\n"),
            (r#"{"MESSAGE":[104,105,255],"_SYSTEMD_UNIT":"g-redis.service"}"#, "redis | hi\u{fffd}\n"),
            (r#"{"MESSAGE":null,"SYSLOG_IDENTIFIER":"x"}"#, "x     | \n"),
        ] {
            assert_eq!(shown(&mut painter, json), expected, "{json}");
        }
        assert_eq!(painter.line("no JSON"), None);
    }

    #[test]
    fn the_time_comes_first() {
        let json = r#"{"__REALTIME_TIMESTAMP":"1700000000000000","MESSAGE":"m","_SYSTEMD_UNIT":"g-redis.service"}"#;
        let text = painter(false).line(json).unwrap();
        assert!(text.starts_with("Nov 1") && text.ends_with(":20 redis | m\n"), "{text}");
    }

    #[test]
    fn each_name_has_its_colour_and_a_message_none() {
        let mut painter = painter(true);
        let line = |unit: &str| {
            format!(r#"{{"MESSAGE":"\u001b[31mred\u001b[0m \u001b[2Jx","_SYSTEMD_UNIT":"g-{unit}.service"}}"#)
        };
        let expected = |colour: &str, name: &str| format!("\u{1b}[{colour}m{name} |\u{1b}[0m red \u{fffd}[2Jx\n");
        for (unit, colour) in [("web@1", "36"), ("redis", "33"), ("web@1", "36")] {
            assert_eq!(shown(&mut painter, &line(unit)), expected(colour, unit));
        }
    }
}
