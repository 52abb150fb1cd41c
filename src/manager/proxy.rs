//! `org.freedesktop.systemd1.Manager`, the members that copse uses (org.freedesktop.systemd1(5)).

use zbus::OwnedObjectPath;

/// The object of the manager itself. All others are below it.
pub const MANAGER_PATH: &str = "/org/freedesktop/systemd1";

/// The bus name of the service manager; without a meaning on a private connection.
pub const SERVICE: &str = "org.freedesktop.systemd1";

/// One row of `ListUnits…()`: name, description, load state, active state, sub state, the unit it follows,
/// object path, job number (0: none), job type, job's object path.
pub type ListUnitsRow = (String, String, String, String, String, String, OwnedObjectPath, u32, String, OwnedObjectPath);

/// The service manager itself.
///
/// Without properties: a proxy would cache them by following signals, of which a private connection carries all.
#[zbus::proxy(
    interface = "org.freedesktop.systemd1.Manager",
    default_service = "org.freedesktop.systemd1",
    default_path = "/org/freedesktop/systemd1"
)]
pub trait Manager {
    /// Asks for signals. Only needed on the bus: private connections always get them.
    fn subscribe(&self) -> zbus::Result<()>;

    /// The state of the named units; loads those that aren't loaded.
    fn list_units_by_names(&self, names: &[&str]) -> zbus::Result<Vec<ListUnitsRow>>;

    /// The loaded units in one of `states` whose names match one of `patterns` (fnmatch(3)).
    fn list_units_by_patterns(&self, states: &[&str], patterns: &[&str]) -> zbus::Result<Vec<ListUnitsRow>>;

    /// Enqueues a start job. `mode` as in `systemctl --job-mode=`.
    ///
    /// This and the calls below let polkit ask for a password, if there is an agent (polkit(8)).
    #[zbus(allow_interactive_auth)]
    fn start_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;

    /// Enqueues a stop job.
    #[zbus(allow_interactive_auth)]
    fn stop_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;

    /// Enqueues a restart job, which starts a unit that isn't up.
    #[zbus(allow_interactive_auth)]
    fn restart_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;

    /// Enqueues a reload job; refused for a unit that can't reload or isn't up.
    #[zbus(allow_interactive_auth)]
    fn reload_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;

    /// Sends a signal to the processes of a unit; `whom`: `main`, `control`, or `all`.
    #[zbus(allow_interactive_auth)]
    fn kill_unit(&self, name: &str, whom: &str, signal: i32) -> zbus::Result<()>;

    /// Suspends the processes of a unit; an error if they are suspended already.
    #[zbus(allow_interactive_auth)]
    fn freeze_unit(&self, name: &str) -> zbus::Result<()>;

    /// The opposite of [`ManagerProxy::freeze_unit`].
    #[zbus(allow_interactive_auth)]
    fn thaw_unit(&self, name: &str) -> zbus::Result<()>;

    /// Makes the links of these unit files' `[Install]`. Returns whether they have one, and the changes.
    #[zbus(allow_interactive_auth)]
    fn enable_unit_files(
        &self,
        files: &[&str],
        runtime: bool,
        force: bool,
    ) -> zbus::Result<(bool, Vec<(String, String, String)>)>;

    /// Removes all links to these unit files. Returns the changes.
    #[zbus(allow_interactive_auth)]
    fn disable_unit_files(&self, files: &[&str], runtime: bool) -> zbus::Result<Vec<(String, String, String)>>;

    /// What `systemctl is-enabled` prints.
    fn get_unit_file_state(&self, file: &str) -> zbus::Result<String>;

    /// The job of that number; an error (`NoSuchJob`) once it is over.
    fn get_job(&self, id: u32) -> zbus::Result<OwnedObjectPath>;

    /// Reads all unit files again, which runs the generators; returns when that is done.
    #[zbus(allow_interactive_auth)]
    fn reload(&self) -> zbus::Result<()>;

    /// As [`ManagerProxy::reset_failed_unit`], with an answer: an error if the unit is not loaded, or without permission.
    #[zbus(name = "ResetFailedUnit", allow_interactive_auth)]
    fn reset_failed_unit_and_wait(&self, name: &str) -> zbus::Result<()>;

    /// Clears the failed state, the start-limit counter and the restart counter of a unit. Without an answer.
    #[zbus(no_reply)]
    fn reset_failed_unit(&self, name: &str) -> zbus::Result<()>;
}
