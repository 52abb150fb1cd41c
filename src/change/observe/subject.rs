//! How people name the units of a group.

use std::fmt::Write as _;

use serde::Serialize;

use crate::basic::diagnostic::one_line;

/// A unit, and how people name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Subject {
    /// `G-P@1.service`
    pub unit: String,
    /// `P@1`; a socket or timer keeps its suffix (`P.socket`).
    #[serde(rename = "name")]
    pub label: String,
}

impl Subject {
    /// A unit of `group`.
    pub fn new(group: &str, unit: &str) -> Self {
        let in_group = unit.strip_prefix(group).and_then(|rest| rest.strip_prefix('-')).unwrap_or(unit);
        let label = in_group.strip_suffix(".service").unwrap_or(in_group);
        Self { unit: unit.to_owned(), label: label.to_owned() }
    }

    /// A unit that stands for the group as a whole.
    pub fn of_group(unit: String, label: &str) -> Self {
        Self { unit, label: label.to_owned() }
    }

    /// `P`
    pub fn process(&self) -> &str {
        self.name().0
    }

    /// `1`
    pub fn instance(&self) -> Option<&str> {
        self.name().1.filter(|instance| !instance.is_empty())
    }

    /// The process and the instance.
    fn name(&self) -> (&str, Option<&str>) {
        let name = [".socket", ".timer"].iter().find_map(|suffix| self.label.strip_suffix(suffix));
        let name = name.unwrap_or(&self.label);
        name.split_once('@').map_or((name, None), |(process, instance)| (process, Some(instance)))
    }

    /// The label without the process, if that was just named: `@1`.
    fn after(&self, process: Option<&str>) -> &str {
        let rest = process.and_then(|process| self.label.strip_prefix(process));
        rest.filter(|rest| rest.starts_with('@')).unwrap_or(&self.label)
    }

    /// The number of an instance of a process.
    fn number(&self) -> Option<u64> {
        self.instance().filter(|_| self.unit.ends_with(".service"))?.parse().ok()
    }
}

/// Units in a few words: `web@1 … @4`, `web@1, @3`, `db`.
pub fn enumerate(units: &[Subject]) -> String {
    let mut text = String::new();
    let mut rest = units;
    let mut process = None;
    while let Some(first) = rest.first() {
        let follows = |(index, unit): &(usize, &Subject)| {
            let expected = first.number().and_then(|number| number.checked_add(u64::try_from(*index).ok()?));
            unit.process() == first.process() && expected.is_some() && unit.number() == expected
        };
        // One without a number follows nothing, not even itself.
        let length = rest.iter().enumerate().take_while(follows).count().max(1);
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(first.after(process));
        process = Some(first.process());
        let listed = if length < 3 { 1 } else { length };
        if listed > 1 {
            // Writing to a String cannot fail.
            let _ = write!(text, " … {}", rest[listed - 1].after(process));
        }
        rest = &rest[listed..];
    }
    one_line(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_named_by_process_and_instance() {
        for (unit, label, process, instance) in [
            ("shop-web@1.service", "web@1", "web", Some("1")),
            ("shop.service", "shop", "shop", None),
            ("shop@1.service", "shop@1", "shop", Some("1")),
            ("shop-web.socket", "web.socket", "web", None),
            ("shop-web@1.socket", "web@1.socket", "web", Some("1")),
            ("shop-web@.service", "web@", "web", None),
            ("shop.target", "shop.target", "shop.target", None),
            ("copse-ready@shop.service", "copse-ready@shop", "copse-ready", Some("shop")),
        ] {
            let subject = Subject::new("shop", unit);
            assert_eq!((&*subject.label, subject.process(), subject.instance()), (label, process, instance));
        }
    }

    #[test]
    fn several_units_are_named_shortly() {
        for (labels, expected) in [
            (&["a"][..], "a"),
            (&["a", "b"], "a, b"),
            (&["w@1", "w@2"], "w@1, @2"),
            (&["w@1", "w@2", "w@3", "w@4"], "w@1 … @4"),
            (&["w@1", "w@3", "w@4", "w@5", "x@6"], "w@1, @3 … @5, x@6"),
            (&["w@a", "w@b", "w@c"], "w@a, @b, @c"),
            (&["w@18446744073709551615", "w@0"], "w@18446744073709551615, @0"),
        ] {
            let units: Vec<_> = labels.iter().map(|label| Subject::new("g", &format!("g-{label}.service"))).collect();
            assert_eq!(enumerate(&units), expected);
        }
        let sockets = ["1", "2", "3"].map(|instance| Subject::new("g", &format!("g-w@{instance}.socket")));
        assert_eq!(enumerate(&sockets), "w@1.socket, @2.socket, @3.socket");
    }
}
