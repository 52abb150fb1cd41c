//! The values of options, as `supervisor.datatypes` reads them.

use super::configparser::strip;
use crate::basic::signal;

/// When a program that ended is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Autorestart {
    /// `true`
    Always,
    /// `unexpected`: its exit status isn't among `exitcodes`.
    Unexpected,
    /// `false`
    Never,
}

/// Python's `int(text)`, or with `radix` 8 `int(text, 8)`. What doesn't fit is as large as can be.
pub fn integer(text: &str, radix: u32) -> Option<i64> {
    let text = strip(text);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefixed = (radix == 8).then(|| digits.strip_prefix("0o").or_else(|| digits.strip_prefix("0O"))).flatten();
    let digits = match prefixed {
        Some(digits) => digits.strip_prefix('_').unwrap_or(digits),
        None => digits,
    };
    let well_formed =
        !digits.is_empty() && digits.split('_').all(|run| !run.is_empty() && run.chars().all(|c| c.is_digit(radix)));
    let value = digits
        .chars()
        .filter_map(|c| c.to_digit(radix))
        .fold(0i64, |value, digit| value.saturating_mul(i64::from(radix)).saturating_add(i64::from(digit)));
    well_formed.then_some(if negative { -value } else { value })
}

/// `true`, `yes`, `on`, `1` and their opposites.
pub fn boolean(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "yes" | "true" | "on" | "1" => Some(true),
        "no" | "false" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// `autorestart`
pub fn autorestart(text: &str) -> Option<Autorestart> {
    match text.to_lowercase().as_str() {
        "unexpected" => Some(Autorestart::Unexpected),
        word => boolean(word).map(|always| if always { Autorestart::Always } else { Autorestart::Never }),
    }
}

/// A signal by its name, with or without `SIG`, or its number; gives its name.
pub fn signal(text: &str) -> Option<String> {
    if let Some(number) = integer(text, 10) {
        // The list begins with number 1.
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        return signal::NAMES.get(at).map(|name| (*name).to_owned());
    }
    let word = strip(text).to_uppercase();
    let name = if word.starts_with("SIG") { word } else { format!("SIG{word}") };
    let name = match name.as_str() {
        "SIGCLD" => "SIGCHLD",
        "SIGPOLL" => "SIGIO",
        "SIGIOT" => "SIGABRT",
        name => name,
    };
    signal::NAMES.iter().chain(&["SIGRTMIN", "SIGRTMAX"]).find(|known| **known == name).map(|name| (*name).to_owned())
}

/// `exitcodes`: numbers with commas between them.
pub fn exit_codes(text: &str) -> Option<Vec<u8>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(|code| integer(code, 10).and_then(|code| u8::try_from(code).ok())).collect()
}

/// `programs`, `files`-like lists: texts with commas between them.
pub fn strings(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.split(',').map(strip).collect() }
}

/// A program's, process's or group's name, without blanks at its ends.
pub fn name(text: &str) -> Option<&str> {
    Some(strip(text)).filter(|name| !name.contains([' ', ':', '/']))
}
