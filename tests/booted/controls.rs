//! `controls`, with the real polkitd: what a manager's user may do with its siblings, and what not.

use crate::machines::group::Group;
use crate::machines::machine::Machine;
use crate::machines::scope::{Output, Scope};
use crate::machines::user::User;
use crate::machines::version::Version;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    // Debian 11's polkit knows no rules in JavaScript.
    situation!(a_managers_user_controls_its_siblings_and_nothing_else, [V252, V257, V262]),
    situation!(who_may_be_asked_for_a_password_has_polkits_agent_on_the_terminal, [V252, V257, V262]),
    situation!(no_name_reaches_a_unit_that_is_not_controlled, [V252, V257, V262]),
];

const GROUP: &str = r#"
    [process.manager]
    exec = "/bin/sleep infinity"
    user = "u2001"
    controls = ["worker", "gc"]
    [process.worker]
    exec = "/bin/sleep infinity"
    exec-reload = "/bin/true"
    instances = 2
    [process.gc]
    exec = "/bin/sleep infinity"
    exec-reload = "/bin/true"
    [process.other]
    exec = "/bin/sleep infinity"
    exec-reload = "/bin/true"
"#;

/// What systemd says where polkit would have to ask somebody.
const DENIED: [&str; 2] = ["Interactive authentication required", "Access denied"];

/// Starts the group, installs the rule that `copse polkit` prints, and waits until polkit goes by it. When dropped,
/// the rule is gone.
struct Ruled<'m> {
    m: &'m Machine,
    _group: Group<'m>,
    rule: String,
}

impl<'m> Ruled<'m> {
    #[track_caller]
    fn new(m: &'m Machine, name: &str, user: &User<'_>) -> Self {
        let group = m.start_group(name, GROUP);
        let rule = format!("/etc/polkit-1/rules.d/50-copse-{name}.rules");
        let asks_for_it = || m.copse(&["check", name]).stdout.contains("there is no polkit rule for it");
        assert!(asks_for_it(), "without a rule `controls` has no effect");
        m.write(&rule, &m.ok(&["copse", "polkit", name]));
        assert!(!asks_for_it());
        let unit = format!("{name}-gc.service");
        m.wait_until("polkit goes by the rule", || systemctl(user, &["reload", &unit]).status == 0);
        Self { m, _group: group, rule }
    }
}

impl Drop for Ruled<'_> {
    fn drop(&mut self) {
        self.m.run(&["rm", "-f", &self.rule]);
    }
}

/// As the user, at the system's manager.
fn systemctl(user: &User<'_>, words: &[&str]) -> Output {
    user.run(&[&["systemctl", "--system", "--no-ask-password"], words].concat())
}

#[track_caller]
fn allowed(user: &User<'_>, words: &[&str]) {
    let output = systemctl(user, words);
    assert_eq!((output.status, output.stderr.as_str()), (0, ""), "systemctl {words:?}");
}

#[track_caller]
fn denied(user: &User<'_>, words: &[&str]) {
    refused(&systemctl(user, words), words);
}

#[track_caller]
fn refused(output: &Output, words: &[&str]) {
    let said = DENIED.iter().any(|denied| output.stderr.contains(denied));
    assert!(output.status != 0 && said, "{words:?} wasn't denied: {output:?}");
}

fn a_managers_user_controls_its_siblings_and_nothing_else(m: &Machine) {
    let (user, stranger) = (m.user(2001), m.user(2002));
    let _ruled = Ruled::new(m, "ruled", &user);
    let other = m.pid("ruled-other.service");
    // Also an instance that the file doesn't name.
    for unit in ["ruled-worker@1.service", "ruled-worker@7.service", "ruled-gc.service"] {
        for verb in ["start", "restart", "reload", "try-restart", "reload-or-restart", "stop", "reset-failed", "start"]
        {
            // What isn't loaded has no failed state.
            if (verb, unit) == ("reset-failed", "ruled-worker@7.service") {
                continue;
            }
            allowed(&user, &[verb, unit]);
        }
        assert_eq!(m.state(unit), "active");
        for verb in ["start", "restart", "reload", "stop", "reset-failed"] {
            denied(&stranger, &[verb, unit]);
        }
        for words in [
            &["kill", unit][..],
            &["freeze", unit],
            &["set-property", "--runtime", unit, "Nice=5"],
            &["mask", "--runtime", unit],
        ] {
            denied(&user, words);
        }
    }
    for unit in
        ["ruled-other.service", "ruled-manager.service", "ruled.target", "system-copse-ruled.slice", "dbus.service"]
    {
        for verb in ["start", "stop", "restart", "reload-or-restart", "reset-failed"] {
            denied(&user, &[verb, unit]);
        }
    }
    // By copse, which resets a unit before it restarts it, the same.
    let copse = |words: &[&str]| user.copse(words);
    for words in [
        &["restart", "ruled/worker@1"][..],
        &["restart", "ruled/worker"],
        &["stop", "ruled/gc"],
        &["start", "ruled/gc"],
        &["reload", "ruled/gc"],
        &["reset-failed", "ruled/gc"],
    ] {
        let output = copse(words);
        assert_eq!(output.status, 0, "{words:?} {output:?}");
    }
    for words in [
        &["restart", "ruled/other"][..],
        &["stop", "ruled/other"],
        &["start", "ruled"],
        &["kill", "ruled/gc"],
        // Of one that is controlled it depends: polkit is asked about freezing as about stopping, if the bus lets the
        // question through (seen on 262; 252's and 257's policy doesn't).
        &["freeze", "ruled/other"],
        &["enable", "ruled"],
        &["scale", "ruled/worker", "3"],
        &["hold", "ruled/gc"],
    ] {
        let output = copse(words);
        assert_eq!(output.status, 77, "{words:?} {output:?}");
    }
    for words in
        [&["daemon-reload"][..], &["daemon-reexec"], &["reset-failed"], &["enable", "ruled.target"], &["reboot"]]
    {
        denied(&user, words);
    }
    assert_eq!(m.pid("ruled-other.service"), other);
}

