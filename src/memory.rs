//! What the generator remembers until the next boot: the last good text of each group, and units that are gone.
//!
//! systemd empties the generator's directory before each run, so yesterday's units can't be looked up there. A group
//! file that somebody broke must not cost a running group its restart policies, and a process that left its group
//! must still be stopped the way it wants: both are generated again from what is kept here.
//!
//! One file, written beside and renamed, only when something changed. It holds group files, which may hold secrets:
//! nobody but its owner may read it, and one that others could have written isn't believed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::diagnostic::{Code, Diagnostic, SourceFile};
use crate::source::Source;
use crate::unit::name::GroupName;

/// The first line; another version of copse that keeps other things has another number here.
const FORMAT: &str = "copse last-good 1";

/// How the names of files begin that are being written.
const TEMPORARY: &str = ".last-good-";

/// What is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory {
    /// What `"cpus"` meant then.
    pub cpus: u32,
    /// Each group as it was last generated without an error.
    pub groups: BTreeMap<GroupName, Source>,
    /// The files of units that left their group while running, by path in the generator's directory.
    pub gone: BTreeMap<String, String>,
}

/// A [`Memory`] on disk.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// What the file holds.
    found: Vec<u8>,
}

impl Store {
    /// Reads the file at `path`. Nothing is remembered where there is none (a boot), or where it isn't to be
    /// believed: then a diagnostic says why.
    #[must_use]
    pub fn read(path: PathBuf) -> (Self, Memory, Option<Diagnostic>) {
        let read = read(&path);
        let found = read.as_ref().cloned().unwrap_or_default();
        let memory = match read {
            Ok(bytes) if bytes.is_empty() => Ok(Memory::default()),
            Ok(bytes) => Memory::decode(&bytes).ok_or_else(|| "it is damaged, or another version's".to_owned()),
            Err(why) => Err(why),
        };
        let diagnostic = memory.as_ref().err().map(|why| {
            Diagnostic::file(Code::LastGood, &path, format!("what was remembered since the boot is ignored: {why}"))
        });
        (Self { path, found }, memory.unwrap_or_default(), diagnostic)
    }

