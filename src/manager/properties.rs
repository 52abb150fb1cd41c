//! A unit's properties, from one `GetAll()`, as plain values.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use zbus::{Message, OwnedObjectPath, Variant};

use super::cause::{Cause, ProcessEnd};
use super::state::{ActiveState, FreezerState, LoadState, RestartPolicy, SubState, UnitResult};
use crate::basic::clock::{Monotonic, Realtime};

/// What copse uses of a unit's properties. What a type of unit does not have is empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Properties {
    pub load: LoadState,
    pub active: ActiveState,
    pub sub: SubState,
    /// A job waits or runs for it.
    pub has_job: bool,
    /// When it came into its `ActiveState=`.
    pub since: Option<Realtime>,
    pub times: Times,
    /// `MainPID=`
    pub pid: Option<u32>,
    /// `ExecMainStartTimestamp=`
    pub main_started_at: Option<Realtime>,
    /// `ExecMainExitTimestamp=`
    pub main_exited_at: Option<Realtime>,
    /// `Type=oneshot`
    pub oneshot: bool,
    /// `StandardOutput=null`
    pub output_discarded: bool,
    /// How the main process ended last.
    pub main_end: Option<ProcessEnd>,
    pub result: Option<UnitResult>,
    /// `Restart=`, and after which delay.
    pub restart: RestartPolicy,
    pub restart_delay: Duration,
    /// `RestartPreventExitStatus=` covers how the main process ended.
    pub restart_prevented: bool,
    /// `NRestarts=`
    pub restarts: u32,
    /// Bytes, if accounted.
    pub memory: Option<u64>,
    /// Bytes; `None` for `infinity`.
    pub memory_max: Option<u64>,
    pub cpu_nsec: Option<u64>,
    pub tasks: Option<u64>,
    pub status_text: String,
    /// `ConditionResult=`; false also before a start has checked the conditions.
    pub condition_met: bool,
    /// `AssertResult=`, likewise.
    pub assertion_met: bool,
    /// It is frozen, or its slice is.
    pub frozen: bool,
    /// `RefuseManualStop=`
    pub refuses_stop: bool,
    /// A file of it changed since systemd read it.
    pub needs_reload: bool,
    /// `FragmentPath=`
    pub fragment: PathBuf,
    pub drop_ins: Vec<PathBuf>,
    /// The units that are `PartOf=` it.
    pub consists_of: Vec<String>,
    pub part_of: Vec<String>,
}

/// When things last happened to a unit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Times {
    /// Its conditions were checked: each attempt to start it begins so.
    pub condition_checked: Option<Monotonic>,
    pub assertion_checked: Option<Monotonic>,
    /// It left `inactive` or `failed`. A restart with `RestartMode=direct` does not pass through these.
    pub inactive_left: Option<Monotonic>,
    pub inactive_entered: Option<Monotonic>,
    pub active_entered: Option<Monotonic>,
    pub active_left: Option<Monotonic>,
    pub main_started: Option<Monotonic>,
    pub main_exited: Option<Monotonic>,
}

/// The answer to `GetAll()`.
struct Answer<'m>(HashMap<&'m str, Variant<'m>>);

impl<'m> Answer<'m> {
    fn take<T: TryFrom<Variant<'m>>>(&mut self, name: &str) -> Option<T> {
        T::try_from(self.0.remove(name)?).ok()
    }

    fn text(&mut self, name: &str) -> String {
        self.take(name).unwrap_or_default()
    }

    fn is(&mut self, name: &str) -> bool {
        self.take(name).unwrap_or(false)
    }

    /// A number of which systemd writes the highest for "not set".
    fn set(&mut self, name: &str) -> Option<u64> {
        self.take(name).filter(|value| *value != u64::MAX)
    }

    fn realtime(&mut self, name: &str) -> Option<Realtime> {
        self.take(name).and_then(Realtime::from_micros)
    }

    fn monotonic(&mut self, name: &str) -> Option<Monotonic> {
        self.take(name).and_then(Monotonic::from_micros)
    }

    fn paths(&mut self, name: &str) -> Vec<PathBuf> {
        self.take::<Vec<String>>(name).unwrap_or_default().into_iter().map(PathBuf::from).collect()
    }
}

impl Properties {
    /// From the answer to `GetAll()` of all interfaces.
    ///
    /// # Errors
    /// If it is no dictionary of properties.
    pub(super) fn read(message: &Message) -> zbus::Result<Self> {
        let body = message.body();
        Ok(Self::from_answer(Answer(body.deserialize()?)))
    }

