//! Every unit that is named has to exist: systemd itself says nothing about a missing one in `Wants=` or `After=`.

use std::collections::BTreeSet;

use copse::unit::{Entry, UnitTree};
use libtest_mimic::Failed;

use crate::Case;

/// Directives whose values are names of units.
const NAMING: &[&str] = &[
    "After",
    "Before",
    "Wants",
    "Requires",
    "PartOf",
    "Conflicts",
    "OnFailure",
    "Sockets",
    "Service",
    "Unit",
    "Slice",
];

/// The templates that are shipped, from the files themselves.
fn shipped() -> Result<BTreeSet<String>, Failed> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/units");
    let entries = std::fs::read_dir(directory).map_err(|error| format!("{directory}: {error}"))?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

pub fn check(case: &Case) -> Result<(), Failed> {
    let tree = case.generate(case.systemd)?;
    let (shipped, outside) = (shipped()?, outside(case)?);
    let exists = |unit: &str| {
        // A specifier stands for an instance's name: the template has to be there.
        let template =
            unit.split_once('@').and_then(|(stem, rest)| Some(format!("{stem}@.{}", rest.rsplit_once('.')?.1)));
        let known = |name: &str| tree.entries.contains_key(name) || shipped.contains(name) || outside.contains(name);
        known(unit) || template.is_some_and(|template| known(&template))
    };
    let mut missing = Vec::new();
    for (path, entry) in &tree.entries {
        match entry {
            Entry::Link(target) => {
                let name = target.to_str().and_then(|target| target.strip_prefix("../")).unwrap_or_default();
                // What a drop-in completes is an instance of a shipped template.
                let template = name.split_once('@').map(|(stem, rest)| (stem, rest.rsplit_once('.')));
                let completed = template.is_some_and(|(stem, rest)| {
                    rest.is_some_and(|(_, kind)| shipped.contains(&format!("{stem}@.{kind}")))
                        && tree.entries.contains_key(&format!("{name}.d/50-copse.conf"))
                });
                if !tree.entries.contains_key(name) && !outside.contains(name) && !completed {
                    missing.push(format!("{path} is a link to {}", target.display()));
                }
            }
            Entry::File(unit) => {
                let text = unit.to_string();
                let named =
                    text.lines().filter_map(|line| line.split_once('=')).filter(|(name, _)| NAMING.contains(name));
                let units = named.flat_map(|(_, value)| value.split(' ')).filter(|unit| !unit.is_empty());
                missing.extend(units.filter(|unit| !exists(unit)).map(|unit| format!("{path} names {unit}")));
            }
        }
    }
    check_drop_ins(&tree, &exists, &mut missing);
    if missing.is_empty() { Ok(()) } else { Err(missing.join("\n").into()) }
}

/// What a drop-in completes has to be there as well.
fn check_drop_ins(tree: &UnitTree, exists: &impl Fn(&str) -> bool, missing: &mut Vec<String>) {
    for path in tree.entries.keys() {
        if let Some((unit, _)) = path.split_once(".d/")
            && !exists(unit)
        {
            missing.push(format!("{path} completes nothing"));
        }
    }
}

/// Units outside that the case's group files name on purpose: each is a file of `in`, or one of systemd's.
pub fn outside(case: &Case) -> Result<BTreeSet<String>, Failed> {
    let mut units: BTreeSet<_> =
        ["multi-user.target", "default.target", "network-online.target", "network.target", "shutdown.target"]
            .map(str::to_owned)
            .into();
    for directory in ["in/usr/lib/systemd/system", "in/usr/lib/systemd/user"] {
        let directory = case.path.join(directory);
        if directory.exists() {
            for entry in std::fs::read_dir(directory)? {
                units.insert(entry?.file_name().to_string_lossy().into_owned());
            }
        }
    }
    Ok(units)
}
