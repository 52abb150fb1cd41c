//! What was named on the command line, as the units it stands for.

use std::time::Duration;

use super::exit::Exit;
use super::last_good::LastGood;
use super::load::unknown;
use super::output::complain;
use super::selector::Selector;
use crate::basic::diagnostic::Severity;
use crate::change::observe::members;
use crate::change::observe::members::Subject;
use crate::change::observe::members::{Kind, Member, Start};
use crate::change::plan::{Action, Pace, Plan, Reason, Step};
use crate::generator::load::{GroupOutcome, Outcome};
use crate::manager::Connected;
use crate::model::Group;
use crate::unit::name;
use crate::unit::name::{GroupName, InstanceName, ProcessName};

/// A group, or a part of one.
#[derive(Debug)]
pub(crate) struct Selection<'o> {
    /// The group.
    pub(crate) group: GroupName,
    /// What its file says; `None` where that was removed while the group runs.
    pub(crate) outcome: Option<&'o GroupOutcome>,
    /// What it is.
    known: Known<'o>,
    /// What of it; `None`: all of it.
    pub(crate) part: Option<String>,
    /// The units, setup steps first, `web@10` after `web@9`. Of a whole group that isn't loaded there may be none.
    pub(crate) members: Vec<Member>,
}

/// Whence it is known what the units of a group are: setup steps or processes, in which order, at which pace.
#[derive(Debug)]
enum Known<'o> {
    /// From its file.
    File(&'o Group),
    /// The file is invalid, or gone; from the last good one, from which the units were generated.
    LastGood(&'o Group),
    /// Nothing is generated, so that there are no units of which anything could be known.
    Nothing,
    /// It isn't, and this is why.
    Unknown(&'o str),
}

impl<'o> Known<'o> {
    fn new(group: &GroupName, file: Option<&'o Group>, past: &'o LastGood) -> Self {
        if let Some(file) = file {
            return Self::File(file);
        }
        match past.of(group) {
            Ok(Some(last)) => Self::LastGood(last),
            Ok(None) => Self::Nothing,
            Err(why) => Self::Unknown(why),
        }
    }

    fn meaning(&self) -> Option<&'o Group> {
        match self {
            Self::File(group) | Self::LastGood(group) => Some(group),
            Self::Nothing | Self::Unknown(_) => None,
        }
    }
}

impl<'o> Selection<'o> {
    /// Finds out what `text` names.
    ///
    /// # Errors
    /// What the connection or the manager refuses; inside, [`Exit::NoSuchGroup`] once it was said.
    pub(crate) async fn new(
        systemd: &Connected,
        outcome: &'o Outcome,
        past: &'o LastGood,
        text: &str,
    ) -> zbus::Result<Result<Self, Exit>> {
        let named = Selector::new(text, &outcome.groups);
        let Some(group) = GroupName::new(&named.group) else { return Ok(no_such(&named, outcome)) };
        let found: Vec<String> = systemd.unit_property(&name::target(&group), "ConsistsOf").await?;
        let of = outcome.groups.iter().find(|outcome| outcome.name == group);
        if of.is_none() && found.is_empty() {
            return Ok(no_such(&named, outcome));
        }
        let known = Known::new(&group, of.and_then(|outcome| outcome.group.as_ref()), past);
        // Of a group without a file, what runs is all there is.
        let meaning = known.meaning().filter(|_| of.is_some());
        let mut members = members::all_members(&named.group, meaning, &found);
        if let (None, Some(last)) = (of, known.meaning()) {
            as_they_were(&mut members, last);
        }
        members.retain(|member| named.means(&member.label));
        if let Some(part) = &named.part
            && members.is_empty()
        {
            match meaning.and_then(|group| instance(group, part)) {
                Some(member) => members.push(member),
                None => return Ok(no_such(&named, outcome)),
            }
        }
        Ok(Ok(Self { group, outcome: of, known, part: named.part, members }))
    }

    /// What the group's file means; where that isn't valid, what the last good one did.
    pub(crate) fn meaning(&self) -> Option<&'o Group> {
        self.known.meaning()
    }

    /// Says that the group's file is invalid, if it is, and what counts instead.
    pub(crate) fn say_invalid(&self) {
        let Some(outcome) = self.outcome.filter(|outcome| outcome.group.is_none()) else { return };
        let error = outcome.diagnostics.iter().find(|found| found.severity() == Severity::Error);
        let line = error.map(|error| format!("; {}", error.line())).unwrap_or_default();
        let counts = match &self.known {
            Known::LastGood(_) => "; the last good one counts",
            _ => "",
        };
        complain(format_args!("the file of group `{0}` is invalid: `copse check {0}`{counts}{line}", self.group));
    }

    /// Whether the group's file is invalid.
    pub(crate) fn is_invalid(&self) -> bool {
        self.outcome.is_some_and(|outcome| outcome.group.is_none())
    }

    /// Refuses where it isn't known what the units are, for who must not take one for another.
    ///
    /// # Errors
    /// The exit status, once it was said why.
    pub(crate) fn must_be_known(&self) -> Result<(), Exit> {
        let why = match &self.known {
            Known::Unknown(why) => *why,
            Known::Nothing if !self.members.is_empty() => "nothing is noted of it since the boot",
            _ => return Ok(()),
        };
        complain(format_args!(
            "what the units of group `{}` are isn't known without a valid file ({why}): nothing was done",
            self.group
        ));
        Err(if self.is_invalid() { Exit::Invalid } else { Exit::Failed })
    }

    /// `G.target`
    pub(crate) fn target(&self) -> String {
        name::target(&self.group)
    }

    /// How long a unit may take to get ready, with all its attempts: what the readiness gate gives the whole group.
    pub(crate) fn limit(&self) -> Option<Duration> {
        if self.members.iter().any(|member| member.start == Start::Timed && member.kind == Kind::Process)
            && self.part.is_some()
        {
            // A job that a timer starts takes as long as it takes.
            return None;
        }
        let limit = self.meaning().map(|group| group.timeout_start.value);
        limit.map_or(Some(Duration::from_secs(600)), crate::basic::time_span::Span::finite)
    }

    /// What was named, for messages: `shop`, `shop/web@1`.
    pub(crate) fn label(&self) -> String {
        match &self.part {
            Some(part) => format!("{}/{part}", self.group),
            None => self.group.to_string(),
        }
    }

    /// Those members, in their order.
    pub(crate) fn subjects(&self, which: impl Fn(&Member) -> bool) -> Vec<Subject> {
        let subject = |member: &Member| Subject { unit: member.unit.clone(), label: member.label.clone() };
        self.members.iter().filter(|member| which(member)).map(subject).collect()
    }

    /// A plan of one step, with these units at once, because somebody asks for it.
    pub(crate) fn plan(&self, action: Action, units: Vec<Subject>) -> Plan {
        let step = Step { action, units, reasons: vec![Reason::Asked], pace: Pace::default() };
        Plan::asked(self.group.clone(), vec![step], Vec::new())
    }

    /// Whether the group isn't ready without this unit: a setup step, a socket, or an essential process.
    pub(crate) fn is_essential(&self, unit: &str) -> bool {
        let processes = self.meaning().into_iter().flat_map(|group| &group.processes);
        let of = processes.filter(|(process, definition)| match &definition.instances {
            None => name::service(&self.group, process) == unit,
            Some(_) => name::template_of(unit).as_ref() == Some(&name::template(&self.group, process)),
        });
        of.map(|(_, process)| process).next().is_none_or(|process| process.is_essential(unit))
    }
}

/// Gives members that were only found to be part of the target the kinds that they had when there was a file.
fn as_they_were(members: &mut [Member], last: &Group) {
    let known = members::members(last);
    for member in members {
        if let Some(was) = known.iter().find(|was| was.unit == member.unit) {
            (member.kind, member.start) = (was.kind, was.start);
        }
    }
}

fn no_such<'o>(named: &Selector, outcome: &Outcome) -> Result<Selection<'o>, Exit> {
    unknown(named, outcome);
    Err(Exit::NoSuchGroup)
}

/// An instance that the file doesn't name, of a process that others start: any of those may be started.
fn instance(group: &Group, part: &str) -> Option<Member> {
    let (process, instance) = part.split_once('@')?;
    let (process, instance) = (ProcessName::new(process)?, InstanceName::new(instance)?);
    let definition = group.processes.get(&process)?;
    let manual = definition.start == crate::model::Start::Manual && definition.instances.is_some();
    manual.then(|| Member {
        unit: name::instance(&group.name, &process, &instance),
        label: part.to_owned(),
        kind: Kind::Process,
        start: Start::Manual,
        defined: true,
    })
}
