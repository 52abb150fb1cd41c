//! Commands of a Procfile, which are lines for `/bin/sh`.

use crate::model::{Piece, Text};
use crate::unit::value::is_noncharacter;

/// First words that are no program to a shell: the reserved words and built-in utilities of POSIX (Shell Command Language,
/// 2.4, 2.9.1 and 2.14), and those that dash and bash add.
const OF_SHELL: [&str; 56] = [
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until", "while",
    "[[", "function", "select", "time", ".", ":", "alias", "bg", "break", "cd", "command", "continue", "declare",
    "eval", "exec", "exit", "export", "fc", "fg", "getopts", "hash", "jobs", "let", "local", "pushd", "popd", "read",
    "readonly", "return", "set", "shift", "source", "times", "trap", "type", "ulimit", "umask", "unalias", "unset",
    "wait",
];

/// The words of a command, if a shell would only split it; `None` if it needs a shell. `$PORT` is allowed: it is a number,
/// so that quotes make no difference.
pub(super) fn words(command: &str) -> Option<Vec<Text>> {
    let mut words = split(command)?;
    // `exec` replaces the shell; without a shell it has no effect.
    if words.len() > 1 && words[0].is_bare("exec") && !words[1].text.leading().starts_with('-') {
        words.remove(0);
    }
    words.first()?.is_program().then(|| words.into_iter().map(|word| word.text).collect())
}

/// Whether the name of a variable continues with this character: only letters of ASCII do.
pub(super) fn continues_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// Whether a command uses a variable.
pub(super) fn uses(command: &str, variable: &str) -> bool {
    command.split('$').skip(1).any(|after| {
        let name = after.strip_prefix('{').unwrap_or(after);
        name.strip_prefix(variable).is_some_and(|rest| !rest.starts_with(continues_name))
    })
}

#[derive(Debug, Default)]
struct Word {
    text: Text,
    /// Whether the shell changes it: it has a quote, a backslash or a variable.
    quoted: bool,
}

impl Word {
    fn is_bare(&self, text: &str) -> bool {
        !self.quoted && self.text.leading() == text
    }

    /// Whether systemd finds the same program under this word as a shell.
    fn is_program(&self) -> bool {
        let [Piece::Literal(text)] = self.text.pieces() else { return false };
        let of_shell = OF_SHELL.contains(&text.as_str()) || text.contains('=');
        let odd = |c: char| c.is_control() || is_noncharacter(c) || matches!(c, '\'' | '"' | '\\');
        let prefix = !text.contains('/') && text.starts_with(['-', '+', '!', '@', ':', '|']);
        let file = !text.is_empty() && !text.ends_with('/') && !matches!(text.as_str(), "." | "..");
        file && (self.quoted || !of_shell) && !prefix && !text.contains(odd)
    }
}

/// The words; `None` if a part of the line needs a shell.
fn split(command: &str) -> Option<Vec<Word>> {
    let (mut words, mut word, mut rest) = (Vec::new(), None::<Word>, command);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if matches!(c, ' ' | '\t') {
            words.extend(word.take());
            continue;
        }
        // At the beginning of a word, `#` is a comment.
        if c == '#' && word.is_none() || needs_shell(c) {
            return None;
        }
        let word = word.get_or_insert_default();
        word.quoted |= matches!(c, '\'' | '"' | '\\' | '$');
        rest = match c {
            '\'' => {
                let (inner, after) = rest.split_once('\'')?;
                word.text.push_literal(inner);
                after
            }
            '"' => in_double_quotes(rest, &mut word.text)?,
            '\\' => {
                let (escaped, after) = rest.split_at(rest.chars().next()?.len_utf8());
                word.text.push_literal(escaped);
                after
            }
            '$' => port(rest, &mut word.text)?,
            c => {
                word.text.push_literal(c.encode_utf8(&mut [0; 4]));
                rest
            }
        };
    }
    words.extend(word);
    Some(words)
}

/// Whether an unquoted character has a meaning to a shell. Braces have one to bash, and `~` has one after `=` and `:`.
fn needs_shell(c: char) -> bool {
    matches!(c, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '`' | '*' | '?' | '[' | '{' | '}' | '~') || c.is_control()
}

/// Reads up to the closing quote; returns the rest.
fn in_double_quotes<'r>(mut rest: &'r str, text: &mut Text) -> Option<&'r str> {
    loop {
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => return Some(rest),
            '`' => return None,
            '$' => rest = port(rest, text)?,
            '\\' if rest.starts_with(['$', '`', '"', '\\']) => {
                text.push_literal(&rest[..1]);
                rest = &rest[1..];
            }
            c => text.push_literal(c.encode_utf8(&mut [0; 4])),
        }
    }
}

/// Reads the variable after a `$`, if it is `PORT`; returns the rest.
fn port<'r>(rest: &'r str, text: &mut Text) -> Option<&'r str> {
    let bare = || rest.strip_prefix("PORT").filter(|after| !after.starts_with(continues_name));
    let after = rest.strip_prefix("{PORT}").or_else(bare)?;
    text.push(Piece::Env("PORT".to_owned()));
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model;

    fn spelled(command: &str) -> Option<Vec<String>> {
        words(command).map(|words| words.iter().map(|word| model::spelled(word).unwrap()).collect())
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
            assert_eq!(spelled(command), Some(expected.iter().map(ToString::to_string).collect()), "{command}");
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
            assert_eq!(spelled(command), None, "{command}");
        }
        // Quoted, the first word is a program, whatever it is called.
        assert_eq!(spelled("'A=b'"), Some(vec!["A=b".to_owned()]));
    }
}
