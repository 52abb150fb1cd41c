//! What a group is, by the states of its units; and how that looks.

use snapbox::{IntoData as _, assert_data_eq, str};

use super::render::{Look, list, render};
use super::*;
use crate::manager::unit::Monotonic;

/// Now, in the pictures.
const NOW: u64 = 1_700_000_000_000_000;

fn ago(seconds: u64) -> u64 {
    NOW - seconds * 1_000_000
}

/// `active/running`, `inactive/dead`, with a job behind a blank: `inactive/dead start`.
fn listed(unit: &str, states: &str) -> Listed {
    let (states, job) = states.split_once(' ').map_or((states, None), |(states, job)| (states, Some(job)));
    let (active, sub) = states.split_once('/').unwrap();
    let (load, active) = active.split_once(':').unwrap_or(("loaded", active));
    Listed {
        name: unit.to_owned(),
        load_state: load.to_owned(),
        active_state: active.to_owned(),
        sub_state: sub.to_owned(),
        job: job.map(ToOwned::to_owned),
    }
}

fn member(label: &str, kind: Kind, start: Start) -> Member {
    Member { unit: format!("g-{label}.service"), label: label.to_owned(), kind, start, defined: true }
}

fn row_of(member: Member, states: &str, details: Details) -> Row {
    let listed = listed(&member.unit, states);
    let state = state(&member, &listed, Some(&details));
    Row { member, listed, details: Some(details), state, gone: false, outdated: Vec::new(), pinned: 0, last_line: None }
}

fn row(label: &str, states: &str) -> Row {
    let result = "success".to_owned();
    row_of(member(label, Kind::Process, Start::Auto), states, Details { result, ..Details::default() })
}

fn setup(label: &str, states: &str) -> Row {
    row_of(member(label, Kind::Setup, Start::Auto), states, Details::default())
}

#[test]
fn what_a_units_state_means() {
    let auto = || member("a", Kind::Process, Start::Auto);
    let details = |result: &str| Details { result: result.to_owned(), ..Details::default() };
    let ended = Details { main_exited: Monotonic(5), active_left: Monotonic(6), ..details("success") };
    let stopped = Details { main_exited: Monotonic(6), active_left: Monotonic(5), ..details("success") };
    let skipped = Details { condition_failed: true, ..details("success") };
    let refused = Details { assertion_failed: true, ..details("success") };
    let crashed = Details { main_code: 2, main_status: 11, ..details("signal") };
    for (member, states, details, expected) in [
        (auto(), "active/running", details("success"), State::Up),
        (auto(), "reloading/reload", details("success"), State::Up),
        // `ready = "oneshot"` stays up when its program has ended; a setup step is done.
        (auto(), "active/exited", details("success"), State::Up),
        (member("a", Kind::Setup, Start::Auto), "active/exited", details("success"), State::Done),
        (auto(), "active/running stop", details("success"), State::Stopping),
        (auto(), "activating/start", details("success"), State::Starting),
        (auto(), "inactive/dead start", details("success"), State::Starting),
        (auto(), "activating/auto-restart", crashed.clone(), State::Restarting),
        (auto(), "failed/failed-before-auto-restart", crashed.clone(), State::Restarting),
        (auto(), "deactivating/stop-sigterm", details("success"), State::Stopping),
        (auto(), "failed/failed", crashed, State::Failed("signal SEGV".to_owned())),
        (auto(), "inactive/dead", ended.clone(), State::Done),
        (auto(), "inactive/dead", stopped, State::Stopped),
        (auto(), "inactive/dead", details("success"), State::Stopped),
        (auto(), "inactive/dead", skipped, State::Skipped),
        (auto(), "inactive/dead", refused, State::Refused),
        (auto(), "masked:inactive/dead", details("success"), State::Masked),
        // Masked, or its file removed, while it runs.
        (auto(), "masked:active/running", details("success"), State::Up),
        (auto(), "not-found:active/running", details("success"), State::Up),
        (auto(), "bad-setting:inactive/dead", details("success"), State::NotLoaded("bad-setting".to_owned())),
        (member("a", Kind::Process, Start::Manual), "inactive/dead", ended, State::Idle),
        (member("a", Kind::Process, Start::Timed), "inactive/dead", details("success"), State::Idle),
        (member("a", Kind::Process, Start::Held), "inactive/dead", details("success"), State::Idle),
    ] {
        assert_eq!(state(&member, &listed("a", states), Some(&details)), expected, "{states} {details:?}");
    }
}

