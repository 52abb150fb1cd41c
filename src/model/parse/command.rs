//! Commands: `exec` as an array or as plain words, `shell`, and the lists of commands around them.

use std::fmt::Display;

use super::context::Reader;
use super::placeholder;
use super::placeholder::Position;
use super::value;
use super::value::{Result, invalid, shown, unrepresentable, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::group_file::document::{Node, Value};
use crate::model::text::{Argv, Piece, Text};
use crate::unit::value::is_noncharacter;

/// Characters with a meaning to a shell, which make a plain string ambiguous.
const SHELL_CHARACTERS: &[char] = &['\'', '"', '\\', '$', '`', '|', '&', ';', '<', '>', '(', ')', '*', '?', '~', '#'];

/// True if `word` can stand in a plain string: no shell would change it, and no blank splits it.
pub fn is_plain_word(word: &str) -> bool {
    !word.is_empty() && !word.contains(SHELL_CHARACTERS) && !word.chars().any(|c| c == ' ' || c.is_control())
}

/// The kernel's `MAX_ARG_STRLEN`, in bytes with the closing NUL: execve(2) fails for a longer argument.
pub const LONGEST_ARGUMENT: usize = 131_072;

/// systemd's `LONG_LINE_MAX`, in bytes: a unit file with a longer line is not loaded.
const LONGEST_LINE: usize = 1 << 20;

impl Reader<'_, '_> {
    /// The command of a key: an array, or a string of plain words.
    pub fn command(&mut self, key: &str, node: &Node) -> Option<Argv> {
        let argv = match &node.value {
            Value::String(_) => self.plain_words(key, node)?,
            Value::Array(elements) => {
                let read: Vec<_> = elements.iter().map(|node| self.text(key, node, Position::Argument)).collect();
                read.into_iter().collect::<Option<Argv>>()?
            }
            _ => {
                self.push(wrong_type(key, "a string of plain words or an array of strings", node));
                return None;
            }
        };
        let argv = check_sizes(key, node, argv).and_then(|argv| self.with_program(key, node, argv));
        self.diagnostics.ok(argv)
    }

    /// The commands of a key: one command, or an array of arrays.
    pub fn commands(&mut self, key: &str) -> Vec<Argv> {
        let Some(node) = self.table.get(key).map(|entry| &entry.node) else { return Vec::new() };
        let nodes = match &node.value {
            Value::Array(elements) if elements.iter().any(|element| matches!(element.value, Value::Array(_))) => {
                elements
            }
            Value::Array(elements) => {
                several(key, node, elements).into_iter().for_each(|warning| self.push(warning));
                std::slice::from_ref(node)
            }
            _ => std::slice::from_ref(node),
        };
        nodes.iter().filter_map(|node| self.command(key, node)).collect()
    }

    /// `shell`: `["/bin/sh", "-c", TEXT]`.
    pub fn shell(&mut self, node: &Node) -> Option<Argv> {
        let script = self.text("shell", node, Position::Shell)?;
        if script.pieces().is_empty() {
            self.push(invalid(node, "`shell` is empty"));
            return None;
        }
        let argv = check_sizes("shell", node, vec![Text::literal("/bin/sh"), Text::literal("-c"), script]);
        self.diagnostics.ok(argv)
    }

    fn plain_words(&mut self, key: &str, node: &Node) -> Option<Argv> {
        let written = self.diagnostics.ok(check_plain_words(key, node))?;
        let words = written.split_ascii_whitespace();
        let read: Vec<_> = words
            .map(|word| placeholder::parse(word, node, Position::Argument, &self.placeholders, self.diagnostics))
            .collect();
        read.into_iter().collect()
    }

    /// Checks the program, and joins a relative one to the working directory.
    fn with_program(&self, key: &str, node: &Node, mut argv: Argv) -> Result<Argv> {
        let program = &argv[0];
        if program.has(|piece| matches!(piece, Piece::Env(_) | Piece::EnvWords(_))) {
            let message = format!("the program of `{key}` is a variable, which systemd does not expand");
            return Err(Diagnostic::new(Code::Placeholder, node, message)
                .help("name the program, or use a shell: `[\"/bin/sh\", \"-c\", …]`"));
        }
        let refused = |c: char| matches!(c, '"' | '\'' | '\\') || c.is_control() || is_noncharacter(c);
        if program.has(|piece| matches!(piece, Piece::Literal(text) if text.contains(refused))) {
            let message = "contains a quote, a backslash or a control character, which systemd does not accept";
            return Err(unrepresentable(node, format!("the program of `{key}` {message}"))
                .help("create a link to it with another name"));
        }
        let leading = program.leading();
        let single = program.pieces().len() == 1;
        if program.pieces().is_empty() || single && (matches!(leading, "." | "..") || leading.ends_with('/')) {
            return Err(invalid(node, format!("`{}` is not a program", shown(leading))).help("name a file"));
        }
        let is_path = program.has(|piece| matches!(piece, Piece::Literal(text) if text.contains('/')));
        if !is_path && leading.starts_with(['-', '+', '!', '@', ':', '|']) {
            let message = format!("the program name begins with `{}`, which systemd reads as a prefix", &leading[..1]);
            return Err(unrepresentable(node, message)
                .help("write its absolute path, or set `ExecStart` with a prefix in `[….service]`"));
        }
        let first = program.pieces().first();
        let is_absolute =
            leading.starts_with('/') || matches!(first, Some(Piece::Directory(..) | Piece::CredentialsDirectory));
        if is_absolute || !is_path {
            return Ok(argv);
        }
        let Some(directory) = self.working_directory.as_ref().filter(|directory| directory.leading() != "~") else {
            let message = format!("`{}` is relative, and there is no `working-directory`", shown(leading));
            return Err(invalid(node, message).help("write an absolute path, or add `working-directory`"));
        };
        argv[0] = joined(directory, program);
        Ok(argv)
    }
}

/// The warning for an array of strings that was probably meant as several commands: the name of its program contains an
/// option or a path.
fn several(key: &str, node: &Node, elements: &[Node]) -> Option<Diagnostic> {
    let text = |element: &Node| match &element.value {
        Value::String(text) => Some(text.to_string()),
        _ => None,
    };
    let program = text(elements.first()?)?;
    let (path, rest) = program.split_once(' ')?;
    let is_option = rest.strip_prefix('-').is_some_and(|rest| !rest.starts_with(' '));
    if !path.starts_with('/') || !(rest.starts_with('/') || is_option) {
        return None;
    }
    let commands = elements.iter().map(|element| array(&text(element).filter(|text| text.starts_with('/'))?));
    let help = match commands.collect::<Option<Vec<_>>>() {
        Some(commands) => format!("write several commands as an array of arrays, `{key} = [{}]`", commands.join(", ")),
        None => "write each argument as a string of its own".to_owned(),
    };
    let message = format!("`{key}` is a single command here, with the program `{}`", shown(&program));
    Some(Diagnostic::new(Code::OneCommand, node, message).help(help))
}

fn check_plain_words<'n>(key: &str, node: &'n Node) -> Result<&'n str> {
    let written = value::any_text(key, node)?;
    let refuse = |message: String| Diagnostic::new(Code::ShellCharacter, node, message);
    if let Some(found) = written.chars().find(|c| SHELL_CHARACTERS.contains(c)) {
        let message = format!("`{key}` contains `{found}`, which only a shell would interpret");
        return Err(refuse(message).help(instead(key, written)));
    }
    if let Some(control) = written.chars().find(|c| c.is_control() && !matches!(c, ' ' | '\t' | '\n')) {
        let message = format!("`{key}` contains the control character U+{:04X}", u32::from(control));
        return Err(refuse(message).help("write an array"));
    }
    Ok(written)
}

