//! A diagnostic for people, with the lines that it is about.

#[cfg(test)]
mod tests;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::{At, Diagnostic, Severity, SourceFile, SourceLocation, steers};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnippetStyle {
    /// ANSI escape sequences.
    pub colour: bool,
    /// Columns of the terminal: longer lines are cut.
    pub width: usize,
}

/// A longer range is marked in its first line only.
const LINES_MAX: usize = 4;

/// The diagnostic with an excerpt of each file that it points at, and a newline at the end. The files' text cannot steer
/// the terminal.
pub fn render(diagnostic: &Diagnostic, style: SnippetStyle) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(visible(&diagnostic.message)).id(diagnostic.code.text());
    let mut group = Group::with_title(title);
    match &diagnostic.at {
        At::Path(path) => group = group.element(Origin::path(visible(&path.display().to_string()))),
        At::Location(location) => {
            let related = diagnostic.related.iter().map(|(location, label)| (location, Some(label.as_str())));
            let mut marks: Vec<Mark<'_>> = std::iter::once((location, None)).chain(related).collect();
            while let Some((first, _)) = marks.first() {
                let file = &first.file;
                let (in_file, rest) = marks.iter().partition(|(location, _)| location.path() == file.path);
                group = group.element(snippet(file, in_file));
                marks = rest;
            }
        }
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(visible(help)));
    }
    let renderer = if style.colour { Renderer::styled() } else { Renderer::plain() };
    renderer.term_width(style.width).render(&[group]) + "\n"
}

/// A location and its label, if it is a related one.
type Mark<'d> = (&'d SourceLocation, Option<&'d str>);

/// The marked lines of one file, and those between them. The renderer drops lines far from any mark, and cuts long ones.
fn snippet<'d>(file: &SourceFile, marks: Vec<Mark<'d>>) -> Snippet<'d, Annotation<'d>> {
    let text = &file.text;
    let ranges: Vec<(usize, usize)> = marks.iter().map(|(location, _)| range(location)).collect();
    let from = ranges.iter().map(|range| line_start(text, range.0)).min().unwrap_or_default();
    let to = ranges.iter().map(|range| line_end(text, range.1)).max().unwrap_or_default();
    let annotations = marks.iter().zip(ranges).map(|((_, label), (start, end))| {
        let kind = if label.is_none() { AnnotationKind::Primary } else { AnnotationKind::Context };
        let shown = |byte: usize| visible(&text[from..byte]).len();
        kind.span(shown(start)..shown(end)).label(label.map(visible))
    });
    let annotations: Vec<_> = annotations.collect();
    Snippet::source(visible(&text[from..to]))
        .path(visible(&file.path.display().to_string()))
        .line_start(text[..from].matches('\n').count() + 1)
        .annotations(annotations)
}

/// The range of bytes to mark: at character boundaries, without a newline at the end, not over too many lines.
fn range(location: &SourceLocation) -> (usize, usize) {
    let text = &location.file.text;
    // Neither within a character nor within `\r\n`.
    let boundary = |at: u32| {
        let at = (at as usize).min(text.len());
        let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        if text[at..].starts_with('\n') && text[..at].ends_with('\r') { at - 1 } else { at }
    };
    let start = boundary(location.start);
    let marked = &text[start..boundary(location.end).max(start)];
    let marked = marked.trim_end_matches(['\n', '\r']);
    let lines = marked.matches('\n').count() + 1;
    let first_line = marked.split('\n').next().unwrap_or_default().trim_end_matches('\r');
    (start, start + if lines > LINES_MAX { first_line.len() } else { marked.len() })
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |length| at + length)
}

/// `c`, or a character that stands for it if `c` could steer the terminal. The renderer expands tabs.
fn picture(c: char) -> char {
    match c {
        '\t' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or(char::REPLACEMENT_CHARACTER),
        c if steers(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// Text of one or more lines that cannot steer the terminal.
fn visible(text: &str) -> String {
    text.replace("\r\n", "\n").chars().map(|c| if c == '\n' { c } else { picture(c) }).collect()
}
