//! What a name on the command line selects, as units.

use std::time::Duration;

use super::error::Error;
use super::exit::Exit;
use super::groups::unknown;
use super::last_good::LastGood;
use super::message::warn;
use super::selector::Selector;
use crate::basic::diagnostic::Severity;
use crate::basic::time_span::Span;
use crate::change::observe::members;
use crate::change::observe::members::{Kind, Member, Start};
use crate::change::observe::subject::Subject;
use crate::generator::load::{GroupOutcome, Outcome};
use crate::manager::Connected;
use crate::model;
use crate::model::Group;
use crate::unit::name;
use crate::unit::name::{GroupName, InstanceName, ProcessName};

/// The longest start if neither the group file nor its last good version can be read.
const DEFAULT_LIMIT: Duration = Duration::from_secs(600);

/// A group, or a part of one.
#[derive(Debug)]
pub(crate) struct Selection<'o> {
    pub(crate) group: GroupName,
    /// The group file; `None` if it was removed while the group runs.
    pub(crate) file: Option<&'o GroupOutcome>,
    definition: Definition<'o>,
    /// `None` for the whole group.
    pub(crate) part: Option<String>,
    /// Setup steps first, `web@10` after `web@9`. A whole group that is not loaded may have none.
    pub(crate) members: Vec<Member>,
}

