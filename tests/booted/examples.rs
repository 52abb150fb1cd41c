//! The examples, as they are in `examples/`: each is put on the machine as its README says, and really works.

use crate::machines::group::Group;
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::machines::version::Version;
use crate::situation::{Situation, situation};
use std::fs;
use std::path::{Path, PathBuf};

mod knot_resolver;
mod search;
mod shop;

use knot_resolver::*;
use search::*;
use shop::*;

pub const SITUATIONS: &[Situation] = &[
    // 247's verify takes a program's bare name, which it runs all right, for a path.
    situation!(systemd_analyze_has_nothing_to_say_about_the_examples, WITH_KRESD),
    // 247 has no threshold.
    situation!(every_process_of_the_examples_is_fenced_in_well, WITH_KRESD),
    situation!(the_resolver_answers_kdig, WITH_KRESD),
    situation!(no_query_is_lost_while_the_manager_is_restarted_and_killed, WITH_KRESD),
    situation!(no_query_is_lost_while_the_workers_are_restarted_one_by_one, WITH_KRESD),
    situation!(queries_go_on_through_the_other_worker_when_one_is_killed, WITH_KRESD),
    situation!(the_migration_runs_after_redis_and_before_the_shop_opens),
    situation!(orders_are_carried_out_by_workers_that_end_by_themselves),
    situation!(the_migration_runs_again_only_after_a_deploy),
    situation!(the_keystore_is_there_before_three_slow_nodes_are_ready),
    situation!(each_node_has_its_own_settings),
    situation!(making_the_keystore_again_restarts_no_node),
];

/// Debian 11 has no package that the group file fits.
const WITH_KRESD: &[Version] = &[Version::V252, Version::V257, Version::V262];

/// Where the group files expect their folders.
const INSTALLED: &str = "/opt/copse-examples";

/// All that an example's README entry says: its folder, its user, its group file. It isn't started yet, and has no
/// state of an earlier test.
fn install<'m>(m: &'m Machine, name: &str) -> Group<'m> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    // With its data, the stamps of its setup steps: they tell that a step is done with.
    for left in [format!("{INSTALLED}/{name}"), format!("/var/lib/{name}"), format!("/var/lib/copse/setup/{name}")] {
        m.remove(&left);
    }
    for path in files_below(&examples.join(name)) {
        let text = fs::read_to_string(&path).expect("an example is text");
        let relative = path.strip_prefix(&examples).expect("it is below");
        let place = format!("{INSTALLED}/{}", relative.to_str().expect("a plain name"));
        match text.starts_with("#!") {
            true => m.write_program(&place, &text),
            false => m.write(&place, &text),
        }
    }
    let group_file = fs::read_to_string(examples.join(format!("{name}.toml"))).expect("the example is there");
    if name != "knot-resolver" {
        m.sh(&format!("id {name} >/dev/null 2>&1 || useradd --system --user-group {name}"));
    }
    m.group(name, &group_file)
}

pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the example's folder is there");
    let paths = entries.map(|entry| entry.expect("a directory that can be read").path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// A drop-in for what a test needs otherwise than a reader of the example does.
fn drop_in(m: &Machine, group: &Group<'_>, text: &str) {
    m.write(&format!("{}.d/50-test.toml", group.file()), text);
    m.reload();
}

/// A page of a server on the loopback interface; panics where it isn't served with a status below 400.
fn fetch(m: &Machine, port: u16, path: &str) -> String {
    let program = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())";
    m.ok(&["python3", "-c", program, &format!("http://127.0.0.1:{port}{path}")]).trim().to_owned()
}

fn systemd_analyze_has_nothing_to_say_about_the_examples(m: &Machine) {
    for name in ["knot-resolver", "shop", "search"] {
        let group = install(m, name);
        let units = m.sh(&format!(
            "cd /run/systemd/generator && ls -d {name}.target {name}-*.service {name}-*.socket {name}-*.timer 2>/dev/null || true"
        ));
        let units: Vec<String> = units.lines().map(|unit| format!("/run/systemd/generator/{unit}")).collect();
        assert!(units.len() >= 3, "{units:?}");
        let units: Vec<&str> = units.iter().map(String::as_str).collect();
        // --man=no: the machines have no man(1) to look pages up with.
        let output = m.run(&[&["systemd-analyze", "verify", "--man=no"], &units[..]].concat());
        assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{name}: {units:?}");
        drop(group);
    }
}

/// The examples have `hardening = "strict"`; that they work with it, the other situations show.
fn every_process_of_the_examples_is_fenced_in_well(m: &Machine) {
    for name in ["knot-resolver", "shop", "search"] {
        let group = install(m, name);
        start(m, &group);
        let units = m.sh(&format!("systemctl list-units --plain --no-legend --full '{name}-*.service'"));
        let units: Vec<&str> = units.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert!(units.len() >= 4, "{units:?}");
        for unit in units {
            // In tenths: the exposure is 0.0 to 10.0.
            let output = m.run(&["systemd-analyze", "security", "--no-pager", "--threshold=24", unit]);
            let verdict = output.stdout.lines().last().unwrap_or_default();
            assert_eq!(output.status, 0, "{verdict}\n{}", output.stdout);
        }
    }
}

/// Starts the group, which has to leave nothing failed.
fn start(m: &Machine, group: &Group<'_>) {
    group.start();
    assert_eq!(failed(m, group), "", "{}", group.account());
}

/// The failed units of the group.
fn failed(m: &Machine, group: &Group<'_>) -> String {
    let name = group.target().trim_end_matches(".target").to_owned();
    m.sh(&format!("systemctl list-units --failed --plain --no-legend '{name}.*' '{name}-*' 'copse-*@{name}.*'"))
}

/// A point of time in a unit's life, in microseconds of the monotonic clock.
fn moment(m: &Machine, unit: &str, property: &str) -> u64 {
    let text = m.property(unit, property);
    text.parse().ok().filter(|&time| time > 0).unwrap_or_else(|| panic!("{unit} has {property}={text}"))
}
