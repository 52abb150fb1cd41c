//! From what each group was generated, run by run.

use copse::basic::clock::Monotonic;
use copse::state::history::History;

use crate::stand::{Stand, simple};

fn text(seconds: u32) -> String {
    format!("[process.a]\nexec = \"/bin/sleep {seconds}\"\n")
}

fn of(stand: &Stand, group: &str) -> History {
    stand.histories().remove(group).unwrap()
}

fn texts(history: &History) -> Vec<&str> {
    history.versions.iter().map(|version| version.source.file.text.as_str()).collect()
}

/// The paths of what others say, of the last version.
fn overrides(stand: &Stand, group: &str) -> [Vec<String>; 2] {
    let history = of(stand, group);
    let overrides = &history.last().unwrap().overrides;
    [&overrides.above, &overrides.below].map(|files| files.iter().map(|file| file.path.display().to_string()).collect())
}

#[test]
fn each_change_is_noted_with_its_time_and_nothing_else() {
    let stand = Stand::new();
    let mut times = vec![Monotonic::now()];
    for (seconds, versions) in [(1, 1), (1, 1), (2, 2), (2, 2), (1, 3)] {
        stand.group("web", &text(seconds));
        stand.group("other", &simple("other"));
        stand.run().good();
        times.push(Monotonic::now());
        assert_eq!(of(&stand, "web").versions.len(), versions);
    }
    let history = of(&stand, "web");
    assert_eq!(texts(&history), [text(1), text(2), text(1)]);
    // What was started before the first run is from nobody knows what; what was started after a run, from its version.
    assert_eq!(history.in_force(times[0]), None);
    for (run, version) in [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)] {
        assert_eq!(history.in_force(times[run]), Some(&history.versions[version]), "after run {run}");
    }
    // A process of the first version is current: it is the same text again.
    assert_eq!(history.versions[0].source, history.last().unwrap().source);
    assert_eq!(of(&stand, "other").versions.len(), 1);
    // A text that came back is kept once.
    let kept = std::fs::read_to_string(stand.path("/run/copse/history")).unwrap();
    assert_eq!(kept.matches(&text(1)).count(), 1);
}

#[test]
fn a_drop_in_is_a_change_and_so_is_a_static_target() {
    let stand = Stand::new();
    stand.group("web", &text(1));
    stand.run().good();
    stand.file("/run/copse/web.toml.d/9.toml", "[process.a]\nnice = 1\n");
    stand.run().good();
    stand.file("/usr/lib/systemd/system/web.target", "[Unit]\nX-CopseGroup=yes\n");
    stand.run().good();
    let versions = of(&stand, "web").versions;
    let seen: Vec<_> = versions.iter().map(|version| (version.source.drop_ins.len(), version.static_target)).collect();
    assert_eq!(seen, [(0, false), (1, false), (1, true)]);
}

#[test]
fn a_broken_file_is_not_what_the_units_are_made_of() {
    let stand = Stand::new();
    stand.group("web", &text(1));
    stand.run().good();
    stand.group("web", "[process.a");
    assert_eq!(stand.run().status, 1);
    assert_eq!(texts(&of(&stand, "web")), [text(1)]);
    // An override that comes meanwhile changes the units all the same.
    stand.file("/etc/systemd/system/web-a.service.d/x.conf", "[Service]\nNice=1\n");
    stand.run();
    assert_eq!(texts(&of(&stand, "web")), [text(1), text(1)]);
    assert_eq!(overrides(&stand, "web"), [vec!["/etc/systemd/system/web-a.service.d/x.conf".to_owned()], vec![]]);
    stand.group("web", &text(2));
    stand.run().good();
    assert_eq!(texts(&of(&stand, "web")), [text(1), text(1), text(2)]);
}

#[test]
fn a_group_that_was_never_good_has_no_history() {
    let stand = Stand::new();
    stand.group("web", "[process.a");
    stand.run();
    assert!(stand.histories().is_empty());
}

#[test]
fn the_history_outlives_a_name_that_another_group_takes() {
    let stand = Stand::new();
    stand.group("a-b", "[process.c]\nexec = \"/bin/sleep 2\"\n");
    stand.run().good();
    stand.group("a", "[process.b-c]\nexec = \"/bin/sleep 1\"\n");
    assert_eq!(stand.run().status, 1);
    assert_eq!(of(&stand, "a-b").versions.len(), 1);
    stand.remove("/etc/copse/a.toml");
    stand.run().good();
    assert_eq!(of(&stand, "a-b").versions.len(), 1);
}

#[test]
fn a_group_that_comes_back_while_its_process_runs_still_knows_it() {
    let stand = Stand::new();
    stand.group("web", &text(1));
    stand.run().good();
    stand.running("web-a.service");
    stand.remove("/etc/copse/web.toml");
    for _ in 0..2 {
        assert!(stand.run().has("web-a.service"));
        assert_eq!(texts(&of(&stand, "web")), [text(1)]);
    }
    stand.group("web", &text(2));
    stand.run().good();
    assert_eq!(texts(&of(&stand, "web")), [text(1), text(2)]);
    // With nothing left that runs, nothing has to be known.
    stand.remove("/run/systemd/units/invocation:web-a.service");
    stand.remove("/etc/copse/web.toml");
    stand.run().good();
    assert!(stand.histories().is_empty());
}

