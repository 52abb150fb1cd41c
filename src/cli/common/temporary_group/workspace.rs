//! The files of a temporary group, and the process that it belongs to.
//!
//! ```text
//!  STATE/G.toml, G.toml.d/*.toml   for the generator: hard links to
//!  STATE/run/G/files/*.toml        the files of this run
//!  STATE/run/G/*.env               the environments of its processes
//!  STATE/run/G/caller              the process that the group belongs to
//! ```
//!
//! `STATE` is /run/copse or `$XDG_RUNTIME_DIR/copse`. By the links, the clean-up recognizes its own files: a file that
//! replaced one of them is not removed.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::unit::name::GroupName;

/// The prefix of the names of temporary groups.
pub(in crate::cli) const PREFIX: &str = "run-";

/// The longest title in a name.
const TITLE_MAX: usize = 40;

/// A process. Its start time distinguishes it from later ones with the same PID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Caller {
    pub(in crate::cli) pid: i32,
    /// In clock ticks since the boot: `starttime` of proc_pid_stat(5).
    started: u64,
}

/// The files of a temporary group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Workspace {
    pub(in crate::cli) name: GroupName,
    state: PathBuf,
}

impl Caller {
    /// The process with this PID, unless it has exited.
    pub(in crate::cli) fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in brackets may hold anything. After it, `state` is the third field and `starttime` the 22nd.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Self { pid, started })
    }

    /// Whether it still runs.
    pub(in crate::cli) fn lives(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    fn parse(text: &str) -> Option<Self> {
        let (pid, started) = text.trim().split_once(' ')?;
        Some(Self { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }
}

impl Workspace {
    /// The workspace of the group with this name, which need not exist.
    pub(in crate::cli) fn of(state: &Path, name: GroupName) -> Self {
        Self { name, state: state.to_owned() }
    }

    /// Makes a workspace for `caller`, named after the `title` of what it runs and its PID.
    pub(in crate::cli) fn claim(state: &Path, title: &str, caller: Caller) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o755).create(state)?;
        // Other users may see the names of groups, but not their environments.
        DirBuilder::new().recursive(true).mode(0o700).create(state.join("run"))?;
        for number in 1.. {
            let Some(name) = name(title, caller.pid, number) else { break };
            let workspace = Self::of(state, name);
            match DirBuilder::new().mode(0o700).create(workspace.directory()) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            workspace.write("caller", &format!("{} {}\n", caller.pid, caller.started))?;
            return Ok(workspace);
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// All workspaces whose caller has exited.
    pub(in crate::cli) fn left_over(state: &Path) -> Vec<Self> {
        let names = fs::read_dir(state.join("run")).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let workspaces = names.filter_map(|name| Some(Self::of(state, GroupName::new(name.to_str()?)?)));
        // One without a caller is being made, or its maker was killed meanwhile: then it is an empty directory.
        workspaces.filter(|workspace| workspace.caller().is_some_and(|caller| !caller.lives())).collect()
    }

    /// The process that it belongs to. `None` if there is no such workspace.
    pub(in crate::cli) fn caller(&self) -> Option<Caller> {
        Caller::parse(&fs::read_to_string(self.directory().join("caller")).ok()?)
    }

    /// The path of a file other than the group's own.
    pub(in crate::cli) fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// Writes such a file, readable by its owner only.
    pub(in crate::cli) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        write(&self.path(name), text, 0o600)
    }

    /// Writes the group file and its drop-ins, by name, where the generator finds them. Like the units generated from them,
    /// they are readable by all users.
    pub(in crate::cli) fn put(&self, group_file: &str, drop_ins: &[(String, String)]) -> io::Result<()> {
        let files = self.files();
        DirBuilder::new().mode(0o700).create(&files)?;
        if !drop_ins.is_empty() {
            DirBuilder::new().mode(0o755).create(self.drop_ins())?;
        }
        for (name, text) in drop_ins {
            write(&files.join(name), text, 0o644)?;
            fs::hard_link(files.join(name), self.drop_ins().join(name))?;
        }
        // Last, so that the generator never reads only a part of the group.
        let own = files.join(GROUP_FILE);
        write(&own, group_file, 0o644)?;
        fs::hard_link(own, self.group_file())
    }

    /// Removes everything that was written, and nothing else.
    pub(in crate::cli) fn remove(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.files()).into_iter().flatten().flatten() {
            let own = entry.file_name();
            let link = if own == GROUP_FILE { self.group_file() } else { self.drop_ins().join(own) };
            let same = |one: &fs::Metadata, other: &fs::Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
            if let (Ok(own), Ok(linked)) = (entry.metadata(), link.symlink_metadata())
                && same(&own, &linked)
            {
                or_missing(fs::remove_file(link))?;
            }
        }
        // It stays if it contains other drop-ins.
        let _ = fs::remove_dir(self.drop_ins());
        or_missing(fs::remove_dir_all(self.directory()))
    }

    fn directory(&self) -> PathBuf {
        self.state.join("run").join(self.name.as_str())
    }

    fn files(&self) -> PathBuf {
        self.directory().join("files")
    }

    fn group_file(&self) -> PathBuf {
        self.state.join(format!("{}.toml", self.name))
    }

    fn drop_ins(&self) -> PathBuf {
        self.state.join(format!("{}.toml.d", self.name))
    }
}

