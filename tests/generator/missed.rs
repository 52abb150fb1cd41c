//! A broken group without last good units, as after a reboot: what starts it, so that its failure is seen.

use crate::stand::{Outcome, Stand, simple};

/// The links of a run, in the form `WANTING → WANTED`.
fn links(outcome: &Outcome) -> Vec<String> {
    let links = outcome.tree.iter().filter(|(path, _)| path.contains(".wants/") && !path.starts_with("good"));
    links.map(|(path, _)| path.replace(".wants/", " → ")).collect()
}

const REPORTED: &[&str] = &["multi-user.target → copse-invalid@shop.service"];

const PROCESS: &str = "[process.a]\nexek = \"/bin/true\"\n";

#[test]
fn what_would_have_started_it_starts_its_failure() {
    for (text, expected) in [
        ("wanted-by = [\"multi-user.target\"]\n", &["multi-user.target → shop.target"][..]),
        ("wanted-by = [\"a.target\", \"b.target\"]\n", &["a.target → shop.target", "b.target → shop.target"]),
        // Nothing would have started it.
        ("", &[]),
        ("wanted-by = []\n", &[]),
        // What would have isn't known.
        ("wanted-by = [multi-user.target]\n", REPORTED),
        ("wanted-by = \"multi-user\"\n", REPORTED),
        ("wanted-by = 5\n", REPORTED),
        ("wanted-by = \"shop-a.service\"\n", REPORTED),
        ("wanted_by = \"multi-user.target\"\n", REPORTED),
        ("WantedBy = \"multi-user.target\"\n", REPORTED),
        ("[install]\nwanted = true\n", REPORTED),
        ("[process.b]\nexec = \"/bin/true\"\nwanted-by = [\"multi-user.target\"]\n", REPORTED),
    ] {
        let stand = Stand::new();
        stand.group("good", &simple("good"));
        stand.group("shop", &format!("{text}{PROCESS}"));
        let outcome = stand.run();
        assert_eq!(outcome.status, 1);
        assert_eq!(links(&outcome), expected, "{text}");
        assert!(outcome.text("shop.target").contains("Requires=copse-invalid@shop.service\n"));
        assert_eq!(stand.run().tree, outcome.tree);
    }
}

#[test]
fn the_files_of_a_group_count_together() {
    let stand = Stand::new();
    stand.group("shop", PROCESS);
    stand.file("/etc/copse/shop.toml.d/50.toml", "wanted-by = [\"a.target\"]\n");
    assert_eq!(links(&stand.run()), ["a.target → shop.target"]);
    stand.file("/etc/copse/shop.toml.d/60.toml", "wanted-by = \n");
    assert_eq!(links(&stand.run()), REPORTED);
}

#[test]
fn a_file_that_can_not_be_believed_is_not_asked_who_starts_it() {
    let stand = Stand::new();
    stand.group("shop", &format!("wanted-by = \"a.target\"\n{}", simple("a")));
    stand.mode("/etc/copse/shop.toml", 0o666);
    assert_eq!(links(&stand.run()), REPORTED);
}

#[test]
fn in_user_scope_it_is_default_target() {
    let stand = Stand::new();
    stand.file("/etc/copse/user/shop.toml", "broken");
    stand.file("/etc/copse/user/late.toml", format!("wanted-by = \"multi-user.target\"\n{PROCESS}"));
    let outcome = stand.run_with(|command| {
        command.env("SYSTEMD_SCOPE", "user");
    });
    assert_eq!(links(&outcome), ["default.target → copse-invalid@shop.service"]);
}

#[test]
fn who_enables_and_masks_a_target_decides() {
    let stand = Stand::new();
    stand.group("shop", "broken");
    stand.file("/etc/systemd/system/shop.target", "[Unit]\nX-CopseGroup=yes\n");
    assert_eq!(links(&stand.run()), [""; 0]);
    stand.remove("/etc/systemd/system/shop.target");
    stand.link("/etc/systemd/system/shop.target", "/dev/null");
    assert_eq!(links(&stand.run()), [""; 0]);
}

#[test]
fn a_group_with_last_good_units_is_started_by_what_those_say() {
    let stand = Stand::new();
    stand.group("shop", &format!("wanted-by = \"a.target\"\n{}", simple("a")));
    stand.run().good();
    stand.group("shop", "broken");
    let outcome = stand.run();
    assert!(outcome.has("shop-a.service") && !outcome.tree.keys().any(|path| path.contains("copse-invalid@")));
    assert!(outcome.has("a.target.wants/shop.target"), "{:#?}", outcome.tree);
}
