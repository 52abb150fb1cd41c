//! Values as keys take them: each function gives the checked value, or a diagnostic and nothing.

use std::borrow::Cow;

use super::grammar;
use super::grammar::scalar_is_valid;
use super::units;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::suggest;
use crate::basic::time_span;
use crate::group_file::document::{Node, Table, Value};
use crate::group_file::keys::Kind;
use crate::model::Span;
use crate::unit::value::is_noncharacter;

/// The longest text that is taken, in bytes.
const LONGEST: usize = 250_000;

/// A diagnostic that says what was expected and what is there.
pub fn wrong_type(key: &str, expected: &str, node: &Node) -> Diagnostic {
    let message = format!("`{key}` takes {expected}, not {}", node.type_name());
    let diagnostic = Diagnostic::new(Code::WrongType, &node.place, message);
    match unquoted(expected, node) {
        Some(value) => diagnostic.help(format!("write it without quotes: `{key} = {value}`")),
        None => diagnostic,
    }
}

/// What a string holds, where it says a number or a truth value, as systemd would read it, and that is what is expected.
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

/// A diagnostic about a value of the right type.
pub fn invalid(node: &Node, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::InvalidValue, &node.place, message)
}

/// A string that becomes text of a unit. NUL can't be carried at all, and Unicode's noncharacters only where
/// [`carried_text`] is asked for.
pub fn text<'a>(key: &str, node: &'a Node, diagnostics: &mut Diagnostics) -> Option<&'a str> {
    let text = carried_text(key, node, diagnostics)?;
    if let Some(c) = (!text.is_ascii()).then(|| text.chars().find(|c| is_noncharacter(*c))).flatten() {
        let message = format!(
            "`{key}` holds U+{:04X}, which isn't a character to Unicode; systemd leaves out a line with it",
            u32::from(c)
        );
        diagnostics.push(Diagnostic::new(Code::Uncarriable, &node.place, message));
        return None;
    }
    // Escapes can make four bytes of one.
    if text.len() > LONGEST {
        let message = format!(
            "`{key}` holds {} bytes; a line of a unit has room for 1 MiB, which is sure to do for {LONGEST}",
            text.len()
        );
        diagnostics.push(Diagnostic::new(Code::Uncarriable, &node.place, message).help("put it into a file"));
        return None;
    }
    Some(text)
}

/// A string for a place where every byte can be escaped: words of commands, and credentials. Only NUL is refused.
pub fn carried_text<'a>(key: &str, node: &'a Node, diagnostics: &mut Diagnostics) -> Option<&'a str> {
    let Value::String(text) = &node.value else {
        diagnostics.push(wrong_type(key, "a string", node));
        return None;
    };
    if text.contains('\0') {
        let message = format!("`{key}` holds a NUL character, which neither a unit file nor a process can be given");
        diagnostics.push(Diagnostic::new(Code::Uncarriable, &node.place, message));
        return None;
    }
    Some(text)
}

/// A string that becomes a directive's value as it is: one line, nothing that systemd would read as something else.
pub fn plain<'a>(key: &str, node: &'a Node, diagnostics: &mut Diagnostics) -> Option<&'a str> {
    let text = text(key, node, diagnostics)?;
    if text.chars().any(char::is_control) || text.ends_with('\\') || text.trim() != text {
        let message =
            format!("`{key}` must be one line, without control characters, blanks at an end, or a `\\` at the end");
        diagnostics.push(invalid(node, message));
        return None;
    }
    if text.is_empty() {
        diagnostics.push(invalid(node, format!("`{key}` is empty")).help("leave the key out"));
        return None;
    }
    Some(text)
}

/// One string, or an array of strings; as nodes, so that each keeps its place.
pub fn one_or_many<'a>(key: &str, node: &'a Node<'a>, diagnostics: &mut Diagnostics) -> Vec<&'a Node<'a>> {
    match &node.value {
        Value::String(_) => vec![node],
        Value::Array(elements) => {
            let length = |element: &Node| if let Value::String(text) = &element.value { text.len() } else { 0 };
            let bytes: usize = elements.iter().map(length).sum();
            if bytes > LONGEST {
                let message = format!("`{key}` lists {bytes} bytes of text; {LONGEST} at most are taken");
                diagnostics.push(Diagnostic::new(Code::Uncarriable, &node.place, message));
                return Vec::new();
            }
            let (strings, others): (Vec<_>, Vec<_>) =
                elements.iter().partition(|element| matches!(element.value, Value::String(_)));
            for other in others {
                diagnostics.push(wrong_type(key, "strings in its array", other));
            }
            strings
        }
        _ => {
            diagnostics.push(wrong_type(key, "a string or an array of strings", node));
            Vec::new()
        }
    }
}

