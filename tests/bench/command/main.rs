//! What `copse plan` and `copse status` of a large group cost (`make bench-command`): 300 processes in one group, on booted
//! systemds. Counted is copse's own CPU time, user and system, as the kernel accounts it to its parent; systemd's and the
//! bus's isn't in it. Prints a table in markdown.

// The booted tests use more of them.
#[allow(dead_code)]
#[path = "../../machines/mod.rs"]
mod machines;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use machines::machine::{Machine, NoMachine};
use machines::scope::Scope as _;
use machines::version::Version;

const VERSIONS: [Version; 3] = [Version::V252, Version::V257, Version::V262];

/// 20 of one kind that have 15 instances each.
const KINDS: u32 = 20;
const INSTANCES: u32 = 15;

const LONG: Duration = Duration::from_secs(600);

/// Runs a command so often, and prints of each run the CPU time and the time in milliseconds.
const MEASURE: &str = r#"
import os, subprocess, sys, time
for _ in range(int(sys.argv[1])):
    began = time.monotonic()
    process = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{sys.argv[2:]} ended badly")
    print((usage.ru_utime + usage.ru_stime) * 1000, (time.monotonic() - began) * 1000)
"#;

fn file(value: u32) -> String {
    let mut text = format!("[defaults]\nenvironment = {{ VALUE = \"{value}\" }}\n");
    for kind in 0..KINDS {
        let _ = write!(
            text,
            "[process.worker-{kind}]\nexec = \"/bin/sleep infinity\"\ninstances = {INSTANCES}\nport = {}\n",
            10_000 + kind * 100
        );
    }
    text
}

/// Median and worst, of what each run took.
struct Spent {
    cpu: [f64; 2],
    wall: [f64; 2],
}

impl Spent {
    fn of(output: &str) -> Self {
        let runs: Vec<(f64, f64)> = output
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(cpu, wall)| Some((cpu.parse().ok()?, wall.parse().ok()?)))
            .collect();
        let both = |of: fn(&(f64, f64)) -> f64| {
            let mut all: Vec<f64> = runs.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            [all[all.len() / 2], all[all.len() - 1]]
        };
        Self { cpu: both(|run| run.0), wall: both(|run| run.1) }
    }

    fn cells(&self) -> String {
        let [cpu, worst] = self.cpu;
        format!("{cpu:.0} ms, {worst:.0} ms | {:.0} ms", self.wall[0])
    }
}

fn measure(m: &Machine, rounds: u32, words: &[&str]) -> Spent {
    let rounds = rounds.to_string();
    let output = m.run_within(LONG, &[&["python3", "-c", MEASURE, &rounds, "copse"], words].concat());
    assert_eq!(output.status, 0, "{output:?}");
    Spent::of(&output.stdout)
}

fn rows(version: Version, rounds: u32) -> Result<String, NoMachine> {
    let m = Machine::boot(version)?;
    let group = m.group("large", &file(1));
    let start = m.run_within(LONG, &["copse", "start", "large"]);
    assert_eq!(start.status, 0, "{start:?}");
    let mut text = String::new();
    let mut row = |what: &str, words: &[&str]| {
        let _ = writeln!(text, "| {version} | {what} | {} |", measure(&m, rounds, words).cells());
    };
    row("`copse plan`, nothing to do", &["plan", "large"]);
    row("`copse status`", &["status", "large"]);
    m.write(&group.file(), &file(2));
    row("`copse plan`, all of it changed", &["plan", "large"]);
    row("`copse status`, all of it outdated", &["status", "large"]);
    drop(group);
    Ok(text)
}

fn main() -> ExitCode {
    let rounds = std::env::args().nth(1).map_or(Ok(15), |rounds| rounds.parse());
    let Ok(rounds @ 1..) = rounds else {
        eprintln!("usage: bench-command [ROUNDS]");
        return ExitCode::from(2);
    };
    println!("| systemd | {} processes | CPU: median, worst of {rounds} | wall |", KINDS * INSTANCES);
    println!("|---|---|---|---|");
    for version in VERSIONS {
        match rows(version, rounds) {
            Ok(rows) => print!("{rows}"),
            Err(NoMachine::Unavailable(why) | NoMachine::BootFailed(why)) => {
                eprintln!("systemd {version} can't be booted: {why}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}
