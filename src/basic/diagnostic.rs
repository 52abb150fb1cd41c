//! What is wrong with a file: a code, a location, one sentence, and the fix.
//!
//! Diagnostics are plain values. They are collected along the way and rendered at the end only: as one line for the kernel
//! log ([`Diagnostic::line`]), for people with an excerpt ([`snippet`]), or as JSON ([`json`]).

mod code;
#[cfg(feature = "cli")]
pub mod json;
mod location;
#[cfg(feature = "cli")]
pub mod snippet;

use std::collections::HashMap;
use std::path::PathBuf;

pub use self::code::{Code, Severity};
pub use self::location::{SourceFile, SourceLocation};
use super::os_error::without_number;

/// What a diagnostic points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// A range in a file that was read.
    Location(SourceLocation),
    /// A file or directory as a whole: it is unreadable, not UTF-8, or too large.
    Path(PathBuf),
}

/// One error, warning or note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind of error; stable, for `copse explain` and for tests.
    pub code: Code,
    pub at: At,
    /// One sentence, lower case, without a full stop; text of the file in backticks.
    pub message: String,
    /// Other locations that belong to it, each with a label.
    pub related: Vec<(SourceLocation, String)>,
    /// What to write or run instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A diagnostic at a location in a file.
    pub fn new(code: Code, location: impl Into<SourceLocation>, message: impl Into<String>) -> Self {
        Self::at(code, At::Location(location.into()), message)
    }

    /// A diagnostic about a whole file.
    pub fn file(code: Code, path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self::at(code, At::Path(path.into()), message)
    }

    fn at(code: Code, at: At, message: impl Into<String>) -> Self {
        Self { code, at, message: without_number(&message.into()), related: Vec::new(), help: None }
    }

    /// Adds the fix.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another location, with its label.
    pub fn related(mut self, location: impl Into<SourceLocation>, label: impl Into<String>) -> Self {
        self.related.push((location.into(), label.into()));
        self
    }

    /// A property of the code.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// `PATH:LINE:COLUMN: error[code]: message; help`, always on one line: a file's text cannot forge a line of the log.
    pub fn line(&self) -> String {
        let at = match &self.at {
            At::Location(location) => location.to_string(),
            At::Path(path) => path.display().to_string(),
        };
        let help = self.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        one_line(&format!("{at}: {}[{}]: {}{help}", self.severity(), self.code, self.message))
    }

    /// The byte that it points at; of a whole file, the first.
    fn start(&self) -> u32 {
        match &self.at {
            At::Location(location) => location.start,
            At::Path(_) => 0,
        }
    }

    fn path(&self) -> PathBuf {
        match &self.at {
            At::Location(location) => location.path().to_owned(),
            At::Path(path) => path.clone(),
        }
    }
}

/// Replaces what could end a line or steer a terminal.
pub fn one_line(text: &str) -> String {
    // The fast path: nearly every text is plain ASCII, and each unit has some.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => ' ',
            c if steers(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

/// Whether a terminal may take `c` for a command, or show what follows it in another order or on another line: the
/// control characters of ASCII and Latin-1, Unicode's line ends and writing directions.
fn steers(c: char) -> bool {
    let direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || direction || matches!(c, '\u{2028}' | '\u{2029}')
}

/// The diagnostics of a run, in the order found, without duplicates, and at most [`Diagnostics::MOST`].
#[derive(Debug, Default, Clone)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    /// The indices of those with one code at one byte. Comparing each with all would take minutes for a file with
    /// thousands of errors, and PID 1 waits for the generator.
    seen: HashMap<(Code, u32), Vec<usize>>,
    /// The number of those beyond [`Diagnostics::MOST`].
    omitted: usize,
    omitted_error: bool,
}

impl Diagnostics {
    /// The rest is only counted.
    pub const MOST: usize = 1000;

    /// Adds one, unless it is there already: an error in `[defaults]` is found once per process.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.list.len() >= Self::MOST {
            self.omitted += 1;
            self.omitted_error |= diagnostic.severity() == Severity::Error;
            return;
        }
        let same = self.seen.entry((diagnostic.code, diagnostic.start())).or_default();
        if !same.iter().any(|index| self.list[*index] == diagnostic) {
            same.push(self.list.len());
            self.list.push(diagnostic);
        }
    }

    /// Adds the error that `make` returns; beyond [`Diagnostics::MOST`] it is only counted. For errors whose fix is
    /// expensive to find: a file of nothing else would take minutes, and PID 1 waits.
    pub fn push_error(&mut self, make: impl FnOnce() -> Diagnostic) {
        if self.list.len() < Self::MOST {
            self.push(make());
        } else {
            self.omitted += 1;
            self.omitted_error = true;
        }
    }

    /// The value; an error is added.
    pub fn ok<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|diagnostic| self.push(diagnostic)).ok()
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: Diagnostics) {
        other.list.into_iter().for_each(|diagnostic| self.push(diagnostic));
        self.omitted += other.omitted;
        self.omitted_error |= other.omitted_error;
    }

    /// Whether any is an error, rather than a warning or a note.
    pub fn has_errors(&self) -> bool {
        self.omitted_error || self.list.iter().any(|diagnostic| diagnostic.severity() == Severity::Error)
    }

    /// Sorts by path and position.
    pub fn sort(&mut self) {
        let mut list = std::mem::take(&mut self.list);
        list.sort_by_cached_key(|diagnostic| (diagnostic.path(), diagnostic.start()));
        // The indices change.
        self.seen.clear();
        list.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }

    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The number of diagnostics that [`Diagnostics::iter`] does not return.
    pub fn omitted(&self) -> usize {
        self.omitted
    }
}

impl PartialEq for Diagnostics {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list && self.omitted == other.omitted
    }
}

impl Eq for Diagnostics {}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn at(start: usize) -> Diagnostic {
        let file = Arc::new(SourceFile { path: "/a.toml".into(), text: "x".repeat(5000) });
        Diagnostic::new(Code::UnknownKey, SourceLocation::new(&file, start..start + 1), "no such key")
    }

    #[test]
    fn none_comes_twice_also_after_sorting() {
        let mut all = Diagnostics::default();
        for start in [5, 3, 5, 3, 4] {
            all.push(at(start));
            all.sort();
        }
        all.push(at(3).help("another"));
        all.push(at(4));
        all.sort();
        let starts: Vec<_> = all.iter().map(|diagnostic| (diagnostic.line(), diagnostic.help.is_some())).collect();
        assert_eq!(starts.len(), 4);
        assert!(starts[0].0.starts_with("/a.toml:1:4:") && starts[1].1 && starts[3].0.starts_with("/a.toml:1:6:"));
    }

    #[test]
    fn after_a_thousand_they_are_counted_and_still_count() {
        let mut all = Diagnostics::default();
        let warning = |start| Diagnostic { code: Code::NotWanted, ..at(start) };
        (0..Diagnostics::MOST).for_each(|start| all.push(warning(start)));
        assert!(!all.has_errors() && all.omitted() == 0);
        all.push(at(4000));
        all.sort();
        let mut other = Diagnostics::default();
        other.extend(all);
        assert!(other.has_errors());
        assert_eq!((other.iter().count(), other.omitted()), (Diagnostics::MOST, 1));
    }
}
