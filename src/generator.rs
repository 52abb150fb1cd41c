//! What `copse-generator` does: every group's units into systemd's directory, whatever is wrong with some of them.
//!
//! A group whose file is broken gets its last good units of this boot; with none, a `G.target` whose start fails and
//! says why. A unit that left its group while it runs is kept, because how to stop it stands there.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use crate::diagnostic::{At, Code, Diagnostic, Diagnostics, Severity};
use crate::generate::{self, Target};
use crate::kmsg::Log;
use crate::memory::{Memory, Store};
use crate::model::{self, Context};
use crate::pipeline::{Checks, GroupOutcome, guarded};
use crate::running::Running;
use crate::scope::Directories;
use crate::source::{self, Source};
use crate::systemd::Systemd;
use crate::tree::{Failure, Writer};
use crate::unit::name;
use crate::unit::{Entry, UnitTree};

/// What marks a target that was generated from an older text than the file's, in `[Unit]`.
pub const STALE: &str = "X-CopseStale=yes";

/// As much of a message as goes into a `Description=`.
const MESSAGE_MAX: usize = 200;

/// How many processors this process may use: what `"cpus"` means (sched_getaffinity(2)).
#[must_use]
pub fn cpus() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count().max(1))
}

/// Writes all units into `output`, and tells the log what is wrong. Returns whether nothing was (warnings aside).
///
/// What is remembered until the next boot is brought up to date only if `output` is the directory of the service
/// manager itself: `systemd-analyze verify` and the like run generators too.
#[must_use]
pub fn run(output: &Path, directories: &Directories) -> bool {
    let mut log = Log::open(directories);
    let mut writer = match Writer::open(output) {
        Ok(writer) => writer,
        Err(error) => {
            log.line(3, &format!("{}: error[{}]: {error}", output.display(), Code::Write));
            return false;
        }
    };
    let mut good = true;
    let mut tell = |diagnostic: &Diagnostic| {
        log.diagnostic(diagnostic);
        good &= diagnostic.severity() != Severity::Error;
    };
    let (store, memory) = recall(directories, &mut tell);
    let context = Context { scope: directories.scope, cpus: cpus() };
    let found = source::find(directories);
    found.diagnostics.iter().for_each(&mut tell);
    let mut run = Run::new(directories, context, memory, &mut writer);
    let mut finish = |run: &mut Run, mut group: GroupOutcome| {
        let path = group.path.clone();
        if let Err(mistake) = guarded(&path, || run.group(&mut group)) {
            group.diagnostics.push(mistake);
        }
        group.diagnostics.iter().for_each(&mut tell);
    };
    // One after the other, so that a thousand groups needn't be in memory at once. The broken ones come last: which
    // names their last good units may take is known then.
    let mut broken = Vec::new();
    for group in found.groups {
        let group = run.checks.read(group, &context);
        match group.group {
            Some(_) => finish(&mut run, group),
            None => broken.push(group),
        }
    }
    broken.into_iter().for_each(|group| finish(&mut run, group));
    run.vanished();
    run.keep_gone().iter().for_each(&mut tell);
    let next = run.next;
    let own = directories.generator.as_ref().is_some_and(|own| directories.rooted(own) == output);
    if let Some(store) = store.filter(|_| own)
        && let Err(diagnostic) = store.write(&next)
    {
        tell(&diagnostic);
    }
    good
}

fn recall(directories: &Directories, tell: &mut impl FnMut(&Diagnostic)) -> (Option<Store>, Memory) {
    let Some(state) = &directories.state else { return (None, Memory::default()) };
    let (store, memory, diagnostic) = Store::read(directories.rooted(state).join("last-good"));
    diagnostic.iter().for_each(tell);
    (Some(store), memory)
}

/// One run.
struct Run<'a> {
    directories: &'a Directories,
    context: Context,
    systemd: Systemd,
    /// What is remembered; the groups that were dealt with are taken out.
    memory: Memory,
    next: Memory,
    writer: &'a mut Writer,
    checks: Checks,
    /// The paths that were written.
    written: Vec<String>,
    /// Files of the last run that this one doesn't have.
    lost: BTreeMap<String, String>,
}

