//! A line of the journal, for people.

use serde_json::{Map, Value};

use crate::basic::diagnostic::one_line;
use crate::basic::local_time;
use crate::basic::scope::Scope;
use crate::change::observe::members;
use crate::change::observe::members::Member;

/// The fields that are asked for, beside the time, which journalctl always gives.
pub(in crate::cli) const FIELDS: [&str; 9] = [
    "MESSAGE",
    "PRIORITY",
    "_SYSTEMD_UNIT",
    "_SYSTEMD_USER_UNIT",
    "UNIT",
    "USER_UNIT",
    "COPSE_UNIT",
    "SYSLOG_IDENTIFIER",
    "_UID",
];

/// The least urgent lines of the service manager that somebody who looks on wants to see (sd-daemon(3)).
const WARNING: u8 = 4;

/// What stands before the name of the unit of which it is found out whether it gave up.
pub(super) const JUDGE: &str = "copse-gave-up@";

/// Foreground colours of ANSI terminals that can be read on black and on white; red is for what is bad.
const COLOURS: [&str; 5] = ["36", "33", "32", "35", "34"];

/// Names wider than this don't move the messages of all others to the right.
const WIDEST: usize = 24;

/// What the gate is called here.
const GATE: &str = "copse-ready";

/// What a unit is called here: of the group's own units the group needn't be said.
fn name(group: &str, unit: &str) -> String {
    let label = members::label(group, unit);
    let own =
        label.strip_suffix(group).and_then(|kind| kind.strip_suffix('@')).filter(|kind| kind.starts_with("copse-"));
    own.map(str::to_owned).unwrap_or(label)
}

/// Writes lines: the time, who, and what.
pub(in crate::cli) struct Painter {
    scope: Scope,
    /// Only for who looks on while it happens.
    live: bool,
    group: String,
    width: usize,
    colour: bool,
    /// In the order of their first line: neighbours have different colours.
    seen: Vec<String>,
}

impl Painter {
    pub(in crate::cli) fn new(scope: Scope, group: &str, members: &[Member], colour: bool) -> Self {
        let widths = members.iter().map(|member| member.label.chars().count());
        let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
        Self { scope, live: false, group: group.to_owned(), width, colour, seen: Vec::new() }
    }

    /// For all of the group: its gate's lines stand among those of the processes.
    pub(in crate::cli) fn whole(mut self) -> Self {
        self.width = self.width.max(GATE.len());
        self
    }

    /// For who looks on while it happens: the time of day without the date, and of the service manager's lines only those
    /// that warn, because what it does otherwise is [`said`](Self::said).
    pub(in crate::cli) fn live(mut self) -> Self {
        self.live = true;
        self
    }

    /// A line of copse's own about a member of the group, or about all of it.
    pub(in crate::cli) fn said(&mut self, name: &str, micros: u64, text: &str) -> String {
        format!("{} copse: {}\n", self.head(name, Some(micros)), one_line(text))
    }

    fn head(&mut self, name: &str, micros: Option<u64>) -> String {
        let when = micros.and_then(local_time::local).unwrap_or_default();
        let when = if self.live { when.rsplit(' ').next().unwrap_or_default() } else { &when };
        format!("{when} {}", self.name(name))
    }

    /// A line of `journalctl --output=json` as one or more for people, each with a newline; `None` for what isn't one.
    pub(in crate::cli) fn line(&mut self, json: &str) -> Option<String> {
        let Value::Object(fields) = serde_json::from_str(json).ok()? else { return None };
        let text = |field: &str| fields.get(field).and_then(Value::as_str);
        let (own, about) = match self.scope {
            Scope::System => (text("_SYSTEMD_UNIT"), text("UNIT")),
            Scope::User => (text("_SYSTEMD_USER_UNIT"), text("USER_UNIT")),
        };
        // The service manager's own lines are about a unit; those of a process come from one.
        let manager = own.is_none_or(|own| own == "init.scope") && about.is_some();
        if self.live && manager && text("PRIORITY").and_then(|text| text.parse().ok()).is_none_or(|p: u8| p > WARNING) {
            return None;
        }
        // So are those that say what copse did to it, or found out about it.
        let copse = text("COPSE_UNIT").or_else(|| own?.strip_prefix(JUDGE));
        let unit = copse.or(if manager { about } else { own });
        // A process's identifier is its unit's name, too.
        let name = one_line(&name(&self.group, unit.or(text("SYSLOG_IDENTIFIER")).unwrap_or("?")));
        let head = self.head(&name, text("__REALTIME_TIMESTAMP").and_then(|micros| micros.parse().ok()));
        let by = match (copse, manager) {
            (Some(_), _) => "copse: ",
            (None, true) => "systemd: ",
            (None, false) => "",
        };
        let message = without_colours(&message(&fields));
        let mut lines = message.trim_end_matches('\n').split('\n');
        let first = lines.next().unwrap_or_default();
        let mut shown = format!("{head} {by}{}\n", visible(first));
        for line in lines {
            shown.push_str(&format!("{head} {}\n", visible(line)));
        }
        Some(shown)
    }

    fn name(&mut self, name: &str) -> String {
        let place = self.seen.iter().position(|seen| seen == name).unwrap_or_else(|| {
            self.seen.push(name.to_owned());
            self.seen.len() - 1
        });
        let padded = format!("{name:<width$} |", width = self.width);
        let colour = COLOURS[place % COLOURS.len()];
        if self.colour { format!("\u{1b}[{colour}m{padded}\u{1b}[0m") } else { padded }
    }
}

/// `MESSAGE`: text, or the numbers of its bytes where it isn't.
pub(in crate::cli) fn message(fields: &Map<String, Value>) -> String {
    match fields.get("MESSAGE") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(bytes)) => {
            let byte = |value: &Value| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
            String::from_utf8_lossy(&bytes.iter().filter_map(byte).collect::<Vec<u8>>()).into_owned()
        }
        _ => String::new(),
    }
}

/// Without `ESC [ … m`: colours that a process writes for its own terminal would run into ours.
fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let numbers = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match numbers.strip_prefix('m') {
            Some(rest) => plain.push_str(rest),
            None => plain.extend(["\u{1b}[", piece]),
        }
    }
    plain
}

/// A line without what steers a terminal.
fn visible(line: &str) -> String {
    one_line(line.trim_end_matches('\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painter(colour: bool) -> Painter {
        let (kind, start) = (members::Kind::Process, members::Start::Auto);
        let member = |label: &str| {
            let unit = format!("g-{label}.service");
            Member { unit, label: label.to_owned(), kind, start, defined: true }
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
