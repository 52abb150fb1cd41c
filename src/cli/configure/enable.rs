//! `copse enable` and `copse disable`: whether a group is started at boot.
//!
//! systemd enables no generated unit, and a link in some `.wants/` made by hand would work and still not be what
//! `systemctl is-enabled` speaks of. So a group that is to be enabled gets a unit file of its own that carries
//! `[Install]` and nothing else; the generator fills it (see `generate`). From then on `systemctl`, presets and tools
//! that manage machines see a unit as any other. Who ships one in a package has done the same already.

mod target;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use self::target::Found;
use super::drop_in;
use super::transaction;
use crate::basic::scope::Scope;
use crate::change::rollout::Stop;
use crate::cli::common::exit::Exit;
use crate::cli::common::output;
use crate::cli::common::output::complain;
use crate::cli::common::selection::Selection;
use crate::cli::common::session;
use crate::cli::common::session::Session;
use crate::cli::control::{start, stop};
use crate::generator::load::GroupOutcome;
use crate::manager::proxy::ManagerProxy;
use crate::unit::name;
use crate::unit::name::GroupName;

/// Start groups at boot.
#[derive(Debug, Args)]
pub(crate) struct Enable {
    /// Which groups.
    #[arg(value_name = "GROUP", required = true)]
    names: Vec<String>,

    /// Start them now as well.
    #[arg(long)]
    now: bool,

    /// An object for each group, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

/// Don't start groups at boot any more.
#[derive(Debug, Args)]
pub(crate) struct Disable {
    /// Which groups.
    #[arg(value_name = "GROUP", required = true)]
    names: Vec<String>,

    /// Stop them now as well.
    #[arg(long)]
    now: bool,

    /// An object for each group, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

/// A group and its target's unit file.
struct Subject<'o> {
    group: GroupName,
    outcome: Option<&'o GroupOutcome>,
    /// Where copse puts a unit file for the target.
    path: PathBuf,
    found: Found,
}

impl Enable {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        change(scope, &self.names, true, self.now, self.json)
    }
}

impl Disable {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        change(scope, &self.names, false, self.now, self.json)
    }
}

/// One group after the other, and then what has to be done to them now; the first that doesn't end well ends it.
fn change(scope: Scope, names: &[String], enable: bool, now: bool, json: bool) -> Exit {
    session::run(scope, json, async |work| {
        for name in names {
            let exit = match Subject::new(work, name) {
                Ok(subject) => {
                    let before = subject.state(work).await;
                    let exit = if enable { subject.enable(work).await? } else { subject.disable(work).await? };
                    work.progress.changed(subject.state(work).await != before);
                    exit
                }
                Err(exit) => exit,
            };
            let end = match exit {
                Exit::Done if now => self::now(work, name, enable).await,
                exit => Ok(exit),
            };
            if exit == Exit::Done {
                let group = crate::cli::common::selector::Selector::new(name, &work.outcome.groups).group;
                work.progress.report(&group, &group, json!({ "enabled": enable }))?;
            }
            match end? {
                Exit::Done => {}
                exit => return Ok(exit),
            }
        }
        Ok(Exit::Done)
    })
}

/// Starts or stops a group.
async fn now(work: &Session, name: &str, up: bool) -> Result<Exit, Stop> {
    match Selection::new(work.systemd(), &work.outcome, &work.past, name).await? {
        Ok(chosen) if up => start::whole(work, &chosen).await,
        Ok(chosen) => stop::whole(work, &chosen).await,
        // Disabled and stopped, and without a file there is nothing left of it.
        Err(_) if !up => Ok(Exit::Done),
        Err(exit) => Ok(exit),
    }
}

impl<'o> Subject<'o> {
    fn new(work: &'o Session, name: &str) -> Result<Self, Exit> {
        let directories = drop_in::directories(work)?;
        let named = crate::cli::common::selector::Selector::new(name, &work.outcome.groups);
        let (Some(group), None) = (GroupName::new(&named.group), &named.part) else {
            complain(format_args!("`{name}` is no group; processes are started by their group"));
            return Err(Exit::Usage);
        };
        let Some(directory) = directories.administrator.first() else {
            complain(format_args!("there is no directory for units: HOME isn't set"));
            return Err(Exit::Failed);
        };
        let path = directory.join(name::target(&group));
        let outcome = work.outcome.groups.iter().find(|outcome| outcome.name == group);
        let found = match (target::look(&path), outcome) {
            (Found::Nothing, Some(outcome)) if outcome.static_target => Found::Elsewhere,
            (found, _) => found,
        };
        if outcome.is_none() && found != Found::Ours {
            crate::cli::common::load::unknown(&named, &work.outcome);
            return Err(Exit::NoSuchGroup);
        }
        Ok(Self { group, outcome, path, found })
    }

    fn unit(&self) -> String {
        name::target(&self.group)
    }

