//! Names of units outside the group.

use super::value::{invalid, shown, text};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::scope::Scope;
use crate::group_file::document::Node;

/// The suffixes of systemd's unit types.
pub const UNIT_SUFFIXES: &[&str] = &[
    ".service",
    ".socket",
    ".target",
    ".timer",
    ".path",
    ".mount",
    ".automount",
    ".swap",
    ".slice",
    ".scope",
    ".device",
];

/// A checked name of a unit outside the group, with its suffix.
pub fn unit_name<'a>(key: &str, node: &'a Node, diagnostics: &mut Diagnostics) -> Option<&'a str> {
    let name = text(key, node, diagnostics)?;
    let stem = UNIT_SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
    let valid = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    match stem {
        Some(stem) if stem.ends_with('@') => {
            let message = format!("`{}` is a template, of which only an instance can be meant", shown(name));
            diagnostics.push(invalid(node, message).help("write one: `NAME@INSTANCE.service`"));
            None
        }
        Some(stem)
            if !stem.is_empty()
                && name.len() <= crate::unit::name::MAX
                && stem.chars().all(valid)
                && !stem.starts_with('@') =>
        {
            Some(name)
        }
        Some(_) => {
            diagnostics.push(invalid(node, format!("`{}` can't be a unit's name", shown(name))));
            None
        }
        None => {
            let diagnostic = invalid(node, format!("`{}` isn't a unit's name: it has no suffix", shown(name)));
            diagnostics.push(match name.is_empty() {
                true => diagnostic,
                false => diagnostic.help(format!("did you mean `{}{}`?", shown(name), suffix(key, name))),
            });
            None
        }
    }
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

/// The suffix that was most likely meant for a unit's name without one.
pub fn suffix(key: &str, name: &str) -> &'static str {
    if key == "wanted-by" || TARGETS.contains(&name) { ".target" } else { ".service" }
}

/// A service that is called like one of systemd's targets starts nothing: there is none.
pub fn warn_no_target(name: &str, node: &Node, diagnostics: &mut Diagnostics) {
    if let Some(target) = name.strip_suffix(".service").filter(|stem| TARGETS.contains(stem)) {
        let message = format!("systemd has no `{name}`, so that nothing starts the group: it has `{target}.target`");
        let help = format!("write `wanted-by = [\"{target}.target\"]`");
        diagnostics.push(Diagnostic::new(Code::NotWanted, &node.place, message).help(help));
    }
}

/// As [`unit_name`]; in user scope the system's own targets are left out, with a note: they don't exist there.
pub fn outside_unit<'a>(key: &str, node: &'a Node, scope: Scope, diagnostics: &mut Diagnostics) -> Option<&'a str> {
    let name = unit_name(key, node, diagnostics)?;
    let boot = matches!(name, "multi-user.target" | "graphical.target");
    if scope == Scope::User && (boot || name.starts_with("network") && name.ends_with(".target")) {
        let message = format!("`{name}` was left out: a user's service manager doesn't have it");
        let diagnostic = Diagnostic::new(Code::UserScope, &node.place, message);
        diagnostics.push(if boot { diagnostic.help("write `default.target`") } else { diagnostic });
        return None;
    }
    Some(name)
}
