//! The process at the other end of a connection.
//!
//! Its unit is read once, when the connection is accepted: the process may end, and its number be given to another one. What
//! is known of it can only make an answer weaker; who may connect is decided by the rights of the socket.

use std::fmt;

use crate::basic::scope::Scope;

/// Who connected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Peer {
    pub uid: Option<u32>,
    pub pid: Option<u32>,
    /// The service that its process belongs to.
    pub unit: Option<String>,
    /// By TCP: nothing is known of it, and a web page may have sent it.
    pub tcp: bool,
}

impl Peer {
    /// Of a connection by a Unix socket.
    pub fn local(uid: u32, pid: Option<i32>, scope: Scope) -> Self {
        let pid = pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0);
        let cgroups = pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok());
        let unit = cgroups.and_then(|text| unit_of(&text, scope));
        Self { uid: Some(uid), pid, unit, tcp: false }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tcp {
            return f.write_str("a TCP client");
        }
        write!(f, "uid {}", self.uid.map_or("?".to_owned(), |uid| uid.to_string()))?;
        if let Some(pid) = self.pid {
            write!(f, ", pid {pid}")?;
        }
        match &self.unit {
            Some(unit) => write!(f, ", {unit}"),
            None => Ok(()),
        }
    }
}

/// The service in the text of /proc/PID/cgroup (cgroups(7)): the first in the path, as a service may make groups of its
/// own below. In user scope it is the first below the user's manager.
fn unit_of(text: &str, scope: Scope) -> Option<String> {
    let paths = text.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        matches!(controllers, "" | "name=systemd").then_some(path)
    });
    // On a machine with both versions of control groups, systemd uses one of the two.
    let mut units = paths.filter_map(|path| {
        let mut services = path.split('/').filter(|part| part.ends_with(".service"));
        if scope == Scope::User {
            services.find(|part| part.starts_with("user@"))?;
        }
        services.next().map(str::to_owned)
    });
    units.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_a_process_is_in_its_control_group() {
        let of = |text: &str, scope| unit_of(text, scope).unwrap_or_default();
        let system = "0::/system.slice/system-copse.slice/system-copse-g.slice/g-a@1.service/payload/x.service\n";
        assert_eq!(of(system, Scope::System), "g-a@1.service");
        let hybrid = "12:pids:/other.service\n1:name=systemd:/system.slice/g.service\n";
        assert_eq!(of(hybrid, Scope::System), "g.service");
        let both = "9:name=systemd:/\n8:pids:/\n0::/system.slice/g.service\n";
        assert_eq!(of(both, Scope::System), "g.service");
        let user = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/g-a.service\n";
        assert_eq!(of(user, Scope::User), "g-a.service");
        assert_eq!(of(user, Scope::System), "user@1000.service");
        assert_eq!(of("0::/user.slice/user-1000.slice/session-1.scope\n", Scope::System), "");
    }
}
