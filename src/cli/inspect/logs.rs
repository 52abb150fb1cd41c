//! `copse logs`: the journal of a group, told apart by process.
//!
//! journalctl(1) searches, follows and knows the journal's files; this asks it for the group's lines as JSON and
//! writes them with a name and a colour in front.

pub(crate) mod line;
pub(crate) mod matches;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use clap::Args;

use self::line::Painter;
use crate::basic::scope::Scope;
use crate::basic::terminal::ColorChoice;
use crate::change::observe::members;
use crate::change::observe::members::Member;
use crate::cli::common::exit::Exit;
use crate::cli::common::load::{load, unknown};
use crate::cli::common::output::complain;
use crate::cli::common::selector::Selector;
use crate::cli::common::session::block_on;
use crate::generator::load::Outcome;
use crate::manager::connect;

/// Show the journal of a group, or of some of its processes, with systemd's own lines about them.
#[derive(Debug, Args)]
pub struct Logs {
    /// A group, a process or an instance of it, or a unit.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]")]
    name: String,

    /// Go on with new lines as they come.
    #[arg(short, long)]
    follow: bool,

    /// Only the last N lines, or `all` [default: all, with --follow 10].
    #[arg(short = 'n', long, value_name = "N", value_parser = lines)]
    lines: Option<String>,

    /// Only lines since then, as journalctl(1) reads it: `10:30`, `-5min`, `yesterday`.
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    since: Option<String>,

    /// Only lines of that priority or a more urgent one: `err`, `warning`, …
    #[arg(short, long, value_name = "PRIORITY")]
    priority: Option<String>,

    /// The lines as journalctl(1) writes them with `--output=json`.
    #[arg(long)]
    json: bool,

    /// When to use colours.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

fn lines(text: &str) -> Result<String, &'static str> {
    let good = text == "all" || text.parse::<u32>().is_ok();
    good.then(|| text.to_owned()).ok_or("a number of lines, or `all`")
}

impl Logs {
    /// Runs journalctl until it ends.
    pub fn run(self, scope: Scope) -> Exit {
        let (_, outcome) = load(scope);
        let named = Selector::new(&self.name, &outcome.groups);
        let members = match members(scope, &named, &outcome) {
            Ok(members) => members,
            Err(exit) => return exit,
        };
        let mut journalctl = self.journalctl();
        journalctl.args(matches::matches(scope, &named, &members));
        if self.json {
            // Nothing is left to do here: journalctl takes this process's place.
            let error = journalctl.exec();
            complain(format_args!("journalctl can't be run: {error}"));
            return Exit::Failed;
        }
        journalctl.arg(format!("--output-fields={}", line::FIELDS.join(",")));
        match journalctl.stdout(Stdio::piped()).spawn() {
            Ok(child) => self.show(scope, &named, &members, child),
            Err(error) => {
                complain(format_args!("journalctl can't be run: {error}"));
                Exit::Failed
            }
        }
    }

    fn journalctl(&self) -> Command {
        let mut command = Command::new("journalctl");
        // All: a message that isn't text, or is long, is shown as well.
        command.args(["--no-pager", "--quiet", "--all", "--output=json"]).stdin(Stdio::null());
        command.args(self.follow.then_some("--follow"));
        // journalctl takes a second word after `--lines` only in one way in all versions: joined.
        command.args(self.lines.iter().map(|lines| format!("--lines={lines}")));
        command.args(self.since.iter().map(|since| format!("--since={since}")));
        command.args(self.priority.iter().map(|priority| format!("--priority={priority}")));
        command
    }

    fn show(&self, scope: Scope, named: &Selector, members: &[Member], mut journalctl: Child) -> Exit {
        let mut stdout = std::io::stdout().lock();
        let colour = self.color.on(&stdout);
        let mut painter = Painter::new(scope, &named.group, members, colour);
        if named.part.is_none() {
            painter = painter.whole();
        }
        let lines = journalctl.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
        let mut any = false;
        for line in lines.map_while(Result::ok) {
            let Some(text) = painter.line(&line) else { continue };
            any = true;
            // Each at once: who follows wants to see it, and who reads a file doesn't wait for the last.
            if stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err() {
                // The reader went away.
                let _ = journalctl.kill();
                let _ = journalctl.wait();
                return Exit::Done;
            }
        }
        if !any && scope == Scope::System && !rustix::process::geteuid().is_root() {
            complain(format_args!(
                "no line is shown; help: run it as root, or as a member of the group systemd-journal, journalctl(1)"
            ));
        }
        // What is wrong, journalctl has said.
        match journalctl.wait() {
            Ok(status) if status.success() => Exit::Done,
            _ => Exit::Failed,
        }
    }
}

/// The members that are meant. The service manager is asked only for what the file doesn't tell, so that the journal
/// of a machine whose manager can't be reached is still to be seen.
fn members(scope: Scope, named: &Selector, outcome: &Outcome) -> Result<Vec<Member>, Exit> {
    let group = outcome.groups.iter().find(|group| group.name.as_str() == named.group);
    let meaning = group.and_then(|group| group.group.as_ref());
    let mut found = Vec::new();
    block_on(async {
        if let Ok(systemd) = connect(scope).await
            && let Ok(all) = systemd.properties_of(&[format!("{}.target", named.group)]).await
        {
            found = all.into_iter().flat_map(|properties| properties.consists_of).collect();
        }
        Exit::Done
    });
    let mut members = members::all_members(&named.group, meaning, &found);
    let known = group.is_some() || !found.is_empty();
    members.retain(|member| named.means(&member.label));
    let process = |part: &str| {
        // An instance needn't be one that the file names.
        let process = part.split('@').next().unwrap_or_default();
        // Without a valid file nobody knows what is in the group.
        meaning
            .is_none_or(|group| group.processes.keys().chain(group.setup.keys()).any(|name| name.as_str() == process))
    };
    let any = !members.is_empty() || named.part.as_deref().is_none_or(process);
    if known && any {
        return Ok(members);
    }
    unknown(named, outcome);
    Err(Exit::NoSuchGroup)
}
