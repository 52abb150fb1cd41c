//! A command of a Procfile, which is a line for `/bin/sh`: its words, where a shell would do no more than split it.

use super::goes_on;
use crate::model::{Piece, Text};
use crate::unit::value::is_noncharacter;

/// How a command can be written in a group file.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// No shell is needed: these are the words that it would execute.
    Words(Vec<Text>),
    /// Only a shell can make sense of it.
    Script,
}

/// What a shell does itself or reads as a part of its grammar when it is the first word: POSIX's reserved words and
/// utilities that change the shell (2.4, 2.9.1 and 2.14 of its Shell Command Language), and those that dash and bash add.
const OF_SHELL: [&str; 56] = [
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until", "while",
    "[[", "function", "select", "time", ".", ":", "alias", "bg", "break", "cd", "command", "continue", "declare",
    "eval", "exec", "exit", "export", "fc", "fg", "getopts", "hash", "jobs", "let", "local", "pushd", "popd", "read",
    "readonly", "return", "set", "shift", "source", "times", "trap", "type", "ulimit", "umask", "unalias", "unset",
    "wait",
];

/// Reads a command. Of variables only `$PORT` is taken: it is a number, so that nothing can come of leaving it unquoted.
pub fn read(command: &str) -> Command {
    let Some(mut words) = split(command) else { return Command::Script };
    // `exec` is what people write so that no shell stays behind; here there is none.
    if words.len() > 1 && words[0].bare.as_deref() == Some("exec") && !words[1].begins_with('-') {
        words.remove(0);
    }
    match words.first() {
        Some(program) if program.is_program() => {
            Command::Words(words.into_iter().map(|word| Text::from(word.pieces)).collect())
        }
        _ => Command::Script,
    }
}

/// A word as the shell would hand it on.
#[derive(Debug, Default)]
struct Word {
    pieces: Vec<Piece>,
    /// Its text as it stands there, as long as nothing in it was quoted.
    bare: Option<String>,
}

impl Word {
    fn begin() -> Self {
        Self { pieces: Vec::new(), bare: Some(String::new()) }
    }

    fn push(&mut self, c: char) {
        match self.pieces.last_mut() {
            Some(Piece::Literal(text)) => text.push(c),
            _ => self.pieces.push(Piece::Literal(c.to_string())),
        }
    }

    fn begins_with(&self, c: char) -> bool {
        matches!(self.pieces.first(), Some(Piece::Literal(text)) if text.starts_with(c))
    }

    /// Whether systemd would find the same program under this word as a shell.
    fn is_program(&self) -> bool {
        let [Piece::Literal(text)] = self.pieces.as_slice() else { return false };
        let assigns = self.bare.as_deref().is_some_and(|bare| bare.contains('='));
        let of_shell = self.bare.as_deref().is_some_and(|bare| OF_SHELL.contains(&bare));
        let odd = |c: char| c.is_control() || is_noncharacter(c) || matches!(c, '\'' | '"' | '\\');
        let prefix = !text.contains('/') && text.starts_with(['-', '+', '!', '@', ':', '|']);
        let file = !text.is_empty() && !text.ends_with('/') && !matches!(text.as_str(), "." | "..");
        file && !assigns && !of_shell && !prefix && !text.contains(odd)
    }
}

/// The words; `None` where something in the line needs a shell.
fn split(command: &str) -> Option<Vec<Word>> {
    let (mut words, mut word) = (Vec::new(), None::<Word>);
    let mut rest = command;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if matches!(c, ' ' | '\t') {
            words.extend(word.take());
            continue;
        }
        // At the beginning of a word these are a comment and a home directory.
        if matches!(c, '#' | '~') && word.is_none() || needs_shell(c) {
            return None;
        }
        let word = word.get_or_insert_with(Word::begin);
        if matches!(c, '\'' | '"' | '\\') {
            word.bare = None;
        }
        rest = match c {
            '\'' => {
                let (inner, behind) = rest.split_once('\'')?;
                // An empty pair of quotes is a word, too.
                word.pieces.extend(word.pieces.is_empty().then(|| Piece::Literal(String::new())));
                inner.chars().for_each(|c| word.push(c));
                behind
            }
            '"' => in_double_quotes(rest, word)?,
            '\\' => {
                let escaped = rest.chars().next()?;
                word.push(escaped);
                &rest[escaped.len_utf8()..]
            }
            '$' => port(rest, word)?,
            c => {
                word.push(c);
                word.bare.iter_mut().for_each(|bare| bare.push(c));
                rest
            }
        };
    }
    words.extend(word);
    Some(words)
}

