//! `systemd-analyze verify`, over a root of its own that holds the units, what they execute, and systemd's own targets.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use copse::basic::scope::Scope;
use copse::unit::directives::Systemd;
use copse::unit::{Entry, UnitTree};
use libtest_mimic::Failed;

use crate::{Case, Written};

/// What stands in the way of asking systemd. It makes its directories in /run, where only root can where systemd doesn't run,
/// as on a build daemon.
pub fn hindrance() -> Option<String> {
    if !Path::new("/run/systemd").is_dir() && !rustix::process::geteuid().is_root() {
        return Some("systemd doesn't run here, and this isn't root".to_owned());
    }
    version().err().map(|error| error.message().unwrap_or("no systemd-analyze").to_owned())
}

/// The version of the machine's `systemd-analyze`.
fn version() -> Result<Systemd, Failed> {
    let output = Command::new("systemd-analyze").arg("--version").output();
    let output = output.map_err(|error| format!("systemd-analyze: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number =
        text.split_whitespace().nth(1).map(|word| word.chars().take_while(char::is_ascii_digit).collect::<String>());
    let version = number.and_then(|number| number.parse().ok()).ok_or_else(|| format!("no version in {text:?}"))?;
    Ok(Systemd { version })
}

/// Asked about the units for the version that is there: another one's may hold what it doesn't know.
pub fn check(case: &Case) -> Result<(), Failed> {
    let mut tree = case.generate(version()?)?;
    let boot = want_at_boot(&mut tree, case.scope);
    let root = tempfile::tempdir()?;
    let (directory, shipped) = match case.scope {
        Scope::System => ("usr/lib/systemd/system", "units"),
        Scope::User => ("usr/lib/systemd/user", "units/user"),
    };
    let units = root.path().join(directory);
    copy(&Path::new("/").join(directory), &units, |name| name.ends_with(".target") || name.ends_with(".slice"))?;
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(shipped), &units, |_| true)?;
    let own = case.path.join("in").join(directory);
    if own.exists() {
        copy(&own, &units, |_| true)?;
    }
    let mut written = crate::texts(&tree);
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no"]);
    match case.scope {
        Scope::System => {
            let mut programs = vec!["/usr/bin/copse".to_owned(), "/bin/true".to_owned()];
            let files = written.values().filter_map(|written| match written {
                Written::File(text) => Some(text),
                Written::Link(_) => None,
            });
            programs.extend(files.flat_map(|text| text.lines()).filter_map(program).map(|(_, program)| program));
            programs.iter().try_for_each(|program| executable(root.path(), program))?;
            command.arg(format!("--root={}", root.path().display()));
        }
        // `--user` knows no root, so there is nothing to execute: every program becomes one that is there.
        Scope::User => {
            for written in written.values_mut() {
                if let Written::File(text) = written {
                    *text = executing_true(text);
                }
            }
            for entry in std::fs::read_dir(&units)? {
                let path = entry?.path();
                std::fs::write(&path, executing_true(&std::fs::read_to_string(&path)?))?;
            }
            command.arg("--user").env("SYSTEMD_UNIT_PATH", &units);
            command.env("XDG_RUNTIME_DIR", root.path()).env("HOME", root.path());
        }
    }
    crate::write(&written, &units)?;
    let output = command.arg(boot).args(names(&tree, case)).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    if output.status.success() && said.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n{said}", output.status).into())
}

/// Has every group started by the boot, and says what the boot starts: ordering cycles show only where all of it is
/// started at once, because services are ordered after basic.target and don't pull it in.
fn want_at_boot(tree: &mut UnitTree, scope: Scope) -> &'static str {
    let boot = if scope == Scope::User { "default.target" } else { "multi-user.target" };
    let targets: BTreeSet<String> = tree
        .entries
        .keys()
        .filter_map(|path| path.split('/').next())
        .filter_map(|first| first.strip_suffix(".d").unwrap_or(first).strip_suffix(".target"))
        .map(|group| format!("{group}.target"))
        .collect();
    for target in targets {
        tree.link(format!("{boot}.wants/{target}"), format!("../{target}"));
    }
    boot
}

/// What a line executes, as it stands there (with its quotes), and its path or name.
fn program(line: &str) -> Option<(&str, String)> {
    let command = line.strip_prefix("Exec")?.split_once('=')?.1.trim_start_matches([':', '-', '@', '+', '!']);
    let end = match command.strip_prefix('"') {
        Some(quoted) => quoted.find('"')? + 2,
        None => command.find(' ').unwrap_or(command.len()),
    };
    let written = &command[..end];
    let program = written.trim_matches('"').replace("%%", "%");
    (!program.is_empty()).then_some((written, program))
}

fn executing_true(text: &str) -> String {
    let line = |line: &str| match program(line) {
        Some((written, _)) => line.replacen(written, "/bin/true", 1),
        None => line.to_owned(),
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

/// The units to ask about: each file, a template by one of its instances.
fn names(tree: &UnitTree, case: &Case) -> Vec<String> {
    let mut names: Vec<_> = tree
        .entries
        .iter()
        .filter(|(path, entry)| matches!(entry, Entry::File(_)) && !path.contains('/'))
        .map(|(path, _)| path.replace("@.", "@1."))
        .collect();
    // A target that is only filled isn't a file of ours.
    let filled = tree.entries.keys().filter_map(|path| path.strip_suffix(".target.d/50-copse.conf"));
    names.extend(filled.map(|group| format!("{group}.target")));
    assert!(!names.is_empty(), "{}", case.name);
    names
}

fn executable(root: &Path, program: &str) -> std::io::Result<()> {
    let path = match program.strip_prefix('/') {
        Some(path) => root.join(path),
        None => root.join("usr/bin").join(program),
    };
    std::fs::create_dir_all(path.parent().unwrap_or(root))?;
    std::fs::write(&path, "#!/bin/sh\n")?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
}

fn copy(from: &Path, to: &Path, wanted: impl Fn(&str) -> bool) -> Result<(), Failed> {
    std::fs::create_dir_all(to)?;
    let entries = std::fs::read_dir(from).map_err(|error| format!("{}: {error}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Links are aliases (ctrl-alt-del.target); their targets are files here as well.
        if wanted(&name) && entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}
