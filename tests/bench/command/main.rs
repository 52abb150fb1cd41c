//! What the command costs at scale (`make bench-command`), on booted systemds: tables in markdown.
//!
//! - CPU time of `copse plan` and `copse status` of one group of 300 processes: copse's own, user and system.
//! - `copse plan` of 1,000 groups against `systemctl show` of the same 2,000 units, and `copse status` of a group of 2,000
//!   against `systemctl status` of them: the time, and the CPU time of the command and of PID 1.
//! - The start of 1,000 instances until all are active, and a daemon-reload with all of them running, against the same
//!   template and target written by hand.

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

/// 20 processes with 15 instances each.
const KINDS: u32 = 20;
const INSTANCES: u32 = 15;

/// Groups of two processes.
const GROUPS: u32 = 1_000;

/// Instances in one group, for `status`, and for the start.
const SHOWN: u32 = 2_000;
const STARTED: u32 = 1_000;

/// What is measured at scale takes seconds: fewer rounds do.
const ROUNDS_AT_SCALE: u32 = 5;

const LONG: Duration = Duration::from_secs(1_800);

/// Runs a shell script so often, and prints of each run the CPU time of the script, that of PID 1, and the time, in
/// milliseconds. A second script, if there is one, runs after each without being measured.
const MEASURE: &str = r#"
import os, subprocess, sys, time
rounds, script, after = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def manager():
    return int(open("/proc/1/schedstat").read().split()[0]) / 1e6
for _ in range(rounds):
    before, began = manager(), time.monotonic()
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"`{script}` failed")
    took = (time.monotonic() - began) * 1000
    print((usage.ru_utime + usage.ru_stime) * 1000, manager() - before, took)
    if after:
        subprocess.run(["sh", "-c", after], stdout=subprocess.DEVNULL, check=True)
"#;

/// Median and worst, of what each run took, in milliseconds.
struct Spent {
    /// Of the command.
    cpu: [f64; 2],
    /// Of PID 1.
    manager: [f64; 2],
    wall: [f64; 2],
}

impl Spent {
    fn of(output: &str) -> Self {
        let runs: Vec<Vec<f64>> =
            output.lines().map(|line| line.split(' ').filter_map(|number| number.parse().ok()).collect()).collect();
        let column = |index: usize| {
            let mut all: Vec<f64> = runs.iter().filter_map(|run| run.get(index).copied()).collect();
            all.sort_by(f64::total_cmp);
            [all[all.len() / 2], all[all.len() - 1]]
        };
        Self { cpu: column(0), manager: column(1), wall: column(2) }
    }
}

fn measure(m: &Machine, rounds: u32, script: &str, after: &str) -> Spent {
    let rounds = rounds.to_string();
    let output = m.run_within(LONG, &["python3", "-c", MEASURE, &rounds, script, after]);
    assert_eq!(output.status, 0, "{output:?}");
    Spent::of(&output.stdout)
}

fn shell(m: &Machine, script: &str) {
    let output = m.run_within(LONG, &["sh", "-c", script]);
    assert_eq!(output.status, 0, "{output:?}");
}

/// One group of 300 processes, all of which depend on `value`.
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

fn cost_of_a_group(version: Version, rounds: u32) -> Result<String, NoMachine> {
    let m = Machine::boot(version)?;
    let group = m.group("large", &file(1));
    shell(&m, "copse start large");
    let mut text = String::new();
    let mut row = |what: &str, args: &str| {
        let spent = measure(&m, rounds, &format!("exec copse {args}"), "");
        let ([cpu, worst], [wall, _]) = (spent.cpu, spent.wall);
        let _ = writeln!(text, "| {version} | {what} | {cpu:.0} ms, {worst:.0} ms | {wall:.0} ms |");
    };
    row("`copse plan`, nothing to do", "plan large");
    row("`copse status`", "status large");
    m.write(&group.file(), &file(2));
    row("`copse plan`, all of it changed", "plan large");
    row("`copse status`, all of it outdated", "status large");
    drop(group);
    Ok(text)
}

/// A row that compares ours with theirs.
fn compared(version: Version, what: &str, ours: &Spent, theirs: &Spent) -> String {
    let cpu = |spent: &Spent| spent.cpu[0] + spent.manager[0];
    let cell = |of: &dyn Fn(&Spent) -> f64| {
        let (ours, theirs) = (of(ours), of(theirs));
        format!("{ours:.0} ms, {theirs:.0} ms, **{:.2} ×**", ours / theirs)
    };
    format!("| {version} | {what} | {} | {} |\n", cell(&|spent: &Spent| spent.wall[0]), cell(&cpu))
}

/// A group of instances that only wait.
fn instances(m: &Machine, count: u32) -> String {
    let file = format!("[process.w]\nexec = \"/bin/sleep infinity\"\ninstances = {count}\n");
    m.write("/etc/copse/many.toml", &file);
    shell(m, "systemctl daemon-reload");
    format!("$(seq -f many-w@%.0f.service {count})")
}

