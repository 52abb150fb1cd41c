//! `--health`: pings while the probe holds.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::harness::{Manager, Running, notify, until, watchers};

/// A command with a health probe on a file, a watchdog of 200 ms.
fn healthy(manager: &Manager, file: &Path, options: &[&str]) -> Running {
    let mut command = notify(options);
    command
        .args(["--health", "--file", file.to_str().unwrap(), "--failures", "2", "--", "sleep", "1000"])
        .env("NOTIFY_SOCKET", &manager.socket)
        .env("WATCHDOG_USEC", "200000")
        .stderr(Stdio::null());
    Running::spawn(&mut command)
}

#[test]
fn pings_follow_readiness_stop_with_the_probe_and_resume() {
    let manager = Manager::new();
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("healthy");
    fs::write(&file, "").unwrap();
    let _running = healthy(&manager, &file, &[]);
    assert_eq!(manager.next().text, "READY=1");
    let mut last = manager.next();
    let mut median = || {
        let mut distances = Vec::new();
        for _ in 0..9 {
            let ping = manager.next();
            assert_eq!(ping.text, "WATCHDOG=1");
            distances.push(ping.at - last.at);
            last = ping;
        }
        distances.sort_unstable();
        distances[4]
    };
    // A third of 200 ms; the watchdog would bite after 200.
    until("the pings come every 67 ms", || (40..150).contains(&median().as_millis()));
    fs::remove_file(&file).unwrap();
    // One failure of two is tolerated, then it is quiet.
    until("the pings stop", || manager.silent_for(Duration::from_millis(200)));
    fs::write(&file, "").unwrap();
    assert_eq!(manager.next().text, "WATCHDOG=1");
}

#[test]
fn failures_are_tolerated_up_to_their_number() {
    let manager = Manager::new();
    let _running = healthy(&manager, Path::new("/nonexistent"), &[]);
    assert_eq!(manager.next().text, "READY=1");
    assert_eq!(manager.next().text, "WATCHDOG=1");
    assert!(manager.silent_for(Duration::from_millis(300)));
}

#[test]
fn the_pings_end_with_the_main_process() {
    let manager = Manager::new();
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("ends-with-main");
    fs::write(&file, "").unwrap();
    let mut running = healthy(&manager, &file, &["--main-ready"]);
    for _ in 0..3 {
        assert_eq!(manager.next().text, "WATCHDOG=1");
    }
    let mark = file.to_str().unwrap();
    assert_eq!(watchers(mark).len(), 1);
    running.0.kill().unwrap();
    until("the watcher is gone", || watchers(mark).is_empty());
    running.0.wait().unwrap();
    while !manager.silent_for(Duration::from_millis(300)) {}
}

#[test]
fn without_a_watchdog_nobody_stays() {
    let manager = Manager::new();
    let mark = "/nonexistent/no-watchdog";
    let mut command = notify(&["--health", "--file", mark, "--", "sleep", "1000"]);
    let _running = Running::spawn(command.env("NOTIFY_SOCKET", &manager.socket).stderr(Stdio::null()));
    assert_eq!(manager.next().text, "READY=1");
    until("the watcher is gone", || watchers(mark).is_empty());
    // One that is meant for another process.
    let mark = "/nonexistent/other-watchdog";
    let mut command = notify(&["--health", "--file", mark, "--", "sleep", "1000"]);
    command.env("NOTIFY_SOCKET", &manager.socket).env("WATCHDOG_USEC", "200000").env("WATCHDOG_PID", "1");
    let _running = Running::spawn(command.stderr(Stdio::null()));
    assert_eq!(manager.next().text, "READY=1");
    until("the watcher is gone", || watchers(mark).is_empty());
}

#[test]
fn a_watcher_costs_less_than_a_mebibyte_and_sleeps() {
    let manager = Manager::new();
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("costs");
    fs::write(&file, "").unwrap();
    let mut command = notify(&["--health", "--file", file.to_str().unwrap(), "--", "sleep", "1000"]);
    command.env("NOTIFY_SOCKET", &manager.socket).env("WATCHDOG_USEC", "3000000");
    let _running = Running::spawn(&mut command);
    assert_eq!(manager.next().text, "READY=1");
    assert_eq!(manager.next().text, "WATCHDOG=1");
    let watcher = watchers(file.to_str().unwrap())[0];
    let read = |name: &str| fs::read_to_string(format!("/proc/{watcher}/{name}")).unwrap();
    // What is its own; the program's text is the page cache's, and shared by
    // all watchers.
    let private: u64 = read("smaps_rollup")
        .lines()
        .filter(|line| line.starts_with("Anonymous:"))
        .map(|line| line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap())
        .sum();
    assert!(private <= 1024, "{private} KiB of private memory");
    let switches = || {
        let status = read("status");
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    // The next look is a second after the last.
    until("it sleeps between two looks", || {
        let before = switches();
        thread::sleep(Duration::from_millis(500));
        switches() == before
    });
}
