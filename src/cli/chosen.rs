//! What was named on the command line, as the units it stands for.

use std::time::Duration;

use super::Exit;
use super::named::Named;
use super::status::unknown;
use crate::manager::Connected;
use crate::model::Group;
use crate::pipeline::{GroupOutcome, Outcome};
use crate::plan::{Action, Pace, Plan, Reason, Step, Subject};
use crate::status::{self, Kind, Member, Start};
use crate::unit::name::{self, GroupName, InstanceName, ProcessName};

/// A group, or a part of one.
#[derive(Debug)]
pub(super) struct Chosen<'o> {
    /// The group.
    pub(super) group: GroupName,
    /// What its file says; `None` where that was removed while the group runs.
    pub(super) outcome: Option<&'o GroupOutcome>,
    /// What of it; `None`: all of it.
    pub(super) part: Option<String>,
    /// The units, setup steps first, `web@10` after `web@9`. Of a whole group that isn't loaded there may be none.
    pub(super) members: Vec<Member>,
}

impl<'o> Chosen<'o> {
    /// Finds out what `text` names.
    ///
    /// # Errors
    /// What the connection or the manager refuses; inside, [`Exit::NoSuchGroup`] once it was said.
    pub(super) async fn new(systemd: &Connected, outcome: &'o Outcome, text: &str) -> zbus::Result<Result<Self, Exit>> {
        let named = Named::new(text, &outcome.groups);
        let Some(group) = GroupName::new(&named.group) else { return Ok(no_such(&named, outcome)) };
        let found: Vec<String> = systemd.unit_property(&name::target(&group), "ConsistsOf").await?;
        let of = outcome.groups.iter().find(|outcome| outcome.name == group);
        if of.is_none() && found.is_empty() {
            return Ok(no_such(&named, outcome));
        }
        let meaning = of.and_then(|outcome| outcome.group.as_ref());
        let mut members = status::all_members(&named.group, meaning, &found);
        members.retain(|member| named.means(&member.label));
        if let Some(part) = &named.part
            && members.is_empty()
        {
            match meaning.and_then(|group| instance(group, part)) {
                Some(member) => members.push(member),
                None => return Ok(no_such(&named, outcome)),
            }
        }
        Ok(Ok(Self { group, outcome: of, part: named.part, members }))
    }

    /// What the group's file means, where it is valid.
    pub(super) fn meaning(&self) -> Option<&'o Group> {
        self.outcome.and_then(|outcome| outcome.group.as_ref())
    }

    /// `G.target`
    pub(super) fn target(&self) -> String {
        name::target(&self.group)
    }

    /// How long a unit may take to get ready, with all its attempts: what the readiness gate gives the whole group.
    pub(super) fn limit(&self) -> Option<Duration> {
        if self.members.iter().any(|member| member.start == Start::Timed && member.kind == Kind::Process)
            && self.part.is_some()
        {
            // A job that a timer starts takes as long as it takes.
            return None;
        }
        let limit = self.meaning().map(|group| group.timeout_start.value);
        limit.map_or(Some(Duration::from_secs(600)), crate::span::Span::finite)
    }

    /// What was named, for messages: `shop`, `shop/web@1`.
    pub(super) fn label(&self) -> String {
        match &self.part {
            Some(part) => format!("{}/{part}", self.group),
            None => self.group.to_string(),
        }
    }

    /// Those members, in their order.
    pub(super) fn subjects(&self, which: impl Fn(&Member) -> bool) -> Vec<Subject> {
        let subject = |member: &Member| Subject { unit: member.unit.clone(), label: member.label.clone() };
        self.members.iter().filter(|member| which(member)).map(subject).collect()
    }

    /// A plan of one step, with these units at once, because somebody asks for it.
    pub(super) fn plan(&self, action: Action, units: Vec<Subject>) -> Plan {
        let step = Step { action, units, reasons: vec![Reason::Asked], pace: Pace::default() };
        Plan::asked(self.group.clone(), vec![step], Vec::new())
    }

    /// Whether the group isn't ready without this unit: a setup step, a socket, or an essential process.
    pub(super) fn is_essential(&self, unit: &str) -> bool {
        let processes = self.meaning().into_iter().flat_map(|group| &group.processes);
        let of = processes.filter(|(process, definition)| match &definition.instances {
            None => name::service(&self.group, process) == unit,
            Some(_) => name::template_of(unit).as_ref() == Some(&name::template(&self.group, process)),
        });
        of.map(|(_, process)| process).next().is_none_or(|process| process.is_essential(unit))
    }
}

fn no_such<'o>(named: &Named, outcome: &Outcome) -> Result<Chosen<'o>, Exit> {
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
