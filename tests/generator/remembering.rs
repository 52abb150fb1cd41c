//! What is remembered from one run to the next: last good units, and units that left their group while running.

use copse::state::history::{HistoryRecord, StartHistory};
use copse::state::store;
use copse::state::store::{Kept, TextTable, Texts};
use serde::{Deserialize, Serialize};

use crate::stand::{OUTPUT, Outcome, Stand, simple};

const MEMORY: &str = "/run/copse/history";
const TWO: &str = "description = \"Shop\"\n[process.a]\nexec = \"/bin/sleep 1000\"\n\
                   [process.b]\nexec = \"/bin/sleep 1000\"\nkill-signal = \"SIGINT\"\n";
const ONE: &str = "description = \"Shop\"\n[process.a]\nexec = \"/bin/sleep 1000\"\n";

fn stand(text: &str) -> Stand {
    let stand = Stand::new();
    stand.group("shop", text);
    stand.run().good();
    stand
}

fn gone(outcome: &Outcome) -> Vec<&str> {
    let gone = outcome.tree.iter().filter(|(_, text)| text.lines().any(|line| line == "X-CopseOrphaned=yes"));
    gone.map(|(path, _)| path.as_str()).collect()
}

#[test]
fn a_broken_file_leaves_the_last_good_units() {
    let stand = stand(TWO);
    let mut good = stand.run().good();
    for broken in ["[process.a", "[process.a]\nexek = \"/bin/true\"\n", "\u{0}"] {
        stand.group("shop", broken);
        // As often as one likes.
        for _ in 0..2 {
            let mut outcome = stand.run();
            assert_eq!(outcome.status, 1);
            assert!(outcome.log[0].starts_with("/etc/copse/shop.toml:"), "{:?}", outcome.log);
            let target = outcome.tree.remove("shop.target").unwrap();
            assert!(target.contains("\nX-CopseStale=yes\n"), "{target}");
            let description = target.lines().find(|line| line.starts_with("Description=")).unwrap();
            let start = "Description=Shop (its last good units; the group file is broken: /etc/copse/shop.toml:";
            assert!(description.starts_with(start), "{description}");
            good.tree.remove("shop.target");
            assert_eq!(outcome.tree.get("shop-b.service"), good.tree.get("shop-b.service"));
            assert_eq!(outcome.tree.keys().collect::<Vec<_>>(), good.tree.keys().collect::<Vec<_>>());
        }
    }
    stand.group("shop", ONE);
    let outcome = stand.run().good();
    assert!(!outcome.text("shop.target").contains("Stale") && !outcome.has("shop-b.service"));
}

#[test]
fn a_broken_drop_in_or_an_unreadable_file_does_the_same() {
    let stand = stand(TWO);
    stand.file("/etc/copse/shop.toml.d/1.toml", "x");
    assert!(stand.run().text("shop.target").contains("X-CopseStale=yes"));
    stand.remove("/etc/copse/shop.toml.d/1.toml");
    stand.mode("/etc/copse/shop.toml", 0o666);
    assert!(stand.run().text("shop.target").contains("X-CopseStale=yes"));
    // A link whose target isn't mounted just now: a warning, and the group stays.
    stand.remove("/etc/copse/shop.toml");
    stand.link("/etc/copse/shop.toml", "/not/mounted");
    let outcome = stand.run().said(0, &["/etc/copse/shop.toml: warning[dangling-link]"]);
    assert!(outcome.text("shop.target").contains("X-CopseStale=yes") && outcome.has("shop-b.service"));
}

#[test]
fn a_static_target_says_it_too() {
    let stand = stand(TWO);
    stand.file("/usr/lib/systemd/system/shop.target", "[Unit]\nX-CopseGroup=yes\n");
    stand.run().good();
    stand.group("shop", "x");
    assert!(stand.run().text("shop.target.d/50-copse.conf").contains("\nX-CopseStale=yes\n"));
}

