//! Several runs at once, and runs that are killed.

use crate::stand::{OUTPUT, Stand};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

fn stand() -> Stand {
    let stand = Stand::new();
    for group in 0..20 {
        let processes = (0..10).map(|n| format!("[process.p{n}]\nexec = \"/bin/sleep {n}\"\n"));
        stand.group(&format!("g{group}"), &processes.collect::<String>());
    }
    stand
}

/// Each file is there whole, or isn't there; nothing else is, but for names that systemd ignores.
fn whole(found: &BTreeMap<String, String>, expected: &BTreeMap<String, String>) {
    for (path, text) in found {
        let name = path.rsplit('/').next().unwrap();
        if !name.starts_with('.') {
            assert_eq!(Some(text), expected.get(path), "{path}");
        }
    }
}

#[test]
fn fifty_runs_at_once_all_succeed() {
    let stand = stand();
    let expected = stand.run().good().tree;
    let memory = stand.timeless();
    stand.remove("/run/copse/history");
    stand.empty();
    let children: Vec<_> = (0..50).map(|_| stand.command().spawn().unwrap()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    assert_eq!(std::fs::read_to_string(stand.path("/dev/kmsg")).unwrap(), "");
    assert_eq!(stand.tree(OUTPUT), expected);
    assert_eq!(stand.timeless(), memory);
    assert_eq!(std::fs::read_dir(stand.path("/run/copse")).unwrap().count(), 1);
}

#[test]
fn two_runs_at_once_with_a_change_in_between_leave_whole_files() {
    let stand = stand();
    let old = stand.run().good().tree;
    for group in 0..20 {
        let processes = (0..10).map(|n| format!("[process.p{n}]\nexec = \"/bin/sleep 1{n}\"\n"));
        stand.group(&format!("g{group}"), &processes.collect::<String>());
    }
    let new = stand.run().good().tree;
    // Over the old files, which a manager that crashed could have left.
    for (path, text) in old.iter().filter(|(path, _)| !path.contains('/')) {
        stand.file(&format!("{OUTPUT}/{path}"), text);
    }
    let children: Vec<_> = (0..10).map(|_| stand.command().spawn().unwrap()).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(stand.tree(OUTPUT), new);
}

#[test]
fn a_killed_run_leaves_no_half_file() {
    let stand = stand();
    let expected = stand.run().good().tree;
    let memory = stand.timeless();
    let time = |_| {
        let started = Instant::now();
        stand.run().good();
        started.elapsed()
    };
    let mut whole_run = Duration::ZERO;
    let (killed, rounds) = (std::cell::Cell::new(0), 3000);
    // At times spread over the whole run, in no order; no more often than it takes.
    for round in (0..rounds).take_while(|_| killed.get() < 25) {
        // How long a run takes changes with what else the machine does.
        if round % 100 == 0 {
            whole_run = (0..3).map(time).min().unwrap();
        }
        stand.empty();
        // Half of the rounds have to remember something as well.
        let _ = if round % 2 == 0 { std::fs::remove_file(stand.path("/run/copse/history")) } else { Ok(()) };
        let mut child = stand.command().spawn().unwrap();
        std::thread::sleep(whole_run * (round * 37 % 100) / 100);
        let _ = child.kill();
        child.wait().unwrap();
        let found = stand.tree(OUTPUT);
        whole(&found, &expected);
        killed.set(killed.get() + usize::from(!found.is_empty() && found.len() < expected.len()));
        if stand.path("/run/copse/history").exists() {
            assert_eq!(stand.timeless(), memory);
        }
    }
    assert!(killed.get() > 5, "only {} of {rounds} kills hit a run that was writing", killed.get());
    // The next run makes everything good, over what is there; temporary names are gone.
    let outcome = stand.outcome(stand.command().spawn().unwrap()).good();
    assert_eq!(outcome.tree, expected);
}
