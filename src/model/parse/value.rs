//! Reads plain values. Each function returns the checked value, or the diagnostic.

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceLocation};
use crate::basic::suggest;
use crate::basic::time_span;
use crate::group_file::document::{Node, Table, Value};
use crate::model::service::TimeSpan;
use crate::unit::value::is_noncharacter;

pub type Result<T> = std::result::Result<T, Diagnostic>;

/// The longest text of a directive, and the longest list of texts, in bytes. Escapes can make four bytes of one, and a
/// line of a unit holds 1 MiB.
const LONGEST: usize = 250_000;

pub fn conflict(at: impl Into<SourceLocation>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::Conflict, at, message)
}

pub fn missing(at: impl Into<SourceLocation>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::MissingKey, at, message)
}

pub fn unrepresentable(at: impl Into<SourceLocation>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::Uncarriable, at, message)
}

/// A value of the right type that is not valid.
pub fn invalid(node: &Node, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::InvalidValue, node, message)
}

pub fn wrong_type(key: &str, expected: &str, node: &Node) -> Diagnostic {
    let message = format!("`{key}` takes {expected}, not {}", node.type_name());
    let diagnostic = Diagnostic::new(Code::WrongType, node, message);
    match unquoted(expected, node) {
        Some(value) => diagnostic.help(format!("write it without quotes: `{key} = {value}`")),
        None => diagnostic,
    }
}

/// The number or boolean in a string, if one is expected.
fn unquoted(expected: &str, node: &Node) -> Option<String> {
    let Value::String(text) = &node.value else { return None };
    match text.trim() {
        "true" | "yes" | "on" if expected.contains("`true`") => Some("true".to_owned()),
        "false" | "no" | "off" if expected.contains("`false`") => Some("false".to_owned()),
        text if expected.contains("integer") || expected.starts_with("a number") => {
            text.parse::<i64>().ok().map(|number| number.to_string())
        }
        _ => None,
    }
}

/// The text of a directive.
pub fn text<'a>(key: &str, node: &'a Node) -> Result<&'a str> {
    let text = any_text(key, node)?;
    if let Some(c) = (!text.is_ascii()).then(|| text.chars().find(|c| is_noncharacter(*c))).flatten() {
        let c = u32::from(c);
        let message = format!("`{key}` contains U+{c:04X}, which is no Unicode character: systemd drops such a line");
        return Err(unrepresentable(node, message));
    }
    check_length(key, node, text.len())?;
    Ok(text)
}

/// `bytes`: of a text, or of all texts of a list.
pub fn check_length(key: &str, node: &Node, bytes: usize) -> Result<()> {
    if bytes <= LONGEST {
        return Ok(());
    }
    let message = format!("`{key}` is {bytes} bytes long, at most {LONGEST} are supported");
    Err(unrepresentable(node, message).help("move it to a file"))
}

/// A text of which every byte can be escaped: arguments of commands, and credentials. Only NUL is refused.
pub fn any_text<'a>(key: &str, node: &'a Node) -> Result<&'a str> {
    let Value::String(text) = &node.value else { return Err(wrong_type(key, "a string", node)) };
    if text.contains('\0') {
        let message = format!("`{key}` contains a NUL character, which unit files and processes cannot receive");
        return Err(unrepresentable(node, message));
    }
    Ok(text)
}

/// The text of a directive that has no quoting: one line, which systemd reads as it is.
pub fn plain(key: &str, node: &Node) -> Result<String> {
    let text = text(key, node)?;
    if !is_plain(text) {
        return Err(invalid(node, format!("`{key}` must be {PLAIN}")));
    }
    if text.is_empty() {
        return Err(invalid(node, format!("`{key}` is empty")).help("remove the key"));
    }
    Ok(text.to_owned())
}

/// What [`is_plain`] requires.
pub const PLAIN: &str = "one line without control characters, blanks at either end, or a `\\` at the end";

/// True if systemd reads the text as it is where it has no quoting.
pub fn is_plain(text: &str) -> bool {
    !text.chars().any(char::is_control) && !text.ends_with('\\') && text.trim() == text
}

