//! Units as the manager lists them, as plain values.

use std::fmt::{self, Write as _};

use super::proxy::ListUnitsRow;
use super::state::{ActiveState, JobType, LoadState, SubState};

/// A unit in the manager's list (`ListUnits…()`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitInfo {
    pub name: String,
    pub load: LoadState,
    pub active: ActiveState,
    pub sub: SubState,
    /// The job that waits or runs for it.
    pub job: Option<JobType>,
}

impl UnitInfo {
    /// A unit that nothing is known of.
    pub fn absent(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            load: LoadState::NotFound,
            active: ActiveState::Inactive,
            sub: SubState::Dead,
            job: None,
        }
    }

    /// Whether it is up, also while it reloads.
    pub fn is_up(&self) -> bool {
        self.active.is_up()
    }

    /// Whether it is on its way up, or a job is going to start it.
    pub fn is_starting(&self) -> bool {
        self.active == ActiveState::Activating || matches!(self.job, Some(JobType::Start | JobType::Restart))
    }

    /// Whether it is down, and nothing is queued for it.
    pub fn is_down(&self) -> bool {
        self.job.is_none() && self.active.is_down()
    }
}

impl fmt::Display for UnitInfo {
    /// Both states in systemd's words, or the one word when they are the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.active.as_str(), self.sub.as_str()) {
            (active, sub) if active == sub => f.write_str(active),
            (active, sub) => write!(f, "{active}, {sub}"),
        }
    }
}

impl From<ListUnitsRow> for UnitInfo {
    fn from(row: ListUnitsRow) -> Self {
        let (name, _, load, active, sub, _, _, job, job_type, _) = row;
        Self {
            name,
            load: LoadState::from(&*load),
            active: ActiveState::from(&*active),
            sub: SubState::from(&*sub),
            job: (job != 0).then(|| JobType::from(&*job_type)),
        }
    }
}

/// The object path of a unit: everything but letters and digits becomes `_` and two hexadecimal digits, also a digit at the
/// beginning (sd_bus_path_encode(3)).
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
            // Writing to a String cannot fail.
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