    /// Writes `memory`, unless the file holds just that.
    ///
    /// # Errors
    /// Where it couldn't be written; the file is as it was then.
    pub fn write(&self, memory: &Memory) -> Result<(), Diagnostic> {
        let bytes = memory.encode();
        if bytes == self.found {
            return Ok(());
        }
        write(&self.path, &bytes).map_err(|error| {
            let message = format!("the last good units can't be kept: {error}");
            Diagnostic::file(Code::LastGood, &self.path, message)
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let mut file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    let own = metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o077 == 0;
    if !metadata.is_file() || !own {
        return Err("it isn't a file that only its owner can read and write".into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
    file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
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

impl Memory {
    /// A line for each thing, `WORD LENGTH LENGTH`, then that many bytes of each, and a hash at the end: a file that
    /// was cut off, or that somebody edited, is seen.
    fn encode(&self) -> Vec<u8> {
        let mut text = format!("{FORMAT}\ncpus {}\n", self.cpus);
        for (name, source) in &self.groups {
            let files = std::iter::once(&source.file).chain(&source.drop_ins);
            let _ = writeln!(text, "group {} {}", 1 + source.drop_ins.len(), name);
            for file in files {
                pair(&mut text, "file", &file.path.to_string_lossy(), &file.text);
            }
        }
        for (path, unit) in &self.gone {
            pair(&mut text, "gone", path, unit);
        }
        let hash = hash(text.as_bytes());
        let _ = writeln!(text, "end {hash}");
        text.into_bytes()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let body = text.get(..text.strip_suffix('\n')?.rfind('\n')? + 1)?;
        if text[body.len()..] != format!("end {}\n", hash(body.as_bytes())) {
            return None;
        }
        let mut rest = body.strip_prefix(FORMAT)?.strip_prefix('\n')?;
        let mut memory = Self::default();
        while !rest.is_empty() {
            let line = take_line(&mut rest)?;
            match line.split_once(' ')? {
                ("cpus", number) => memory.cpus = number.parse().ok()?,
                ("group", about) => {
                    let (count, name) = about.split_once(' ')?;
                    let name = GroupName::new(name)?;
                    let mut files = Vec::new();
                    for _ in 0..count.parse::<usize>().ok()? {
                        let lengths = take_line(&mut rest)?.strip_prefix("file ")?;
                        let (path, text) = take_pair(&mut rest, lengths)?;
                        files.push(Arc::new(SourceFile { path: path.into(), text: text.to_owned() }));
                    }
                    let drop_ins = files.split_off(1.min(files.len()));
                    let source = Source { name: name.clone(), file: files.pop()?, drop_ins };
                    memory.groups.insert(name, source);
                }
                ("gone", lengths) => {
                    let (path, unit) = take_pair(&mut rest, lengths)?;
                    memory.gone.insert(path.to_owned(), unit.to_owned());
                }
                _ => return None,
            }
        }
        Some(memory)
    }
}

fn pair(text: &mut String, word: &str, first: &str, second: &str) {
    let _ = writeln!(text, "{word} {} {}\n{first}{second}", first.len(), second.len());
}

fn take_line<'t>(rest: &mut &'t str) -> Option<&'t str> {
    let (line, after) = rest.split_once('\n')?;
    *rest = after;
    Some(line)
}

fn take_pair<'t>(rest: &mut &'t str, lengths: &str) -> Option<(&'t str, &'t str)> {
    let (first, second) = lengths.split_once(' ')?;
    let (first, second): (usize, usize) = (first.parse().ok()?, second.parse().ok()?);
    let both = rest.get(..first.checked_add(second)?)?;
    *rest = rest[both.len()..].strip_prefix('\n')?;
    Some((both.get(..first)?, both.get(first..)?))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Memory {
        let file = |path: &str, text: &str| Arc::new(SourceFile { path: path.into(), text: text.into() });
        let name = |text: &str| GroupName::new(text).unwrap();
        let source = |group: &str, drop_ins: Vec<_>| Source {
            name: name(group),
            file: file("/etc/copse/x é.toml", "end of it\ngroup 1 x\nnot a line"),
            drop_ins,
        };
        Memory {
            cpus: 4,
            groups: BTreeMap::from([
                (name("a"), source("a", vec![file("/run/copse/a.toml.d/1.toml", ""), file("/2", "2\n")])),
                (name("b"), source("b", vec![])),
            ]),
            gone: BTreeMap::from([("a-b.service".into(), "[Unit]\n".into()), ("x.d/50-copse.conf".into(), "é".into())]),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for memory in [Memory::default(), sample()] {
            assert_eq!(Memory::decode(&memory.encode()), Some(memory));
        }
    }

    #[test]
    fn whatever_is_cut_off_or_changed_is_seen() {
        let good = sample().encode();
        for end in 0..good.len() {
            assert_eq!(Memory::decode(&good[..end]), None, "cut off at {end}");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert_eq!(Memory::decode(&bad), None, "changed at {at}");
        }
    }

    #[test]
    fn another_versions_is_not_understood_even_if_whole() {
        let body = String::from_utf8(sample().encode()).unwrap().replace("last-good 1", "last-good 2");
        let body = &body[..body.rfind("end ").unwrap()];
        assert_eq!(Memory::decode(format!("{body}end {}\n", hash(body.as_bytes())).as_bytes()), None);
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        for lie in
            ["gone 5 5\nab\n", "gone 18446744073709551615 1\nab\n", "gone 1 1\né\n", "group 0 a\n", "group 9 a\n"]
        {
            let body = format!("{FORMAT}\n{lie}");
            assert_eq!(Memory::decode(format!("{body}end {}\n", hash(body.as_bytes())).as_bytes()), None, "{lie}");
        }
    }

    #[test]
    fn the_file_is_private_and_kept_only_when_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made/last-good");
        let (store, memory, diagnostic) = Store::read(path.clone());
        assert_eq!((memory, diagnostic), (Memory::default(), None));
        store.write(&sample()).unwrap();
        let inode = std::fs::metadata(&path).unwrap();
        assert_eq!(inode.mode() & 0o7777, 0o600);
        let (store, memory, diagnostic) = Store::read(path.clone());
        assert_eq!((&memory, diagnostic), (&sample(), None));
        store.write(&memory).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode.ino());
        // A killed run's is removed on the way.
        std::fs::write(path.with_file_name(".last-good-4194305"), "").unwrap();
        store.write(&Memory::default()).unwrap();
        assert_ne!(std::fs::metadata(&path).unwrap().ino(), inode.ino());
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_others_could_have_written_is_not_believed() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("last-good");
        std::fs::write(&path, sample().encode()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let (_, memory, diagnostic) = Store::read(path.clone());
        assert_eq!(memory, Memory::default());
        assert!(diagnostic.unwrap().message.contains("only its owner"));
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Store::read(link).2.is_some());
    }
}
