//! `copse run`: a throw-away group, with its log in front, that ends with this command.
//!
//! ```text
//!  prepare      reads the files: a Procfile or group file, `.env` files
//!  draft        what is written: the group file, what is put over it, the environments        (pure)
//!  environment  what of the caller's variables a process gets                                 (pure)
//!  foreground   the log, what becomes of the processes, Ctrl-C
//!  watch        what is said of them, and when it is over                                     (pure)
//! ```
//!
//! The group is an ordinary one, with a name of its own, whose file is in /run: `copse status` shows it, and nothing of
//! it can meet an installed group. Should this process be killed, `copse-run@G.service` clears up; should that be
//! killed as well, systemd starts it again; and the next `copse run` clears up after runs that have neither.

mod draft;
mod environment;
mod foreground;
mod marker;
mod prepare;
mod signals;
mod watch;

use std::io::stdout;
use std::path::{Path, PathBuf};

use clap::Args;

use self::foreground::{Front, Over};
use self::prepare::Prepared;
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
use crate::basic::terminal::ColorChoice;
use crate::import::procfile::Formation;
use crate::manager::jobs::{Jobs, Request};
use crate::manager::state::LoadState;
use crate::manager::{Connected, LOG_IN, NOT_BOOTED, is_booted};
use crate::unit::name;

/// Run a Procfile or a group file, with its log in front; Ctrl-C stops it, and nothing stays.
///
/// The processes run in the user's service manager, or as root in the system's, with the caller's environment. The run
/// is over when a process of a Procfile ends, or an essential process of a group fails for good; the exit status is that
/// process's.
#[derive(Debug, Args)]
pub struct Run {
    /// A group file (`*.toml`) or a Procfile.
    #[arg(value_name = "FILE", default_value = "Procfile")]
    file: PathBuf,

    /// How many of which process; those that aren't named aren't run, unless `all=N` is.
    #[arg(short = 'm', long, value_name = "NAME=N,…", value_parser = Formation::new)]
    formation: Option<Formation>,

    /// Files with more variables [default for a Procfile: the `.env` beside it, if there is one].
    #[arg(short, long, value_name = "FILE,…", value_delimiter = ',')]
    env: Vec<PathBuf>,

    /// The first port of a Procfile's processes [default: `$PORT`, or 5000].
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    /// When to use colours.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

impl Execute for Run {
    /// Runs until it is over.
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        // Who isn't root has a manager of their own.
        let scope = if rustix::process::geteuid().is_root() { scope } else { Scope::User };
        if !is_booted() {
            return Err(Error::failed(NOT_BOOTED));
        }
        // Another root is another machine's.
        let directories = Directories::from_environment(scope, Some("/".into()));
        let Some(state) = directories.state.clone() else {
            let message = format!("XDG_RUNTIME_DIR isn't set: there is no place for the group's files{LOG_IN}");
            return Err(Error::failed(message));
        };
        let own = i32::try_from(std::process::id()).ok().and_then(Caller::of);
        let file = std::path::absolute(&self.file).map_err(Error::failed)?;
        let place = own.ok_or(std::io::ErrorKind::NotFound.into());
        let place = place.and_then(|own| Workspace::claim(&state, &what(&file), own));
        let place = place.map_err(|error| Error::failed(format_args!("{}: {error}", state.display())))?;
        let end = self.prepare(&file, &place, &directories).and_then(|prepared| {
            with_manager(scope, async |systemd| self.carry_out(&systemd, scope, &state, &place, &prepared).await)
        });
        // Where nothing was begun there is no more than this; otherwise it is gone already.
        if let Err(error) = place.remove() {
            warn(&format!("the files of {} can't be removed: {error}", place.name), None);
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
        place: &Workspace,
        prepared: &Prepared,
    ) -> Result<Exit, Error> {
        let (jobs, mut signals) = (Jobs::new(systemd).await?, Signals::new().map_err(Error::failed)?);
        if let Err(why) = left_over(&jobs, scope, state).await {
            warn(&format!("cannot clean up after an earlier run: {why}"), None);
        }
        let keeper = format!("copse-run@{}.service", place.name);
        let end = match begin(&jobs, place, prepared, &keeper).await {
            Ok(()) => self.show(scope, &jobs, &mut signals, prepared).await,
            Err(why) => Err(Error::failed(why)),
        };
        // However it ended.
        let cleared = clear(&jobs, scope, place).await;
        if cleared.is_ok() {
            // It would end by itself, but a moment later.
            let _ = jobs.run(Request::Stop, &keeper).await;
        }
        match cleared {
            Ok(()) => end,
            Err(why) => Err(Error::failed(format_args!("{why}; `{keeper}` goes on trying"))),
        }
    }

    /// The run itself, once everything is in place.
    async fn show(&self, scope: Scope, jobs: &Jobs, signals: &mut Signals, prepared: &Prepared) -> Result<Exit, Error> {
        let (group, colour) = (&prepared.group, self.color.on(&stdout()));
        let front = Front::new(scope, group, jobs.clone(), prepared.any_end, colour);
        let mut front = front.map_err(|error| Error::cannot("run journalctl", error))?;
        front.say("starting; Ctrl-C stops it");
        let ran = front.start_and_run(signals).await;
        if let Ok(Over::Ended(end)) = &ran {
            front.say(&format!("{}: stopping", why(end)));
        }
        if ran.is_ok()
            && let Err(error) = front.stop(signals).await
        {
            warn(&error.to_string(), None);
        }
        front.last_lines().await;
        Ok(match ran? {
            Over::Asked => Exit::Done,
            Over::Ended(end) => status(&end),
        })
    }
}

/// Puts everything in place. From the first step on it is cleared up after, whatever happens here.
async fn begin(jobs: &Jobs, place: &Workspace, prepared: &Prepared, keeper: &str) -> Result<(), String> {
    let end = jobs.run(Request::Start, keeper).await.map_err(|error| format!("{keeper} can't be started: {error}"))?;
    if !end.may_be_good() {
        return Err(format!("{keeper} can't be started; is copse installed for this service manager?"));
    }
    let put = || {
        for (name, text) in &prepared.draft.environments {
            place.write(name, text)?;
        }
        place.put(&prepared.draft.source.file.text, &prepared.draft.drop_ins())
    };
    put().map_err(|error: std::io::Error| format!("the files of {} can't be written: {error}", place.name))?;
    let systemd = jobs.systemd();
    systemd.reload().await.map_err(|error| error.to_string())?;
    let target = name::target(&place.name);
    let rows = systemd.list(&[&target]).await.map_err(|error| error.to_string())?;
    match rows.first().map(|row| &row.load) {
        Some(LoadState::Loaded) => Ok(()),
        _ => Err(format!("{target} wasn't made; is copse-generator installed for this service manager?")),
    }
}

/// A word for what is run: a Procfile is called like all others.
fn what(file: &Path) -> String {
    let procfile = file.extension().is_none_or(|extension| extension != "toml");
    let named = if procfile { file.parent().and_then(Path::file_name) } else { file.file_stem() };
    named.unwrap_or_default().to_string_lossy().into_owned()
}

fn why(end: &End) -> String {
    match end {
        End::Of(label, _) => format!("{label} ended"),
        End::Done => "all have ended well".to_owned(),
        End::NotStarted => "the start failed".to_owned(),
        End::Stopped => "stopped by somebody else".to_owned(),
    }
}

fn status(end: &End) -> Exit {
    match end {
        End::Of(_, status) => Exit::Status(*status),
        End::Done | End::Stopped => Exit::Done,
        End::NotStarted => Exit::Failed,
    }
}
