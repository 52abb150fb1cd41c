//! Units that are to be what they were.

use copse::basic::clock::Monotonic;
use copse::state::pins::{Pin, Pins, Units};
use copse::unit::name::GroupName;

use crate::stand::{Outcome, Stand};

const OLD: &str = "description = \"Shop\"\n[process.a]\nexec = \"/bin/sleep 1\"\n\
                   [process.w]\nexec = \"/bin/sleep 1\"\ninstances = 3\n";
const NEW: &str = "description = \"Shop\"\n[process.a]\nexec = \"/bin/sleep 2\"\n\
                   [process.w]\nexec = \"/bin/sleep 2\"\ninstances = 3\n[process.more]\nexec = \"/bin/sleep 2\"\n";

fn shop() -> GroupName {
    GroupName::new("shop").unwrap()
}

/// Pins to the `version`th of the group's versions.
fn pin(stand: &Stand, version: usize, units: Units) {
    let version = stand.histories()["shop"].versions[version].clone();
    let pin = Pin { source: version.source, cpus: version.cpus, units };
    Pins(vec![pin]).write(&stand.directories(), &shop()).unwrap();
}

fn only(units: &[&str]) -> Units {
    Units::Only(units.iter().map(ToString::to_string).collect())
}

fn changed(old: &str, new: &str) -> Stand {
    let stand = Stand::new();
    stand.group("shop", old);
    stand.run().good();
    stand.group("shop", new);
    stand.run().good();
    stand
}

fn pinned(outcome: &Outcome) -> Vec<&str> {
    let pinned = outcome.tree.iter().filter(|(_, text)| text.lines().any(|line| line == "X-CopsePinned=yes"));
    pinned.map(|(path, _)| path.as_str()).collect()
}

#[test]
fn a_pinned_instance_is_what_it_was_and_its_siblings_are_new() {
    let stand = changed(OLD, NEW);
    let new = stand.run().good();
    pin(&stand, 0, only(&["shop-w@2.service"]));
    let outcome = stand.run().good();
    assert_eq!(pinned(&outcome), ["shop-w@2.service"]);
    assert!(outcome.text("shop-w@2.service").contains("/bin/sleep 1"));
    assert!(outcome.text("shop-w@.service").contains("/bin/sleep 2"));
    assert_eq!(outcome.text("shop.target.wants/shop-w@2.service"), "-> ../shop-w@2.service");
    assert_eq!(outcome.text("shop.target.wants/shop-w@1.service"), "-> ../shop-w@.service");
    // Nothing else differs.
    let differs = |path: &&String| outcome.tree.get(*path) != new.tree.get(*path);
    let paths: Vec<_> = outcome.tree.keys().filter(differs).collect();
    assert_eq!(paths, ["shop-w@2.service", "shop.target.wants/shop-w@2.service"]);
    // The history tells what runs.
    let history = &stand.histories()["shop"];
    let origin = |unit| history.origin(unit, Monotonic::now()).unwrap();
    assert_eq!((origin("shop-w@2.service").source.file.text.as_str(), origin("shop-w@2.service").pinned), (OLD, true));
    assert_eq!((origin("shop-w@1.service").source.file.text.as_str(), origin("shop-w@1.service").pinned), (NEW, false));
    assert_eq!(history.versions.len(), 3);

    // The template is there for what was pinned and runs.
    stand.running("shop-w@2.service");
    Pins::default().write(&stand.directories(), &shop()).unwrap();
    assert_eq!(stand.run().good().tree, new.tree);
    assert_eq!(stand.histories()["shop"].versions.len(), 4);
}

#[test]
fn two_pins_to_two_texts() {
    let stand = changed(OLD, &OLD.replace("sleep 1", "sleep 3"));
    stand.group("shop", NEW);
    stand.run().good();
    let versions = stand.histories()["shop"].versions.clone();
    let pin = |version: usize, units| Pin { source: versions[version].source.clone(), cpus: 1, units };
    // The first that holds a unit counts.
    let pins = Pins(vec![pin(0, only(&["shop-a.service"])), pin(1, only(&["shop-a.service", "shop-w@1.service"]))]);
    pins.write(&stand.directories(), &shop()).unwrap();
    let outcome = stand.run().good();
    assert_eq!(pinned(&outcome), ["shop-a.service", "shop-w@1.service"]);
    assert!(outcome.text("shop-a.service").contains("/bin/sleep 1"));
    assert!(outcome.text("shop-w@1.service").contains("/bin/sleep 3"));
}

#[test]
fn what_a_pinned_unit_leans_on_stays_with_it() {
    let old = "runtime-directory = \"shop\"\n[setup.make]\nexec = \"/bin/true\"\n\
               [process.a]\nexec = \"/bin/sleep 1\"\nlisten = \"tcp:127.0.0.1:1\"\n[process.b]\nexec = \"/bin/sleep 1\"\n";
    let stand = changed(old, "[process.a]\nexec = \"/bin/sleep 2\"\n[process.b]\nexec = \"/bin/sleep 2\"\n");
    let before = stand.run().good();
    pin(&stand, 0, only(&["shop-a.service"]));
    let outcome = stand.run().good();
    let more: Vec<_> = outcome.tree.keys().filter(|path| !before.tree.contains_key(*path)).collect();
    let holder = "copse-directories@shop.service.d/50-copse.conf";
    assert_eq!(more, [holder, "shop-a.socket", "shop-make.service"]);
    assert_eq!(pinned(&outcome), ["shop-a.service"]);
}

