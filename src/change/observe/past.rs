//! The definitions of a group's units at each time since the boot, generated anew by this copse for this systemd.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use crate::basic::clock::Monotonic;
use crate::generate;
use crate::generate::Options;
use crate::group_file::discover::Source;
use crate::model;
use crate::model::{Context, Group};
use crate::state::history::{History, Origin, Overrides, Version};
use crate::unit::UnitTree;
use crate::unit::directives::Systemd;
use crate::unit::effective::{Definition, Definitions};
use crate::unit::name;
use crate::unit::name::GroupName;

/// The units of every text that a history holds, made when they are asked for.
#[derive(Debug)]
pub struct Texts<'h> {
    context: Context,
    systemd: Systemd,
    all: Vec<Text<'h>>,
}

#[derive(Debug)]
struct Text<'h> {
    source: &'h Source,
    cpus: u32,
    static_target: bool,
    made: OnceCell<Made>,
}

/// What a text means, and its units. Without, where it isn't understood any more.
#[derive(Debug, Default)]
struct Made {
    group: Option<Group>,
    tree: UnitTree,
    names: Vec<String>,
}

impl<'h> Texts<'h> {
    /// All of `history`; nothing is read yet.
    pub fn new(history: &'h History, context: Context, systemd: Systemd) -> Self {
        let of = |version: &'h Version| {
            let pins = version.pins.0.iter().map(|pin| (&pin.source, pin.cpus));
            std::iter::once((&version.source, version.cpus)).chain(pins).map(|(source, cpus)| Text {
                source,
                cpus,
                static_target: version.static_target,
                made: OnceCell::new(),
            })
        };
        Self { context, systemd, all: history.versions.iter().flat_map(of).collect() }
    }

    fn made(&self, origin: &Origin<'_>) -> Option<&Made> {
        let is = |text: &&Text<'_>| {
            std::ptr::eq(text.source, origin.source)
                && text.cpus == origin.cpus
                && text.static_target == origin.static_target
        };
        let text = self.all.iter().find(is)?;
        Some(text.made.get_or_init(|| {
            let group = model::read(text.source, &Context { cpus: text.cpus, ..self.context }).0;
            let Some(group) = group else { return Made::default() };
            let target = Options { systemd: self.systemd, static_target: text.static_target };
            let tree = generate::generate(&group, target);
            let names = generate::unit_names(&group);
            Made { group: Some(group), tree, names }
        }))
    }
}

/// What each unit was at any time.
#[derive(Debug)]
pub struct Past<'t> {
    history: &'t History,
    texts: &'t Texts<'t>,
    target: String,
    known: RefCell<Vec<(*const UnitTree, *const Overrides, Rc<Definitions<'t>>)>>,
}

impl<'t> Past<'t> {
    /// What `history` says about `group`.
    pub fn new(group: &GroupName, history: &'t History, texts: &'t Texts<'t>) -> Self {
        Self { history, texts, target: name::target(group), known: RefCell::default() }
    }

    /// The definitions of an origin.
    fn definitions(&self, origin: &Origin<'t>) -> Option<Rc<Definitions<'t>>> {
        let made = self.texts.made(origin)?;
        let key = (std::ptr::from_ref(&made.tree), std::ptr::from_ref(origin.overrides));
        let mut known = self.known.borrow_mut();
        if let Some((_, _, found)) = known.iter().find(|(tree, overrides, _)| (*tree, *overrides) == key) {
            return Some(Rc::clone(found));
        }
        let definitions = Rc::new(Definitions::new(&made.tree, origin.overrides));
        known.push((key.0, key.1, Rc::clone(&definitions)));
        Some(definitions)
    }

    /// Whether the group has `unit` there: by name, or as an instance that anybody may start.
    fn has(&self, origin: &Origin<'t>, unit: &str) -> bool {
        let Some(made) = self.texts.made(origin) else { return false };
        let by_hand = || {
            let (Some(group), Some(template)) = (&made.group, name::template_of(unit)) else { return false };
            group.processes.iter().any(|(process, definition)| {
                definition.start == model::Start::Manual && name::template(&group.name, process) == template
            })
        };
        let whole = unit.starts_with("copse-") && unit.contains('@');
        whole || made.names.iter().any(|name| name == unit) || by_hand()
    }

    fn of(&self, version: &'t Version, unit: &str) -> Option<Arc<Definition>> {
        let origin = version.origin(unit);
        self.has(&origin, unit).then(|| self.definitions(&origin)?.unit(unit)).flatten()
    }

    /// With what `unit` was started at `at` . One that had left its group by then was what it was
    /// before.
    pub fn started(&self, unit: &str, at: Monotonic) -> Option<Arc<Definition>> {
        self.history.until(at).find_map(|version| self.of(version, unit))
    }

    /// What systemd has loaded of `unit`.
    pub fn loaded(&self, unit: &str) -> Option<Arc<Definition>> {
        self.of(self.history.last()?, unit)
    }

    /// Whether what systemd has loaded isn't `new`.
    pub fn is_unread(&self, new: &Definitions<'_>) -> bool {
        let loaded = self.history.last().and_then(|last| self.definitions(&last.origin(&self.target)));
        loaded.is_none_or(|loaded| loaded.differ(new))
    }

    /// Since when the target wants `unit` without interruption , and whether the group had it
    /// before; `None` where systemd hasn't loaded that it does.
    pub fn wanted_since(&self, unit: &str) -> Option<(Monotonic, bool)> {
        let wanted = |version: &&'t Version| {
            let definitions = self.definitions(&version.origin(&self.target));
            definitions.is_some_and(|definitions| definitions.wants(&self.target, unit))
        };
        let mut newest_first = self.history.versions.iter().rev().peekable();
        let mut since = None;
        while let Some(version) = newest_first.next_if(|version| wanted(version)) {
            since = Some(version.since);
        }
        let before = newest_first.next().is_some_and(|version| self.has(&version.origin(unit), unit));
        since.map(|since| (since, before))
    }

    /// Whether the group has `unit`, as systemd has loaded it.
    pub fn has_now(&self, unit: &str) -> bool {
        self.history.last().is_some_and(|last| self.has(&last.origin(unit), unit))
    }
}
