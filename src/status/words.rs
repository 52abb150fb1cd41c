//! The words about a unit.

use super::types::Row;
use crate::change::observe::members::{Kind, Start};
use crate::change::observe::state::State;
use crate::manager::state::{ActiveState, LoadState, SubState};

/// The state of a unit: systemd's words, and what they mean to the group if that says more.
pub struct Words {
    pub people: String,
    /// In JSON, where the words are an interface and stay as they are.
    pub json: String,
}

impl Words {
    pub fn of(row: &Row) -> Self {
        let mut words = Self::of_state(row);
        let mut add = |people: &str, json: &str| {
            words.people.push_str(people);
            words.json.push_str(json);
        };
        if row.properties.as_ref().is_some_and(|properties| properties.frozen) {
            add(", frozen", ", frozen");
        }
        if row.orphaned {
            add(", orphaned", ", gone from the file");
        }
        if !row.outdated.is_empty() {
            add(", outdated", ", outdated");
        }
        if row.pinned.is_some() {
            add(", pinned", ", pinned");
        }
        words
    }

    fn of_state(row: &Row) -> Self {
        let word = row.info.active.as_str();
        let same = |text: String| Self { json: text.clone(), people: text };
        let and = |text: &str| same(format!("{word}, {text}"));
        let other =
            |people: &str, json: &str| Self { people: format!("{word}, {people}"), json: format!("{word}, {json}") };
        match &row.state {
            State::Up if row.info.load == LoadState::Masked => and("masked"),
            State::Up if row.info.sub == SubState::Listening => and("listening"),
            State::Up | State::Stopping => same(word.to_owned()),
            State::Done if row.member.kind == Kind::Setup => Self { json: "done (setup)".to_owned(), ..and("exited") },
            State::Done => other("exited", "done"),
            State::Skipped => and("condition unmet"),
            State::Masked => same("masked".to_owned()),
            State::Idle => match row.member.start {
                Start::Timed => other("scheduled", "timed"),
                Start::Held => and("held"),
                Start::Manual | Start::Auto => and("manual"),
            },
            State::Stopped => Self { people: word.to_owned(), json: format!("{word}, stopped") },
            State::Starting if row.info.active == ActiveState::Activating => same(word.to_owned()),
            State::Starting => and("start job waiting"),
            State::Restarting => Self { people: row.info.to_string(), json: "waiting for its restart".to_owned() },
            State::Failed(None) => same("failed".to_owned()),
            State::Failed(Some(cause)) => same(format!("failed: {cause}")),
            State::NotLoaded(load) => same(load.to_string()),
            State::Refused => other("assertion failed", "Assert…= unmet"),
        }
    }
}
