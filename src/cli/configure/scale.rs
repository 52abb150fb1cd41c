//! `copse scale`: starts or stops instances of a process, and does not touch the others.

use clap::Args;

use super::process::{Change, Process};
use crate::basic::scope::Scope;
use crate::change::observe::members;
use crate::change::observe::members::{Kind, Member, all_members};
use crate::change::observe::subject::Subject;
use crate::change::plan::Action;
use crate::cli::common::args::Json;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::message::{copse, lifetime_of_run};
use crate::cli::common::output::counted;
use crate::cli::common::progress::Details;
use crate::cli::common::session;
use crate::cli::common::session::{Session, requested};
use crate::manager::unit::UnitInfo;
use crate::model;
use crate::model::{Group, Start};
use crate::unit::name;
use crate::unit::name::{GroupName, InstanceName, ProcessName};

/// Set the number of instances of a process until the next boot.
///
/// Writes a drop-in for the group file. Only the difference is started or stopped.
#[derive(Debug, Args)]
pub(crate) struct Scale {
    /// Process.
    #[arg(value_name = "GROUP/PROCESS")]
    name: String,

    /// Number of instances; 0 takes the process out of its group.
    #[arg(value_name = "N", required_unless_present = "reset")]
    count: Option<u32>,

    /// Keep the number across boots.
    #[arg(long)]
    permanent: bool,

    /// Return to the number in the group file, and remove the drop-ins.
    #[arg(long, conflicts_with_all = ["count", "permanent"])]
    reset: bool,

    #[command(flatten)]
    output: Json,
}

/// What to do once the service manager has read the drop-in.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    stop: Vec<Subject>,
    start: Vec<Subject>,
}

impl Execute for Scale {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        session::run(scope, self.output.json, async |session| {
            self.carry_out(session, &self.prepare(session)?).await?;
            Ok(Exit::Done)
        })
    }
}

impl Scale {
    fn prepare(&self, session: &Session) -> Result<Change, Error> {
        let process = Process::new(&self.name, session)?;
        if let Some(definition) = current(session, &process.group).and_then(|group| group.processes.get(&process.name))
        {
            self.check(&process, definition)?;
        }
        let text = self.count.map(|count| {
            let option = if self.permanent { " --permanent" } else { "" };
            let (copse, label, name) = (copse(session.scope), process.label(), &process.name);
            format!("# Written by `{copse} scale {label} {count}{option}`.\n[process.{name}]\ninstances = {count}\n")
        });
        let change = process.prepare(session, "scale", text, self.permanent)?;
        match self.count {
            Some(wanted) if instances(&change) != wanted as usize => Err(change.overridden("instances")),
            _ => Ok(change),
        }
    }

    fn check(&self, process: &Process, definition: &model::Process) -> Result<(), Error> {
        let label = process.label();
        match &definition.instances {
            None if self.reset => Err(Error::usage(format_args!("{label} has no instances, nothing to reset"))),
            None => Err(Error::usage(format_args!("{label} has no instances, and its unit would be renamed"))
                .help("write `instances = 1` in the group file first")),
            Some(all) if all.keys().any(|instance| !is_number(instance.as_str())) => {
                Err(Error::usage(format_args!("the instances of {label} have names"))
                    .help("change `instances` in the group file"))
            }
            Some(_) => Ok(()),
        }
    }

    async fn carry_out(&self, session: &Session, change: &Change) -> Result<(), Error> {
        let Process { group, name, .. } = &change.process;
        let target = name::target(group);
        let wanted: Vec<String> = session.systemd().unit_property(&target, "Wants").await?;
        let loaded: Vec<String> = session.systemd().unit_property(&target, "ConsistsOf").await?;
        let active = session.systemd().list(&[&target]).await?.first().is_some_and(UnitInfo::is_up);
        let members = all_members(group.as_str(), current(session, group), &loaded);
        change.commit(session).await?;
        let Difference { stop, start } = difference(group, name, &members, &change.group, &wanted, active);
        let stop = session.up(stop).await?;
        let plan = requested(group, [(Action::Stop, stop), (Action::Start, start)]);
        let end = session.carry_out(&plan, change.group.timeout_start.value.finite()).await;
        let (count, label) = (instances(change), change.process.label());
        session.progress.report(group, &label, Details::Scale { instances: count }).await?;
        let duration = match (self.reset, self.permanent) {
            (true, _) => ", as in the group file".to_owned(),
            (_, true) => String::new(),
            _ => format!(" {}", lifetime_of_run(session.scope)),
        };
        let stopped = if active { "" } else { "; the group is stopped" };
        session.progress.note(&format!("{label}: {}{duration}{stopped}", counted(count, "instance")));
        Ok(end?)
    }
}

/// The group by its current files.
fn current<'s>(session: &'s Session, group: &GroupName) -> Option<&'s Group> {
    let mut files = session.outcome.groups.iter().filter(|file| file.name == *group);
    files.next().and_then(|file| file.group.as_ref())
}

fn instances(change: &Change) -> usize {
    let process = change.group.processes.get(&change.process.name);
    process.and_then(|process| process.instances.as_ref()).map_or(0, |instances| instances.len())
}

fn is_number(instance: &str) -> bool {
    InstanceName::new(instance).is_some() && instance.bytes().all(|byte| byte.is_ascii_digit())
}

