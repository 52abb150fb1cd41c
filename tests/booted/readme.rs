//! What the README shows a newcomer: typed as it stands there, and compared with what it prints there.

#[allow(dead_code)]
#[path = "../readme/mod.rs"]
mod first;

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::machines::user::User;
use crate::machines::version::Version;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(the_first_group_of_the_readme_works_as_it_is_pasted),
    situation!(the_first_group_of_the_readme_works_for_a_user),
    situation!(json_has_the_keys_that_the_manual_shows, [V257]),
];

/// Text without what differs from run to run: times, PIDs, and the width of columns.
fn comparable(text: &str) -> Vec<String> {
    let number = |word: &str| {
        let word = word.trim_end_matches([',', ';']);
        let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        unit.len() < word.len() && ["", "s", "ms", "min", "h"].contains(&unit)
    };
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        let words = line.split_whitespace().map(|word| if number(word) { "N" } else { word });
        let mut words: Vec<&str> = words.collect();
        words.dedup_by(|one, other| *one == "N" && other == &"N");
        // How long it took is only printed where it took a noticeable time.
        let line = words.join(" ");
        lines.push(line.strip_suffix(", N").unwrap_or(&line).to_owned());
    }
    lines
}

/// Types the commands of a section; gives each with what it printed.
fn type_all(scope: &impl Scope, heading: &str) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    for typed in first::commands(heading) {
        // What does not end by itself: it follows the log, or waits for an editor to be closed.
        let command = typed.command.replace("logs -f", "logs").replace("copse edit", "EDITOR=true copse edit");
        let clock = || scope.property("hello-clock.service", "MainPID");
        let before = clock();
        let output = scope.run(&["sh", "-c", &command]);
        // An empty drop-in is not installed, and one rollout is meant to fail.
        let expected = match &command {
            edit if edit.contains("edit") => output.stderr.contains("the text is empty"),
            _ if typed.output.iter().any(|line| line.starts_with('✗')) => output.status == 6,
            _ => output.status == 0,
        };
        assert!(expected, "{command}: {output:?}");
        if command.contains("restart hello-web@1") {
            assert_eq!(clock(), before, "the other processes keep running");
        }
        let printed = output.stdout + &output.stderr;
        // The columns of 247 and 252 are others: they account for other things.
        if !typed.output.is_empty() && scope.machine().version() == Version::V257 {
            assert_eq!(comparable(&printed), comparable(&typed.output.join("\n")), "{command} printed\n{printed}");
        }
        seen.push((command, printed));
    }
    seen
}

fn the_first_group_of_the_readme_works_as_it_is_pasted(m: &Machine) {
    let (path, text) = first::group_file();
    m.write(path, text);
    type_all(m, "");
    let seen = type_all(m, "A first group");
    let of = |verb: &str| &seen.iter().find(|(command, _)| command.contains(verb)).expect("it is there").1;
    assert!(of("status").contains("● hello   active"), "{seen:?}");
    let pages = || {
        for port in [8001, 8002] {
            let page = m.run(&["bash", "-c", &format!("cat </dev/tcp/127.0.0.1/{port}")]);
            assert!(page.status == 0 && !page.stdout.is_empty(), "{page:?}");
        }
    };
    pages();
    let serving = m.property("hello-web@2.service", "MainPID");
    type_all(m, "A change that fails");
    assert_eq!(m.property("hello-web@2.service", "MainPID"), serving, "the others are not touched");
    pages();
    m.sh(first::farewell());
    m.wait_until("all of it is gone", || m.state("hello-web@1.service") == "inactive");
}

fn the_first_group_of_the_readme_works_for_a_user(m: &Machine) {
    let user = m.user(2001);
    let (path, text) = first::group_file();
    let file = format!("{}/.config{}", user.home(), path.strip_prefix("/etc").expect("below /etc"));
    user.write(&file, text);
    let seen = type_all(&user, "Groups of a user");
    assert!(seen.iter().any(|(command, printed)| command.contains("status") && printed.contains("● hello   active")));
    assert!(enabled(&user));
    user.ok(&["copse", "--user", "stop", "hello"]);
    user.ok(&["copse", "--user", "disable", "hello"]);
    user.ok(&["rm", &file]);
    user.reload();
}

fn enabled(user: &User<'_>) -> bool {
    user.try_systemctl(&["is-enabled", "hello.target"]).stdout.trim() == "enabled"
}

/// The samples of the manual, each with the command that prints such an object.
fn json_has_the_keys_that_the_manual_shows(m: &Machine) {
    const MANUAL: &str = include_str!("../../man/copse.1");
    let chapter = MANUAL.split_once("\n.SH JSON\n").expect("it has that chapter").1;
    let chapter = chapter.split_once("\n.SH ").expect("it ends").0;
    let samples = chapter.split(".nf\n").skip(1).map(|rest| rest.split("\n.fi").next().unwrap().replace("\\-", "-"));
    let samples: Vec<serde_json::Value> = samples.map(|text| serde_json::from_str(&text).unwrap()).collect();
    let (path, text) = first::group_file();
    m.write(path, text);
    m.reload();
    m.systemctl(&["start", "hello.target"]);
    let change = |from: &str, to: &str| m.sh(&format!("sed -i 's/{from}/{to}/' {path}"));
    let print = |command: &str| {
        let output = m.run(&["sh", "-c", command]);
        let line = output.stdout.lines().next().unwrap_or_else(|| panic!("{command}: {output:?}")).to_owned();
        serde_json::from_str::<serde_json::Value>(&line).expect("an object")
    };
    let status = print("copse status hello --json");
    change("8001", "8101");
    let plan = print("copse plan hello --json");
    let apply = print("copse apply hello --json");
    let scale = print("copse scale hello/web 3 --json");
    m.sh("copse scale hello/web --reset");
    m.write(path, &format!("{text}x = 1\n"));
    let check = print("copse check hello --format=json");
    m.write(path, text);
    for (sample, printed, more) in [
        (&samples[0], &status, &[][..]),
        (&samples[1], &plan, &[]),
        (&samples[2], &apply, &["complete", "held", "reasons.directives"]),
        (&samples[3], &scale, &[]),
        (&samples[4], &check, &[]),
    ] {
        let mut keys = keys(printed, "");
        let shown = self::keys(sample, "");
        keys.retain(|key| !more.iter().any(|more| key.contains(more)));
        let missing: Vec<_> = shown.difference(&keys).collect();
        let unknown: Vec<_> = keys.difference(&shown).collect();
        assert!(
            missing.is_empty() && unknown.is_empty(),
            "not printed: {missing:?}, not shown: {unknown:?}: {printed}"
        );
    }
    m.sh(first::farewell());
}

/// The keys of an object and of what is in it, with those that they are in.
fn keys(value: &serde_json::Value, path: &str) -> std::collections::BTreeSet<String> {
    match value {
        serde_json::Value::Object(object) => object
            .iter()
            .flat_map(|(key, value)| {
                let path = format!("{path}.{key}");
                keys(value, &path).into_iter().chain([path])
            })
            .collect(),
        serde_json::Value::Array(elements) => elements.iter().flat_map(|element| keys(element, path)).collect(),
        _ => std::collections::BTreeSet::new(),
    }
}
