//! What a setup step with `inputs` runs: `copse-notify once`, which skips the command if nothing changed.

use sha2::{Digest as _, Sha256};

use super::specifiers::source_form;
use crate::model::{Pass, Service};
use crate::unit::Section;
use crate::unit::name::{GroupName, ProcessName};

/// The stamp's directory, relative to the base of state directories (`%S`).
pub fn directory(group: &GroupName, step: &ProcessName) -> String {
    format!("copse/setup/{group}/{step}")
}

/// The stamp's name in its directory.
pub const FILE: &str = "stamp";

/// A hash of what the step depends on besides its inputs, credentials and arguments, which copse-notify reads itself. Made
/// from the group file and not from the unit, so that an upgrade of copse or of systemd does not run the step again.
pub fn definition(service: &Service) -> String {
    let mut text = String::new();
    for (name, value) in &service.environment {
        text.extend(["environment\0", name, "="]);
        source_form(value, &mut text);
        text.push('\0');
    }
    for (optional, path) in &service.environment_files {
        text.push_str(if *optional { "environment-file\0-" } else { "environment-file\0" });
        source_form(path, &mut text);
        text.push('\0');
    }
    if let Some(directory) = &service.working_directory {
        text.push_str("working-directory\0");
        source_form(directory, &mut text);
        text.push('\0');
    }
    for directive in service.directives.iter().filter(|directive| matches!(directive.name, "User" | "Group")) {
        text.extend([directive.name, "\0", &directive.value, "\0"]);
    }
    for (section, directive, pass) in service.pass.0.iter().filter(|(section, ..)| *section == Section::Service) {
        let (kind, values) = match pass {
            Pass::Replace(value) => ("replace", std::slice::from_ref(value)),
            Pass::Add(values) => ("add", values.as_slice()),
            Pass::Reset(values) => ("reset", values.as_slice()),
        };
        text.extend([section.text(), "\0", directive, "\0", kind, "\0"]);
        values.iter().for_each(|value| text.extend([value.as_str(), "\0"]));
    }
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