    /// `wanted-by` of the group's file.
    fn wanted_by(&self) -> &'o [String] {
        let group = self.outcome.and_then(|outcome| outcome.group.as_ref());
        group.map(|group| group.wanted_by.as_slice()).unwrap_or_default()
    }

    async fn enable(&self, work: &Session) -> Result<Exit, Stop> {
        if self.outcome.is_none_or(|outcome| outcome.group.is_none()) {
            let copse = crate::cli::common::output::copse(work.scope);
            complain(format_args!("the file of group `{0}` is invalid: `{copse} check {0}`", self.group));
            return Ok(Exit::Invalid);
        }
        match self.found {
            Found::Masked => {
                let systemctl = crate::cli::common::output::systemctl(work.scope);
                complain(format_args!("`{0}` is masked: `{systemctl} unmask {0}` first", self.unit()));
                return Ok(Exit::Failed);
            }
            Found::Foreign => {
                complain(format_args!("`{}` isn't copse's: enable that, or remove it first", self.path.display()));
                return Ok(Exit::Failed);
            }
            // What it says of `wanted-by` may have been another then.
            Found::Ours | Found::Nothing => {
                if self.found == Found::Ours {
                    self.unlink(work).await?;
                }
                if let Err(exit) = self.put(work.scope) {
                    return Ok(exit);
                }
            }
            Found::Elsewhere => {}
        }
        let unit = &*self.unit();
        let link =
            |manager: ManagerProxy<'static>| async move { manager.enable_unit_files(&[unit], false, false).await };
        let enabled = work.systemd().ask(link).await;
        let done = match enabled {
            Ok((true, _)) => work.systemd().reload().await.map_err(Stop::from),
            Ok((false, _)) => {
                complain(format_args!("`{}` has no [Install] section", self.unit()));
                return Ok(Exit::Failed);
            }
            Err(error) => Err(error.into()),
        };
        if let Err(stop) = done {
            if self.found == Found::Nothing {
                let _ = transaction::remove(&self.path);
            }
            return Err(stop);
        }
        let state = work.systemd().ask(|manager| async move { manager.get_unit_file_state(unit).await }).await?;
        work.progress.note(&format!("{}: {state}", self.group));
        Ok(Exit::Done)
    }

    /// Takes the links away, and the unit file that `enable` put there. One has to stay, or be put there, where the
    /// group's own `wanted-by` would start it at boot.
    async fn disable(&self, work: &Session) -> Result<Exit, Stop> {
        if matches!(self.found, Found::Masked | Found::Foreign) {
            let systemctl = crate::cli::common::output::systemctl(work.scope);
            complain(format_args!("`{}` isn't copse's: `{systemctl} disable {}`", self.path.display(), self.unit()));
            return Ok(Exit::Failed);
        }
        self.unlink(work).await?;
        let stays = !self.wanted_by().is_empty();
        match self.found {
            Found::Nothing if stays => {
                if let Err(exit) = self.put(work.scope) {
                    return Ok(exit);
                }
            }
            Found::Ours if !stays => {
                if let Err(error) = transaction::remove(&self.path) {
                    return Ok(output::unwritten(&self.path, &error));
                }
            }
            _ => {}
        }
        work.systemd().reload().await?;
        let note = match (self.found, stays) {
            (Found::Elsewhere, _) => format!("{}: disabled", self.group),
            (_, true) => format!(
                "{}: disabled; `{}` says so, against `wanted-by` in the group file",
                self.group,
                self.path.display()
            ),
            (Found::Ours, false) => format!("{}: not started at boot any more", self.group),
            (_, false) => format!("{}: it wasn't enabled", self.group),
        };
        work.progress.note(&note);
        self.warn(work).await?;
        Ok(Exit::Done)
    }

    /// What systemctl says of the target, and the unit file that is copse's.
    async fn state(&self, work: &Session) -> (Option<String>, Option<Vec<u8>>) {
        let unit = &*self.unit();
        let state = work.systemd().ask(|manager| async move { manager.get_unit_file_state(unit).await }).await;
        (state.ok(), std::fs::read(&self.path).ok())
    }

    /// Takes all links to the target away.
    async fn unlink(&self, work: &Session) -> zbus::Result<()> {
        let unit = &*self.unit();
        work.systemd().ask(|manager| async move { manager.disable_unit_files(&[unit], false).await }).await.map(drop)
    }

    fn put(&self, scope: Scope) -> Result<(), Exit> {
        let text = target::text(&self.group, scope, self.wanted_by());
        transaction::put(&self.path, text.as_bytes()).map_err(|error| output::unwritten(&self.path, &error))
    }

    /// Other units may want the group: systemd's links made by hand, or another group.
    async fn warn(&self, work: &Session) -> Result<(), Stop> {
        let wanted: Vec<String> = work.systemd().unit_property(&self.unit(), "WantedBy").await?;
        if !wanted.is_empty() {
            complain(format_args!("`{}` is still wanted by {}", self.unit(), wanted.join(", ")));
        }
        Ok(())
    }
}
