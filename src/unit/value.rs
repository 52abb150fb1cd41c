//! The one place that quotes and escapes.
//!
//! A [`Value`] is the right side of a directive, in systemd's own grammar, always on one line. Only the constructors here
//! make one: one for each grammar of systemd.unit(5), systemd.syntax(7), systemd.exec(5) and systemd.service(5).
//!
//! Two things hold everywhere. Only a [`Part::Specifier`] becomes a specifier: every other `%` is doubled. And no text ends
//! its line, neither with a newline nor with a backslash at its end.
//!
//! To systemd a line with one of Unicode's noncharacters is not UTF-8, and is ignored. They are escaped byte by byte in
//! grammars with escapes.

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::specifiers;

/// The right side of a directive, in systemd's own grammar: one line, quoted where needed.
#[derive(Clone)]
pub struct Value(Text);

/// There are tens of thousands of values, and most are equal to another.
#[derive(Clone)]
enum Text {
    Static(&'static str),
    Shared(Arc<str>),
    Own(String),
}

/// A part of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Reaches systemd or the process byte for byte.
    Literal(&'a str),
    /// A number.
    Number(u32),
    /// `%i`, `%t/credentials/%n`: replaced by systemd when it reads the unit.
    Specifier(&'static str),
    /// `${NAME}`: replaced by systemd when it starts the command. Only in a command.
    Variable(&'a str),
    /// `$NAME`: split into words by systemd when it starts the command. Only in a command, and alone in its word.
    Words(&'a str),
}

/// The longest line of a list that grows with the number of instances. systemd accepts 1 MiB, but other programs that
/// read units may not, and people cannot.
const LINE: usize = 1_900;

impl Value {
    /// Text of copse, already in systemd's grammar.
    pub const fn fixed(text: &'static str) -> Self {
        Self(Text::Static(text))
    }

    /// What [`super::parse`] read from a file, unchanged.
    pub(super) fn read(text: String) -> Self {
        Self(Text::Own(text))
    }

    /// The same value, cheap to clone.
    pub fn shared(self) -> Self {
        match self.0 {
            Text::Own(text) => Self(Text::Shared(text.into())),
            text => Self(text),
        }
    }

    /// Text for a directive that takes its right side as it is, but expands specifiers (`Description=`, `SourcePath=`,
    /// `User=`): `%` is doubled.
    pub fn plain(text: &str) -> Self {
        match text.contains('%') {
            true => Self::text(&[Part::Literal(text)]),
            false => Self::line(text.to_owned()),
        }
    }

    /// As [`Self::plain`], with specifiers: `WorkingDirectory=`, `ListenStream=`, `EnvironmentFile=`.
    pub fn text(parts: &[Part]) -> Self {
        let mut text = String::with_capacity(64);
        for part in parts {
            match part {
                Part::Literal(literal) if literal.contains('%') => text.push_str(&literal.replace('%', "%%")),
                Part::Literal(literal) => text.push_str(literal),
                Part::Number(number) => text.push_str(&number.to_string()),
                Part::Specifier(specifier) => text.push_str(specifier),
                Part::Variable(name) | Part::Words(name) => text.push_str(name),
            }
        }
        Self::line(text)
    }

    /// Text that is written as it is: pass-through, and directives without quotes and specifiers (`CPUQuota=50%`).
    pub fn verbatim(text: impl Into<String>) -> Self {
        Self::line(text.into())
    }

    /// Words, which systemd splits at blanks: `RuntimeDirectory=`, `ReadWritePaths=`. Each is quoted if needed.
    pub fn words<'p>(words: impl IntoIterator<Item = &'p [Part<'p>]>) -> Self {
        let mut text = String::new();
        for word in words {
            separate(&mut text);
            push_word(&mut text, "", word, Dollar::Literal);
        }
        Self::line(text)
    }

    /// One `NAME=text` of `Environment=`, where `$` has no meaning.
    pub fn assignment(name: &str, parts: &[Part]) -> Self {
        let mut text = String::with_capacity(name.len() + 16);
        push_word(&mut text, name, parts, Dollar::Literal);
        Self::line(text)
    }

    /// A command line, for `ExecStart=` and the like.
    ///
    /// Without variables it begins with `:` (244+), so that systemd leaves every `$` alone. With variables each other `$`
    /// is doubled. With `-` as `prefix` a failure is ignored.
    pub fn command<'p, W: Deref<Target = [Part<'p>]>>(
        prefix: &str,
        words: impl IntoIterator<Item = W> + Clone,
    ) -> Self {
        let variable = |part: &Part| matches!(part, Part::Variable(_) | Part::Words(_));
        let has_variable = words.clone().into_iter().any(|word| word.iter().any(variable));
        let dollar = if has_variable { Dollar::Doubled } else { Dollar::Literal };
        let mut text = String::with_capacity(64);
        text.push_str(prefix);
        if dollar == Dollar::Literal {
            text.push(':');
        }
        for (index, word) in words.into_iter().enumerate() {
            if index > 0 {
                text.push(' ');
            }
            match &*word {
                [Part::Words(name)] => {
                    text.push('$');
                    text.push_str(name);
                }
                word => push_word(&mut text, "", word, dollar),
            }
        }
        Self::line(text)
    }

    /// Unit names for `After=` and the like, in lines of at most [`LINE`] bytes.
    pub fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<Self> {
        let (mut lines, mut line) = (Vec::new(), String::new());
        for name in names {
            if !line.is_empty() && line.len() + 1 + name.len() > LINE {
                lines.push(Self::line(std::mem::take(&mut line)));
            }
            separate(&mut line);
            match name.contains('%') {
                true => line.push_str(&name.replace('%', "%%")),
                false => line.push_str(name),
            }
        }
        if !line.is_empty() {
            lines.push(Self::line(line));
        }
        lines
    }

    /// The text of a [`Self::verbatim`] value for a directive that expands specifiers.
    pub fn escaped(&self) -> Self {
        if self.as_str().contains('%') { Self::plain(self.as_str()).shared() } else { self.clone() }
    }

    /// The names in a value of [`Self::names`].
    pub fn unit_names(&self) -> impl Iterator<Item = &str> {
        self.as_str().split_ascii_whitespace()
    }

    /// The same value for another unit to use: `%n` and `%N` are replaced by the name of `unit`.
    pub fn for_unit(&self, unit: &str) -> Self {
        if self.as_str().contains('%') {
            Self::verbatim(specifiers::for_unit(self.as_str(), unit))
        } else {
            self.clone()
        }
    }

    /// A line of `StandardInputText=`, which has C escapes and specifiers, but no quotes. Blanks at its ends would be cut
    /// off and are escaped. An empty line is not possible: it would drop the lines before.
    pub fn input_text(line: &str) -> Self {
        if line.bytes().all(is_bare) {
            return Self(Text::Own(line.to_owned()));
        }
        let mut text = String::with_capacity(line.len());
        for (at, c) in line.char_indices() {
            match c {
                ' ' if at == 0 || at + 1 == line.len() => push_hex(&mut text, c),
                '\\' => text.push_str("\\\\"),
                '%' => text.push_str("%%"),
                c if has_to_be_escaped(c) => push_hex(&mut text, c),
                c => text.push(c),
            }
        }
        Self::line(text)
    }

    /// `NAME:text` of `SetCredential=`: C escapes, no quotes. Blanks are escaped, because they would be cut off at the ends,
    /// and `%`, because some versions may expand it.
    pub fn credential(name: &str, text: &str) -> Self {
        let mut value = format!("{name}:");
        for c in text.chars() {
            match c {
                '\\' | '%' | ' ' => push_hex(&mut value, c),
                c if has_to_be_escaped(c) => push_hex(&mut value, c),
                c => value.push(c),
            }
        }
        Self::line(value)
    }

    /// The text as in the file.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Static(text) => text,
            Text::Shared(text) => text,
            Text::Own(text) => text,
        }
    }

    /// The model refuses control characters, and the constructors above escape them. One that gets here still cannot begin
    /// another line. Nor can a backslash at the end, which would continue the line: it is doubled. systemd cuts off blanks
    /// at both ends, so they are left out.
    fn line(mut text: String) -> Self {
        // Nearly every text.
        if is_printable(&text) && !text.ends_with([' ', '\\']) && !text.starts_with(' ') {
            return Self(Text::Own(text));
        }
        let escaped = |c: char| has_to_be_escaped(c) && c != '\t';
        if text.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') || text.contains(is_noncharacter) {
            text = text.replace(escaped, "\u{fffd}");
        }
        text.truncate(text.trim_end_matches([' ', '\t']).len());
        text.drain(..text.len() - text.trim_start_matches([' ', '\t']).len());
        if text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1 {
            text.push('\\');
        }
        Self(Text::Own(text))
    }
}