/// A boolean.
pub fn boolean(key: &str, node: &Node, diagnostics: &mut Diagnostics) -> Option<bool> {
    match node.value {
        Value::Boolean(value) => Some(value),
        _ => {
            diagnostics.push(wrong_type(key, "`true` or `false`", node));
            None
        }
    }
}

/// A whole number from `low` to `high`.
pub fn integer(key: &str, node: &Node, (low, high): (i64, i64), diagnostics: &mut Diagnostics) -> Option<i64> {
    match node.value {
        Value::Integer(value) if (low..=high).contains(&value) => return Some(value),
        Value::Integer(value) if high >= i64::from(i32::MAX) => {
            diagnostics.push(invalid(node, format!("`{key}` is at least {low}, not {value}")));
        }
        Value::Integer(value) => diagnostics.push(invalid(node, format!("`{key}` is {low} to {high}, not {value}"))),
        _ => diagnostics.push(wrong_type(key, "an integer", node)),
    }
    None
}

/// One of a few words.
pub fn word<'w>(key: &str, node: &Node, words: &[&'w str], diagnostics: &mut Diagnostics) -> Option<&'w str> {
    let Value::String(text) = &node.value else {
        diagnostics.push(wrong_type(key, &format!("one of the strings {}", quoted(words)), node));
        return None;
    };
    let found = words.iter().copied().find(|word| word == text);
    if found.is_none() {
        let mut diagnostic = invalid(node, format!("`{key}` is one of {}, not `{}`", quoted(words), shown(text)));
        if let Some(near) = suggest::nearest(text, words.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{key} = \"{near}\"`?"));
        }
        diagnostics.push(diagnostic);
    }
    found
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
}

/// The author's text for a message: cut where it is long.
pub fn shown(text: &str) -> String {
    if text.chars().count() <= 60 { text.to_owned() } else { text.chars().take(57).chain("...".chars()).collect() }
}

/// A time span: a string in systemd's grammar, or an integer of seconds.
pub fn time_span(key: &str, node: &Node, diagnostics: &mut Diagnostics) -> Option<Span> {
    let text = match &node.value {
        Value::Integer(seconds @ 0..) => seconds.to_string(),
        Value::String(text) => text.to_string(),
        Value::Integer(_) => {
            diagnostics.push(invalid(node, format!("`{key}` can't be negative")));
            return None;
        }
        _ => {
            diagnostics.push(wrong_type(key, "a time span such as `\"1min 30s\"`, or an integer of seconds", node));
            return None;
        }
    };
    match time_span::parse(&text) {
        // What the parser takes may hold blanks of any kind: the normal form goes out.
        Ok(value) if text.chars().any(char::is_control) => Some(Span { text: time_span::format(value).into(), value }),
        Ok(value) => Some(Span { text: text.trim().to_owned().into(), value }),
        Err(why) => {
            let diagnostic = invalid(node, format!("`{key}` takes a time span: {why}"));
            diagnostics.push(diagnostic.help("as in systemd.time(7), or an integer of seconds"));
            None
        }
    }
}

/// The value of a key that is a directive one to one, in systemd's grammar.
pub fn directive(key: &str, kind: Kind, node: &Node, diagnostics: &mut Diagnostics) -> Option<Cow<'static, str>> {
    match kind {
        Kind::Span => time_span(key, node, diagnostics).map(|span| span.text),
        Kind::Boolean => boolean(key, node, diagnostics).map(|value| if value { "yes" } else { "no" }.into()),
        Kind::Word(words) => word(key, node, words, diagnostics).map(Cow::Borrowed),
        Kind::Integer(low, high) => integer(key, node, (low, high), diagnostics).map(|value| value.to_string().into()),
        Kind::Units => {
            let names = one_or_many(key, node, diagnostics);
            let names: Vec<_> = names.into_iter().filter_map(|node| units::unit_name(key, node, diagnostics)).collect();
            (!names.is_empty()).then(|| names.join(" ").into())
        }
        Kind::Statuses | Kind::Capabilities => words(key, kind, node, diagnostics).map(Cow::Owned),
        Kind::Size | Kind::Percent | Kind::Tasks | Kind::Limit | Kind::Mode | Kind::Signal | Kind::User => {
            scalar(key, kind, node, diagnostics).map(Cow::Owned)
        }
    }
}

