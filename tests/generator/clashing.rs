//! Names: of groups among each other, and of what is installed.

use crate::stand::{OUTPUT, Stand, simple};

#[test]
fn two_groups_that_make_one_unit() {
    let stand = Stand::new();
    stand.group("a", "[process.b-c]\nexec = \"/bin/sleep 1\"\n[process.d]\nexec = \"/bin/sleep 1\"\n");
    stand.group("a-b", "[process.x]\nexec = \"/bin/sleep 2\"\n[process.c]\nexec = \"/bin/sleep 2\"\n");
    stand.group("z", &simple("z"));
    let outcome = stand.run().said(
        1,
        &["/etc/copse/a-b.toml:3:10: error[unit-name]: `a-b-c.service` is already a unit of group `a`; rename"],
    );
    assert!(outcome.text("a-b-c.service").contains("/bin/sleep 1"));
    assert!(!outcome.has("a-b-x.service") && outcome.text("a-b.target").contains("copse-invalid@a-b.service"));
    assert!(outcome.has("z.service"));
}

#[test]
fn the_last_good_units_of_a_group_take_no_name_of_another() {
    let stand = Stand::new();
    stand.group("a-b", "[process.c]\nexec = \"/bin/sleep 2\"\n");
    stand.run().good();
    stand.group("a", "[process.b-c]\nexec = \"/bin/sleep 1\"\n");
    let outcome = stand.run();
    assert_eq!(outcome.status, 1);
    assert!(outcome.text("a-b-c.service").contains("/bin/sleep 1"));
    assert!(outcome.text("a-b.target").contains("copse-invalid@a-b.service"));
}

#[test]
fn a_packages_unit_is_not_hidden() {
    for directory in ["/usr/lib/systemd/system", "/usr/local/lib/systemd/system", "/lib/systemd/system"] {
        let stand = Stand::new();
        stand.file(&format!("{directory}/web-a.service"), "[Service]\n");
        stand.group("web", "[process.a]\nexec = \"/bin/sleep 1\"\n[process.b]\nexec = \"/bin/sleep 1\"\n");
        stand.group("other", &simple("other"));
        let message = format!(
            "/etc/copse/web.toml:1:10: error[clash]: `web-a.service` would hide the installed unit \
             `{directory}/web-a.service`; rename the process"
        );
        let outcome = stand.run().said(1, &[&message]);
        assert!(outcome.has("other.service") && !outcome.has("web-b.service"));
        // The administrator's file hides both, so that nothing is hidden by ours.
        stand.link("/etc/systemd/system/web-a.service", "/dev/null");
        assert!(stand.run().good().has("web-a.service"));
    }
}

#[test]
fn a_packages_template_is_not_hidden_either() {
    let stand = Stand::new();
    stand.file("/usr/lib/systemd/system/getty@.service", "[Service]\n");
    stand.group("getty", "[process.getty]\nexec = \"/bin/sleep 1\"\ninstances = [\"tty1\"]\n");
    let outcome = stand.run();
    assert_eq!(outcome.status, 1);
    assert!(outcome.log[0].contains("error[clash]: `getty@.service` would hide"), "{:?}", outcome.log);
    assert!(!outcome.has("getty@.service"));
}

#[test]
fn the_name_of_a_foreign_target_is_left_alone_whatever_is_wrong() {
    let stand = Stand::new();
    stand.file("/usr/lib/systemd/system/multi-user.target", "[Unit]\nDescription=Multi-User System\n");
    for text in [simple("web").as_str(), "broken"] {
        stand.group("multi-user", text);
        let outcome = stand.run();
        assert_eq!(outcome.status, 1);
        assert_eq!(outcome.tree.len(), 0, "{:#?}", outcome.tree);
    }
}

#[test]
fn a_static_target_is_filled() {
    let units =
        ["/usr/lib/systemd/system", "/usr/local/lib/systemd/system", "/run/systemd/system", "/etc/systemd/system"];
    for directory in units {
        let stand = Stand::new();
        let text = "[Unit]\nX-CopseGroup=yes\n[Install]\nWantedBy=multi-user.target\n";
        stand.file(&format!("{directory}/web.target"), text);
        stand.group("web", &format!("wanted-by = [\"multi-user.target\"]\n{}", simple("web")));
        let outcome = stand.run().good();
        assert!(!outcome.has("web.target") && outcome.has("web.target.d/50-copse.conf"), "{:#?}", outcome.tree);
        assert!(outcome.has("web.target.wants/web.service"));
        assert!(!outcome.has("multi-user.target.wants/web.target"));
        // It is filled with the error, too.
        stand.group("web", "x");
        stand.remove("/run/copse/history");
        let outcome = stand.run();
        assert!(!outcome.has("web.target"));
        assert!(outcome.text("web.target.d/50-copse.conf").contains("copse-invalid@web.service"));
    }
}

#[test]
fn an_administrators_target_that_is_not_ours_wins() {
    let stand = Stand::new();
    stand.file("/etc/systemd/system/web.target", "[Unit]\nDescription=mine\n");
    stand.group("web", &simple("web"));
    assert!(stand.run().good().has("web.target"));
}

#[test]
fn another_generators_file_is_left_as_it_is() {
    let stand = Stand::new();
    stand.group("web", "[process.a]\nexec = \"/bin/sleep 1\"\n[process.b]\nexec = \"/bin/sleep 1\"\n");
    stand.empty();
    stand.file(&format!("{OUTPUT}/web-a.service"), "[Service]\n");
    let outcome = stand.outcome(stand.command().spawn().unwrap()).said(
        1,
        &["/etc/copse/web.toml:1:1: error[clash]: `web-a.service` of another generator already exists, not overwriting"],
    );
    assert_eq!(outcome.text("web-a.service"), "[Service]\n");
    assert!(outcome.has("web-b.service"));
}