/// How a `$` is written in a command line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dollar {
    Literal,
    Doubled,
}

fn separate(line: &mut String) {
    if !line.is_empty() {
        line.push(' ');
    }
}

/// A word, after `name=` if there is a name. Without quotes if no byte has a meaning to systemd; else in double quotes,
/// with `\`, `"`, `%` and control characters escaped (measured on 247, 252, 257 and 262 with every byte).
fn push_word(out: &mut String, name: &str, parts: &[Part], dollar: Dollar) {
    let bare = |part: &Part| match part {
        Part::Literal(text) => text.bytes().all(is_bare),
        Part::Specifier(_) | Part::Number(_) => true,
        // `${NAME}` in quotes stays one word.
        Part::Variable(_) | Part::Words(_) => false,
    };
    let empty = parts.iter().all(|part| *part == Part::Literal(""));
    let quoted = (empty && name.is_empty()) || !parts.iter().all(bare);
    if quoted {
        out.push('"');
    }
    if !name.is_empty() {
        out.push_str(name);
        out.push('=');
    }
    for part in parts {
        match part {
            Part::Literal(text) if !quoted => out.push_str(text),
            Part::Literal(text) => push_literal(out, text, dollar),
            Part::Number(number) => out.push_str(&number.to_string()),
            Part::Specifier(specifier) => out.push_str(specifier),
            Part::Variable(name) | Part::Words(name) => {
                out.push_str("${");
                out.push_str(name);
                out.push('}');
            }
        }
    }
    if quoted {
        out.push('"');
    }
}

