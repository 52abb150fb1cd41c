//! Merges the assignments of a unit's files into the value of each directive.

use std::collections::BTreeMap;

use crate::unit::directives;
use crate::unit::directives::Merge;
use crate::unit::file::{Section, Unit};
use crate::unit::parse;

#[derive(Debug, Default)]
pub struct Merger {
    directives: BTreeMap<(String, String), Vec<String>>,
}

impl Merger {
    /// Adds a file, merged after those before.
    pub fn file(&mut self, unit: &Unit) {
        for (section, line) in unit.assignments().filter(|(section, line)| counts(*section, &line.name)) {
            self.line(section.text(), &line.name, line.value.as_str());
        }
    }

    fn line(&mut self, section: &str, name: &str, value: &str) {
        let values = self.directives.entry((section.to_owned(), name.to_owned())).or_default();
        match directives::merge(section, name) {
            Merge::Set => values.extend(value.split_ascii_whitespace().map(ToOwned::to_owned)),
            _ if value.is_empty() => values.clear(),
            Merge::Last => *values = vec![value.to_owned()],
            Merge::List | Merge::Variables => values.push(value.to_owned()),
        }
    }

    /// The values by section and name, without directives that were reset.
    pub fn directives(mut self) -> BTreeMap<(String, String), Vec<String>> {
        for ((section, name), values) in &mut self.directives {
            match directives::merge(section, name) {
                Merge::Set => {
                    values.sort();
                    values.dedup();
                }
                Merge::Variables => *values = variables(values),
                Merge::Last | Merge::List => {}
            }
        }
        self.directives.retain(|_, values| !values.is_empty());
        self.directives
    }
}

/// True if systemd acts on it. `[Install]` is for `systemctl enable` alone.
fn counts(section: Section, name: &str) -> bool {
    section != Section::Install
        && !name.starts_with("X-")
        && !matches!((section, name), (Section::Unit, "Documentation" | "SourcePath"))
}

/// The last assignment of each variable in `Environment=` lines, sorted; the lines unchanged if one cannot be split.
fn variables(values: &[String]) -> Vec<String> {
    let mut all = BTreeMap::new();
    for line in values {
        let Ok(words) = parse::words(line) else { return values.to_vec() };
        for word in words {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name).to_owned();
            all.insert(name, word);
        }
    }
    all.into_values().collect()
}
