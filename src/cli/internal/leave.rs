//! `copse internal leave`: what the removal of the package needs. Without the generator, its units would be gone at the
//! next daemon-reload, and with them how to stop what runs. So groups of which something runs keep the units that they
//! have, in systemd's directory of units that are there until the next boot. `--back`, after the next installation, takes
//! them away again: they would hide what is generated then.
//!
//! Of a machine all service managers are cared for, each user's by a process of that user.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli::{Exit, complain};
use crate::running::Running;
use crate::scope::{Directories, Scope};
use crate::tree::{self, Writer};
use crate::unit::name::template_of;
use crate::unit::{Entry, UnitTree};

pub(super) fn run(scope: Scope, back: bool) -> Exit {
    let directories = Directories::from_environment(scope, None);
    let own = match back {
        false => leave(&directories),
        true => take_back(&directories),
    };
    let own = own.map_err(|why| complain(format_args!("{why}")));
    let others = scope == Scope::User || users(&directories).into_iter().all(|user| of_user(&user, back));
    if own.is_ok() && others { Exit::Done } else { Exit::Failed }
}

/// Copies the units of groups that run from the generator's directory to where they stay.
fn leave(directories: &Directories) -> Result<(), String> {
    let (Some(from), Some(to)) = (&directories.generator, directories.until_reboot()) else { return Ok(()) };
    let generated = read(&directories.rooted(from))?;
    let running = of_running(&generated, &Running::read(directories));
    if running.entries.is_empty() {
        return Ok(());
    }
    let to = directories.rooted(&to);
    let failed = |error: std::io::Error| format!("{}: {error}", to.display());
    match Writer::open(&to).map_err(failed)?.write(&running).first() {
        None => Ok(()),
        Some(first) => Err(format!("{}/{} couldn't be written", to.display(), first.path)),
    }
}

/// Removes them. A user's manager reads its units anew then; the package does that for the system's.
fn take_back(directories: &Directories) -> Result<(), String> {
    let Some(directory) = directories.until_reboot().map(|path| directories.rooted(&path)) else { return Ok(()) };
    let there = read(&directory)?;
    let left: Vec<&str> = owners(&there).into_keys().collect();
    if left.is_empty() {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let failures = Writer::open(&directory).map_err(failed)?.remove(left);
    if let Some(first) = failures.first() {
        return Err(format!("{}/{} couldn't be removed", directory.display(), first.path));
    }
    if directories.scope == Scope::User {
        let _ = Command::new("systemctl").args(["--user", "daemon-reload"]).status();
    }
    Ok(())
}

fn read(directory: &Path) -> Result<UnitTree, String> {
    tree::read(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

/// What belongs to groups of which a unit runs.
fn of_running(generated: &UnitTree, running: &Running) -> UnitTree {
    let owners = owners(generated);
    let runs = |path: &str| {
        let unit = path.split_once('/').map_or(path, |(directory, _)| directory.trim_end_matches(".d"));
        running.has(unit)
    };
    let files: BTreeSet<&str> = owners.iter().filter(|(path, _)| runs(path)).map(|(_, file)| *file).collect();
    let of_them = |path: &str| owners.get(path).is_some_and(|file| files.contains(file));
    let entries = generated.entries.iter().filter(|(path, _)| of_them(path));
    UnitTree { entries: entries.map(|(path, entry)| (path.clone(), entry.clone())).collect() }
}

/// The group file that each entry was generated from; of a link, that of the unit that it leads to, or else of the unit
/// that wants it. What `copse compile` wrote names no path, and isn't here.
fn owners(tree: &UnitTree) -> BTreeMap<&str, &str> {
    let of_file = |path: &str| match tree.entries.get(path)? {
        Entry::File(text) => group_file(text),
        Entry::Link(_) => None,
    };
    let of_link = |path: &str, target: &Path| {
        let unit = target.file_name()?.to_str()?;
        let wanting = || of_file(path.rsplit_once('/')?.0.rsplit_once('.')?.0);
        of_file(unit).or_else(|| of_file(&template_of(unit)?)).or_else(wanting)
    };
    let owner = |path: &str, entry: &Entry| match entry {
        Entry::File(_) => of_file(path),
        Entry::Link(target) => of_link(path, target),
    };
    tree.entries.iter().filter_map(|(path, entry)| Some((path.as_str(), owner(path, entry)?))).collect()
}

/// From the first line; where several files are named, the first is the group's own.
fn group_file(text: &str) -> Option<&str> {
    let files = text.lines().next()?.strip_prefix("# Generated by copse from ")?.rsplit_once(';')?.0;
    let first = files.split_once(".toml, ").map_or(files, |(first, _)| &files[..first.len() + ".toml".len()]);
    first.starts_with('/').then_some(first)
}

/// The runtime directories of users that have a service manager.
fn users(directories: &Directories) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directories.rooted(Path::new(Directories::OF_USERS)));
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.join("systemd").is_dir()).collect()
}