impl<'a> Run<'a> {
    fn new(directories: &'a Directories, context: Context, memory: Memory, writer: &'a mut Writer) -> Self {
        // What the oldest version takes, all later ones take too; the other way round a value that isn't known yet
        // (a `Type=`, say) would make systemd drop the line, and the service something else.
        let systemd = Systemd::detect(directories).unwrap_or(Systemd::OLDEST);
        let checks = Checks::new(directories);
        let next = Memory { cpus: context.cpus, ..Memory::default() };
        let (written, lost) = (Vec::new(), BTreeMap::new());
        Self { directories, context, systemd, memory, next, writer, checks, written, lost }
    }

    /// Writes one group's units; what goes wrong with that joins its diagnostics.
    fn group(&mut self, outcome: &mut GroupOutcome) {
        let target = Target { systemd: self.systemd, static_target: outcome.static_target };
        let last = self.memory.groups.remove(&outcome.name);
        let generated =
            outcome.group.as_ref().map(|group| guarded(&outcome.path, || generate::generate(group, target)));
        let (tree, used) = match generated {
            Some(Ok(tree)) => (tree, outcome.source.clone()),
            failed => {
                failed.and_then(Result::err).into_iter().for_each(|mistake| outcome.diagnostics.push(mistake));
                let stale = last.as_ref().and_then(|last| self.stale(last, outcome, target));
                let used = stale.as_ref().and(last.clone());
                (stale.unwrap_or_else(|| invalid(outcome, self.context, target)), used)
            }
        };
        for failure in self.writer.write(&tree) {
            outcome.diagnostics.push(unwritten(outcome, failure));
        }
        if let Some(last) = &last
            && (Some(last) != used.as_ref() || self.memory.cpus != self.context.cpus)
        {
            self.lose(last, target, &tree);
        }
        self.written.extend(tree.entries.into_keys());
        if let Some(used) = used {
            self.next.groups.insert(outcome.name.clone(), used);
        }
    }

    /// The units of the last good text, which say that there is a newer one.
    fn stale(&self, last: &Source, outcome: &GroupOutcome, target: Target) -> Option<UnitTree> {
        let mut group = model::read(last, &self.context).0?;
        if generate::unit_names(&group).iter().any(|unit| self.checks.other(unit, &group.name).is_some()) {
            return None;
        }
        let mut tree = generate::generate(&group, target);
        // The target alone says it: the processes' units are what they were.
        let title = group.description.as_deref().unwrap_or(group.name.as_str());
        let message = message(&outcome.diagnostics);
        group.description = Some(format!("{title} (its last good units; the group file is broken: {message})"));
        let mut telling = generate::generate(&group, target);
        let target = name::target(&group.name);
        for path in [format!("{target}.d/50-copse.conf"), target] {
            if let Some(Entry::File(text)) = telling.entries.remove(&path) {
                let text = text.replacen("[Unit]\n", &format!("[Unit]\n{STALE}\n"), 1);
                tree.entries.insert(path, Entry::File(text));
            }
        }
        Some(tree)
    }

    /// Notes what `last` had and `tree` doesn't.
    fn lose(&mut self, last: &Source, target: Target, tree: &UnitTree) {
        let context = Context { cpus: self.memory.cpus, ..self.context };
        let Some(group) = model::read(last, &context).0 else { return };
        for (path, entry) in generate::generate(&group, target).entries {
            if let Entry::File(text) = entry
                && !tree.entries.contains_key(&path)
            {
                self.lost.insert(path, text);
            }
        }
    }

    /// Groups whose file isn't there any more.
    fn vanished(&mut self) {
        for last in std::mem::take(&mut self.memory.groups).into_values() {
            let target = Target { systemd: self.systemd, static_target: false };
            // A mistake in copse met here has shown itself when the group was there.
            let _ = guarded(&last.file.path, || self.lose(&last, target, &UnitTree::default()));
        }
    }

