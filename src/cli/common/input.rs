//! The group files that commands read which need no service manager.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::args::{group_name, systemd_version};
use super::error::Error;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile};
use crate::basic::scope::{Directories, Scope};
use crate::basic::suggest;
use crate::generator;
use crate::generator::load;
use crate::generator::load::{GroupOutcome, Outcome};
use crate::group_file::discover;
use crate::group_file::discover::{Candidate, Found, FoundGroup, Source};
use crate::model;
use crate::model::Context;
use crate::unit::directives::Systemd;
use crate::unit::name::GroupName;

/// The longest standard input, in bytes: the limit for group files.
const STDIN_MAX: u64 = 4 << 20;

#[derive(Debug, Args)]
pub(crate) struct Input {
    /// Read group files, units and the version of systemd below DIR instead of `/`.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Value of `instances = "cpus"` [default: usable CPUs].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Option<u32>,

    /// Version of systemd to generate units for [default: the installed one, or else the newest known].
    #[arg(long, value_name = "N", value_parser = systemd_version())]
    systemd_version: Option<u32>,

    /// Name of the group that `-` reads from standard input.
    #[arg(long, value_name = "GROUP", default_value = "stdin", value_parser = group_name)]
    stdin_name: GroupName,
}

/// What was read.
pub(crate) struct Loaded {
    /// The groups of files first, then those selected by name.
    pub(crate) outcome: Outcome,
    pub(crate) directories: Directories,
    pub(crate) systemd: Systemd,
    /// The groups are installed on this machine, so the files and programs they name have to exist.
    pub(crate) is_installed: bool,
}

impl Input {
    /// Reads what `args` name: an installed group, or a group file, which contains a slash, ends in `.toml`, or is `-`.
    /// Without any, reads all groups of the scope.
    ///
    /// # Errors
    /// A group or the root does not exist.
    pub(crate) fn load(&self, scope: Scope, args: &[PathBuf]) -> Result<Loaded, Error> {
        let Loaded { mut outcome, directories, systemd, .. } = self.nothing(scope)?;
        let context = Context { scope, cpus: self.cpus.unwrap_or_else(generator::cpus) };
        let (files, names): (Vec<&Path>, Vec<&Path>) = args.iter().map(PathBuf::as_path).partition(|arg| is_file(arg));
        if !files.is_empty() {
            outcome = load::resolve(self.find(&files), &directories, &context);
        }
        if files.is_empty() || !names.is_empty() {
            // All groups, even to select one: they are checked against each other.
            let installed = load::load(&directories, &context);
            if names.is_empty() {
                outcome = installed;
            } else {
                outcome.groups.extend(select(installed.groups, &names)?);
            }
        }
        add_unsupported(&mut outcome, systemd);
        let is_installed = files.is_empty() && directories.root.is_none();
        Ok(Loaded { outcome, directories, systemd, is_installed })
    }

    /// Reads a group file, or `-`, as the file of a group that is installed with it.
    ///
    /// # Errors
    /// There is not exactly one file.
    pub(crate) fn load_as(&self, scope: Scope, group: &GroupName, args: &[PathBuf]) -> Result<Loaded, Error> {
        let mut loaded = self.nothing(scope)?;
        let context = Context { scope, cpus: self.cpus.unwrap_or_else(generator::cpus) };
        loaded.is_installed = loaded.directories.root.is_none();
        match candidate(group, only_file(args)?) {
            Ok(candidate) => loaded.outcome.groups.push(resolve_candidate(&candidate, &loaded.directories, &context)),
            Err(diagnostic) => loaded.outcome.diagnostics.push(diagnostic),
        }
        add_unsupported(&mut loaded.outcome, loaded.systemd);
        Ok(loaded)
    }

    /// Where to read, and nothing read yet.
    fn nothing(&self, scope: Scope) -> Result<Loaded, Error> {
        let root = self.root.as_ref().map(|root| std::path::absolute(root).unwrap_or_else(|_| root.clone()));
        if let Some(root) = root.as_ref().filter(|root| !root.is_dir()) {
            return Err(Error::usage(format_args!("`--root`: there is no directory `{}`", root.display())));
        }
        let directories = Directories::from_environment(scope, root);
        let version = self.systemd_version.map(|version| Systemd { version });
        let systemd = version.or_else(|| Systemd::detect(&directories)).unwrap_or(Systemd::NEWEST);
        Ok(Loaded { outcome: Outcome::default(), directories, systemd, is_installed: false })
    }

