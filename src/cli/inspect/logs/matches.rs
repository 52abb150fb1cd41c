//! Which lines of the journal are a group's: the matches of journalctl(1).

use crate::basic::scope::Scope;
use crate::change::observe::members::Member;
use crate::cli::common::selector::Selector;

/// The matches for what was named. Lines that a process wrote, lines that copse wrote about what it did to it, and lines
/// that the service manager wrote about it; on
/// 247 and 252 the latter carry no field of ours, so they are found by the unit that they are about.
///
/// In a user's manager `LogExtraFields=` has no effect (seen on 252), so there everything is found by the unit; and
/// another user may have a group of the same name.
pub(in crate::cli) fn matches(scope: Scope, named: &Selector, members: &[Member]) -> Vec<String> {
    let mut units: Vec<String> = members.iter().map(|member| member.unit.clone()).collect();
    let group = &named.group;
    let mut own = Vec::new();
    match &named.part {
        None => {
            units.push(format!("{group}.target"));
            own.extend(
                ["ready", "reset", "directories", "invalid"].map(|kind| format!("copse-{kind}@{group}.service")),
            );
            own.push(format!("copse-failed@{group}.target"));
        }
        // An instance that isn't loaded now, and isn't in the file: it may have run.
        Some(part) if units.is_empty() => {
            let same = part.split(['@', '.']).next() == Some(group);
            let stem = if same { part.clone() } else { format!("{group}-{part}") };
            units.push(if part.contains('.') { stem } else { stem + ".service" });
        }
        Some(_) => {}
    }
    let services = units.iter().filter(|unit| unit.ends_with(".service"));
    let judges: Vec<String> = services.map(|unit| format!("{}{unit}", super::line::JUDGE)).collect();
    units.extend(own);
    let by_judges = |field: &str| judges.iter().map(|unit| format!("{field}={unit}")).collect::<Vec<_>>();
    let of = |field: &str| units.iter().map(|unit| format!("{field}={unit}")).collect::<Vec<_>>();
    let or = || vec!["+".to_owned()];
    match scope {
        Scope::System => {
            let fields = match &named.part {
                None => vec![format!("COPSE_GROUP={group}")],
                // Also instances that aren't there any more.
                Some(part) if !part.contains(['@', '.']) => {
                    vec![format!("COPSE_GROUP={group}"), format!("COPSE_PROCESS={part}")]
                }
                Some(_) => Vec::new(),
            };
            let fields = if fields.is_empty() { fields } else { [fields, or()].concat() };
            let manager = [vec!["_PID=1".to_owned()], of("UNIT")].concat();
            [fields, of("_SYSTEMD_UNIT"), by_judges("_SYSTEMD_UNIT"), or(), manager, or(), of("COPSE_UNIT")].concat()
        }
        Scope::User => {
            let user = || vec![format!("_UID={}", rustix::process::getuid().as_raw())];
            // Of a process that ended at once journald can't tell the unit any more, but it was told the identifier.
            let services = units.iter().filter_map(|unit| unit.strip_suffix(".service"));
            let identifiers: Vec<String> = services.map(|stem| format!("SYSLOG_IDENTIFIER={stem}")).collect();
            let identified = if identifiers.is_empty() { identifiers } else { [or(), user(), identifiers].concat() };
            let done = [or(), user(), of("COPSE_UNIT")].concat();
            let written = [user(), of("_SYSTEMD_USER_UNIT"), by_judges("_SYSTEMD_USER_UNIT")].concat();
            [written, or(), user(), of("USER_UNIT"), identified, done].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::observe::members::{Kind, Start};

    fn member(unit: &str, label: &str) -> Member {
        let (unit, label) = (unit.to_owned(), label.to_owned());
        Member { unit, label, kind: Kind::Process, start: Start::Auto, defined: true }
    }

    fn of(scope: Scope, part: Option<&str>, members: &[Member]) -> String {
        let named = Selector { group: "g".to_owned(), part: part.map(ToOwned::to_owned) };
        matches(scope, &named, members).join(" ")
    }

    #[test]
    fn the_whole_group() {
        let all = of(Scope::System, None, &[member("g-a.service", "a")]);
        assert!(all.starts_with("COPSE_GROUP=g + _SYSTEMD_UNIT=g-a.service _SYSTEMD_UNIT=g.target "), "{all}");
        assert!(all.contains(" + _PID=1 UNIT=g-a.service UNIT=g.target UNIT=copse-ready@g.service "), "{all}");
    }

    #[test]
    fn a_process_and_an_instance() {
        assert_eq!(
            of(Scope::System, Some("a"), &[member("g-a@1.service", "a@1")]),
            "COPSE_GROUP=g COPSE_PROCESS=a + _SYSTEMD_UNIT=g-a@1.service _SYSTEMD_UNIT=copse-gave-up@g-a@1.service + _PID=1 UNIT=g-a@1.service + COPSE_UNIT=g-a@1.service"
        );
        assert_eq!(
            of(Scope::System, Some("a@1"), &[member("g-a@1.service", "a@1")]),
            "_SYSTEMD_UNIT=g-a@1.service _SYSTEMD_UNIT=copse-gave-up@g-a@1.service + _PID=1 UNIT=g-a@1.service + COPSE_UNIT=g-a@1.service"
        );
        // Never without a unit: that would be all of the journal.
        assert_eq!(
            of(Scope::System, Some("a.socket"), &[]),
            "_SYSTEMD_UNIT=g-a.socket + _PID=1 UNIT=g-a.socket + COPSE_UNIT=g-a.socket"
        );
        assert_eq!(
            of(Scope::System, Some("a@9"), &[]),
            "_SYSTEMD_UNIT=g-a@9.service _SYSTEMD_UNIT=copse-gave-up@g-a@9.service + _PID=1 UNIT=g-a@9.service + COPSE_UNIT=g-a@9.service"
        );
    }

    #[test]
    fn a_users_socket_has_no_identifier() {
        let uid = rustix::process::getuid().as_raw();
        assert_eq!(
            of(Scope::User, Some("a.socket"), &[member("g-a.socket", "a.socket")]),
            format!(
                "_UID={uid} _SYSTEMD_USER_UNIT=g-a.socket + _UID={uid} USER_UNIT=g-a.socket + _UID={uid} COPSE_UNIT=g-a.socket"
            )
        );
    }

    #[test]
    fn a_user_sees_the_own_groups_only() {
        let uid = rustix::process::getuid().as_raw();
        assert_eq!(
            of(Scope::User, Some("a"), &[member("g-a.service", "a")]),
            format!(
                "_UID={uid} _SYSTEMD_USER_UNIT=g-a.service _SYSTEMD_USER_UNIT=copse-gave-up@g-a.service + _UID={uid} USER_UNIT=g-a.service \
                 + _UID={uid} SYSLOG_IDENTIFIER=g-a + _UID={uid} COPSE_UNIT=g-a.service"
            )
        );
    }
}
