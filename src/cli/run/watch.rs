//! The units of a run: what is shown of their changes, and when the run ends. Pure.

use crate::basic::clock::Monotonic;
use crate::change::observe::members::{Kind, Member, Start};
use crate::change::observe::state::State;
use crate::manager::cause::ProcessEnd;
use crate::manager::properties::Properties;
use crate::manager::state::{ActiveState, LoadState, SubState, UnitResult};
use crate::manager::unit::UnitInfo;

/// A unit of the run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Watched {
    pub(super) member: Member,
    /// The run ends when it fails.
    pub(super) essential: bool,
    pub(super) info: UnitInfo,
    pub(super) properties: Option<Properties>,
    pub(super) state: State,
}

/// Why a run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// This process or step ended, with this exit status.
    Of(String, u8),
    /// All processes exited with success.
    Done,
    /// The start failed, and no unit shows why.
    NotStarted,
    /// The group was stopped by another program.
    Stopped,
}

/// How far the start of the group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    Starting,
    Ready,
    Failed,
}

impl Watched {
    pub(super) fn new(member: Member, essential: bool) -> Self {
        let info = UnitInfo { load: LoadState::Loaded, ..UnitInfo::absent(member.unit()) };
        let state = State::of(&member, &info, None);
        Self { member, essential, info, properties: None, state }
    }

    /// Whether its states alone do not show what became of it.
    pub(super) fn needs_properties(&self, now: &UnitInfo) -> bool {
        // A unit that starts and exits between two looks has the same states both times.
        *now != self.info || now.active == ActiveState::Inactive && now.job.is_none()
    }

    /// Takes the states in. Returns what is to be shown.
    pub(super) fn update(&mut self, info: UnitInfo, properties: Option<Properties>) -> Option<String> {
        let restarts =
            |properties: &Option<Properties>| properties.as_ref().map_or(0, |properties| properties.restarts);
        let properties = properties.or_else(|| self.properties.take());
        let state = State::of(&self.member, &info, properties.as_ref());
        let again = state == State::Restarting && restarts(&properties) != restarts(&self.properties);
        let message =
            (state != self.state || again).then(|| message(&self.member, &self.state, &state, properties.as_ref()));
        (self.info, self.properties, self.state) = (info, properties, state);
        message.flatten()
    }

    /// It has exited, or never ran.
    fn has_ended(&self) -> bool {
        match self.state {
            State::Up => self.info.sub == SubState::Exited,
            State::Idle => self.member.start != Start::Timed,
            State::Starting | State::Restarting | State::Stopping => false,
            _ => true,
        }
    }

    /// When it exited; if that is unknown, it sorts last.
    fn exited_at(&self) -> (bool, Option<Monotonic>) {
        let properties = self.properties.as_ref();
        (properties.is_none(), properties.and_then(|properties| properties.times.main_exited))
    }
}

/// What is shown of a change of state; `None` for steps that only matter to systemd.
fn message(member: &Member, before: &State, now: &State, properties: Option<&Properties>) -> Option<String> {
    Some(match (now, member.kind) {
        (State::Up, Kind::Process) => match properties.and_then(|properties| properties.pid) {
            None => "ready".to_owned(),
            Some(pid) => format!("ready, PID {pid}"),
        },
        (State::Up, Kind::Socket) => "listening".to_owned(),
        (State::Done, Kind::Setup) => "done".to_owned(),
        (State::Done, _) => "exited".to_owned(),
        (State::Skipped, _) => "skipped: condition unmet".to_owned(),
        (State::Masked, _) => "skipped: masked".to_owned(),
        (State::Restarting, _) => {
            let cause = properties.and_then(Properties::cause).filter(|cause| cause.result != UnitResult::Success);
            format!("ended{}; restarting", cause.map(|cause| format!(": {cause}")).unwrap_or_default())
        }
        (State::Failed(None), _) => "failed".to_owned(),
        (State::Failed(Some(cause)), _) => format!("failed: {cause}"),
        (State::NotLoaded(how), _) => format!("cannot run: {how}"),
        (State::Refused, _) => "not started: assertion failed".to_owned(),
        (State::Stopped, _) if !matches!(before, State::Starting) => "stopped".to_owned(),
        _ => return None,
    })
}