    /// Writes what left its group, or the groups, and still runs.
    fn keep_gone(&mut self) -> Vec<Diagnostic> {
        let mut candidates = std::mem::take(&mut self.memory.gone);
        candidates.append(&mut self.lost);
        self.written.iter().for_each(|path| drop(candidates.remove(path)));
        if candidates.is_empty() {
            return Vec::new();
        }
        let kept = keep(candidates, &Running::read(self.directories));
        let entries = kept.iter().map(|(path, text)| (path.clone(), Entry::File(generate::gone(text)))).collect();
        let failures = self.writer.write(&UnitTree { entries });
        self.next.gone = kept;
        failures
            .into_iter()
            .map(|Failure { path, error }| {
                let why = error.map_or("another generator's file is there".to_owned(), |error| error.to_string());
                Diagnostic::file(Code::Write, path, format!("the unit is gone, runs, and can't be kept: {why}"))
            })
            .collect()
    }
}

/// Of `candidates`, those that run, and those that such a unit leans on (its target, slice and sockets, of which
/// systemd leaves no trace in the file system).
fn keep(candidates: BTreeMap<String, String>, running: &Running) -> BTreeMap<String, String> {
    let (mut kept, mut rest): (BTreeMap<_, _>, _) =
        candidates.into_iter().partition(|(path, _)| running.has(unit_of(path)));
    loop {
        let names: HashSet<String> = kept.values().flat_map(|text: &String| leans_on(text)).collect();
        let (more, left): (BTreeMap<_, _>, _) = rest.into_iter().partition(|(path, _)| names.contains(unit_of(path)));
        if more.is_empty() {
            return kept;
        }
        kept.extend(more);
        rest = left;
    }
}

/// The unit that a file of the tree is, or is a drop-in of.
fn unit_of(path: &str) -> &str {
    path.split_once(".d/").map_or(path, |(unit, _)| unit)
}

/// The units without which this one wouldn't be stopped, or fenced, as before; templates for instances.
fn leans_on(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let values = lines.filter(|(key, _)| matches!(*key, "PartOf" | "Slice" | "Sockets" | "Requires"));
    let words = values.flat_map(|(_, value)| value.split_ascii_whitespace());
    words.flat_map(|word| [Some(word.to_owned()), name::template_of(word)]).flatten()
}

/// What is written for a broken group that has no good units left.
fn invalid(outcome: &GroupOutcome, context: Context, target: Target) -> UnitTree {
    // A link that leads nowhere is no broken file; and the name of a foreign target isn't ours to show an error with.
    if !outcome.diagnostics.has_errors() || outcome.foreign_target {
        return UnitTree::default();
    }
    let errors = outcome.diagnostics.iter().filter(|diagnostic| diagnostic.severity() == Severity::Error);
    let text = errors.map(Diagnostic::line).collect::<Vec<_>>().join("\n");
    let files = [outcome.path.clone()];
    generate::invalid(&outcome.name, context.scope, target, &files, &message(&outcome.diagnostics), &text)
}

/// The first error (or what there is) in one short line.
fn message(diagnostics: &Diagnostics) -> String {
    let first = diagnostics.iter().min_by_key(|diagnostic| diagnostic.severity());
    let mut line = first.map(Diagnostic::line).unwrap_or_default();
    if line.len() > MESSAGE_MAX {
        let end = (0..=MESSAGE_MAX).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Says what couldn't be written.
fn unwritten(outcome: &GroupOutcome, failure: Failure) -> Diagnostic {
    let place = outcome.group.as_ref().map(|group| At::Place(group.place.clone()));
    let at = place.unwrap_or_else(|| At::Path(outcome.path.clone()));
    let (code, message) = match failure.error {
        None => (Code::Clash, format!("`{}` is there already, made by another generator: left as it is", failure.path)),
        Some(error) => (Code::Write, format!("`{}` can't be written: {error}", failure.path)),
    };
    Diagnostic { code, at, message, related: Vec::new(), help: None }
}