#[test]
fn a_file_that_was_never_good_gets_a_target_that_fails() {
    let stand = Stand::new();
    stand.group("shop", "[process.a]\nexek = \"/bin/true\"\n");
    let outcome = stand.run();
    assert_eq!(outcome.status, 1);
    assert_eq!(outcome.tree.len(), 2);
    assert!(outcome.text("shop.target").contains("Description=/etc/copse/shop.toml:1:10: error[missing-key]"));
    assert!(
        outcome
            .text("copse-invalid@shop.service.d/50-copse.conf")
            .contains("/etc/copse/shop.toml:2:1: error[unknown-key]")
    );
    // And nothing else the next time.
    assert_eq!(stand.run().tree, outcome.tree);
}

#[test]
fn a_process_that_left_is_kept_while_it_runs() {
    let stand = stand(TWO);
    stand.running("shop-b.service");
    stand.group("shop", ONE);
    // Also after further runs, and while the file is broken in between.
    for text in [ONE, ONE, "x", ONE] {
        stand.group("shop", text);
        let outcome = stand.run();
        assert_eq!(gone(&outcome), ["shop-b.service"], "{:#?}", outcome.log);
        let unit = outcome.text("shop-b.service");
        assert!(unit.contains("\nKillSignal=SIGINT\n") && unit.contains("\nPartOf=shop.target\n"), "{unit}");
        assert!(!outcome.has("shop.target.wants/shop-b.service"));
    }
    stand.remove("/run/systemd/units/invocation:shop-b.service");
    assert!(!stand.run().good().has("shop-b.service"));
    // Forgotten then, also if a unit of that name runs later.
    stand.running("shop-b.service");
    assert!(!stand.run().good().has("shop-b.service"));
}

#[test]
fn an_instance_is_gone_only_when_its_group_has_others() {
    let text = |instances: &str| format!("[process.w]\nexec = \"/bin/sleep 1000\"\n{instances}\n");
    let own = "[process.w.instance.2]\nkill-signal = \"SIGINT\"";
    for (before, after, left) in [
        // It has no keys of its own any more: the template says what it is.
        (format!("instances = 2\n{own}"), "instances = 2".to_owned(), vec![]),
        (format!("instances = 2\nstart = \"manual\"\n{own}"), "instances = 2\nstart = \"manual\"".into(), vec![]),
        (format!("instances = 2\n{own}"), "instances = 1".into(), vec!["shop-w@2.service"]),
        // There are no instances any more.
        ("instances = 2".into(), String::new(), vec!["shop-w@.service"]),
    ] {
        let stand = stand(&text(&before));
        stand.running("shop-w@2.service");
        stand.group("shop", &text(&after));
        assert_eq!(gone(&stand.run().good()), left, "{before} → {after}");
    }
}

#[test]
fn a_process_that_comes_back_is_gone_no_more() {
    let stand = stand(TWO);
    stand.running("shop-b.service");
    stand.group("shop", ONE);
    assert_eq!(gone(&stand.run()), ["shop-b.service"]);
    stand.group("shop", TWO);
    let outcome = stand.run().good();
    assert!(gone(&outcome).is_empty() && outcome.has("shop.target.wants/shop-b.service"));
}

#[test]
fn a_unit_that_moved_to_another_group_is_the_other_groups() {
    let stand = Stand::new();
    stand.group("a", "[process.b-c]\nexec = \"/bin/sleep 1\"\n");
    stand.run().good();
    stand.running("a-b-c.service");
    stand.remove("/etc/copse/a.toml");
    stand.group("a-b", "[process.c]\nexec = \"/bin/sleep 2\"\n");
    let outcome = stand.run().good();
    assert!(outcome.text("a-b-c.service").contains("/bin/sleep 2") && gone(&outcome).is_empty());
}

