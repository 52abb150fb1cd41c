//! `copse export kubernetes`

use std::collections::BTreeMap;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::directory;
use crate::basic::diagnostic::{Diagnostics, Severity};
use crate::basic::scope::{Directories, Scope};
use crate::basic::suggest;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::input::{is_file, read_file};
use crate::cli::common::output;
use crate::cli::common::report::{Counts, Format, Report};
use crate::export;
use crate::export::options::{ConfigFile, Kind, OLDEST, Options};
use crate::generator;
use crate::group_file::discover;
use crate::group_file::discover::{FoundGroup, Source};
use crate::model;
use crate::model::Context;

/// Write manifests for Kubernetes: one workload for the group, with its processes as containers.
#[derive(Debug, Args)]
pub struct Kubernetes {
    /// A group, or a group file (with a `/`, or ending in `.toml`).
    #[arg(value_name = "GROUP|FILE", required_unless_present = "explain")]
    group: Option<PathBuf>,

    /// Image of every container.
    #[arg(long, value_name = "IMAGE", required_unless_present = "explain")]
    image: Option<String>,

    /// Number of pods, each with all processes of the group.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "split")]
    replicas: u32,

    /// Write a workload for each process, with its instances as replicas.
    #[arg(long)]
    split: bool,

    /// Kind of the workload [default: statefulset if the group has state directories, else deployment].
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Option<WorkloadKind>,

    /// Size of the volume of each state directory, such as `10Gi`.
    #[arg(long, value_name = "SIZE", value_parser = quantity)]
    storage: Option<String>,

    /// Namespace of all objects.
    #[arg(long, value_name = "NAMESPACE", value_parser = dns_label)]
    namespace: Option<String>,

    /// Oldest version of Kubernetes that takes the manifests.
    #[arg(long, value_name = "VERSION", default_value = "1.29", value_parser = minor_version)]
    kubernetes: u32,

    /// Time zone of timers that name none, such as `Europe/Berlin`.
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,

    /// Numbers of a user in the image.
    #[arg(long, value_name = "NAME=UID[:GID]", value_parser = user_id)]
    user_id: Vec<(String, (u32, Option<u32>))>,

    /// Put the file at this path into a ConfigMap, and mount it there; read FILE instead, if it is given.
    #[arg(long, value_name = "PATH[=FILE]", value_parser = config_path)]
    config_file: Vec<(String, PathBuf)>,

    /// Merge this drop-in, which the machines do not read. `KEY = false` removes a key.
    #[arg(long, value_name = "DROP-IN")]
    with: Vec<PathBuf>,

    /// Write a file for each object, and a kustomization, into this directory.
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Print what becomes of each key, and export nothing.
    #[arg(long, exclusive = true)]
    pub(super) explain: bool,

    #[command(flatten)]
    report: Report,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WorkloadKind {
    Deployment,
    Statefulset,
    Daemonset,
}

impl Kubernetes {
    /// Reads the group, and writes the manifests unless something is refused.
    pub(super) fn run(self, scope: Scope) -> Result<Exit, Error> {
        let found = self.find(scope)?;
        let Some(source) = &found.source else {
            self.report.print(found.diagnostics.iter());
            return Ok(Exit::Invalid);
        };
        let with = match self.with.iter().map(|path| read_file(path).map(Arc::new)).collect::<Result<Vec<_>, _>>() {
            Ok(with) => with,
            Err(diagnostic) => {
                self.report.print([&diagnostic]);
                return Ok(Exit::Failed);
            }
        };
        let options = self.options()?;
        let context = Context { scope, cpus: generator::cpus() };
        let (group, document, mut diagnostics) = model::read_with(source, &with, &context);
        let mut files = Vec::new();
        if let Some(group) = &group {
            let (manifests, found) = export::kubernetes(group, &document, &options);
            diagnostics.extend(found);
            let header = export::header(group, &options);
            files.extend(manifests.iter().map(|manifest| (manifest.file.clone(), header.clone() + &manifest.text())));
            if self.output.is_some() && !files.is_empty() {
                files.push(("kustomization.yaml".to_owned(), header + &export::kustomization(&manifests)));
            }
        }
        diagnostics.sort();
        self.finish(source, &files, &diagnostics)
    }

    fn find(&self, scope: Scope) -> Result<FoundGroup, Error> {
        let path = self.group.as_deref().unwrap_or(Path::new(""));
        let found = match is_file(path) {
            true => discover::named(&[path]),
            false => discover::find(&Directories::from_environment(scope, None)),
        };
        let name = path.display().to_string();
        let near = suggest::nearest(&name, found.groups.iter().map(|group| group.name.as_str())).map(str::to_owned);
        if is_file(path) && found.groups.is_empty() {
            self.report.print(found.diagnostics.iter());
            return Err(Error::new(Exit::Invalid, format_args!("cannot export `{name}`")));
        }
        let is_it = |group: &FoundGroup| is_file(path) || group.name.as_str() == name;
        let group = found.groups.into_iter().find(is_it);
        group.ok_or_else(|| {
            Error::no_such_group(format_args!("there is no group `{name}`")).did_you_mean(near.as_deref())
        })
    }

