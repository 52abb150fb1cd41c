//! `copse kill`: a signal to processes.

use clap::{Args, ValueEnum};

use crate::basic::scope::Scope;
use crate::basic::signal;
use crate::change::observe::members::Kind;
use crate::change::rollout::journal::JournalReporter;
use crate::change::rollout::{Event, Reached, Reporter as _, Stop};
use crate::cli::common::exit::Exit;
use crate::cli::common::output::complain;
use crate::cli::common::selection::Selection;
use crate::cli::common::session;
use crate::cli::common::session::Session;

/// Send a signal to what runs of groups, or of parts of them.
#[derive(Debug, Args)]
pub(crate) struct Kill {
    /// Groups, processes or instances of them, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]", required = true)]
    names: Vec<String>,

    /// The signal, by name or number.
    #[arg(short, long, value_name = "SIGNAL", default_value = "TERM", value_parser = parse)]
    signal: i32,

    /// To which processes of a unit.
    #[arg(long, value_enum, value_name = "WHOM", default_value = "all")]
    kill_whom: Whom,

    /// An object for each name, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

/// `--kill-whom`, as systemctl(1) has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Whom {
    /// The main process.
    Main,
    /// The control process.
    Control,
    /// All of them.
    All,
}

fn parse(text: &str) -> Result<i32, String> {
    signal::number(text).ok_or_else(|| format!("there is no signal `{text}`"))
}

impl Kill {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        session::each(scope, &self.names, self.json, async |work, chosen| self.kill(work, chosen).await)
    }

    async fn kill(&self, work: &Session, chosen: &Selection<'_>) -> Result<Exit, Stop> {
        let up = work.up(chosen.subjects(|member| member.kind != Kind::Socket && member.kind != Kind::Timer)).await?;
        if up.is_empty() {
            complain(format_args!("nothing of `{}` runs", chosen.label()));
            return Ok(Exit::Stopped);
        }
        let whom = match self.kill_whom {
            Whom::Main => "main",
            Whom::Control => "control",
            Whom::All => "all",
        };
        work.progress.expect(&up);
        let record = JournalReporter::new(&chosen.group, &work.progress);
        // No signal reaches what is frozen but SIGKILL, and who dies of that can't be started again.
        work.rollout(None, &record).thaw_first(&up.iter().collect::<Vec<_>>()).await?;
        for subject in &up {
            let sent = work.systemd().manager().kill_unit(&subject.unit, whom, self.signal).await;
            sent.map_err(|error| Stop::of(subject, error))?;
            let (action, reasons, end) =
                ("kill", &[crate::change::plan::Reason::Asked], Ok(Reached::Signalled(self.signal)));
            record.tell(&Event::Ends { action, subject, reasons, end });
        }
        Ok(Exit::Done)
    }
}
