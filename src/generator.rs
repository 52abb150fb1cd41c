//! What `copse-generator` does: every group's units into systemd's directory, whatever is wrong with some of them.
//!
//! A group whose file is broken gets its last good units of this boot; with none, a `G.target` whose start fails and
//! says why. Pinned units are generated from the text they are pinned to. A unit that left its group while it runs is
//! kept, because how to stop it stands there. From what a group was generated goes into its history.

pub mod installed;
pub mod kmsg;
pub mod load;
mod orphans;
mod report;
pub mod running;

use std::collections::HashSet;
use std::path::Path;

use self::kmsg::Log;
use self::load::{Checks, GroupOutcome, guarded};
use crate::basic::clock;
use crate::basic::diagnostic::{Code, Diagnostic, Severity};
use crate::basic::scope::Directories;
use crate::generate;
use crate::generate::Options;
use crate::group_file::discover;
use crate::group_file::discover::Source;
use crate::model;
use crate::model::{Context, Group};
use crate::state::history::{History, Overrides, Version};
use crate::state::memory::{Memory, Store};
use crate::state::pins::{Pin, Pins, Units};
use crate::unit::directives::Systemd;
use crate::unit::name;
use crate::unit::name::GroupName;
use crate::unit::tree::Writer;
use crate::unit::{Entry, UnitTree};

use self::orphans::Departed;

/// What marks a target that was generated from an older text than the file's, in `[Unit]`.
pub const STALE: &str = "X-CopseStale=yes";

/// How many processors this process may use: what `"cpus"` means (sched_getaffinity(2)).
pub fn cpus() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count().max(1))
}

/// Writes all units into `output`, and tells the log what is wrong. Returns whether nothing was (warnings aside).
///
/// What is remembered until the next boot is brought up to date only if `output` is the directory of the service
/// manager itself: `systemd-analyze verify` and the like run generators too.
pub fn run(output: &Path, directories: &Directories) -> bool {
    let began = clock::monotonic();
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
    let (store, memory, unusable) = Store::read(directories);
    unusable.iter().for_each(&mut tell);
    let context = Context { scope: directories.scope, cpus: cpus() };
    let found = discover::find(directories);
    found.diagnostics.iter().for_each(&mut tell);
    let mut run = Run::new(began, directories, context, memory, &mut writer);
    // What isn't to be believed is to be made anew.
    run.changed = unusable.is_some();
    let vanished = run.vanished(&found.groups);
    let mut finish = |run: &mut Run, mut group: GroupOutcome| {
        let path = group.path.clone();
        if let Err(mistake) = guarded(&path, || run.group(&mut group)) {
            group.diagnostics.push(mistake);
        }
        group.diagnostics.iter().for_each(&mut tell);
    };
    // One after the other, so that a thousand groups needn't be in memory at once. The broken and the pinned ones come
    // last: which names their older units may take is known then.
    let mut later = Vec::new();
    for group in found.groups {
        let group = run.checks.read(group, &context);
        match group.group {
            Some(_) if !run.pinned.contains(&group.name) => finish(&mut run, group),
            _ => later.push(group),
        }
    }
    later.into_iter().for_each(|group| finish(&mut run, group));
    vanished.into_iter().for_each(|name| run.vanish(name));
    run.keep_gone().iter().for_each(&mut tell);
    let Run { mut memory, changed, .. } = run;
    let own = directories.generator.as_ref().is_some_and(|own| directories.rooted(own) == output);
    if own
        && changed
        && let Err(diagnostic) = store.write(memory.bounded())
    {
        tell(&diagnostic);
    }
    good
}

/// One run.
struct Run<'a> {
    /// When it began.
    began: u64,
    directories: &'a Directories,
    context: Context,
    systemd: Systemd,
    memory: Memory,
    /// Whether something else is remembered than before.
    changed: bool,
    writer: &'a mut Writer,
    checks: Checks,
    /// The groups that have pins.
    pinned: HashSet<GroupName>,
    /// The paths that were written.
    written: Vec<String>,
    departed: Departed,
}

