//! Where groups come from, and what they are read for: the arguments that `check` and `render` share.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::exit::Exit;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile};
use crate::basic::scope::{Directories, Scope};
use crate::basic::suggest;
use crate::generator;
use crate::generator::load;
use crate::generator::load::{GroupOutcome, Outcome};
use crate::group_file::discover::{Found, FoundGroup, Source};
use crate::model;
use crate::model::Context;
use crate::unit::directives::Systemd;
use crate::unit::name::GroupName;

/// What is longer isn't read from the standard input either: no group file is.
const STDIN_MAX: u64 = 4 << 20;

/// The arguments.
#[derive(Debug, Args)]
pub struct Input {
    /// Look for group files, units and systemd below this directory instead of `/`.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// What `"cpus"` stands for [default: the CPUs that this process may use].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Option<u32>,

    /// The version of systemd that the units are for [default: the installed one, or else the newest known].
    #[arg(long, value_name = "N", value_parser = systemd_version())]
    systemd_version: Option<u32>,

    /// The group's name where `-` stands for a file.
    #[arg(long, value_name = "GROUP", default_value = "stdin", value_parser = group_name)]
    stdin_name: GroupName,
}

/// The versions that units can be made for.
pub fn systemd_version() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(i64::from(Systemd::OLDEST.version)..)
}

pub(crate) fn group_name(text: &str) -> Result<GroupName, &'static str> {
    GroupName::new(text)
        .ok_or("a group's name begins with a letter or a digit and holds letters, digits, `_`, `.`, `-`")
}

/// What was asked for, read.
pub struct Loaded {
    /// The groups, by name within each way of naming them.
    pub outcome: Outcome,
    /// Where they were looked for.
    pub directories: Directories,
    /// What they are for.
    pub systemd: Systemd,
    /// They are groups of this machine, asked for by name: not files, nor below another root.
    here: bool,
}

impl Loaded {
    /// Whether what they name has to be on this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.here
    }
}

impl Input {
    /// Reads what `arguments` name: a group, by its name, or a group file, which holds a slash, ends in `.toml`, or is
    /// `-`; without any, all groups of the scope.
    ///
    /// # Errors
    /// [`Exit::NoSuchGroup`], or [`Exit::Usage`] where the root isn't there; with a line on the standard error.
    pub fn load(&self, scope: Scope, arguments: &[PathBuf]) -> Result<Loaded, Exit> {
        let root = self.root.as_ref().map(|root| std::path::absolute(root).unwrap_or_else(|_| root.clone()));
        if let Some(root) = root.as_ref().filter(|root| !root.is_dir()) {
            super::output::complain(format_args!("`--root`: there is no directory `{}`", root.display()));
            return Err(Exit::Usage);
        }
        let directories = Directories::from_environment(scope, root);
        let context = Context { scope, cpus: self.cpus.unwrap_or_else(generator::cpus) };
        let version = self.systemd_version.map(|version| Systemd { version });
        let systemd = version.or_else(|| Systemd::detect(&directories)).unwrap_or(Systemd::NEWEST);
        let mut loaded = Outcome::default();
        let (files, names): (Vec<&Path>, Vec<&Path>) =
            arguments.iter().map(PathBuf::as_path).partition(|argument| is_file(argument));
        if !files.is_empty() {
            let outcome = load::resolve(self.found(&files), &directories, &context);
            loaded.groups.extend(outcome.groups);
            loaded.diagnostics.extend(outcome.diagnostics);
        }
        if files.is_empty() || !names.is_empty() {
            // Also for one group by its name all are read: they are checked against each other.
            let outcome = load::load(&directories, &context);
            if names.is_empty() {
                loaded.groups.extend(outcome.groups);
                loaded.diagnostics.extend(outcome.diagnostics);
            } else {
                loaded.groups.extend(chosen(outcome.groups, &names)?);
            }
        }
        say_left_out(&mut loaded, systemd);
        let here = files.is_empty() && directories.root.is_none();
        Ok(Loaded { outcome: loaded, directories, systemd, here })
    }

    /// The named files, and the standard input among them.
    fn found(&self, files: &[&Path]) -> Found {
        let named: Vec<&Path> = files.iter().copied().filter(|file| !is_stdin(file)).collect();
        let mut found = crate::group_file::discover::named(&named);
        if files.iter().any(|file| is_stdin(file)) {
            found.groups.push(self.stdin());
        }
        found
    }

    fn stdin(&self) -> FoundGroup {
        let path = PathBuf::from("<stdin>");
        let (name, mut diagnostics) = (self.stdin_name.clone(), Diagnostics::default());
        let source = match read_stdin(&path) {
            Ok(text) => {
                let file = Arc::new(SourceFile { path: path.clone(), text });
                Some(Source { name: name.clone(), file, drop_ins: Vec::new() })
            }
            Err(diagnostic) => {
                diagnostics.push(diagnostic);
                None
            }
        };
        FoundGroup { name, path, source, diagnostics }
    }
}

/// Adds what that systemd doesn't take, and so is left out of the units.
pub fn say_left_out(outcome: &mut Outcome, systemd: Systemd) {
    for group in &mut outcome.groups {
        if let Some(source) = &group.source {
            group.diagnostics.extend(model::unsupported(source, systemd));
            group.diagnostics.sort();
        }
    }
}

fn read_stdin(path: &Path) -> Result<String, Diagnostic> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(STDIN_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Diagnostic::file(Code::Unreadable, path, format!("can't be read: {error}")))?;
    if bytes.len() as u64 > STDIN_MAX {
        return Err(Diagnostic::file(Code::TooLarge, path, "larger than 4 MiB: hardly a group file"));
    }
    String::from_utf8(bytes).map_err(|_| Diagnostic::file(Code::NotUtf8, path, "the file isn't UTF-8 text"))
}

fn is_stdin(argument: &Path) -> bool {
    argument == Path::new("-")
}

fn is_file(argument: &Path) -> bool {
    is_stdin(argument)
        || argument.as_os_str().as_encoded_bytes().contains(&b'/')
        || argument.extension().is_some_and(|extension| extension == "toml")
}

/// Those of the groups that have these names.
fn chosen(groups: Vec<GroupOutcome>, names: &[&Path]) -> Result<Vec<GroupOutcome>, Exit> {
    let mut missing = false;
    for name in names {
        if groups.iter().any(|group| Path::new(group.name.as_str()) == *name) {
            continue;
        }
        missing = true;
        let name = name.display().to_string();
        let near = suggest::nearest(&name, groups.iter().map(|group| group.name.as_str()));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        super::output::complain(format_args!("there is no group `{name}`{hint}"));
    }
    if missing {
        return Err(Exit::NoSuchGroup);
    }
    Ok(groups.into_iter().filter(|group| names.contains(&Path::new(group.name.as_str()))).collect())
}
