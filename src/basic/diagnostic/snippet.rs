//! A diagnostic for people at a terminal: with the lines of the file it is about.

#[cfg(test)]
mod tests;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::{At, Diagnostic, Severity, SourceFile, SourceLocation, steers};

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnippetStyle {
    /// With colours, as ANSI escape sequences.
    pub colour: bool,
    /// Columns of the terminal: longer lines are cut.
    pub width: usize,
}

/// A mark over more lines than this is drawn at its first line only.
const LINES: usize = 4;

/// The diagnostic with an excerpt of each file it points at, and a newline at the end. Nothing of the files' text
/// can steer the terminal.
pub fn render(diagnostic: &Diagnostic, look: SnippetStyle) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(visible(&diagnostic.message)).id(diagnostic.code.text());
    let mut group = Group::with_title(title);
    match &diagnostic.at {
        At::Path(path) => group = group.element(Origin::path(visible(&path.display().to_string()))),
        At::Location(place) => {
            let mut marks = vec![(place, None)];
            marks.extend(diagnostic.related.iter().map(|(place, why)| (place, Some(why.as_str()))));
            while let Some((first, _)) = marks.first() {
                let file = &first.file;
                let (here, elsewhere) = marks.iter().partition(|(place, _)| place.path() == file.path);
                group = group.element(snippet(file, here));
                marks = elsewhere;
            }
        }
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(visible(help)));
    }
    let renderer = if look.colour { Renderer::styled() } else { Renderer::plain() };
    renderer.term_width(look.width).render(&[group]) + "\n"
}

/// The marked lines of one file, and those between them. The renderer leaves out what is far from any mark, and cuts
/// long lines.
fn snippet<'a>(file: &SourceFile, marks: Vec<(&'a SourceLocation, Option<&'a str>)>) -> Snippet<'a, Annotation<'a>> {
    let text = &file.text;
    let ranges: Vec<(usize, usize)> = marks.iter().map(|(place, _)| range(place)).collect();
    let from = ranges.iter().map(|range| line_start(text, range.0)).min().unwrap_or_default();
    let to = ranges.iter().map(|range| line_end(text, range.1)).max().unwrap_or_default();
    let annotations = marks.iter().zip(ranges).map(|((_, why), (start, end))| {
        let kind = if why.is_none() { AnnotationKind::Primary } else { AnnotationKind::Context };
        let start = visible(&text[from..start]).len();
        let end = visible(&text[from..end]).len();
        kind.span(start..end).label(why.map(visible))
    });
    let annotations: Vec<_> = annotations.collect();
    Snippet::source(visible(&text[from..to]))
        .path(visible(&file.path.display().to_string()))
        .line_start(text[..from].matches('\n').count() + 1)
        .annotations(annotations)
}

/// The place as a range of bytes that can be drawn: at boundaries of characters, without a newline at the end,
/// not over too many lines.
fn range(place: &SourceLocation) -> (usize, usize) {
    let text = &place.file.text;
    // Not within a character, nor within a line end of two.
    let boundary = |at: u32| {
        let at = (at as usize).min(text.len());
        let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        if text[at..].starts_with('\n') && text[..at].ends_with('\r') { at - 1 } else { at }
    };
    let start = boundary(place.start);
    let marked = &text[start..boundary(place.end).max(start)];
    let marked = marked.trim_end_matches(['\n', '\r']);
    let lines = marked.matches('\n').count() + 1;
    let first_line = marked.split('\n').next().unwrap_or_default().trim_end_matches('\r');
    (start, start + if lines > LINES { first_line.len() } else { marked.len() })
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The end of the line that `at` is on, without its newline.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |length| at + length)
}

/// A character that stands for `c` and can't steer the terminal. Tabs stay: the renderer makes blanks of them.
fn picture(c: char) -> char {
    match c {
        '\t' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or(char::REPLACEMENT_CHARACTER),
        c if steers(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// Text as it may be shown; it may have several lines.
fn visible(text: &str) -> String {
    text.replace("\r\n", "\n").chars().map(|c| if c == '\n' { c } else { picture(c) }).collect()
}
