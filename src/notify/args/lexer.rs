//! The words of the command line, one after the other.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use crate::basic::time_span;
use crate::basic::time_span::Span;
use crate::notify::failure::Failure;

/// A word that begins something.
pub(super) enum Word {
    /// `--name`.
    Option(String),
    /// Everything after `--`.
    Command(Vec<OsString>),
}

/// The words not yet read.
pub(super) struct Words {
    rest: VecDeque<OsString>,
    /// The value of `--name=value`, until somebody takes it.
    inline: Option<OsString>,
}

impl Words {
    pub(super) fn new(words: Vec<OsString>) -> Words {
        Words { rest: words.into(), inline: None }
    }

    pub(super) fn peek(&self) -> Option<&OsStr> {
        self.rest.front().map(OsString::as_os_str)
    }

    /// The value an option would get, not yet taken.
    pub(super) fn next_value(&self) -> Option<&OsStr> {
        self.inline.as_deref().or(self.peek())
    }

    pub(super) fn skip_verb(mut self) -> Words {
        self.rest.pop_front();
        self
    }

    /// The next option, or the command; `None` at the end.
    pub(super) fn next(&mut self, last: &str) -> Result<Option<Word>, Failure> {
        if let Some(value) = self.inline.take() {
            return Err(Failure::usage(format!("`--{last}` takes no value, but got `{}`", value.to_string_lossy())));
        }
        let Some(word) = self.rest.pop_front() else {
            return Ok(None);
        };
        match word.as_bytes() {
            b"--" => Ok(Some(Word::Command(self.rest.drain(..).collect()))),
            b"-h" => Ok(Some(Word::Option("help".to_owned()))),
            b"-V" => Ok(Some(Word::Option("version".to_owned()))),
            [b'-', b'-', option @ ..] => {
                let mut halves = option.splitn(2, |byte| *byte == b'=');
                let name = String::from_utf8_lossy(halves.next().unwrap_or_default()).into_owned();
                self.inline = halves.next().map(|value| OsString::from_vec(value.to_vec()));
                Ok(Some(Word::Option(name)))
            }
            _ => Err(Failure::usage(format!("`{}` isn't an option", word.to_string_lossy()))
                .help("the command goes after `--`")),
        }
    }

    pub(super) fn value(&mut self, option: &str) -> Result<OsString, Failure> {
        self.inline
            .take()
            .or_else(|| self.rest.pop_front())
            .ok_or_else(|| Failure::usage(format!("`--{option}` needs a value")))
    }

    pub(super) fn text(&mut self, option: &str) -> Result<String, Failure> {
        self.value(option)?.into_string().map_err(|value| {
            Failure::usage(format!("the value of `--{option}` isn't UTF-8: `{}`", value.to_string_lossy()))
        })
    }

    pub(super) fn number<N: TryFrom<u64>>(&mut self, option: &str, what: &str) -> Result<N, Failure> {
        let text = self.text(option)?;
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>()
            .ok()
            .filter(|_| digits)
            .and_then(|number| N::try_from(number).ok())
            .ok_or_else(|| Failure::usage(format!("`--{option}` needs {what}, not `{text}`")))
    }

    pub(super) fn span(&mut self, option: &str) -> Result<Span, Failure> {
        let text = self.text(option)?;
        time_span::parse(&text).map_err(|message| Failure::usage(format!("`--{option}`: {message}")))
    }

    pub(super) fn finite_span(&mut self, option: &str) -> Result<Duration, Failure> {
        let text = self.text(option)?;
        time_span::parse_finite(&text).map_err(|message| Failure::usage(format!("`--{option}`: {message}")))
    }

    /// As many words as the first says.
    pub(super) fn counted(&mut self, option: &str) -> Result<Vec<OsString>, Failure> {
        let count: usize = self.number(option, "the number of words that follow")?;
        if count == 0 {
            return Err(Failure::usage(format!("`--{option}` needs at least one word")));
        }
        if count > self.rest.len() {
            return Err(Failure::usage(format!("`--{option} {count}` is followed by only {} words", self.rest.len())));
        }
        Ok(self.rest.drain(..count).collect())
    }
}
