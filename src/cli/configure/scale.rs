//! `copse scale`: more or fewer instances of a process, and none of those that stay is touched.

use clap::Args;
use serde_json::json;

use super::drop_in;
use super::drop_in::Target;
use super::transaction::Amendment;
use crate::basic::scope::Scope;
use crate::change::observe::members;
use crate::change::observe::members::Member;
use crate::change::observe::members::Subject;
use crate::change::plan::Action;
use crate::change::rollout::Stop;
use crate::cli::common::exit::Exit;
use crate::cli::common::output;
use crate::cli::common::output::complain;
use crate::cli::common::session;
use crate::cli::common::session::Session;
use crate::model::{Group, Start};
use crate::unit::name;
use crate::unit::name::InstanceName;

/// Run so many instances of a process, until the next boot.
///
/// It is a drop-in for the group file. Only the difference is started or stopped.
#[derive(Debug, Args)]
pub(crate) struct Scale {
    /// Which process.
    #[arg(value_name = "GROUP/PROCESS")]
    name: String,

    /// How many; 0 takes the process out of its group.
    #[arg(value_name = "N", required_unless_present = "reset")]
    count: Option<u32>,

    /// Keep it over the next boot.
    #[arg(long)]
    permanent: bool,

    /// As many as the group file says: what `scale` said earlier is forgotten.
    #[arg(long, conflicts_with_all = ["count", "permanent"])]
    reset: bool,

    /// An object instead of what is shown.
    #[arg(long)]
    json: bool,
}

/// What has to be done once the manager has read the files.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    stop: Vec<Subject>,
    start: Vec<Subject>,
}

impl Scale {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        session::run(scope, self.json, async |work| match self.prepare(work) {
            Ok((target, amendment, after)) => self.scale(work, &target, &amendment, &after).await,
            Err(exit) => Ok(exit),
        })
    }

    /// Checks what was asked for, and changes nothing.
    fn prepare(&self, work: &Session) -> Result<(Target, Amendment, Group), Exit> {
        let target = Target::new(&self.name, work)?;
        let directories = drop_in::directories(work)?;
        let [lasting, passing] = target.paths("scale", &directories)?;
        let now = work.outcome.groups.iter().find(|group| group.name == target.group);
        let now = now.and_then(|group| group.group.as_ref()).and_then(|group| group.processes.get(&target.process));
        if let Some(process) = now {
            self.check(&target, process)?;
        }
        let amendment = Amendment::new(target.group.clone());
        let amendment = match self.count {
            None => amendment.remove(lasting).remove(passing),
            Some(count) => {
                let option = if self.permanent { " --permanent" } else { "" };
                let text = format!(
                    "# Made by `{} scale {} {count}{option}`.\n[process.{}]\ninstances = {count}\n",
                    crate::cli::common::output::copse(work.scope),
                    target.label(),
                    target.process
                );
                match self.permanent {
                    true => amendment.write(lasting, text).remove(passing),
                    false => amendment.write(passing, text),
                }
            }
        };
        let (after, source) = drop_in::foresee(work, &directories, &amendment)?;
        let count =
            after.processes.get(&target.process).map(|process| process.instances.as_ref().map_or(0, |all| all.len()));
        match self.count {
            Some(wanted) if count.unwrap_or(0) != wanted as usize => {
                Err(drop_in::outvoted(&source, &target, "instances"))
            }
            _ => Ok((target, amendment, after)),
        }
    }

    fn check(&self, target: &Target, process: &crate::model::Process) -> Result<(), Exit> {
        let label = target.label();
        match &process.instances {
            None if self.reset => complain(format_args!("{label} has no instances: there is nothing to take back")),
            None => complain(format_args!(
                "{label} has no instances, and its unit would get another name: write `instances = 1` in the group file first"
            )),
            Some(all) if all.keys().any(|instance| !is_number(instance.as_str())) => {
                complain(format_args!("the instances of {label} have names: write them in the group file"));
            }
            Some(_) => return Ok(()),
        }
        Err(Exit::Usage)
    }

    async fn scale(&self, work: &Session, target: &Target, amendment: &Amendment, after: &Group) -> Result<Exit, Stop> {
        let unit = name::target(&target.group);
        let wanted: Vec<String> = work.systemd().unit_property(&unit, "Wants").await?;
        let found: Vec<String> = work.systemd().unit_property(&unit, "ConsistsOf").await?;
        let up = work.systemd().list(&[&unit]).await?.first().is_some_and(crate::manager::unit::UnitInfo::is_up);
        let before = work.outcome.groups.iter().find(|group| group.name == target.group);
        let mut members = before.and_then(|group| group.group.as_ref()).map(members::members).unwrap_or_default();
        members::with_found(&mut members, target.group.as_str(), None, &found);
        let directories = match drop_in::directories(work) {
            Ok(directories) => directories,
            Err(exit) => return Ok(exit),
        };
        if let Err(exit) = drop_in::bring(work, &directories, amendment).await? {
            return Ok(exit);
        }
        let difference = difference(target, &members, after, &wanted, up);
        let stop = work.up(difference.stop).await?;
        work.progress.expect(stop.iter().chain(&difference.start));
        let done = work.asked(after, vec![(Action::Stop, stop), (Action::Start, difference.start)]).await;
        self.tell(work, target, after, up)?;
        done.map(|()| Exit::Done)
    }

    fn tell(&self, work: &Session, target: &Target, after: &Group, up: bool) -> Result<(), Stop> {
        let process = after.processes.get(&target.process);
        let count = process.map_or(0, |process| process.instances.as_ref().map_or(0, |all| all.len()));
        work.progress.report(target.group.as_str(), &target.label(), json!({ "instances": count }))?;
        let until = match (self.reset, self.permanent) {
            (true, _) => ", as the group's files say".to_owned(),
            (_, true) => String::new(),
            _ => format!(" {}", crate::cli::common::output::passing(work.scope)),
        };
        let stopped = if up { "" } else { "; the group is stopped" };
        work.progress.note(&format!("{}: {}{until}{stopped}", target.label(), output::counted(count, "instance")));
        Ok(())
    }
}

