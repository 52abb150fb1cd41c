//! Reads the values of keys that are directives one to one, in systemd's grammar.

use std::borrow::Cow;

use super::grammar;
use super::units;
use super::value;
use super::value::{Result, did_you_mean, invalid, shown, wrong_type};
use crate::basic::diagnostic::Diagnostics;
use crate::group_file::document::{Node, Value};
use crate::group_file::keys::KeyKind;

pub fn directive(key: &str, kind: KeyKind, node: &Node, diagnostics: &mut Diagnostics) -> Option<Cow<'static, str>> {
    let value = match kind {
        KeyKind::Span => value::span(key, node).map(|span| span.text),
        KeyKind::Boolean => value::boolean(key, node).map(|value| if value { "yes" } else { "no" }.into()),
        KeyKind::Word(words) => value::word(key, node, words).map(Cow::Borrowed),
        KeyKind::Integer(low, high) => value::integer(key, node, (low, high)).map(|value| value.to_string().into()),
        KeyKind::Statuses | KeyKind::Capabilities => words(key, kind, node).map(Cow::Owned),
        KeyKind::Units => {
            let nodes = value::strings(key, node, diagnostics);
            let units: Vec<_> = nodes.into_iter().filter_map(|node| diagnostics.ok(units::unit(key, node))).collect();
            return (!units.is_empty()).then(|| units.join(" ").into());
        }
        _ => scalar(key, kind, node).map(Cow::Owned),
    };
    diagnostics.ok(value)
}

fn words(key: &str, kind: KeyKind, node: &Node) -> Result<String> {
    let mut words = Vec::new();
    for element in value::elements(node) {
        let text = match &element.value {
            Value::Integer(status) if kind == KeyKind::Statuses => status.to_string(),
            Value::String(text) => text.to_string(),
            _ => return Err(wrong_type(key, "strings, or an array of them", element)),
        };
        for word in text.split_ascii_whitespace() {
            let inverts = kind == KeyKind::Capabilities && words.is_empty();
            let bare = if inverts { word.trim_start_matches('~') } else { word };
            if !grammar::is_word(kind, bare) {
                let expected = if kind == KeyKind::Statuses {
                    "an exit status or signal"
                } else {
                    "a capability such as `CAP_CHOWN`"
                };
                let diagnostic = invalid(element, format!("`{}` is not {expected}", shown(word)));
                return Err(did_you_mean(diagnostic, grammar::nearest(kind, bare)));
            }
            words.push(word.to_owned());
        }
    }
    let line = words.join(" ");
    value::check_length(key, node, line.len())?;
    Ok(line)
}

fn scalar(key: &str, kind: KeyKind, node: &Node) -> Result<String> {
    let text = match &node.value {
        Value::Integer(number @ 0..) if !matches!(kind, KeyKind::Mode | KeyKind::Signal | KeyKind::Percent) => {
            number.to_string()
        }
        Value::String(text) => text.to_string(),
        Value::Integer(_) if kind == KeyKind::Mode => {
            return Err(wrong_type(key, "a string such as `\"0755\"` (an integer would be decimal)", node));
        }
        Value::Integer(..0) => return Err(value::negative(key, node)),
        _ => return Err(wrong_type(key, expected(kind), node)),
    };
    if grammar::is_scalar(kind, &text) {
        return Ok(text);
    }
    let diagnostic = invalid(node, format!("`{key}` takes {}, not `{}`", expected(kind), shown(&text)));
    let near = match kind {
        KeyKind::Signal => {
            let with_prefix = format!("SIG{}", text.to_ascii_uppercase().trim_start_matches("SIG"));
            grammar::nearest(kind, &with_prefix)
        }
        KeyKind::Size => likely_size(&text).filter(|size| grammar::is_scalar(kind, size)),
        _ => None,
    };
    Err(did_you_mean(diagnostic, near.map(|near| format!("{key} = \"{near}\""))))
}

/// A size as systemd writes it: `50M` for `50MB`, `50 MiB` and `50m`.
fn likely_size(text: &str) -> Option<String> {
    let upper = text.trim().to_ascii_uppercase();
    let number = upper.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = upper[number.len()..].trim_end_matches('B').trim_end_matches('I');
    Some(format!("{}{unit}", number.trim_end())).filter(|_| !number.is_empty() && unit.len() <= 1)
}

fn expected(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Size => "a size such as `\"512M\"`, a percentage, `\"infinity\"`, or an integer of bytes",
        KeyKind::Percent => "a percentage such as `\"150%\"`",
        KeyKind::Tasks => "a number, a percentage, or `\"infinity\"`",
        KeyKind::Limit => "a number, `\"SOFT:HARD\"`, or `\"infinity\"`",
        KeyKind::Mode => "an octal mode such as `\"0755\"`",
        KeyKind::Signal => "a signal such as `\"SIGTERM\"`",
        _ => "the name or number of a user or group",
    }
}
