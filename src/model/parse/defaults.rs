//! `[defaults]`: which of them fit a process or setup step. What doesn't fit doesn't apply there; the same written in
//! place would be an error.

use crate::group_file::document::{Entry, Table, Value};
use crate::group_file::keys;

/// One process or setup step, before its defaults are known.
pub struct Member<'a> {
    /// Its own table.
    pub own: &'a Table<'a>,
    /// `[defaults]`.
    pub defaults: &'a Table<'a>,
    /// Whether it is a setup step.
    pub setup: bool,
}

/// What `ready` says, as far as other keys depend on it.
#[derive(PartialEq, Eq)]
enum Kind {
    /// It runs to its end.
    Ends,
    /// systemd itself sees that it is ready.
    Forks,
    Notifies,
    Foreground,
}

impl<'a> Member<'a> {
    /// The defaults that fit.
    pub fn fitting(&self) -> impl Iterator<Item = &'a Entry<'a>> {
        self.defaults.entries().iter().filter(|default| self.fits(default))
    }

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
            "restart" if matches!(word, "always" | "on-success") => !self.ends(),
            "restart-steps" => self.has("restart-max-delay-sec"),
            "restart-max-delay-sec" => self.has("restart-steps"),
            "refresh" if word == "roll" => self.own.get("instances").is_some(),
            "refresh" if word == "reload" => {
                self.own.get("exec-reload").is_some() || !self.timed() && self.ready() == Kind::Notifies
            }
            _ if key.ends_with("-directory-mode") => self.has(key.trim_end_matches("-mode")),
            _ => true,
        }
    }

    fn has(&self, key: &str) -> bool {
        self.own.get(key).or_else(|| self.defaults.get(key)).is_some()
    }

    fn timed(&self) -> bool {
        !self.setup && self.own.get("on-calendar").is_some()
    }

    fn ends(&self) -> bool {
        self.setup || self.timed() || self.ready() == Kind::Ends
    }

    /// Whether the program stays in the foreground, where something can watch over it.
    fn stays(&self) -> bool {
        !self.ends() && self.ready() != Kind::Forks
    }

    fn ready(&self) -> Kind {
        match self.own.get("ready").or_else(|| self.defaults.get("ready")).map(|entry| &entry.node.value) {
            Some(Value::String(word)) if word == "oneshot" => Kind::Ends,
            Some(Value::String(word)) if word == "notify" => Kind::Notifies,
            Some(Value::Table(table)) if table.get("dbus").is_some() || table.get("pid-file").is_some() => Kind::Forks,
            _ => Kind::Foreground,
        }
    }
}
