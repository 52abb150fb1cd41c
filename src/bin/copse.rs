//! The command for people. All of it is in [`copse::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    copse::cli::run(std::env::args_os()).into()
}
