//! `copse --host`, through a real sshd: the machine is another host to itself.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    // Not on 247: its root has no sshd.
    situation!(a_group_of_another_host_is_started_looked_at_and_stopped, [V252, V257, V262]),
];

const HOST: &str = "root@127.0.0.1:2222";

/// An sshd for as long as it is needed, which root's key opens.
struct Sshd<'m>(&'m Machine);

impl<'m> Sshd<'m> {
    fn start(m: &'m Machine) -> Self {
        let sshd = Self(m);
        m.sh("mkdir -p /run/sshd /root/.ssh && chmod 700 /root/.ssh && cd /root/.ssh && \
              ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f id_ed25519 && \
              cp id_ed25519.pub authorized_keys && \
              echo \"[127.0.0.1]:2222 $(cat host.pub)\" >known_hosts");
        m.ok(&[
            "systemd-run",
            "--unit=another-host.service",
            "--property=Type=exec",
            "/usr/sbin/sshd",
            "-D",
            "-e",
            "-oPort=2222",
            "-oListenAddress=127.0.0.1",
            "-oHostKey=/root/.ssh/host",
            "-oUsePAM=no",
            "-oPermitRootLogin=prohibit-password",
        ]);
        m.wait_until("sshd lets root in", || {
            m.run(&["ssh", "-oBatchMode=yes", "-p2222", "root@127.0.0.1", "true"]).status == 0
        });
        sshd
    }
}

impl Drop for Sshd<'_> {
    fn drop(&mut self) {
        let _ = self.0.run(&["systemctl", "stop", "another-host.service"]);
        let _ = self.0.run(&["rm", "-rf", "/root/.ssh"]);
    }
}

fn a_group_of_another_host_is_started_looked_at_and_stopped(m: &Machine) {
    let _sshd = Sshd::start(m);
    let _group = m.group("far", "[process.a]\nexec = [\"/bin/sleep\", \"infinity\"]\n");
    let there = |words: &[&str]| m.run(&[&["copse", "-H", HOST], words].concat());
    assert_eq!(there(&["status", "far"]).status, 3, "stopped");
    let started = there(&["start", "far"]);
    assert_eq!(started.status, 0, "{}{}", started.stdout, started.stderr);
    assert_eq!(m.state("far-a.service"), "active");
    let pid = m.pid("far-a.service");
    let status = there(&["status", "--json", "far"]);
    assert_eq!(status.status, 0);
    assert!(status.stdout.contains(&format!("{pid}")), "{}", status.stdout);
    // No word of the command line is one for the shell there.
    let strange = there(&["status", "far/$(kill -9 0); 'x'"]);
    assert_eq!(strange.status, 4, "{}{}", strange.stdout, strange.stderr);
    assert!(strange.stderr.contains("group `far` has no process `$(kill -9 0); 'x'`"), "{}", strange.stderr);
    assert_eq!(m.pid("far-a.service"), pid);
    assert_eq!(there(&["stop", "far"]).status, 0);
    assert_eq!(m.state("far-a.service"), "inactive");
    // Nobody listens there.
    let nobody = m.copse(&["-H", "root@127.0.0.1:2223", "status", "far"]);
    assert_eq!(nobody.status, 1);
    assert!(nobody.stderr.contains("port 2223"), "{}", nobody.stderr);
}
