//! Writes a `<methodResponse>`, as Python's xmlrpc.client does.

use std::fmt::Write as _;

use crate::supervisor::value::Value;

const HEAD: &str = "<?xml version='1.0'?>\n<methodResponse>\n";
const FOOT: &str = "</methodResponse>\n";

/// The answer with a value.
pub fn answer(value: &Value) -> String {
    let mut text = String::from(HEAD);
    text.push_str("<params>\n<param>\n");
    write(&mut text, value);
    text.push_str("</param>\n</params>\n");
    text + FOOT
}

/// The answer with a fault.
pub fn fault(code: i32, message: &str) -> String {
    let mut text = String::from(HEAD);
    text.push_str("<fault>\n");
    write(&mut text, &Value::structure([("faultCode", Value::Int(code)), ("faultString", Value::text(message))]));
    text.push_str("</fault>\n");
    text + FOOT
}

fn write(text: &mut String, value: &Value) {
    text.push_str("<value>");
    match value {
        // Writing to a String cannot fail.
        Value::Int(number) => drop(write!(text, "<int>{number}</int>")),
        Value::Boolean(value) => drop(write!(text, "<boolean>{}</boolean>", u8::from(*value))),
        Value::Double(number) => drop(write!(text, "<double>{number}</double>")),
        Value::String(content) => {
            text.push_str("<string>");
            escape(text, content);
            text.push_str("</string>");
        }
        Value::Array(values) => {
            text.push_str("<array><data>\n");
            values.iter().for_each(|value| write(text, value));
            text.push_str("</data></array>");
        }
        Value::Struct(members) => {
            text.push_str("<struct>\n");
            for (name, value) in members {
                text.push_str("<member>\n<name>");
                escape(text, name);
                text.push_str("</name>\n");
                write(text, value);
                text.push_str("</member>\n");
            }
            text.push_str("</struct>");
        }
    }
    text.push_str("</value>\n");
}

/// Characters that XML 1.0 does not have (section 2.2) become U+FFFD: with a colour of a terminal in a log, a client
/// could not read the answer. A carriage return would be read as a newline.
fn escape(text: &mut String, content: &str) {
    for c in content.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '\r' => text.push_str("&#13;"),
            '\t' | '\n' => text.push(c),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => text.push('\u{fffd}'),
            c => text.push(c),
        }
    }
}
