//! The group files of a scope, and what is said of a name that is none of theirs.

use super::output::complain;
use super::selector::Selector;
use crate::basic::scope::{Directories, Scope};
use crate::basic::suggest;
use crate::generator;
use crate::generator::load;
use crate::generator::load::Outcome;
use crate::model::Context;

/// The group files of a scope, as the generator reads them.
pub(crate) fn load(scope: Scope) -> (Directories, Outcome) {
    let directories = Directories::from_environment(scope, None);
    let outcome = load::load(&directories, &Context { scope, cpus: generator::cpus() });
    (directories, outcome)
}

/// That no group is to be found, and how there comes to be one.
pub(crate) fn no_groups(directories: &Directories) -> String {
    let places: Vec<_> = directories.groups.iter().map(|path| path.display().to_string()).collect();
    let copse = super::output::copse(directories.scope);
    format!("no groups in {}; help: `{copse} edit --full NAME` makes one, copse.toml(5)", places.join(", "))
}

/// Says that there is nothing of that name, and what is near.
pub(crate) fn unknown(named: &Selector, outcome: &Outcome) {
    let groups = || outcome.groups.iter().map(|group| group.name.as_str());
    let (what, near) = match &named.part {
        Some(part) if groups().any(|group| group == named.group) => {
            (format!("group `{}` has no process `{part}`", named.group), None)
        }
        _ => (format!("there is no group `{}`", named.group), suggest::nearest(&named.group, groups())),
    };
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    complain(format_args!("{what}{hint}"));
}
