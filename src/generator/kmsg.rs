//! The generator's log: the kernel's, because there is no other yet.
//!
//! At boot the journal is not running, and during a daemon-reload a write to it could block. The output of generators is
//! discarded (seen on 247 to 262). `/dev/kmsg` takes one record per write (kernel.org, `ABI/testing/dev-kmsg`), refuses a
//! record that is too long, and journald reads it later.

use std::fs::File;
use std::io::Write as _;

use rustix::fs::{Mode, OFlags};

use crate::basic::diagnostic::{Diagnostic, Severity, one_line};
use crate::basic::scope::{Directories, Scope};

/// The longest record, in bytes. Kernels refuse more than 1,024 bytes, and older ones need 32 of them.
const RECORD_MAX: usize = 960;

/// The most records of one run. More would push the kernel's own messages out of its buffer.
const RECORDS_MAX: u32 = 200;

/// The log of one run.
#[derive(Debug)]
pub struct Log {
    kernel: Option<File>,
    process: u32,
    written: u32,
}

impl Log {
    /// Opens `/dev/kmsg` below the root of `directories`. The log is standard error if that fails, and in user scope: only
    /// root may write to `/dev/kmsg`.
    pub fn open(directories: &Directories) -> Self {
        let path = directories.rooted(std::path::Path::new("/dev/kmsg"));
        // NONBLOCK, so that a FIFO without a reader does not block.
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let kernel = (directories.scope == Scope::System)
            .then(|| rustix::fs::open(path, flags, Mode::empty()).ok().map(File::from))
            .flatten();
        Self { kernel, process: std::process::id(), written: 0 }
    }

    /// Writes one diagnostic.
    pub fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        let level = match diagnostic.severity() {
            Severity::Error => 3,
            Severity::Warning => 4,
            Severity::Note => 5,
        };
        self.line(level, &diagnostic.line());
    }

    /// Writes one line, in several records if it is long. `level` is one of syslog(3).
    pub fn line(&mut self, level: u8, text: &str) {
        let prefix = format!("<{level}>copse-generator[{}]: ", self.process);
        for piece in pieces(&one_line(text), RECORD_MAX - prefix.len() - 1) {
            self.written += 1;
            match self.written {
                RECORDS_MAX => self.record(&prefix, "further diagnostics omitted; `copse check` shows all of them"),
                more if more > RECORDS_MAX => return,
                _ => self.record(&prefix, piece),
            }
        }
    }

    fn record(&mut self, prefix: &str, text: &str) {
        // Nothing can be done if this fails, and the units matter more.
        let _ = match &mut self.kernel {
            Some(kernel) => kernel.write_all(format!("{prefix}{text}\n").as_bytes()),
            None => std::io::stderr().write_all(format!("copse-generator: {text}\n").as_bytes()),
        };
    }
}

/// `text` in pieces of at most `max` bytes, cut after a blank if there is one.
fn pieces(text: &str, max: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > max {
        let end = (1..=max).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(max);
        let end = rest[..end].rfind(' ').filter(|blank| *blank > max / 2).map_or(end, |blank| blank + 1);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece.trim_end());
        rest = after;
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_short_whole_and_complete() {
        for text in ["", "short", &"word ".repeat(500), &"é".repeat(1000), &format!("x{}", "€".repeat(1000))] {
            let pieces = pieces(text, 100);
            assert!(pieces.iter().all(|piece| piece.len() <= 100));
            let (found, expected) = (pieces.concat(), text.to_owned());
            assert_eq!(found.replace(' ', ""), expected.replace(' ', ""));
        }
    }

    fn logged(fill: impl FnOnce(&mut Log)) -> String {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("dev")).unwrap();
        let path = root.path().join("dev/kmsg");
        std::fs::write(&path, "").unwrap();
        fill(&mut Log::open(&Directories::new(Scope::System, Some(root.path().into()), |_| None)));
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn one_line_each_with_level_and_tag() {
        let text = logged(|log| {
            log.line(3, "first\nforged");
            log.line(4, &"long ".repeat(400));
        });
        let prefix = format!("copse-generator[{}]: ", std::process::id());
        assert!(text.starts_with(&format!("<3>{prefix}first forged\n<4>{prefix}long ")), "{text}");
        assert!(text.lines().all(|line| line.len() < RECORD_MAX && line.contains(&prefix)));
        assert_eq!(text.matches("long").count(), 400);
    }

    #[test]
    fn a_flood_ends() {
        let text = logged(|log| (0..1000).for_each(|n| log.line(3, &format!("line {n}"))));
        assert_eq!(text.lines().count(), RECORDS_MAX as usize);
        assert!(text.lines().last().unwrap().ends_with("`copse check` shows all of them"));
    }
}
