//! The fingerprint of a setup step: everything that would make its result
//! another one, in one SHA-256.
//!
//! Every part goes in with its kind and its length before it, so that no two
//! different steps can give the same bytes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Changes whenever the meaning of the bytes does.
const VERSION: &[u8] = b"copse-notify once 1";

/// What a step depends on.
pub struct Step<'a> {
    /// The command and its arguments.
    pub command: &'a [OsString],
    /// What else defines it.
    pub definitions: &'a [OsString],
    /// Files and directories it reads.
    pub inputs: &'a [OsString],
    /// `$CREDENTIALS_DIRECTORY`. Only names and contents count: the path is
    /// the unit's, also where it is in the command, and systemd makes the files anew at each start.
    pub credentials: Option<&'a OsStr>,
}

/// An input that cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The file or directory.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// The fingerprint, in hexadecimal.
///
/// # Errors
/// An input exists but cannot be read: that is not the same as an unchanged one.
pub fn of(step: &Step<'_>) -> Result<String, Unreadable> {
    let mut sum = Sum(Sha256::new());
    sum.part(b'v', VERSION);
    for argument in step.command {
        sum.part(b'a', &without_path(argument.as_bytes(), step.credentials));
    }
    for definition in step.definitions {
        sum.part(b'd', definition.as_bytes());
    }
    for input in step.inputs {
        sum.part(b'i', input.as_bytes());
        sum.input(Path::new(input), &mut Vec::new())?;
    }
    if let Some(directory) = step.credentials {
        sum.credentials(Path::new(directory))?;
    }
    let mut hexadecimal = String::new();
    for byte in sum.0.finalize() {
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    Ok(hexadecimal)
}

struct Sum(Sha256);

impl Sum {
    fn part(&mut self, kind: u8, bytes: &[u8]) {
        self.head(kind, bytes.len() as u64);
        self.0.update(bytes);
    }

    fn head(&mut self, kind: u8, length: u64) {
        self.0.update([kind]);
        self.0.update(length.to_le_bytes());
    }

    /// A file or directory, links followed. `above` are the directories on
    /// the way here: one that comes again is a loop of links.
    fn input(&mut self, path: &Path, above: &mut Vec<(u64, u64)>) -> Result<(), Unreadable> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if is_missing(&error) => {
                self.part(b'0', b"");
                return Ok(());
            }
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
                self.part(b'l', b"");
                return Ok(());
            }
            Err(error) => return Err(unreadable(path, error)),
        };
        if metadata.is_dir() {
            self.directory(path, &metadata, above)
        } else if metadata.is_file() {
            self.file(path, &metadata)
        } else {
            self.special(&metadata);
            Ok(())
        }
    }

    fn mode(&mut self, metadata: &Metadata) {
        self.part(b'm', &(metadata.mode() & 0o7777).to_le_bytes());
    }

    fn directory(&mut self, path: &Path, metadata: &Metadata, above: &mut Vec<(u64, u64)>) -> Result<(), Unreadable> {
        let identity = (metadata.dev(), metadata.ino());
        if above.contains(&identity) {
            self.part(b'l', b"");
            return Ok(());
        }
        let names = match names(path) {
            Err(error) if is_missing(&error) => {
                self.part(b'0', b"");
                return Ok(());
            }
            names => names.map_err(|error| unreadable(path, error))?,
        };
        self.head(b'D', names.len() as u64);
        self.mode(metadata);
        above.push(identity);
        for name in names {
            self.part(b'n', name.as_bytes());
            self.input(&path.join(name), above)?;
        }
        above.pop();
        Ok(())
    }

    /// The content goes in piece by piece, its length after it: a file that
    /// grows meanwhile would belie one given before.
    fn file(&mut self, path: &Path, metadata: &Metadata) -> Result<(), Unreadable> {
        let mut file = match File::open(path) {
            Err(error) if is_missing(&error) => {
                self.part(b'0', b"");
                return Ok(());
            }
            file => file.map_err(|error| unreadable(path, error))?,
        };
        let mut content = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => content.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(path, error)),
            }
        }
        self.part(b'f', &content.finalize());
        self.mode(metadata);
        Ok(())
    }

    /// A socket, a pipe, a device: what it is, never what comes out of it.
    fn special(&mut self, metadata: &Metadata) {
        let kind = metadata.file_type();
        let kind = match () {
            () if kind.is_fifo() => b'p',
            () if kind.is_socket() => b's',
            () if kind.is_char_device() => b'c',
            () => b'b',
        };
        self.part(kind, &metadata.rdev().to_le_bytes());
        self.mode(metadata);
    }

    fn credentials(&mut self, directory: &Path) -> Result<(), Unreadable> {
        let names = match names(directory) {
            Err(error) if is_missing(&error) => Vec::new(),
            names => names.map_err(|error| unreadable(directory, error))?,
        };
        let mut contents = BTreeMap::new();
        for name in names {
            let path = directory.join(&name);
            let content = fs::read(&path).map_err(|error| unreadable(&path, error))?;
            contents.insert(name, content);
        }
        for (name, content) in contents {
            self.part(b'C', name.as_bytes());
            self.part(b'c', &content);
        }
        Ok(())
    }
}

