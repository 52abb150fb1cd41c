//! Text after `%(name)s` was replaced, and what stays open in it: variables that nobody gave a value, and, where all
//! processes of a program are looked at together, the process's number.

use std::rc::Rc;

use super::configparser::is_space;

/// A text, character by character.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expanded(pub Vec<Part>);

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// What it says.
    Char(char),
    /// A variable of supervisord's environment whose value isn't known, and whether it stands between quotes, where
    /// its value would be one word.
    Env(Rc<str>, bool),
    /// The process's number, as that format shows it.
    Number(super::python_format::Format),
}

impl Expanded {
    /// The text, if nothing in it is open.
    pub fn literal(&self) -> Option<String> {
        self.0.iter().map(|part| if let Part::Char(c) = part { Some(*c) } else { None }).collect()
    }

    /// The first variable in it that has no value.
    pub fn open(&self) -> Option<&str> {
        self.0.iter().find_map(|part| if let Part::Env(name, _) = part { Some(&**name) } else { None })
    }

    /// With the process's number filled in.
    pub fn numbered(&self, number: i64) -> Self {
        let mut filled = Self::default();
        for part in &self.0 {
            match part {
                Part::Number(format) => filled.0.extend(format.number(number).chars().map(Part::Char)),
                part => filled.0.push(part.clone()),
            }
        }
        filled
    }

    /// Without white space, as Python knows it, at its ends.
    pub fn strip(&self) -> Self {
        self.trimmed(is_space)
    }

    /// Without those characters at its ends.
    pub fn trimmed(&self, unwanted: impl Fn(char) -> bool) -> Self {
        let keep = |part: &Part| !matches!(part, Part::Char(c) if unwanted(*c));
        let start = self.0.iter().position(keep).unwrap_or(self.0.len());
        let end = self.0.iter().rposition(keep).map_or(start, |last| last + 1);
        Self(self.0[start..end].to_vec())
    }
}

impl From<&str> for Expanded {
    fn from(text: &str) -> Self {
        Self(text.chars().map(Part::Char).collect())
    }
}

impl From<String> for Expanded {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}
