//! Restart and start limit: the defaults that are promises, and the combinations that can't work.
//!
//! systemd counts starts, not failures, so the limit must be reachable by a start that keeps failing, and must not be
//! reached by a worker that ends well every few seconds (unit-file facts: systemd.unit(5), `StartLimitIntervalSec=`).

use std::borrow::Cow;
use std::time::Duration;

use super::service::{Context, Role, span_or};
use super::value;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::time_span;
use crate::group_file::document::Table;
use crate::group_file::keys;
use crate::model::{Ready, Restart, Span};

/// What `restart` and its companions come to.
pub struct Limits {
    /// `restart`
    pub restart: Restart,
    restart_word: &'static str,
    restart_sec: Span,
    /// `timeout-start-sec`
    pub timeout_start: Span,
    timeout_stop: Span,
    burst: i64,
    interval: Cow<'static, str>,
    kill_mode_given: bool,
}

impl Limits {
    /// The value of a key that is a promise, and so always written.
    pub fn promised(&self, key: &str) -> Option<Cow<'static, str>> {
        match key {
            "restart" => Some(self.restart_word.into()),
            "restart-sec" => Some(self.restart_sec.text.clone()),
            "timeout-start-sec" => Some(self.timeout_start.text.clone()),
            "timeout-stop-sec" => Some(self.timeout_stop.text.clone()),
            "start-limit-burst" => Some(self.burst.to_string().into()),
            "start-limit-interval-sec" => Some(self.interval.clone()),
            "kill-mode" if !self.kill_mode_given => Some("control-group".into()),
            _ => None,
        }
    }
}

/// Reads them; `ready` decides how long a failing start takes.
pub fn read(table: &Table, context: &Context<'_>, ready: &Ready, diagnostics: &mut Diagnostics) -> Limits {
    let restart_word = restart(table, context, ready, diagnostics);
    let restart = Restart::from_word(restart_word);
    let restart_sec = span_or("restart-sec", table, Span::seconds("1s", 1), diagnostics);
    // What a timer starts runs as long as it takes, as systemd's own default for `Type=oneshot` has it: nobody waits.
    let timeout_start = match context.role {
        Role::Auto | Role::Manual => Span::seconds("90s", 90),
        Role::Setup => Span::seconds("10min", 600),
        Role::Timed => Span::INFINITY,
    };
    let timeout_start = span_or("timeout-start-sec", table, timeout_start, diagnostics);
    let burst = table
        .get("start-limit-burst")
        .and_then(|entry| value::integer("start-limit-burst", &entry.node, (0, i64::from(i32::MAX)), diagnostics));
    let burst = burst.unwrap_or(5);
    // The longest pause and the longest failing start, so that the last of `burst` starts is still inside.
    let pause = table
        .get("restart-max-delay-sec")
        .and_then(|entry| value::time_span("restart-max-delay-sec", &entry.node, diagnostics))
        .map_or(restart_sec.value, |longest| longest.value.max(restart_sec.value));
    let slow_start = *ready != Ready::Exec && restart == Restart::OnFailure;
    let attempt = match slow_start {
        // To systemd, zero is a start without a time-out.
        true => timeout_start.value.finite().filter(|timeout| !timeout.is_zero()),
        false => Some(Duration::from_secs(1)),
    };
    let derived = pause
        .finite()
        .zip(attempt)
        .and_then(|(pause, attempt)| (pause + attempt).checked_mul(u32::try_from(burst).ok()?));
    let interval = match table.get("start-limit-interval-sec") {
        Some(entry) => value::time_span("start-limit-interval-sec", &entry.node, diagnostics),
        None => None,
    };
    if !warn_endless_pause(table, restart_sec.value, restart, diagnostics) {
        warn_never(table, interval.as_ref(), burst, pause, restart, diagnostics);
    }
    backoff(table, restart_sec.value, diagnostics);
    // A start that may take for ever has no time in which it fails: a day stands for it.
    let derived = derived.unwrap_or(Duration::from_secs(86_400)).max(Duration::from_secs(1));
    Limits {
        restart,
        restart_word,
        restart_sec,
        timeout_start,
        timeout_stop: span_or("timeout-stop-sec", table, Span::seconds("90s", 90), diagnostics),
        burst,
        interval: interval
            .map_or_else(|| time_span::format(time_span::Span::Finite(derived)).into(), |interval| interval.text),
        kill_mode_given: table.get("kill-mode").is_some(),
    }
}

