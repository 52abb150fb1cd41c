//! Files below `/run/copse` (in user scope `$XDG_RUNTIME_DIR/copse`) that copse keeps for itself: one text format, one
//! reader, one writer.
//!
//! They hold group files, which may hold secrets: nobody but the owner may read one, and one that others could have
//! written isn't believed. Each is written beside and renamed, so it is whole or not there, and ends with a hash, so
//! one that was cut off or edited by hand is seen. Nothing is synced: `/run` is gone at the next boot.
//!
//! # Format
//! `copse KIND NUMBER`, then records, then `end HASH`. A record is a line `WORD LENGTH…` and its fields, as many bytes
//! each, with a newline after the last. A reader leaves out words that it doesn't know and fields beyond those that it
//! knows, so a later copse may add both without another NUMBER, and programs of both versions go on reading each
//! other's files while a package is upgraded. What changes the meaning of what is there needs another number, and a
//! reader for the old one. `text` and `source` are read by [`Decoder`] itself: each text stands in a file once.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::basic::diagnostic::SourceFile;
use crate::group_file::discover::Source;
use crate::unit::name::GroupName;

/// How the names of files begin that are being written.
const TEMPORARY: &str = ".new-";

/// A value that is kept in a file of its own.
pub trait Kept: Sized {
    /// What stands in the first line after `copse`: a word and a number.
    const FORMAT: &'static str;

    /// Writes all of it.
    fn encode(&self, to: &mut Encoder);

    /// Reads what [`Kept::encode`] of this or another version of copse wrote: records of an unknown word are to be
    /// left out. `None` where something doesn't fit.
    fn decode(from: &mut Decoder<'_>) -> Option<Self>;
}

/// The value as a file's content.
pub fn to_bytes<T: Kept>(value: &T) -> Vec<u8> {
    let mut to = Encoder { text: format!("copse {}\n", T::FORMAT), ..Encoder::default() };
    value.encode(&mut to);
    let hash = hash(to.text.as_bytes());
    let _ = writeln!(to.text, "end {hash}");
    to.text.into_bytes()
}

/// The value that [`to_bytes`] made these of.
///
/// # Errors
/// In words, where they aren't such a file's content, or another version's that isn't understood.
pub fn from_bytes<T: Kept>(bytes: &[u8]) -> Result<T, String> {
    const DAMAGED: &str = "it is damaged";
    let body = whole(bytes).ok_or(DAMAGED)?;
    let rest = body.strip_prefix("copse ").and_then(|rest| rest.strip_prefix(T::FORMAT));
    let rest = rest.and_then(|rest| rest.strip_prefix('\n')).ok_or("another version of copse wrote it")?;
    let mut from = Decoder { rest, files: Vec::new(), sources: Vec::new(), broken: false };
    let value = T::decode(&mut from);
    value.filter(|_| from.rest.is_empty() && !from.broken).ok_or_else(|| DAMAGED.to_owned())
}

/// The text without its last line, if that has the right hash.
fn whole(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let body = text.get(..text.strip_suffix('\n')?.rfind('\n')? + 1)?;
    (text[body.len()..] == format!("end {}\n", hash(body.as_bytes()))).then_some(body)
}

/// Reads the value that is kept at `path`. `None` where there is no file.
///
/// # Errors
/// In words, where the file can't be read or isn't to be believed.
pub fn read<T: Kept>(path: &Path) -> Result<Option<T>, String> {
    read_bytes(path)?.map(|bytes| from_bytes(&bytes)).transpose()
}

/// Keeps `value` at `path`; its directory is made where it isn't there.
///
/// # Errors
/// Where it couldn't be written; the file is as it was then.
pub fn write<T: Kept>(path: &Path, value: &T) -> std::io::Result<()> {
    write_bytes(path, &to_bytes(value))
}

/// The content of a file that only its owner, who is the caller, can read and write. `None` where there is none.
///
/// # Errors
/// In words.
pub fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let mut file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    let own = metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o077 == 0;
    if !metadata.is_file() || !own {
        return Err("it isn't a file that only its owner can read and write".into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
    file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(Some(bytes))
}

/// Writes such a file, beside and renamed.
///
/// # Errors
/// Where it couldn't be written; the file is as it was then.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    clean(folder);
    // Two runs at once: each has a file of its own, and the one that ends last is remembered.
    let beside = folder.join(format!("{TEMPORARY}{}", std::process::id()));
    let result = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&beside)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(&beside, path));
    if result.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    result
}

/// Removes a kept file.
///
/// # Errors
/// Where it is there and couldn't be removed.
pub fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Removes what killed runs left.
fn clean(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY));
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Writes records.
#[derive(Debug, Default)]
pub struct Encoder {
    text: String,
    /// The number of each text that was written, by its address: copse shares texts.
    files: HashMap<*const SourceFile, usize>,
    sources: usize,
}