/// What to stop and start. `members` are those before the change, and `wanted` what the target wanted then; `active` is
/// whether it is active. A member that stays is not touched: one that the administrator stopped stays stopped. Instances
/// of a manual process are not stopped either.
fn difference(
    group: &GroupName,
    process: &ProcessName,
    members: &[Member],
    after: &Group,
    wanted: &[String],
    active: bool,
) -> Difference {
    let stem = name::stem(group, process);
    let is_of_process = |member: &&Member| {
        let rest = member.unit().strip_prefix(stem.as_str());
        rest.is_some_and(|rest| rest.starts_with(['@', '.']))
            || member.subject.label.strip_prefix(process.as_str()).is_some_and(|rest| {
                // A socket with a name: `P-NAME.socket`, `P-NAME@I.socket`.
                rest.starts_with('-') && member.unit().ends_with(".socket")
            })
    };
    let definition = after.processes.get(process);
    let defined = members::members(after);
    let stays = |member: &Member| defined.iter().any(|other| other.unit() == member.unit());
    let is_numbered = |member: &Member| {
        let instance = member.unit().split_once('@').and_then(|(_, rest)| rest.rsplit_once('.'));
        instance.is_none_or(|(instance, _)| is_number(instance))
    };
    let manual = definition.is_some_and(|process| process.start == Start::Manual);
    let stop = members.iter().filter(is_of_process);
    let stop = stop
        .filter(|member| !manual && !stays(member) && is_numbered(member))
        .map(|member| member.subject.clone())
        .collect();
    let awaited = definition.is_some_and(model::Process::is_awaited);
    let new = |member: &&Member| member.kind == Kind::Process && !wanted.iter().any(|unit| unit == member.unit());
    let start = defined
        .iter()
        .filter(|_| active && awaited)
        .filter(is_of_process)
        .filter(new)
        .map(|member| member.subject.clone());
    Difference { stop, start: start.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::diagnostic::SourceFile;
    use crate::group_file::discover::Source;
    use crate::model::Context;

    fn group(text: &str) -> Group {
        let file = SourceFile { path: "/etc/copse/g.toml".into(), text: text.to_owned() };
        let source = Source { name: GroupName::new("g").unwrap(), file: file.into(), drop_ins: Vec::new() };
        model::read(&source, &Context { scope: Scope::System, cpus: 1 }).0.unwrap()
    }

    fn w(instances: &str) -> Group {
        group(&format!("[process.other]\nexec = \"/a\"\n[process.w]\nexec = \"/a\"\n{instances}\n"))
    }

    fn found(unit: &str) -> Member {
        let subject = Subject::new("g", unit);
        Member { subject, kind: Kind::Process, start: members::Start::Auto, process: None, defined: false }
    }

    fn units(before: &Group, more: &[&str], after: &Group, up: bool) -> (Vec<String>, Vec<String>) {
        let (group, process) = (GroupName::new("g").unwrap(), ProcessName::new("w").unwrap());
        let mut members = members::members(before);
        let wanted: Vec<String> = members.iter().map(|member| member.unit().to_owned()).collect();
        members.extend(more.iter().map(|unit| found(unit)));
        let Difference { stop, start } = difference(&group, &process, &members, after, &wanted, up);
        let names = |subjects: Vec<Subject>| subjects.into_iter().map(|subject| subject.unit).collect();
        (names(stop), names(start))
    }

    #[test]
    fn only_the_difference() {
        for (before, more, after, up, stop, start) in [
            ("instances = 2", &[][..], "instances = 4", true, &[][..], &["g-w@3.service", "g-w@4.service"][..]),
            ("instances = 2", &[], "instances = 4", false, &[], &[]),
            ("instances = 3", &[], "instances = 1", true, &["g-w@2.service", "g-w@3.service"], &[]),
            ("instances = 2", &[], "instances = 2", true, &[], &[]),
            // Somebody started one more, and one with a name that no number gives.
            ("instances = 2", &["g-w@7.service", "g-w@x.service"], "instances = 2", true, &["g-w@7.service"], &[]),
            // Another process's is not this one's.
            ("instances = 2", &["g-w-x@7.service", "g-wx@7.service"], "instances = 2", true, &[], &[]),
            (
                "instances = 2\nstart = \"manual\"",
                &["g-w@7.service"],
                "instances = 1\nstart = \"manual\"",
                true,
                &[],
                &[],
            ),
            ("instances = 1", &[], "instances = 2\nhold = true", true, &[], &[]),
            (
                "instances = 2\nlisten = \"unix:/run/w-{instance}\"",
                &[],
                "instances = 1\nlisten = \"unix:/run/w-{instance}\"",
                true,
                &["g-w@2.socket", "g-w@2.service"],
                &[],
            ),
            (
                "instances = 1\nlisten = \"tcp:80\"",
                &[],
                "instances = 0\nlisten = \"tcp:80\"",
                true,
                &["g-w.socket", "g-w@1.service"],
                &[],
            ),
        ] {
            let (stopped, started) = units(&w(before), more, &w(after), up);
            assert_eq!((&stopped[..], &started[..]), (&owned(stop)[..], &owned(start)[..]), "{before} → {after}");
        }
    }

    fn owned(units: &[&str]) -> Vec<String> {
        units.iter().map(ToString::to_string).collect()
    }
}
