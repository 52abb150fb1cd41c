//! What is wrong with a group file: a code, a place, one sentence, and the fix where there is one.
//!
//! Diagnostics are plain values. They are collected along the way and rendered at the end only:
//! as one line for the kernel log ([`Diagnostic::line`]) or, in the command, with an excerpt.

mod code;
#[cfg(feature = "cli")]
pub mod json;
#[cfg(feature = "cli")]
pub mod snippet;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::code::{Code, Severity};

/// A file as it was read.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path as the author knows it, without `$COPSE_ROOT`.
    pub path: PathBuf,
    /// The whole text.
    pub text: String,
}

/// A range of bytes in a file.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file.
    pub file: Arc<SourceFile>,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl SourceLocation {
    /// A place in `file`; `range` is in bytes.
    pub fn new(file: &Arc<SourceFile>, range: std::ops::Range<usize>) -> Self {
        let byte = |at: usize| u32::try_from(at.min(file.text.len())).unwrap_or(u32::MAX);
        Self { file: Arc::clone(file), start: byte(range.start), end: byte(range.end) }
    }

    /// Line and column, both counted from 1; the column in characters.
    pub fn line_column(&self) -> (usize, usize) {
        let before = self.file.text.get(..self.start as usize).unwrap_or(&self.file.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }
}

impl From<&SourceLocation> for SourceLocation {
    fn from(place: &SourceLocation) -> Self {
        place.clone()
    }
}

impl fmt::Debug for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(f, "{}:{line}:{column}", self.file.path.display())
    }
}

/// Where a diagnostic points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// A range in a file that could be read.
    Location(SourceLocation),
    /// A file or directory as a whole (unreadable, not UTF-8, too large).
    Path(PathBuf),
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of mistake; stable, for `copse explain` and for tests.
    pub code: Code,
    /// Where.
    pub at: At,
    /// One sentence, lower case, without a full stop; backticks round the author's text.
    pub message: String,
    /// Other places that belong to it, each with a word on why.
    pub related: Vec<(SourceLocation, String)>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A diagnostic at a place in a file.
    pub fn new(code: Code, place: impl Into<SourceLocation>, message: impl Into<String>) -> Self {
        Self::at(code, At::Location(place.into()), message)
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

    /// Adds a second place.
    pub fn related(mut self, place: impl Into<SourceLocation>, why: impl Into<String>) -> Self {
        self.related.push((place.into(), why.into()));
        self
    }

    /// Error, warning or note: a property of the code.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// `PATH:LINE:COLUMN: error[code]: message; help`, always on one line: control characters are
    /// replaced, so that a file's text can't forge a line of the log.
    pub fn line(&self) -> String {
        let at = match &self.at {
            At::Location(place) => place.to_string(),
            At::Path(path) => path.display().to_string(),
        };
        let mut line = format!("{at}: {}[{}]: {}", self.severity(), self.code, self.message);
        if let Some(help) = &self.help {
            line.push_str("; ");
            line.push_str(help);
        }
        one_line(&line)
    }
}

/// Replaces what could end a line or steer a terminal.
pub fn one_line(text: &str) -> String {
    // Nearly all are; and every unit has some.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| if c == '\n' || c == '\t' { ' ' } else { c })
        .map(|c| if steers(c) { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

/// Takes the numbers away that Rust puts behind what the system says of an error, ` (os error 2)`: the words say it.
pub fn without_number(text: &str) -> String {
    let mut pieces = text.split(" (os error ");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => kept.push_str(rest),
            _ => kept.extend([" (os error ", piece]),
        }
    }
    kept
}

/// Whether a terminal may take `c` for a command, or show what follows it in another order or on another line: the
/// control characters of ASCII and Latin-1, Unicode's line ends and directions of writing.
fn steers(c: char) -> bool {
    let direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || direction || matches!(c, '\u{2028}' | '\u{2029}')
}

/// All diagnostics of a run, in the order found, none twice, and not without end.
#[derive(Debug, Default, Clone)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    /// Where in the list those of one kind at one byte are: comparing each with all would take minutes for a file of
    /// nothing but mistakes, and PID 1 waits for the generator.
    seen: HashMap<(Code, u32), Vec<usize>>,
    /// Those that came after [`Diagnostics::MOST`].
    left_out: usize,
    /// Whether an error is among those.
    left_out_error: bool,
}

impl Diagnostics {
    /// Nobody reads more about one group; what comes after is only counted.
    pub const MOST: usize = 1000;

    /// Adds one, unless the same stands there already: a mistake in `[defaults]` is met once per process.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.list.len() >= Self::MOST {
            self.left_out += 1;
            self.left_out_error |= diagnostic.severity() == Severity::Error;
            return;
        }
        let start = match &diagnostic.at {
            At::Location(place) => place.start,
            At::Path(_) => 0,
        };
        let here = self.seen.entry((diagnostic.code, start)).or_default();
        if !here.iter().any(|index| self.list[*index] == diagnostic) {
            here.push(self.list.len());
            self.list.push(diagnostic);
        }
    }

    /// Adds the error that `make` makes; once there are [`Diagnostics::MOST`], it is only counted. For mistakes whose
    /// fix is searched for: a file of nothing else would take minutes, and PID 1 waits.
    pub fn push_error(&mut self, make: impl FnOnce() -> Diagnostic) {
        if self.list.len() < Self::MOST {
            self.push(make());
        } else {
            self.left_out += 1;
            self.left_out_error = true;
        }
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: Diagnostics) {
        other.list.into_iter().for_each(|diagnostic| self.push(diagnostic));
        self.left_out += other.left_out;
        self.left_out_error |= other.left_out_error;
    }

    /// Whether any is an error; warnings and notes don't count.
    pub fn has_errors(&self) -> bool {
        self.left_out_error || self.list.iter().any(|diagnostic| diagnostic.severity() == Severity::Error)
    }

    /// In the order of the files' text.
    pub fn sort(&mut self) {
        let key = |diagnostic: &Diagnostic| match &diagnostic.at {
            At::Location(place) => (place.path().to_owned(), place.start),
            At::Path(path) => (path.clone(), 0),
        };
        let mut list = std::mem::take(&mut self.list);
        list.sort_by_cached_key(key);
        // Their indices changed.
        self.seen.clear();
        list.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }

    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there are besides those that [`Diagnostics::iter`] gives.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl PartialEq for Diagnostics {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list && self.left_out == other.left_out
    }
}

impl Eq for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: usize) -> Diagnostic {
        let file = Arc::new(SourceFile { path: "/a.toml".into(), text: "x".repeat(5000) });
        Diagnostic::new(Code::UnknownKey, SourceLocation::new(&file, start..start + 1), "no such key")
    }

    #[test]
    fn errors_of_the_system_are_said_in_words() {
        let gone = std::io::Error::from_raw_os_error(2);
        let said = without_number(&format!("x: {gone}; y: {gone}."));
        assert_eq!(said, "x: No such file or directory; y: No such file or directory.");
        assert_eq!(without_number("a (os error b) c"), "a (os error b) c");
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
        assert!(!all.has_errors() && all.left_out() == 0);
        all.push(at(4000));
        all.sort();
        let mut other = Diagnostics::default();
        other.extend(all);
        assert!(other.has_errors());
        assert_eq!((other.iter().count(), other.left_out()), (Diagnostics::MOST, 1));
    }
}