/// From what a group's units are generated in this run.
struct Made {
    tree: UnitTree,
    source: Source,
    overrides: Overrides,
}

impl<'a> Run<'a> {
    fn new(began: u64, directories: &'a Directories, context: Context, memory: Memory, writer: &'a mut Writer) -> Self {
        // What the oldest version takes, all later ones take too; the other way round a value that isn't known yet
        // (a `Type=`, say) would make systemd drop the line, and the service something else.
        let systemd = Systemd::detect(directories).unwrap_or(Systemd::OLDEST);
        let checks = Checks::new(directories);
        let pinned = Pins::groups(directories);
        let (changed, written, departed) = (false, Vec::new(), Departed::default());
        Self { began, directories, context, systemd, memory, changed, writer, checks, pinned, written, departed }
    }

    /// Writes one group's units; what goes wrong with that joins its diagnostics.
    fn group(&mut self, outcome: &mut GroupOutcome) {
        // Whatever happens to the group in this run, its history stays known.
        let last = self.memory.histories.get(&outcome.name).and_then(History::last).cloned();
        let target = Options { systemd: self.systemd, static_target: outcome.static_target };
        let pins = self.pins(outcome);
        let whole = pins.all().and_then(|pin| self.whole(pin, last.as_ref(), outcome, target));
        let made = whole.or_else(|| self.current(outcome, target));
        let made = made.or_else(|| self.stale(last.as_ref()?, outcome, target));
        let (tree, version) = match made {
            Some(mut made) => {
                self.pin(&pins, outcome, target, &mut made.tree);
                (made.tree, Some(self.version(made.source, made.overrides, pins, outcome)))
            }
            None => {
                let masked = self.checks.is_masked(&name::target(&outcome.name));
                (report::invalid(outcome, self.context, target, masked), None)
            }
        };
        for failure in self.writer.write(&tree) {
            outcome.diagnostics.push(report::unwritten(outcome, failure));
        }
        if let Some(last) = &last
            && !version.as_ref().is_some_and(|version| version.same_texts(last))
        {
            self.lose(last, target, &tree);
        }
        self.written.extend(tree.entries.into_keys());
        if let Some(version) = version {
            let known = self.memory.histories.get_mut(&outcome.name);
            self.changed |= match known {
                Some(history) => history.record(version),
                None => self.memory.histories.entry(outcome.name.clone()).or_default().record(version),
            };
        }
    }

    fn version(&self, source: Source, overrides: Overrides, pins: Pins, outcome: &GroupOutcome) -> Version {
        let (since, cpus, static_target) = (self.began, self.context.cpus, outcome.static_target);
        Version { since, source, cpus, static_target, overrides, pins }
    }

    /// What the group's files say now, unless something is wrong with them.
    fn current(&self, outcome: &mut GroupOutcome, target: Options) -> Option<Made> {
        let group = outcome.group.as_ref()?;
        match guarded(&outcome.path, || generate::generate(group, target)) {
            Ok(tree) => {
                let overrides = std::mem::take(&mut outcome.overrides);
                Some(Made { tree, source: outcome.source.take()?, overrides })
            }
            Err(mistake) => {
                outcome.diagnostics.push(mistake);
                None
            }
        }
    }

    /// The units of the last good text, which say that there is a newer one.
    fn stale(&mut self, last: &Version, outcome: &GroupOutcome, target: Options) -> Option<Made> {
        let (group, overrides) = self.older(&last.source, self.context.cpus)?;
        let why = format!("its last good units; the group file is broken: {}", report::message(&outcome.diagnostics));
        Some(Made { tree: announced(group, target, &why, STALE), source: last.source.clone(), overrides })
    }

