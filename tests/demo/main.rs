//! What copse does, in half a minute: boots a private systemd and runs Knot Resolver as a group in it (`make demo`).
//!
//! Everything happens in namespaces of its own, and is gone at the end. What is shown is looked at, too: the exit
//! status is 1 where it isn't as promised, 2 where this host can't boot a systemd.

// The booted tests use more of them.
#[allow(dead_code)]
#[path = "../machines/mod.rs"]
mod machines;

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use machines::machine::Machine;
use machines::scope::Scope as _;
use machines::version::Version;

const TARGET: &str = "knot-resolver.target";
const MANAGER: &str = "knot-resolver-manager.service";
const SIBLINGS: [&str; 3] =
    ["knot-resolver-kresd@1.service", "knot-resolver-kresd@2.service", "knot-resolver-cache-gc.service"];

fn main() -> ExitCode {
    println!("Booting a systemd of its own (Debian 13) …");
    let machine = match Machine::boot(Version::V257) {
        Ok(machine) => machine,
        Err(why) => {
            eprintln!("make demo: no systemd could be booted on this host: {why:?}");
            return ExitCode::from(2);
        }
    };
    match show(&machine) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("\nmake demo: this isn't as it should be: {why}");
            ExitCode::FAILURE
        }
    }
}

/// All that is to be seen, in order; an error says what isn't as promised.
fn show(machine: &Machine) -> Result<(), String> {
    heading("One file is the group");
    let text = install(machine);
    println!("# /etc/copse/knot-resolver.toml\n{text}");

    heading("copse-generator makes units of it, whenever systemd reads its unit files");
    command(machine, &["systemctl", "daemon-reload"])?;
    let files = command(machine, &["systemctl", "list-unit-files", "--no-pager", "knot-resolver*"])?;
    holds(files.contains("knot-resolver-kresd@.service"), "the units are there")?;

    heading("`start` returns when the whole group is ready");
    command(machine, &["systemctl", "start", TARGET])?;
    command(machine, &["kdig", "@127.0.0.1", "-p", "5300", "+noall", "+answer", "ns.copse.example"])?;

    heading("The target binds them, side by side");
    let status = command(machine, &["systemctl", "status", "--no-pager", "--lines=0", TARGET])?;
    holds(status.contains("Active: active"), "the target is active")?;
    command(machine, &["systemctl", "list-dependencies", "--no-pager", TARGET])?;

    heading("and their slice holds all of their processes");
    let slice = machine.property(MANAGER, "Slice");
    let tree = command(machine, &["systemctl", "status", "--no-pager", "--lines=0", &slice])?;
    holds(SIBLINGS.iter().all(|unit| tree.contains(unit)), "every process is in the slice")?;

    heading("One log of the group, each line with its own unit");
    let journal = ["journalctl", "--no-pager", "--quiet", "--lines=12", "COPSE_GROUP=knot-resolver"];
    machine.ok(&["journalctl", "--sync"]);
    let log = command(machine, &journal)?;
    holds(!log.trim().is_empty(), "the group has a log")?;

    heading("Restart the manager: its siblings don't notice");
    restart_the_manager(machine)?;

    heading("Stop the group");
    command(machine, &["systemctl", "stop", &slice])?;
    let states = machine.run(&[&["systemctl", "is-active", MANAGER], &SIBLINGS[..]].concat()).stdout;
    holds(states.lines().all(|state| state == "inactive"), "nothing of it runs any more")?;
    println!("\nThat was all of it; the private systemd goes now, and leaves nothing behind.");
    Ok(())
}

/// Puts the example where its README says, and gives the group file's text.
fn install(machine: &Machine) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let read = |name: &str| std::fs::read_to_string(examples.join(name)).expect("the example is there");
    machine.write("/opt/copse-examples/knot-resolver/kresd.lua", &read("knot-resolver/kresd.lua"));
    machine.write_program("/opt/copse-examples/knot-resolver/manager", &read("knot-resolver/manager"));
    let text = read("knot-resolver.toml");
    machine.write("/etc/copse/knot-resolver.toml", &text);
    text
}

/// The point of it all, with the numbers to prove it.
fn restart_the_manager(machine: &Machine) -> Result<(), String> {
    let units = [&[MANAGER], &SIBLINGS[..]].concat();
    let pids = || units.iter().map(|unit| machine.property(unit, "MainPID")).collect::<Vec<_>>();
    let before = pids();
    command(machine, &["systemctl", "restart", MANAGER])?;
    command(machine, &["kdig", "@127.0.0.1", "-p", "5300", "+short", "ns.copse.example"])?;
    let after = pids();
    println!("\n  {:34} {:>6}  {:>6}", "main process of", "before", "after");
    for ((unit, before), after) in units.iter().zip(&before).zip(&after) {
        let note = if before == after { "the same" } else { "new" };
        println!("  {unit:34} {before:>6}  {after:>6}  {note}");
    }
    holds(before.iter().chain(&after).all(|pid| pid != "0"), "every process runs")?;
    holds(before[0] != after[0], "the manager was restarted")?;
    holds(before[1..] == after[1..], "its siblings kept their processes")
}

/// Shows a command and what it prints; it has to succeed.
fn command(machine: &Machine, words: &[&str]) -> Result<String, String> {
    let quoted = |word: &&str| if word.contains(['\\', '*']) { format!("'{word}'") } else { (*word).to_owned() };
    println!("{}", emphasized(&format!("# {}", words.iter().map(quoted).collect::<Vec<_>>().join(" ")), "1"));
    let output = machine.run(words);
    print!("{}{}", output.stdout, output.stderr);
    match output.status {
        0 => Ok(output.stdout),
        status => Err(format!("`{}` ended with {status}", words.join(" "))),
    }
}

fn holds(seen: bool, promise: &str) -> Result<(), String> {
    seen.then_some(()).ok_or_else(|| format!("not so: {promise}"))
}

fn heading(text: &str) {
    println!("\n{}\n", emphasized(&format!("── {text}"), "1;32"));
}

/// In colour, on a terminal.
fn emphasized(text: &str, style: &str) -> String {
    match std::io::stdout().is_terminal() {
        true => format!("\x1b[{style}m{text}\x1b[m"),
        false => text.to_owned(),
    }
}
