//! The unit file that makes a group one that systemd can enable.

use std::path::Path;

use crate::basic::scope::Scope;
use crate::generate::marks::is_group;
use crate::unit::name::GroupName;
use crate::unit::parse;

/// The first line, by which the file is known as copse's.
const HEADER: &str =
    "# Put here by `copse enable` or `copse disable`, which change and remove it; the generator fills it.";

/// What there is of a target's unit file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No unit file: the generator makes the target.
    Nothing,
    /// One that copse put there.
    Ours,
    /// One of a package, or the administrator's own, that says it is a group's.
    Elsewhere,
    /// A link to /dev/null.
    Masked,
    /// One that has nothing to do with copse.
    Foreign,
}

/// What stands at `path`, where the administrator's unit files are.
pub(super) fn look(path: &Path) -> Found {
    if crate::generator::installed::masks(path) {
        return Found::Masked;
    }
    match std::fs::read_to_string(path) {
        Ok(text) if text.lines().next() == Some(HEADER) => Found::Ours,
        Ok(text) if is_group(&parse::unit(&text)) => Found::Elsewhere,
        Ok(_) => Found::Foreign,
        Err(_) => Found::Nothing,
    }
}

/// The text: the mark by which the generator knows it, and what wants it.
pub(super) fn text(group: &GroupName, scope: Scope, wanted_by: &[String]) -> String {
    let wanted = if wanted_by.is_empty() { scope.boot_target().to_owned() } else { wanted_by.join(" ") };
    format!("{HEADER}\n[Unit]\nDescription={group}\nX-CopseGroup=yes\n\n[Install]\nWantedBy={wanted}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_where_the_target_would() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("g.target");
        assert_eq!(look(&path), Found::Nothing);
        let group = GroupName::new("g").unwrap();
        for (content, found) in [
            (text(&group, Scope::System, &[]), Found::Ours),
            ("[Unit]\nX-CopseGroup=yes\n[Install]\nWantedBy=x.target\n".to_owned(), Found::Elsewhere),
            ("[Unit]\nDescription=x\n".to_owned(), Found::Foreign),
        ] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(look(&path), found);
        }
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert_eq!(look(&path), Found::Masked);
    }

    #[test]
    fn what_wants_it() {
        let group = GroupName::new("g").unwrap();
        assert!(text(&group, Scope::System, &[]).ends_with("[Install]\nWantedBy=multi-user.target\n"));
        assert!(text(&group, Scope::User, &[]).ends_with("[Install]\nWantedBy=default.target\n"));
        let two = ["a.target".to_owned(), "b.target".to_owned()];
        assert!(text(&group, Scope::System, &two).ends_with("[Install]\nWantedBy=a.target b.target\n"));
    }
}
