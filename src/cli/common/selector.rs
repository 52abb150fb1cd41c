//! What people name: a group, a process or an instance of it, or any of its units as systemd calls it.

use crate::change::observe::members;
use crate::generate;
use crate::generator::load::GroupOutcome;

/// What was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    /// The group; there needn't be one of that name.
    pub(crate) group: String,
    /// `PROCESS` or `PROCESS@INSTANCE`, or a socket or timer of a process; `None`: all of the group.
    pub(crate) part: Option<String>,
}

impl Selector {
    /// Reads `GROUP`, `GROUP/PROCESS`, `GROUP/PROCESS@INSTANCE`, or a unit's name, its `.service` left out or not.
    pub(crate) fn new(text: &str, groups: &[GroupOutcome]) -> Self {
        if let Some((group, part)) = text.split_once('/') {
            return Self { group: group.to_owned(), part: Some(part.to_owned()) };
        }
        let whole = |group: &str| Self { group: group.to_owned(), part: None };
        if groups.iter().any(|group| group.name.as_str() == text) {
            return whole(text);
        }
        if let Some(group) = text.strip_suffix(".target") {
            return whole(group);
        }
        let of = |group: &str| Self {
            group: group.to_owned(),
            part: Some(members::label(group, text).trim_end_matches('@').to_owned()),
        };
        let full = format!("{text}.service");
        let makes = |outcome: &&GroupOutcome| {
            let units = outcome.group.as_ref().map(generate::unit_names).unwrap_or_default();
            units.iter().any(|unit| unit == text || *unit == full)
        };
        if let Some(outcome) = groups.iter().find(makes) {
            return of(outcome.name.as_str());
        }
        // An instance that the file doesn't name, or a process that left it: a group's units begin with its name.
        let begins = |group: &&str| text.strip_prefix(*group).is_some_and(|rest| rest.starts_with(['-', '@', '.']));
        let nearest = groups.iter().map(|group| group.name.as_str()).filter(begins).max_by_key(|group| group.len());
        nearest.map_or_else(|| whole(text), of)
    }

    /// Whether one instance of a process is meant.
    pub(crate) fn is_instance(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.contains('@'))
    }

    /// Whether a member with this label is meant.
    pub(crate) fn means(&self, label: &str) -> bool {
        let Some(part) = &self.part else { return true };
        // A process: all its instances, its sockets and its timer.
        label
            .strip_prefix(part.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('@') || matches!(rest, ".socket" | ".timer"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::scope::{Directories, Scope};
    use crate::model::Context;

    fn groups() -> Vec<GroupOutcome> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("etc/copse")).unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(root.path().join(format!("etc/copse/{name}.toml")), text).unwrap();
        };
        write(
            "shop",
            "[process.web]\nexec = \"/a\"\ninstances = 2\nlisten = \"tcp:80\"\n[process.shop]\nexec = \"/b\"\n",
        );
        write("shop-two", "[process.x]\nexec = \"/a\"\n");
        let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
        let outcome = crate::generator::load::load(&directories, &Context { scope: Scope::System, cpus: 1 });
        assert!(!outcome.has_errors(), "{outcome:?}");
        outcome.groups
    }

    #[test]
    fn groups_processes_instances_and_units() {
        let groups = groups();
        for (text, group, part) in [
            ("shop", "shop", None),
            ("shop.target", "shop", None),
            ("shop/web", "shop", Some("web")),
            ("shop/web@2", "shop", Some("web@2")),
            ("shop-web@2.service", "shop", Some("web@2")),
            ("shop-web@2", "shop", Some("web@2")),
            ("shop-web@.service", "shop", Some("web")),
            ("shop-web@77.service", "shop", Some("web@77")),
            ("shop-web.socket", "shop", Some("web.socket")),
            ("shop.service", "shop", Some("shop")),
            ("shop-two-x", "shop-two", Some("x")),
            ("shop-two-gone.service", "shop-two", Some("gone")),
            ("shop-two", "shop-two", None),
            ("nothing", "nothing", None),
        ] {
            let expected = Selector { group: group.to_owned(), part: part.map(ToOwned::to_owned) };
            assert_eq!(Selector::new(text, &groups), expected, "{text}");
        }
    }

    #[test]
    fn a_process_means_all_that_is_of_it() {
        let means = |part: Option<&str>, label| {
            Selector { group: "g".to_owned(), part: part.map(ToOwned::to_owned) }.means(label)
        };
        for label in ["web", "web@1", "web.socket", "web.timer", "web@1.socket"] {
            assert!(means(Some("web"), label) && means(None, label), "{label}");
        }
        for label in ["web2", "web-x", "we", "worker"] {
            assert!(!means(Some("web"), label), "{label}");
        }
        assert!(means(Some("web@1"), "web@1") && !means(Some("web@1"), "web@10") && !means(Some("web@1"), "web"));
    }
}