/// `argument` with another byte, one that no argument holds, for the path of the credentials: that is the unit's, and a
/// step is run again in another unit than it is run first.
fn without_path(argument: &[u8], credentials: Option<&OsStr>) -> Vec<u8> {
    let path = credentials.map(OsStr::as_bytes).filter(|path| !path.is_empty());
    let Some(path) = path else { return argument.to_vec() };
    let (mut rest, mut without) = (argument, Vec::with_capacity(argument.len()));
    while !rest.is_empty() {
        match rest.strip_prefix(path) {
            Some(after) => {
                without.push(0);
                rest = after;
            }
            None => {
                without.push(rest[0]);
                rest = &rest[1..];
            }
        }
    }
    without
}

/// The names in a directory, sorted: their order on disk means nothing.
fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let mut names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn unreadable(path: &Path, error: io::Error) -> Unreadable {
    Unreadable { path: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn fingerprint(inputs: &[&Path]) -> String {
        let inputs: Vec<OsString> = inputs.iter().map(|path| path.as_os_str().to_owned()).collect();
        of(&Step { command: &["x".into()], definitions: &[], inputs: &inputs, credentials: None }).unwrap()
    }

    /// The fingerprints of an input after each change; all must differ.
    #[test]
    fn every_state_of_an_input_is_one_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let input = at("input");
        let mut seen = vec![("missing", fingerprint(&[&input]))];
        let mut note = |state, input: &Path| seen.push((state, fingerprint(&[input])));
        fs::write(&input, "").unwrap();
        fs::set_permissions(&input, fs::Permissions::from_mode(0o644)).unwrap();
        note("empty", &input);
        fs::write(&input, "a").unwrap();
        note("content", &input);
        fs::set_permissions(&input, fs::Permissions::from_mode(0o600)).unwrap();
        note("mode", &input);
        fs::remove_file(&input).unwrap();
        fs::create_dir(&input).unwrap();
        note("directory", &input);
        fs::create_dir(input.join("sub")).unwrap();
        note("with a directory", &input);
        fs::write(input.join("sub/file"), "x").unwrap();
        note("with a file below", &input);
        fs::write(input.join("sub/file"), "y").unwrap();
        note("with another content below", &input);
        fs::rename(input.join("sub/file"), input.join("sub/name")).unwrap();
        note("with another name", &input);
        symlink("/nonexistent", input.join("link")).unwrap();
        note("with a dangling link", &input);
        fs::remove_file(input.join("link")).unwrap();
        symlink("link", input.join("link")).unwrap();
        note("with a link to itself", &input);
        fs::remove_file(input.join("link")).unwrap();
        fs::write(at("elsewhere"), "1").unwrap();
        symlink(at("elsewhere"), input.join("link")).unwrap();
        note("with a link to a file", &input);
        fs::write(at("elsewhere"), "2").unwrap();
        note("whose content changed", &input);
        for (index, (state, one)) in seen.iter().enumerate() {
            for (other_state, other) in &seen[index + 1..] {
                assert_ne!(one, other, "{state} looks like {other_state}");
            }
        }
    }

    #[test]
    fn a_loop_of_links_ends() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        symlink("../..", root.path().join("a/b/up")).unwrap();
        symlink(".", root.path().join("self")).unwrap();
        let before = fingerprint(&[root.path()]);
        assert_eq!(before, fingerprint(&[root.path()]));
        fs::write(root.path().join("a/b/file"), "x").unwrap();
        assert_ne!(before, fingerprint(&[root.path()]));
    }

    #[test]
    fn a_pipe_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert_ne!(fingerprint(&[&path]), fingerprint(&[&root.path().join("none")]));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let step = |command: &[&str], definitions: &[&str], inputs: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(OsString::from).collect::<Vec<_>>();
            of(&Step {
                command: &owned(command),
                definitions: &owned(definitions),
                inputs: &owned(inputs),
                credentials: None,
            })
            .unwrap()
        };
        let all = [
            step(&["a", "b"], &[], &[]),
            step(&["ab"], &[], &[]),
            step(&["a"], &["b"], &[]),
            step(&["a"], &[], &["/nonexistent/b"]),
            step(&["a", ""], &[], &[]),
            step(&["a"], &[], &[]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[index + 1..].contains(one), "{index}");
        }
    }

    #[test]
    fn credentials_count_by_name_and_content_only() {
        let with = |files: &[(&str, &str)]| {
            let root = tempfile::tempdir().unwrap();
            for (name, content) in files {
                fs::write(root.path().join(name), content).unwrap();
            }
            of(&Step {
                command: &["x".into()],
                definitions: &[],
                inputs: &[],
                credentials: Some(root.path().as_os_str()),
            })
            .unwrap()
        };
        assert_eq!(with(&[("a", "1")]), with(&[("a", "1")]));
        assert_ne!(with(&[("a", "1")]), with(&[("a", "2")]));
        assert_ne!(with(&[("a", "1")]), with(&[("b", "1")]));
        assert_ne!(with(&[]), with(&[("a", "")]));
    }

    #[test]
    fn the_path_of_the_credentials_in_an_argument_does_not_count() {
        let with = |directory: &str, argument: &str| {
            let command = ["x".into(), argument.into()];
            of(&Step { command: &command, definitions: &[], inputs: &[], credentials: Some(OsStr::new(directory)) })
                .unwrap()
        };
        assert_eq!(with("/run/c/a", "file:/run/c/a/key"), with("/run/c/b", "file:/run/c/b/key"));
        assert_ne!(with("/run/c/a", "file:/run/c/a/key"), with("/run/c/a", "file:/run/c/a/other"));
        assert_ne!(with("/run/c/a", "/run/c/b"), with("/run/c/a", "/run/c/a"));
        assert_ne!(with("", "/run/c/b"), with("", "/run/c/a"));
    }
}
