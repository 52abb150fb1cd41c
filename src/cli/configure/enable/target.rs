//! The unit file of an enabled or disabled target.

use std::path::Path;

use crate::basic::scope::Scope;
use crate::generate::marks::is_group;
use crate::generator::installed::masks;
use crate::unit::name::GroupName;
use crate::unit::parse;

/// The first line, by which copse recognizes the file.
const HEADER: &str = "# Managed by `copse enable` and `copse disable`; do not edit. The generator adds the rest.";

/// The first line in files that earlier versions wrote.
const OLD_HEADER: &str =
    "# Put here by `copse enable` or `copse disable`, which change and remove it; the generator fills it.";

/// What the unit file of a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitFile {
    /// There is none, and the generator makes the target.
    None,
    /// Written by copse.
    Own,
    /// Of a package, or the administrator's, and marked as a group's.
    Other,
    Masked,
    /// Not a group's.
    Foreign,
}

/// Finds what the unit file at `path` is.
pub(super) fn inspect(path: &Path) -> UnitFile {
    if masks(path) {
        return UnitFile::Masked;
    }
    match std::fs::read_to_string(path) {
        Ok(text) if text.lines().next().is_some_and(|line| line == HEADER || line == OLD_HEADER) => UnitFile::Own,
        Ok(text) if is_group(&parse::unit(&text)) => UnitFile::Other,
        Ok(_) => UnitFile::Foreign,
        Err(_) => UnitFile::None,
    }
}

/// The unit file, with the mark that the generator looks for.
pub(super) fn text(group: &GroupName, scope: Scope, wanted_by: &[String]) -> String {
    let wanted = if wanted_by.is_empty() { scope.boot_target().to_owned() } else { wanted_by.join(" ") };
    format!("{HEADER}\n[Unit]\nDescription={group}\nX-CopseGroup=yes\n\n[Install]\nWantedBy={wanted}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_files_of_targets() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("g.target");
        assert_eq!(inspect(&path), UnitFile::None);
        let group = GroupName::new("g").unwrap();
        for (content, found) in [
            (text(&group, Scope::System, &[]), UnitFile::Own),
            (text(&group, Scope::System, &[]).replace(HEADER, OLD_HEADER), UnitFile::Own),
            ("[Unit]\nX-CopseGroup=yes\n[Install]\nWantedBy=x.target\n".to_owned(), UnitFile::Other),
            ("[Unit]\nDescription=x\n".to_owned(), UnitFile::Foreign),
        ] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(inspect(&path), found);
        }
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert_eq!(inspect(&path), UnitFile::Masked);
    }

    #[test]
    fn what_pulls_in_the_target() {
        let group = GroupName::new("g").unwrap();
        assert!(text(&group, Scope::System, &[]).ends_with("[Install]\nWantedBy=multi-user.target\n"));
        assert!(text(&group, Scope::User, &[]).ends_with("[Install]\nWantedBy=default.target\n"));
        let two = ["a.target".to_owned(), "b.target".to_owned()];
        assert!(text(&group, Scope::System, &two).ends_with("[Install]\nWantedBy=a.target b.target\n"));
    }
}
