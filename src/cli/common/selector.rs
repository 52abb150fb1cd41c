//! The names that commands take: of a group, a process, an instance of a process, or a unit.

use crate::change::observe::subject::Subject;
use crate::generate;
use crate::generator::load::GroupOutcome;

/// What a name selects; there need not be such a group or part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) group: String,
    /// `PROCESS`, `PROCESS@INSTANCE`, or a socket or timer of a process; `None` for the whole group.
    pub(crate) part: Option<String>,
}

impl Selector {
    /// Parses `GROUP`, `GROUP/PROCESS`, `GROUP/PROCESS@INSTANCE`, or the name of a unit with or without `.service`.
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
        let unit_of = |group: &str| Self {
            group: group.to_owned(),
            part: Some(Subject::new(group, text).label.trim_end_matches('@').to_owned()),
        };
        let service = format!("{text}.service");
        let generates_it = |outcome: &&GroupOutcome| {
            let units = outcome.group.as_ref().map(generate::unit_names).unwrap_or_default();
            units.iter().any(|unit| unit == text || *unit == service)
        };
        if let Some(outcome) = groups.iter().find(generates_it) {
            return unit_of(outcome.name.as_str());
        }
        // An instance that is not in the file, or an orphaned process: a group's units begin with its name.
        let is_prefix = |group: &&str| text.strip_prefix(*group).is_some_and(|rest| rest.starts_with(['-', '@', '.']));
        let longest = groups.iter().map(|group| group.name.as_str()).filter(is_prefix).max_by_key(|group| group.len());
        longest.map_or_else(|| whole(text), unit_of)
    }

    /// Whether it selects one instance of a process.
    pub(crate) fn is_instance(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.contains('@'))
    }

    /// Whether it selects the member with this label. A process includes its instances, sockets and timer.
    pub(crate) fn matches(&self, label: &str) -> bool {
        let Some(part) = &self.part else { return true };
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
    fn a_process_includes_its_instances_sockets_and_timer() {
        let matches = |part: Option<&str>, label| {
            Selector { group: "g".to_owned(), part: part.map(ToOwned::to_owned) }.matches(label)
        };
        for label in ["web", "web@1", "web.socket", "web.timer", "web@1.socket"] {
            assert!(matches(Some("web"), label) && matches(None, label), "{label}");
        }
        for label in ["web2", "web-x", "we", "worker"] {
            assert!(!matches(Some("web"), label), "{label}");
        }
        assert!(matches(Some("web@1"), "web@1") && !matches(Some("web@1"), "web@10") && !matches(Some("web@1"), "web"));
    }
}
