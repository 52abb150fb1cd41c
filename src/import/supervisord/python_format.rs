//! `%(name)s`: Python's `%` operator with a dictionary of texts and whole numbers.

use std::fmt;

use super::expanded::{Expanded, Part};

/// Wider fields are nobody's wish, and a gigabyte of blanks is quickly written down.
const WIDEST: usize = 10_000;

/// What a name stands for.
#[derive(Debug, Clone)]
pub enum Named {
    /// A text.
    Text(Expanded),
    /// A whole number.
    Number(i64),
    /// The process's number, which stays open.
    ProcessNumber,
}

/// How a value is shown: what stands between `%(name)` and the next character of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    flags: String,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

/// Why a text can't be expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// There is nothing of that name.
    Unknown(String),
    /// It isn't a format, from that character on.
    Format(String),
    /// The value of that variable would be needed.
    Open(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "`%({name})s` stands for nothing here"),
            Self::Format(text) => {
                write!(f, "`{text}` isn't a `%(name)s`; a percent sign that is meant as one is written `%%`")
            }
            Self::Open(name) => write!(f, "`%(ENV_{name})s` has no value"),
        }
    }
}

/// Replaces every `%(name)s`, and `%%` by a percent sign.
///
/// # Errors
/// Where Python would raise, and where a number is to be shown as a fraction.
pub fn expand(text: &Expanded, names: &dyn Fn(&str) -> Option<Named>) -> Result<Expanded, Wrong> {
    let mut expanded = Expanded::default();
    let mut rest = &text.0[..];
    while let [first, after @ ..] = rest {
        match (first, after) {
            (Part::Char('%'), [Part::Char('%'), after @ ..]) => {
                expanded.0.push(Part::Char('%'));
                rest = after;
            }
            (Part::Char('%'), after) => {
                let (name, format, after) = placeholder(after).ok_or_else(|| Wrong::Format(shown(rest)))?;
                let value = names(&name).ok_or(Wrong::Unknown(name))?;
                let shown = format.show(&value).ok_or_else(|| open(&value, rest))?;
                expanded.0.extend(shown.0);
                rest = after;
            }
            (part, after) => {
                expanded.0.push(part.clone());
                rest = after;
            }
        }
    }
    Ok(expanded)
}

fn open(value: &Named, rest: &[Part]) -> Wrong {
    match value {
        Named::Text(text) if text.open().is_some() => Wrong::Open(text.open().unwrap_or_default().to_owned()),
        _ => Wrong::Format(shown(rest)),
    }
}

/// The beginning of what is wrong.
fn shown(rest: &[Part]) -> String {
    let chars = rest.iter().map_while(|part| if let Part::Char(c) = part { Some(*c) } else { None });
    let text: String = chars.take(24).collect();
    let end = text.find(|c: char| c.is_whitespace()).filter(|end| *end > 1).unwrap_or(text.len());
    text[..end].to_owned()
}

/// `(name)`, the format, and what comes after; `rest` begins behind the percent sign.
fn placeholder(rest: &[Part]) -> Option<(String, Format, &[Part])> {
    let mut at = 0;
    let char = |at: usize| match rest.get(at) {
        Some(Part::Char(c)) => Some(*c),
        _ => None,
    };
    if char(at)? != '(' {
        return None;
    }
    let (mut name, mut depth) = (String::new(), 1);
    loop {
        at += 1;
        match char(at)? {
            '(' => depth += 1,
            ')' if depth == 1 => break,
            ')' => depth -= 1,
            _ => {}
        }
        name.push(char(at)?);
    }
    at += 1;
    let mut format = Format { flags: String::new(), width: 0, precision: None, conversion: 's' };
    while let Some(flag) = char(at).filter(|c| "-+ #0".contains(*c)) {
        format.flags.push(flag);
        at += 1;
    }
    let number = |at: &mut usize| {
        let mut number = 0usize;
        while let Some(digit) = char(*at).and_then(|c| c.to_digit(10)) {
            number = (number * 10 + usize::try_from(digit).unwrap_or(0)).min(WIDEST + 1);
            *at += 1;
        }
        number
    };
    format.width = number(&mut at);
    if char(at)? == '.' {
        at += 1;
        format.precision = Some(number(&mut at));
    }
    if matches!(char(at)?, 'h' | 'l' | 'L') {
        at += 1;
    }
    format.conversion = char(at)?;
    let fits = format.width <= WIDEST && format.precision.is_none_or(|precision| precision <= WIDEST);
    fits.then(|| (name, format, &rest[at + 1..]))
}