fn is_number(instance: &str) -> bool {
    InstanceName::new(instance).is_some() && instance.bytes().all(|byte| byte.is_ascii_digit())
}

/// What is stopped and started. `members` are those before, `wanted` what the group's target wanted then, `up` whether it
/// is active. A member that stays is in neither list, whatever it does: what an administrator stopped stays stopped. The
/// instances of a manual process are left to who started them.
fn difference(target: &Target, members: &[Member], after: &Group, wanted: &[String], up: bool) -> Difference {
    let subject = |member: &Member| Subject { unit: member.unit.clone(), label: member.label.clone() };
    let stem = name::stem(&target.group, &target.process);
    let of_process = |member: &&Member| {
        let rest = member.unit.strip_prefix(stem.as_str());
        rest.is_some_and(|rest| rest.starts_with(['@', '.']))
            || member.label.strip_prefix(target.process.as_str()).is_some_and(|rest| {
                // A socket with a name: `P-NAME.socket`, `P-NAME@I.socket`.
                rest.starts_with('-') && member.unit.ends_with(".socket")
            })
    };
    let now = members::members(after);
    let stays = |member: &Member| now.iter().any(|other| other.unit == member.unit);
    let numbered = |member: &Member| match member.unit.split_once('@').and_then(|(_, rest)| rest.rsplit_once('.')) {
        Some((instance, _)) => is_number(instance),
        None => true,
    };
    let manual = after.processes.get(&target.process).is_some_and(|process| process.start == Start::Manual);
    let stop = members
        .iter()
        .filter(of_process)
        .filter(|member| !manual && !stays(member) && numbered(member))
        .map(subject)
        .collect();
    let awaited = after.processes.get(&target.process).is_some_and(crate::model::Process::is_awaited);
    let start = now
        .iter()
        .filter(of_process)
        .filter(|member| up && awaited && member.kind == members::Kind::Process && !wanted.contains(&member.unit))
        .map(subject)
        .collect();
    Difference { stop, start }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::diagnostic::SourceFile;
    use crate::change::observe::members::Kind;
    use crate::group_file::discover::Source;
    use crate::model;
    use crate::model::Context;
    use crate::unit::name::{GroupName, ProcessName};

    fn group(text: &str) -> Group {
        let file = SourceFile { path: "/etc/copse/g.toml".into(), text: text.to_owned() };
        let source = Source { name: GroupName::new("g").unwrap(), file: file.into(), drop_ins: Vec::new() };
        model::read(&source, &Context { scope: Scope::System, cpus: 1 }).0.unwrap()
    }

    fn w(instances: &str) -> Group {
        group(&format!("[process.other]\nexec = \"/a\"\n[process.w]\nexec = \"/a\"\n{instances}\n"))
    }

    fn found(unit: &str) -> Member {
        let label = members::label("g", unit);
        Member { unit: unit.to_owned(), label, kind: Kind::Process, start: members::Start::Auto, defined: false }
    }

    fn units(before: &Group, more: &[&str], after: &Group, up: bool) -> (Vec<String>, Vec<String>) {
        let target = Target { group: GroupName::new("g").unwrap(), process: ProcessName::new("w").unwrap() };
        let mut members = members::members(before);
        let wanted: Vec<String> = members.iter().map(|member| member.unit.clone()).collect();
        members.extend(more.iter().map(|unit| found(unit)));
        let Difference { stop, start } = difference(&target, &members, after, &wanted, up);
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

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }
}