/// The same for one user, in whose directory nobody else should write: what stands there is that user's.
fn of_user(runtime: &Path, back: bool) -> bool {
    let Ok(owner) = runtime.symlink_metadata() else { return true };
    let mut copse = Command::new("/proc/self/exe");
    copse.args(["--user", "internal", "leave"]).args(back.then_some("--back"));
    copse.env_clear().env("PATH", "/usr/bin:/bin").env("XDG_RUNTIME_DIR", runtime).current_dir("/");
    copse.gid(owner.gid()).uid(owner.uid()).status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_stays_with_everything_of_its_group() {
        let mut tree = UnitTree::default();
        let mut file = |path: &str, from: &str| {
            let text = format!("# Generated by copse from {from}; changes here are lost.\n");
            tree.entries.insert(path.into(), Entry::File(text));
        };
        for group in ["a", "b", "c"] {
            let from = format!("/etc/copse/{group}.toml");
            file(&format!("{group}.target"), &from);
            file(&format!("{group}-w@.service"), &format!("{from}, /etc/copse/{group}.toml.d/50.toml"));
            file(&format!("copse-ready@{group}.service.d/50-copse.conf"), &from);
        }
        file("compiled.service", "for systemd 257 and later from d.toml");
        for group in ["a", "b", "c"] {
            tree.link(format!("multi-user.target.wants/{group}.target"), format!("../{group}.target"));
            tree.link(format!("{group}.target.wants/{group}-w@1.service"), format!("../{group}-w@.service"));
            tree.link(format!("{group}.target.wants/copse-x@1.service"), "/usr/lib/systemd/system/copse-x@.service");
        }
        let kept = of_running(&tree, &Running::of(["a-w@1.service", "copse-ready@b.service", "compiled.service"]));
        let expected: Vec<&String> = tree
            .entries
            .keys()
            .filter(|path| {
                !path.starts_with("c.") && !path.starts_with("c-") && !path.contains("/c.") && !path.contains("@c.")
            })
            .filter(|path| *path != "compiled.service")
            .collect();
        assert_eq!(kept.entries.keys().collect::<Vec<_>>(), expected);
        assert_eq!(of_running(&tree, &Running::default()), UnitTree::default());
    }

    #[test]
    fn the_group_file_is_in_the_first_line() {
        for (line, file) in [
            ("# Generated by copse from /etc/copse/a.toml; changes here are lost.", Some("/etc/copse/a.toml")),
            ("# Generated by copse from /etc/copse/a.toml, /run/copse/a.toml.d/5.toml; x", Some("/etc/copse/a.toml")),
            ("# Generated by copse from /etc/a, b;c/d.toml; changes", Some("/etc/a, b;c/d.toml")),
            ("# Generated by copse for systemd 257 and later from a.toml; changes", None),
            ("# Generated by copse from a.toml; changes", None),
            ("[Unit]", None),
            ("", None),
        ] {
            assert_eq!(group_file(line), file, "{line}");
        }
    }
}
