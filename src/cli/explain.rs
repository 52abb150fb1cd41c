//! `copse explain`: what a diagnostic's code means.

use std::fmt::Write as _;

use clap::Args;

use super::report::print;
use super::{Exit, complain};
use crate::diagnostic::Code;
use crate::suggest;

/// Say what the code of a diagnostic means, and what to do.
#[derive(Debug, Args)]
pub struct Explain {
    /// The word in brackets behind `error`, `warning` or `note`; all of them if none.
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

impl Explain {
    /// Prints one explanation, or the list of all codes.
    pub fn run(self) -> Exit {
        let text = match &self.code {
            None => list(),
            Some(word) => match Code::ALL.iter().find(|code| code.text() == word) {
                Some(code) => format!("{}[{code}]: {}", code.severity(), sentences(*code)),
                None => {
                    let near = suggest::nearest(word, Code::ALL.iter().map(|code| code.text()));
                    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                    complain(format_args!("there is no code `{word}`{hint}"));
                    return Exit::Usage;
                }
            },
        };
        match print(&text) {
            Ok(()) => Exit::Done,
            Err(error) => {
                complain(format_args!("the explanation can't be written: {error}"));
                Exit::Failed
            }
        }
    }
}

fn list() -> String {
    let mut text = String::new();
    for code in Code::ALL {
        let _ = writeln!(text, "{:<8} {code}", code.severity().to_string());
    }
    text
}

/// The explanation, without the blanks that its lines begin with in the source.
fn sentences(code: Code) -> String {
    code.explanation().lines().map(|line| line.trim().to_owned() + "\n").collect()
}
