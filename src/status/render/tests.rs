//! How a group looks, to people and to programs.

use snapbox::{IntoData as _, assert_data_eq, str};

use super::*;
use crate::change::plan::Reason;
use crate::manager::cause::ProcessEnd;
use crate::manager::properties::Properties;
use crate::manager::state::UnitResult;
use crate::status::json;
use crate::status::tests::fixtures::{NOW, ago, member, row, row_of};

fn running(memory: u64, pid: u32, since: u64, restarts: u32) -> Properties {
    Properties {
        since: ago(since),
        memory: Some(memory << 20),
        cpu_nsec: Some(192_000_000_000),
        pid: Some(pid),
        restarts,
        ..Properties::default()
    }
}

/// The resolver of the manual.
fn resolver() -> Status {
    let process = |label, start| member(label, Kind::Process, start);
    let auto = |label| process(label, Start::Auto);
    let mut failed = row_of(
        auto("kresd@3"),
        "failed/failed",
        Properties {
            since: ago(240),
            restarts: 5,
            result: Some(UnitResult::CoreDump),
            main_end: Some(ProcessEnd::Killed(11)),
            ..Properties::default()
        },
    );
    failed.last_line = Some("kresd[2317]: assertion `len < cap` failed, cache.c:812".to_owned());
    let mut gone = row_of(process("prefill", Start::Manual), "active/running", running(12, 1700, 7_380, 0));
    gone.orphaned = true;
    let status_text = "config version 7, 4 workers wanted".to_owned();
    let rows = vec![
        row_of(
            member("keystore", Kind::Setup, Start::Auto),
            "active/exited",
            Properties { since: ago(7_380), ..Properties::default() },
        ),
        row_of(auto("manager"), "active/running", Properties { status_text, ..running(38, 2214, 3_600, 1) }),
        row_of(auto("kresd@1"), "active/running", running(141, 1811, 7_380, 0)),
        failed,
        row_of(auto("kresd@4"), "activating/auto-restart", Properties { since: ago(2), ..Properties::default() }),
        row_of(process("policy-loader", Start::Manual), "inactive/dead", Properties::default()),
        gone,
    ];
    Status {
        group: "knot-resolver".to_owned(),
        description: Some("Knot Resolver".to_owned()),
        files: vec!["/etc/copse/knot-resolver.toml".into(), "/etc/copse/knot-resolver.toml.d/10-local.toml".into()],
        errors: 0,
        first_error: None,
        verdict: Verdict::Degraded,
        reason: Some("kresd@3 failed".to_owned()),
        since: ago(7_380),
        resources: Resources {
            memory: Some(471 << 20),
            memory_max: Some(2 << 30),
            cpu_nsec: Some(192_000_000_000),
            tasks: Some(41),
        },
        rolled_back: None,
        needs_reload: 1,
        overrides: vec![("knot-resolver-kresd@1.service".to_owned(), "/etc/systemd/system/x.d/a.conf".into())],
        rows,
    }
}

fn look(width: usize) -> TerminalStyle {
    TerminalStyle { colour: false, width, now: NOW, user: false }
}

