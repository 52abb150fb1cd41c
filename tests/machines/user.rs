//! A user's own manager (`systemd --user`) in a machine without logind.

use std::process::Command;

use super::machine::Machine;
use super::scope::Scope;

/// The manager of an unprivileged user. Commands run as that user, with the environment that
/// pam_systemd(8) gives a session.
pub struct User<'m> {
    machine: &'m Machine,
    uid: u32,
}

impl<'m> User<'m> {
    #[track_caller]
    pub(crate) fn new(machine: &'m Machine, uid: u32) -> User<'m> {
        let user = User { machine, uid };
        let unit = user.unit();
        if !machine.exists(&format!("/run/systemd/system/{unit}")) {
            // What user@.service does, less what needs logind.
            let runtime = user.runtime_directory();
            machine.sh(&format!("install -d -m 700 -o {uid} -g {uid} {runtime}"));
            machine.write(
                &format!("/run/systemd/system/{unit}"),
                &format!(
                    "[Service]\nType=notify\nUser={uid}\nDelegate=yes\nKillMode=mixed\n\
                     WorkingDirectory=~\nEnvironment=XDG_RUNTIME_DIR={runtime}\n\
                     ExecStart=/lib/systemd/systemd --user\n"
                ),
            );
            machine.reload();
        }
        machine.ok(&["systemctl", "start", &unit]);
        user.wait_for_state("default.target", "active");
        // The manager joins its user's bus only once someone woke the bus; a first client could come earlier.
        user.systemctl(&["start", "dbus.service"]);
        user.wait_until("the manager is on the user's bus", || {
            user.run(&["busctl", "--user", "status", "org.freedesktop.systemd1"]).status == 0
        });
        user
    }

    /// The system unit that the manager runs as; to stop it is to log the user out. By this name journald knows whose
    /// the units below it are.
    pub fn unit(&self) -> String {
        format!("user@{}.service", self.uid)
    }

    /// `$XDG_RUNTIME_DIR`.
    pub fn runtime_directory(&self) -> String {
        format!("/run/user/{}", self.uid)
    }

    /// The user's home.
    pub fn home(&self) -> String {
        format!("/home/u{}", self.uid)
    }

    /// Writes a file that belongs to the user, and the directories it needs.
    #[track_caller]
    pub fn write(&self, path: &str, text: &str) {
        let parent = path.rsplit_once('/').map_or("/", |(parent, _)| parent);
        self.ok(&["mkdir", "-p", "--", parent]);
        self.machine.write(path, text);
        self.machine.ok(&["chown", &format!("{0}:{0}", self.uid), "--", path]);
    }
}

impl Scope for User<'_> {
    fn machine(&self) -> &Machine {
        self.machine
    }

    fn enter(&self) -> Command {
        let runtime = self.runtime_directory();
        let bus = format!("unix:path={runtime}/bus");
        self.machine.nsenter(
            self.uid,
            &[
                ("HOME", &self.home()),
                ("USER", &format!("u{}", self.uid)),
                ("XDG_RUNTIME_DIR", &runtime),
                ("DBUS_SESSION_BUS_ADDRESS", &bus),
            ],
        )
    }

    fn tool(&self, program: &'static str) -> Vec<&'static str> {
        vec![program, "--user"]
    }
}
