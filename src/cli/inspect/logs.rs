//! `copse logs`: the journal of a group, with the process in front of each line.
//!
//! journalctl(1) searches and follows the journal. This asks it for the group's lines as JSON and formats them.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write, stdout};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use clap::Args;

use crate::basic::scope::Scope;
use crate::change::observe::members;
use crate::change::observe::members::Member;
use crate::cli::common::args::Color;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups::{load, unknown};
use crate::cli::common::journal::line::{FIELDS, Painter};
use crate::cli::common::journal::matches::matches;
use crate::cli::common::message::warn;
use crate::cli::common::selector::Selector;
use crate::cli::common::session::with_manager;
use crate::generator::load::Outcome;

/// Show the journal of a group, or of some of its processes, with systemd's messages about them.
#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// Group, process, instance of a process, or unit.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]")]
    name: String,

    /// Follow the journal.
    #[arg(short, long)]
    follow: bool,

    /// Show the last N lines, or `all` [default: all; 10 with --follow].
    #[arg(short = 'n', long, value_name = "N", value_parser = lines)]
    lines: Option<String>,

    /// Show lines since a time, as in journalctl(1): `10:30`, `-5min`, `yesterday`.
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    since: Option<String>,

    /// Show lines of this priority or a more urgent one: `err`, `warning`, …
    #[arg(short, long, value_name = "PRIORITY")]
    priority: Option<String>,

    /// Show lines of all hosts whose journals are here, with the host in front.
    #[arg(short, long)]
    merge: bool,

    /// Read the journals in DIR instead of this machine's, with the host in front of each line.
    #[arg(short = 'D', long, value_name = "DIR")]
    directory: Option<PathBuf>,

    /// Print lines as `journalctl --output=json` does.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    color: Color,
}

fn lines(text: &str) -> Result<String, &'static str> {
    let valid = text == "all" || text.parse::<u32>().is_ok();
    valid.then(|| text.to_owned()).ok_or("expected a number of lines, or `all`")
}

impl Execute for Logs {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let (_, outcome) = load(scope);
        let selector = Selector::new(&self.name, &outcome.groups);
        // The group of other hosts need not exist here.
        let members = match members(scope, &selector, &outcome) {
            Err(_) if self.of_other_hosts() => Vec::new(),
            members => members?,
        };
        let mut journalctl = self.journalctl();
        journalctl.args(matches(scope, &selector, &members));
        let cannot_run = |error| Error::cannot("run journalctl", error);
        if self.json {
            return Err(cannot_run(journalctl.exec()));
        }
        journalctl.arg(format!("--output-fields={}", FIELDS.join(",")));
        let child = journalctl.stdout(Stdio::piped()).spawn().map_err(cannot_run)?;
        Ok(self.show(scope, &selector, &members, child))
    }
}

impl Logs {
    fn of_other_hosts(&self) -> bool {
        self.merge || self.directory.is_some()
    }

    fn journalctl(&self) -> Command {
        let mut command = Command::new("journalctl");
        // --all: also messages that are long, or not text.
        command.args(["--no-pager", "--quiet", "--all", "--output=json"]).stdin(Stdio::null());
        command.args(self.follow.then_some("--follow")).args(self.merge.then_some("--merge"));
        command.args(self.directory.iter().flat_map(|directory| [OsStr::new("--directory"), directory.as_os_str()]));
        command.args(self.lines.iter().map(|lines| format!("--lines={lines}")));
        command.args(self.since.iter().map(|since| format!("--since={since}")));
        command.args(self.priority.iter().map(|priority| format!("--priority={priority}")));
        command
    }

    fn show(&self, scope: Scope, selector: &Selector, members: &[Member], mut journalctl: Child) -> Exit {
        let mut stdout = stdout().lock();
        let mut painter = Painter::new(scope, &selector.group, members, self.color.color.on(&stdout));
        if selector.part.is_none() {
            painter = painter.whole();
        }
        if self.of_other_hosts() {
            painter = painter.with_hosts();
        }
        let lines = journalctl.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
        let mut any = false;
        for text in lines.map_while(Result::ok).filter_map(|line| painter.line(&line)) {
            any = true;
            // Each line at once, for --follow.
            if stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err() {
                // The reader closed it.
                let _ = journalctl.kill();
                let _ = journalctl.wait();
                return Exit::Done;
            }
        }
        if !any && scope == Scope::System && !rustix::process::geteuid().is_root() {
            let help = "run it as root or as a member of systemd-journal to see all lines, journalctl(1)";
            warn("no lines found", Some(help));
        }
        // journalctl has printed its errors.
        match journalctl.wait() {
            Ok(status) if status.success() => Exit::Done,
            _ => Exit::Failed,
        }
    }
}

/// The selected members. The service manager adds those that are not in the group file; it need not be reachable.
fn members(scope: Scope, selector: &Selector, outcome: &Outcome) -> Result<Vec<Member>, Error> {
    let file = outcome.groups.iter().find(|group| group.name.as_str() == selector.group);
    let group = file.and_then(|file| file.group.as_ref());
    let target = format!("{}.target", selector.group);
    let loaded = with_manager(scope, async |systemd| Ok(systemd.properties_of(&[target]).await?));
    let loaded: Vec<String> = loaded.into_iter().flatten().flat_map(|properties| properties.consists_of).collect();
    let mut members = members::all_members(&selector.group, group, &loaded);
    members.retain(|member| selector.matches(&member.subject.label));
    let is_process = |part: &str| {
        // The instance need not be in the file.
        let process = part.split('@').next().unwrap_or_default();
        // Without a valid file, any process may be.
        group.is_none_or(|group| group.processes.keys().chain(group.setup.keys()).any(|name| name.as_str() == process))
    };
    let exists = file.is_some() || !loaded.is_empty();
    match exists && (!members.is_empty() || selector.part.as_deref().is_none_or(is_process)) {
        true => Ok(members),
        false => Err(unknown(selector, outcome)),
    }
}
