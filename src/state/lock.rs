//! One apply at a time for each group: `/run/copse/lock/G`, flock(2). The file has the PID of the holder, for messages.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::basic::scope::Directories;
use crate::unit::name::GroupName;

/// How long to wait between two attempts.
const RETRY: Duration = Duration::from_millis(100);

/// The lock, until the value is dropped. The kernel releases it however the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not read")] File);

/// Why there is no lock.
#[derive(Debug)]
pub enum NoLock {
    /// Another process has it: its PID, if it wrote one.
    Held(String),
    /// The file cannot be opened or locked.
    Io(io::Error),
}

impl Lock {
    /// Takes the lock of `group`.
    ///
    /// # Errors
    /// [`NoLock`]; [`io::ErrorKind::PermissionDenied`] for users who may not apply.
    pub fn take(directories: &Directories, group: &GroupName) -> Result<Self, NoLock> {
        let mut file = open(directories, group).map_err(NoLock::Io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                // Only messages need it, so a failure is ignored.
                let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
                Ok(Self(file))
            }
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => {
                let mut holder = String::new();
                let _ = file.take(32).read_to_string(&mut holder);
                Err(NoLock::Held(holder.trim().to_owned()))
            }
            Err(error) => Err(NoLock::Io(error.into())),
        }
    }

    /// As [`Lock::take`], once no other process has it.
    ///
    /// # Errors
    /// As [`Lock::take`], but for [`NoLock::Held`].
    pub async fn wait(directories: &Directories, group: &GroupName) -> Result<Self, NoLock> {
        loop {
            match Self::take(directories, group) {
                Err(NoLock::Held(_)) => tokio::time::sleep(RETRY).await,
                other => return other,
            }
        }
    }
}

fn open(directories: &Directories, group: &GroupName) -> io::Result<File> {
    let state = directories.state.as_ref().ok_or(io::ErrorKind::NotFound)?;
    let folder = directories.rooted(&state.join("lock"));
    DirBuilder::new().recursive(true).mode(0o755).create(&folder)?;
    // Only root may open it: a user who can could lock out all others.
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(folder.join(group.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::scope::Scope;

    #[test]
    fn one_at_a_time_and_each_group_by_itself() {
        let root = tempfile::tempdir().unwrap();
        let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
        let name = |text: &str| GroupName::new(text).unwrap();
        let first = Lock::take(&directories, &name("a")).unwrap();
        let own = std::process::id().to_string();
        assert!(matches!(Lock::take(&directories, &name("a")), Err(NoLock::Held(pid)) if pid == own));
        Lock::take(&directories, &name("b")).unwrap();
        drop(first);
        Lock::take(&directories, &name("a")).unwrap();
    }
}
