//! Whether a process of the service listens on a TCP port, without
//! connecting to it: /proc knows which sockets listen (proc_pid_net(5),
//! `tcp` and `tcp6`) and which process holds which socket (its `fd` links).
//!
//! The processes of the service are those of its control group: our own
//! (without systemd's `.control` below it, where `ExecStartPost=` commands
//! run when the unit has `Delegate=`) and that of the main process, with
//! everything below.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::Pid;

use super::Miss;
use crate::basic::os_error::reason;

/// `TCP_LISTEN` in the `st` column.
const LISTEN: &str = "0A";

/// Looks once; `proc` is where proc(5) is mounted.
///
/// # Errors
/// [`Miss::NotYet`] with the reason; that another service holds it has one of
/// its own.
pub fn held(proc: &Path, port: u16, service: Option<Pid>) -> Result<(), Miss> {
    let sockets = listeners(proc, port)?;
    if sockets.is_empty() {
        return Err(Miss::NotYet("nobody listens there".to_owned()));
    }
    let mut groups: BTreeSet<String> = own_groups(proc, "self");
    if let Some(pid) = service {
        groups.extend(own_groups(proc, &pid.as_raw_nonzero().to_string()));
    }
    // A main process that isn't there to be seen (`PrivatePIDs=`,
    // `ProtectProc=invisible`) can't be looked at either.
    let mut hidden = service.is_some_and(|pid| !proc.join(pid.as_raw_nonzero().to_string()).exists());
    for process in processes(proc) {
        let inside = own_groups(proc, &process).iter().any(|group| groups.iter().any(|own| is_below(group, own)));
        if !inside {
            continue;
        }
        match holds(&proc.join(&process).join("fd"), &sockets) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => hidden |= error.kind() == std::io::ErrorKind::PermissionDenied,
        }
    }
    // Where the kernel refuses the look (an `ExecStartPost=` under
    // `PrivateUsers=` is in a user namespace of its own; so may a process be
    // that has changed its user), a listener in the service's network is all
    // that can be known, and no less than a connection would tell.
    match hidden {
        true => Ok(()),
        false => Err(Miss::NotYet("it is held by another service".to_owned())),
    }
}

/// Whether one of the descriptors is one of the sockets.
fn holds(descriptors: &Path, sockets: &BTreeSet<String>) -> std::io::Result<bool> {
    for link in fs::read_dir(descriptors)? {
        match fs::read_link(link?.path()) {
            Ok(target) if sockets.contains(&*target.to_string_lossy()) => return Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Err(error),
            _ => {}
        }
    }
    Ok(false)
}

/// The link texts (`socket:[INODE]`) of the sockets that listen on the port.
fn listeners(proc: &Path, port: u16) -> Result<BTreeSet<String>, Miss> {
    let mut sockets = BTreeSet::new();
    for table in ["self/net/tcp", "self/net/tcp6"] {
        let text = match fs::read_to_string(proc.join(table)) {
            Ok(text) => text,
            // A kernel without IPv6.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && table.ends_with('6') => {
                continue;
            }
            Err(error) => {
                return Err(Miss::NotYet(format!("can't read {table}: {}", reason(error))));
            }
        };
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let (Some(local), Some(state), Some(inode)) = (fields.get(1), fields.get(3), fields.get(9)) else {
                continue;
            };
            let own = local.rsplit(':').next().and_then(|hex| u16::from_str_radix(hex, 16).ok());
            if *state == LISTEN && own == Some(port) {
                sockets.insert(format!("socket:[{inode}]"));
            }
        }
    }
    Ok(sockets)
}

fn processes(proc: &Path) -> Vec<String> {
    let names = fs::read_dir(proc).into_iter().flatten().flatten();
    names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .collect()
}