#[test]
fn a_pinned_unit_that_the_new_text_does_not_have_is_there_and_not_wanted() {
    let stand = changed(NEW, OLD);
    for unit in ["shop-more.service", "shop-w@9.service"] {
        stand.running(unit);
        pin(&stand, 0, only(&[unit]));
        let outcome = stand.run().good();
        assert_eq!(pinned(&outcome), [unit]);
        assert!(!outcome.text(unit).contains("X-CopseOrphaned") && !outcome.has(&format!("shop.target.wants/{unit}")));
    }
    // Without the pin it is what left its group while it runs.
    Pins::default().write(&stand.directories(), &shop()).unwrap();
    assert!(stand.run().good().text("shop-more.service").contains("X-CopseOrphaned=yes"));
}

#[test]
fn a_group_that_was_rolled_back_is_the_older_one_and_says_so() {
    let stand = Stand::new();
    stand.group("shop", OLD);
    let old = stand.run().good();
    for text in [NEW, "[process.a"] {
        stand.group("shop", text);
        stand.run();
        pin(&stand, 0, Units::All);
        let mut outcome = stand.run();
        assert_eq!(pinned(&outcome), ["shop.target"]);
        let target = outcome.tree.remove("shop.target").unwrap();
        let why = "rolled back: its units are those of an older group file, until the next `copse apply`";
        assert!(target.contains(&format!("\nDescription=Shop ({why})\n")), "{target}");
        let mut old = old.tree.clone();
        old.remove("shop.target");
        assert_eq!(outcome.tree, old);
        let history = &stand.histories()["shop"];
        assert_eq!(history.origin("shop-a.service", Monotonic::now()).unwrap().source.file.text, OLD);
        assert_eq!(history.last().unwrap().source.file.text, NEW, "what it goes on with without the pin");
    }
}

#[test]
fn a_file_that_breaks_while_units_are_pinned() {
    let stand = changed(OLD, NEW);
    pin(&stand, 0, only(&["shop-a.service"]));
    stand.run().good();
    stand.group("shop", "[process.a");
    let outcome = stand.run();
    assert!(outcome.text("shop-a.service").contains("/bin/sleep 1"));
    assert!(outcome.text("shop-w@.service").contains("/bin/sleep 2"));
    assert!(outcome.text("shop.target").contains("X-CopseStale=yes"));
    // And a file that vanishes: what still runs is kept as it was, pinned or not.
    stand.running("shop-a.service");
    stand.remove("/etc/copse/shop.toml");
    let outcome = stand.run().good();
    assert!(outcome.text("shop-a.service").contains("/bin/sleep 1"));
    assert!(outcome.text("shop-a.service").contains("X-CopseOrphaned=yes"));
}

#[test]
fn pins_that_are_not_to_be_believed_are_told_and_the_file_counts() {
    let stand = changed(OLD, NEW);
    let new = stand.run().good().tree;
    pin(&stand, 0, only(&["shop-a.service"]));
    let path = "/run/copse/pins/shop";
    let good = std::fs::read(stand.path(path)).unwrap();
    for (bytes, mode, why) in [
        (&good[1..], 0o600, "the file is damaged"),
        (&good, 0o644, "it is not a regular file that only its owner can read and write"),
    ] {
        stand.file(path, bytes);
        stand.mode(path, mode);
        let said = format!(
            "/run/copse/pins/shop: warning[last-good]: cannot read the pins, using the current group file: {why}"
        );
        assert_eq!(stand.run().said(0, &[&said]).tree, new);
    }
    // Another group's.
    stand.group("other", OLD);
    stand.run();
    stand.mode(path, 0o600);
    stand.file(path, &good);
    std::fs::rename(stand.path(path), stand.path("/run/copse/pins/other")).unwrap();
    stand.run().said(0, &["/run/copse/pins/other: warning[last-good]: cannot read the pins, using the current group file: they are for another"]);
}

#[test]
fn a_unit_that_can_not_be_what_it_was_is_told() {
    let stand = changed(OLD, NEW);
    pin(&stand, 0, only(&["shop-more.service"]));
    let cannot = "from the version it is pinned to, using the current group file";
    let said = format!("/etc/copse/shop.toml: warning[last-good]: cannot generate `shop-more.service` {cannot}");
    assert!(stand.run().said(0, &[&said]).text("shop-more.service").contains("/bin/sleep 2"));
    // Its name is another group's by now.
    stand.group("shop", &NEW.replace("process.a", "process.b"));
    stand.group("shop-a", "[process.shop-a]\nexec = \"/bin/sleep 9\"\n");
    for (units, what) in [(only(&["shop-a.service"]), "`shop-a.service`"), (Units::All, "the group")] {
        pin(&stand, 0, units);
        let said = format!("/etc/copse/shop.toml: warning[last-good]: cannot generate {what} {cannot}");
        let outcome = stand.run().said(0, &[&said]);
        assert!(outcome.text("shop-a.service").contains("/bin/sleep 9"));
        assert!(outcome.text("shop-b.service").contains("/bin/sleep 2"));
    }
}
