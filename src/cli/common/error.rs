//! Why a command could not do its work: one type, printed in one place, with one way to the exit status.

use std::fmt::Display;
use std::io;
use std::path::Path;

use super::exit::Exit;
use super::message::{systemctl, warn};
use crate::basic::os_error::reason;
use crate::basic::scope::Scope;
use crate::change::rollout::Stop;
use crate::manager::{Unreachable, is_refusal, is_unknown};

#[derive(Debug)]
pub(crate) enum Error {
    /// A message of the command itself, with the remedy: an imperative.
    Message { exit: Exit, message: String, help: Option<String> },
    /// A rollout stopped, or the service manager did not do what it was asked.
    Stopped(Stop),
}

impl Error {
    pub(crate) fn new(exit: Exit, message: impl Display) -> Self {
        Self::Message { exit, message: message.to_string(), help: None }
    }

    pub(crate) fn failed(message: impl Display) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn no_such_group(message: impl Display) -> Self {
        Self::new(Exit::NoSuchGroup, message)
    }

    /// `cannot ACTION: REASON`
    pub(crate) fn cannot(action: impl Display, error: impl Display) -> Self {
        Self::failed(format_args!("cannot {action}: {}", reason(error)))
    }

    /// As [`Error::cannot`], for a file. If permission is denied, the exit status is that of a refusal.
    pub(crate) fn file(action: &str, path: &Path, error: &io::Error) -> Self {
        let denied = error.kind() == io::ErrorKind::PermissionDenied;
        let exit = if denied { Exit::NotAllowed } else { Exit::Failed };
        Self::new(exit, format_args!("cannot {action} `{}`: {}", path.display(), reason(error)))
    }

    /// Adds the remedy, if there is none yet.
    pub(crate) fn help(mut self, remedy: impl Display) -> Self {
        if let Self::Message { help, .. } = &mut self {
            help.get_or_insert_with(|| remedy.to_string());
        }
        self
    }

    /// Adds the name that was probably meant.
    pub(crate) fn did_you_mean(self, nearest: Option<&str>) -> Self {
        match nearest {
            Some(name) => self.help(format_args!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Adds what could not be done in front of the message.
    pub(crate) fn context(self, scope: Scope, cannot: impl Display) -> Self {
        let (exit, message, help) = self.parts(scope);
        Self::Message { exit, message: format!("cannot {cannot}: {}", message.unwrap_or_default()), help }
    }

    /// Prints the error, and says how to exit. `None` is printed of a unit that failed: the progress showed it.
    pub(crate) fn report(&self, scope: Scope) -> Exit {
        let (exit, message, help) = self.parts(scope);
        if let Some(message) = message {
            warn(&message, help.as_deref());
        }
        exit
    }

    /// The exit status, the message, and the remedy.
    pub(crate) fn parts(&self, scope: Scope) -> (Exit, Option<String>, Option<String>) {
        match self {
            Self::Message { exit, message, help } => (*exit, Some(message.clone()), help.clone()),
            Self::Stopped(stop) => stopped(stop, scope),
        }
    }
}

fn stopped(stop: &Stop, scope: Scope) -> (Exit, Option<String>, Option<String>) {
    let refused = |what: &str, error: &zbus::Error| {
        let help =
            (scope == Scope::System).then(|| "run it as root, or allow it by a polkit rule (polkit(8))".to_owned());
        (Exit::NotAllowed, Some(format!("not allowed to change {what}: {}", answer(error))), help)
    };
    match stop {
        Stop::Failed(_) => (Exit::Failed, None, None),
        Stop::Refused(subject, error) => refused(&format!("`{}`", subject.unit), error),
        Stop::Manager(error) if is_refusal(error) => refused("this", error),
        Stop::Manager(error) if is_unknown(error) => {
            let help = format!("run `{} daemon-reload` if the group file is new", systemctl(scope));
            (Exit::Failed, Some(answer(error)), Some(help))
        }
        Stop::Manager(error) => (Exit::Failed, Some(answer(error)), None),
        Stop::Interrupted => (Exit::Failed, Some("interrupted; queued jobs continue".to_owned()), None),
        Stop::State(message) => (Exit::Failed, Some(message.clone()), None),
    }
}

/// The service manager's own message, without the error's name and its full stop.
pub(crate) fn answer(error: &zbus::Error) -> String {
    let message = match error {
        zbus::Error::MethodError(_, Some(text), _) => text.clone(),
        zbus::Error::FDO(error) => zbus::DBusError::description(&**error).unwrap_or("no reason given").to_owned(),
        error => error.to_string(),
    };
    message.trim_end_matches('.').to_owned()
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

impl From<zbus::Error> for Error {
    fn from(error: zbus::Error) -> Self {
        Self::Stopped(Stop::Manager(error))
    }
}

impl From<Unreachable> for Error {
    fn from(error: Unreachable) -> Self {
        Self::failed(error)
    }
}
