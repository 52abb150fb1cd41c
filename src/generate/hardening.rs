//! `hardening`: profiles of sandboxing directives (systemd.exec(5)).
//!
//! A profile promises two things: it restricts the service, and the programs that it is meant for still run. So directives
//! that break common programs are in neither: `MemoryDenyWriteExecute=` (just-in-time compilers), `PrivateUsers=`,
//! `ProcSubset=pid` (programs that read /proc/meminfo), `PrivateIPC=` (shared memory between processes of a group),
//! `PrivateNetwork=`, and for root an empty capability set (low ports, programs that change their user). The author can
//! add each.

use super::context::Context;
use crate::model::{DirectoryKind, Hardening, Piece, Service, Text};
use crate::unit::value::Part;
use crate::unit::{Section, Unit, Value};

/// A directive of a profile.
struct Restriction {
    directive: &'static str,
    value: &'static str,
    /// Whether a user's service manager, which cannot mount, can set it up.
    in_user_scope: bool,
}

const fn everywhere(directive: &'static str, value: &'static str) -> Restriction {
    Restriction { directive, value, in_user_scope: true }
}

const fn system_only(directive: &'static str, value: &'static str) -> Restriction {
    Restriction { directive, value, in_user_scope: false }
}

/// In both profiles: no common service needs what these take away.
const BOTH: &[Restriction] = &[
    everywhere("NoNewPrivileges", "yes"),
    system_only("PrivateTmp", "yes"),
    system_only("PrivateDevices", "yes"),
    system_only("ProtectControlGroups", "yes"),
    system_only("ProtectKernelModules", "yes"),
    system_only("ProtectKernelTunables", "yes"),
    system_only("ProtectKernelLogs", "yes"),
    system_only("ProtectClock", "yes"),
    everywhere("RestrictRealtime", "yes"),
    everywhere("RestrictSUIDSGID", "yes"),
    everywhere("LockPersonality", "yes"),
];

/// In `basic` only, where `strict` has more.
const BASIC: &[Restriction] = &[system_only("ProtectSystem", "full")];

/// In `strict` only: for a service that talks to the network and writes its own directories.
const STRICT: &[Restriction] = &[
    system_only("ProtectSystem", "strict"),
    system_only("ProtectHostname", "yes"),
    system_only("ProtectProc", "invisible"),
    everywhere("RestrictNamespaces", "yes"),
    everywhere("RestrictAddressFamilies", "AF_UNIX AF_INET AF_INET6 AF_NETLINK"),
    everywhere("SystemCallArchitectures", "native"),
    everywhere("SystemCallFilter", "@system-service"),
    everywhere("SystemCallErrorNumber", "EPERM"),
];

const BOUNDING_SET: &str = "CapabilityBoundingSet";

/// What `strict` takes away from root, unless the author sets `capability-bounding-set`.
const NOT_FOR_ROOT: &str = "~CAP_SYS_ADMIN CAP_SYS_BOOT CAP_SYS_MODULE CAP_SYS_PTRACE CAP_SYS_RAWIO CAP_SYS_TIME CAP_SYS_TTY_CONFIG \
     CAP_SYS_PACCT CAP_SYSLOG CAP_MKNOD CAP_MAC_ADMIN CAP_MAC_OVERRIDE CAP_AUDIT_CONTROL CAP_LINUX_IMMUTABLE \
     CAP_WAKE_ALARM CAP_BLOCK_SUSPEND";

/// The profile's lines.
pub(super) fn write(context: &Context, unit: &mut Unit, service: &Service) {
    let (profile, own): (_, &[Restriction]) = match (service.hardening, context.user_scope()) {
        (Hardening::None, _) => return,
        (Hardening::Basic, false) => ("hardening = \"basic\"", BASIC),
        (Hardening::Strict, false) => ("hardening = \"strict\"", STRICT),
        (Hardening::Basic, true) => {
            ("hardening = \"basic\", without what a user's service manager cannot mount", BASIC)
        }
        (Hardening::Strict, true) => {
            ("hardening = \"strict\", without what a user's service manager cannot mount", STRICT)
        }
    };
    unit.comment(Section::Service, profile);
    for restriction in BOTH.iter().chain(own) {
        let applies = restriction.in_user_scope || !context.user_scope();
        if applies && context.knows(Section::Service, restriction.directive) {
            unit.push(Section::Service, restriction.directive, Value::fixed(restriction.value));
        }
    }
    if service.hardening == Hardening::Strict {
        if !context.user_scope()
            && let Some(capabilities) = bounding_set(service)
        {
            unit.push(Section::Service, BOUNDING_SET, Value::plain(capabilities));
        }
        protect_home(context, unit, service);
        shared_directories(context, unit, service);
    }
}

/// `CapabilityBoundingSet=`, unless the author sets it. A program that does not run as root begins with its ambient
/// capabilities, and with `NoNewPrivileges=` gains no others: so it cannot use the rest.
fn bounding_set(service: &Service) -> Option<&str> {
    let own = |name: &str| service.directives.iter().find(|directive| directive.name == name).map(|own| &*own.value);
    if own(BOUNDING_SET).is_some() {
        return None;
    }
    // Pass-through is in systemd's own grammar, which is not read here.
    let passed = |name: &str| {
        service.pass.0.iter().any(|(section, directive, _)| *section == Section::Service && directive == name)
    };
    let other_user = own("User").is_some_and(|user| user != "root" && user.bytes().any(|byte| byte != b'0'));
    let ambient = own("AmbientCapabilities").unwrap_or_default();
    let known = other_user
        && !ambient.starts_with('~')
        && !["User", "AmbientCapabilities", "NoNewPrivileges"].into_iter().any(passed);
    Some(if known { ambient } else { NOT_FOR_ROOT })
}

/// Home directories are hidden, unless the service needs one.
fn protect_home(context: &Context, unit: &mut Unit, service: &Service) {
    if context.user_scope() {
        return;
    }
    let needs_home = service.working_directory.iter().chain(service.exec.first()).any(in_a_home);
    match needs_home {
        true => unit.push_why(
            Section::Service,
            "the program or its working directory is in a home directory",
            "ProtectHome",
            Value::fixed("read-only"),
        ),
        false => unit.push(Section::Service, "ProtectHome", Value::fixed("yes")),
    }
}

fn in_a_home(path: &Text) -> bool {
    let Some(Piece::Literal(path)) = path.pieces().first() else { return false };
    path == "~" || ["/home", "/root", "/run/user"].iter().any(|home| std::path::Path::new(path).starts_with(home))
}

/// `ProtectSystem=strict` leaves a service's own directories writable, but not the shared ones. Those for configuration
/// stay read-only, as own ones do.
fn shared_directories(context: &Context, unit: &mut Unit, service: &Service) {
    let mut words = Vec::new();
    for kind in DirectoryKind::ALL.into_iter().filter(|kind| *kind != DirectoryKind::Configuration) {
        if service.directories.iter().any(|directory| directory.kind == kind) {
            continue;
        }
        for name in context.shared(kind).iter().flat_map(|directory| &directory.names) {
            let mut word = vec![Part::Specifier(kind.specifier()), Part::Literal("/")];
            word.extend_from_slice(&context.parts(name));
            words.push(word);
        }
    }
    if !words.is_empty() && !context.user_scope() {
        let paths = Value::words(words.iter().map(Vec::as_slice));
        unit.push_why(Section::Service, "the group's shared directories", "ReadWritePaths", paths);
    }
}
