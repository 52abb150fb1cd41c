use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file as it was read.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path as its author knows it, without `$COPSE_ROOT`.
    pub path: PathBuf,
    pub text: String,
}

/// A range of bytes in a file; `end` is the byte after the last.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceLocation {
    pub file: Arc<SourceFile>,
    pub start: u32,
    pub end: u32,
}

impl SourceLocation {
    /// `range` is in bytes, and is cut at the end of the file.
    pub fn new(file: &Arc<SourceFile>, range: Range<usize>) -> Self {
        let byte = |index: usize| u32::try_from(index.min(file.text.len())).unwrap_or(u32::MAX);
        Self { file: Arc::clone(file), start: byte(range.start), end: byte(range.end) }
    }

    /// Line and column of the start, both from 1; the column in characters.
    pub fn line_column(&self) -> (usize, usize) {
        self.position(self.start)
    }

    /// Line and column after the last character.
    pub fn end_line_column(&self) -> (usize, usize) {
        self.position(self.end.max(self.start))
    }

    fn position(&self, byte: u32) -> (usize, usize) {
        let before = self.file.text.get(..byte as usize).unwrap_or(&self.file.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    pub fn path(&self) -> &Path {
        &self.file.path
    }
}

impl From<&SourceLocation> for SourceLocation {
    fn from(location: &SourceLocation) -> Self {
        location.clone()
    }
}

impl fmt::Debug for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// `PATH:LINE:COLUMN`
impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(f, "{}:{line}:{column}", self.file.path.display())
    }
}