#[test]
fn the_word_about_a_group() {
    type Situation<'a> = (&'a str, &'a str, bool, Vec<Row>, Verdict, Option<&'a str>);
    let up = || row("b", "active/running");
    let situations: Vec<Situation<'_>> = vec![
        ("active/active", "active/exited", false, vec![up(), setup("s", "active/exited")], Verdict::Active, None),
        ("active/active", "active/exited", false, vec![], Verdict::Active, None),
        // Not all of it.
        (
            "active/active",
            "active/exited",
            false,
            vec![up(), row("a", "failed/failed")],
            Verdict::Degraded,
            Some("a failed"),
        ),
        (
            "active/active",
            "active/exited",
            false,
            vec![row("a", "failed/failed"), row("c", "failed/failed"), row("d", "failed/failed")],
            Verdict::Degraded,
            Some("a and 2 others failed"),
        ),
        (
            "active/active",
            "active/exited",
            false,
            vec![up(), row("a", "inactive/dead")],
            Verdict::Degraded,
            Some("a stopped"),
        ),
        (
            "active/active",
            "active/exited",
            false,
            vec![row("a", "activating/auto-restart"), row("c", "activating/auto-restart")],
            Verdict::Degraded,
            Some("a and another waiting for a restart"),
        ),
        // A process that is restarted by hand, or a group that is.
        (
            "active/active",
            "active/exited",
            false,
            vec![up(), row("a", "activating/start")],
            Verdict::Starting,
            Some("a starting"),
        ),
        // `systemctl start`: the target waits for the gate.
        (
            "inactive/dead start",
            "activating/start",
            false,
            vec![row("a", "activating/start")],
            Verdict::Starting,
            Some("waits for a"),
        ),
        ("inactive/dead start", "inactive/dead start", false, vec![], Verdict::Starting, Some("waits for a")),
        // The start failed: by a process that the gate waited for, or by a setup step, without which there's no gate.
        (
            "inactive/dead",
            "failed/failed",
            false,
            vec![up(), row("a", "failed/failed")],
            Verdict::Failed,
            Some("a failed to start"),
        ),
        (
            "inactive/dead",
            "inactive/dead",
            false,
            vec![row("a", "inactive/dead"), setup("s", "failed/failed")],
            Verdict::Failed,
            Some("s failed to start"),
        ),
        ("inactive/dead", "failed/failed", false, vec![], Verdict::Failed, Some("the start failed")),
        // `failure-policy = "stop"`.
        (
            "inactive/dead",
            "inactive/dead",
            true,
            vec![row("b", "inactive/dead"), row("a", "failed/failed")],
            Verdict::Failed,
            Some("stopped when a failed"),
        ),
        // Stopped, also with what ended badly when it was asked to.
        ("inactive/dead", "inactive/dead", false, vec![row("a", "inactive/dead")], Verdict::Stopped, None),
        ("inactive/dead", "inactive/dead", false, vec![row("a", "failed/failed")], Verdict::Stopped, None),
        (
            "inactive/dead",
            "inactive/dead",
            false,
            vec![up(), row("a", "inactive/dead")],
            Verdict::Stopped,
            Some("b active"),
        ),
        ("inactive/dead", "inactive/dead", false, vec![row("a", "deactivating/stop-sigterm")], Verdict::Stopping, None),
        ("active/active stop", "active/exited", false, vec![up()], Verdict::Stopping, None),
    ];
    for (target, gate, gave_up, rows, verdict, reason) in situations {
        let (target, gate) = (listed("g.target", target), listed("copse-ready@g.service", gate));
        let whole = Whole { target, gate, waits_for: "waits for a".to_owned(), gave_up };
        let expected = (verdict, reason.map(ToOwned::to_owned));
        let states: Vec<_> = rows.iter().map(|row| (&row.member.label, &row.state)).collect();
        assert_eq!(judge(&whole, &rows), expected, "{whole:?} {states:?}");
    }
}

#[test]
fn the_word_about_a_part() {
    for (rows, verdict) in [
        (vec![row("a@1", "active/running"), row("a@2", "active/running")], Verdict::Active),
        (vec![row("a@1", "active/running"), row("a@2", "failed/failed")], Verdict::Degraded),
        (vec![row("a@1", "active/running"), row("a@2", "inactive/dead")], Verdict::Degraded),
        (vec![row("a", "failed/failed")], Verdict::Failed),
        (vec![row("a", "inactive/dead")], Verdict::Stopped),
        (vec![row("a", "activating/auto-restart")], Verdict::Starting),
        (vec![row("a", "deactivating/stop-sigterm")], Verdict::Stopping),
        (vec![setup("s", "active/exited")], Verdict::Active),
    ] {
        assert_eq!(judge_part(&rows).0, verdict, "{rows:?}");
    }
}