/// Both ways to write what a plain string cannot express, ready to be copied.
fn instead(key: &str, written: &str) -> String {
    let shell = match key {
        "exec" => format!("use a shell, `shell = {}`", toml_string(written)),
        _ => format!("use a shell, `{key} = [\"/bin/sh\", \"-c\", {}]`", toml_string(written)),
    };
    match array(written) {
        Some(array) => format!("write an array, `{key} = {array}`, or {shell}"),
        None => shell,
    }
}

/// The words that a shell would split `written` into, as a TOML array. `None` if a variable would name the program.
fn array(written: &str) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote, mut any) = (String::new(), None, false);
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\'' | '"', None) => (quote, any) = (Some(c), true),
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_ascii_whitespace() => {
                if any {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            (c, _) => {
                any = true;
                match variable(rest.as_str()).filter(|_| c == '$' && quote != Some('\'')) {
                    Some(_) if words.is_empty() => return None,
                    Some((name, after)) => {
                        word.push_str(&format!("{{env:{name}}}"));
                        rest = after.chars();
                    }
                    None => word.push(c),
                }
            }
        }
    }
    if any {
        words.push(word);
    }
    Some(format!("[{}]", words.iter().map(|word| toml_string(word)).collect::<Vec<_>>().join(", ")))
}

