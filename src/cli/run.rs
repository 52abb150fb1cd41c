//! `copse run`: a temporary group whose log is shown, and which ends with this command.
//!
//! ```text
//!  args         the arguments
//!  prepare      reads the files: a Procfile or group file, `.env` files
//!  draft        what is written: the group file, its drop-in, the environments    (pure)
//!  environment  which of the caller's variables a process gets                   (pure)
//!  foreground   shows the log and the states of processes, stops on Ctrl-C
//!  watch        what is shown of a unit, and when the run ends                   (pure)
//! ```
//!
//! The group is an ordinary one with a name of its own, and its file is in /run: `copse status` shows it, and its names do
//! not collide with those of an installed group. If this process is killed, `copse-run@G.service` cleans up; if that is
//! killed as well, systemd starts it again. The next `copse run` cleans up after runs that have neither.

mod args;
mod draft;
mod environment;
mod foreground;
mod marker;
mod prepare;
mod signals;
mod watch;

use std::io::stdout;
use std::path::Path;

pub(crate) use self::args::Run;
use self::foreground::{Foreground, Outcome};
use self::prepare::{Prepared, prepare};
use self::signals::Signals;
use self::watch::End;
use super::common::error::Error;
use super::common::execute::Execute;
use super::common::exit::Exit;
use super::common::message::warn;
use super::common::session::with_manager;
use super::common::temporary_group::cleanup::{clear, left_over};
use super::common::temporary_group::workspace::{Caller, Workspace};
use crate::basic::scope::{Directories, Scope};
use crate::manager::jobs::{Jobs, Request};
use crate::manager::state::LoadState;
use crate::manager::{Connected, LOG_IN, NOT_BOOTED, is_booted};
use crate::unit::name;

impl Execute for Run {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        // Users other than root run in their own manager.
        let scope = if rustix::process::geteuid().is_root() { scope } else { Scope::User };
        if !is_booted() {
            return Err(Error::failed(NOT_BOOTED));
        }
        // A root directory other than / belongs to another machine.
        let directories = Directories::from_environment(scope, Some("/".into()));
        let Some(state) = directories.state.clone() else {
            let message = format!("XDG_RUNTIME_DIR is not set, cannot write the group's files{LOG_IN}");
            return Err(Error::failed(message));
        };
        let own = i32::try_from(std::process::id()).ok().and_then(Caller::of);
        let file = std::path::absolute(&self.file).map_err(Error::failed)?;
        let workspace = own
            .ok_or(std::io::ErrorKind::NotFound.into())
            .and_then(|own| Workspace::claim(&state, &title(&file), own))
            .map_err(|error| Error::file("write to", &state, &error))?;
        let end = prepare(&self, &file, &workspace, &directories).and_then(|prepared| {
            with_manager(scope, async |systemd| self.carry_out(&systemd, scope, &state, &workspace, &prepared).await)
        });
        // If nothing was started, only this is left; otherwise it was removed already.
        if let Err(error) = workspace.remove() {
            warn(&format!("cannot remove the files of {}: {error}", workspace.name), None);
        }
        end
    }
}

impl Run {
    async fn carry_out(
        &self,
        systemd: &Connected,
        scope: Scope,
        state: &Path,
        workspace: &Workspace,
        prepared: &Prepared,
    ) -> Result<Exit, Error> {
        let (jobs, mut signals) = (Jobs::new(systemd).await?, Signals::new().map_err(Error::failed)?);
        if let Err(why) = left_over(&jobs, scope, state).await {
            warn(&format!("cannot clean up after an earlier run: {why}"), None);
        }
        let keeper = format!("copse-run@{}.service", workspace.name);
        let end = match begin(&jobs, workspace, prepared, &keeper).await {
            Ok(()) => self.show(scope, &jobs, &mut signals, prepared).await,
            Err(why) => Err(Error::failed(why)),
        };
        // Also if it failed.
        let cleared = clear(&jobs, scope, workspace).await;
        if cleared.is_ok() {
            // It would exit by itself, but later.
            let _ = jobs.run(Request::Stop, &keeper).await;
        }
        match cleared {
            Ok(()) => end,
            Err(why) => Err(Error::failed(format_args!("{why}; `{keeper}` tries again"))),
        }
    }

    /// Starts the group, shows it, and stops it.
    async fn show(&self, scope: Scope, jobs: &Jobs, signals: &mut Signals, prepared: &Prepared) -> Result<Exit, Error> {
        let (group, color) = (&prepared.group, self.color.on(&stdout()));
        let foreground = Foreground::new(scope, group, jobs.clone(), prepared.any_end, color);
        let mut foreground = foreground.map_err(|error| Error::cannot("run journalctl", error))?;
        foreground.show("starting; Ctrl-C stops it");
        let ran = foreground.start_and_run(signals).await;
        if let Ok(Outcome::Ended(end)) = &ran {
            foreground.show(&format!("{}: stopping", why(end)));
        }
        if ran.is_ok()
            && let Err(error) = foreground.stop(signals).await
        {
            warn(&error.to_string(), None);
        }
        foreground.last_lines().await;
        Ok(match ran? {
            Outcome::Requested => Exit::Done,
            Outcome::Ended(end) => status(&end),
        })
    }
}

/// Starts the keeper, which cleans up whatever fails afterwards; then writes the files and has systemd read them.
async fn begin(jobs: &Jobs, workspace: &Workspace, prepared: &Prepared, keeper: &str) -> Result<(), String> {
    let end = jobs.run(Request::Start, keeper).await.map_err(|error| format!("cannot start {keeper}: {error}"))?;
    if !end.may_be_good() {
        return Err(format!("cannot start {keeper}; check that copse is installed for this service manager"));
    }
    let write = || {
        for (name, text) in &prepared.draft.environments {
            workspace.write(name, text)?;
        }
        workspace.put(&prepared.draft.source.file.text, &prepared.draft.drop_ins())
    };
    write().map_err(|error: std::io::Error| format!("cannot write the files of {}: {error}", workspace.name))?;
    let systemd = jobs.systemd();
    systemd.reload().await.map_err(|error| error.to_string())?;
    let target = name::target(&workspace.name);
    let rows = systemd.list(&[&target]).await.map_err(|error| error.to_string())?;
    match rows.first().map(|row| &row.load) {
        Some(LoadState::Loaded) => Ok(()),
        _ => {
            Err(format!("{target} was not generated; check that copse-generator is installed for this service manager"))
        }
    }
}

/// A name for what is run: for a Procfile, that of its directory.
fn title(file: &Path) -> String {
    let procfile = file.extension().is_none_or(|extension| extension != "toml");
    let name = if procfile { file.parent().and_then(Path::file_name) } else { file.file_stem() };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

fn why(end: &End) -> String {
    match end {
        End::Of(label, _) => format!("{label} exited"),
        End::Done => "all processes have exited".to_owned(),
        End::NotStarted => "the start failed".to_owned(),
        End::Stopped => "stopped".to_owned(),
    }
}

fn status(end: &End) -> Exit {
    match end {
        End::Of(_, status) => Exit::Status(*status),
        End::Done | End::Stopped => Exit::Done,
        End::NotStarted => Exit::Failed,
    }
}