#[test]
fn people_name_processes_not_units() {
    for (unit, expected) in [
        ("shop-web@1.service", "web@1"),
        ("shop.service", "shop"),
        ("shop@1.service", "shop@1"),
        ("shop-web.socket", "web.socket"),
        ("shop.target", "shop.target"),
        ("copse-ready@shop.service", "copse-ready@shop"),
    ] {
        assert_eq!(label("shop", unit), expected);
    }
}

fn running(memory: u64, pid: u32, since: u64, restarts: u32) -> Details {
    Details {
        since: ago(since),
        memory: Some(memory << 20),
        cpu_nsec: Some(192_000_000_000),
        pid,
        restarts,
        ..Details::default()
    }
}

/// The resolver of the manual.
fn resolver() -> Status {
    let process = |label, start| member(label, Kind::Process, start);
    let auto = |label| process(label, Start::Auto);
    let mut failed = row_of(
        auto("kresd@3"),
        "failed/failed",
        Details {
            since: ago(240),
            restarts: 5,
            result: "core-dump".to_owned(),
            main_code: 3,
            main_status: 11,
            ..Details::default()
        },
    );
    failed.last_line = Some("kresd[2317]: assertion `len < cap` failed, cache.c:812".to_owned());
    let mut gone = row_of(process("prefill", Start::Manual), "active/running", running(12, 1700, 7_380, 0));
    gone.gone = true;
    let status_text = "config version 7, 4 workers wanted".to_owned();
    let rows = vec![
        row_of(
            member("keystore", Kind::Setup, Start::Auto),
            "active/exited",
            Details { since: ago(7_380), ..Details::default() },
        ),
        row_of(auto("manager"), "active/running", Details { status_text, ..running(38, 2214, 3_600, 1) }),
        row_of(auto("kresd@1"), "active/running", running(141, 1811, 7_380, 0)),
        failed,
        row_of(auto("kresd@4"), "activating/auto-restart", Details { since: ago(2), ..Details::default() }),
        row_of(process("policy-loader", Start::Manual), "inactive/dead", Details::default()),
        gone,
    ];
    let of_group = |mut row: Row| {
        row.member.unit = format!("knot-resolver-{}.service", row.member.label);
        row
    };
    Status {
        group: "knot-resolver".to_owned(),
        description: Some("Knot Resolver".to_owned()),
        files: vec!["/etc/copse/knot-resolver.toml".into(), "/etc/copse/knot-resolver.toml.d/10-local.toml".into()],
        errors: 0,
        first_error: None,
        verdict: Verdict::Degraded,
        reason: Some("kresd@3 failed".to_owned()),
        since: Some(ago(7_380)),
        resources: Resources {
            memory: Some(471 << 20),
            memory_max: Some(2 << 30),
            cpu_nsec: Some(192_000_000_000),
            tasks: Some(41),
        },
        needs_reload: 1,
        overrides: vec![("knot-resolver-kresd@1.service".to_owned(), "/etc/systemd/system/x.d/a.conf".into())],
        rows: rows.into_iter().map(of_group).collect(),
    }
}

fn look(width: usize) -> Look {
    Look { colour: false, width, now: NOW, user: false }
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
  files of a unit changed since systemd read them: `systemctl daemon-reload`

  PROCESS        STATE                        FOR   PID  RESTARTS  MEMORY   CPU
  keystore       done (setup)                  2h
  manager        active                        1h  2214         1   38.0M  3min
                 config version 7, 4 workers wanted
  kresd@1        active                        2h  1811            141.0M  3min
✗ kresd@3        failed: signal SEGV         4min               5
                 kresd[2317]: assertion `len < cap` failed, cache.c:812
↻ kresd@4        waiting for its restart       2s
- policy-loader  inactive, manual
- prefill        active, gone from the file    2h  1700             12.0M  3min

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
  files of a unit changed since systemd read them:
    `systemctl daemon-reload`

  PROCESS        STATE                        FOR   PID
  keystore       done (setup)                  2h
  manager        active                        1h  2214
                 config version 7, 4 workers wanted
  kresd@1        active                        2h  1811
✗ kresd@3        failed: signal SEGV         4min
                 kresd[2317]: assertion `len < cap` failed,
                 cache.c:812
↻ kresd@4        waiting for its restart       2s
- policy-loader  inactive, manual
- prefill        active, gone from the file    2h  1700

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
        row.member.label = "x".repeat(70);
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
    let coloured = render(&resolver(), Look { colour: true, ..look(80) });
    assert!(coloured.contains("\u{1b}[1;31m"), "{coloured}");
    let mut pieces = coloured.split("\u{1b}[");
    let first = pieces.next().unwrap().to_owned();
    assert_eq!(pieces.fold(first, |text, piece| text + piece.split_once('m').unwrap().1), plain);
}