impl Format {
    fn show(&self, value: &Named) -> Option<Expanded> {
        match value {
            Named::Text(text) if self.conversion == 's' && self.width == 0 && self.precision.is_none() => {
                Some(text.clone())
            }
            Named::Text(text) => self.text(&text.literal()?).map(Expanded::from),
            Named::Number(number) => self.checked_number(*number).map(Expanded::from),
            Named::ProcessNumber => {
                self.checked_number(0)?;
                Some(Expanded(vec![Part::Number(self.clone())]))
            }
        }
    }

    fn text(&self, text: &str) -> Option<String> {
        let shown = match self.conversion {
            's' => text.to_owned(),
            'r' => repr(text, false),
            'a' => repr(text, true),
            'c' if text.chars().count() == 1 => text.to_owned(),
            _ => return None,
        };
        let precision = self.precision.filter(|_| self.conversion != 'c').unwrap_or(usize::MAX);
        Some(self.padded("", &shown.chars().take(precision).collect::<String>(), false))
    }

    /// The number in this format, which was checked.
    pub fn number(&self, number: i64) -> String {
        self.checked_number(number).unwrap_or_default()
    }

    fn checked_number(&self, number: i64) -> Option<String> {
        let positive = number.unsigned_abs();
        let (prefix, digits) = match self.conversion {
            's' | 'r' | 'a' => return self.text_of_number(number),
            'd' | 'i' | 'u' => ("", positive.to_string()),
            'x' => ("0x", format!("{positive:x}")),
            'X' => ("0X", format!("{positive:X}")),
            'o' => ("0o", format!("{positive:o}")),
            'c' => {
                let c = u32::try_from(number).ok().and_then(char::from_u32)?;
                return Some(self.padded("", &c.to_string(), false));
            }
            _ => return None,
        };
        let sign = match number {
            ..0 => "-",
            _ if self.flags.contains('+') => "+",
            _ if self.flags.contains(' ') => " ",
            _ => "",
        };
        let prefix = if self.flags.contains('#') { prefix } else { "" };
        let digits = format!("{digits:0>width$}", width = self.precision.unwrap_or(0));
        Some(self.padded(&format!("{sign}{prefix}"), &digits, self.flags.contains('0')))
    }

    fn text_of_number(&self, number: i64) -> Option<String> {
        let text = Self { conversion: 's', ..self.clone() };
        text.text(&number.to_string())
    }

    fn padded(&self, sign: &str, text: &str, zeros: bool) -> String {
        let missing = self.width.saturating_sub(sign.chars().count() + text.chars().count());
        if self.flags.contains('-') {
            format!("{sign}{text}{}", " ".repeat(missing))
        } else if zeros {
            format!("{sign}{}{text}", "0".repeat(missing))
        } else {
            format!("{}{sign}{text}", " ".repeat(missing))
        }
    }
}

/// Python's `repr` of a text, or, with `ascii`, its `ascii`.
fn repr(text: &str, ascii: bool) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut shown = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => shown.push_str("\\\\"),
            c if c == quote => shown.extend(['\\', c]),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c.is_control() || ascii && !c.is_ascii() => {
                let code = u32::from(c);
                shown.push_str(&match code {
                    0..=0xff => format!("\\x{code:02x}"),
                    0x100..=0xffff => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                });
            }
            c => shown.push(c),
        }
    }
    shown.push(quote);
    shown
}
