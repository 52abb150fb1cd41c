//! The group file against what runs: `reloadConfig`, and the groups that clients add and remove.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Front, View, run_of, why};
use crate::basic::diagnostic::Severity;
use crate::basic::scope::Directories;
use crate::generate;
use crate::generate::Options;
use crate::generator;
use crate::generator::load::{GroupOutcome, load};
use crate::manager::process_state::process_state;
use crate::model::Context;
use crate::model::supervisor_table::table;
use crate::supervisor::changes::Changes;
use crate::supervisor::fault::{Code, Fault, Result};
use crate::supervisor::info;
use crate::supervisor::peer::Peer;
use crate::supervisor::roster::Roster;
use crate::supervisor::value::Value;
use crate::unit::UnitTree;
use crate::unit::directives::Systemd;
use crate::unit::effective::Definitions;
use crate::unit::overrides::Overrides;
use crate::unit::tree;

/// The group file as it is now.
struct File {
    roster: Roster,
    tree: UnitTree,
}

impl Front {
    /// What the group file says now. `None` if the units of the group are not generated from a file.
    fn read_file(&self) -> Result<Option<File>> {
        let directories = Directories::from_environment(self.scope, None);
        let outcome = load(&directories, &Context { scope: self.scope, cpus: generator::cpus() });
        let Some(file) = outcome.groups.iter().find(|file| file.name == self.group) else { return Ok(None) };
        if let Some(error) = file.diagnostics.iter().find(|found| found.severity() == Severity::Error) {
            return Err(Fault::new(Code::CantReread, error.line()));
        }
        let GroupOutcome { group: Some(group), static_target, .. } = file else { return Ok(None) };
        let systemd = Systemd::detect(&directories).unwrap_or(Systemd::OLDEST);
        let tree = generate::generate(group, Options { systemd, static_target: *static_target });
        let roster = if group.supervisor.is_some() { Roster::new(table(group)) } else { Roster::default() };
        Ok(Some(File { roster, tree }))
    }

    /// What the generator made of the group file when systemd read it last.
    fn loaded_tree(&self) -> UnitTree {
        let directories = Directories::from_environment(self.scope, None);
        let path = directories.generator.as_ref().map(|path| directories.rooted(path));
        path.and_then(|path| tree::read::units(&path).ok()).unwrap_or_default()
    }

    fn changes(&self, file: &File, seen: &Roster) -> Changes {
        let (loaded, none) = (self.loaded_tree(), Overrides::default());
        let (old, new) = (Definitions::new(&loaded, &none), Definitions::new(&file.tree, &none));
        Changes::between(&file.roster, seen, |unit| old.unit(unit) != new.unit(unit))
    }

    /// Compares the group file with what clients see. What it adds stays hidden until it is added. A process of the group
    /// gets no changes: its own start must not fail over an error in the file.
    pub(super) async fn reload_config(&self, view: &View) -> Result<Value> {
        if view.member.is_some() {
            return Ok(Changes::default().value());
        }
        let Some(file) = self.read_file()? else { return Ok(Changes::default().value()) };
        let (table, target) = (self.table().await?, self.target().await?);
        let hidden = self.hidden(&target);
        let changes = self.changes(&file, &table.without(&hidden));
        self.hide(run_of(&target), &hidden, |all| all.extend(changes.added.iter().cloned()))?;
        Ok(changes.value())
    }

    fn hide(&self, run: u64, hidden: &BTreeSet<String>, change: impl FnOnce(&mut BTreeSet<String>)) -> Result<()> {
        let mut all = hidden.clone();
        change(&mut all);
        if all == *hidden {
            return Ok(());
        }
        self.memory.set_hidden(run, &all).map_err(|error| Fault::new(Code::Failed, format!("cannot note it: {error}")))
    }

    /// Adds a group that was removed, or that the last `reloadConfig` found. Its automatic processes are started.
    pub(super) async fn add_group(self: &Arc<Self>, name: &str, peer: &Peer) -> Result<Value> {
        let (loaded, target) = (self.table().await?, self.target().await?);
        let hidden = self.hidden(&target);
        if loaded.clone().without(&hidden).groups().contains(name) {
            return Err(Fault::new(Code::AlreadyAdded, name));
        }
        if !hidden.contains(name) {
            return Err(Fault::new(Code::BadName, name));
        }
        let outcome = self.add(name, &loaded).await;
        self.log(peer, "add", name, &outcome);
        outcome?;
        self.hide(run_of(&target), &hidden, |all| _ = all.remove(name))?;
        for entry in self.table().await?.of_group(name).filter(|entry| entry.auto) {
            let outcome = self.start(entry, &View::default(), false).await;
            self.log(peer, "start", &entry.unit, &outcome);
        }
        Ok(Value::Boolean(true))
    }

    /// Has systemd read the group file, unless it has loaded the group as it says.
    async fn add(&self, name: &str, loaded: &Roster) -> Result<()> {
        let current = match self.read_file()? {
            Some(file) if !file.roster.groups().contains(name) => return Err(Fault::new(Code::BadName, name)),
            Some(file) => {
                let changes = self.changes(&file, loaded);
                !changes.added.contains(name) && !changes.changed.contains(name)
            }
            None => true,
        };
        if current {
            return Ok(());
        }
        let refused = |error| Fault::new(Code::Failed, why(&error, &self.group));
        self.systemd().manager().reload().await.map_err(refused)
    }

    /// Takes a stopped group from all lists.
    pub(super) async fn remove_group(&self, name: &str, peer: &Peer) -> Result<Value> {
        let (table, target) = (self.table().await?, self.target().await?);
        let hidden = self.hidden(&target);
        let roster = table.with_running(target.consists_of.iter().map(String::as_str)).without(&hidden);
        for entry in roster.group(name)? {
            let state = process_state(&self.properties(&entry.unit).await?);
            if state.is_up() || state.is_signallable() {
                return Err(Fault::new(Code::StillRunning, name));
            }
        }
        let outcome = self.hide(run_of(&target), &hidden, |all| _ = all.insert(name.to_owned()));
        self.log(peer, "remove", name, &outcome);
        outcome.map(|()| Value::Boolean(true))
    }

    /// The settings of all processes of the group file, also of those that are not in use.
    pub(super) async fn all_config(&self) -> Result<Value> {
        let (table, hidden) = (self.table().await?, self.hidden(&self.target().await?));
        // A broken file changes nothing.
        let file = self.read_file().ok().flatten();
        let mut entries = table.entries().to_vec();
        let new = file.as_ref().map_or(&[][..], |file| file.roster.entries());
        entries
            .extend(new.iter().filter(|entry| table.entries().iter().all(|known| known.unit != entry.unit)).cloned());
        entries.sort_by(|one, other| (&one.group, &one.name).cmp(&(&other.group, &other.name)));
        let mut all = Vec::new();
        for entry in &entries {
            let commands = self.systemd().commands(&entry.unit, "ExecStart").await.unwrap_or_default();
            let command = commands.first().map(|argv| argv.join(" ")).unwrap_or_default();
            let in_use = !hidden.contains(&entry.group) && table.groups().contains(entry.group.as_str());
            all.push(info::config(entry, in_use, &command));
        }
        Ok(Value::Array(all))
    }
}
