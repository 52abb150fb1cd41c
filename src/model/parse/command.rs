//! Commands: `exec` as an array or as plain words, `shell`, and the lists of commands around them.

use super::placeholder;
use super::placeholder::{Names, Position};
use super::value;
use super::value::{shown, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::document::{Node, Value};
use crate::model::{Argv, Piece, Text};
use crate::unit::value::is_noncharacter;

/// Characters that mean something to a shell, and so make a plain string ambiguous.
const SHELL_CHARACTERS: &[char] = &['\'', '"', '\\', '$', '`', '|', '&', ';', '<', '>', '(', ')', '*', '?', '~', '#'];

/// Whether `word` may stand in a plain string: nothing in it means something to a shell, and a blank wouldn't split it.
pub fn is_plain_word(word: &str) -> bool {
    !word.is_empty() && !word.contains(SHELL_CHARACTERS) && !word.chars().any(|c| c == ' ' || c.is_control())
}

/// The kernel's `MAX_ARG_STRLEN`, in bytes with the closing NUL: a longer word is refused by execve(2).
pub const LONGEST_WORD: usize = 131_072;

/// systemd's `LONG_LINE_MAX`: a unit file with a longer line isn't loaded.
const LONGEST_LINE: usize = 1 << 20;

/// What a program's path is joined to when it is relative.
pub struct Surroundings<'a> {
    /// For placeholders.
    pub names: &'a Names<'a>,
    /// `working-directory`.
    pub working_directory: Option<&'a Text>,
}

/// One command: an array, or a string of plain words.
pub fn read(key: &str, node: &Node, around: &Surroundings<'_>, diagnostics: &mut Diagnostics) -> Option<Argv> {
    let argv = match &node.value {
        Value::String(_) => plain_words(key, node, around.names, diagnostics)?,
        Value::Array(elements) => elements_of(key, elements, around.names, diagnostics)?,
        _ => {
            diagnostics.push(wrong_type(key, "a string of plain words or an array of strings", node));
            return None;
        }
    };
    if argv.is_empty() {
        diagnostics.push(value::invalid(node, format!("`{key}` names no program")));
        return None;
    }
    check_sizes(key, node, &argv, diagnostics)?;
    with_program(key, node, argv, around, diagnostics)
}

/// One command, or an array of commands (an array whose elements are arrays).
pub fn read_many(key: &str, node: &Node, around: &Surroundings<'_>, diagnostics: &mut Diagnostics) -> Vec<Argv> {
    match &node.value {
        Value::Array(elements) if elements.iter().any(|element| matches!(element.value, Value::Array(_))) => {
            elements.iter().filter_map(|element| read(key, element, around, diagnostics)).collect()
        }
        Value::Array(elements) => {
            warn_several(key, node, elements, diagnostics);
            read(key, node, around, diagnostics).into_iter().collect()
        }
        _ => read(key, node, around, diagnostics).into_iter().collect(),
    }
}

/// Warns of an array of strings that was probably meant as several commands: a program is as it is written, and this one
/// has an option or a path in its name.
fn warn_several(key: &str, node: &Node, elements: &[Node], diagnostics: &mut Diagnostics) {
    let text = |element: &Node| match &element.value {
        Value::String(text) => Some(text.to_string()),
        _ => None,
    };
    let Some(program) = elements.first().and_then(text) else { return };
    let with_arguments = program.split_once(' ').is_some_and(|(path, rest)| {
        path.starts_with('/')
            && (rest.starts_with('/') || rest.strip_prefix('-').is_some_and(|rest| !rest.starts_with(' ')))
    });
    if !with_arguments {
        return;
    }
    let commands = elements.iter().map(|element| array(&text(element).filter(|text| text.starts_with('/'))?));
    let help = match commands.collect::<Option<Vec<_>>>() {
        Some(commands) => format!("several commands are an array of arrays, `{key} = [{}]`", commands.join(", ")),
        None => "each word is a string of its own".to_owned(),
    };
    let message = format!("`{key}` is one command here, of the program `{}`", shown(&program));
    diagnostics.push(Diagnostic::new(Code::OneCommand, &node.place, message).help(help));
}

/// `shell`: `["/bin/sh", "-c", TEXT]`.
pub fn shell(node: &Node, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Option<Argv> {
    let script = placeholder::read("shell", node, Position::Shell, names, diagnostics)?;
    if script.pieces().is_empty() {
        diagnostics.push(value::invalid(node, "`shell` is empty: there is nothing to run"));
        return None;
    }
    let argv = vec![Text::literal("/bin/sh"), Text::literal("-c"), script];
    check_sizes("shell", node, &argv, diagnostics)?;
    Some(argv)
}

fn elements_of(key: &str, elements: &[Node], names: &Names<'_>, diagnostics: &mut Diagnostics) -> Option<Argv> {
    let read: Vec<_> = elements
        .iter()
        .map(|element| placeholder::read(key, element, Position::Argument, names, diagnostics))
        .collect();
    read.into_iter().collect()
}

fn plain_words(key: &str, node: &Node, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Option<Argv> {
    let written = value::carried_text(key, node, diagnostics)?;
    if let Some(found) = written.chars().find(|c| SHELL_CHARACTERS.contains(c)) {
        diagnostics.push(
            Diagnostic::new(
                Code::ShellCharacter,
                &node.place,
                format!("`{key}` holds `{found}`, which only a shell would understand"),
            )
            .help(instead(key, written)),
        );
        return None;
    }
    if let Some(control) = written.chars().find(|c| c.is_control() && !matches!(c, ' ' | '\t' | '\n')) {
        let message = format!("`{key}` holds the control character U+{:04X}", u32::from(control));
        diagnostics.push(Diagnostic::new(Code::ShellCharacter, &node.place, message).help("write an array"));
        return None;
    }
    let words = written.split_ascii_whitespace();
    let read: Vec<_> =
        words.map(|word| placeholder::parse(word, node, Position::Argument, names, diagnostics)).collect();
    read.into_iter().collect()
}

/// Both ways of writing what a plain string can't say, ready-made.
fn instead(key: &str, written: &str) -> String {
    let shell = match key {
        "exec" => format!("let a shell read it, `shell = {}`", toml_string(written)),
        _ => format!("let a shell read it, `{key} = [\"/bin/sh\", \"-c\", {}]`", toml_string(written)),
    };
    match array(written) {
        Some(array) => format!("write the words as they are, `{key} = {array}`, or {shell}"),
        None => shell,
    }
}

/// The words as a shell would split them, as a TOML array; `None` where the program would come from a variable.
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

/// The variable that a `$` in front of `text` would name to a shell, and what comes after it.
fn variable(text: &str) -> Option<(&str, &str)> {
    let (name, after) = match text.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => text.split_at(text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())),
    };
    placeholder::is_variable(name).then_some((name, after))
}

