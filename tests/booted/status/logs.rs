//! `copse logs`: what the processes of a group wrote, and what systemd wrote about them.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(the_journal_of_a_group_tells_its_processes_apart),
    situation!(the_journal_of_a_part_of_a_group),
    situation!(new_lines_are_followed),
    situation!(the_journal_of_a_users_group),
];

const GROUP: &str = r#"
    [setup.step]
    shell = "echo a line of step"
    [process.one]
    shell = "echo a line of one; exec sleep infinity"
    [process.many]
    shell = "echo a line of many {instance}; exec sleep infinity"
    instances = 2
"#;

/// The lines of `copse logs` with these arguments, without their times.
#[track_caller]
fn logs(m: &impl Scope, words: &[&str]) -> Vec<String> {
    m.machine().ok(&["journalctl", "--sync"]);
    let shown = m.ok(&[&["copse", "logs"], words].concat());
    shown.lines().map(|line| line.get(16..).unwrap_or(line).trim_start().to_owned()).collect()
}

/// A group whose name no situation before had: its journal is its own.
fn named(m: &Machine, name: &str) -> String {
    let lines = m.run(&["journalctl", "--quiet", "--output=cat", &format!("UNIT={name}.target")]).stdout;
    assert_eq!(lines, "", "{name} had a journal before");
    name.to_owned()
}

fn the_journal_of_a_group_tells_its_processes_apart(m: &Machine) {
    let name = named(m, "told");
    let _group = m.start_group(&name, GROUP);
    let all = ["step        | a line of step", "one         | a line of one", "many@1      | a line of many 1"];
    m.wait_until("all lines are there", || {
        let lines = logs(m, &["told"]);
        all.iter().all(|line| lines.iter().any(|shown| shown == line))
    });
    let lines = logs(m, &["told"]);
    // PID 1's own lines, on every version.
    for (unit, about) in
        [("one         | ", "Started "), ("many@2      | ", "Started "), ("step        | ", "Starting ")]
    {
        let start = format!("{unit}systemd: {about}");
        assert!(lines.iter().any(|line| line.starts_with(&start)), "{start}\n{lines:#?}");
    }
    assert!(lines.iter().any(|line| line.starts_with("told.target | systemd: Reached target")), "{lines:#?}");
    // In the order of the journal.
    let place = |line: &str| lines.iter().position(|shown| shown.starts_with(line)).expect("it's there");
    assert!(place("step        | a line") < place("one         | a line"));
    // Each once, though more than one match finds it.
    assert_eq!(lines.iter().filter(|line| line.contains("a line of one")).count(), 1, "{lines:#?}");
    let coloured = m.ok(&["copse", "logs", "--color", "always", "told/one"]);
    assert!(coloured.contains("\u{1b}[36mone |\u{1b}[0m a line of one"), "{coloured:?}");
}

fn the_journal_of_a_part_of_a_group(m: &Machine) {
    let name = named(m, "parted");
    let _group = m.start_group(&name, GROUP);
    m.wait_until("the lines are there", || {
        let lines = logs(m, &["parted"]);
        ["many@1      | a line of many 1", "many@2      | a line of many 2"]
            .iter()
            .all(|line| lines.iter().any(|l| l == line))
    });
    for (name, has, has_not) in [
        ("parted/many", &["a line of many 1", "a line of many 2", "systemd: Started"][..], "of one"),
        ("parted/many@1", &["a line of many 1", "systemd: Started"], "many 2"),
        ("parted-many@1.service", &["a line of many 1"], "many 2"),
        ("parted-one", &["a line of one"], "of many"),
        ("parted/step", &["a line of step"], "of one"),
    ] {
        let lines = logs(m, &[name]).join("\n");
        assert!(has.iter().all(|has| lines.contains(has)) && !lines.contains(has_not), "{name}:\n{lines}");
    }
    assert_eq!(logs(m, &["-n", "1", "parted"]).len(), 1);
    assert_eq!(logs(m, &["--since", "2099-01-01", "parted"]), Vec::<String>::new());
    assert_eq!(logs(m, &["-p", "err", "parted"]), Vec::<String>::new());
    // journalctl's own JSON, untouched.
    let json = m.ok(&["copse", "logs", "--json", "parted/one"]);
    let values: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(values.iter().any(|value| value["MESSAGE"] == "a line of one" && value["_BOOT_ID"].is_string()), "{json}");
    for (words, status) in
        [(["logs", "partd"], 4), (["logs", "parted/other"], 4), (["logs", "--lines=x"], 2), (["logs", "-p"], 2)]
    {
        let output = m.copse(&words[..]);
        assert_eq!((output.status, output.stdout.as_str()), (status, ""), "{words:?} {}", output.stderr);
    }
    // What journalctl refuses it says itself.
    let output = m.copse(&["logs", "parted", "--since", "nonsense"]);
    assert!(output.status == 1 && !output.stderr.is_empty(), "{output:?}");
}

fn new_lines_are_followed(m: &Machine) {
    let name = named(m, "followed");
    let _group = m.start_group(&name, "[process.a]\nexec = \"/usr/local/bin/stand-in run\"\n");
    let following = m.spawn(&["copse", "logs", "-f", "-n", "0", "followed"]);
    m.wait_until("the new lines are there", || {
        // Again and again, as the client may come late; that isn't a crash loop.
        m.systemctl(&["reset-failed", "followed-a.service"]);
        m.systemctl(&["restart", "followed-a.service"]);
        m.ok(&["journalctl", "--sync"]);
        // Lined up with the gate's name, which is longer.
        let shown = following.stdout().replace("a           |", "a |");
        shown.contains("a | asked to stop") && shown.contains("a | systemd: Started") && shown.contains("a | begins")
    });
}

fn the_journal_of_a_users_group(m: &Machine) {
    let user = m.user(2001);
    m.write("/etc/copse/user/private.toml", GROUP);
    user.reload();
    user.systemctl(&["start", "private.target"]);
    // Where the journal isn't kept on disk, a user needs this group to read even the own lines.
    let runtime = format!("XDG_RUNTIME_DIR={}", user.runtime_directory());
    let logs = |words: &[&str]| {
        m.ok(&["journalctl", "--sync"]);
        let copse = ["setpriv", "--reuid=2001", "--regid=2001", "--groups=systemd-journal", "env", &runtime, "copse"];
        m.ok(&[&copse[..], &["--user", "logs"], words].concat())
    };
    m.wait_until("the lines are there", || logs(&["private"]).contains("many@2      | a line of many 2"));
    let lines = logs(&["private"]);
    for line in ["one         | a line of one", "step        | a line of step", "one         | systemd: Started"] {
        assert!(lines.contains(line), "`{line}` isn't in\n{lines}");
    }
    let lines = logs(&["private/many@1"]);
    assert!(lines.contains("a line of many 1") && !lines.contains("many 2") && lines.contains("systemd: Started"));
    user.systemctl(&["stop", "private.target"]);
    user.wait_for_state("private-one.service", "inactive");
    m.remove("/etc/copse/user/private.toml");
    user.reload();
}