fn no_name_reaches_a_unit_that_is_not_controlled(m: &Machine) {
    let user = m.user(2001);
    let _ruled = Ruled::new(m, "tricked", &user);
    let service = "[Service]\nExecStart=/bin/sleep infinity\n";
    let foreign = ["tricked-gc2.service", "tricked-workers@1.service", "xtricked-gc.service", "victim@x.service"];
    for unit in foreign {
        m.write(&format!("/run/systemd/system/{unit}"), service);
    }
    // Another name of a foreign unit that looks like an instance: polkit is told the unit's own.
    m.ok(&["ln", "-s", "victim@x.service", "/run/systemd/system/tricked-worker@x.service"]);
    m.reload();
    for unit in
        foreign.into_iter().chain(["tricked-worker@x.service", "tricked-gc.service.service", "tricked-gc.socket"])
    {
        let output = systemctl(&user, &["start", unit]);
        assert_ne!(output.status, 0, "{unit}");
        assert_ne!(m.state(unit), "active", "{unit}");
    }
    // A unit of the user's own making, under a name that is controlled.
    for words in [
        &["systemd-run", "--system", "--no-ask-password", "--unit=tricked-worker@9.service", "/bin/true"][..],
        &["systemd-run", "--system", "--no-ask-password", "--unit=tricked-gc.service", "--uid=0", "/bin/true"],
    ] {
        let output = user.run(words);
        assert_ne!(output.status, 0, "{output:?}");
    }
    m.ok(&["rm", "-f", "/run/systemd/system/tricked-worker@x.service"]);
    for unit in foreign {
        m.remove(&format!("/run/systemd/system/{unit}"));
    }
    m.reload();
}

/// Runs a command on a terminal of its own, and ends as it does.
const ON_A_TERMINAL: &str = r#"
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
"#;

/// That somebody is really asked isn't seen here: polkit finds no agent for who has no session of logind's, which these
/// machines don't run; `systemctl` gets the same answer.
fn who_may_be_asked_for_a_password_has_polkits_agent_on_the_terminal(m: &Machine) {
    let user = m.user(2001);
    let _group = m.start_group("asked", "[process.a]\nexec = \"/bin/sleep infinity\"\n");
    let pid = m.pid("asked-a.service");
    let type_in = |words: &[&str]| user.run(&[&["python3", "-c", ON_A_TERMINAL, "copse"], words].concat());
    let agents = || {
        let log = m.ok(&["journalctl", "--no-pager", "--output=cat", "--identifier=polkitd"]);
        log.lines()
            .filter(|line| line.starts_with("Registered Auth") && line.contains("pkttyagent --notify-fd"))
            .count()
    };
    const LOUD: &str = "/run/systemd/system/polkit.service.d/loud.conf";
    if m.version() == Version::V262 {
        // This one's polkitd keeps it to itself otherwise.
        m.write(LOUD, "[Service]\nExecStart=\nExecStart=/usr/lib/polkit-1/polkitd --no-debug --log-level=info\n");
        m.reload();
        m.systemctl(&["restart", "polkit.service"]);
    }
    let before = agents();
    for (words, status) in
        [(&["--no-ask-password", "restart", "asked/a"][..], 77), (&["status", "asked"], 0), (&["wait", "asked"], 0)]
    {
        let output = type_in(words);
        assert_eq!(output.status, status, "{output:?}");
    }
    let output = type_in(&["restart", "asked/a"]);
    assert_eq!(output.status, 77, "{output:?}");
    m.wait_until("polkit had an agent for one of them, and no more", || agents() == before + 1);
    m.wait_until("no agent stays", || m.run(&["pgrep", "-x", "pkttyagent"]).status == 1);
    // Without a terminal there is nobody to ask.
    let output = user.copse(&["restart", "asked/a"]);
    assert_eq!(output.status, 77, "{output:?}");
    assert_eq!(agents(), before + 1);
    m.remove(LOUD);
    assert_eq!(m.pid("asked-a.service"), pid);
}
