//! copse-supervisor: answers the clients of supervisord for a group. All of it is in [`copse::supervisor`].

use std::process::ExitCode;

fn main() -> ExitCode {
    copse::supervisor::run(std::env::args_os().skip(1)).into()
}
