//! `copse-notify once`: a setup step that runs only when something changed.
//!
//! `ExecStart=` and `ExecReload=` of a setup step are the same line: a start
//! of the group asks once, `systemctl reload` asks again, and both run the
//! command only if command, definition, inputs or credentials aren't those of
//! the stamp. To run it in any case, remove the stamp and reload.
//!
//! The stamp goes before the command runs and comes back after it succeeded:
//! a step that failed half-way with new inputs runs again even if the old
//! inputs are put back. (systemd's `ExecCondition=` can't do this: a skipped
//! unit is inactive, and on 247 its dependents fail.)

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::chain_load::cannot_execute;
use super::failure::{Failure, Status};
use super::socket::VARIABLES;
use super::sys;
use super::sys::{Disposition, Ended, Forked, Program, Received, Signals};
use crate::basic::fingerprint;
use crate::basic::fingerprint::Step;

/// First line of a stamp, before the fingerprint.
const MAGIC: &str = "copse-notify once, sha256 ";

/// Signals that are passed on, if the command didn't get them as well.
const PASSED_ON: [i32; 6] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

/// A setup step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Once {
    /// Where the fingerprint of the last success is kept.
    pub stamp: PathBuf,
    /// Files and directories it reads.
    pub inputs: Vec<OsString>,
    /// What else defines it, in any form.
    pub definitions: Vec<OsString>,
    /// Run it even if nothing changed.
    pub again: bool,
    /// The command and its arguments.
    pub command: Vec<OsString>,
}

/// Runs the command if something changed; gives its exit status. If a signal
/// ended it, this process ends by the same one.
///
/// # Errors
/// [`Status::SYSTEM`] if an input can't be read or a stamp not be written
/// there (before the command is run); [`Status::NOT_FOUND`],
/// [`Status::NOT_EXECUTABLE`].
pub fn run(once: &Once) -> Result<Status, Failure> {
    let credentials = std::env::var_os("CREDENTIALS_DIRECTORY");
    let fingerprint = fingerprint::of(&Step {
        command: &once.command,
        definitions: &once.definitions,
        inputs: &once.inputs,
        credentials: credentials.as_deref(),
    })?;
    let unchanged = match once.again {
        true => None,
        false => unchanged_since(&once.stamp, &fingerprint),
    };
    if let Some(since) = unchanged {
        eprintln!("copse-notify: inputs unchanged since {}, not run again", utc(since));
        return Ok(Status::DONE);
    }
    let stamp = NewStamp::prepare(&once.stamp)?;
    let run = run_command(once);
    let Ok(Run { ended: Ended::Exit(0), asked_to_stop: None }) = run else {
        stamp.abandon();
        return Ok(report(&run?));
    };
    if let Err(error) = stamp.complete(&fingerprint) {
        eprintln!("{}; the command will be run again", Failure::system("write the stamp", error));
    }
    Ok(Status::DONE)
}

fn report(run: &Run) -> Status {
    match (run.ended, run.asked_to_stop) {
        (Ended::Exit(0), Some(signal)) => {
            eprintln!("copse-notify: the command was asked to stop (signal {signal}); it will be run again");
            Status::DONE
        }
        (Ended::Exit(status), _) => Status(u8::try_from(status).unwrap_or(u8::MAX)),
        (Ended::Signal(signal), _) => {
            eprintln!("copse-notify: the command was ended by signal {signal}; it will be run again");
            sys::die_by(signal)
        }
    }
}

/// Whether [`run`] would find nothing changed: for a step without credentials, whose contents only its unit sees.
/// `None` where that can't be known to the caller: an input or the stamp that it may not read.
pub fn is_unchanged(once: &Once) -> Option<bool> {
    let Once { command, definitions, inputs, .. } = once;
    let fingerprint = fingerprint::of(&Step { command, definitions, inputs, credentials: None }).ok()?;
    match File::open(&once.stamp) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        _ => Some(!once.again && unchanged_since(&once.stamp, &fingerprint).is_some()),
    }
}

/// When the command succeeded with this fingerprint, if it was the last thing
/// it did. What isn't a stamp of ours is none.
fn unchanged_since(stamp: &Path, fingerprint: &str) -> Option<SystemTime> {
    let mut file = File::open(stamp).ok()?;
    let mut text = String::new();
    Read::by_ref(&mut file).take(1024).read_to_string(&mut text).ok()?;
    let own = text.strip_prefix(MAGIC)?.lines().next()?;
    (own == fingerprint).then(|| file.metadata().ok()?.modified().ok())?
}

