//! What a roll-out over many machines needs of each: a file is judged before it is installed, a failure is reported to
//! programs, logs name their host, and nothing that is taken out of a file blocks an apply.

use serde_json::Value;

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_file_is_checked_and_planned_before_it_is_installed),
    situation!(a_part_that_is_taken_out_of_the_file_never_blocks_an_apply),
    situation!(a_failed_unit_is_reported_to_programs_with_the_reason),
    situation!(the_logs_of_several_hosts_name_them),
];

const GROUP: &str = "[process.a]\nexec = \"/bin/sleep 1000\"\n[process.b]\nexec = \"/bin/sleep 1000\"\n";

#[track_caller]
fn object(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn a_file_is_checked_and_planned_before_it_is_installed(m: &Machine) {
    let group = m.group("cand", GROUP);
    let other = m.group("cand-other", "[process.x]\nexec = \"/bin/sleep 1000\"\n");
    m.write("/etc/copse/cand.toml.d/50-host.toml", "[process.a]\nnice = 3\n");
    m.reload();
    group.start();
    // Under any name, as configuration management hands it over; with the drop-in that is installed.
    let new = "/tmp/ansible.tmp/.source";
    m.write(new, &GROUP.replace("process.b]", "process.b]\nnice = 5"));
    m.copse(&["check", "--as", "cand", new]).expect(0, &["1 group: nothing wrong"]);
    let plan = |words: &[&str]| m.copse(&[&["plan", "--json", "--exit-code", "--as", "cand"], words].concat());
    let output = plan(&[new]);
    assert_eq!(output.status, 7, "{output:?}");
    let value = object(&output.stdout);
    assert_eq!(value["files"], serde_json::json!(["/etc/copse/cand.toml"]), "{value}");
    assert_eq!(value["steps"][0]["units"], serde_json::json!([{"unit": "cand-b.service", "name": "b"}]), "{value}");
    assert_eq!(value["steps"].as_array().map(Vec::len), Some(1), "{value}");
    // The installed text itself changes nothing, also from the standard input.
    let output = m.run(&["sh", "-c", "copse plan --json --exit-code --as cand - </etc/copse/cand.toml"]);
    assert_eq!((output.status, &object(&output.stdout)["changed"]), (0, &false.into()), "{output:?}");
    // Drop-ins next to the file replace those of their name, or hide them.
    m.write("/tmp/ansible.tmp/same", GROUP);
    m.ok(&["mkdir", "/tmp/ansible.tmp/same.d"]);
    m.ok(&["ln", "-s", "/dev/null", "/tmp/ansible.tmp/same.d/50-host.toml"]);
    assert!(plan(&["/tmp/ansible.tmp/same"]).stdout.contains(r#""name":"Nice""#));
    m.remove("/tmp/ansible.tmp/same.d");
    assert_eq!(plan(&["/tmp/ansible.tmp/same"]).status, 0);
    // A mistake, and a unit that another installed group has.
    m.write(new, "[process.a]\nexce = \"/bin/sleep 1\"\n");
    m.copse(&["check", "--as", "cand", new]).expect(5, &[new, "unknown-key", "did you mean `exec`?"]);
    plan(&[new]).expect(5, &["unknown-key"]);
    m.write(new, &format!("{GROUP}[process.other-x]\nexec = \"/bin/sleep 1\"\n"));
    m.copse(&["check", "--as", "cand", new]).expect(5, &["`cand-other-x.service` is already a unit of group"]);
    // A group that is new here.
    m.copse(&["check", "--as", "cand-new", "/etc/copse/cand.toml"]).expect(0, &["nothing wrong"]);
    m.copse(&["plan", "--as", "cand-new", "/etc/copse/cand.toml"]).expect(0, &["not active"]);
    // Nothing was installed or touched.
    assert_eq!(m.read("/etc/copse/cand.toml"), GROUP);
    assert!(!m.exists("/etc/copse/cand-new.toml"));
    m.copse(&["plan", "cand"]).expect(0, &["nothing to do"]);
    m.copse(&["plan", new]).expect(2, &["it is a file", "--as GROUP"]);
    m.copse(&["check", "--as", "cand"]).expect(2, &["takes one file"]);
    m.remove("/etc/copse/cand.toml.d");
    m.remove("/tmp/ansible.tmp");
    drop((group, other));
}

/// A group with a step, a socket and a timer, each of which can be taken out.
const PARTS: [(&str, &str); 5] = [
    ("base", "[process.a]\nexec = \"/bin/sleep 1000\"\n"),
    ("step", "[setup.s]\nexec = \"/bin/true\"\n"),
    ("server", "[process.web]\nexec = \"/bin/sleep 1000\"\n"),
    ("socket", "listen = \"unix:/run/parts.sock\"\n"),
    ("timed", "[process.t]\nexec = \"/bin/true\"\non-calendar = \"yearly\"\n"),
];

fn without(left_out: &[&str]) -> String {
    PARTS.iter().filter(|(name, _)| !left_out.contains(name)).map(|(_, text)| *text).collect()
}

fn a_part_that_is_taken_out_of_the_file_never_blocks_an_apply(m: &Machine) {
    for left_out in
        [&["step"][..], &["socket"], &["timed"], &["server", "socket"], &["step", "server", "socket", "timed"]]
    {
        let group = m.group("parts", &without(&[]));
        m.ok(&["copse", "start", "parts"]);
        let pid = m.pid("parts-a.service");
        m.write("/etc/copse/parts.toml", &without(left_out));
        let apply = |words: &[&str]| m.copse(&[&["apply", "--json", "parts"], words].concat());
        let output = apply(&[]);
        assert_eq!(output.status, 0, "without {left_out:?}: {output:?}");
        assert_eq!(object(&output.stdout)["complete"], true);
        // And that was all.
        let output = apply(&[]);
        assert_eq!((output.status, &object(&output.stdout)["changed"]), (0, &false.into()), "{left_out:?}: {output:?}");
        m.copse(&["plan", "--exit-code", "parts"]).expect(0, &["nothing to do"]);
        m.copse(&["status", "parts"]).expect(0, &["active"]);
        assert_eq!(m.pid("parts-a.service"), pid, "nothing else was touched");
        // Back, and the same by a roll-back.
        m.write("/etc/copse/parts.toml", &without(&[]));
        m.ok(&["copse", "apply", "parts"]);
        m.write("/etc/copse/parts.toml", &without(left_out).replace("process.a]\n", "process.a]\nnice = 4\n"));
        m.ok(&["copse", "apply", "parts"]);
        m.write("/etc/copse/parts.toml", &without(&[]));
        m.ok(&["copse", "apply", "parts"]);
        m.copse(&["plan", "--exit-code", "parts"]).expect(0, &["nothing to do"]);
        group.stop();
    }
}

fn a_failed_unit_is_reported_to_programs_with_the_reason(m: &Machine) {
    let good = "[process.a]\nexec = \"/usr/local/bin/stand-in notify\"\nready = \"notify\"\nrestart = \"no\"\n";
    let group = m.group("why", good);
    group.start();
    let reason = |output: &str| {
        let value = object(output);
        let unit = value["units"].as_array().and_then(|units| units.iter().find(|unit| unit["result"] == "failed"));
        unit.cloned().unwrap_or_else(|| panic!("{value}"))
    };
    let bad = r#"exec = ["/bin/sh", "-c", "echo cannot load config of rev bad >&2; exit 3"]"#;
    m.write(&group.file(), &good.replace("exec = \"/usr/local/bin/stand-in notify\"", bad));
    let output = m.copse(&["apply", "--json", "why"]);
    assert_eq!(output.status, 6, "{output:?}");
    let unit = reason(&output.stdout);
    assert_eq!((&unit["unit_result"], &unit["exit_status"]), (&"exit-code".into(), &3.into()), "{unit}");
    assert_eq!(
        (&unit["signal"], &unit["last_line"]),
        (&Value::Null, &"cannot load config of rev bad".into()),
        "{unit}"
    );
    // As the status has it.
    let status = object(&m.copse(&["status", "--json", "why"]).stdout);
    assert_eq!(status["units"][0]["last_line"], unit["last_line"], "{status}");
    for verb in ["start", "restart"] {
        m.systemctl(&["stop", "why.target"]);
        m.reload();
        let output = m.copse(&[verb, "--json", "why"]);
        assert_eq!(output.status, 1, "{verb}: {output:?}");
        assert_eq!(reason(&output.stdout)["last_line"], "cannot load config of rev bad", "{verb}: {output:?}");
    }
    m.write(&group.file(), &good.replace("exec = \"/usr/local/bin/stand-in notify\"", "shell = \"kill -SEGV $$\""));
    m.systemctl(&["stop", "why.target"]);
    m.reload();
    let unit = reason(&m.copse(&["start", "--json", "why"]).stdout);
    assert_eq!((&unit["exit_status"], &unit["signal"]), (&Value::Null, &"SEGV".into()), "{unit}");
}

fn the_logs_of_several_hosts_name_them(m: &Machine) {
    let group = m.group("far-logs", "[process.a]\nexec = [\"/bin/sh\", \"-c\", \"echo said it; exec sleep 1000\"]\n");
    group.start();
    let host = m.ok(&["hostname"]).trim().to_owned();
    let line = format!(" {host} a ");
    m.wait_until("the line is in the journal", || m.copse(&["logs", "-m", "far-logs"]).stdout.contains("said it"));
    // As systemd-journal-remote(8) keeps those of other hosts, of a group that is not here.
    m.sh("journalctl --sync || true; rm -rf /tmp/remote; mkdir /tmp/remote; cp /run/log/journal/*/*.journal \
          /var/log/journal/*/*.journal /tmp/remote 2>/dev/null || true");
    drop(group);
    for words in [&["logs", "-m", "far-logs"][..], &["logs", "-D", "/tmp/remote", "far-logs"]] {
        let output = m.copse(words);
        assert_eq!(output.status, 0, "{words:?}: {output:?}");
        let said = output.stdout.lines().find(|line| line.ends_with("| said it"));
        let shown = said.unwrap_or_else(|| panic!("{words:?}: {output:?}"));
        assert!(shown.contains(&line), "{words:?}: {shown}");
    }
    // Without these, the group has to be one of this machine.
    m.copse(&["logs", "far-logs"]).expect(4, &["there is no group `far-logs`"]);
    m.remove("/tmp/remote");
}
