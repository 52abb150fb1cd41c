//! `copse kill`

use clap::{Args, ValueEnum};

use crate::basic::scope::Scope;
use crate::basic::signal;
use crate::change::observe::members::Kind;
use crate::change::rollout::{Stop, UnitOutcome};
use crate::cli::common::args::Units;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::selection::Selection;
use crate::cli::common::session::{Access, Session, for_each, report_done};

/// Send a signal to running processes.
#[derive(Debug, Args)]
pub(crate) struct Kill {
    #[command(flatten)]
    units: Units,

    /// Signal, by name or number.
    #[arg(short, long, value_name = "SIGNAL", default_value = "TERM", value_parser = parse)]
    signal: i32,

    /// Which processes of a unit get the signal.
    #[arg(long, value_enum, value_name = "WHOM", default_value = "all")]
    kill_whom: Whom,
}

/// As in systemctl(1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Whom {
    /// The main process.
    Main,
    /// The control process.
    Control,
    /// All processes.
    All,
}

fn parse(text: &str) -> Result<i32, String> {
    signal::number(text).ok_or_else(|| format!("there is no signal `{text}`"))
}

impl Execute for Kill {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let Units { names, output } = &self.units;
        for_each(scope, Access::Control, names, output.json, async |session, selection| {
            self.kill(session, selection).await
        })
    }
}

impl Kill {
    async fn kill(&self, session: &Session, selection: &Selection<'_>) -> Result<Exit, Error> {
        let has_processes = |kind| kind != Kind::Socket && kind != Kind::Timer;
        let up = session.up(selection.subjects(|member| has_processes(member.kind))).await?;
        if up.is_empty() {
            return Err(selection.nothing_runs());
        }
        let whom = match self.kill_whom {
            Whom::Main => "main",
            Whom::Control => "control",
            Whom::All => "all",
        };
        session.progress.expect(&up);
        let send = session.rollout(&selection.group, None, async |rollout| {
            // A frozen process gets no signal but SIGKILL, and if that ends it, it cannot be started again.
            rollout.thaw_first(&up.iter().collect::<Vec<_>>()).await?;
            for subject in &up {
                let sent = session.systemd().manager().kill_unit(&subject.unit, whom, self.signal).await;
                sent.map_err(|error| Stop::of(subject, error))?;
                report_done(rollout, "kill", subject, UnitOutcome::Signaled(self.signal));
            }
            Ok(Exit::Done)
        });
        Ok(send.await?)
    }
}