/// Whether this means something to a shell wherever it stands outside quotes. Braces do to bash, and a `~` does behind
/// `=` and `:`.
fn needs_shell(c: char) -> bool {
    matches!(c, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '`' | '*' | '?' | '[' | '{' | '}' | '~') || c.is_control()
}

/// Reads up to the closing quote; gives what is behind it.
fn in_double_quotes<'r>(mut rest: &'r str, word: &mut Word) -> Option<&'r str> {
    word.pieces.extend(word.pieces.is_empty().then(|| Piece::Literal(String::new())));
    loop {
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => return Some(rest),
            '`' => return None,
            '$' => rest = port(rest, word)?,
            '\\' if rest.starts_with(['$', '`', '"', '\\']) => {
                rest.chars().next().into_iter().for_each(|c| word.push(c));
                rest = &rest[1..];
            }
            c => word.push(c),
        }
    }
}

/// The variable behind a `$`, if it is `PORT`; gives what is behind it.
fn port<'r>(rest: &'r str, word: &mut Word) -> Option<&'r str> {
    let behind = match rest.strip_prefix("{PORT}") {
        Some(behind) => behind,
        None => rest.strip_prefix("PORT").filter(|behind| !behind.starts_with(goes_on))?,
    };
    word.bare = None;
    word.pieces.push(Piece::Env("PORT".to_owned()));
    Some(behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model;

    fn words(command: &str) -> Option<Vec<String>> {
        match read(command) {
            Command::Words(words) => Some(words.iter().map(|word| model::spelled(word).unwrap()).collect()),
            Command::Script => None,
        }
    }

    #[test]
    fn a_plain_command_needs_no_shell() {
        for (command, expected) in [
            ("bundle exec puma -C config/puma.rb", &["bundle", "exec", "puma", "-C", "config/puma.rb"][..]),
            ("exec bundle exec puma", &["bundle", "exec", "puma"]),
            ("python manage.py runserver 0.0.0.0:$PORT", &["python", "manage.py", "runserver", "0.0.0.0:{env:PORT}"]),
            ("web --port=\"${PORT}\"x", &["web", "--port={env:PORT}x"]),
            ("grep 'a\\.b' \"c \\\"d\\\" \\e\" f\\ g", &["grep", "a\\.b", "c \"d\" \\e", "f g"]),
            (
                "bin/etcd --initial-cluster 'infra1=http://h:1,infra2=http://h:2'",
                &["bin/etcd", "--initial-cluster", "infra1=http://h:1,infra2=http://h:2"],
            ),
            ("env A=b x", &["env", "A=b", "x"]),
            ("x '' \"\" a\"\"", &["x", "", "", "a"]),
            ("x a#b '#c' a%b @d ! =e", &["x", "a#b", "#c", "a%b", "@d", "!", "=e"]),
            ("x $PORTé", &["x", "{env:PORT}é"]),
            ("x '{instance}'", &["x", "{{instance}}"]),
            ("./x", &["./x"]),
            ("x\t y ", &["x", "y"]),
        ] {
            assert_eq!(words(command), Some(expected.iter().map(ToString::to_string).collect()), "{command}");
        }
    }

    #[test]
    fn what_only_a_shell_understands_stays_its() {
        for command in [
            "cd client && npm run styleguide",
            "A=b x",
            "unset PORT",
            "x $HOME",
            "x ${PORT:-5000}",
            "x $PORTAL",
            "x \"$A\"",
            "x `pwd`",
            "x \"`pwd`\"",
            "x $(pwd)",
            "x > log 2>&1",
            "x | y",
            "x; y",
            "x &",
            "x *.rb",
            "x a?b [ab]",
            "x ~/a --a=~b",
            "x {a,b}",
            "x # comment",
            "x 'open",
            "x \"open",
            "x \\",
            "$PORT",
            "! x",
            "exec -a name x",
            "exec exit 3",
            ". ./env",
            "''",
            "'a\"b' c",
            "-x",
            "",
            "a\u{b}b",
        ] {
            assert_eq!(words(command), None, "{command}");
        }
        // Quoted, the first word is a program, whatever it is called.
        assert_eq!(words("'A=b'"), Some(vec!["A=b".to_owned()]));
    }
}
