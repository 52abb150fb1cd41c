//! Names of units outside the group.

use super::value::{Result, did_you_mean, invalid, shown, text};
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::basic::scope::Scope;
use crate::group_file::document::Node;
use crate::unit::name::MAX;

/// systemd's unit types.
pub const UNIT_TYPES: &[&str] =
    &["service", "socket", "target", "timer", "path", "mount", "automount", "swap", "slice", "scope", "device"];

/// The name of a unit, with its suffix.
pub fn unit<'n>(key: &str, node: &'n Node) -> Result<&'n str> {
    let name = text(key, node)?;
    let stem = name.rsplit_once('.').filter(|(_, suffix)| UNIT_TYPES.contains(suffix)).map(|(stem, _)| stem);
    let valid = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    let Some(stem) = stem else {
        if name.is_empty() {
            return Err(invalid(node, format!("`{key}` names no unit")));
        }
        let diagnostic = invalid(node, format!("`{}` is not a unit name: the suffix is missing", shown(name)));
        return Err(did_you_mean(diagnostic, Some(format!("{}{}", shown(name), suffix(key, name)))));
    };
    if stem.ends_with('@') {
        let message = format!("`{}` is a template, not a unit that can be started", shown(name));
        return Err(invalid(node, message).help("name an instance: `NAME@INSTANCE.service`"));
    }
    if stem.is_empty() || stem.starts_with('@') || name.len() > MAX || !stem.chars().all(valid) {
        return Err(invalid(node, format!("`{}` is not a valid unit name", shown(name))));
    }
    Ok(name)
}

/// The name of a unit outside the group. In user scope the system's own targets are left out, as they do not exist there:
/// a note, not an error.
pub fn outside<'n>(key: &str, node: &'n Node, scope: Scope) -> Result<&'n str> {
    let name = unit(key, node)?;
    let boot = matches!(name, "multi-user.target" | "graphical.target");
    if scope == Scope::User && (boot || name.starts_with("network") && name.ends_with(".target")) {
        let message = format!("a user's service manager has no `{name}`, ignoring");
        let diagnostic = Diagnostic::new(Code::UserScope, node, message);
        return Err(if boot { diagnostic.help("write `default.target`") } else { diagnostic });
    }
    Ok(name)
}

/// systemd's own targets that people name.
const TARGETS: &[&str] = &[
    "basic",
    "default",
    "graphical",
    "local-fs",
    "multi-user",
    "network",
    "network-online",
    "network-pre",
    "nss-lookup",
    "nss-user-lookup",
    "paths",
    "remote-fs",
    "remote-fs-pre",
    "shutdown",
    "sockets",
    "sound",
    "sysinit",
    "time-set",
    "time-sync",
    "timers",
];

/// The likely suffix of a unit name without one.
pub fn suffix(key: &str, name: &str) -> &'static str {
    if key == "wanted-by" || TARGETS.contains(&name) { ".target" } else { ".service" }
}

/// The warning for a service with the name of one of systemd's targets: no such unit exists.
pub fn target_as_service(name: &str, node: &Node) -> Option<Diagnostic> {
    let target = name.strip_suffix(".service").filter(|stem| TARGETS.contains(stem))?;
    let message = format!("systemd has no `{name}`, only `{target}.target`, so nothing starts the group");
    let help = format!("write `wanted-by = [\"{target}.target\"]`");
    Some(Diagnostic::new(Code::NotWanted, node, message).help(help))
}