    /// From the answers to `Get()`, one for each of `names`. What was not asked for is empty.
    ///
    /// # Errors
    /// If one is no value of a property.
    pub(super) fn from_single<'n>(names: impl Iterator<Item = &'n str>, messages: &[Message]) -> zbus::Result<Self> {
        let bodies: Vec<_> = messages.iter().map(Message::body).collect();
        let values = names.zip(&bodies).map(|(name, body)| Ok((name, body.deserialize()?)));
        Ok(Self::from_answer(Answer(values.collect::<zbus::Result<_>>()?)))
    }

    fn from_answer(mut answer: Answer<'_>) -> Self {
        let active = ActiveState::from(&*answer.text("ActiveState"));
        let since = match active {
            _ if active.is_up() => "ActiveEnterTimestamp",
            _ if active.is_down() => "InactiveEnterTimestamp",
            _ => "StateChangeTimestamp",
        };
        let job = answer.take::<(u32, OwnedObjectPath)>("Job");
        let main_end = ProcessEnd::new(
            answer.take("ExecMainCode").unwrap_or_default(),
            answer.take("ExecMainStatus").unwrap_or_default(),
        );
        let (statuses, signals): (Vec<i32>, Vec<i32>) = answer.take("RestartPreventExitStatus").unwrap_or_default();
        Self {
            since: answer.realtime(since),
            load: LoadState::from(&*answer.text("LoadState")),
            active,
            sub: SubState::from(&*answer.text("SubState")),
            has_job: job.is_some_and(|(id, _)| id != 0),
            times: Times {
                condition_checked: answer.monotonic("ConditionTimestampMonotonic"),
                assertion_checked: answer.monotonic("AssertTimestampMonotonic"),
                inactive_left: answer.monotonic("InactiveExitTimestampMonotonic"),
                inactive_entered: answer.monotonic("InactiveEnterTimestampMonotonic"),
                active_entered: answer.monotonic("ActiveEnterTimestampMonotonic"),
                active_left: answer.monotonic("ActiveExitTimestampMonotonic"),
                main_started: answer.monotonic("ExecMainStartTimestampMonotonic"),
                main_exited: answer.monotonic("ExecMainExitTimestampMonotonic"),
            },
            pid: answer.take("MainPID").filter(|pid| *pid != 0),
            main_started_at: answer.realtime("ExecMainStartTimestamp"),
            main_exited_at: answer.realtime("ExecMainExitTimestamp"),
            oneshot: answer.text("Type") == "oneshot",
            output_discarded: answer.text("StandardOutput") == "null",
            main_end,
            result: answer.take::<String>("Result").map(|word| UnitResult::from(&*word)),
            restart: answer.take::<String>("Restart").map_or(RestartPolicy::No, |word| RestartPolicy::from(&*word)),
            restart_delay: Duration::from_micros(answer.take("RestartUSec").unwrap_or_default()),
            restart_prevented: match main_end {
                Some(ProcessEnd::Exited(status)) => statuses.contains(&status),
                Some(ProcessEnd::Killed(signal)) => signals.contains(&signal),
                None => false,
            },
            restarts: answer.take("NRestarts").unwrap_or_default(),
            memory: answer.set("MemoryCurrent"),
            memory_max: answer.set("MemoryMax"),
            cpu_nsec: answer.set("CPUUsageNSec"),
            tasks: answer.set("TasksCurrent"),
            status_text: answer.text("StatusText"),
            condition_met: answer.is("ConditionResult"),
            assertion_met: answer.is("AssertResult"),
            frozen: FreezerState::from(&*answer.text("FreezerState")).is_frozen(),
            refuses_stop: answer.is("RefuseManualStop"),
            needs_reload: answer.is("NeedDaemonReload"),
            fragment: answer.text("FragmentPath").into(),
            drop_ins: answer.paths("DropInPaths"),
            consists_of: answer.take("ConsistsOf").unwrap_or_default(),
            part_of: answer.take("PartOf").unwrap_or_default(),
        }
    }

    /// A condition kept its last start from happening.
    pub fn condition_failed(&self) -> bool {
        self.times.condition_checked.is_some() && !self.condition_met
    }

    /// An assertion made its last start fail.
    pub fn assertion_failed(&self) -> bool {
        !self.condition_failed() && self.times.assertion_checked.is_some() && !self.assertion_met
    }

    /// Why it failed; `None` for a type of unit that does not record it.
    pub fn cause(&self) -> Option<Cause> {
        Some(Cause { result: self.result.clone()?, main: self.main_end })
    }

    /// Whether a service that is inactive ended by itself, with success. A service that is asked to stop leaves `active`
    /// before its process ends.
    pub fn exited_by_itself(&self) -> bool {
        let Times { active_left, main_exited, .. } = &self.times;
        self.result == Some(UnitResult::Success) && main_exited.is_some() && active_left >= main_exited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_is_asked_to_stop_leaves_active_first() {
        let ended = |result: UnitResult, active_left, main_exited| {
            let (active_left, main_exited) = (Monotonic::from_micros(active_left), Monotonic::from_micros(main_exited));
            let times = Times { active_left, main_exited, ..Times::default() };
            Properties { result: Some(result), times, ..Properties::default() }.exited_by_itself()
        };
        assert!(ended(UnitResult::Success, 11, 10));
        assert!(!ended(UnitResult::Success, 10, 11));
        assert!(!ended(UnitResult::Success, 0, 0));
        assert!(!ended(UnitResult::Signal, 11, 10));
    }

    #[test]
    fn what_a_unit_does_not_have_is_empty() {
        assert_eq!(Properties::from_answer(Answer(HashMap::new())).result, None);
        let all = [
            ("ActiveState", Variant::from("active")),
            ("ActiveEnterTimestamp", Variant::from(7_u64)),
            ("MainPID", Variant::from(0_u32)),
            ("MemoryCurrent", Variant::from(u64::MAX)),
            ("ExecMainCode", Variant::from(1)),
            ("ExecMainStatus", Variant::from(3)),
            ("RestartPreventExitStatus", Variant::from((vec![3, 4], Vec::<i32>::new()))),
        ];
        let found = Properties::from_answer(Answer(HashMap::from(all)));
        assert_eq!((found.since, found.pid, found.memory), (Realtime::from_micros(7), None, None));
        assert_eq!((found.main_end, found.restart_prevented), (Some(ProcessEnd::Exited(3)), true));
    }
}
