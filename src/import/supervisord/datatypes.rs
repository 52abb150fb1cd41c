//! The values of options, as `supervisor.datatypes` reads them.

use super::configparser::strip;
use super::python_format::{Expanded, Part};
use crate::basic::signal;
use crate::import::shlex;

/// When a program that ended is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Autorestart {
    Always,
    /// Unless its exit status is one of `exitcodes`.
    Unexpected,
    Never,
}

/// Python's `int(text, radix)`, up to 64 bits.
pub fn integer(text: &str, radix: u32) -> Option<i64> {
    let text = strip(text);
    let (sign, digits) = text.split_at(usize::from(text.starts_with(['-', '+'])));
    let octal = digits.strip_prefix("0o").or_else(|| digits.strip_prefix("0O")).filter(|_| radix == 8);
    let digits = octal.unwrap_or(digits);
    // Single underscores may separate digits.
    let well_formed = digits.split('_').all(|run| !run.is_empty() && run.chars().all(|c| c.is_digit(radix)));
    i64::from_str_radix(&format!("{sign}{}", digits.replace('_', "")), radix).ok().filter(|_| well_formed)
}

pub fn boolean(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "yes" | "true" | "on" | "1" => Some(true),
        "no" | "false" | "off" | "0" => Some(false),
        _ => None,
    }
}

pub fn autorestart(text: &str) -> Option<Autorestart> {
    match boolean(text) {
        Some(true) => Some(Autorestart::Always),
        Some(false) => Some(Autorestart::Never),
        None => text.eq_ignore_ascii_case("unexpected").then_some(Autorestart::Unexpected),
    }
}

/// The name of a signal, with `SIG`, from its name with or without `SIG` or from its number.
pub fn signal(text: &str) -> Option<String> {
    let text = strip(text).to_uppercase();
    let name = match text.strip_prefix("SIG").unwrap_or(&text) {
        "CLD" => "CHLD",
        "IOT" => "ABRT",
        name @ ("RTMIN" | "RTMAX") => return Some(format!("SIG{name}")),
        name => name,
    };
    let number = usize::try_from(signal::number(name)?).ok()?;
    signal::NAMES.get(number.checked_sub(1)?).map(|name| (*name).to_owned())
}

/// Exit statuses, separated by commas.
pub fn exit_codes(text: &str) -> Option<Vec<u8>> {
    let code = |code: &str| integer(code, 10).and_then(|code| u8::try_from(code).ok());
    if text.is_empty() { Some(Vec::new()) } else { text.split(',').map(code).collect() }
}

/// The name of a program, a process or a group.
pub fn name(text: &str) -> Option<&str> {
    Some(strip(text)).filter(|name| !name.contains([' ', ':', '/']))
}

/// `NAME="value",OTHER=word`: Python's `dict_of_key_value_pairs`. The last value of a name counts, in the place of the
/// first.
///
/// # Errors
/// supervisord refuses the text.
pub fn pairs(text: &Expanded) -> Result<Vec<(Expanded, Expanded)>, &'static str> {
    let mut pairs: Vec<(Expanded, Expanded)> = Vec::new();
    // Any token may stand in the place of the comma.
    for chunk in shlex::tokens(&text.0)?.chunks(4) {
        let [name, equals, value, ..] = chunk else { return Err("expected `NAME=\"value\"`, separated by commas") };
        if equals[..] != [Part::Char('=')] {
            return Err("expected `NAME=\"value\"`, separated by commas");
        }
        let mut value = &value[..];
        while let [Part::Char('\'' | '"'), rest @ ..] | [rest @ .., Part::Char('\'' | '"')] = value {
            value = rest;
        }
        let value = Expanded(value.to_vec());
        match pairs.iter_mut().find(|(known, _)| known.0 == *name) {
            Some((_, known)) => *known = value,
            None => pairs.push((Expanded(name.clone()), value)),
        }
    }
    Ok(pairs)
}
