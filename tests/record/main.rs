//! Records man/session.svg (`make record`): boots a private systemd, runs the commands of `session` in it below a
//! terminal, and draws what they print. Nothing is drawn by hand, so the picture can't promise what isn't there.

// The booted tests use more of them.
#[allow(dead_code)]
#[path = "../machines/mod.rs"]
mod machines;
mod picture;
mod terminal;

use std::path::Path;
use std::process::ExitCode;

use machines::machine::Machine;
use machines::scope::Scope as _;
use machines::version::Version;
use terminal::{Line, Style, Terminal};

const SESSION: &str = include_str!("session");
const TITLE: &str = "A group is started, its manager restarted and nobody else; a mistake is found, a change applied";
const COLUMNS: usize = 80;

/// Until a command is typed, and how long each line of its output is read before the next.
const TYPING: f64 = 0.8;
const READING: f64 = 0.22;

fn main() -> ExitCode {
    let machine = match Machine::boot(Version::V257) {
        Ok(machine) => machine,
        Err(why) => {
            eprintln!("make record: no systemd could be booted on this host: {why:?}");
            return ExitCode::from(2);
        }
    };
    install(&machine);
    let mut lines = Vec::new();
    let mut clock = 0.5;
    for command in SESSION.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let prompt = Style { faint: true, ..Style::default() };
        let typed = Style { bold: true, ..Style::default() };
        let cells = [('#', prompt), (' ', prompt)].into_iter().chain(command.chars().map(|c| (c, typed)));
        lines.push(Line { cells: cells.collect(), at: clock });
        let (output, took) = run(&machine, command);
        let begin = clock + TYPING;
        clock = begin + took + READING * (output.len() + 2) as f64;
        lines.extend(output.into_iter().map(|line| Line { at: begin + line.at, ..line }));
        lines.push(Line::default());
    }
    lines.pop();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("man/session.svg");
    let picture = picture::svg(TITLE, &lines, COLUMNS);
    println!("{} lines, {clock:.0} s, {} bytes in {}", lines.len(), picture.len(), path.display());
    std::fs::write(path, picture).expect("it can be written");
    ExitCode::SUCCESS
}

/// Puts the example where its README says.
fn install(machine: &Machine) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let read = |name: &str| std::fs::read_to_string(examples.join(name)).expect("the example is there");
    machine.write("/opt/copse-examples/knot-resolver/kresd.lua", &read("knot-resolver/kresd.lua"));
    machine.write_program("/opt/copse-examples/knot-resolver/manager", &read("knot-resolver/manager"));
    machine.write("/etc/copse/knot-resolver.toml", &read("knot-resolver.toml"));
    machine.systemctl(&["daemon-reload"]);
}

/// What a command leaves on a terminal of its own, each line with its moment, and how long it took.
fn run(machine: &Machine, command: &str) -> (Vec<Line>, f64) {
    let environment = "TERM=xterm-256color LANG=C.UTF-8 SYSTEMD_PAGER= SYSTEMD_URLIFY=0";
    let inner = format!("stty cols {COLUMNS} rows 60; {command}").replace('\'', "'\\''");
    machine.ok(&["journalctl", "--sync"]);
    let script = "script --quiet --flush --log-out /tmp/out --log-timing /tmp/timing --logging-format classic";
    // `check` is to end with a mistake.
    let output = machine.run(&["sh", "-c", &format!("{environment} {script} --command '{inner}' >/tmp/shown")]);
    assert_eq!(output.status, 0, "{command}: {output:?}");
    // The first line of the log is script's own, and so is the last.
    let log = machine.ok(&["sh", "-c", "sed 1d /tmp/out"]);
    let timing = machine.ok(&["cat", "/tmp/timing"]);
    let (mut terminal, mut at, mut from) = (Terminal::new(COLUMNS), 0.0, 0);
    for line in timing.lines() {
        let (delay, bytes) = line.split_once(' ').expect("a delay and a number of bytes");
        at += delay.parse::<f64>().expect("seconds");
        let to = (from + bytes.parse::<usize>().expect("a number")).min(log.len());
        // A chunk may end within a character; the next one has all of it.
        let to = (to..=log.len()).find(|to| log.is_char_boundary(*to)).unwrap_or(log.len());
        terminal.write(&log[from..to], at);
        from = to;
    }
    let mut lines = terminal.lines;
    while lines.last().is_some_and(|line| line.cells.is_empty()) {
        lines.pop();
    }
    (lines, at)
}