fn restart(table: &Table, context: &Context<'_>, ready: &Ready, diagnostics: &mut Diagnostics) -> &'static str {
    let default = if matches!(context.role, Role::Setup | Role::Timed) { "no" } else { "on-failure" };
    let Some(entry) = table.get("restart") else { return default };
    let word = value::word("restart", &entry.node, keys::RESTART, diagnostics).unwrap_or(default);
    if *ready == Ready::Oneshot && matches!(word, "always" | "on-success") {
        let message =
            format!("`restart = \"{word}\"` can't be combined with running to the end: it would never be done");
        diagnostics.push(Diagnostic::new(Code::Conflict, &entry.key, message).help("write `restart = \"on-failure\"`"));
    }
    word
}

/// A process that is to be restarted after a pause that never ends. Returns whether that was so.
fn warn_endless_pause(table: &Table, pause: time_span::Span, restart: Restart, diagnostics: &mut Diagnostics) -> bool {
    let endless = restart != Restart::No && pause.finite().is_none();
    if let Some(entry) = table.get("restart-sec").filter(|_| endless) {
        let message = "the pause before a restart never ends, so a process that fails is neither started again nor \
                       given up";
        let help = "write a finite span; or `restart = \"no\"`, if it isn't to be started again";
        diagnostics.push(Diagnostic::new(Code::NeverGivesUp, &entry.key, message).help(help));
    }
    endless
}

/// Giving up needs `burst` starts within the interval; with pauses that add up to more, it can't happen.
fn warn_never(
    table: &Table,
    interval: Option<&Span>,
    burst: i64,
    pause: time_span::Span,
    restart: Restart,
    diagnostics: &mut Diagnostics,
) {
    let keys = ["start-limit-interval-sec", "start-limit-burst"];
    let Some((key, entry)) = keys.into_iter().find_map(|key| Some((key, table.get(key)?))) else { return };
    let total = pause.finite().and_then(|pause| pause.checked_mul(u32::try_from(burst).ok()?));
    let why = match (interval.map_or(Some(Duration::MAX), |interval| interval.value.finite()), total) {
        _ if restart == Restart::No => return,
        (None, _) => "an infinite interval switches the limit off".to_owned(),
        (Some(interval), _) if interval.is_zero() || burst == 0 => "zero switches the limit off".to_owned(),
        (Some(interval), Some(total)) if total >= interval => {
            format!("{burst} starts take at least {}", time_span::format(time_span::Span::Finite(total)))
        }
        (Some(_), None) if interval.is_some() => "the pause between two starts never ends".to_owned(),
        _ => return,
    };
    let message =
        format!("the start limit can never be reached: {why}, so a process that keeps failing is never given up");
    diagnostics.push(
        Diagnostic::new(Code::NeverGivesUp, &entry.key, message)
            .help(format!("leave `{key}` out: the interval is derived from the others, and the burst is 5")),
    );
}

/// Growing pauses need both of their keys: with one of them systemd ignores it.
fn backoff(table: &Table, restart_sec: time_span::Span, diagnostics: &mut Diagnostics) {
    const KEYS: [&str; 2] = ["restart-steps", "restart-max-delay-sec"];
    for (key, other) in [(KEYS[0], KEYS[1]), (KEYS[1], KEYS[0])] {
        if let Some(entry) = table.get(key).filter(|_| table.get(other).is_none()) {
            let message =
                format!("`{key}` has no effect without `{other}`: the pauses grow in so many steps up to so much");
            let example = if other == KEYS[0] { "5" } else { "\"1min\"" };
            diagnostics.push(
                Diagnostic::new(Code::MissingKey, &entry.key, message).help(format!("add `{other} = {example}`")),
            );
        }
    }
    let Some(entry) = table.get(KEYS[1]) else { return };
    // A mistake in the span itself has been reported.
    let longest = value::time_span(KEYS[1], &entry.node, &mut Diagnostics::default());
    if longest.is_some_and(|longest| longest.value < restart_sec) {
        let message = format!("`{}` is shorter than `restart-sec`: pauses only grow", KEYS[1]);
        diagnostics.push(Diagnostic::new(Code::Conflict, &entry.key, message));
    }
}