/// The control groups of a process that systemd manages: the unified one
/// (`0::`) and, on a machine with the old layout, `name=systemd`.
fn own_groups(proc: &Path, process: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(proc.join(process).join("cgroup")).unwrap_or_default();
    let all: BTreeSet<String> = text
        .lines()
        .filter_map(|line| {
            let (hierarchy, path) = line.split_once(':')?.1.split_once(':')?;
            let systemds = hierarchy.is_empty() || hierarchy == "name=systemd";
            let path = path.strip_suffix("/.control").unwrap_or(path);
            systemds.then(|| format!("{hierarchy}:{path}"))
        })
        .collect();
    // With the old layout everybody is in `0::/`: that says nothing, unless
    // there is nothing else.
    let telling: BTreeSet<String> = all.iter().filter(|group| !group.ends_with(":/")).cloned().collect();
    if telling.is_empty() { all } else { telling }
}

fn is_below(group: &str, own: &str) -> bool {
    group.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || own.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const TABLE: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    /// A /proc of two processes, ours in `own`, the listener (PID 7) in `its`.
    fn proc(own: &str, its: &str, state: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let dir = |path: &str| fs::create_dir_all(root.path().join(path)).unwrap();
        let file = |path: &str, text: &str| fs::write(root.path().join(path), text).unwrap();
        dir("self/net");
        dir("7/fd");
        file("self/cgroup", own);
        file("7/cgroup", its);
        file("self/net/tcp", TABLE);
        file(
            "self/net/tcp6",
            &format!("{TABLE}   0: 00000000000000000000000001000000:1F90 0:0 {state} 0:0 00:0 0 0 0 4711 1 x\n"),
        );
        symlink("socket:[4711]", root.path().join("7/fd/3")).unwrap();
        root
    }

    fn reason(root: &tempfile::TempDir, port: u16) -> String {
        match held(root.path(), port, None) {
            Err(Miss::NotYet(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_listener_of_the_service_or_below_it_counts() {
        for (own, its) in [
            ("0::/s/a.service\n", "0::/s/a.service\n"),
            ("0::/s/a.service\n", "0::/s/a.service/sub\n"),
            ("0::/s/a.service/.control\n", "0::/s/a.service/main\n"),
            ("4:cpu:/x\n1:name=systemd:/s/a.service\n0::/\n", "4:cpu:/y\n1:name=systemd:/s/a.service\n0::/\n"),
        ] {
            let root = proc(own, its, "0A");
            assert_eq!(held(root.path(), 8080, None), Ok(()), "{own} {its}");
        }
    }

    #[test]
    fn a_listener_of_another_service_does_not() {
        for (own, its) in [
            ("0::/s/a.service\n", "0::/s/a.service2\n"),
            ("1:name=systemd:/s/a.service\n0::/\n", "1:name=systemd:/s/b.service\n0::/\n"),
        ] {
            let root = proc(own, its, "0A");
            assert_eq!(reason(&root, 8080), "it is held by another service");
        }
    }

    #[test]
    fn the_main_process_may_be_in_another_group() {
        let root = proc("0::/elsewhere\n", "0::/s/a.service\n", "0A");
        assert_eq!(reason(&root, 8080), "it is held by another service");
        assert_eq!(held(root.path(), 8080, Pid::from_raw(7)), Ok(()));
    }

    #[test]
    fn a_main_process_that_cannot_be_seen_gets_the_benefit_of_the_doubt() {
        let root = proc("0::/elsewhere\n", "0::/s/a.service\n", "0A");
        assert_eq!(held(root.path(), 8080, Pid::from_raw(4711)), Ok(()));
        assert!(held(root.path(), 8081, Pid::from_raw(4711)).is_err());
    }

    #[test]
    fn other_ports_and_connections_do_not_count() {
        let root = proc("0::/a\n", "0::/a\n", "0A");
        assert_eq!(reason(&root, 8081), "nobody listens there");
        let root = proc("0::/a\n", "0::/a\n", "01");
        assert_eq!(reason(&root, 8080), "nobody listens there");
    }
}
