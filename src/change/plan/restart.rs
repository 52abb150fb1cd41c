//! What `copse restart` asks for, as a plan: one process after the other, in the order of `after`, and of each its
//! instances at its own pace.

use std::collections::BTreeMap;

use super::{Action, Pace, Plan, Reason, SkipReason, Skipped, Step};
use crate::change::observe::members::Subject;
use crate::change::observe::members::{Kind, Member, Start};
use crate::change::observe::state::State;
use crate::change::plan;
use crate::model::{Group, Process};
use crate::unit::name::{GroupName, ProcessName};

/// The plan that restarts what runs, or should run, of `members`. What an administrator stopped is started only where it
/// was named itself, or where nothing of what was named is up. `part` is what was named of the group, `None` all of it;
/// `meaning` is what the group's file means, if it is valid.
pub fn restart(group: &GroupName, part: Option<&str>, meaning: Option<&Group>, members: &[(Member, State)]) -> Plan {
    let processes = || members.iter().filter(|(member, _)| member.kind == Kind::Process);
    let nothing_up = !processes().any(|(_, state)| matches!(state, State::Up | State::Restarting | State::Failed(_)));
    let mut leave: Vec<Skipped> = Vec::new();
    let order = meaning.map(plan::order).unwrap_or_default();
    let mut touched: BTreeMap<(Option<usize>, &str), Vec<Subject>> = BTreeMap::new();
    for (member, state) in processes() {
        let subject = Subject { unit: member.unit.clone(), label: member.label.clone() };
        let explicit = part.is_some_and(|part| nothing_up || part == member.label);
        match why_not(member, state).filter(|why| !explicit || *why == SkipReason::Masked) {
            Some(why) => leave.push(Skipped { units: vec![subject], why, reasons: vec![Reason::Asked] }),
            None => {
                let process = process_of(&member.label);
                let place = ProcessName::new(process).and_then(|name| order.get(&name).copied());
                touched.entry((place, process)).or_default().push(subject);
            }
        }
    }
    let steps = touched.into_iter().map(|((_, process), units)| {
        let of = processes().filter(|(member, _)| process_of(&member.label) == process).count();
        let definition = meaning.and_then(|group| group.processes.get(&ProcessName::new(process)?));
        Step { action: Action::Roll, units, reasons: vec![Reason::Asked], pace: pace(definition, of) }
    });
    Plan::asked(group.clone(), steps.collect(), leave)
}

/// SkipReason a member isn't restarted.
fn why_not(member: &Member, state: &State) -> Option<SkipReason> {
    match state {
        State::Masked => Some(SkipReason::Masked),
        State::Idle | State::Up | State::Starting if member.start == Start::Timed => Some(SkipReason::Timed),
        State::Idle => Some(SkipReason::Manual),
        State::Stopped => Some(SkipReason::Stopped),
        State::Stopping => Some(SkipReason::InMotion),
        State::Done => Some(SkipReason::Done),
        _ => None,
    }
}

/// `web` of `web@1`.
fn process_of(label: &str) -> &str {
    label.split_once('@').map_or(label, |(process, _)| process)
}

fn pace(process: Option<&Process>, of: usize) -> Pace {
    match process {
        Some(process) => plan::pace(process, of),
        None => Pace { max_unavailable: 1, of, ..Pace::default() },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::basic::diagnostic::SourceFile;
    use crate::basic::scope::Scope;
    use crate::group_file::discover::Source;
    use crate::model;
    use crate::model::Context;

    fn member(label: &str, start: Start) -> Member {
        let unit = format!("g-{label}.service");
        Member { unit, label: label.to_owned(), kind: Kind::Process, start, defined: true }
    }

    fn g() -> GroupName {
        GroupName::new("g").unwrap()
    }

    fn touched(plan: &Plan) -> Vec<&str> {
        plan.steps.iter().flat_map(|step| &step.units).map(|subject| subject.label.as_str()).collect()
    }

    fn left(plan: &Plan) -> Vec<(&str, SkipReason)> {
        plan.leave.iter().map(|leave| (leave.units[0].label.as_str(), leave.why)).collect()
    }

    #[test]
    fn what_runs_or_failed_is_restarted_and_the_rest_is_left() {
        let auto = |label| member(label, Start::Auto);
        let members = [
            (auto("up"), State::Up),
            (auto("failed"), State::Failed(None)),
            (auto("flaps"), State::Restarting),
            (auto("stopped"), State::Stopped),
            (auto("done"), State::Done),
            (auto("masked"), State::Masked),
            (auto("stopping"), State::Stopping),
            (member("idle", Start::Manual), State::Idle),
            (member("called", Start::Manual), State::Up),
            (member("nightly", Start::Timed), State::Starting),
        ];
        let plan = restart(&g(), None, None, &members);
        assert_eq!(touched(&plan), ["called", "failed", "flaps", "up"]);
        assert_eq!(
            left(&plan),
            [
                ("stopped", SkipReason::Stopped),
                ("done", SkipReason::Done),
                ("masked", SkipReason::Masked),
                ("stopping", SkipReason::InMotion),
                ("idle", SkipReason::Manual),
                ("nightly", SkipReason::Timed),
            ]
        );
    }

    #[test]
    fn what_is_stopped_is_started_only_where_it_was_named() {
        let instances = |two: State| [(member("web@1", Start::Auto), State::Up), (member("web@2", Start::Auto), two)];
        let members = instances(State::Stopped);
        assert_eq!(touched(&restart(&g(), Some("web"), None, &members)), ["web@1"]);
        assert_eq!(touched(&restart(&g(), Some("web@2"), None, &members[1..])), ["web@2"]);
        let all_down = [(member("web@1", Start::Auto), State::Stopped), (member("web@2", Start::Auto), State::Stopped)];
        assert_eq!(touched(&restart(&g(), Some("web"), None, &all_down)), ["web@1", "web@2"]);
        let masked = [(member("web", Start::Auto), State::Masked)];
        assert_eq!(left(&restart(&g(), Some("web"), None, &masked)), [("web", SkipReason::Masked)]);
    }

    #[test]
    fn who_is_after_others_comes_after_them() {
        let text = "[process.a]\nexec = \"/a\"\nafter = [\"m\"]\n[process.z]\nexec = \"/z\"\n\
            [process.m]\nexec = \"/m\"\nafter = [\"s\"]\n[setup.s]\nexec = \"/s\"\nafter = [\"z\"]\n";
        let file = Arc::new(SourceFile { path: "/etc/copse/g.toml".into(), text: text.to_owned() });
        let source = Source { name: g(), file, drop_ins: Vec::new() };
        let (group, _) = model::read(&source, &Context { scope: Scope::System, cpus: 1 });
        let group = group.expect("a good file");
        let members: Vec<_> = ["a", "m", "z"].map(|label| (member(label, Start::Auto), State::Up)).into();
        assert_eq!(touched(&restart(&g(), None, Some(&group), &members)), ["z", "m", "a"]);
    }
}