fn words(key: &str, kind: Kind, node: &Node, diagnostics: &mut Diagnostics) -> Option<String> {
    let elements = match &node.value {
        Value::Array(elements) => elements.iter().collect(),
        _ => vec![node],
    };
    let mut found = Vec::new();
    for element in elements {
        let word = match &element.value {
            Value::Integer(status) if kind == Kind::Statuses => status.to_string(),
            Value::String(word) => word.to_string(),
            _ => {
                diagnostics.push(wrong_type(key, "strings, or an array of them", element));
                return None;
            }
        };
        for word in word.split_ascii_whitespace() {
            let bare = if kind == Kind::Capabilities && found.is_empty() { word.trim_start_matches('~') } else { word };
            if !grammar::word_is_valid(kind, bare) {
                let what = if kind == Kind::Statuses { "an exit status or signal" } else { "a capability: `CAP_…`" };
                let mut diagnostic = invalid(element, format!("`{}` isn't {what}", shown(word)));
                if let Some(near) = suggest::nearest(bare, grammar::words(kind)) {
                    diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                }
                diagnostics.push(diagnostic);
                return None;
            }
            found.push(word.to_owned());
        }
    }
    let line = found.join(" ");
    if line.len() > LONGEST {
        diagnostics.push(invalid(node, format!("`{key}` lists {} bytes; {LONGEST} at most are taken", line.len())));
        return None;
    }
    Some(line)
}

fn scalar(key: &str, kind: Kind, node: &Node, diagnostics: &mut Diagnostics) -> Option<String> {
    let text = match &node.value {
        Value::Integer(number @ 0..) if !matches!(kind, Kind::Mode | Kind::Signal | Kind::Percent) => {
            number.to_string()
        }
        Value::String(text) => text.to_string(),
        Value::Integer(_) if kind == Kind::Mode => {
            diagnostics.push(wrong_type(key, "a string such as `\"0755\"`: a bare number would be decimal", node));
            return None;
        }
        Value::Integer(number) if *number < 0 => {
            diagnostics.push(invalid(node, format!("`{key}` can't be negative")));
            return None;
        }
        _ => {
            diagnostics.push(wrong_type(key, expected(kind), node));
            return None;
        }
    };
    if scalar_is_valid(kind, &text) {
        return Some(text);
    }
    let mut diagnostic = invalid(node, format!("`{key}` takes {}, not `{}`", expected(kind), shown(&text)));
    if kind == Kind::Signal {
        let with_prefix = format!("SIG{}", text.to_ascii_uppercase().trim_start_matches("SIG"));
        if let Some(near) = suggest::nearest(&with_prefix, grammar::words(kind)) {
            diagnostic = diagnostic.help(format!("did you mean `{key} = \"{near}\"`?"));
        }
    }
    if let Some(size) = size_meant(&text).filter(|size| kind == Kind::Size && scalar_is_valid(kind, size)) {
        diagnostic = diagnostic.help(format!("did you mean `{key} = \"{size}\"`?"));
    }
    diagnostics.push(diagnostic);
    None
}

/// A size as systemd writes it: `50MB`, `50 MiB`, `50m` are `50M`.
fn size_meant(text: &str) -> Option<String> {
    let upper = text.trim().to_ascii_uppercase();
    let number = upper.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = upper[number.len()..].trim_end_matches('B').trim_end_matches('I');
    Some(format!("{}{unit}", number.trim_end())).filter(|_| !number.is_empty() && unit.len() <= 1)
}

fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Size => "a size such as `\"512M\"`, a percentage, `\"infinity\"`, or an integer of bytes",
        Kind::Percent => "a percentage such as `\"150%\"`",
        Kind::Tasks => "a number, a percentage, or `\"infinity\"`",
        Kind::Limit => "a number, `\"SOFT:HARD\"`, or `\"infinity\"`",
        Kind::Mode => "an octal mode such as `\"0755\"`",
        Kind::Signal => "a signal such as `\"SIGTERM\"`",
        _ => "a user's or group's name, or its number",
    }
}

/// All keys of `table` that aren't among `known`: each a diagnostic, with the near one.
pub fn unknown_keys(what: &str, table: &Table, known: &[&str], diagnostics: &mut Diagnostics) {
    for entry in table.entries().iter().filter(|entry| !known.contains(&&*entry.name)) {
        diagnostics.push_error(|| {
            let key = &*entry.name;
            let message = format!("{what} has no key `{}`", shown(key));
            Diagnostic::new(Code::UnknownKey, &entry.key, message).help(
                match suggest::nearest(key, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("it takes {}", quoted_keys(known)),
                },
            )
        });
    }
}

fn quoted_keys(known: &[&str]) -> String {
    known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}
