//! The units that start a group whose file has errors: the failure has to show where the group would be missed.

use crate::basic::diagnostic::Diagnostics;
use crate::basic::scope::Scope;
use crate::basic::suggest;
use crate::group_file::discover::Source;
use crate::group_file::document::Table;
use crate::model::parse::{group, units, value};

const KEY: &str = "wanted-by";

/// The units in `wanted-by`; none without the key. `None` if they are unknown: the file is not TOML, or the error is in
/// `wanted-by` itself, which may be misspelled or in the wrong table.
pub fn wanted_by(source: &Source, scope: Scope) -> Option<Vec<String>> {
    let table = group::document(source, &mut Diagnostics::default())?;
    let Some(entry) = table.get(KEY) else {
        return (!is_meant(&table)).then(Vec::new);
    };
    let mut errors = Diagnostics::default();
    let nodes = value::strings(KEY, &entry.node, &mut errors);
    let units: Vec<_> =
        nodes.into_iter().filter_map(|node| errors.ok(units::outside(KEY, node, scope)).map(str::to_owned)).collect();
    let good = !errors.has_errors() && !units.iter().any(|unit| is_own(source.name.as_str(), unit));
    good.then_some(units)
}

/// True for a unit of the group, which nothing outside starts.
fn is_own(group: &str, unit: &str) -> bool {
    let Some(rest) = unit.strip_prefix(group) else { return false };
    rest == ".target" || rest.starts_with(['-', '.', '@']) && !rest.ends_with(".target")
}

/// True if some key seems to be it: `wanted_by`, `WantedBy`, one below a header, or an `[install]` section.
fn is_meant(table: &Table) -> bool {
    table.entries().iter().any(|entry| {
        suggest::nearest(&entry.name, [KEY]).is_some()
            || entry.name.eq_ignore_ascii_case("install")
            || entry.node.as_table().is_some_and(is_meant)
    })
}