fn looking(version: Version, rounds: u32) -> Result<String, NoMachine> {
    let m = Machine::boot(version)?;
    shell(
        &m,
        &format!(
            "mkdir -p /etc/copse; for i in $(seq {GROUPS}); do printf '[process.web]\\nexec = \"/bin/sleep infinity\"\\n\
             [process.db]\\nexec = \"/bin/sleep infinity\"\\n' >/etc/copse/m$i.toml; done; systemctl daemon-reload; \
             systemctl start $(seq -f m%.0f.target {GROUPS})"
        ),
    );
    let units = format!("$(for i in $(seq {GROUPS}); do echo m$i-web.service m$i-db.service; done)");
    let ours = measure(&m, rounds, "exec copse plan", "");
    let theirs = measure(&m, rounds, &format!("exec systemctl show {units}"), "");
    let mut text =
        compared(version, "`copse plan` of 1,000 groups, `systemctl show` of their 2,000 units", &ours, &theirs);
    shell(
        &m,
        "systemctl stop $(cd /etc/copse; ls | sed 's/toml$/target/'); rm /etc/copse/m*.toml; systemctl daemon-reload",
    );
    let units = instances(&m, SHOWN);
    shell(&m, "systemctl start many.target");
    let ours = measure(&m, rounds, "exec copse status many", "");
    let theirs = measure(&m, rounds, &format!("exec systemctl status --no-pager {units}"), "");
    let what = "`copse status` of a group of 2,000, `systemctl status` of them";
    text.push_str(&compared(version, what, &ours, &theirs));
    Ok(text)
}

fn starting(version: Version, rounds: u32) -> Result<String, NoMachine> {
    let m = Machine::boot(version)?;
    // The start of a target does not wait for the units that it wants.
    let until_active = |units: &str| {
        format!(
            "until [ $(systemctl list-units --no-legend --state=active '{units}' | wc -l) = {STARTED} ]; do sleep 0.05; done"
        )
    };
    let both = |target: &str, units: &str| {
        let start = format!("systemctl start {target} && {}", until_active(units));
        let stop = format!(
            "systemctl stop {target}; until [ $(systemctl list-units --no-legend --state=active,deactivating '{units}' | \
             wc -l) = 0 ]; do sleep 0.05; done"
        );
        let started = measure(&m, rounds, &start, &stop);
        shell(&m, &start);
        let reloaded = measure(&m, rounds, "exec systemctl daemon-reload", "");
        shell(&m, &stop);
        (started, reloaded)
    };
    instances(&m, STARTED);
    let (our_start, our_reload) = both("many.target", "many-w@*");
    m.remove("/etc/copse/many.toml");
    m.write("/etc/systemd/system/hand.target", "[Unit]\nDescription=By hand\n");
    m.write(
        "/etc/systemd/system/hand-w@.service",
        "[Unit]\nPartOf=hand.target\n[Service]\nExecStart=/bin/sleep infinity\nRestart=on-failure\nRestartSec=1s\n",
    );
    shell(
        &m,
        &format!(
            "mkdir /etc/systemd/system/hand.target.wants; cd /etc/systemd/system/hand.target.wants; \
             for i in $(seq {STARTED}); do ln -s ../hand-w@.service hand-w@$i.service; done; systemctl daemon-reload"
        ),
    );
    let (their_start, their_reload) = both("hand.target", "hand-w@*");
    let mut text = compared(version, "start of 1,000 instances until all are active", &our_start, &their_start);
    text.push_str(&compared(version, "daemon-reload with 1,000 instances running", &our_reload, &their_reload));
    Ok(text)
}

fn print(rows: impl Fn(Version) -> Result<String, NoMachine>) -> Result<(), ExitCode> {
    let only = std::env::args().nth(2);
    for version in VERSIONS.into_iter().filter(|version| only.as_ref().is_none_or(|only| *only == version.to_string()))
    {
        match rows(version) {
            Ok(rows) => print!("{rows}"),
            Err(NoMachine::Unavailable(why) | NoMachine::BootFailed(why)) => {
                eprintln!("cannot boot systemd {version}: {why}");
                return Err(ExitCode::from(2));
            }
        }
    }
    Ok(())
}

fn tables(rounds: u32) -> Result<(), ExitCode> {
    println!("| systemd | {} processes | CPU: median, worst of {rounds} | wall |", KINDS * INSTANCES);
    println!("|---|---|---|---|");
    print(|version| cost_of_a_group(version, rounds))?;
    let rounds = rounds.min(ROUNDS_AT_SCALE);
    let head = "| time: ours, theirs | CPU with PID 1: ours, theirs |\n|---|---|---|---|";
    println!("\n| systemd | looking, median of {rounds} {head}");
    print(|version| looking(version, rounds))?;
    println!("\n| systemd | changing, median of {rounds}; by hand: the same template and target {head}");
    print(|version| starting(version, rounds))
}

fn main() -> ExitCode {
    let rounds = std::env::args().nth(1).map_or(Ok(15), |rounds| rounds.parse());
    let Ok(rounds @ 1..) = rounds else {
        eprintln!("usage: bench-command [ROUNDS [VERSION]]");
        return ExitCode::from(2);
    };
    match tables(rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(status) => status,
    }
}