#[test]
fn a_degraded_group_in_eighty_columns() {
    assert_data_eq!(
        render(&resolver(), look(80)),
        str![[r#"
✗ knot-resolver   degraded: kresd@3 failed
  Knot Resolver
  up for 2h 3min · memory 471.0M of 2.0G · cpu 3min 12s · 41 tasks
  /etc/copse/knot-resolver.toml
  /etc/copse/knot-resolver.toml.d/10-local.toml
  override of knot-resolver-kresd@1.service: /etc/systemd/system/x.d/a.conf
  files of a unit changed since systemd read them; run `systemctl daemon-reload`

  PROCESS        STATE                      FOR   PID  RESTARTS  MEMORY   CPU
  keystore       active, exited              2h
  manager        active                      1h  2214         1   38.0M  3min
                 config version 7, 4 workers wanted
  kresd@1        active                      2h  1811            141.0M  3min
✗ kresd@3        failed: signal SEGV       4min               5
                 kresd[2317]: assertion `len < cap` failed, cache.c:812
↻ kresd@4        activating, auto-restart    2s
- policy-loader  inactive, manual
- prefill        active, orphaned            2h  1700             12.0M  3min

  next  copse logs knot-resolver/kresd@3
        systemctl start knot-resolver.target

"#]]
        .raw()
    );
}

#[test]
fn a_degraded_group_in_sixty_columns() {
    assert_data_eq!(
        render(&resolver(), look(60)),
        str![[r#"
✗ knot-resolver   degraded: kresd@3 failed
  Knot Resolver
  up for 2h 3min · memory 471.0M of 2.0G · cpu 3min 12s · 41
    tasks
  /etc/copse/knot-resolver.toml
  /etc/copse/knot-resolver.toml.d/10-local.toml
  override of knot-resolver-kresd@1.service:
    /etc/systemd/system/x.d/a.conf
  files of a unit changed since systemd read them; run
    `systemctl daemon-reload`

  PROCESS        STATE                      FOR   PID
  keystore       active, exited              2h
  manager        active                      1h  2214
                 config version 7, 4 workers wanted
  kresd@1        active                      2h  1811
✗ kresd@3        failed: signal SEGV       4min
                 kresd[2317]: assertion `len < cap` failed,
                 cache.c:812
↻ kresd@4        activating, auto-restart    2s
- policy-loader  inactive, manual
- prefill        active, orphaned            2h  1700

  next  copse logs knot-resolver/kresd@3
        systemctl start knot-resolver.target

"#]]
        .raw()
    );
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut status = resolver();
    status.reason = Some("a word and another ".repeat(20));
    status.files.clear();
    for row in &mut status.rows {
        row.member.subject.label = "x".repeat(70);
        row.last_line = Some("line ".repeat(50));
    }
    for width in [60, 80, 100] {
        for text in [render(&status, look(width)), list(&[status.clone()], look(width))] {
            let commands = |line: &&str| !line.contains("copse logs") && !line.contains("systemctl restart");
            for line in text.lines().filter(commands) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn colours_add_nothing_but_colour() {
    let plain = render(&resolver(), look(80));
    let coloured = render(&resolver(), TerminalStyle { colour: true, ..look(80) });
    assert!(coloured.contains("\u{1b}[1m\u{1b}[31m"), "{coloured}");
    let mut pieces = coloured.split("\u{1b}[");
    let first = pieces.next().unwrap().to_owned();
    assert_eq!(pieces.fold(first, |text, piece| text + piece.split_once('m').unwrap().1), plain);
}

#[test]
fn what_is_outdated_and_what_is_pinned() {
    let rows = ["w@1", "w@2", "w@3", "a"].map(|label| row(label, "active/running"));
    let mut status = Status { rows: rows.to_vec(), verdict: Verdict::Active, reason: None, ..resolver() };
    for row in &mut status.rows[1..3] {
        row.outdated = vec![Reason::Input { path: "/etc/x".into() }];
        row.pinned = ago(7_380);
    }
    let text = render(&status, look(80));
    assert!(
        text.ends_with(
            "  PROCESS  STATE
  w@1      active
↻ w@2      active, outdated, pinned
           input changed: /etc/x
↻ w@3      active, outdated, pinned
  a        active

  next  copse plan knot-resolver
"
        ),
        "{text}"
    );
    assert!(
        text.contains("  w@2 and 1 other pinned to the definition before the rollout 2h 3min ago; run\n"),
        "{text}"
    );
    let value: serde_json::Value = serde_json::from_str(&json::render(&status)).unwrap();
    assert_eq!(value["units"][1]["outdated"][0]["kind"], "input");
    assert_eq!(value["units"][1]["pinned"], NOW - 7_380_000_000);
    assert_eq!(value["units"][1]["state"], "active, outdated, pinned");
}

#[test]
fn a_group_that_is_rolled_back() {
    let rows = vec![row("w", "active/running")];
    let status = Status { rows, verdict: Verdict::Active, reason: None, rolled_back: ago(7_380), ..resolver() };
    let text = render(&status, look(80));
    for said in [
        "● knot-resolver   active, rolled back\n",
        "  rolled back 2h 3min ago to the last complete apply; run `copse apply\n    knot-resolver` to return to the current files\n",
        "\n  next  copse plan knot-resolver\n",
    ] {
        assert!(text.contains(said), "{said:?}: {text}");
    }
    assert!(
        list(std::slice::from_ref(&status), look(80)).starts_with("● knot-resolver  active, rolled back (1 of 1 up)")
    );
    let value: serde_json::Value = serde_json::from_str(&json::render(&status)).unwrap();
    assert_eq!(value["rolled_back"], NOW - 7_380_000_000);
}

#[test]
fn a_socket_that_went_with_an_instance_that_gave_up() {
    let lost = Properties { result: Some(UnitResult::ServiceStartLimitHit), ..Properties::default() };
    let rows = vec![
        row_of(member("w.socket", Kind::Socket, Start::Auto), "failed/failed", lost),
        row("w@1", "active/running"),
        row("w@2", "failed/failed"),
    ];
    let status = Status { rows, reason: Some("w.socket and 1 other failed".to_owned()), ..resolver() };
    let text = render(&status, look(120));
    assert!(
        text.contains(
            "closed when an instance hit its start limit; the other instances keep serving until they are restarted\n"
        ),
        "{text}"
    );
    assert!(text.ends_with("  next  copse logs knot-resolver/w@2\n        copse apply knot-resolver\n"), "{text}");
}

#[test]
fn nothing_a_process_says_steers_the_terminal() {
    let mut status = resolver();
    status.description = Some("\u{1b}[2J\u{202e}".to_owned());
    for row in &mut status.rows {
        row.last_line = Some("\u{1b}]0;x\u{7}\r".to_owned());
        row.properties.as_mut().unwrap().status_text = "\u{9b}2J".to_owned();
    }
    for text in [render(&status, look(80)), list(&[status.clone()], look(100))] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\r', '\u{9b}', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn an_invalid_file_and_a_removed_one() {
    let broken = Status {
        errors: 2,
        first_error: Some("/etc/copse/knot-resolver.toml:1:1: error[syntax]: unclosed table".to_owned()),
        verdict: Verdict::Active,
        reason: None,
        rows: Vec::new(),
        overrides: Vec::new(),
        needs_reload: 0,
        description: None,
        resources: Resources::default(),
        ..resolver()
    };
    let removed = Status { errors: 0, files: Vec::new(), since: None, ..broken.clone() };
    assert_data_eq!(
        render(&broken, look(80)) + "\n" + &render(&removed, look(80)),
        str![[r#"
● knot-resolver   active, file invalid
  up for 2h 3min
  /etc/copse/knot-resolver.toml
  /etc/copse/knot-resolver.toml.d/10-local.toml
  group file has 2 errors; the last good units of this boot, if any, stay loaded
  /etc/copse/knot-resolver.toml:1:1: error[syntax]: unclosed table

  next  copse check knot-resolver

● knot-resolver   active, file removed

  next  systemctl stop knot-resolver.target

"#]]
        .raw()
    );
}

#[test]
fn all_groups_in_a_line_each() {
    let web = Status {
        group: "web".to_owned(),
        description: None,
        verdict: Verdict::Active,
        reason: None,
        rows: vec![row("web", "active/running")],
        ..resolver()
    };
    let shop = Status {
        group: "shop".to_owned(),
        description: Some("The shop of the company, with everything that belongs to it".to_owned()),
        verdict: Verdict::Stopped,
        reason: None,
        errors: 1,
        first_error: None,
        rows: Vec::new(),
        ..resolver()
    };
    assert_data_eq!(
        list(&[resolver(), shop, web], look(80)),
        str![[r#"
✗ knot-resolver  degraded: kresd@3 failed (3 of 5 up)   Knot Resolver
○ shop           stopped, file invalid   The shop of the company, with everythi…
● web            active (1 of 1 up)

"#]]
        .raw()
    );
}

#[test]
fn a_group_for_programs() {
    let mut status = resolver();
    status.rows.drain(..3);
    status.rows.truncate(1);
    assert_data_eq!(json::render(&status) + "\n", str![[r#"
{"cpu_nsec":192000000000,"description":"Knot Resolver","errors":0,"files":["/etc/copse/knot-resolver.toml","/etc/copse/knot-resolver.toml.d/10-local.toml"],"group":"knot-resolver","memory":493879296,"memory_max":2147483648,"needs_daemon_reload":1,"overrides":[{"path":"/etc/systemd/system/x.d/a.conf","unit":"knot-resolver-kresd@1.service"}],"reason":"kresd@3 failed","rolled_back":null,"since":1699992620000000,"tasks":41,"units":[{"active_state":"failed","cpu_nsec":null,"gone":false,"job":null,"kind":"process","last_line":"kresd[2317]: assertion `len < cap` failed, cache.c:812","load_state":"loaded","memory":null,"name":"kresd@3","outdated":[],"pid":null,"pinned":null,"restarts":5,"result":"core-dump","since":1699999760000000,"start":"auto","state":"failed: signal SEGV","status_text":null,"sub_state":"failed","unit":"knot-resolver-kresd@3.service"}],"verdict":"degraded"}

"#]].raw());
}

#[test]
fn what_failed_says_why_in_as_many_lines_as_it_needs() {
    let failed = |label: &str, result: &str, status_text: &str| {
        let properties =
            Properties { result: Some(result.into()), status_text: status_text.to_owned(), ..Properties::default() };
        row_of(member(label, Kind::Process, Start::Auto), "failed/failed", properties)
    };
    let mut long = failed("long", "exit-code", "not this");
    long.last_line =
        Some("Failed at step EXEC spawning /srv/shop/bin/a-rather-long-name: No such file or directory".into());
    let mut endless = failed("endless", "exit-code", "");
    endless.last_line = Some("x".repeat(400));
    let mut masked = row_of(member("masked", Kind::Process, Start::Auto), "active/running", Properties::default());
    masked.info.load = LoadState::Masked;
    let rows =
        vec![long, endless, failed("waits", "timeout", "waiting for tcp 127.0.0.1:9: connection refused"), masked];
    let text = render(&Status { rows, needs_reload: 0, ..resolver() }, look(60));
    let table = text.split_once("PROCESS").unwrap().1;
    assert_data_eq!(
        table,
        str![[r#"
  STATE
✗ long     failed: exit-code
           Failed at step EXEC spawning
           /srv/shop/bin/a-rather-long-name: No such file
           or directory
✗ endless  failed: exit-code
           xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
           xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
           xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
✗ waits    failed: timeout
           waiting for tcp 127.0.0.1:9: connection refused
  masked   active, masked

  next  copse logs knot-resolver/long
        systemctl start knot-resolver.target

"#]]
        .raw()
    );
}

#[test]
fn a_users_commands_are_those_of_the_users_manager() {
    let text = render(&resolver(), TerminalStyle { user: true, ..look(100) });
    for command in
        ["`systemctl --user daemon-reload`", "copse --user logs ", "systemctl --user start knot-resolver.target"]
    {
        assert!(text.contains(command), "{command}: {text}");
    }
}

#[test]
fn a_group_that_systemd_has_not_read_says_so() {
    let mut row = row("a", "inactive/dead");
    row.state = State::NotLoaded(LoadState::NotFound);
    let text = render(&Status { rows: vec![row], needs_reload: 0, ..resolver() }, look(80));
    assert!(text.contains("systemd has not read the file yet; run `systemctl daemon-reload`"), "{text}");
}
