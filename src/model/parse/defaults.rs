//! `[defaults]`: those that fit a process or setup step. A default that does not fit is not applied there; the same key in
//! the table of the process would be an error.

use crate::group_file::document::{Entry, Table, Value};
use crate::group_file::keys;

/// The defaults that fit a process or setup step with the table `own`.
pub fn fitting<'a>(own: &'a Table<'a>, defaults: &'a Table<'a>, setup: bool) -> impl Iterator<Item = &'a Entry<'a>> {
    let member = Member { own, defaults, setup };
    defaults.entries().iter().filter(move |default| member.fits(default))
}

struct Member<'a> {
    own: &'a Table<'a>,
    defaults: &'a Table<'a>,
    setup: bool,
}

/// `ready`, as far as other keys depend on it.
#[derive(PartialEq, Eq)]
enum Readiness {
    Exits,
    /// systemd itself notices that it is ready.
    Forks,
    Notifies,
    Foreground,
}

impl Member<'_> {
    fn fits(&self, default: &Entry) -> bool {
        let key = &*default.name;
        let place = if self.setup { keys::SETUP } else { keys::PROCESS };
        if keys::find(key).is_none_or(|key| key.places & place == 0) {
            return false;
        }
        let word = match &default.node.value {
            Value::String(word) => word,
            _ => "",
        };
        match key {
            "start" | "ready" | "essential" => !self.timed(),
            "non-blocking" => self.own.get("listen").is_some(),
            "health" => self.stays() && self.own.get("watchdog-sec").is_none(),
            "watchdog-sec" => self.stays() && !self.has("health"),
            "restart" if matches!(word, "always" | "on-success") => !self.exits(),
            "restart-steps" => self.has("restart-max-delay-sec"),
            "restart-max-delay-sec" => self.has("restart-steps"),
            "refresh" if word == "roll" => self.own.get("instances").is_some(),
            "refresh" if word == "reload" => {
                self.own.get("exec-reload").is_some() || !self.timed() && self.readiness() == Readiness::Notifies
            }
            _ => key.strip_suffix("-mode").is_none_or(|of| !of.ends_with("-directory") || self.has(of)),
        }
    }

    fn has(&self, key: &str) -> bool {
        self.own.get(key).or_else(|| self.defaults.get(key)).is_some()
    }

    fn timed(&self) -> bool {
        !self.setup && self.own.get("on-calendar").is_some()
    }

    fn exits(&self) -> bool {
        self.setup || self.timed() || self.readiness() == Readiness::Exits
    }

    /// True if the program stays in the foreground, so that a watchdog can watch it.
    fn stays(&self) -> bool {
        !self.exits() && self.readiness() != Readiness::Forks
    }

    fn readiness(&self) -> Readiness {
        match self.own.get("ready").or_else(|| self.defaults.get("ready")).map(|entry| &entry.node.value) {
            Some(Value::String(word)) if word == "oneshot" => Readiness::Exits,
            Some(Value::String(word)) if word == "notify" => Readiness::Notifies,
            Some(Value::Table(table)) if table.get("dbus").is_some() || table.get("pid-file").is_some() => {
                Readiness::Forks
            }
            _ => Readiness::Foreground,
        }
    }
}
