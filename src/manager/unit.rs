//! What a look at a unit brings home, as plain values.

use std::collections::HashMap;
use std::fmt::Write as _;

use zbus::OwnedVariant;

use super::proxy::ListUnitsRow;
use crate::basic::clock;

/// A moment on `CLOCK_MONOTONIC`, in microseconds, as systemd's `…TimestampMonotonic` properties have it.
/// Zero: never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Monotonic(pub u64);

impl Monotonic {
    /// Now.
    pub fn now() -> Self {
        Self(clock::monotonic())
    }

    /// Whether it ever happened.
    pub fn happened(self) -> bool {
        self.0 != 0
    }
}

/// A property among all of a unit's, if it is there and of that type.
pub fn get<T>(properties: &HashMap<String, OwnedVariant>, name: &str) -> Option<T>
where
    T: TryFrom<OwnedVariant>,
{
    T::try_from(properties.get(name)?.try_clone().ok()?).ok()
}

/// A unit's row in the manager's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The unit's name.
    pub name: String,
    /// `LoadState=`: `loaded`, `not-found`, `bad-setting`, `error`, `masked`, `merged`.
    pub load_state: String,
    /// `ActiveState=`: `active`, `reloading`, `inactive`, `failed`, `activating`, `deactivating`, `maintenance`, `refreshing`.
    pub active_state: String,
    /// `SubState=`, which depends on the kind of the unit: `running`, `auto-restart`, `dead`, …
    pub sub_state: String,
    /// The type of the job that waits or runs for it: `start`, `stop`, `restart`, `reload`, …
    pub job: Option<String>,
}

impl Listed {
    /// A unit that the manager doesn't list, which never happens to one that was asked for by its name.
    pub fn absent(unit: &str) -> Self {
        Self {
            name: unit.to_owned(),
            load_state: "not-found".to_owned(),
            active_state: "inactive".to_owned(),
            sub_state: "dead".to_owned(),
            job: None,
        }
    }

    /// Whether it is up, also while it reloads.
    pub fn is_up(&self) -> bool {
        matches!(self.active_state.as_str(), "active" | "reloading" | "refreshing")
    }

    /// Whether it is down, and nothing is queued for it.
    pub fn is_down(&self) -> bool {
        self.job.is_none() && matches!(self.active_state.as_str(), "inactive" | "failed")
    }
}

impl From<ListUnitsRow> for Listed {
    fn from(row: ListUnitsRow) -> Self {
        let (name, _, load_state, active_state, sub_state, _, _, job, job_type, _) = row;
        Self { name, load_state, active_state, sub_state, job: (job != 0).then_some(job_type) }
    }
}

/// When and how a unit ran last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// `ConditionResult=`; means something only once `condition_checked` has happened.
    pub condition_met: bool,
    /// `ConditionTimestampMonotonic=`: when its conditions were looked at last.
    pub condition_checked: Monotonic,
    /// `AssertResult=`; means something only once `assertion_checked` has happened.
    pub assertion_met: bool,
    /// `AssertTimestampMonotonic=`.
    pub assertion_checked: Monotonic,
    /// `InactiveExitTimestampMonotonic=`: when it left `inactive` or `failed` last.
    pub left_inactive: Monotonic,
    /// `ExecMainStartTimestampMonotonic=` of a service.
    pub main_started: Monotonic,
    /// `Result=` of a service: `success`, `exit-code`, `signal`, `exec-condition`, …
    pub result: String,
}

/// The object path of a unit: everything but letters and digits becomes `_` and two hexadecimal digits,
/// also a digit at the beginning (sd_bus_path_encode(3)). Knowing it saves a `GetUnit()` per unit.
///
/// ```
/// # use copse::manager::unit::unit_path;
/// assert_eq!(unit_path("g-w@1.service"), "/org/freedesktop/systemd1/unit/g_2dw_401_2eservice");
/// ```
pub fn unit_path(name: &str) -> String {
    let mut path = String::from("/org/freedesktop/systemd1/unit/");
    for (position, byte) in name.bytes().enumerate() {
        let plain = byte.is_ascii_alphabetic() || (position > 0 && byte.is_ascii_digit());
        if plain {
            path.push(char::from(byte));
        } else {
            // Writing to a String can't fail.
            let _ = write!(path, "_{byte:02x}");
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_paths_escape_what_dbus_forbids() {
        let unit = "/org/freedesktop/systemd1/unit/";
        for (name, escaped) in [
            ("web.target", "web_2etarget"),
            ("7up.service", "_37up_2eservice"),
            ("a_b.service", "a_5fb_2eservice"),
            (r"x\x2dy@é.service", "x_5cx2dy_40_c3_a9_2eservice"),
        ] {
            assert_eq!(unit_path(name), format!("{unit}{escaped}"));
        }
    }
}