    fn find(&self, files: &[&Path]) -> Found {
        let named: Vec<&Path> = files.iter().copied().filter(|file| !is_stdin(file)).collect();
        let mut found = discover::named(&named);
        if named.len() < files.len() {
            found.groups.push(self.stdin());
        }
        found
    }

    fn stdin(&self) -> FoundGroup {
        let path = PathBuf::from("<stdin>");
        let (name, mut diagnostics) = (self.stdin_name.clone(), Diagnostics::default());
        let file = read_stdin(&path).map_err(|diagnostic| diagnostics.push(diagnostic)).ok();
        let source = file.map(|file| Source { name: name.clone(), file: Arc::new(file), drop_ins: Vec::new() });
        FoundGroup { name, path, source, diagnostics }
    }
}

/// The file of `--as GROUP FILE`, under any name.
///
/// # Errors
/// There is not exactly one.
pub(crate) fn only_file(args: &[PathBuf]) -> Result<&Path, Error> {
    match args {
        [file] => Ok(file),
        _ => Err(Error::usage("`--as` takes one file, or `-` for standard input")),
    }
}

/// Reads a file, or `-`, that becomes the file of `group`.
///
/// # Errors
/// It cannot be read.
pub(crate) fn candidate(group: &GroupName, file: &Path) -> Result<Candidate, Diagnostic> {
    match is_stdin(file) {
        true => {
            let file = Arc::new(read_stdin(Path::new("<stdin>"))?);
            Ok(Candidate { group: group.clone(), file, drop_ins: BTreeMap::new() })
        }
        false => Candidate::read(file, group),
    }
}

/// What a candidate means, checked against all other groups that are installed.
pub(crate) fn resolve_candidate(candidate: &Candidate, directories: &Directories, context: &Context) -> GroupOutcome {
    let found = discover::find_with(directories, candidate);
    let mut groups = load::resolve(found, directories, context).groups;
    // The candidate is the last one.
    groups.pop().expect("the candidate is a group")
}

/// Adds diagnostics for what `systemd` does not support, and is therefore missing from the units.
pub(crate) fn add_unsupported(outcome: &mut Outcome, systemd: Systemd) {
    for group in &mut outcome.groups {
        if let Some(source) = &group.source {
            group.diagnostics.extend(model::unsupported(source, systemd));
            group.diagnostics.sort();
        }
    }
}

/// Reads a file, such as another process manager's. The result has its absolute path.
pub(crate) fn read_file(path: &Path) -> Result<SourceFile, Diagnostic> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let bytes = std::fs::read(&path).map_err(|error| unreadable(&path, &error))?;
    source_file(&path, bytes)
}

fn read_stdin(path: &Path) -> Result<SourceFile, Diagnostic> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(STDIN_MAX + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > STDIN_MAX {
        return Err(Diagnostic::file(Code::TooLarge, path, "larger than 4 MiB: hardly a group file"));
    }
    source_file(path, bytes)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::file(Code::Unreadable, path, format!("cannot read the file: {error}"))
}

fn source_file(path: &Path, bytes: Vec<u8>) -> Result<SourceFile, Diagnostic> {
    let text =
        String::from_utf8(bytes).map_err(|_| Diagnostic::file(Code::NotUtf8, path, "the file is not UTF-8 text"))?;
    Ok(SourceFile { path: path.to_owned(), text })
}

fn is_stdin(arg: &Path) -> bool {
    arg == Path::new("-")
}

pub(crate) fn is_file(arg: &Path) -> bool {
    is_stdin(arg)
        || arg.as_os_str().as_encoded_bytes().contains(&b'/')
        || arg.extension().is_some_and(|extension| extension == "toml")
}

/// The groups of these names.
fn select(mut groups: Vec<GroupOutcome>, names: &[&Path]) -> Result<Vec<GroupOutcome>, Error> {
    let is = |group: &GroupOutcome, name: &Path| Path::new(group.name.as_str()) == name;
    if let Some(name) = names.iter().find(|name| !groups.iter().any(|group| is(group, name))) {
        let name = name.display().to_string();
        let near = suggest::nearest(&name, groups.iter().map(|group| group.name.as_str()));
        return Err(Error::no_such_group(format_args!("there is no group `{name}`")).did_you_mean(near));
    }
    groups.retain(|group| names.iter().any(|name| is(group, name)));
    Ok(groups)
}
