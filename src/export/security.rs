//! Users, capabilities and `hardening`.

use super::findings::{Findings, Member};
use super::manifest::Security;
use super::options::Options;
use crate::model::{Hardening, Service};

/// What `hardening = "strict"` takes away from root on a machine, as far as containers have it.
const NOT_FOR_ROOT: &[&str] = &["MKNOD"];

/// The security context of a container, and whether it binds low ports without privileges.
pub fn context(
    member: &Member<'_>,
    service: &Service,
    options: &Options,
    found: &mut Findings<'_>,
) -> (Security, bool) {
    let (user, group) = identity(member, service, options, found);
    let is_root = user.is_none_or(|user| user == 0);
    let mut security = Security { user, group, ..Security::default() };
    match service.hardening {
        Hardening::None => {}
        Hardening::Basic => security.profile = Some("basic"),
        Hardening::Strict => {
            security.profile = Some("strict");
            security.read_only_root = true;
            security.non_root = !is_root;
            security.drop = match is_root {
                true => NOT_FOR_ROOT.iter().map(ToString::to_string).collect(),
                false => vec!["ALL".to_owned()],
            };
        }
    }
    security.no_new_privileges = service.hardening != Hardening::None;
    security.default_seccomp = service.hardening != Hardening::None;
    if let Some(bounding) = directive(service, "CapabilityBoundingSet") {
        (security.drop, security.add) = bounding_set(bounding, &security.drop);
    }
    let ambient = directive(service, "AmbientCapabilities").unwrap_or_default();
    let low_ports = !is_root && ambient.split(' ').any(|name| name == "CAP_NET_BIND_SERVICE");
    let others = ambient.split(' ').any(|name| !name.is_empty() && name != "CAP_NET_BIND_SERVICE");
    if others && !is_root {
        let why = "a container of another user than root gets no capabilities";
        let instead = "remove the capability in a drop-in for `--with`, or run the process as root";
        found.refuse(member, "ambient-capabilities", why, instead);
    }
    (security, low_ports)
}

/// The value of a key that is a directive.
pub fn directive<'s>(service: &'s Service, name: &str) -> Option<&'s str> {
    service.directives.iter().find(|directive| directive.name == name).map(|directive| &*directive.value)
}

/// UID and GID.
fn identity(
    member: &Member<'_>,
    service: &Service,
    options: &Options,
    found: &mut Findings<'_>,
) -> (Option<i64>, Option<i64>) {
    let numbers = |name: &str| match name {
        "root" => Some((0, Some(0))),
        name => options.users.get(name).copied(),
    };
    let mut refuse = |key: &str, name: &str| {
        let why = format!("Kubernetes runs a process by number, and that of `{name}` in the image is not known");
        found.refuse(member, key, &why, &format!("add `--user-id {name}=UID:GID`, or write the number"));
    };
    let (mut user, mut group) = (None, None);
    if let Some(name) = directive(service, "User") {
        match (name.parse(), numbers(name)) {
            (Ok(number), _) => user = Some(number),
            (_, Some((uid, gid))) => (user, group) = (Some(i64::from(uid)), gid.map(i64::from)),
            _ => refuse("user", name),
        }
    }
    if let Some(name) = directive(service, "Group") {
        match (name.parse(), numbers(name)) {
            (Ok(number), _) => group = Some(number),
            (_, Some((uid, gid))) => group = Some(i64::from(gid.unwrap_or(uid))),
            _ => refuse("group", name),
        }
    }
    (user, group)
}

/// The capabilities to drop and to add.
fn bounding_set(value: &str, dropped: &[String]) -> (Vec<String>, Vec<String>) {
    let names = |text: &str| -> Vec<String> {
        text.split(' ').filter(|name| !name.is_empty()).map(|name| name.trim_start_matches("CAP_").to_owned()).collect()
    };
    match value.strip_prefix('~') {
        Some(_) if dropped.iter().any(|name| name == "ALL") => (dropped.to_vec(), Vec::new()),
        Some(without) => (names(without), Vec::new()),
        None => (vec!["ALL".to_owned()], names(value)),
    }
}
