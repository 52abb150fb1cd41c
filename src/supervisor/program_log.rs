//! The logs that clients read: the journal of a unit as one text, from journalctl(1).

use std::process::Stdio;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

use super::call::Window;
use super::fault::{Code, Fault, Result};
use crate::basic::scope::Scope;

/// The most that one answer holds, in bytes.
const ANSWER: usize = 4 << 20;

/// Whose messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// What the processes of a service wrote.
    Service(String),
    /// What the service manager logged about these units.
    Manager(Vec<String>),
}

/// A part of a log.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    pub text: Vec<u8>,
    /// The size of the whole log.
    pub size: u64,
}

impl Source {
    /// journalctl with the matches of this source; `options` come first.
    fn journalctl(&self, scope: Scope, options: &[&str]) -> Command {
        let mut command = Command::new("journalctl");
        command.args(["--quiet", "--no-pager", "--all", "--boot"]).args(options);
        let (service, unit, manager) = match scope {
            Scope::System => ("_SYSTEMD_UNIT", "UNIT", "_PID=1".to_owned()),
            Scope::User => ("_SYSTEMD_USER_UNIT", "USER_UNIT", "_COMM=systemd".to_owned()),
        };
        match self {
            Self::Service(name) => {
                command.args(["--output=cat", &format!("{service}={name}")]);
            }
            Self::Manager(units) => {
                command.arg("--output=short-iso").arg(manager);
                command.args(units.iter().map(|name| format!("{unit}={name}")));
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Follows the log from about its last `bytes` bytes on: the process, whose standard output it is.
    ///
    /// # Errors
    /// journalctl cannot be executed.
    pub fn follow(&self, scope: Scope, bytes: u64) -> std::io::Result<Child> {
        // A line is one byte at least.
        self.journalctl(scope, &["--follow", &format!("--lines={bytes}")]).spawn()
    }

    async fn read(&self, scope: Scope, options: &[&str], window: Window) -> Result<Part> {
        let failed = |error| Fault::new(Code::Failed, format!("cannot read the journal: {error}"));
        let mut child = self.journalctl(scope, options).spawn().map_err(failed)?;
        let output = child.stdout.take().ok_or_else(|| failed(std::io::ErrorKind::BrokenPipe.into()))?;
        let part = part(output, window).await.map_err(failed)?;
        child.wait().await.map_err(failed)?;
        Ok(part)
    }

    /// A part of the log, as `readLog` takes it: a negative offset with length 0 is the end of it, length 0 all from the
    /// offset on.
    ///
    /// # Errors
    /// The arguments make no sense together; the journal cannot be read.
    pub async fn part(&self, scope: Scope, window: Window) -> Result<Part> {
        let Window { offset, length } = window;
        if length < 0 || (offset < 0 && length != 0) {
            return Err(Fault::new(
                Code::BadArguments,
                "a length that is negative, or a negative offset with a length",
            ));
        }
        let lines = format!("--lines={}", offset.unsigned_abs());
        let options: &[&str] = if offset < 0 { &[&lines] } else { &[] };
        self.read(scope, options, window).await
    }

    /// The last bytes of the log, with its size: what was asked for, unless there is more by now.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn tail(&self, scope: Scope, window: Window) -> Result<(Part, bool)> {
        let length = window.length.clamp(0, i64::try_from(ANSWER).unwrap_or(i64::MAX));
        let part = self.read(scope, &[], Window { offset: -length, length: 0 }).await?;
        let overflow = i64::try_from(part.size).unwrap_or(i64::MAX) > window.offset.saturating_add(window.length);
        let begin = u64::try_from(window.offset).unwrap_or(0);
        let skipped = part.size.saturating_sub(part.text.len() as u64);
        let from = if overflow { 0 } else { usize::try_from(begin.saturating_sub(skipped)).unwrap_or(usize::MAX) };
        let text = part.text.get(from..).unwrap_or_default().to_vec();
        Ok((Part { text, size: part.size }, overflow))
    }
}

/// Reads all of `log`, and keeps the window.
async fn part(mut log: impl AsyncRead + Unpin, window: Window) -> std::io::Result<Part> {
    let (mut kept, mut size, mut buffer) = (Vec::new(), 0_u64, vec![0; 64 << 10]);
    let from_end = usize::try_from(window.offset.unsigned_abs()).ok().filter(|_| window.offset < 0);
    let begin = u64::try_from(window.offset).unwrap_or(0);
    let most = match usize::try_from(window.length) {
        Ok(length @ 1..=ANSWER) => length,
        _ => ANSWER,
    };
    loop {
        let count = log.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        let chunk = &buffer[..count];
        match from_end {
            Some(bytes) => {
                kept.extend_from_slice(chunk);
                let excess = kept.len().saturating_sub(bytes.min(ANSWER));
                kept.drain(..excess);
            }
            None => {
                let skip = usize::try_from(begin.saturating_sub(size)).unwrap_or(usize::MAX).min(count);
                let room = most.saturating_sub(kept.len());
                kept.extend(chunk[skip..].iter().take(room));
            }
        }
        size += count as u64;
    }
    Ok(Part { text: kept, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(offset: i64, length: i64) -> (String, u64) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let part = runtime.block_on(part(&b"one\ntwo\nthree\n"[..], Window { offset, length })).unwrap();
        (String::from_utf8(part.text).unwrap(), part.size)
    }

    #[test]
    fn a_window_is_counted_in_bytes() {
        for (offset, length, expected) in [
            (0, 0, "one\ntwo\nthree\n"),
            (-6, 0, "three\n"),
            (-100, 0, "one\ntwo\nthree\n"),
            (4, 3, "two"),
            (8, 0, "three\n"),
            (100, 0, ""),
            (100, 7, ""),
        ] {
            assert_eq!(of(offset, length), (expected.to_owned(), 14), "{offset} {length}");
        }
    }
}
