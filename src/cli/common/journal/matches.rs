//! Which lines of the journal are a group's, as matches of journalctl(1).

use super::line::GAVE_UP;
use crate::basic::scope::Scope;
use crate::change::observe::members::Member;
use crate::cli::common::selector::Selector;

/// The matches for the lines of the selected units: what their processes wrote, what copse logged about them, and what
/// the service manager logged about them. On 247 and 252, the latter have no `COPSE_…` field, so they are found by unit.
///
/// In a user's manager, `LogExtraFields=` has no effect (seen on 252), so all lines are found by unit; and another user
/// may have a group of the same name, so the user is matched as well.
pub(crate) fn matches(scope: Scope, selector: &Selector, members: &[Member]) -> Vec<String> {
    let group = &selector.group;
    let mut units: Vec<String> = members.iter().map(|member| member.unit().to_owned()).collect();
    let mut own = Vec::new();
    match &selector.part {
        None => {
            units.push(format!("{group}.target"));
            own.extend(
                ["ready", "reset", "directories", "invalid"].map(|kind| format!("copse-{kind}@{group}.service")),
            );
            own.push(format!("copse-failed@{group}.target"));
        }
        // An instance that is neither loaded nor in the file may have run.
        Some(part) if units.is_empty() => {
            let named_as_group = part.split(['@', '.']).next() == Some(group);
            let stem = if named_as_group { part.clone() } else { format!("{group}-{part}") };
            units.push(if part.contains('.') { stem } else { stem + ".service" });
        }
        Some(_) => {}
    }
    let services = units.iter().filter(|unit| unit.ends_with(".service"));
    let checks: Vec<String> = services.map(|unit| format!("{GAVE_UP}{unit}")).collect();
    units.extend(own);
    let each =
        |field: &str, values: &[String]| values.iter().map(|value| format!("{field}={value}")).collect::<Vec<_>>();
    let from = |field: &str| [each(field, &units), each(field, &checks)].concat();
    // Matches of one alternative are combined by AND, those of the same field by OR.
    let alternatives = match scope {
        Scope::System => {
            let fields = match &selector.part {
                None => vec![format!("COPSE_GROUP={group}")],
                // All instances, also those that exist no longer.
                Some(part) if !part.contains(['@', '.']) => {
                    vec![format!("COPSE_GROUP={group}"), format!("COPSE_PROCESS={part}")]
                }
                Some(_) => Vec::new(),
            };
            let manager = [vec!["_PID=1".to_owned()], each("UNIT", &units)].concat();
            vec![fields, from("_SYSTEMD_UNIT"), manager, each("COPSE_UNIT", &units)]
        }
        Scope::User => {
            let user = format!("_UID={}", rustix::process::getuid().as_raw());
            let by_user = |matches: Vec<String>| {
                if matches.is_empty() { matches } else { [vec![user.clone()], matches].concat() }
            };
            // journald cannot tell the unit of a process that ended at once, but systemd told it the identifier.
            let services = units.iter().filter_map(|unit| unit.strip_suffix(".service"));
            let identified = services.map(|stem| format!("SYSLOG_IDENTIFIER={stem}")).collect();
            [from("_SYSTEMD_USER_UNIT"), each("USER_UNIT", &units), identified, each("COPSE_UNIT", &units)]
                .map(by_user)
                .to_vec()
        }
    };
    alternatives.into_iter().filter(|matches| !matches.is_empty()).collect::<Vec<_>>().join(&"+".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::observe::members::{Kind, Start};
    use crate::change::observe::subject::Subject;

    fn member(unit: &str) -> Member {
        let subject = Subject::new("g", unit);
        Member { subject, kind: Kind::Process, start: Start::Auto, process: None, defined: true }
    }

    fn of(scope: Scope, part: Option<&str>, members: &[Member]) -> String {
        let selector = Selector { group: "g".to_owned(), part: part.map(ToOwned::to_owned) };
        matches(scope, &selector, members).join(" ")
    }

    #[test]
    fn the_whole_group() {
        let all = of(Scope::System, None, &[member("g-a.service")]);
        assert!(all.starts_with("COPSE_GROUP=g + _SYSTEMD_UNIT=g-a.service _SYSTEMD_UNIT=g.target "), "{all}");
        assert!(all.contains(" + _PID=1 UNIT=g-a.service UNIT=g.target UNIT=copse-ready@g.service "), "{all}");
    }

    #[test]
    fn a_process_and_an_instance() {
        assert_eq!(
            of(Scope::System, Some("a"), &[member("g-a@1.service")]),
            "COPSE_GROUP=g COPSE_PROCESS=a + _SYSTEMD_UNIT=g-a@1.service _SYSTEMD_UNIT=copse-gave-up@g-a@1.service + _PID=1 UNIT=g-a@1.service + COPSE_UNIT=g-a@1.service"
        );
        assert_eq!(
            of(Scope::System, Some("a@1"), &[member("g-a@1.service")]),
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
            of(Scope::User, Some("a.socket"), &[member("g-a.socket")]),
            format!(
                "_UID={uid} _SYSTEMD_USER_UNIT=g-a.socket + _UID={uid} USER_UNIT=g-a.socket + _UID={uid} COPSE_UNIT=g-a.socket"
            )
        );
    }

    #[test]
    fn a_user_sees_the_own_groups_only() {
        let uid = rustix::process::getuid().as_raw();
        assert_eq!(
            of(Scope::User, Some("a"), &[member("g-a.service")]),
            format!(
                "_UID={uid} _SYSTEMD_USER_UNIT=g-a.service _SYSTEMD_USER_UNIT=copse-gave-up@g-a.service + _UID={uid} USER_UNIT=g-a.service \
                 + _UID={uid} SYSLOG_IDENTIFIER=g-a + _UID={uid} COPSE_UNIT=g-a.service"
            )
        );
    }
}
