//! Where the files of a throw-away group are, and whose it is.
//!
//! ```text
//!  STATE/G.toml, G.toml.d/*.toml   what the generator reads: hard links to
//!  STATE/run/G/files/*.toml        what was written for this run
//!  STATE/run/G/*.env               the environments of its processes
//!  STATE/run/G/caller              the process that the group belongs to
//! ```
//!
//! `STATE` is /run/copse or `$XDG_RUNTIME_DIR/copse`. The links are how clean-up knows its own: a file that somebody else
//! put in the place of one is another one, and stays.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::unit::name::GroupName;

/// How the names of throw-away groups begin.
pub(in crate::cli) const PREFIX: &str = "run-";

/// The longest part of a name that says what is run.
const LONGEST: usize = 40;

/// A process, told apart from later ones of the same number by when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Caller {
    pub(in crate::cli) pid: i32,
    /// In clock ticks since the boot: `starttime` of proc_pid_stat(5).
    started: u64,
}

/// A throw-away group's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Workspace {
    pub(in crate::cli) name: GroupName,
    state: PathBuf,
}

impl Caller {
    /// The process of this number, if there is one that hasn't ended.
    pub(in crate::cli) fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in brackets may hold anything; behind it, `state` is the third field and `starttime` the 22nd.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Self { pid, started })
    }

    /// Whether it is still there.
    pub(in crate::cli) fn lives(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    fn parse(text: &str) -> Option<Self> {
        let (pid, started) = text.trim().split_once(' ')?;
        Some(Self { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }
}

impl Workspace {
    /// The place of the group of that name, whether or not it is there.
    pub(in crate::cli) fn of(state: &Path, name: GroupName) -> Self {
        Self { name, state: state.to_owned() }
    }

    /// A new place for `caller`, named after `what` it runs and its PID.
    pub(in crate::cli) fn claim(state: &Path, what: &str, caller: Caller) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o755).create(state)?;
        // The names of other people's groups are nobody's concern, but what they run with is in here.
        DirBuilder::new().recursive(true).mode(0o700).create(state.join("run"))?;
        for number in 1.. {
            let Some(name) = name(what, caller.pid, number) else { break };
            let place = Self::of(state, name);
            match DirBuilder::new().mode(0o700).create(place.directory()) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            place.write("caller", &format!("{} {}\n", caller.pid, caller.started))?;
            return Ok(place);
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// All places that belong to somebody who is gone.
    pub(in crate::cli) fn left_over(state: &Path) -> Vec<Self> {
        let names = fs::read_dir(state.join("run")).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let places = names.filter_map(|name| Some(Self::of(state, GroupName::new(name.to_str()?)?)));
        // One without a caller is being made at this moment, or was being made when its maker was killed: then nothing
        // but an empty directory is left.
        places.filter(|place| place.caller().is_some_and(|caller| !caller.lives())).collect()
    }

    /// Whose it is; `None` where there is no such place.
    pub(in crate::cli) fn caller(&self) -> Option<Caller> {
        Caller::parse(&fs::read_to_string(self.directory().join("caller")).ok()?)
    }

    /// Where a file of this name is, beside the group's own.
    pub(in crate::cli) fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// Writes such a file, which nobody else can read.
    pub(in crate::cli) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        write(&self.path(name), text, 0o600)
    }

    /// Puts the group file where the generator finds it, with its drop-ins, by name. Like the units that are made of
    /// them, they can be read by others.
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
        // Last, so that there is no moment at which the generator would read a part of it.
        let own = files.join(GROUP_FILE);
        write(&own, group_file, 0o644)?;
        fs::hard_link(own, self.group_file())
    }

    /// Removes all that was written here, and nothing else.
    pub(in crate::cli) fn remove(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.files()).into_iter().flatten().flatten() {
            let own = entry.file_name();
            let link = if own == GROUP_FILE { self.group_file() } else { self.drop_ins().join(own) };
            let same = |one: &fs::Metadata, other: &fs::Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
            if let (Ok(own), Ok(linked)) = (entry.metadata(), link.symlink_metadata())
                && same(&own, &linked)
            {
                gone(fs::remove_file(link))?;
            }
        }
        // With somebody's drop-in in it, it stays.
        let _ = fs::remove_dir(self.drop_ins());
        gone(fs::remove_dir_all(self.directory()))
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

/// Two may remove the same: that it is gone already is no error.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// What the group file is called among the files of the run; no drop-in is called so.
const GROUP_FILE: &str = "group";

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}

/// `run-WHAT-PID`, or from the second on `run-WHAT-PID_NUMBER`, of which none begins with `run-WHAT-PID-`, as the units of
/// the first do. systemd looks for drop-ins at each dash of a name, so those of `what` go.
fn name(what: &str, pid: i32, number: u32) -> Option<GroupName> {
    let plain = what.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let what: String = plain.take(LONGEST).collect();
    let what = if what.is_empty() { "group" } else { &what };
    let number = if number > 1 { format!("_{number}") } else { String::new() };
    GroupName::new(&format!("{PREFIX}{what}-{pid}{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Caller {
        Caller::of(i32::try_from(std::process::id()).unwrap()).unwrap()
    }

    #[test]
    fn names_say_what_is_run_and_by_whom() {
        let name = |what, number| name(what, 4711, number).unwrap().to_string();
        assert_eq!(name("shop", 1), "run-shop-4711");
        assert_eq!(name("my shop.d-2", 2), "run-my_shop_d_2-4711_2");
        assert_eq!(name("", 1), "run-group-4711");
        assert_eq!(name(&"ä".repeat(300), 1).len(), "run--4711".len() + LONGEST);
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
        let place = Workspace::claim(state.path(), "shop", own()).unwrap();
        place.write("web.env", "A=\"b\"\n").unwrap();
        place.put("[process.web]\n", &[("~run.toml".to_owned(), "wanted-by = []\n".to_owned())]).unwrap();
        let there = |path: PathBuf| path.exists();
        assert_eq!(fs::read_to_string(place.group_file()).unwrap(), "[process.web]\n");
        assert!(there(place.drop_ins().join("~run.toml")));
        place.remove().unwrap();
        assert!(!there(place.group_file()) && !there(place.drop_ins()) && !there(place.directory()));
        place.remove().unwrap();

        let place = Workspace::claim(state.path(), "shop", own()).unwrap();
        place.put("[process.web]\n", &[("a.toml".to_owned(), String::new())]).unwrap();
        fs::remove_file(place.group_file()).unwrap();
        fs::write(place.group_file(), "somebody else's").unwrap();
        fs::write(place.drop_ins().join("b.toml"), "somebody else's").unwrap();
        place.remove().unwrap();
        assert!(there(place.group_file()) && there(place.drop_ins().join("b.toml")));
        assert!(!there(place.drop_ins().join("a.toml")) && !there(place.directory()));
        // And it isn't written over.
        let again = Workspace::claim(state.path(), "shop", own()).unwrap();
        assert_eq!(again.name, place.name);
        assert!(again.put("[process.web]\n", &[]).is_err());
    }
}