impl Encoder {
    /// Writes a record. `word` is of letters and dashes.
    pub fn record(&mut self, word: &str, fields: &[&str]) {
        self.text.push_str(word);
        for field in fields {
            self.text.push(' ');
            push_number(&mut self.text, field.len());
        }
        self.text.push('\n');
        fields.iter().for_each(|field| self.text.push_str(field));
        self.text.push('\n');
    }

    /// Writes a text, unless it was written before. Returns the field by which a record names it.
    pub fn file(&mut self, file: &Arc<SourceFile>) -> String {
        let next = self.files.len();
        let number = *self.files.entry(Arc::as_ptr(file)).or_insert(next);
        if number == next {
            self.record("text", &[&file.path.to_string_lossy(), &file.text]);
        }
        number.to_string()
    }

    /// Writes a group's texts. Returns the field by which a record names them.
    pub fn source(&mut self, source: &Source) -> String {
        let mut fields = vec![source.name.to_string(), self.file(&source.file)];
        fields.extend(source.drop_ins.iter().map(|file| self.file(file)));
        self.record("source", &fields.iter().map(String::as_str).collect::<Vec<_>>());
        self.sources += 1;
        (self.sources - 1).to_string()
    }
}

/// Reads records.
#[derive(Debug)]
pub struct Decoder<'t> {
    rest: &'t str,
    files: Vec<Arc<SourceFile>>,
    sources: Vec<Source>,
    broken: bool,
}

/// A word and its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'t> {
    /// What the fields are.
    pub word: &'t str,
    /// In the order in which they were written; a later copse may have written more.
    pub fields: Vec<&'t str>,
}

impl<'t> Record<'t> {
    /// The field at this position, from 0.
    pub fn field(&self, at: usize) -> Option<&'t str> {
        self.fields.get(at).copied()
    }

    /// The number that a field is.
    pub fn number<N: FromStr>(&self, at: usize) -> Option<N> {
        self.field(at)?.parse().ok()
    }
}

impl<'t> Decoder<'t> {
    /// The next record. `None` at the end, and where something doesn't fit: then the whole file counts as damaged.
    pub fn record(&mut self) -> Option<Record<'t>> {
        while !self.rest.is_empty() {
            let known = take(&mut self.rest).and_then(|record| match record.word {
                "text" => self.take_file(&record).map(|()| None),
                "source" => self.take_source(&record).map(|()| None),
                _ => Some(Some(record)),
            });
            match known {
                Some(None) => {}
                Some(record) => return record,
                None => {
                    self.broken = true;
                    return None;
                }
            }
        }
        None
    }

    /// The text that a field names.
    pub fn file(&self, field: &str) -> Option<Arc<SourceFile>> {
        self.files.get(field.parse::<usize>().ok()?).cloned()
    }

    /// The group's texts that a field names.
    pub fn source(&self, field: &str) -> Option<Source> {
        self.sources.get(field.parse::<usize>().ok()?).cloned()
    }

    fn take_file(&mut self, record: &Record<'_>) -> Option<()> {
        let (path, text) = (record.field(0)?.into(), record.field(1)?.to_owned());
        self.files.push(Arc::new(SourceFile { path, text }));
        Some(())
    }

    fn take_source(&mut self, record: &Record<'_>) -> Option<()> {
        let (name, file) = (GroupName::new(record.field(0)?)?, self.file(record.field(1)?)?);
        let drop_ins = record.fields[2..].iter().map(|field| self.file(field)).collect::<Option<_>>()?;
        self.sources.push(Source { name, file, drop_ins });
        Some(())
    }
}

/// As `write!`, and in a tenth of the time: there are thousands, and PID 1 waits.
fn push_number(text: &mut String, number: usize) {
    if number >= 10 {
        push_number(text, number / 10);
    }
    text.extend(char::from_digit((number % 10) as u32, 10));
}

fn take<'t>(rest: &mut &'t str) -> Option<Record<'t>> {
    let (line, mut after) = rest.split_once('\n')?;
    let mut words = line.split(' ');
    let word = words.next()?;
    let fields = words.map(|length| {
        let field = after.get(..length.parse().ok()?)?;
        after = &after[field.len()..];
        Some(field)
    });
    let fields = fields.collect::<Option<_>>()?;
    *rest = after.strip_prefix('\n')?;
    Some(Record { word, fields })
}

/// FNV-1a, eight bytes at a time: against accidents. Against malice the file's owner and mode stand.
fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    format!("{:016x}", step(words.fold(0xcbf2_9ce4_8422_2325, step), bytes.len() as u64))
}