#[test]
fn what_is_outdated_and_what_is_pinned() {
    let rows = ["w@1", "w@2", "w@3", "a"].map(|label| row(label, "active/running"));
    let mut status = Status { rows: rows.to_vec(), verdict: Verdict::Active, reason: None, ..resolver() };
    for row in &mut status.rows[1..3] {
        row.outdated = vec![Reason::Input("/etc/x".into())];
        row.pinned = ago(7_380);
    }
    let text = render(&status, look(80));
    assert!(
        text.ends_with(
            "  PROCESS  STATE
  w@1      active
↻ w@2      active, outdated
           input changed: /etc/x
           pinned to the definition that it had 2h 3min ago
↻ w@3      active, outdated
  a        active

  next  copse plan knot-resolver
"
        ),
        "{text}"
    );
    let value: serde_json::Value = serde_json::from_str(&json::render(&status)).unwrap();
    assert_eq!(value["units"][1]["outdated"][0]["kind"], "input");
    assert_eq!(value["units"][1]["pinned"], ago(7_380));
}

#[test]
fn nothing_a_process_says_steers_the_terminal() {
    let mut status = resolver();
    status.description = Some("\u{1b}[2J\u{202e}".to_owned());
    for row in &mut status.rows {
        row.last_line = Some("\u{1b}]0;x\u{7}\r".to_owned());
        row.details.as_mut().unwrap().status_text = "\u{9b}2J".to_owned();
    }
    for text in [render(&status, look(80)), list(&[status.clone()], look(100))] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\r', '\u{9b}', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn what_failed_says_why_in_as_many_lines_as_it_needs() {
    let failed = |label: &str, result: &str, status_text: &str| {
        let details = Details { result: result.to_owned(), status_text: status_text.to_owned(), ..Details::default() };
        row_of(member(label, Kind::Process, Start::Auto), "failed/failed", details)
    };
    let mut long = failed("long", "exit-code", "not this");
    long.last_line =
        Some("Failed at step EXEC spawning /srv/shop/bin/a-rather-long-name: No such file or directory".into());
    let mut endless = failed("endless", "exit-code", "");
    endless.last_line = Some("x".repeat(400));
    let mut masked = row_of(member("masked", Kind::Process, Start::Auto), "active/running", Details::default());
    masked.listed.load_state = "masked".to_owned();
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
    let text = render(&resolver(), Look { user: true, ..look(100) });
    for command in
        ["`systemctl --user daemon-reload`", "copse --user logs ", "systemctl --user start knot-resolver.target"]
    {
        assert!(text.contains(command), "{command}: {text}");
    }
}

#[test]
fn a_group_that_systemd_has_not_read_says_so() {
    let mut row = row("a", "inactive/dead");
    row.state = State::NotLoaded("not-found".to_owned());
    let text = render(&Status { rows: vec![row], needs_reload: 0, ..resolver() }, look(80));
    assert!(text.contains("systemd hasn't read the file yet: `systemctl daemon-reload`"), "{text}");
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
  the file has 2 errors; its last good units of this boot, if any, stay in force
  /etc/copse/knot-resolver.toml:1:1: error[syntax]: unclosed table

  next  copse check knot-resolver

● knot-resolver   active, file removed

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
{"cpu_nsec":192000000000,"description":"Knot Resolver","errors":0,"files":["/etc/copse/knot-resolver.toml","/etc/copse/knot-resolver.toml.d/10-local.toml"],"group":"knot-resolver","memory":493879296,"memory_max":2147483648,"needs_daemon_reload":1,"overrides":[{"path":"/etc/systemd/system/x.d/a.conf","unit":"knot-resolver-kresd@1.service"}],"reason":"kresd@3 failed","since":1699992620000000,"tasks":41,"units":[{"active_state":"failed","cpu_nsec":null,"gone":false,"job":null,"kind":"process","last_line":"kresd[2317]: assertion `len < cap` failed, cache.c:812","load_state":"loaded","memory":null,"name":"kresd@3","outdated":[],"pid":null,"pinned":null,"restarts":5,"result":"core-dump","since":1699999760000000,"start":"auto","state":"failed: signal SEGV","status_text":null,"sub_state":"failed","unit":"knot-resolver-kresd@3.service"}],"verdict":"degraded"}

"#]].raw());
}
