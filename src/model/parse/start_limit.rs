//! Restarts and the start limit: defaults that are promises, and combinations that cannot work.
//!
//! systemd counts starts, not failures. The limit has to be in reach of a start that keeps failing, and out of reach of a
//! worker that exits successfully every few seconds (systemd.unit(5), `StartLimitIntervalSec=`).

use std::borrow::Cow;
use std::time::Duration;

use super::context::{Reader, Role};
use super::value;
use super::value::{conflict, missing};
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::basic::time_span;
use crate::basic::time_span::Span;
use crate::group_file::keys;
use crate::model::service::{Ready, Restart, TimeSpan};

/// `restart` and its companions.
pub struct Limits {
    pub restart: Restart,
    pub timeout_start: TimeSpan,
    /// The keys that are always written with their values, in the order of the table of keys.
    pub promised: Vec<(&'static str, Cow<'static, str>)>,
}

const INTERVAL: &str = "start-limit-interval-sec";
const BURST: &str = "start-limit-burst";
const STEPS: &str = "restart-steps";
const MAX_DELAY: &str = "restart-max-delay-sec";

impl Reader<'_, '_> {
    /// `ready` decides how long a failing start takes.
    pub fn limits(&mut self, role: Role, ready: &Ready) -> Limits {
        let word = self.restart(role, ready);
        let restart = restart_of(word);
        let restart_sec = self.span_or("restart-sec", TimeSpan::seconds("1s", 1));
        // Nothing waits for what a timer starts: systemd has no limit for `Type=oneshot` either.
        let timeout_start = self.span_or(
            "timeout-start-sec",
            match role {
                Role::Auto | Role::Manual => TimeSpan::seconds("90s", 90),
                Role::Setup => TimeSpan::seconds("10min", 600),
                Role::Timed => TimeSpan::INFINITY,
            },
        );
        let timeout_stop = self.span_or("timeout-stop-sec", TimeSpan::seconds("90s", 90));
        let burst = self.get(BURST, |key, node| value::integer(key, node, (0, i64::from(i32::MAX)))).unwrap_or(5);
        let interval = self.get(INTERVAL, value::span);
        let max_delay = self.get(MAX_DELAY, value::span).map(|span| span.value);
        let delay = max_delay.map_or(restart_sec.value, |longest| longest.max(restart_sec.value));
        self.check_start_limit(interval.as_ref(), burst, restart_sec.value, delay, restart);
        self.check_backoff(restart_sec.value, max_delay);
        // Long enough for `burst` of the longest delay and the longest failing start.
        let slow = *ready != Ready::Exec && restart == Restart::OnFailure;
        let attempt = if slow { timeout_start.positive() } else { Some(Duration::from_secs(1)) };
        let starts = delay.finite().zip(attempt).and_then(|(delay, attempt)| times(delay + attempt, burst));
        // A start without a time limit has no longest failure: a day stands for it.
        let derived = starts.unwrap_or(Duration::from_secs(86_400)).max(Duration::from_secs(1));
        let mut promised = vec![
            ("restart", word.into()),
            ("restart-sec", restart_sec.text),
            (BURST, burst.to_string().into()),
            (INTERVAL, interval.map_or_else(|| time_span::format(derived).into(), |interval| interval.text)),
            ("timeout-start-sec", timeout_start.text.clone()),
            ("timeout-stop-sec", timeout_stop.text),
        ];
        if self.table.get("kill-mode").is_none() {
            promised.push(("kill-mode", "control-group".into()));
        }
        Limits { restart, timeout_start, promised }
    }

    fn restart(&mut self, role: Role, ready: &Ready) -> &'static str {
        let default = if matches!(role, Role::Setup | Role::Timed) { "no" } else { "on-failure" };
        let Some(entry) = self.table.get("restart") else { return default };
        let word = self.diagnostics.ok(value::word("restart", &entry.node, keys::RESTART)).unwrap_or(default);
        if *ready == Ready::Oneshot && matches!(word, "always" | "on-success") {
            let message = format!("`restart = \"{word}\"` restarts a command that succeeded, so it never completes");
            self.push(conflict(entry, message).help("write `restart = \"on-failure\"`"));
        }
        word
    }

    /// A process fails permanently with `burst` starts within the interval. Delays that add up to more prevent it.
    fn check_start_limit(
        &mut self,
        interval: Option<&TimeSpan>,
        burst: i64,
        restart_sec: Span,
        delay: Span,
        restart: Restart,
    ) {
        if restart == Restart::No {
            return;
        }
        let warning = |entry, message: String| Diagnostic::new(Code::NeverGivesUp, entry, message);
        if let Some(entry) = self.table.get("restart-sec").filter(|_| restart_sec.finite().is_none()) {
            let message = "`restart-sec` is infinite: a failed process waits for a restart forever";
            self.push(warning(entry, message.to_owned()).help("write a finite span, or `restart = \"no\"`"));
            return;
        }
        let Some(entry) = [INTERVAL, BURST].iter().find_map(|key| self.table.get(key)) else { return };
        let total = delay.finite().and_then(|delay| times(delay, burst));
        let why = match (interval.map_or(Some(Duration::MAX), |interval| interval.value.finite()), total) {
            (None, _) => "an infinite interval disables it".to_owned(),
            (Some(interval), _) if interval.is_zero() || burst == 0 => "zero disables it".to_owned(),
            (Some(interval), Some(total)) if total >= interval => {
                format!("{burst} starts take at least {}", time_span::format(total))
            }
            (Some(_), None) if interval.is_some() => "the delay between two starts is infinite".to_owned(),
            _ => return,
        };
        let message = format!("the start limit is never reached ({why}): a failing process is restarted forever");
        let help = format!("remove `{}`: the interval follows from the other keys, and the burst is 5", entry.name);
        self.push(warning(entry, message).help(help));
    }

    /// Growing delays need both keys: systemd ignores one alone.
    fn check_backoff(&mut self, restart_sec: Span, max_delay: Option<Span>) {
        for (key, other, example) in [(STEPS, MAX_DELAY, "\"1min\""), (MAX_DELAY, STEPS, "5")] {
            if let Some(entry) = self.table.get(key).filter(|_| self.table.get(other).is_none()) {
                let message = format!(
                    "`{key}` has no effect without `{other}`: one sets the number of steps, the other the longest delay"
                );
                self.push(missing(entry, message).help(format!("add `{other} = {example}`")));
            }
        }
        let shorter = max_delay.is_some_and(|longest| longest < restart_sec);
        if let Some(entry) = self.table.get(MAX_DELAY).filter(|_| shorter) {
            self.push(conflict(entry, format!("`{MAX_DELAY}` is shorter than `restart-sec`, and delays only grow")));
        }
    }
}

/// The total of `burst` spans, if it can be computed.
fn times(span: Duration, burst: i64) -> Option<Duration> {
    span.checked_mul(u32::try_from(burst).ok()?)
}

fn restart_of(word: &str) -> Restart {
    match word {
        "on-success" => Restart::OnSuccess,
        "on-failure" => Restart::OnFailure,
        "on-abnormal" => Restart::OnAbnormal,
        "on-watchdog" => Restart::OnWatchdog,
        "on-abort" => Restart::OnAbort,
        "always" => Restart::Always,
        _ => Restart::No,
    }
}
