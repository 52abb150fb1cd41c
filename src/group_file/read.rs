//! Opens and reads one file: never waits, never reads what can't be a group file.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::basic::diagnostic::{Code, Diagnostic};
use crate::basic::os_error::reason;

/// What is larger isn't read: PID 1 waits for the generator.
const SIZE_MAX: usize = 4 << 20;

/// Opens `name` in `directory` and reads it. `path` is how its author knows it. `judge` looks at the opened file,
/// before anything is read.
pub fn read(
    directory: impl AsFd,
    name: &Path,
    path: &Path,
    follow: bool,
    judge: impl FnOnce(&Stat) -> Option<Diagnostic>,
) -> Result<String, Diagnostic> {
    let failed = |error: Errno| Diagnostic::file(Code::Unreadable, path, format!("can't be read: {}", words(error)));
    // NONBLOCK: a FIFO would wait for a writer, for ever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
    let file = rustix::fs::openat(directory, name, flags, Mode::empty()).map_err(failed)?;
    let stat = rustix::fs::fstat(&file).map_err(failed)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Err(not_a_file(path, kind));
    }
    if let Some(diagnostic) = judge(&stat) {
        return Err(diagnostic);
    }
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    if size > SIZE_MAX {
        return Err(too_large(path));
    }
    let bytes = read_all(&file, size).map_err(failed)?;
    if bytes.len() > SIZE_MAX {
        return Err(too_large(path));
    }
    decode(bytes, path)
}

/// What to say of a directory, a device, a FIFO.
pub fn not_a_file(path: &Path, kind: FileType) -> Diagnostic {
    let kind = match kind {
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "not a regular file",
    };
    Diagnostic::file(Code::Unreadable, path, format!("this is {kind}, where a group file should be"))
}

/// The error in words: the system's own, but for one that would puzzle next to the name of a file just listed.
pub fn words(error: Errno) -> String {
    match error {
        Errno::NOENT => "there is no such file".into(),
        error => reason(error),
    }
}

fn too_large(path: &Path) -> Diagnostic {
    Diagnostic::file(Code::TooLarge, path, "larger than 4 MiB: this can't be a group file")
}

fn read_all(file: &OwnedFd, size: usize) -> Result<Vec<u8>, Errno> {
    // One byte more than expected, so that a file of the expected size takes two reads, not three.
    let mut bytes = Vec::with_capacity(size + 1);
    loop {
        let room = bytes.capacity() - bytes.len();
        let space = rustix::buffer::spare_capacity(&mut bytes);
        match rustix::io::read(file, space) {
            // A regular file gives less than asked for only at its end.
            Ok(count) if count < room => return Ok(bytes),
            Ok(_) if bytes.len() > SIZE_MAX => return Ok(bytes),
            Ok(_) => bytes.reserve(64 << 10),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

fn decode(bytes: Vec<u8>, path: &Path) -> Result<String, Diagnostic> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..good].iter().filter(|byte| **byte == b'\n').count() + 1;
        let byte = error.as_bytes()[good];
        Diagnostic::file(Code::NotUtf8, path, format!("not UTF-8 text: byte 0x{byte:02x} in line {line}"))
            .help("save the file as UTF-8")
    })?;
    // A byte order mark, which some editors put there, is no part of the text.
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
