//! `org.freedesktop.systemd1.Manager`, the members that copse uses (org.freedesktop.systemd1(5)).

use zbus::OwnedObjectPath;

/// The interface of the manager itself.
pub const MANAGER: &str = "org.freedesktop.systemd1.Manager";

/// The bus name of the service manager. On a private connection it is only decoration.
pub const SERVICE: &str = "org.freedesktop.systemd1";

/// One row of `ListUnits…()`: name, description, load state, active state, sub state, the unit it follows,
/// object path, job number (0: none), job type, job's object path.
pub type ListUnitsRow = (String, String, String, String, String, String, OwnedObjectPath, u32, String, OwnedObjectPath);

/// The service manager itself.
///
/// No properties here: a proxy caches those by following a signal, and the private connection carries all
/// signals of the machine anyway. They are read one by one where they are needed.
#[zbus::proxy(
    interface = "org.freedesktop.systemd1.Manager",
    default_service = "org.freedesktop.systemd1",
    default_path = "/org/freedesktop/systemd1"
)]
pub trait Manager {
    /// Asks for signals. Only needed on the bus: private connections get all of them.
    fn subscribe(&self) -> zbus::Result<()>;

    /// The state of the named units; loads those that aren't loaded.
    fn list_units_by_names(&self, names: &[&str]) -> zbus::Result<Vec<ListUnitsRow>>;

    /// The loaded units in one of `states` whose names match one of `patterns` (fnmatch(3)).
    fn list_units_by_patterns(&self, states: &[&str], patterns: &[&str]) -> zbus::Result<Vec<ListUnitsRow>>;

    /// Enqueues a start job. `mode` as in `systemctl --job-mode=`.
    fn start_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;

    /// Enqueues a stop job.
    fn stop_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;

    /// Clears the failed state, the start-limit counter and the restart counter of a unit. Its answer isn't
    /// asked for.
    #[zbus(no_reply)]
    fn reset_failed_unit(&self, name: &str) -> zbus::Result<()>;
}