const OVERRIDDEN: &str = "[process.a]\nexec = \"/bin/sleep 1\"\n[process.w]\nexec = \"/bin/sleep 1\"\ninstances = 2\n\
                          [process.s]\nexec = \"/bin/sleep 1\"\nlisten = \"tcp:127.0.0.1:1\"\n";

#[test]
fn what_administrators_and_packages_say_is_noted_wherever_systemd_looks() {
    let stand = Stand::new();
    stand.group("my-web", OVERRIDDEN);
    // Each of these reaches a unit of the group.
    let above = [
        "/etc/systemd/system/my-.service.d/1.conf",
        "/etc/systemd/system/my-web-.service.d/1.conf",
        "/etc/systemd/system/my-web-a.service.d/1.conf",
        "/etc/systemd/system/my-web-a.service.d/2.conf",
        "/etc/systemd/system/my-web-s.socket",
        "/etc/systemd/system/my-web-w@.service.d/1.conf",
        "/etc/systemd/system/my-web-w@2.service.d/1.conf",
        "/etc/systemd/system/service.d/1.conf",
        "/run/systemd/system/my-@1.service.d/1.conf",
        "/run/systemd/system/my-web-w@7.service.d/1.conf",
        "/run/systemd/system/system-copse-.slice.d/1.conf",
        "/run/systemd/system/system-copse-my\\x2dweb.slice",
    ];
    let below = ["/usr/lib/systemd/system/socket.d/1.conf", "/usr/lib/systemd/system/target.d/1.conf"];
    for path in above.iter().chain(&below) {
        stand.file(path, format!("# {path}\n"));
    }
    // These don't.
    for path in [
        "/etc/systemd/system/my.service.d/1.conf",
        "/etc/systemd/system/my-we.service.d/1.conf",
        "/etc/systemd/system/my-web-.timer.d/1.conf",
        "/etc/systemd/system/my-web-a.service.d/.3.conf",
        "/etc/systemd/system/my-web-a.service.d/README",
        "/etc/systemd/system/my-web-a.service.wants/x.service",
        "/etc/systemd/system/my-web-aa.service",
        "/etc/systemd/system/timer.d/1.conf",
        "/etc/systemd/system/multi-user.target.d/1.conf",
        "/usr/lib/systemd/system/other.service",
    ] {
        stand.file(path, "");
    }
    stand.link("/etc/systemd/system/my-web-a.service", "/dev/null");
    stand.run();
    let mut expected = above.map(str::to_owned).to_vec();
    // Directory by directory; in each the unit files first.
    expected.insert(0, "/etc/systemd/system/my-web-a.service".to_owned());
    expected.retain(|path| path != "/etc/systemd/system/my-web-s.socket");
    expected.insert(1, "/etc/systemd/system/my-web-s.socket".to_owned());
    expected.retain(|path| !path.ends_with("web.slice"));
    expected.insert(expected.len() - 3, "/run/systemd/system/system-copse-my\\x2dweb.slice".to_owned());
    assert_eq!(overrides(&stand, "my-web"), [expected, below.map(str::to_owned).to_vec()]);
    let history = of(&stand, "my-web");
    let masked = &history.last().unwrap().overrides.above[0];
    assert_eq!(masked.text, "");
}

#[test]
fn a_static_target_of_a_package_is_part_of_what_the_group_is() {
    let stand = Stand::new();
    stand.group("web", &text(1));
    let path = "/usr/lib/systemd/system/web.target";
    for (count, rest) in ["", "Before=x.service\n"].into_iter().enumerate() {
        stand.file(path, format!("[Unit]\nX-CopseGroup=yes\n{rest}"));
        stand.run().good();
        assert_eq!(overrides(&stand, "web"), [vec![], vec![path.to_owned()]]);
        assert_eq!(of(&stand, "web").versions.len(), count + 1);
    }
}

#[test]
fn an_override_is_a_change_of_the_groups_that_it_reaches() {
    let stand = Stand::new();
    stand.group("web", &text(1));
    stand.group("other", &simple("other"));
    stand.run().good();
    let versions = || ["web", "other"].map(|group| of(&stand, group).versions.len());
    stand.file("/etc/systemd/system/web-a.service.d/x.conf", "[Service]\nNice=1\n");
    stand.run().good();
    assert_eq!(versions(), [2, 1]);
    stand.file("/etc/systemd/system/service.d/x.conf", "[Service]\nNice=2\n");
    stand.run().good();
    assert_eq!(versions(), [3, 2]);
    stand.file("/etc/systemd/system/other.service.d/x.conf", "[Service]\nNice=3\n");
    stand.remove("/etc/systemd/system/web-a.service.d/x.conf");
    stand.run().good();
    assert_eq!(versions(), [4, 3]);
}