#[test]
fn a_group_that_vanished_can_be_stopped_as_it_was_meant() {
    let text = format!("runtime-directory = \"shop\"\n[slice]\nMemoryMax = \"1G\"\n{TWO}instances = 3\n");
    let stand = stand(&text.replacen("description = \"Shop\"\n", "", 1));
    let before = stand.run().good();
    for unit in ["shop-b@2.service", "copse-ready@shop.service"] {
        stand.running(unit);
    }
    stand.remove("/etc/copse/shop.toml");
    let outcome = stand.run().good();
    // The template of the instance that runs, the gate's drop-in, and what they lean on; not `a`, which is stopped.
    assert_eq!(
        gone(&outcome),
        [
            "copse-directories@shop.service.d/50-copse.conf",
            "copse-ready@shop.service.d/50-copse.conf",
            "shop-b@.service",
            "shop.target",
            "system-copse-shop.slice"
        ]
    );
    assert_eq!(gone(&outcome).len(), outcome.tree.len());
    let mark = "# orphaned: removed from its group but still running; kept until it stops, for ExecStop= and KillMode=\n\
         X-CopseOrphaned=yes\n";
    let named = before.text("shop-b@.service").replacen("SourcePath=/etc/copse/shop.toml\n", "", 1);
    assert_eq!(outcome.text("shop-b@.service").replacen(mark, "", 1), named);
    for unit in ["shop-b@2.service", "copse-ready@shop.service"] {
        stand.remove(&format!("/run/systemd/units/invocation:{unit}"));
    }
    assert!(stand.run().good().tree.is_empty());
    assert!(!std::fs::read_to_string(stand.path(MEMORY)).unwrap().contains("shop"));
}

#[test]
fn another_output_directory_changes_no_memory() {
    let stand = stand(TWO);
    let before = std::fs::read(stand.path(MEMORY)).unwrap();
    stand.group("shop", ONE);
    stand.group("more", ONE);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_copse-generator"));
    command.env_clear().env("COPSE_ROOT", stand.path("/")).env("SYSTEMD_SCOPE", "system");
    assert!(command.arg(stand.path("/tmp/x")).status().unwrap().success());
    assert!(stand.tree("/tmp/x").contains_key("more-a.service"));
    assert_eq!(std::fs::read(stand.path(MEMORY)).unwrap(), before);
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    use std::os::unix::fs::MetadataExt as _;
    let stand = stand(TWO);
    let inode = || std::fs::metadata(stand.path(MEMORY)).unwrap().ino();
    let before = inode();
    stand.run().good();
    assert_eq!(inode(), before);
    assert_eq!(std::fs::metadata(stand.path(MEMORY)).unwrap().mode() & 0o7777, 0o600);
}

#[test]
fn a_damaged_memory_is_ignored_and_made_anew() {
    let stand = stand(TWO);
    let good = std::fs::read(stand.path(MEMORY)).unwrap();
    let memory = stand.timeless();
    let truncated = &good[..good.len() / 2];
    let forged = [&good[..], b"gone 1 1\nab\n"].concat();
    for damaged in [truncated, &forged, b"\0\xff", &[b'x'; 100_000]] {
        std::fs::write(stand.path(MEMORY), damaged).unwrap();
        let outcome = stand.run();
        let ignored = "cannot read the start history, ignoring: the file is damaged";
        assert!(outcome.log[0].ends_with(ignored), "{:?}", outcome.log);
        assert_eq!((outcome.status, outcome.log.len(), outcome.has("shop-b.service")), (0, 1, true));
        assert_eq!(stand.timeless(), memory);
    }
}

/// What a later copse would keep: the same and more.
struct Later(StartHistory);

#[derive(Serialize, Deserialize)]
struct LaterRecord {
    news: Vec<String>,
    #[serde(flatten)]
    history: HistoryRecord,
}

impl Kept for Later {
    const KIND: &'static str = StartHistory::KIND;
    type Record = LaterRecord;