/// A TOML string that reads back as `text`.
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

fn check_sizes(key: &str, node: &Node, argv: &[Text], diagnostics: &mut Diagnostics) -> Option<()> {
    let longest = argv.iter().map(Text::literal_len).max().unwrap_or(0);
    if longest >= LONGEST_WORD {
        let message = format!("a word of `{key}` has {longest} bytes; the kernel passes {} at most", LONGEST_WORD - 1);
        diagnostics.push(Diagnostic::new(Code::Uncarriable, &node.place, message).help("put it into a file"));
        return None;
    }
    // Escapes can make four bytes of one, and blanks and quotes three more per word.
    let line: usize = argv.iter().map(|word| escaped_len(word) + 3).sum();
    if line + 64 > LONGEST_LINE {
        let message = format!("`{key}` would be a line of more than 1 MiB, and systemd refuses a unit with one");
        diagnostics.push(Diagnostic::new(Code::Uncarriable, &node.place, message).help("put it into a file"));
        return None;
    }
    Some(())
}

/// How long a text gets at most when it is written into a unit, in bytes.
pub fn escaped_len(text: &Text) -> usize {
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

/// Checks the program, and joins a relative one to the working directory.
fn with_program(
    key: &str,
    node: &Node,
    mut argv: Argv,
    around: &Surroundings<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Argv> {
    let program = &argv[0];
    let mut refuse =
        |code, message: String, help: &str| diagnostics.push(Diagnostic::new(code, &node.place, message).help(help));
    if program.has(|piece| matches!(piece, Piece::Env(_) | Piece::EnvWords(_))) {
        let message = format!("the program of `{key}` can't come from a variable: systemd expands none there");
        refuse(Code::Placeholder, message, "name the program, or use a shell: `[\"/bin/sh\", \"-c\", …]`");
        return None;
    }
    let refused = |c: char| matches!(c, '"' | '\'' | '\\') || c.is_control() || is_noncharacter(c);
    if program.has(|piece| matches!(piece, Piece::Literal(text) if text.contains(refused))) {
        let message = format!(
            "the program of `{key}` holds a quote, a backslash or a control character; systemd loads no unit with one"
        );
        refuse(Code::Uncarriable, message, "use a link with another name");
        return None;
    }
    let leading = program.leading();
    let is_path = program.has(|piece| matches!(piece, Piece::Literal(text) if text.contains('/')));
    let rooted = leading.starts_with('/')
        || matches!(program.pieces().first(), Some(Piece::Directory(..) | Piece::CredentialsDirectory));
    if program.pieces().is_empty()
        || program.pieces().len() == 1 && (matches!(leading, "." | "..") || leading.ends_with('/'))
    {
        refuse(Code::InvalidValue, format!("`{}` isn't a program", shown(leading)), "name a file");
        return None;
    }
    if !is_path && leading.starts_with(['-', '+', '!', '@', ':', '|']) {
        let message =
            format!("a program found by name can't begin with `{}`: systemd takes that for a prefix", &leading[..1]);
        let help = "write its absolute path; a prefix can be written in pass-through, `[….service]` `ExecStart`";
        refuse(Code::Uncarriable, message, help);
        return None;
    }
    if rooted || !is_path {
        return Some(argv);
    }
    match around.working_directory {
        Some(directory) if directory.leading() != "~" => {
            argv[0] = joined(directory, &argv[0]);
            Some(argv)
        }
        _ => {
            let message =
                format!("`{}` is relative, and there is no `working-directory` to join it to", shown(leading));
            refuse(Code::InvalidValue, message, "write an absolute path, or add `working-directory`");
            None
        }
    }
}

fn joined(directory: &Text, program: &Text) -> Text {
    let mut joined = directory.clone();
    let mut pieces = program.pieces().iter();
    let first = pieces.next();
    if !joined.pieces().last().is_some_and(|piece| matches!(piece, Piece::Literal(text) if text.ends_with('/'))) {
        joined.push_literal("/");
    }
    if let Some(Piece::Literal(text)) = first {
        joined.push_literal(text.strip_prefix("./").unwrap_or(text));
    } else {
        first.into_iter().for_each(|piece| joined.push(piece.clone()));
    }
    pieces.for_each(|piece| joined.push(piece.clone()));
    joined
}
