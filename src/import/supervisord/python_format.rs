//! `%(name)s`: Python's `%` operator with a dictionary of texts and whole numbers, and the text that results from it.

use std::fmt;
use std::rc::Rc;

use crate::import::shlex::Symbol;

/// A text, character by character. A part of it may have no value yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expanded(pub Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Char(char),
    /// A variable of supervisord's environment whose value is unknown; true between quotes, where it is one word.
    Env(Rc<str>, bool),
    /// The number of the process, if all processes of a program are read together.
    Number(Format),
}

/// What a name stands for.
#[derive(Debug, Clone)]
pub enum Named {
    Text(Expanded),
    Number(i64),
    /// The number of the process, which remains a [`Part::Number`].
    ProcessNumber,
}

/// The part of `%(name)02d` after the parenthesis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    left: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

/// Why a text cannot be expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// There is no such name.
    Unknown(String),
    /// This part of the text is no format, or one that is not supported.
    Format(String),
    /// The value of this variable is needed, and unknown.
    Open(String),
}

/// Wider fields are not supported: a short file could fill the memory with blanks.
const WIDTH_MAX: usize = 999;

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "`%({name})s` has no meaning here"),
            Self::Format(text) => write!(f, "`{text}` is not a supported `%(name)s`"),
            Self::Open(name) => write!(f, "`%(ENV_{name})s` has no value"),
        }
    }
}

/// Replaces each `%(name)s`, and `%%` by a percent sign.
///
/// # Errors
/// Python would raise an exception, or the format is none of `s`, `d`, `i`, `u`, `x`, `X` and `o` with flags, width and
/// precision as real files have them.
pub fn expand(text: &str, mut lookup: impl FnMut(&str) -> Option<Named>) -> Result<Expanded, Wrong> {
    let mut expanded = Expanded::default();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        expanded.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            expanded.push_str("%");
            rest = after;
            continue;
        }
        let unsupported = || Wrong::Format(excerpt(&rest[before.len()..]));
        let (name, format, after) = placeholder(after).ok_or_else(unsupported)?;
        let value = lookup(name).ok_or_else(|| Wrong::Unknown(name.to_owned()))?;
        let shown = format.show(&value).ok_or_else(|| match &value {
            Named::Text(text) if text.open().is_some() => Wrong::Open(text.open().unwrap_or_default().to_owned()),
            _ => unsupported(),
        })?;
        expanded.0.extend(shown.0);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// The first word, without what is far behind.
fn excerpt(text: &str) -> String {
    let text: String = text.chars().take(24).collect();
    let end = text.find(char::is_whitespace).filter(|end| *end > 1).unwrap_or(text.len());
    text[..end].to_owned()
}

/// The name, the format and the rest of `(name)02d rest`.
fn placeholder(text: &str) -> Option<(&str, Format, &str)> {
    let (name, rest) = text.strip_prefix('(')?.split_once(')')?;
    let flags = &rest[..rest.find(|c| c != '-' && c != '0').unwrap_or(rest.len())];
    let (width, rest) = number(&rest[flags.len()..])?;
    let (precision, rest) = match rest.strip_prefix('.') {
        Some(rest) => number(rest).map(|(precision, rest)| (Some(precision), rest))?,
        None => (None, rest),
    };
    let conversion = rest.chars().next()?;
    let format = Format { left: flags.contains('-'), zeros: flags.contains('0'), width, precision, conversion };
    Some((name, format, &rest[conversion.len_utf8()..]))
}

/// The number that the text begins with, or 0.
fn number(text: &str) -> Option<(usize, &str)> {
    let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number = if digits.is_empty() { Some(0) } else { digits.parse().ok() };
    number.filter(|number| *number <= WIDTH_MAX).map(|number| (number, rest))
}

impl Format {
    fn show(&self, value: &Named) -> Option<Expanded> {
        match value {
            Named::Text(text) if self.conversion != 's' => None,
            Named::Text(text) if self.width == 0 && self.precision.is_none() => Some(text.clone()),
            Named::Text(text) => {
                let text: String = text.literal()?.chars().take(self.precision.unwrap_or(usize::MAX)).collect();
                Some(self.padded("", &text, false).as_str().into())
            }
            Named::Number(_) | Named::ProcessNumber if self.precision.is_some() => None,
            Named::Number(_) | Named::ProcessNumber if !"sdiuxXo".contains(self.conversion) => None,
            Named::Number(number) => Some(self.number(*number).as_str().into()),
            Named::ProcessNumber => Some(Expanded(vec![Part::Number(self.clone())])),
        }
    }

    /// The number in this format.
    pub fn number(&self, number: i64) -> String {
        let positive = number.unsigned_abs();
        let digits = match self.conversion {
            'x' => format!("{positive:x}"),
            'X' => format!("{positive:X}"),
            'o' => format!("{positive:o}"),
            _ => positive.to_string(),
        };
        self.padded(if number < 0 { "-" } else { "" }, &digits, self.zeros && self.conversion != 's')
    }

    fn padded(&self, sign: &str, text: &str, zeros: bool) -> String {
        let width = self.width;
        match (self.left, zeros) {
            (true, _) => format!("{:<width$}", format!("{sign}{text}")),
            (false, true) => format!("{sign}{text:0>width$}", width = width.saturating_sub(sign.len())),
            (false, false) => format!("{:>width$}", format!("{sign}{text}")),
        }
    }
}

impl Expanded {
    fn push_str(&mut self, text: &str) {
        self.0.extend(text.chars().map(Part::Char));
    }

    /// The text, if every part of it is known.
    pub fn literal(&self) -> Option<String> {
        self.0.iter().map(Part::char).collect()
    }

    /// The first variable in it whose value is unknown.
    pub fn open(&self) -> Option<&str> {
        self.0.iter().find_map(|part| if let Part::Env(name, _) = part { Some(&**name) } else { None })
    }

    /// The same with the number of the process filled in.
    pub fn numbered(&self, number: i64) -> Self {
        let mut filled = Self::default();
        for part in &self.0 {
            match part {
                Part::Number(format) => filled.push_str(&format.number(number)),
                part => filled.0.push(part.clone()),
            }
        }
        filled
    }

    pub fn is_absolute(&self) -> bool {
        self.0.first() == Some(&Part::Char('/'))
    }
}

impl From<&str> for Expanded {
    fn from(text: &str) -> Self {
        Self(text.chars().map(Part::Char).collect())
    }
}

impl Symbol for Part {
    fn char(&self) -> Option<char> {
        if let Self::Char(c) = self { Some(*c) } else { None }
    }

    fn quoted(&self) -> Self {
        match self {
            Self::Env(name, _) => Self::Env(name.clone(), true),
            other => other.clone(),
        }
    }
}
