//! `copse explain`: what a diagnostic's code means.

use std::fmt::Write as _;

use clap::Args;

use crate::basic::diagnostic::Code;
use crate::basic::suggest;
use crate::basic::terminal::wrap;
use crate::cli::common::exit::Exit;
use crate::cli::common::output;
use crate::cli::common::output::complain;
use crate::cli::common::output::print;

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
                Some(code) => explanation(*code),
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

/// `error[cycle]: …`, in lines that the terminal takes.
fn explanation(code: Code) -> String {
    // In the source each line begins with a blank.
    let text: Vec<&str> = code.explanation().lines().map(str::trim).collect();
    let lines = wrap(&format!("{}[{code}]: ", code.severity()), &text.join(" "), output::width());
    lines.iter().map(|line| line.clone() + "\n").collect()
}
