//! What a change of a directive needs: [`directives::effect`], but for commands of copse's own.

use crate::basic::scope::NOTIFY_PROGRAM;
use crate::unit::directives;
pub use crate::unit::directives::Effect;
use crate::unit::effective::Difference;

/// What a difference needs. A readiness probe (`copse-notify wait` in `ExecStartPost=`) matters to the next start only.
pub fn of_difference(difference: &Difference) -> Effect {
    let Difference { section, name, old, new } = difference;
    if section == "Service" && name == "ExecStartPost" {
        let is_probe = |value: &str| {
            let program = value.trim_start_matches([':', '-']).strip_prefix(NOTIFY_PROGRAM);
            program.is_some_and(|args| args.starts_with(" wait "))
        };
        if old.iter().filter(|value| !is_probe(value)).eq(new.iter().filter(|value| !is_probe(value))) {
            return Effect::DaemonReload;
        }
    }
    directives::effect(section, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_readiness_probe_restarts_nothing() {
        let change = |old: &[&str], new: &[&str]| {
            let owned = |values: &[&str]| values.iter().map(ToString::to_string).collect();
            of_difference(&Difference {
                section: "Service".into(),
                name: "ExecStartPost".into(),
                old: owned(old),
                new: owned(new),
            })
        };
        let probe = |port: u32| format!(":{NOTIFY_PROGRAM} wait --tcp 127.0.0.1:{port}");
        assert_eq!(change(&[&probe(1)], &[&probe(2)]), Effect::DaemonReload);
        assert_eq!(change(&[], &[&probe(2)]), Effect::DaemonReload);
        assert_eq!(change(&[&probe(1)], &[&probe(1), ":\"/bin/x\""]), Effect::Restart);
        assert_eq!(change(&[":\"/bin/x\""], &[&probe(1)]), Effect::Restart);
    }
}
