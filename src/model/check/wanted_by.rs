//! What starts a group whose file has mistakes: its failure is to be seen where the group would be missed.

use crate::basic::diagnostic::Diagnostics;
use crate::basic::scope::Scope;
use crate::basic::suggest;
use crate::group_file::discover::Source;
use crate::group_file::document::Table;
use crate::model::parse::{group, units, value};

const KEY: &str = "wanted-by";

/// The units that are to want the group's target; none where a file has no `wanted-by`. `None` where that can't be told:
/// the file isn't TOML, or the mistake is in `wanted-by` itself, which may be misspelt, or stand in the wrong place.
pub fn wanted_by(source: &Source, scope: Scope) -> Option<Vec<String>> {
    let table = group::document(source, &mut Diagnostics::default())?;
    let Some(entry) = table.get(KEY) else {
        return (!is_meant(&table)).then(Vec::new);
    };
    let mut wrong = Diagnostics::default();
    let nodes = value::one_or_many(KEY, &entry.node, &mut wrong);
    let units: Vec<_> =
        nodes.into_iter().filter_map(|node| units::outside_unit(KEY, node, scope, &mut wrong)).collect();
    let good = !wrong.has_errors() && !units.iter().any(|unit| is_own(source.name.as_str(), unit));
    good.then(|| units.into_iter().map(str::to_owned).collect())
}

/// Whether a unit is one of the group's, which nothing outside starts.
fn is_own(group: &str, unit: &str) -> bool {
    let Some(rest) = unit.strip_prefix(group) else { return false };
    rest == ".target" || rest.starts_with(['-', '.', '@']) && !rest.ends_with(".target")
}

/// Whether some key seems to be it: `wanted_by`, `WantedBy`, one below a header, or an `[install]` section.
fn is_meant(table: &Table) -> bool {
    table.entries().iter().any(|entry| {
        suggest::nearest(&entry.name, [KEY]).is_some()
            || entry.name.eq_ignore_ascii_case("install")
            || entry.node.as_table().is_some_and(is_meant)
    })
}
