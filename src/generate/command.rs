//! Command lines: the author's, and those of copse-notify that probe a process.

use super::context::Context;
use super::specifiers::Word;
use crate::basic::scope::NOTIFY_PROGRAM;
use crate::model::{Argv, Health, Probe, Ready, Service, is_shell};
use crate::unit::value::{Part, Value};

/// How a service is started, and how systemd learns that it is ready.
pub(super) struct Startup {
    /// `Type=`
    pub kind: &'static str,
    /// `NotifyAccess=`, with the reason why systemd's default does not do.
    pub notify_access: Option<(&'static str, &'static str)>,
    /// `ExecStart=`
    pub start: Value,
    /// An `ExecStartPost=` that waits until it is ready.
    pub wait: Option<Value>,
}

impl Context<'_> {
    /// A command line.
    pub fn command(&self, argv: &Argv) -> Value {
        Value::command("", argv.iter().map(|text| self.parts(text)))
    }

    /// How `service` is started.
    ///
    /// An `ExecStartPost=` probes for readiness, so that the process itself runs exactly as written. copse-notify is the
    /// first program only if it has to stand between systemd and the process: for a descriptor that it hands over, and for
    /// health probes. It then executes the process in its own place, so the main process is the author's either way.
    ///
    /// Measured (`make bench`, 257, two busy processors, a server that listens after 200 ms): from listening to *active*
    /// 3.9 ms this way and 2.8 ms with copse-notify in front of every probed process, from death to *failed* 2.0 and
    /// 1.3 ms, nothing left running either way. A millisecond is not worth a program of ours before the author's,
    /// `NotifyAccess=all`, and no start at all in a sandbox without `AF_UNIX`.
    pub fn startup(&self, service: &Service) -> Startup {
        let probes = match &service.ready {
            Ready::Probe(probes) => probes.as_slice(),
            _ => &[],
        };
        if service.health.is_some() || probes.iter().any(|probe| matches!(probe, Probe::Fd(_))) {
            return self.chained(service, probes);
        }
        let wait = (!probes.is_empty()).then(|| {
            let mut words = vec![literal(NOTIFY_PROGRAM), literal("wait")];
            probes.iter().for_each(|probe| self.probe(probe, &mut words));
            line(&words)
        });
        let (kind, notify_access) = match &service.ready {
            Ready::Exec => ("exec", None),
            Ready::Notify if is_shell(&service.exec) => ("notify", Some(("a child of the shell sends READY=1", "all"))),
            Ready::Notify => ("notify", None),
            Ready::Oneshot => ("oneshot", None),
            Ready::Dbus(_) => ("dbus", None),
            Ready::PidFile(_) => ("forking", None),
            Ready::Probe(_) => ("exec", Some(("the probe sets STATUS= while it waits", "exec"))),
        };
        Startup { kind, notify_access, start: self.command(&service.exec), wait }
    }

    /// With copse-notify as the first program. It looks up a bare program name in the unit's `PATH`, as execvp(3) does;
    /// unless the unit sets one, that is systemd's search path, as usual.
    fn chained(&self, service: &Service, probes: &[Probe]) -> Startup {
        let mut words = vec![literal(NOTIFY_PROGRAM)];
        probes.iter().for_each(|probe| self.probe(probe, &mut words));
        let kind = match &service.ready {
            Ready::Exec | Ready::Probe(_) | Ready::Oneshot => "notify",
            by_itself => {
                words.push(literal("--main-ready"));
                match by_itself {
                    Ready::Dbus(_) => "dbus",
                    Ready::PidFile(_) => "forking",
                    _ => "notify",
                }
            }
        };
        if let Some(health) = &service.health {
            self.health(health, &mut words);
        }
        words.push(literal("--"));
        words.extend(self.argv(&service.exec));
        Startup {
            kind,
            notify_access: Some(("copse-notify reports from a child process, not from the main process", "all")),
            start: line(&words),
            wait: None,
        }
    }

    fn health<'p>(&self, health: &'p Health, words: &mut Vec<Word<'p>>) {
        words.push(literal("--health"));
        health.probes.iter().for_each(|probe| self.probe(probe, words));
        words.extend([literal("--failures"), counted(health.failures)]);
        words.extend([literal("--health-interval"), literal(&health.interval.text)]);
    }

    /// The arguments of copse-notify for a probe.
    pub fn probe<'p>(&self, probe: &'p Probe, words: &mut Vec<Word<'p>>) {
        match probe {
            Probe::Tcp(address) => words.extend([literal("--tcp"), self.parts(address)]),
            Probe::Unix(path) => words.extend([literal("--unix"), self.parts(path)]),
            Probe::Http(url, statuses) => {
                words.extend([literal("--http"), self.parts(url)]);
                statuses.iter().for_each(|status| words.extend([literal("--status"), literal(status)]));
            }
            Probe::File(path) => words.extend([literal("--file"), self.parts(path)]),
            Probe::Command(argv) => {
                let count = u32::try_from(argv.len()).unwrap_or(u32::MAX);
                words.extend([literal("--command"), counted(count)]);
                words.extend(self.argv(argv));
            }
            Probe::Fd(descriptor) => words.extend([literal("--fd"), counted(*descriptor)]),
            Probe::Listening(port) => words.extend([literal("--listening"), self.parts(port)]),
        }
    }
}

/// Disables the watchdog of a service. The watching copse-notify cannot do it: with `KillMode=mixed` or `process`, and
/// while an `ExecStop=` runs, it gets no signal. If the command fails, the stop continues.
pub(super) fn no_watchdog() -> Value {
    let words = [NOTIFY_PROGRAM, "send", "--watchdog-usec", "0"].map(literal);
    Value::command("-", words.iter().map(|word| &**word))
}

/// A word that is only text.
pub(super) fn literal(text: &str) -> Word<'_> {
    Word::One([Part::Literal(text)])
}

fn counted<'w>(number: u32) -> Word<'w> {
    Word::One([Part::Number(number)])
}

/// A command line of these words.
pub(super) fn line(words: &[Word]) -> Value {
    Value::command("", words.iter().map(|word| &**word))
}
