//! `copse apply --rollback`: where there is something to go back to, and where there isn't; and what counts as a change
//! besides the definitions.

use crate::applying::ON;
use crate::asking::pids;
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(where_the_last_apply_is_what_runs_there_is_nothing_to_go_back_to, ON),
    situation!(an_apply_that_ends_a_roll_back_says_so, ON),
    situation!(what_failed_by_itself_is_not_said_to_have_been_stopped, ON),
    situation!(a_new_credential_and_new_variables_are_changes, ON),
    situation!(an_older_record_makes_no_credential_a_change, ON),
    situation!(every_changed_line_is_shown, ON),
];

fn group(value: &str) -> String {
    format!(
        "[process.a]\nexec = \"/usr/local/bin/stand-in notify\"\nready = \"notify\"\nenvironment = {{ VALUE = \"{value}\" }}\n"
    )
}

fn where_the_last_apply_is_what_runs_there_is_nothing_to_go_back_to(m: &Machine) {
    let file = m.start_group("level", &group("1"));
    let untouched = |said: &str| {
        m.copse(&["apply", "--rollback", "level"]).expect(0, &["nothing to roll back", said]);
        assert!(!m.exists("/run/copse/pins/level"));
        assert!(!m.copse(&["status", "level"]).stdout.contains("rolled back"));
    };
    untouched("what it was started with matches the current files");
    m.write(&file.file(), &group("2"));
    m.copse(&["apply", "level"]).expect(0, &["a  ready"]);
    untouched("the last complete apply matches the current files");
    let output = m.copse(&["apply", "level"]);
    output.expect(0, &["nothing to do"]);
    assert!(!output.stdout.contains("rolled back"), "{output:?}");
}

fn an_apply_that_ends_a_roll_back_says_so(m: &Machine) {
    let file = m.start_group("swing", &group("1"));
    m.copse(&["apply", "swing"]).expect(0, &[]);
    m.write(&file.file(), &group("2"));
    m.reload();
    m.systemctl(&["restart", "swing-a.service"]);
    let until = "swing is rolled back; run `copse apply swing` to return to the current files";
    m.copse(&["apply", "--rollback", "swing"]).expect(0, &["a  ready", until]);
    m.copse(&["plan", "swing"]).expect(0, &["the group is rolled back"]);
    m.write(&file.file(), &group("1"));
    let output = m.copse(&["apply", "swing"]);
    output.expect(0, &["the group was rolled back; this apply returns it to the current files"]);
    assert!(!output.stdout.contains("is rolled back"), "{output:?}");
    assert!(!m.copse(&["status", "swing"]).stdout.contains("rolled back"));
}

fn what_failed_by_itself_is_not_said_to_have_been_stopped(m: &Machine) {
    let text = |what: &str| {
        format!(
            "[process.a]\nexec = \"/usr/local/bin/stand-in {what}\"\nready = \"notify\"\nrestart-sec = \"10ms\"\n\
             start-limit-burst = 2\nstart-limit-interval-sec = \"1h\"\n"
        )
    };
    let file = m.start_group("felled", &text("notify"));
    m.write(&file.file(), &text("crash"));
    m.copse(&["apply", "felled"]).expect(6, &["or `copse apply --rollback felled` to roll back"]);
    let output = m.copse(&["apply", "--rollback", "felled"]);
    output.expect(0, &["failed: exit status 1", "a  ready"]);
    assert!(!output.stdout.contains("stopped by"), "{output:?}");
}