/// A missing file is no error, as two processes may clean up at once.
fn or_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The name of the group file among the files of the run. Drop-ins end in `.toml`.
const GROUP_FILE: &str = "group";

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}

/// `run-TITLE-PID`, or from the second on `run-TITLE-PID_NUMBER`, which does not begin with `run-TITLE-PID-` as the units of
/// the first do. Dashes in the title are replaced, as systemd looks for drop-ins at each dash of a name.
fn name(title: &str, pid: i32, number: u32) -> Option<GroupName> {
    let plain = title.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let title: String = plain.take(TITLE_MAX).collect();
    let title = if title.is_empty() { "group" } else { &title };
    let number = if number > 1 { format!("_{number}") } else { String::new() };
    GroupName::new(&format!("{PREFIX}{title}-{pid}{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Caller {
        Caller::of(i32::try_from(std::process::id()).unwrap()).unwrap()
    }

    #[test]
    fn names_say_what_is_run_and_by_whom() {
        let name = |title, number| name(title, 4711, number).unwrap().to_string();
        assert_eq!(name("shop", 1), "run-shop-4711");
        assert_eq!(name("my shop.d-2", 2), "run-my_shop_d_2-4711_2");
        assert_eq!(name("", 1), "run-group-4711");
        assert_eq!(name(&"ä".repeat(300), 1).len(), "run--4711".len() + TITLE_MAX);
    }

    #[test]
    fn two_places_for_one_caller_are_two() {
        let state = tempfile::tempdir().unwrap();
        let first = Workspace::claim(state.path(), "shop", own()).unwrap();
        let second = Workspace::claim(state.path(), "shop", own()).unwrap();
        assert_ne!(first.name, second.name);
        assert_eq!((first.caller(), second.caller()), (Some(own()), Some(own())));
    }

    #[test]
    fn only_what_is_nobody_s_any_more_is_left_over() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(Workspace::left_over(state.path()), []);
        Workspace::claim(state.path(), "alive", own()).unwrap();
        let ended = Workspace::claim(state.path(), "ended", Caller { pid: i32::MAX, started: 1 }).unwrap();
        let again = Workspace::claim(state.path(), "number-used-again", Caller { started: 0, ..own() }).unwrap();
        let mut found = Workspace::left_over(state.path());
        found.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(found, [ended, again]);
    }

    #[test]
    fn what_was_put_is_removed_and_what_somebody_else_put_stays() {
        let state = tempfile::tempdir().unwrap();
        let workspace = Workspace::claim(state.path(), "shop", own()).unwrap();
        workspace.write("web.env", "A=\"b\"\n").unwrap();
        workspace.put("[process.web]\n", &[("~run.toml".to_owned(), "wanted-by = []\n".to_owned())]).unwrap();
        let there = |path: PathBuf| path.exists();
        assert_eq!(fs::read_to_string(workspace.group_file()).unwrap(), "[process.web]\n");
        assert!(there(workspace.drop_ins().join("~run.toml")));
        workspace.remove().unwrap();
        assert!(!there(workspace.group_file()) && !there(workspace.drop_ins()) && !there(workspace.directory()));
        workspace.remove().unwrap();

        let workspace = Workspace::claim(state.path(), "shop", own()).unwrap();
        workspace.put("[process.web]\n", &[("a.toml".to_owned(), String::new())]).unwrap();
        fs::remove_file(workspace.group_file()).unwrap();
        fs::write(workspace.group_file(), "somebody else's").unwrap();
        fs::write(workspace.drop_ins().join("b.toml"), "somebody else's").unwrap();
        workspace.remove().unwrap();
        assert!(there(workspace.group_file()) && there(workspace.drop_ins().join("b.toml")));
        assert!(!there(workspace.drop_ins().join("a.toml")) && !there(workspace.directory()));
        // And it isn't written over.
        let again = Workspace::claim(state.path(), "shop", own()).unwrap();
        assert_eq!(again.name, workspace.name);
        assert!(again.put("[process.web]\n", &[]).is_err());
    }
}
