//! Opens and reads one file, without ever waiting for it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::basic::diagnostic::{Code, Diagnostic};
use crate::basic::os_error::reason;

/// In bytes. PID 1 waits for the generator.
const SIZE_MAX: usize = 4 << 20;

/// Opens `name` in `directory` and reads it. `path` is the path that diagnostics show. `check` sees the opened file before
/// anything is read.
///
/// # Errors
/// If it is not a readable regular file of UTF-8 text and at most 4 MiB, or if `check` fails.
pub fn read(
    directory: impl AsFd,
    name: &Path,
    path: &Path,
    follow: bool,
    check: impl FnOnce(&Stat) -> Result<(), Diagnostic>,
) -> Result<String, Diagnostic> {
    let failed = |error: Errno| unreadable(path, "file", error);
    // NONBLOCK: opening a FIFO would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
    let file = rustix::fs::openat(directory, name, flags, Mode::empty()).map_err(failed)?;
    let stat = rustix::fs::fstat(&file).map_err(failed)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Err(not_a_file(path, kind));
    }
    check(&stat)?;
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    let bytes = if size > SIZE_MAX { None } else { read_all(&file, size).map_err(failed)? };
    let bytes = bytes.ok_or_else(|| Diagnostic::file(Code::TooLarge, path, "the file is larger than 4 MiB"))?;
    decode(bytes, path)
}

/// The diagnostic for a file or directory (`what`) that cannot be read.
pub fn unreadable(path: &Path, what: &str, error: Errno) -> Diagnostic {
    Diagnostic::file(Code::Unreadable, path, format!("cannot read the {what}: {}", reason(error)))
}

/// The diagnostic for a directory, a device or a FIFO.
pub fn not_a_file(path: &Path, kind: FileType) -> Diagnostic {
    let kind = match kind {
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "a file of unknown type",
    };
    Diagnostic::file(Code::Unreadable, path, format!("expected a regular file, found {kind}"))
}

/// All bytes of a file of about `size`; `None` if there are more than [`SIZE_MAX`].
fn read_all(file: &OwnedFd, size: usize) -> Result<Option<Vec<u8>>, Errno> {
    // One byte more than expected, so that a file of the expected size takes two reads, not three.
    let mut bytes = Vec::with_capacity(size + 1);
    while bytes.len() <= SIZE_MAX {
        let room = bytes.capacity() - bytes.len();
        match rustix::io::read(file, rustix::buffer::spare_capacity(&mut bytes)) {
            // A regular file returns less than requested only at its end.
            Ok(count) if count < room => return Ok(Some(bytes).filter(|bytes| bytes.len() <= SIZE_MAX)),
            Ok(_) => bytes.reserve(64 << 10),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn decode(bytes: Vec<u8>, path: &Path) -> Result<String, Diagnostic> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        let message = format!("the file is not UTF-8: byte 0x{:02x} in line {line}", error.as_bytes()[valid]);
        Diagnostic::file(Code::NotUtf8, path, message).help("save the file as UTF-8")
    })?;
    // The byte order mark that some editors write.
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}