/// Whether the run ends, and why. `any_end`: it ends when any process exits, as with foreman.
pub(super) fn end(units: &[Watched], target: &UnitInfo, begun: Begun, any_end: bool) -> Option<End> {
    let counts = |unit: &&Watched| unit.essential && unit.member.start == Start::Auto;
    let failed = |unit: &&Watched| matches!(unit.state, State::Failed(_) | State::NotLoaded(_) | State::Refused);
    let done = |unit: &&Watched| any_end && unit.member.kind == Kind::Process && unit.state == State::Done;
    let first =
        units.iter().filter(counts).filter(|unit| failed(unit) || done(unit)).min_by_key(|unit| unit.exited_at());
    if let Some(unit) = first {
        let status = if unit.state == State::Done { 0 } else { status(unit.properties.as_ref()) };
        return Some(End::Of(unit.member.subject.label.clone(), status));
    }
    if begun == Begun::Starting {
        return None;
    }
    if target.active == ActiveState::Inactive && target.job.is_none() {
        return Some(if begun == Begun::Failed { End::NotStarted } else { End::Stopped });
    }
    let processes = || units.iter().filter(|unit| unit.member.kind == Kind::Process);
    // An active socket or timer can still start a process.
    let can_start =
        units.iter().any(|unit| matches!(unit.member.kind, Kind::Socket | Kind::Timer) && !unit.has_ended());
    (!can_start && processes().all(Watched::has_ended)).then_some(End::Done)
}