/// The variable that a `$` before `text` would name to a shell, and the text after it.
fn variable(text: &str) -> Option<(&str, &str)> {
    let (name, after) = match text.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => text.split_at(text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())),
    };
    placeholder::is_variable(name).then_some((name, after))
}

/// A TOML string that is read back as `text`.
pub fn toml_string(text: &str) -> String {
    let literal_works = text.contains(['\\', '"']) && !text.contains('\'') && !text.chars().any(char::is_control);
    if literal_works {
        return format!("'{text}'");
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Checks that the kernel passes an argument or a variable of that length.
pub fn check_length(what: impl Display, node: &Node, bytes: usize) -> Result<()> {
    const MOST: usize = LONGEST_ARGUMENT - 1;
    if bytes <= MOST {
        return Ok(());
    }
    let message = format!("{what} has {bytes} bytes, the kernel passes at most {MOST}");
    Err(unrepresentable(node, message).help("move it to a file"))
}

/// The command, if neither the kernel nor systemd refuses it for its size, and it is not empty.
fn check_sizes(key: &str, node: &Node, argv: Argv) -> Result<Argv> {
    let Some(longest) = argv.iter().map(Text::literal_len).max() else {
        return Err(invalid(node, format!("`{key}` names no program")));
    };
    check_length(format_args!("an argument of `{key}`"), node, longest)?;
    // Blanks and quotes are three more for each argument.
    let line: usize = argv.iter().map(|argument| escaped_len(argument) + 3).sum();
    if line + 64 > LONGEST_LINE {
        let message = format!("`{key}` becomes a line of more than 1 MiB, which systemd does not accept");
        return Err(unrepresentable(node, message).help("move it to a file"));
    }
    Ok(argv)
}

/// The most bytes that a text becomes in a unit.
fn escaped_len(text: &Text) -> usize {
    let byte = |byte: u8| match byte {
        0..0x20 | 0x7f => 4,
        b'\\' | b'"' | b'%' | b'$' => 2,
        _ => 1,
    };
    let piece = |piece: &Piece| match piece {
        Piece::Literal(text) if text.is_ascii() => text.bytes().map(byte).sum(),
        Piece::Literal(text) => {
            let escaped = text.chars().filter(|c| is_noncharacter(*c)).map(|c| 3 * c.len_utf8());
            text.bytes().map(byte).sum::<usize>() + escaped.sum::<usize>()
        }
        Piece::Directory(_, text) => text.literal_len() + 8,
        Piece::Env(name) | Piece::EnvWords(name) => name.len() + 4,
        Piece::Instance | Piece::Unit | Piece::CredentialsDirectory => 24,
    };
    text.pieces().iter().map(piece).sum()
}

fn joined(directory: &Text, program: &Text) -> Text {
    let mut joined = directory.clone();
    if !matches!(directory.pieces().last(), Some(Piece::Literal(text)) if text.ends_with('/')) {
        joined.push_literal("/");
    }
    for (index, piece) in program.pieces().iter().enumerate() {
        match piece {
            Piece::Literal(text) if index == 0 => joined.push_literal(text.strip_prefix("./").unwrap_or(text)),
            Piece::Literal(text) => joined.push_literal(text),
            piece => joined.push(piece.clone()),
        }
    }
    joined
}
