//! What other process managers' files become: a group file that means the same, and notes on what it can't say.

pub mod accepted;
pub mod dotenv;
pub mod group_file;
pub mod procfile;
pub mod supervisord;

/// Something about a line of a file that is imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The line, counted from one.
    pub line: usize,
    /// What is to be said of it.
    pub text: String,
    /// Nothing of the line is imported.
    pub left_out: bool,
}

impl Remark {
    fn new(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into(), left_out: false }
    }

    fn left_out(line: usize, text: impl Into<String>) -> Self {
        Self { left_out: true, ..Self::new(line, text) }
    }
}
