//! `copse enable` and `copse disable`: whether a group starts at boot.
//!
//! systemd does not enable generated units, and a symbolic link in a `.wants/` directory that is made by hand works, but
//! `systemctl is-enabled` does not see it. So the target of an enabled group gets a unit file that has an `[Install]`
//! section and nothing else; the generator adds the rest (see `generate`). `systemctl` and presets then treat it as any
//! unit. A package may ship such a file as well.

mod target;

use std::path::PathBuf;

use clap::Args;

use self::target::UnitFile;
use super::files;
use super::process::directories;
use crate::basic::scope::Scope;
use crate::cli::common::args::Json;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups::unknown;
use crate::cli::common::message::{copse, systemctl, warn};
use crate::cli::common::progress::Details;
use crate::cli::common::selector::Selector;
use crate::cli::common::session;
use crate::cli::common::session::Session;
use crate::generator::load::GroupOutcome;
use crate::unit::name;
use crate::unit::name::GroupName;

#[derive(Debug, Args)]
struct Groups {
    /// Groups.
    #[arg(value_name = "GROUP", required = true)]
    names: Vec<String>,

    /// Also start or stop them now.
    #[arg(long)]
    now: bool,

    #[command(flatten)]
    output: Json,
}

/// Start groups at boot.
#[derive(Debug, Args)]
pub(crate) struct Enable {
    #[command(flatten)]
    groups: Groups,
}

/// Do not start groups at boot.
#[derive(Debug, Args)]
pub(crate) struct Disable {
    #[command(flatten)]
    groups: Groups,
}

/// The target of a group.
struct Target<'s> {
    session: &'s Session,
    group: GroupName,
    unit: String,
    file: Option<&'s GroupOutcome>,
    /// Where copse writes a unit file.
    path: PathBuf,
    unit_file: UnitFile,
}

impl Execute for Enable {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        change(scope, &self.groups, true)
    }
}

impl Execute for Disable {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        change(scope, &self.groups, false)
    }
}

/// Stops at the first group that does not end with [`Exit::Done`].
fn change(scope: Scope, groups: &Groups, enable: bool) -> Result<Exit, Error> {
    session::run(scope, groups.output.json, async |session| {
        for name in &groups.names {
            let target = Target::new(session, name)?;
            let before = target.state().await;
            if enable {
                target.enable().await?
            } else {
                target.disable().await?
            }
            session.progress.changed(target.state().await != before);
            let end = if groups.now { start_or_stop(session, name, enable).await } else { Ok(Exit::Done) };
            let (group, details) = (&target.group, Details::Enable { enabled: enable });
            session.progress.report(group, group.as_str(), details).await?;
            match end? {
                Exit::Done => {}
                exit => return Ok(exit),
            }
        }
        Ok(Exit::Done)
    })
}

async fn start_or_stop(session: &Session, name: &str, start: bool) -> Result<Exit, Error> {
    match session.selection(name).await {
        Ok(selection) if start => session.start_group(&selection).await,
        Ok(selection) => session.stop_group(&selection).await,
        // A disabled group without a file, of which nothing runs, is gone.
        Err(error) if !start && error.parts(session.scope).0 == Exit::NoSuchGroup => Ok(Exit::Done),
        Err(error) => Err(error),
    }
}

impl<'s> Target<'s> {
    fn new(session: &'s Session, name: &str) -> Result<Self, Error> {
        let directories = directories(session)?;
        let selector = Selector::new(name, &session.outcome.groups);
        let (Some(group), None) = (GroupName::new(&selector.group), &selector.part) else {
            return Err(
                Error::usage(format_args!("`{name}` is not a group")).help("name the group; it starts its processes")
            );
        };
        let Some(directory) = directories.administrator.first() else {
            return Err(Error::failed("there is no directory for units").help("set HOME"));
        };
        let unit = name::target(&group);
        let path = directory.join(&unit);
        let file = session.outcome.groups.iter().find(|outcome| outcome.name == group);
        let unit_file = match target::inspect(&path) {
            UnitFile::None if file.is_some_and(|file| file.static_target) => UnitFile::Other,
            unit_file => unit_file,
        };
        if file.is_none() && unit_file != UnitFile::Own {
            return Err(unknown(&selector, &session.outcome));
        }
        Ok(Self { session, group, unit, file, path, unit_file })
    }

