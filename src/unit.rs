//! A unit file as a value: sections of ordered lines. Text exists only at the very end.
//!
//! [`value`] alone quotes and escapes, [`name`] alone builds names. A [`Value`] can't be made
//! anywhere else, so no string becomes a directive that its author didn't write.

pub mod directives;
pub mod effective;
pub mod environment_file;
pub mod lines;
pub mod name;
pub mod overrides;
pub mod parse;
pub mod tree;
pub mod value;
pub mod version;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use self::value::Value;

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
    /// `[Install]`, which only compiled units have: a generated one can't be enabled.
    Install,
}

impl Section {
    /// The word between the brackets.
    pub fn text(self) -> &'static str {
        match self {
            Self::Unit => "Unit",
            Self::Service => "Service",
            Self::Socket => "Socket",
            Self::Timer => "Timer",
            Self::Slice => "Slice",
            Self::Install => "Install",
        }
    }
}

/// A unit file, or a drop-in.
///
/// A section's lines are kept as the text that they become. There is no way to add one but by its parts, and no
/// [`Value`] holds a newline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unit {
    header: String,
    sections: Vec<(Section, String)>,
}

/// Room for the lines of most services' sections, so that it needn't be made while they are added.
const SECTION: usize = 1024;

impl Unit {
    /// An empty unit with these comment lines on top (given without `# `).
    pub fn new(header: &[&str]) -> Self {
        let mut unit = Self { header: String::with_capacity(256), sections: Vec::with_capacity(2) };
        for line in header {
            // A newline would end the comment, and what follows be read as a directive.
            match line.bytes().fold(false, |found, byte| found | byte.is_ascii_control()) {
                true => push(&mut unit.header, "# ", &crate::basic::diagnostic::one_line(line)),
                false => push(&mut unit.header, "# ", line),
            }
        }
        unit
    }

    /// The lines of a section, which is added at the end if it isn't there.
    fn section(&mut self, section: Section) -> &mut String {
        let at = self.sections.iter().position(|(name, _)| *name == section).unwrap_or_else(|| {
            self.sections.push((section, String::with_capacity(SECTION)));
            self.sections.len() - 1
        });
        &mut self.sections[at].1
    }

    /// Adds a line.
    pub fn push(&mut self, section: Section, name: &str, value: Value<'_>) {
        let lines = self.section(section);
        lines.push_str(name);
        push(lines, "=", value.as_str());
    }

    /// Adds a comment: why the next line is there.
    pub fn comment(&mut self, section: Section, why: &'static str) {
        push(self.section(section), "# ", why);
    }

    /// Adds a line with its reason above it.
    pub fn push_why(&mut self, section: Section, why: &'static str, name: &str, value: Value<'_>) {
        self.comment(section, why);
        self.push(section, name, value);
    }

    /// Whether a section has that comment.
    pub fn has_comment(&self, section: Section, why: &'static str) -> bool {
        let lines = self.sections.iter().filter(|(found, _)| *found == section).flat_map(|(_, lines)| lines.lines());
        lines.filter_map(|line| line.strip_prefix("# ")).any(|comment| comment == why)
    }

    /// The lines of a section, each by its name and value, without the comments.
    pub fn lines(&self, section: Section) -> impl Iterator<Item = (&str, &str)> {
        let lines =
            self.sections.iter().filter(move |(found, _)| *found == section).flat_map(|(_, lines)| lines.lines());
        lines.filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='))
    }

    /// Removes all lines of that name (and the comment right above each).
    pub fn remove(&mut self, section: Section, name: &str) {
        let lines = self.section(section);
        let mut kept: Vec<&str> = Vec::new();
        for line in lines.split_inclusive('\n') {
            if !line.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')) {
                kept.push(line);
            } else if kept.last().is_some_and(|above| above.starts_with("# ")) {
                kept.pop();
            }
        }
        *lines = kept.concat();
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let sections = || self.sections.iter().filter(|(_, lines)| !lines.is_empty());
        let length = sections().map(|(section, lines)| section.text().len() + lines.len() + 4).sum::<usize>();
        let mut text = String::with_capacity(self.header.len() + length);
        text.push_str(&self.header);
        for (section, lines) in sections() {
            let blank = if text.is_empty() { "" } else { "\n" };
            text.extend([blank, "[", section.text(), "]\n", lines]);
        }
        text
    }
}

/// Ends a line with `rest`.
#[inline]
fn push(lines: &mut String, before: &'static str, rest: &str) {
    lines.push_str(before);
    lines.push_str(rest);
    lines.push('\n');
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