    fn to_record<'v>(&'v self, texts: &mut TextTable<'v>) -> LaterRecord {
        LaterRecord { news: vec!["added later".to_owned()], history: self.0.to_record(texts) }
    }

    fn from_record(_: LaterRecord, _: &Texts) -> Option<Self> {
        None
    }
}

#[test]
fn a_package_that_is_downgraded_loses_no_last_good_units_where_it_only_knows_less() {
    let stand = stand(TWO);
    let history: StartHistory = store::from_bytes(&std::fs::read(stand.path(MEMORY)).unwrap()).unwrap();
    stand.group("shop", "x");
    let later = String::from_utf8(store::to_bytes(&Later(history))).unwrap();
    std::fs::write(stand.path(MEMORY), &later).unwrap();
    assert!(stand.run().text("shop.target").contains("X-CopseStale=yes"));
    // The same, with another meaning.
    std::fs::write(stand.path(MEMORY), later.replacen("copse history 2", "copse history 3", 1)).unwrap();
    let outcome = stand.run();
    let ignored = "cannot read the start history, ignoring: another version of copse wrote it";
    assert!(outcome.log[0].ends_with(ignored), "{:?}", outcome.log);
    assert!(outcome.text("shop.target").contains("copse-invalid@shop.service"));
}

#[test]
fn a_package_that_is_upgraded_keeps_last_good_units_and_pins() {
    // Written by copse before format 2, for a group `shop` that ran `sleep 1000`.
    let state = |name: &str| {
        let path = format!("{}/src/state/format1/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    let stand = Stand::new();
    stand.file(MEMORY, state("history"));
    stand.mode(MEMORY, 0o600);
    stand.group("shop", "x");
    let outcome = stand.run();
    assert!(outcome.text("shop.target").contains("X-CopseStale=yes"), "{:?}", outcome.log);
    assert!(outcome.text("shop-web.service").contains("/bin/sleep 1000"));
    // Pinned as a whole to `sleep 2000` with three instances, and two units by themselves to a text that lacks them.
    stand.file("/run/copse/pins/shop", state("pins"));
    stand.mode("/run/copse/pins/shop", 0o600);
    stand.group("shop", ONE);
    let outcome = stand.run();
    assert_eq!((outcome.status, outcome.log.len()), (0, 2), "{:?}", outcome.log);
    assert!(outcome.text("shop-web@.service").contains("/bin/sleep 2000"));
    assert!(outcome.text("shop.target").contains("X-CopsePinned=yes"));
}

#[test]
fn a_memory_that_others_could_write_is_not_believed() {
    let stand = stand(TWO);
    stand.group("shop", "x");
    stand.mode(MEMORY, 0o666);
    let outcome = stand.run();
    assert_eq!(outcome.status, 1);
    assert!(outcome.log[0].contains("warning[last-good]") && outcome.log[0].contains("only its owner"));
    assert!(!outcome.has("shop-b.service") && outcome.text("shop.target").contains("copse-invalid@shop.service"));
}

#[test]
fn units_are_written_where_nothing_can_be_remembered() {
    let stand = Stand::new();
    stand.group("web", &simple("web"));
    stand.file("/run/copse", "a file");
    let outcome = stand.run();
    assert!(outcome.has("web.service"));
    assert!(outcome.log.iter().any(|line| line.contains("warning[last-good]")), "{:?}", outcome.log);
}

#[test]
fn the_memory_is_private_from_the_first_byte() {
    // Other users could keep a descriptor that they opened early: the temporary file is private as well.
    let stand = stand(TWO);
    for entry in std::fs::read_dir(stand.path("/run/copse")).unwrap() {
        use std::os::unix::fs::PermissionsExt as _;
        let entry = entry.unwrap();
        assert_eq!(
            (entry.file_name().to_str(), entry.metadata().unwrap().permissions().mode() & 0o777),
            (Some("history"), 0o600)
        );
    }
    assert!(stand.path(OUTPUT).exists());
}