/// The exit status of a failed process; for a signal, its number plus 128, as in shells.
fn status(properties: Option<&Properties>) -> u8 {
    let status = properties.and_then(|properties| properties.main_end).map(|end| match end {
        ProcessEnd::Exited(status) => status,
        ProcessEnd::Killed(signal) => 128 + signal,
    });
    status.and_then(|status| u8::try_from(status).ok()).filter(|status| *status != 0).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::observe::subject::Subject;
    use crate::manager::properties::Times;
    use crate::manager::state::JobType;

    fn unit(label: &str, kind: Kind, start: Start) -> Watched {
        let subject = Subject::new("g", &format!("g-{label}.service"));
        let member = Member { subject, kind, start, process: None, defined: true };
        Watched::new(member, start == Start::Auto)
    }

    fn info(states: &str) -> UnitInfo {
        let mut words = states.split(' ');
        let mut next = || words.next().unwrap_or_default();
        let (active, sub) = (next().into(), next().into());
        let job = words.next().map(JobType::from);
        UnitInfo { name: String::new(), load: LoadState::Loaded, active, sub, job }
    }

    fn properties(result: &str, main_code: i32, main_status: i32, main_exited: u64) -> Properties {
        let main_exited = Monotonic::from_micros(main_exited);
        Properties {
            result: Some(result.into()),
            main_end: ProcessEnd::new(main_code, main_status),
            times: Times { main_exited, active_left: main_exited, ..Times::default() },
            pid: Some(7),
            ..Properties::default()
        }
    }

    #[test]
    fn what_is_said_of_a_process_and_a_step() {
        let running = || properties("success", 0, 0, 0);
        for (kind, steps) in [
            (
                Kind::Process,
                &[
                    ("inactive dead start", running(), None),
                    ("activating start-post start", running(), None),
                    ("active running", running(), Some("ready, PID 7")),
                    ("active running", running(), None),
                    ("activating auto-restart", properties("signal", 2, 11, 9), Some("ended: signal SEGV; restarting")),
                    ("active running", running(), Some("ready, PID 7")),
                    ("deactivating stop-sigterm stop", running(), None),
                    ("inactive dead", properties("success", 1, 0, 0), Some("stopped")),
                ][..],
            ),
            (Kind::Process, &[("inactive dead", properties("success", 1, 0, 5), Some("exited"))]),
            (Kind::Process, &[("failed failed", properties("exit-code", 1, 3, 5), Some("failed: exit status 3"))]),
            (Kind::Setup, &[("activating start", running(), None), ("active exited", running(), Some("done"))]),
            (Kind::Socket, &[("active listening", running(), Some("listening"))]),
        ] {
            let mut unit = unit("a", kind, Start::Auto);
            for (states, properties, expected) in steps {
                assert_eq!(
                    unit.update(info(states), Some(properties.clone())).as_deref(),
                    *expected,
                    "{kind:?} {states}"
                );
            }
        }
    }

    #[test]
    fn each_restart_is_said() {
        let mut unit = unit("a", Kind::Process, Start::Auto);
        let ended = |restarts| Properties { restarts, ..properties("exit-code", 1, 3, 5) };
        let said = Some("ended: exit status 3; restarting".to_owned());
        assert_eq!(unit.update(info("activating auto-restart"), Some(ended(0))), said);
        assert_eq!(unit.update(info("activating auto-restart"), Some(ended(0))), None);
        assert_eq!(unit.update(info("activating auto-restart"), Some(ended(1))), said);
    }

    #[test]
    fn one_that_starts_and_ends_between_two_looks_is_asked_after() {
        let unit = unit("a", Kind::Process, Start::Auto);
        assert!(unit.needs_properties(&unit.info.clone()));
        let mut queued = unit.clone();
        let row = UnitInfo { job: Some(JobType::Start), ..unit.info };
        queued.update(row.clone(), None);
        assert!(!queued.needs_properties(&row));
    }

    fn over(units: &[(&str, Kind, Start, &str, Option<Properties>)], begun: Begun, any_end: bool) -> Option<End> {
        let target = if begun == Begun::Failed { info("inactive dead") } else { info("active active") };
        let mut watched = Vec::new();
        for (label, kind, start, states, properties) in units {
            let mut unit = unit(label, *kind, *start);
            unit.update(info(states), properties.clone());
            watched.push(unit);
        }
        end(&watched, &target, begun, any_end)
    }

    #[test]
    fn when_a_run_has_ended() {
        use Kind::{Process, Setup, Socket};
        use Start::{Auto, Manual, Timed};
        let up = |label| (label, Process, Auto, "active running", None);
        let gone = |label, code, status, at| {
            let result = if (code, status) == (1, 0) { "success" } else { "exit-code" };
            let states = if result == "success" { "inactive dead" } else { "failed failed" };
            (label, Process, Auto, states, Some(properties(result, code, status, at)))
        };
        let of = |label: &str, status| Some(End::Of(label.to_owned(), status));
        for (situation, units, begun, any_end, expected) in [
            ("all runs", vec![up("a"), up("b")], Begun::Ready, true, None),
            ("one failed", vec![up("a"), gone("b", 1, 3, 9)], Begun::Ready, true, of("b", 3)),
            ("while the others start", vec![up("a"), gone("b", 1, 3, 9)], Begun::Starting, true, of("b", 3)),
            ("one was killed", vec![gone("b", 2, 9, 9)], Begun::Ready, true, of("b", 137)),
            ("the first of two", vec![gone("a", 1, 4, 9), gone("b", 1, 3, 8)], Begun::Ready, true, of("b", 3)),
            ("one ended well", vec![up("a"), gone("b", 1, 0, 9)], Begun::Ready, true, of("b", 0)),
            ("one ended well, in a group", vec![up("a"), gone("b", 1, 0, 9)], Begun::Ready, false, None),
            (
                "all ended well, in a group",
                vec![gone("a", 1, 0, 8), gone("b", 1, 0, 9)],
                Begun::Ready,
                false,
                Some(End::Done),
            ),
            (
                "and aren't started yet",
                vec![("a", Process, Auto, "inactive dead start", None)],
                Begun::Starting,
                true,
                None,
            ),
            (
                "a step failed",
                vec![
                    ("m", Setup, Auto, "failed failed", Some(properties("exit-code", 1, 2, 9))),
                    ("a", Process, Auto, "inactive dead", None),
                ],
                Begun::Failed,
                true,
                of("m", 2),
            ),
            (
                "nobody knows why",
                vec![("a", Process, Auto, "inactive dead", None)],
                Begun::Failed,
                true,
                Some(End::NotStarted),
            ),
            (
                "a manual one failed",
                vec![up("a"), ("b", Process, Manual, "failed failed", Some(properties("exit-code", 1, 2, 9)))],
                Begun::Ready,
                true,
                None,
            ),
            (
                "a socket waits",
                vec![
                    ("a", Process, Auto, "inactive dead", Some(properties("success", 1, 0, 9))),
                    ("s", Socket, Auto, "active listening", None),
                ],
                Begun::Ready,
                false,
                None,
            ),
            ("a timer's process waits", vec![("t", Process, Timed, "inactive dead", None)], Begun::Ready, false, None),
            (
                "a oneshot is done",
                vec![("a", Process, Auto, "active exited", None)],
                Begun::Ready,
                false,
                Some(End::Done),
            ),
            ("it is restarted", vec![("a", Process, Auto, "activating auto-restart", None)], Begun::Ready, false, None),
        ] {
            assert_eq!(over(&units, begun, any_end), expected, "{situation}");
        }
    }

    #[test]
    fn somebody_else_stopped_it() {
        let mut one = unit("a", Kind::Process, Start::Auto);
        one.update(info("active running"), None);
        one.update(info("inactive dead"), Some(properties("success", 2, 15, 0)));
        assert_eq!(end(&[one], &info("inactive dead"), Begun::Ready, true), Some(End::Stopped));
    }
}
