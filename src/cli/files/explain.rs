//! `copse explain`: explains the code of a diagnostic.

use std::fmt::Write as _;

use clap::Args;

use crate::basic::diagnostic::Code;
use crate::basic::scope::Scope;
use crate::basic::suggest;
use crate::basic::terminal::wrap;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::output;
use crate::cli::common::output::print;

/// Explain the code of a diagnostic, and what to do.
#[derive(Debug, Args)]
pub struct Explain {
    /// The word in brackets after `error`, `warning` or `note` [default: list all codes].
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

impl Execute for Explain {
    /// Prints one explanation, or the list of all codes.
    fn execute(self, _scope: Scope) -> Result<Exit, Error> {
        let text = match &self.code {
            None => list(),
            Some(word) => match Code::ALL.iter().find(|code| code.text() == word) {
                Some(code) => explanation(*code),
                None => {
                    let near = suggest::nearest(word, Code::ALL.iter().map(|code| code.text()));
                    return Err(Error::usage(format_args!("there is no code `{word}`")).did_you_mean(near));
                }
            },
        };
        print(&text)?;
        Ok(Exit::Done)
    }
}

fn list() -> String {
    let mut text = String::new();
    for code in Code::ALL {
        let _ = writeln!(text, "{:<8} {code}", code.severity().to_string());
    }
    text
}

/// `error[cycle]: …`, wrapped to the width of the terminal.
fn explanation(code: Code) -> String {
    // In the source each line begins with a blank.
    let text: Vec<&str> = code.explanation().lines().map(str::trim).collect();
    let lines = wrap(&format!("{}[{code}]: ", code.severity()), &text.join(" "), output::width());
    lines.iter().map(|line| line.clone() + "\n").collect()
}