/// A stamp that appears only if the command succeeds.
struct NewStamp {
    file: File,
    beside: PathBuf,
    stamp: PathBuf,
}

impl NewStamp {
    /// Makes sure that there can be a stamp, then removes the old one.
    fn prepare(stamp: &Path) -> Result<NewStamp, Failure> {
        let failed = |error| Failure::system(format!("keep a stamp at `{}`", stamp.display()), error);
        if let Some(directory) = stamp.parent().filter(|path| !path.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        }
        let mut name = stamp
            .file_name()
            .map(OsStr::to_owned)
            .ok_or_else(|| Failure::usage(format!("`{}` isn't a file name", stamp.display())))?;
        name.push(".new");
        let beside = stamp.with_file_name(name);
        remove(&beside).map_err(failed)?;
        let file = File::options().write(true).create_new(true).mode(0o600).open(&beside).map_err(failed)?;
        remove(stamp).map_err(failed)?;
        Ok(NewStamp { file, beside, stamp: stamp.to_owned() })
    }

    fn complete(mut self, fingerprint: &str) -> io::Result<()> {
        self.file.write_all(format!("{MAGIC}{fingerprint}\n").as_bytes())?;
        fs::rename(&self.beside, &self.stamp)
    }

    fn abandon(self) {
        let _ = remove(&self.beside);
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// How the command ended.
#[derive(Clone, Copy)]
struct Run {
    ended: Ended,
    /// The signal that asked this process to stop meanwhile.
    asked_to_stop: Option<i32>,
}

fn run_command(once: &Once) -> Result<Run, Failure> {
    // A setup step reports nothing: its end is its report.
    let program =
        Program::new(&once.command, &VARIABLES).map_err(|error| Failure::system("pass the command on", error))?;
    let failed = |error| Failure::system("start the command", error);
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
    let waited_for: Vec<i32> = PASSED_ON.into_iter().chain([libc::SIGCHLD]).collect();
    let waited_for = Signals::of(&waited_for);
    let mask = waited_for.block_only();
    let disposition = Disposition::to_default(libc::SIGCHLD);
    match sys::fork().map_err(failed)? {
        Forked::Child => {
            disposition.restore();
            mask.block_only();
            let error = program.exec().raw_os_error().unwrap_or(libc::ENOEXEC);
            let _ = rustix::io::write(writer.as_fd(), &error.to_le_bytes());
            sys::exit_now(Status::NOT_FOUND.0)
        }
        Forked::Parent(pid) => {
            drop(writer);
            let mut errno = [0; 4];
            if File::from(reader).read_exact(&mut errno).is_ok() {
                sys::reap(pid);
                let name = once.command[0].to_string_lossy();
                return Err(cannot_execute(&name, io::Error::from_raw_os_error(i32::from_le_bytes(errno))));
            }
            Ok(await_end(pid, &waited_for))
        }
    }
}

fn await_end(pid: Pid, signals: &Signals) -> Run {
    let mut asked_to_stop = None;
    loop {
        if let Some(ended) = sys::reap_now(pid) {
            return Run { ended, asked_to_stop };
        }
        let received = signals.wait();
        if received.signal == libc::SIGCHLD {
            continue;
        }
        if matches!(received.signal, libc::SIGTERM | libc::SIGINT | libc::SIGQUIT) {
            asked_to_stop = Some(received.signal);
        }
        if !reaches_the_command(received) {
            sys::signal_process(pid, received.signal);
        }
    }
}

/// Whether the command got the signal as well: systemd sends it to the whole
/// control group, a terminal to the whole process group. A second SIGTERM
/// would tell many a program to hurry.
fn reaches_the_command(received: Received) -> bool {
    match received.sender {
        // The kernel, for the terminal; a manager outside our PID namespace; PID 1.
        None | Some(0 | 1) => true,
        Some(sender) => {
            // Set by a user manager for its services (systemd.exec(5)).
            std::env::var("MANAGERPID").is_ok_and(|manager| manager == sender.to_string())
        }
    }
}

/// `2026-11-29 18:40:12 UTC`.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // The calendar in years that begin in March, so that a leap day is the
    // last of its year; 719,468 days lie between 0000-03-01 and 1970-01-01.
    let day = days + 719_468;
    let era = day / 146_097;
    let of_era = day % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day_of_month:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_795_977_612, "2026-11-29 18:40:12 UTC"),
            (4_107_542_399, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
