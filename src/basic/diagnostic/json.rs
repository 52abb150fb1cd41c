//! A diagnostic for programs: one JSON object on one line.

use std::path::Path;

use serde::Serialize;

use super::{At, Diagnostic, SourceLocation, steers};

/// Lines and columns count from 1, columns in characters; `end` is the position after the last marked character. A
/// diagnostic about a whole file has neither: they are null.
#[derive(Serialize)]
struct Object<'d> {
    code: &'static str,
    column: Option<usize>,
    end: Option<Position>,
    file: String,
    help: Option<&'d str>,
    line: Option<usize>,
    message: &'d str,
    related: Vec<Related<'d>>,
    severity: String,
}

#[derive(Serialize)]
struct Related<'d> {
    column: usize,
    end: Position,
    file: String,
    line: usize,
    message: &'d str,
}

#[derive(Serialize)]
struct Position {
    column: usize,
    line: usize,
}

impl From<(usize, usize)> for Position {
    fn from((line, column): (usize, usize)) -> Self {
        Self { column, line }
    }
}

/// The diagnostic as one line of JSON, without a newline at its end.
pub fn render(diagnostic: &Diagnostic) -> String {
    let location = match &diagnostic.at {
        At::Location(location) => Some(location),
        At::Path(_) => None,
    };
    let start = location.map(SourceLocation::line_column);
    let object = Object {
        code: diagnostic.code.text(),
        column: start.map(|(_, column)| column),
        end: location.map(|location| location.end_line_column().into()),
        file: shown(&diagnostic.path()),
        help: diagnostic.help.as_deref(),
        line: start.map(|(line, _)| line),
        message: &diagnostic.message,
        related: diagnostic.related.iter().map(related).collect(),
        severity: diagnostic.severity().to_string(),
    };
    inert(&serde_json::to_string(&object).expect("it has no map"))
}

fn related((location, message): &(SourceLocation, String)) -> Related<'_> {
    let (line, column) = location.line_column();
    Related { column, end: location.end_line_column().into(), file: shown(location.path()), line, message }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The same JSON with what could steer a terminal written as `\uXXXX`. Such characters stand in strings only, and the
/// ASCII ones but DEL are escaped already.
fn inert(json: &str) -> String {
    json.chars().map(|c| if steers(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::basic::diagnostic::{Code, SourceFile};

    #[test]
    fn one_object_on_one_line() {
        let file = Arc::new(SourceFile { path: "/x.toml".into(), text: "a = 1\néé = 2\n".into() });
        let (a, e) = (SourceLocation::new(&file, 0..1), SourceLocation::new(&file, 6..10));
        let diagnostic =
            Diagnostic::new(Code::Conflict, &e, "`a` and\n\"b\"\u{9b}").related(&a, "the other").help("drop one");
        assert_eq!(
            render(&diagnostic),
            r#"{"code":"conflict","column":1,"end":{"column":3,"line":2},"file":"/x.toml","help":"drop one","line":2,"#
                .to_owned()
                + r#""message":"`a` and\n\"b\"\u009b","related":[{"column":1,"end":{"column":2,"line":1},"#
                + r#""file":"/x.toml","line":1,"message":"the other"}],"severity":"error"}"#
        );
    }

    #[test]
    fn a_whole_file_has_no_line() {
        assert_eq!(
            render(&Diagnostic::file(Code::DanglingLink, "/x.toml", "leads nowhere")),
            r#"{"code":"dangling-link","column":null,"end":null,"file":"/x.toml","help":null,"line":null,"#.to_owned()
                + r#""message":"leads nowhere","related":[],"severity":"warning"}"#
        );
    }
}
