//! Reads a `<methodCall>`.
//!
//! Elements of no meaning here are skipped, as supervisord skips them. A document type is refused: it could define
//! entities, and no client sends one.

use std::collections::BTreeMap;
use std::fmt;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::supervisor::value::Value;

/// How deep elements may be nested.
const DEPTH: usize = 64;

/// A method and its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: String,
    pub params: Vec<Value>,
}

/// Why a text is no call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid(pub &'static str);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// An element, with what was read of it.
#[derive(Debug, Default)]
struct Element {
    name: Vec<u8>,
    text: String,
    /// The values of elements in it.
    values: Vec<Value>,
    /// The members of a `<struct>`.
    members: BTreeMap<String, Value>,
    /// The `<name>` of a `<member>`.
    label: Option<String>,
}

/// What the elements on top say.
#[derive(Debug, Default)]
struct Call {
    method: Option<String>,
    params: Vec<Value>,
}

/// Reads a call.
///
/// # Errors
/// The text is not well-formed XML in UTF-8, has a document type, is nested too deeply, has a value that is none, or
/// names no method.
pub fn read(text: &[u8]) -> Result<Request, Invalid> {
    let text = std::str::from_utf8(text).map_err(|_| Invalid("not UTF-8"))?;
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut stack: Vec<Element> = Vec::new();
    let mut call = Call::default();
    let mut ended = false;
    loop {
        match reader.read_event().map_err(|_| Invalid("not well-formed XML"))? {
            Event::Start(start) => {
                open(&mut stack, &start, ended)?;
            }
            Event::Empty(start) => {
                open(&mut stack, &start, ended)?;
                ended |= close(&mut stack, &mut call)?;
            }
            Event::End(_) => ended |= close(&mut stack, &mut call)?,
            Event::Text(more) => {
                let more = more.xml_content().map_err(|_| Invalid("not well-formed XML"))?;
                push(&mut stack, &more)?;
            }
            Event::CData(more) => {
                let more = more.decode().map_err(|_| Invalid("not well-formed XML"))?;
                push(&mut stack, &more)?;
            }
            Event::GeneralRef(reference) => push(&mut stack, &resolved(&reference)?)?,
            Event::DocType(_) => return Err(Invalid("a document type is not accepted")),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof => break,
        }
    }
    if !stack.is_empty() || !ended {
        return Err(Invalid("not a whole document"));
    }
    match call.method {
        Some(method) if !method.is_empty() => Ok(Request { method, params: call.params }),
        _ => Err(Invalid("no method name")),
    }
}

fn open(stack: &mut Vec<Element>, start: &BytesStart<'_>, ended: bool) -> Result<(), Invalid> {
    if ended {
        return Err(Invalid("more than one document"));
    }
    if stack.len() >= DEPTH {
        return Err(Invalid("nested too deeply"));
    }
    stack.push(Element { name: start.local_name().as_ref().to_owned(), ..Element::default() });
    Ok(())
}

fn push(stack: &mut [Element], text: &str) -> Result<(), Invalid> {
    match stack.last_mut() {
        Some(element) => element.text.push_str(text),
        None if text.trim().is_empty() => {}
        None => return Err(Invalid("text outside of the document")),
    }
    Ok(())
}

fn resolved(reference: &BytesRef<'_>) -> Result<String, Invalid> {
    const UNKNOWN: Invalid = Invalid("an unknown entity");
    if let Some(character) = reference.resolve_char_ref().map_err(|_| UNKNOWN)? {
        return Ok(character.to_string());
    }
    let name = reference.decode().map_err(|_| UNKNOWN)?;
    resolve_predefined_entity(&name).map(str::to_owned).ok_or(UNKNOWN)
}

/// Ends the innermost element. True if it was the document's.
fn close(stack: &mut Vec<Element>, call: &mut Call) -> Result<bool, Invalid> {
    let Some(mut element) = stack.pop() else { return Err(Invalid("not well-formed XML")) };
    let Some(parent) = stack.last_mut() else { return Ok(true) };
    let in_data = parent.name == b"data";
    match element.name.as_slice() {
        b"methodName" => call.method = Some(element.text.trim().to_owned()),
        b"params" => call.params = std::mem::take(&mut element.values),
        // A value of no type is a string.
        b"value" => {
            let value = element.values.pop().unwrap_or(Value::String(element.text));
            parent.values.push(value);
        }
        b"param" | b"data" => {
            if element.name == b"data" {
                parent.values = vec![Value::Array(element.values)];
            } else {
                parent.values.extend(element.values.pop());
            }
        }
        b"array" => parent.values.push(element.values.pop().unwrap_or(Value::Array(Vec::new()))),
        b"struct" => parent.values.push(Value::Struct(element.members)),
        b"member" => {
            if let (Some(name), Some(value)) = (element.label, element.values.pop()) {
                parent.members.insert(name, value);
            }
        }
        b"name" => parent.label = Some(element.text),
        name if !in_data => {
            if let Some(value) = scalar(name, &element.text)? {
                parent.values.push(value);
            }
        }
        _ => {}
    }
    Ok(false)
}

/// The value of `<int>` and its siblings. `None` for an element of no meaning here.
fn scalar(name: &[u8], text: &str) -> Result<Option<Value>, Invalid> {
    let number = text.trim();
    Ok(Some(match name {
        b"int" | b"i4" => Value::Int(number.parse().map_err(|_| Invalid("not an integer of 32 bits"))?),
        b"boolean" => Value::Boolean(number == "1"),
        b"string" => Value::String(text.to_owned()),
        b"double" => Value::Double(number.parse().map_err(|_| Invalid("not a number"))?),
        b"base64" => Value::String(decoded(text).ok_or(Invalid("not base64"))?),
        _ => return Ok(None),
    }))
}

/// Base64 (RFC 4648) of UTF-8 text, with line breaks.
pub(in crate::supervisor) fn decoded(text: &str) -> Option<String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let padding = digits.iter().rev().take_while(|byte| **byte == b'=').count();
    if !digits.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    for group in digits[..digits.len() - padding].chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            bits = bits << 6 | u32::from(value_of(*digit)?);
        }
        let [_, all @ ..] = (bits << (6 * (4 - group.len()))).to_be_bytes();
        bytes.extend_from_slice(&all[..group.len().checked_sub(1)?]);
    }
    String::from_utf8(bytes).ok()
}

fn value_of(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}
