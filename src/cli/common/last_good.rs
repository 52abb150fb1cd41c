//! The last good versions of group files: what units were generated from whose group file is now invalid or removed.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::basic::scope::{Directories, Scope};
use crate::model;
use crate::model::{Context, Group};
use crate::state::history::{History, StartHistory};
use crate::unit::name::GroupName;

/// Reads the start history only if it is needed.
#[derive(Debug)]
pub(crate) struct LastGood {
    scope: Scope,
    groups: OnceCell<Result<BTreeMap<GroupName, Group>, String>>,
}

impl LastGood {
    pub(crate) fn new(scope: Scope) -> Self {
        Self { scope, groups: OnceCell::new() }
    }

    /// The last good version of `group`; `None` if there was none since boot.
    ///
    /// # Errors
    /// The start history cannot be read, for example because only root may.
    pub(crate) fn get(&self, group: &GroupName) -> Result<Option<&Group>, &str> {
        let groups = self.groups.get_or_init(|| read(self.scope));
        groups.as_ref().map(|groups| groups.get(group)).map_err(String::as_str)
    }
}

fn read(scope: Scope) -> Result<BTreeMap<GroupName, Group>, String> {
    let directories = Directories::from_environment(scope, None);
    let history = StartHistory::read(&directories).map_err(|error| error.message)?;
    let last = |history: &History| {
        let last = history.last()?;
        model::read(&last.source, &Context { scope, cpus: last.cpus }).0
    };
    Ok(history.groups.into_iter().filter_map(|(name, history)| Some((name, last(&history)?))).collect())
}
