//! Files below `/run/copse` (in user scope `$XDG_RUNTIME_DIR/copse`) that copse keeps for itself: one format, one reader,
//! one writer.
//!
//! They contain group files, which may contain secrets: only the owner may read a file, and a file that others could
//! have written is refused. Each is replaced in one step. Nothing is synced: `/run` is gone at the next boot.
//!
//! # Format
//! A line `copse KIND FORMAT CHECKSUM`, a line of JSON, and the texts that the JSON refers to, one after the other and each
//! once. The checksum finds a file that was cut off or edited by hand. A reader ignores fields that it does not know, so a later
//! copse may add fields without another FORMAT, and both versions read each other's files during an upgrade. A field that
//! changes its meaning needs another FORMAT, and a reader for the old one, as [`format1`] is.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::checksum::checksum;
use super::format1;
use crate::basic::atomic_file;
use crate::basic::atomic_file::Durability;
use crate::basic::diagnostic::SourceFile;
use crate::basic::scope::Directories;
use crate::group_file::discover::Source;
use crate::unit::name::GroupName;

#[cfg(test)]
mod tests;

const FORMAT: &str = "2";

/// A value with a file of its own.
pub trait Kept: Sized {
    /// The kind of file, in its first line.
    const KIND: &'static str;

    /// The value with positions in a table of texts instead of the texts.
    type Record: Serialize + DeserializeOwned;

    fn to_record<'v>(&'v self, texts: &mut TextTable<'v>) -> Self::Record;

    /// `None` if the record is not one that [`Kept::to_record`] makes.
    fn from_record(record: Self::Record, texts: &Texts) -> Option<Self>;
}

/// The JSON of a file.
#[derive(Serialize, Deserialize)]
struct Content<'t, R> {
    #[serde(borrow)]
    texts: Vec<TextRecord<'t>>,
    value: R,
}

/// A text below the JSON.
#[derive(Serialize, Deserialize)]
struct TextRecord<'t> {
    path: Cow<'t, str>,
    /// In bytes.
    size: usize,
}

/// A group's files as positions in the table of texts.
#[derive(Debug, Serialize, Deserialize)]
pub struct SourceRecord {
    name: GroupName,
    file: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    drop_ins: Vec<usize>,
}

/// The texts of a file that is being written.
#[derive(Default)]
pub struct TextTable<'v> {
    texts: Vec<&'v Arc<SourceFile>>,
    by_path: HashMap<&'v OsStr, Vec<usize>>,
}

impl<'v> TextTable<'v> {
    pub fn position(&mut self, file: &'v Arc<SourceFile>) -> usize {
        let same_path = self.by_path.entry(file.path.as_os_str()).or_default();
        if let Some(known) = same_path.iter().find(|position| self.texts[**position] == file) {
            return *known;
        }
        same_path.push(self.texts.len());
        self.texts.push(file);
        self.texts.len() - 1
    }

    pub fn source(&mut self, source: &'v Source) -> SourceRecord {
        SourceRecord {
            name: source.name.clone(),
            file: self.position(&source.file),
            drop_ins: self.positions(&source.drop_ins),
        }
    }

    pub fn positions(&mut self, files: &'v [Arc<SourceFile>]) -> Vec<usize> {
        files.iter().map(|file| self.position(file)).collect()
    }
}

/// The texts of a file that was read.
pub struct Texts(Vec<Arc<SourceFile>>);

impl Texts {
    pub fn source(&self, record: SourceRecord) -> Option<Source> {
        let file = Arc::clone(self.0.get(record.file)?);
        Some(Source { name: record.name, file, drop_ins: self.files(&record.drop_ins)? })
    }

    pub fn files(&self, positions: &[usize]) -> Option<Vec<Arc<SourceFile>>> {
        positions.iter().map(|position| self.0.get(*position).cloned()).collect()
    }
}

/// `/run/copse/KIND/G`, without the root. `None` in user scope without `$XDG_RUNTIME_DIR`.
pub fn path(directories: &Directories, kind: &str, group: &GroupName) -> Option<PathBuf> {
    Some(directories.state.as_ref()?.join(kind).join(group.as_str()))
}

/// Reads the value that is kept at `path`. `None` if there is no file.
///
/// # Errors
/// Why the file cannot be read or is not trusted.
pub fn read<T: Kept>(path: &Path) -> Result<Option<T>, String> {
    read_bytes(path)?.map(|bytes| from_bytes(&bytes)).transpose()
}

/// Keeps `value` at `path`, and makes its directory if it is missing.
///
/// # Errors
/// The file could not be written; what was there is unchanged.
pub fn write<T: Kept>(path: &Path, value: &T) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    atomic_file::write(path, &to_bytes(value), 0o600, Durability::Volatile)
}

/// The value as a file's content.
pub fn to_bytes<T: Kept>(value: &T) -> Vec<u8> {
    let mut table = TextTable::default();
    let value = value.to_record(&mut table);
    let texts = table.texts.iter();
    let texts = texts.map(|file| TextRecord { path: file.path.to_string_lossy(), size: file.text.len() }).collect();
    let mut body = serde_json::to_string(&Content { texts, value }).expect("every record can be written as JSON");
    body.push('\n');
    table.texts.iter().for_each(|file| body.push_str(&file.text));
    format!("copse {} {FORMAT} {}\n{body}", T::KIND, checksum(body.as_bytes())).into_bytes()
}

/// The value that [`to_bytes`] of this or an earlier copse made these of.
///
/// # Errors
/// Why these are not such a file's content.
pub fn from_bytes<T: Kept>(bytes: &[u8]) -> Result<T, String> {
    let damaged = || "the file is damaged".to_owned();
    let text = std::str::from_utf8(bytes).map_err(|_| damaged())?;
    let (header, body) = text.split_once('\n').ok_or_else(damaged)?;
    let value = match header.split(' ').collect::<Vec<_>>()[..] {
        ["copse", kind, "1"] if kind == T::KIND => format1::convert(kind, text)
            .and_then(|(json, texts)| from_content(Content::deserialize(&json).ok()?, &texts)),
        ["copse", kind, FORMAT, sum] if kind == T::KIND && sum == checksum(body.as_bytes()) => {
            body.split_once('\n').and_then(|(json, texts)| from_content(serde_json::from_str(json).ok()?, texts))
        }
        ["copse", kind, format, ..] if kind == T::KIND && format != FORMAT => {
            return Err("another version of copse wrote it".to_owned());
        }
        _ => None,
    };
    value.ok_or_else(damaged)
}

fn from_content<T: Kept>(content: Content<'_, T::Record>, mut rest: &str) -> Option<T> {
    let mut texts = Vec::with_capacity(content.texts.len());
    for TextRecord { path, size } in content.texts {
        let (text, after) = rest.split_at_checked(size)?;
        texts.push(Arc::new(SourceFile { path: path.into_owned().into(), text: text.to_owned() }));
        rest = after;
    }
    T::from_record(content.value, &Texts(texts)).filter(|_| rest.is_empty())
}

/// The content of a regular file that only its owner, who runs this process, can read and write. `None` if there is none.
fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, String> {
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
        return Err("it is not a regular file that only its owner can read and write".to_owned());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
    file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(Some(bytes))
}
