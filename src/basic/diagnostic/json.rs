//! A diagnostic for programs: one JSON object on one line.

use serde_json::{Value, json};

use super::{At, Diagnostic, SourceLocation, steers};

/// The diagnostic as one line of JSON, without a newline at its end.
///
/// ```json
/// {"code":"unknown-key","column":1,"end":{"column":5,"line":2},"file":"/etc/copse/web.toml","help":"…","line":2,
///  "message":"…","related":[{"column":1,"end":{…},"file":"…","line":7,"message":"…"}],"severity":"error"}
/// ```
///
/// Lines and columns count from 1, columns in characters; `end` is the position after the last marked character. A
/// diagnostic about a whole file has no `line`, `column` and `end`: they are null, as is `help` where there is none.
pub fn render(diagnostic: &Diagnostic) -> String {
    let mut object = match &diagnostic.at {
        At::Location(place) => position(place),
        At::Path(path) => json!({ "file": path.display().to_string(), "line": null, "column": null, "end": null }),
    };
    object["code"] = diagnostic.code.text().into();
    object["severity"] = diagnostic.severity().to_string().into();
    object["message"] = diagnostic.message.as_str().into();
    object["help"] = diagnostic.help.as_deref().into();
    object["related"] = diagnostic.related.iter().map(|(place, why)| related(place, why)).collect();
    inert(&object.to_string())
}

fn related(place: &SourceLocation, why: &str) -> Value {
    let mut object = position(place);
    object["message"] = why.into();
    object
}

fn position(place: &SourceLocation) -> Value {
    let (line, column) = place.line_column();
    let (end_line, end_column) = SourceLocation { start: place.end.max(place.start), ..place.clone() }.line_column();
    json!({
        "file": place.path().display().to_string(),
        "line": line,
        "column": column,
        "end": { "line": end_line, "column": end_column },
    })
}

/// The same JSON with what could steer a terminal written as `\uXXXX`. Such characters are in strings only, and the
/// ASCII ones but DEL are already escaped.
fn inert(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if steers(c) {
            text.push_str(&format!("\\u{:04x}", c as u32));
        } else {
            text.push(c);
        }
    }
    text
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