fn push_literal(out: &mut String, text: &str, dollar: Dollar) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '%' => out.push_str("%%"),
            '$' if dollar == Dollar::Doubled => out.push_str("$$"),
            c if has_to_be_escaped(c) => push_hex(out, c),
            c => out.push(c),
        }
    }
}

/// Bytes without a meaning to systemd anywhere in a word. A table, because every byte of every command is looked up.
const BARE: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0);
    while byte < 256 {
        table[byte] = matches!(byte as u8, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'_' | b'-' | b'.' | b',' | b':' | b'=' | b'+' | b'@');
        byte += 1;
    }
    table
};

fn is_bare(byte: u8) -> bool {
    BARE[usize::from(byte)]
}

/// Whether all of `text` is printable ASCII. Looks at all bytes, which is faster than stopping at the first other one: the
/// compiler compares sixteen at once.
fn is_printable(text: &str) -> bool {
    text.bytes().fold(true, |good, byte| good & matches!(byte, b' '..=b'~'))
}

/// Whether `c` is invalid in a text to systemd (`unichar_is_valid` in its utf8.c).
pub fn is_noncharacter(c: char) -> bool {
    let code = u32::from(c);
    code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code)
}

fn has_to_be_escaped(c: char) -> bool {
    c.is_ascii_control() || is_noncharacter(c)
}

/// `\xHH` of each byte.
fn push_hex(out: &mut String, c: char) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in c.encode_utf8(&mut [0; 4]).bytes().map(usize::from) {
        out.push_str("\\x");
        out.push(char::from(DIGITS[byte >> 4]));
        out.push(char::from(DIGITS[byte & 15]));
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Value {}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
