//! Situations of groups that the tests are about.

use std::sync::Arc;

use crate::basic::scope::Scope;
use crate::change::observe::members::members;
use crate::change::observe::members::{Kind, Member};
use crate::change::observe::situation::{Added, Observed, Running, Situation};
use crate::change::observe::state::State;
use crate::generate;
use crate::generate::Options;
use crate::group_file::discover::Source;
use crate::manager::state::{ActiveState, LoadState, SubState};
use crate::manager::unit::UnitInfo;
use crate::model::{Context, Group};
use crate::state::history::Overrides;
use crate::unit::UnitTree;
use crate::unit::directives::Systemd;
use crate::unit::effective::Definitions;
use crate::unit::name::GroupName;

pub fn read(text: &str) -> Group {
    let file =
        Arc::new(crate::basic::diagnostic::SourceFile { path: "/etc/copse/g.toml".into(), text: text.to_owned() });
    let source = Source { name: GroupName::new("g").unwrap(), file, drop_ins: Vec::new() };
    let (group, diagnostics) = crate::model::read(&source, &Context { scope: Scope::System, cpus: 2 });
    group.unwrap_or_else(|| panic!("{:?}", diagnostics.iter().map(|one| one.line()).collect::<Vec<_>>()))
}

pub fn tree(group: &Group, version: u32) -> UnitTree {
    generate::generate(group, Options { systemd: Systemd { version }, static_target: false })
}

pub fn info(member: &Member, state: &State) -> UnitInfo {
    let (active, sub) = match state {
        State::Up => (ActiveState::Active, SubState::Running),
        State::Done if member.kind == Kind::Setup => (ActiveState::Active, SubState::Exited),
        State::Failed(_) => (ActiveState::Failed, SubState::Failed),
        State::Restarting => (ActiveState::Activating, SubState::AutoRestart),
        _ => (ActiveState::Inactive, SubState::Dead),
    };
    UnitInfo { name: member.subject.unit.clone(), load: LoadState::Loaded, active, sub, job: None }
}

/// Everything of the group runs with what `old` says, systemd has loaded that too, and the files say `new`.
pub fn situation<'g>(old: &Group, new: &'g Group) -> Situation<'g> {
    let (old_tree, new_tree, none) = (tree(old, 257), tree(new, 257), Overrides::default());
    let (before, now) = (Definitions::new(&old_tree, &none), Definitions::new(&new_tree, &none));
    let (old_members, mut all) = (members(old), members(new));
    let new_members = all.len();
    all.extend(
        old_members.iter().filter(|member| !members(new).iter().any(|known| known.unit() == member.unit())).cloned(),
    );
    let units = all.into_iter().enumerate().map(|(place, member)| {
        let before_start = old_members.iter().find(|known| known.unit() == member.unit()).map(|known| known.start);
        let then = before.unit(member.unit()).filter(|_| before_start.is_some());
        let new_definition = now.unit(member.unit()).filter(|_| place < new_members);
        use crate::change::observe::members::Start;
        let state = match (before_start, member.kind) {
            (None, _) | (Some(Start::Manual | Start::Timed | Start::Held), Kind::Process) => State::Stopped,
            (_, Kind::Setup) => State::Done,
            _ => State::Up,
        };
        let running = match (&then, &state) {
            (Some(then), State::Up | State::Done) => Running::With(then.clone()),
            _ => Running::Not,
        };
        Observed {
            info: info(&member, &state),
            orphaned: new_definition.is_none(),
            added: then.is_none().then_some(Added::New),
            asked_to_stop: false,
            running,
            loaded: then,
            new: new_definition,
            changed_inputs: Vec::new(),
            changed_start_files: Vec::new(),
            changed_program: None,
            rerun_steps: Vec::new(),
            stamp_matches: None,
            pinned: None,
            frozen: false,
            member,
            state,
        }
    });
    Situation {
        name: GroupName::new("g").unwrap(),
        group: Some(new),
        active: true,
        units: units.collect(),
        group_units: Vec::new(),
        needs_reload: before.differ(&now),
        interrupted: Default::default(),
        files: Vec::new(),
        applied: None,
        rolled_back: None,
        notes: Vec::new(),
    }
}
