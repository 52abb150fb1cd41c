//! What `reloadConfig` finds: the groups of the group file against those that clients see.

use std::collections::BTreeSet;

use super::roster::Roster;
use super::value::Value;

/// Names of groups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    pub added: BTreeSet<String>,
    pub changed: BTreeSet<String>,
    pub removed: BTreeSet<String>,
}

impl Changes {
    /// `file`: what the group file says now. `seen`: what clients see. `differs`: whether the definition of a unit is
    /// another one in the file than what systemd has loaded.
    pub fn between(file: &Roster, seen: &Roster, differs: impl Fn(&str) -> bool) -> Self {
        let names = |roster: &Roster| -> BTreeSet<String> { roster.groups().into_iter().map(str::to_owned).collect() };
        let (new, old) = (names(file), names(seen));
        let is_changed = |group: &&String| {
            let (new, old) = (file.of_group(group), seen.of_group(group));
            let old: BTreeSet<&str> = old.map(|entry| entry.unit.as_str()).collect();
            let new: BTreeSet<&str> = new.map(|entry| entry.unit.as_str()).collect();
            // Instances that run without being in the file are no change.
            !new.is_subset(&old) || new.iter().any(|unit| differs(unit))
        };
        Self {
            added: new.difference(&old).cloned().collect(),
            changed: new.intersection(&old).filter(is_changed).cloned().collect(),
            removed: old.difference(&new).cloned().collect(),
        }
    }

    /// `[[added, changed, removed]]`
    pub fn value(&self) -> Value {
        let list = |names: &BTreeSet<String>| Value::Array(names.iter().map(Value::text).collect());
        Value::Array(vec![Value::Array(vec![list(&self.added), list(&self.changed), list(&self.removed)])])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_added_changed_and_removed() {
        let file = Roster::parse("a:a g-a.service\nb:b g-b.service\nc:1 g-c@1.service\nc:2 g-c@2.service\n");
        let seen = Roster::parse("b:b g-b.service\nc:1 g-c@1.service\nd:d g-d.service\n");
        let changes = Changes::between(&file, &seen, |_| false);
        let of = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        assert_eq!(changes, Changes { added: of(&["a"]), changed: of(&["c"]), removed: of(&["d"]) });
        let changes = Changes::between(&seen, &seen, |unit| unit == "g-b.service");
        assert_eq!(changes, Changes { changed: of(&["b"]), ..Changes::default() });
        let more = Roster::parse("b:b g-b.service\nc:1 g-c@1.service\nc:7 g-c@7.service\nd:d g-d.service\n");
        assert_eq!(Changes::between(&seen, &more, |_| false), Changes::default());
    }
}