/// Where it is defined what the units of a group are: setup steps or processes, their order and pace.
#[derive(Debug)]
enum Definition<'o> {
    File(&'o Group),
    /// The group file is invalid or removed; this is what its units were generated from.
    LastGood(&'o Group),
    /// The group file is invalid or removed, and had no good version since boot.
    Missing,
    /// As [`Missing`](Self::Missing), as far as the caller may read: why it could not be read.
    Unreadable(&'o str),
}

impl<'o> Definition<'o> {
    fn new(group: &GroupName, file: Option<&'o Group>, last_good: &'o LastGood) -> Self {
        match (file, last_good) {
            (Some(file), _) => Self::File(file),
            (None, last_good) => match last_good.get(group) {
                Ok(Some(group)) => Self::LastGood(group),
                Ok(None) => Self::Missing,
                Err(error) => Self::Unreadable(error),
            },
        }
    }

    fn group(&self) -> Option<&'o Group> {
        match self {
            Self::File(group) | Self::LastGood(group) => Some(group),
            Self::Missing | Self::Unreadable(_) => None,
        }
    }
}

impl<'o> Selection<'o> {
    /// Finds what `text` selects.
    ///
    /// # Errors
    /// There is no such group or part, or the service manager does not answer.
    pub(crate) async fn new(
        systemd: &Connected,
        outcome: &'o Outcome,
        last_good: &'o LastGood,
        text: &str,
    ) -> Result<Self, Error> {
        let selector = Selector::new(text, &outcome.groups);
        let no_such = || unknown(&selector, outcome);
        let group = GroupName::new(&selector.group).ok_or_else(no_such)?;
        let loaded: Vec<String> = systemd.unit_property(&name::target(&group), "ConsistsOf").await?;
        let file = outcome.groups.iter().find(|outcome| outcome.name == group);
        if file.is_none() && loaded.is_empty() {
            return Err(no_such());
        }
        let definition = Definition::new(&group, file.and_then(|file| file.group.as_ref()), last_good);
        // A group without a file has only what is loaded.
        let defined = definition.group().filter(|_| file.is_some());
        let mut members = members::all_members(&selector.group, defined, &loaded);
        if let (None, Some(last)) = (file, definition.group()) {
            restore_kinds(&mut members, last);
        }
        members.retain(|member| selector.matches(&member.subject.label));
        if let Some(part) = &selector.part
            && members.is_empty()
        {
            members.push(defined.and_then(|group| manual_instance(group, part)).ok_or_else(no_such)?);
        }
        Ok(Self { group, file, definition, part: selector.part, members })
    }

    /// The group of the group file, or of its last good version.
    pub(crate) fn definition(&self) -> Option<&'o Group> {
        self.definition.group()
    }

    /// Warns if the group file is invalid.
    pub(crate) fn warn_if_invalid(&self) {
        let Some(file) = self.file.filter(|file| file.group.is_none()) else { return };
        let error = file.diagnostics.iter().find(|found| found.severity() == Severity::Error);
        let error = error.map(|error| format!(": {}", error.line())).unwrap_or_default();
        let instead = match &self.definition {
            Definition::LastGood(_) => ", using the last good version",
            _ => "",
        };
        let help = format!("run `copse check {}`", self.group);
        warn(&format!("group file of `{}` is invalid{instead}{error}", self.group), Some(&help));
    }

    pub(crate) fn is_invalid(&self) -> bool {
        self.file.is_some_and(|file| file.group.is_none())
    }

    /// For commands that treat setup steps and processes differently.
    ///
    /// # Errors
    /// It is not known which units are setup steps.
    pub(crate) fn check_kinds(&self) -> Result<(), Error> {
        let why = match &self.definition {
            Definition::Unreadable(why) => why,
            Definition::Missing if !self.members.is_empty() => "none since boot",
            _ => return Ok(()),
        };
        let (exit, state) = if self.is_invalid() { (Exit::Invalid, "invalid") } else { (Exit::Failed, "removed") };
        let group = &self.group;
        let message =
            format!("group file of `{group}` is {state} and no earlier version is known ({why}), nothing changed");
        Err(Error::new(exit, message))
    }

    /// `G.target`
    pub(crate) fn target(&self) -> Subject {
        Subject::of_group(name::target(&self.group), self.group.as_str())
    }

    /// How long a unit may take to become ready, with all its attempts; `None` for no limit.
    pub(crate) fn limit(&self) -> Option<Duration> {
        let timed = |member: &Member| member.start == Start::Timed && member.kind == Kind::Process;
        if self.part.is_some() && self.members.iter().any(timed) {
            // A timer's process is ready when it has run.
            return None;
        }
        let limit = self.definition().map(|group| group.timeout_start.value);
        limit.map_or(Some(DEFAULT_LIMIT), Span::finite)
    }

    /// The name for messages: `shop`, `shop/web@1`.
    pub(crate) fn label(&self) -> String {
        match &self.part {
            Some(part) => format!("{}/{part}", self.group),
            None => self.group.to_string(),
        }
    }

    /// The error of commands that need a running process.
    pub(crate) fn nothing_runs(&self) -> Error {
        Error::new(Exit::Stopped, format_args!("`{}` has no running process", self.label()))
    }

    /// The members for which `filter` is true, in their order.
    pub(crate) fn subjects(&self, filter: impl Fn(&Member) -> bool) -> Vec<Subject> {
        self.members.iter().filter(|member| filter(member)).map(|member| member.subject.clone()).collect()
    }

    /// Whether the group is not ready without this unit: a setup step, a socket, or an essential process.
    pub(crate) fn is_essential(&self, unit: &str) -> bool {
        let processes = self.definition().into_iter().flat_map(|group| &group.processes);
        let mut own = processes.filter(|(process, definition)| match &definition.instances {
            None => name::service(&self.group, process) == unit,
            Some(_) => name::template_of(unit).as_ref() == Some(&name::template(&self.group, process)),
        });
        own.next().is_none_or(|(_, process)| process.is_essential(unit))
    }
}

/// Gives members that were only found in the target the kinds that they have in the last good version.
fn restore_kinds(members: &mut [Member], last: &Group) {
    let defined = members::members(last);
    for member in members {
        if let Some(last) = defined.iter().find(|last| last.unit() == member.unit()) {
            (member.kind, member.start) = (last.kind, last.start);
        }
    }
}

/// An instance of a manual process. Any instance can be started, also if the group file does not name it.
fn manual_instance(group: &Group, part: &str) -> Option<Member> {
    let (process, instance) = part.split_once('@')?;
    let (process, instance) = (ProcessName::new(process)?, InstanceName::new(instance)?);
    let definition = group.processes.get(&process)?;
    let manual = definition.start == model::Start::Manual && definition.instances.is_some();
    manual.then(|| Member {
        subject: Subject::new(group.name.as_str(), &name::instance(&group.name, &process, &instance)),
        kind: Kind::Process,
        start: Start::Manual,
        process: Some(process),
        defined: true,
    })
}
