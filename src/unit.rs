//! A unit file as a value: sections of ordered lines. Text exists only at the very end.
//!
//! [`value`] alone quotes and escapes, [`name`] alone builds names. A [`Value`] can't be made
//! anywhere else, so no string becomes a directive that its author didn't write.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

pub mod name;
#[cfg(test)]
pub(crate) mod syntax;
pub mod value;
pub use value::Value;

/// A section's name in a unit file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// `[Unit]`
    Unit,
    /// `[Service]`
    Service,
    /// `[Socket]`
    Socket,
    /// `[Timer]`
    Timer,
    /// `[Slice]`
    Slice,
}

impl Section {
    /// The word between the brackets.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Unit => "Unit",
            Self::Service => "Service",
            Self::Socket => "Socket",
            Self::Timer => "Timer",
            Self::Slice => "Slice",
        }
    }
}

/// One line of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Why the next line is there.
    Comment(&'static str),
    /// `Name=value`
    Directive(Cow<'static, str>, Value),
}

/// A unit file, or a drop-in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unit {
    /// Comment lines on top, without `# `.
    pub header: Vec<String>,
    sections: Vec<(Section, Vec<Line>)>,
}

impl Unit {
    /// An empty unit with these comment lines on top.
    #[must_use]
    pub fn new(header: Vec<String>) -> Self {
        Self { header, sections: Vec::with_capacity(2) }
    }

    /// The lines of a section, which is added at the end if it isn't there.
    pub fn section(&mut self, section: Section) -> &mut Vec<Line> {
        let at = self.sections.iter().position(|(name, _)| *name == section).unwrap_or_else(|| {
            self.sections.push((section, Vec::new()));
            self.sections.len() - 1
        });
        &mut self.sections[at].1
    }

    /// Adds a line.
    pub fn push(&mut self, section: Section, name: impl Into<Cow<'static, str>>, value: Value) {
        self.section(section).push(Line::Directive(name.into(), value));
    }

    /// Adds a line with its reason above it.
    pub fn push_why(&mut self, section: Section, why: &'static str, name: impl Into<Cow<'static, str>>, value: Value) {
        self.section(section).push(Line::Comment(why));
        self.push(section, name, value);
    }

    /// Removes all lines of that name (and the comment right above each).
    pub fn remove(&mut self, section: Section, name: &str) {
        let lines = self.section(section);
        while let Some(at) = lines.iter().position(|line| matches!(line, Line::Directive(found, _) if found == name)) {
            lines.remove(at);
            if at > 0 && matches!(lines[at - 1], Line::Comment(_)) {
                lines.remove(at - 1);
            }
        }
    }

    /// All values of a directive, in order.
    pub fn values<'a>(&'a self, section: Section, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.sections.iter().filter(move |(found, _)| *found == section).flat_map(|(_, lines)| lines).filter_map(
            move |line| match line {
                Line::Directive(found, value) if found == name => Some(value),
                _ => None,
            },
        )
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(2048);
        let mut push = |parts: [&str; 4]| parts.iter().for_each(|part| text.push_str(part));
        for line in &self.header {
            // A newline would end the comment, and what follows be read as a directive.
            match line.bytes().any(|byte| byte.is_ascii_control()) {
                true => push(["# ", &crate::diagnostic::one_line(line), "\n", ""]),
                false => push(["# ", line, "\n", ""]),
            }
        }
        let mut blank = if self.header.is_empty() { "" } else { "\n" };
        for (section, lines) in self.sections.iter().filter(|(_, lines)| !lines.is_empty()) {
            push([blank, "[", section.text(), "]\n"]);
            blank = "\n";
            for line in lines {
                match line {
                    Line::Comment(why) => push(["# ", why, "\n", ""]),
                    Line::Directive(name, value) => push([name, "=", value.as_str(), "\n"]),
                }
            }
        }
        text
    }
}

/// What stands at a path of the generator's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A unit file or drop-in.
    File(String),
    /// A symbolic link with this text.
    Link(PathBuf),
}

/// Everything that is generated: paths relative to the generator's directory, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitTree {
    /// Path → what stands there.
    pub entries: BTreeMap<String, Entry>,
}

impl UnitTree {
    /// Puts a unit file (or drop-in) at `path`.
    pub fn file(&mut self, path: impl Into<String>, unit: &Unit) {
        self.entries.insert(path.into(), Entry::File(unit.text()));
    }

    /// Puts a symbolic link at `path`.
    pub fn link(&mut self, path: impl Into<String>, target: impl Into<PathBuf>) {
        self.entries.insert(path.into(), Entry::Link(target.into()));
    }
}