    /// All units of the text that the whole group is pinned to.
    fn whole(
        &mut self,
        pin: &Pin,
        last: Option<&Version>,
        outcome: &mut GroupOutcome,
        target: Options,
    ) -> Option<Made> {
        let Some((group, overrides)) = self.older(&pin.source, pin.cpus) else {
            outcome.diagnostics.push(unpinned(outcome, "the group"));
            return None;
        };
        let good = outcome.source.clone().filter(|_| outcome.group.is_some());
        let source = good.or_else(|| Some(last?.source.clone())).unwrap_or_else(|| pin.source.clone());
        let why = "rolled back: its units are those of an older group file, until the next `copse apply`";
        Some(Made { tree: announced(group, target, why, generate::PINNED), source, overrides })
    }

    /// What an older text means, and who changes its units; none where it isn't understood any more, or one of its units
    /// is another group's by now.
    fn older(&mut self, source: &Source, cpus: u32) -> Option<(Group, Overrides)> {
        let group = self.read(source, cpus)?;
        let names = generate::unit_names(&group);
        let free = names.iter().all(|unit| self.checks.other(unit, &group.name).is_none());
        free.then(|| (group, self.checks.overrides(&names)))
    }

    fn read(&self, source: &Source, cpus: u32) -> Option<Group> {
        model::read(source, &Context { cpus, ..self.context }).0
    }

    /// The pins of a group.
    fn pins(&self, outcome: &mut GroupOutcome) -> Pins {
        if !self.pinned.contains(&outcome.name) {
            return Pins::default();
        }
        Pins::read(self.directories, &outcome.name).unwrap_or_else(|diagnostic| {
            outcome.diagnostics.push(diagnostic);
            Pins::default()
        })
    }

    /// Puts the units that are pinned one by one into `tree`.
    fn pin(&self, pins: &Pins, outcome: &mut GroupOutcome, target: Options, tree: &mut UnitTree) {
        for unit in self.put_pinned(pins, &outcome.name, target, tree) {
            outcome.diagnostics.push(unpinned(outcome, &format!("`{unit}`")));
        }
    }

    /// Returns the units for which that wasn't possible.
    fn put_pinned(&self, pins: &Pins, name: &GroupName, target: Options, tree: &mut UnitTree) -> Vec<String> {
        let mut left = Vec::new();
        for pin in &pins.0 {
            let Units::Only(units) = &pin.units else { continue };
            let group = self.read(&pin.source, pin.cpus);
            let old = group.map(|group| generate::generate(&group, target)).unwrap_or_default();
            let taken = |unit: &str| self.checks.other(unit, name).is_some();
            for unit in units.iter().filter(|unit| pins.of(unit).is_some_and(|first| std::ptr::eq(first, pin))) {
                if !generate::pin(unit, name, tree, &old, taken) {
                    left.push(unit.clone());
                }
            }
        }
        left
    }

    /// The units that were written for `version`, but for what told of itself.
    fn units(&self, version: &Version, target: Options) -> Option<UnitTree> {
        let whole = version.pins.all();
        let (source, cpus) = whole.map_or((&version.source, version.cpus), |pin| (&pin.source, pin.cpus));
        let group = self.read(source, cpus)?;
        let mut tree = generate::generate(&group, target);
        self.put_pinned(&version.pins, &group.name, target, &mut tree);
        Some(tree)
    }
}

/// A group's units, of which the target alone says why they aren't the current ones: the processes' are what they were.
fn announced(mut group: Group, target: Options, why: &str, mark: &str) -> UnitTree {
    let mut tree = generate::generate(&group, target);
    let title = group.description.as_deref().unwrap_or(group.name.as_str());
    group.description = Some(format!("{title} ({why})"));
    let mut telling = generate::generate(&group, target);
    let target = name::target(&group.name);
    for path in [format!("{target}.d/50-copse.conf"), target] {
        if let Some(Entry::File(text)) = telling.entries.remove(&path) {
            let text = text.replacen("[Unit]\n", &format!("[Unit]\n{mark}\n"), 1);
            tree.entries.insert(path, Entry::File(text));
        }
    }
    tree
}

fn unpinned(outcome: &GroupOutcome, what: &str) -> Diagnostic {
    let message = format!("{what} can't be generated from the text it is pinned to: the newer one is taken");
    Diagnostic::file(Code::LastGood, &outcome.path, message)
}