fn a_new_credential_and_new_variables_are_changes(m: &Machine) {
    m.sh("install -d -m 700 /etc/secrets; echo one > /etc/secrets/password; echo A=1 > /etc/secrets-env");
    let process = |name: &str, more: &str| {
        format!("[process.{name}]\nexec = \"/usr/local/bin/stand-in notify\"\nready = \"notify\"\n{more}\n")
    };
    let credentials = "credentials = { db = \"/etc/secrets/password\" }";
    let text = process("a", credentials)
        + &process("b", "environment-file = \"/etc/secrets-env\"\nexec-reload = \"/bin/true\"\nrefresh = \"reload\"")
        + &process("k", &format!("{credentials}\nrefresh = \"keep\""))
        + &process("other", "");
    let _file = m.start_group("handed", &text);
    m.sh("sleep 0.1");
    let kept = pids(m, "handed", &["k", "other"]);
    for apply_first in [false, true] {
        if apply_first {
            m.copse(&["apply", "handed"]).expect(0, &["nothing to do"]);
            m.sh("touch /etc/secrets/password /etc/secrets-env");
        }
        m.copse(&["plan", "--exit-code", "handed"]).expect(0, &["nothing to do"]);
        m.sh("echo more >> /etc/secrets/password; echo B=1 >> /etc/secrets-env");
        let said = ["restart  a", "input changed: /etc/secrets/password", "restart  b", "outdated; kept running"];
        m.copse(&["plan", "--exit-code", "handed"]).expect(7, &said);
        let nobody = ["setpriv", "--reuid=2001", "--regid=2001", "--clear-groups", "copse", "plan", "handed"];
        m.run(&nobody).expect(0, &["permission denied, changes not detected:", "/etc/secrets/password"]);
        m.copse(&["apply", "handed"]).expect(0, &["restart  a", "restart  b"]);
        let loaded = m.sh("cat /run/credentials/handed-a.service/db");
        assert!(loaded.contains("more"), "{loaded}");
        m.systemctl(&["restart", "handed-k.service"]);
        m.wait_for_state("handed-k.service", "active");
    }
    assert_eq!(pids(m, "handed", &["other"]), kept[1..]);
}

/// As a copse wrote it that didn't look at credentials.
fn an_older_record_makes_no_credential_a_change(m: &Machine) {
    m.sh("echo one > /etc/old-password; echo x > /run/old-input");
    let text = "[process.a]\nexec = \"/usr/local/bin/stand-in notify\"\nready = \"notify\"\n\
                inputs = [\"/run/old-input\"]\ncredentials = { db = \"/etc/old-password\" }\n";
    let file = m.start_group("elder", text);
    m.copse(&["apply", "elder"]).expect(0, &["nothing to do"]);
    m.sh("sleep 0.1; echo two > /etc/old-password");
    m.copse(&["plan", "elder"]).expect(0, &["restart  a"]);
    // Written by copse before format 2, which did not record what a process is handed.
    let edit = r#"import json
path = "/run/copse/applied/elder"
_, line, texts = open(path, "rb").read().split(b"\n", 2)
content = json.loads(line)
data = b"copse applied 1\n"
def record(word, *fields):
    fields = [field if isinstance(field, bytes) else str(field).encode() for field in fields]
    return b" ".join([word] + [b"%d" % len(field) for field in fields]) + b"\n" + b"".join(fields) + b"\n"
for text in content["texts"]:
    data += record(b"text", text["path"], texts[:text["size"]])
    texts = texts[text["size"]:]
applied = content["value"]
source = applied["source"]
data += record(b"source", source["name"], source["file"], *source.get("drop_ins", []))
data += record(b"apply", applied["at"], 0, applied["cpus"])
for unit, taken in applied["units"].items():
    assert taken["prints"]["handed"]
    data += record(b"unit", unit, taken["at"] or 0, taken["prints"]["inputs"])
value = 0xcbf29ce484222325
words = [int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8)]
for word in words + [len(data)]:
    value = ((value ^ word) * 0x100000001b3) % 2**64
    value = (value << 23 | value >> 41) % 2**64
open(path, "wb").write(data + b"end %016x\n" % value)
"#;
    m.write("/run/make-old.py", edit);
    m.sh("python3 /run/make-old.py");
    m.copse(&["plan", "elder"]).expect(0, &["elder: nothing to do"]);
    m.sh("echo y > /run/old-input");
    m.copse(&["plan", "elder"]).expect(0, &["input changed: /run/old-input"]);
    drop(file);
}

fn every_changed_line_is_shown(m: &Machine) {
    let _group = m.start_group("lines", &group("1"));
    let drop_in = "/etc/copse/lines.toml.d/10-more.toml";
    m.sh("mkdir -p /etc/copse/lines.toml.d");
    m.write(drop_in, "[process.a]\nmemory-max = \"1G\"\nrestart = \"always\"\nenvironment = { A = \"1\" }\n");
    let output = m.copse(&["plan", "--diff", "lines"]);
    output.expect(0, &["Environment= A added", "MemoryMax= 1G added", "+Environment=A=1", "+MemoryMax=1G"]);
    m.copse(&["apply", "lines"]).expect(0, &["a  ready"]);
    m.remove(drop_in);
    m.copse(&["plan", "lines"]).expect(0, &["10-more.toml (removed)", "Environment= A removed"]);
}
