//! What clients can name: the processes of the group by the names that they have at supervisord.

use std::collections::BTreeSet;

use super::fault::{Code, Fault, Result};
use crate::model::supervisor::SupervisorName;
use crate::model::supervisor_table::{Entry, Line};

/// The table of a group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roster {
    /// By group and name.
    entries: Vec<Entry>,
    templates: Vec<(SupervisorName, Entry)>,
    pub login: Option<String>,
}

impl Roster {
    /// The table that the generated units hold, one entry a line.
    pub fn parse(text: &str) -> Self {
        Self::new(text.lines().filter_map(Line::parse))
    }

    pub fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        let mut roster = Self::default();
        for line in lines {
            match line {
                Line::Entry(entry) => roster.entries.push(entry),
                Line::Template(name, entry) => roster.templates.push((name, entry)),
                Line::Login(name) => roster.login = Some(name),
            }
        }
        roster.sort();
        roster
    }

    fn sort(&mut self) {
        self.entries.sort_by(|one, other| (&one.group, &one.name).cmp(&(&other.group, &other.name)));
    }

    /// Adds instances of manual processes that run without being in the group file.
    pub fn with_running<'u>(mut self, units: impl IntoIterator<Item = &'u str>) -> Self {
        for unit in units {
            let Some((prefix, instance)) = unit.strip_suffix(".service").and_then(|stem| stem.split_once('@')) else {
                continue;
            };
            if self.entries.iter().any(|entry| entry.unit == unit) {
                continue;
            }
            let template = format!("{prefix}@.service");
            if let Some((name, entry)) = self.templates.iter().find(|(_, entry)| entry.unit == template) {
                let name = name.process(Some(instance));
                self.entries.push(Entry { name, unit: unit.to_owned(), ..entry.clone() });
            }
        }
        self.sort();
        self
    }

    /// Leaves out the groups that a client has removed, or not added yet.
    pub fn without(mut self, hidden: &BTreeSet<String>) -> Self {
        self.entries.retain(|entry| !hidden.contains(&entry.group));
        self.templates.retain(|(name, _)| !hidden.contains(&name.group));
        self
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The names of all groups.
    pub fn groups(&self) -> BTreeSet<&str> {
        let templates = self.templates.iter().map(|(name, _)| name.group.as_str());
        self.entries.iter().map(|entry| entry.group.as_str()).chain(templates).collect()
    }

    pub fn of_group<'r>(&'r self, group: &'r str) -> impl Iterator<Item = &'r Entry> {
        self.entries.iter().filter(move |entry| entry.group == group)
    }

    /// The processes of a group.
    ///
    /// # Errors
    /// There is no such group.
    pub fn group(&self, name: &str) -> Result<Vec<Entry>> {
        match self.groups().contains(name) {
            true => Ok(self.of_group(name).cloned().collect()),
            false => Err(Fault::new(Code::BadName, name)),
        }
    }

    /// What `P`, `group:P`, `group:*` or `group:` names: one process, or all of a group.
    ///
    /// # Errors
    /// There is no such process or group.
    pub fn find(&self, name: &str) -> Result<Named> {
        let (group, process) = name.split_once(':').unwrap_or((name, name));
        if matches!(process, "" | "*") {
            return self.group(group).map(Named::Group);
        }
        self.process(group, process).map(Named::Process).ok_or_else(|| Fault::new(Code::BadName, name))
    }

    /// One process.
    ///
    /// # Errors
    /// There is no such process, or a group is named.
    pub fn find_process(&self, name: &str) -> Result<Entry> {
        match self.find(name)? {
            Named::Process(entry) => Ok(entry),
            Named::Group(_) => Err(Fault::new(Code::BadName, name)),
        }
    }

    fn process(&self, group: &str, process: &str) -> Option<Entry> {
        if let Some(entry) = self.of_group(group).find(|entry| entry.name == process) {
            return Some(entry.clone());
        }
        self.templates.iter().filter(|(name, _)| name.group == group).find_map(|(name, entry)| {
            let unit = entry.unit.replacen('@', &format!("@{}", name.instance(process)?), 1);
            Some(Entry { name: process.to_owned(), unit, ..entry.clone() })
        })
    }

    /// The process whose unit it is.
    pub fn of_unit(&self, unit: &str) -> Option<&Entry> {
        let template = crate::unit::name::template_of(unit);
        let of_template = || {
            let is = |entry: &&Entry| Some(&entry.unit) == template.as_ref();
            self.templates.iter().map(|(_, entry)| entry).find(is)
        };
        self.entries.iter().find(|entry| entry.unit == unit).or_else(of_template)
    }
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    Process(Entry),
    Group(Vec<Entry>),
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "one:one g-one.service auto\nweb:web_2 g-web@2.service auto\nweb:web_1 g-web@1.service auto\n\
                         k:k0 g-k@0.service\nk:k{instance} g-k@.service\nlogin=me\n";

    #[test]
    fn names_are_looked_up_in_the_table_alone() {
        let roster = Roster::parse(TABLE);
        assert_eq!(roster.login.as_deref(), Some("me"));
        let unit = |name: &str| roster.find_process(name).map(|entry| entry.unit).ok();
        assert_eq!(unit("one").as_deref(), Some("g-one.service"));
        assert_eq!(unit("one:one").as_deref(), Some("g-one.service"));
        assert_eq!(unit("web:web_2").as_deref(), Some("g-web@2.service"));
        assert_eq!(unit("k:k0").as_deref(), Some("g-k@0.service"));
        // Any instance of a manual process.
        assert_eq!(unit("k:k12").as_deref(), Some("g-k@12.service"));
        for name in
            ["web", "web:web_3", "web_1", "../x", "-H", "a;b", "g-one.service", "k:k12345", "k:k01", "k:", "", ":", "*"]
        {
            assert_eq!(unit(name), None, "{name}");
        }
        let of = |name: &str| match roster.find(name) {
            Ok(Named::Group(entries)) => entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>().join(" "),
            other => panic!("{other:?}"),
        };
        assert_eq!([of("web:*"), of("web:"), of("k:*")], ["web_1 web_2", "web_1 web_2", "k0"]);
        assert_eq!(roster.find("nosuch:*").unwrap_err().text(), "BAD_NAME: nosuch");
    }

    #[test]
    fn instances_that_run_are_listed_and_hidden_groups_are_not() {
        let roster =
            Roster::parse(TABLE).with_running(["g-k@7.service", "g-k@0.service", "g-web@9.service", "x@1.service"]);
        let names =
            |roster: &Roster| roster.entries().iter().map(|entry| entry.name.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!(names(&roster), "k0 k7 one web_1 web_2");
        assert_eq!(roster.of_unit("g-k@9.service").map(|entry| entry.group.as_str()), Some("k"));
        let hidden = BTreeSet::from(["k".to_owned()]);
        let roster = roster.without(&hidden);
        assert_eq!(names(&roster), "one web_1 web_2");
        assert!(roster.find("k:k1").is_err());
    }
}
