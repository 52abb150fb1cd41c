//! copse-generator: group files into units, as systemd.generator(7). See copse-generator(8).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use copse::basic::scope::{Directories, Scope};
use copse::generator;

const USAGE: &str = "usage: copse-generator NORMAL-DIR [EARLY-DIR [LATE-DIR]]";

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let output = match arguments.as_slice() {
        [output] | [output, _] | [output, _, _] if output.is_absolute() => output,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let scope = Scope::of_generator(
        std::env::var("SYSTEMD_SCOPE").ok().as_deref(),
        output,
        rustix::process::geteuid().is_root(),
    );
    let directories = Directories::from_environment(scope, None);
    if in_initrd(&directories) {
        return ExitCode::SUCCESS;
    }
    // PID 1's is 0022; whoever starts this by hand may have another, and units are for everybody to read.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    // A panic is caught and logged with the file it was about; printed, it would only be lost.
    std::panic::set_hook(Box::new(|_| {}));
    if generator::run(output, &directories) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The initrd's systemd runs generators as well, and groups belong to the real system. The variable is set from 251
/// on, the file is there always (systemd.generator(7), bootup(7)).
fn in_initrd(directories: &Directories) -> bool {
    match std::env::var("SYSTEMD_IN_INITRD").as_deref() {
        Ok("1") => true,
        Ok("0") => false,
        _ => directories.rooted(Path::new("/etc/initrd-release")).exists(),
    }
}