/// One string, or an array of strings: each with its own location.
pub fn strings<'a, 't>(key: &str, node: &'a Node<'t>, diagnostics: &mut Diagnostics) -> Vec<&'a Node<'t>> {
    match &node.value {
        Value::String(_) => vec![node],
        Value::Array(elements) => {
            let length = |element: &Node| if let Value::String(text) = &element.value { text.len() } else { 0 };
            if let Err(diagnostic) = check_length(key, node, elements.iter().map(length).sum()) {
                diagnostics.push(diagnostic);
                return Vec::new();
            }
            let (strings, others): (Vec<_>, Vec<_>) =
                elements.iter().partition(|element| matches!(element.value, Value::String(_)));
            others.into_iter().for_each(|other| diagnostics.push(wrong_type(key, "strings in its array", other)));
            strings
        }
        _ => {
            diagnostics.push(wrong_type(key, "a string or an array of strings", node));
            Vec::new()
        }
    }
}

/// The elements of an array, or the value itself.
pub fn elements<'a, 't>(node: &'a Node<'t>) -> &'a [Node<'t>] {
    match &node.value {
        Value::Array(elements) => elements,
        _ => std::slice::from_ref(node),
    }
}

pub fn boolean(key: &str, node: &Node) -> Result<bool> {
    match node.value {
        Value::Boolean(value) => Ok(value),
        _ => Err(wrong_type(key, "`true` or `false`", node)),
    }
}

/// A whole number from `low` to `high`.
pub fn integer(key: &str, node: &Node, (low, high): (i64, i64)) -> Result<i64> {
    match node.value {
        Value::Integer(value) if (low..=high).contains(&value) => Ok(value),
        Value::Integer(value) if high >= i64::from(i32::MAX) => {
            Err(invalid(node, format!("`{key}` must be at least {low}, not {value}")))
        }
        Value::Integer(value) => Err(invalid(node, format!("`{key}` must be from {low} to {high}, not {value}"))),
        _ => Err(wrong_type(key, "an integer", node)),
    }
}

/// One of a few words.
pub fn word<'w>(key: &str, node: &Node, words: &[&'w str]) -> Result<&'w str> {
    let quoted = || words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ");
    let Value::String(text) = &node.value else {
        return Err(wrong_type(key, &format!("one of the strings {}", quoted()), node));
    };
    words.iter().copied().find(|word| word == text).ok_or_else(|| {
        let diagnostic = invalid(node, format!("`{key}` must be one of {}, not `{}`", quoted(), shown(text)));
        let near = suggest::nearest(text, words.iter().copied());
        did_you_mean(diagnostic, near.map(|near| format!("{key} = \"{near}\"")))
    })
}

/// Adds the likely fix as help, if there is one.
pub fn did_you_mean(diagnostic: Diagnostic, near: Option<impl std::fmt::Display>) -> Diagnostic {
    match near {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

/// The author's text for a message, cut to 60 characters.
pub fn shown(text: &str) -> String {
    if text.chars().count() <= 60 { text.to_owned() } else { text.chars().take(57).chain("...".chars()).collect() }
}

/// A time span of systemd.time(7), or an integer of seconds.
pub fn span(key: &str, node: &Node) -> Result<TimeSpan> {
    let text = match &node.value {
        Value::Integer(seconds @ 0..) => seconds.to_string(),
        Value::String(text) => text.to_string(),
        Value::Integer(_) => return Err(negative(key, node)),
        _ => return Err(wrong_type(key, "a time span such as `\"1min 30s\"`, or an integer of seconds", node)),
    };
    match time_span::parse(&text) {
        // The parser accepts blanks of any kind.
        Ok(value) if text.chars().any(char::is_control) => {
            Ok(TimeSpan { text: time_span::format(value).into(), value })
        }
        Ok(value) => Ok(TimeSpan { text: text.trim().to_owned().into(), value }),
        Err(why) => Err(invalid(node, format!("`{key}`: {why}"))
            .help("write a time span of systemd.time(7), or an integer of seconds")),
    }
}

pub fn negative(key: &str, node: &Node) -> Diagnostic {
    invalid(node, format!("`{key}` must not be negative"))
}

/// Reports each key of `table` that is not among `known`.
pub fn unknown_keys(what: &str, table: &Table, known: &[&str], diagnostics: &mut Diagnostics) {
    for entry in table.entries().iter().filter(|entry| !known.contains(&&*entry.name)) {
        diagnostics.push_error(|| {
            let message = format!("{what} has no key `{}`", shown(&entry.name));
            let diagnostic = Diagnostic::new(Code::UnknownKey, entry, message);
            match suggest::nearest(&entry.name, known.iter().copied()) {
                Some(near) => did_you_mean(diagnostic, Some(near)),
                None => diagnostic.help(format!("use one of {}", backquoted(known))),
            }
        });
    }
}

pub fn backquoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