    fn options(&self) -> Result<Options, Error> {
        let files: Result<Vec<ConfigFile>, Error> =
            self.config_file.iter().map(|(path, file)| config_file(path, file)).collect();
        let mut files = files?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Ok(Options {
            image: self.image.clone().unwrap_or_default(),
            kind: self.kind.map(|kind| match kind {
                WorkloadKind::Deployment => Kind::Deployment,
                WorkloadKind::Statefulset => Kind::StatefulSet,
                WorkloadKind::Daemonset => Kind::DaemonSet,
            }),
            replicas: self.replicas,
            split: self.split,
            storage: self.storage.clone(),
            namespace: self.namespace.clone(),
            kubernetes: self.kubernetes,
            timezone: self.timezone.clone(),
            users: self.user_id.iter().cloned().collect::<BTreeMap<_, _>>(),
            files,
        })
    }

    fn finish(&self, source: &Source, files: &[(String, String)], diagnostics: &Diagnostics) -> Result<Exit, Error> {
        let text = self.report.text(diagnostics.iter(), &stderr());
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = write!(stderr(), "{text}{gap}");
        if diagnostics.has_errors() {
            if self.report.format == Format::Auto {
                let _ = writeln!(stderr(), "{}: {}, not exported", source.name, Counts::of(diagnostics.iter()));
            }
            return Ok(Exit::Invalid);
        }
        match &self.output {
            Some(path) => directory::write(path, files)?,
            None => {
                let texts: Vec<&str> = files.iter().map(|(_, text)| text.as_str()).collect();
                output::print(&texts.join("---\n"))?;
            }
        }
        if self.report.format == Format::Auto && (self.output.is_some() || !text.is_empty()) {
            let _ = writeln!(stderr(), "{}: {}", source.name, Counts::of(diagnostics.iter()));
        }
        let has_notes = diagnostics.iter().any(|diagnostic| diagnostic.severity() != Severity::Error);
        Ok(if has_notes { Exit::WithNotes } else { Exit::Done })
    }
}

fn config_file(path: &str, file: &Path) -> Result<ConfigFile, Error> {
    /// The limit of the API server for all data of a ConfigMap.
    const LONGEST: usize = 1 << 20;
    let text = std::fs::read(file).map_err(|error| Error::file("read", file, &error))?;
    let cannot = |why: &str| Error::failed(format_args!("cannot put `{}` into a ConfigMap: {why}", file.display()));
    if text.len() > LONGEST {
        return Err(cannot("it is larger than 1 MiB"));
    }
    let text = String::from_utf8(text).map_err(|_| cannot("it is not UTF-8 text"))?;
    Ok(ConfigFile { path: path.to_owned(), text })
}

/// `PATH[=FILE]`
fn config_path(text: &str) -> Result<(String, PathBuf), &'static str> {
    let (path, file) = text.split_once('=').unwrap_or((text, text));
    match path.starts_with('/') && !file.is_empty() {
        true => Ok((path.to_owned(), PathBuf::from(file))),
        false => Err("write an absolute path, and `=FILE` to read another file"),
    }
}

/// `1.29` → 29
fn minor_version(text: &str) -> Result<u32, String> {
    let minor = text.strip_prefix("1.").and_then(|minor| minor.parse().ok()).filter(|minor| *minor >= OLDEST);
    minor.ok_or_else(|| format!("write `1.N`, from 1.{OLDEST} on"))
}

/// `NAME=UID[:GID]`
fn user_id(text: &str) -> Result<(String, (u32, Option<u32>)), &'static str> {
    const EXPECTED: &str = "write `NAME=UID` or `NAME=UID:GID`, such as `shop=998:998`";
    let (name, numbers) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or(EXPECTED)?;
    let (uid, gid) = numbers.split_once(':').map_or((numbers, None), |(uid, gid)| (uid, Some(gid)));
    let number = |text: &str| text.parse::<u32>().map_err(|_| EXPECTED);
    Ok((name.to_owned(), (number(uid)?, gid.map(number).transpose()?)))
}

/// A size as Kubernetes takes it.
fn quantity(text: &str) -> Result<String, &'static str> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_number = number.parse::<u64>().is_ok_and(|number| number > 0);
    let suffixes = ["", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"];
    match is_number && suffixes.contains(&&text[number.len()..]) {
        true => Ok(text.to_owned()),
        false => Err("write a size such as `10Gi`"),
    }
}

fn dns_label(text: &str) -> Result<String, &'static str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let valid = !text.is_empty() && text.len() <= 63 && text.chars().all(plain) && !text.starts_with('-');
    match valid && !text.ends_with('-') {
        true => Ok(text.to_owned()),
        false => Err("a namespace has up to 63 lower-case letters, digits and `-`, and no `-` at its ends"),
    }
}