    /// `wanted-by` of the group file.
    fn wanted_by(&self) -> &'s [String] {
        let group = self.file.and_then(|file| file.group.as_ref());
        group.map(|group| group.wanted_by.as_slice()).unwrap_or_default()
    }

    async fn enable(&self) -> Result<(), Error> {
        let (group, unit, path, session) = (&self.group, &*self.unit, self.path.display(), self.session);
        if self.file.is_none_or(|file| file.group.is_none()) {
            let help = format!("run `{} check {group}`", copse(session.scope));
            return Err(Error::new(Exit::Invalid, format_args!("group file of `{group}` is invalid")).help(help));
        }
        match self.unit_file {
            UnitFile::Masked => {
                let help = format!("run `{} unmask {unit}` first", systemctl(session.scope));
                return Err(Error::failed(format_args!("`{unit}` is masked")).help(help));
            }
            UnitFile::Foreign => {
                let help = format!("run `{} enable {unit}`, or remove the file first", systemctl(session.scope));
                return Err(Error::failed(format_args!("`{path}` was not written by copse")).help(help));
            }
            UnitFile::Own => {
                // `wanted-by` may have been different when it was written.
                self.unlink().await?;
                self.write()?;
            }
            UnitFile::None => self.write()?,
            UnitFile::Other => {}
        }
        if let Err(error) = self.link().await {
            if self.unit_file == UnitFile::None {
                let _ = files::remove(&self.path);
            }
            return Err(error);
        }
        let state = session.systemd().ask(|manager| async move { manager.get_unit_file_state(unit).await }).await?;
        session.progress.note(&format!("{group}: {state}"));
        Ok(())
    }

    /// Removes the symbolic links, and the unit file that `enable` wrote. If `wanted-by` of the group file would start the
    /// group at boot, a unit file is needed to prevent that.
    async fn disable(&self) -> Result<(), Error> {
        let (group, path, session) = (&self.group, self.path.display(), self.session);
        if matches!(self.unit_file, UnitFile::Masked | UnitFile::Foreign) {
            let help = format!("run `{} disable {}`", systemctl(session.scope), self.unit);
            return Err(Error::failed(format_args!("`{path}` was not written by copse")).help(help));
        }
        self.unlink().await?;
        let needed = !self.wanted_by().is_empty();
        match self.unit_file {
            UnitFile::None if needed => self.write()?,
            UnitFile::Own if !needed => {
                files::remove(&self.path).map_err(|error| Error::file("remove", &self.path, &error))?;
            }
            _ => {}
        }
        session.systemd().reload().await?;
        session.progress.note(&match (self.unit_file, needed) {
            (UnitFile::Other, _) | (UnitFile::Own, false) => format!("{group}: disabled"),
            (_, true) => format!("{group}: disabled; `{path}` overrides `wanted-by` of the group file"),
            (_, false) => format!("{group}: was not enabled"),
        });
        self.warn_if_wanted().await
    }

    /// What systemctl reports of the target, and the unit file that is copse's.
    async fn state(&self) -> (Option<String>, Option<Vec<u8>>) {
        let unit = &*self.unit;
        let state = self.session.systemd().ask(|manager| async move { manager.get_unit_file_state(unit).await }).await;
        (state.ok(), std::fs::read(&self.path).ok())
    }

    /// Makes the symbolic links of the `[Install]` section.
    async fn link(&self) -> Result<(), Error> {
        let (unit, systemd) = (&*self.unit, self.session.systemd());
        match systemd.ask(|manager| async move { manager.enable_unit_files(&[unit], false, false).await }).await? {
            (true, _) => Ok(systemd.reload().await?),
            (false, _) => Err(Error::failed(format_args!("`{unit}` has no [Install] section"))),
        }
    }

    /// Removes all symbolic links to the target.
    async fn unlink(&self) -> zbus::Result<()> {
        let unit = &*self.unit;
        let disable =
            self.session.systemd().ask(|manager| async move { manager.disable_unit_files(&[unit], false).await });
        disable.await.map(drop)
    }

    fn write(&self) -> Result<(), Error> {
        let text = target::text(&self.group, self.session.scope, self.wanted_by());
        files::write(&self.path, text.as_bytes()).map_err(|error| Error::file("write", &self.path, &error))
    }

    /// Other units may pull in the group: by links that were made by hand, or from another group.
    async fn warn_if_wanted(&self) -> Result<(), Error> {
        let wanted_by: Vec<String> = self.session.systemd().unit_property(&self.unit, "WantedBy").await?;
        if !wanted_by.is_empty() {
            warn(&format!("`{}` is still wanted by {}", self.unit, wanted_by.join(", ")), None);
        }
        Ok(())
    }
}
