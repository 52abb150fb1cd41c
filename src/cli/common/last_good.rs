//! What groups are that have no valid file now and run all the same: by the last good one, from which their units were
//! generated. Without it, a setup step couldn't be told from a process.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::basic::scope::{Directories, Scope};
use crate::model;
use crate::model::{Context, Group};
use crate::state::history::{History, StartHistory};
use crate::unit::name::GroupName;

/// Read when it is asked for: mostly nobody has to.
#[derive(Debug)]
pub(crate) struct LastGood {
    scope: Scope,
    read: OnceCell<Result<BTreeMap<GroupName, Group>, String>>,
}

impl LastGood {
    pub(crate) fn new(scope: Scope) -> Self {
        Self { scope, read: OnceCell::new() }
    }

    /// What the units of `group` were generated from; `None` where there are none.
    ///
    /// # Errors
    /// Why that can't be known: what copse keeps may be root's to read.
    pub(crate) fn of(&self, group: &GroupName) -> Result<Option<&Group>, &str> {
        let read = self.read.get_or_init(|| read(self.scope));
        read.as_ref().map(|groups| groups.get(group)).map_err(String::as_str)
    }
}

fn read(scope: Scope) -> Result<BTreeMap<GroupName, Group>, String> {
    let directories = Directories::from_environment(scope, None);
    let history = StartHistory::read(&directories).map_err(|why| why.message)?;
    let meaning = |history: &History| {
        let last = history.last()?;
        model::read(&last.source, &Context { scope, cpus: last.cpus }).0
    };
    Ok(history.groups.into_iter().filter_map(|(name, history)| Some((name, meaning(&history)?))).collect())
}
