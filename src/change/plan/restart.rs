//! The plan of `copse restart`: one process after the other, in the order of `after`, and the instances of each at its pace.

use std::collections::BTreeMap;

use super::pace::{order, pace};
use super::step::{Action, Pace, Plan, Reason, SkipReason, Skipped, Step};
use crate::change::observe::members::{Kind, Member, Start};
use crate::change::observe::state::State;
use crate::change::observe::subject::Subject;
use crate::model::Group;
use crate::unit::name::{GroupName, ProcessName};

/// The plan that restarts those `members` that run, or should run. A member that an administrator stopped is started only if
/// it is `part` itself, or if no member is up. `part` is what was named of the group, `None` for all of it; `group` is what
/// its file says, if it is valid.
pub fn restart(name: &GroupName, part: Option<&str>, group: Option<&Group>, members: &[(Member, State)]) -> Plan {
    let processes = || members.iter().filter(|(member, _)| member.kind == Kind::Process);
    let nothing_up = !processes().any(|(_, state)| matches!(state, State::Up | State::Restarting | State::Failed(_)));
    let mut skipped: Vec<Skipped> = Vec::new();
    let order = group.map(order).unwrap_or_default();
    let mut restarted: BTreeMap<(Option<usize>, &str), Vec<Subject>> = BTreeMap::new();
    for (Member { subject, start, .. }, state) in processes() {
        let explicit = part.is_some_and(|part| nothing_up || part == subject.label);
        match skip_reason(*start, state).filter(|why| !explicit || *why == SkipReason::Masked) {
            Some(why) => {
                skipped.push(Skipped { units: vec![subject.clone()], why, reasons: vec![Reason::Requested] });
            }
            None => {
                let place = ProcessName::new(subject.process()).and_then(|name| order.get(&name).copied());
                restarted.entry((place, subject.process())).or_default().push(subject.clone());
            }
        }
    }
    let steps = restarted.into_iter().map(|((_, process), units)| {
        let of = processes().filter(|(member, _)| member.subject.process() == process).count();
        let definition = group.and_then(|group| group.processes.get(&ProcessName::new(process)?));
        let pace = match definition {
            Some(process) => pace(process, of),
            None => Pace { max_unavailable: 1, of, ..Pace::default() },
        };
        Step { action: Action::Roll, units, reasons: vec![Reason::Requested], pace }
    });
    Plan::requested(name.clone(), steps.collect(), skipped)
}

/// Why a member is not restarted.
fn skip_reason(start: Start, state: &State) -> Option<SkipReason> {
    match state {
        State::Masked => Some(SkipReason::Masked),
        State::Idle | State::Up | State::Starting if start == Start::Timed => Some(SkipReason::Scheduled),
        State::Idle => Some(SkipReason::Manual),
        State::Stopped => Some(SkipReason::Stopped),
        State::Stopping => Some(SkipReason::Busy),
        State::Done => Some(SkipReason::Exited),
        _ => None,
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
        let subject = Subject::new("g", &format!("g-{label}.service"));
        Member { subject, kind: Kind::Process, start, process: None, defined: true }
    }

    fn g() -> GroupName {
        GroupName::new("g").unwrap()
    }

    fn touched(plan: &Plan) -> Vec<&str> {
        plan.steps.iter().flat_map(|step| &step.units).map(|subject| subject.label.as_str()).collect()
    }

    fn left(plan: &Plan) -> Vec<(&str, SkipReason)> {
        plan.skipped.iter().map(|skipped| (skipped.units[0].label.as_str(), skipped.why)).collect()
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
                ("done", SkipReason::Exited),
                ("masked", SkipReason::Masked),
                ("stopping", SkipReason::Busy),
                ("idle", SkipReason::Manual),
                ("nightly", SkipReason::Scheduled),
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
