//! Whether a setup step with `inputs` would run: copse-notify's own stamp, read as copse-notify reads it.

use std::ffi::OsString;
use std::path::Path;

use super::inputs::Moment;
use super::paths::Unit;
use crate::basic::clock;
use crate::model::DirectoryKind;
use crate::notify::args;
use crate::notify::args::Invocation;
use crate::notify::once;
use crate::notify::once::Once;
use crate::unit::effective::Definition;
use crate::unit::parse;

/// A step's stamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// When the step last succeeded, in microseconds since the epoch; zero where it never did.
    pub at: Moment,
    /// It had this command, these inputs; `None` where that can't be known: with credentials, with variables in the
    /// command, or where the stamp can't be read.
    pub unchanged: Option<bool>,
}

/// The stamp of a step, by what its unit says; `None` where it keeps none.
pub fn read(definition: &Definition, unit: Unit<'_>) -> Option<Stamp> {
    let line = definition.values("Service", "ExecStart").last()?;
    let (once, whole) = command(line, unit)?;
    let credentials = |name: &&str| name.contains("Credential");
    let credentials = definition.directives().map(|(_, name, _)| name).any(|name| credentials(&name));
    let unchanged = if whole && !credentials { once::is_unchanged(&once) } else { None };
    Some(Stamp { at: modified(&once.stamp), unchanged })
}

fn modified(path: &Path) -> Moment {
    let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    modified.map_or(0, clock::since_epoch)
}

/// What an `ExecStart=` runs, if that is `copse-notify once`, and whether all of it is known.
fn command(line: &str, unit: Unit<'_>) -> Option<(Once, bool)> {
    let text = line.trim_start_matches(['-', ':', '+', '!', '@']);
    let literal = line[..line.len() - text.len()].contains(':');
    let words = parse::words(text).ok()?;
    let whole = literal || words.iter().all(|word| !word.contains('$'));
    let words: Option<Vec<OsString>> = words.iter().skip(1).map(|word| Some(specifiers(word, unit)?.into())).collect();
    match args::parse(words?).ok()? {
        Invocation::Once(once) => Some((once, whole)),
        _ => None,
    }
}

/// The text with its specifiers replaced; only those that copse writes are known.
fn specifiers(text: &str, unit: Unit<'_>) -> Option<String> {
    let (mut out, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let specifier = chars.next()?;
        let kind = DirectoryKind::ALL.into_iter().find(|kind| kind.specifier().ends_with(specifier));
        match (specifier, kind) {
            ('%', _) => out.push('%'),
            ('n', _) => out.push_str(unit.name),
            ('N', _) => out.push_str(unit.name.rsplit_once('.')?.0),
            (_, Some(kind)) => out.push_str(unit.base(kind)?.to_str()?),
            _ => return None,
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::scope::Scope;
    use crate::unit::directives::Systemd;

    #[test]
    fn the_command_is_read_as_systemd_would() {
        let unit = Unit { name: "g-s.service", scope: Scope::System, systemd: Systemd::NEWEST };
        let line = r#":/usr/bin/copse-notify once --stamp %S/copse/setup/g/s/stamp --input /etc/a%%b --definition 12 -- /bin/x "a $b""#;
        let (once, whole) = command(line, unit).unwrap();
        assert!(whole);
        assert_eq!(once.stamp, Path::new("/var/lib/copse/setup/g/s/stamp"));
        assert_eq!((once.inputs, once.definitions), (vec!["/etc/a%b".into()], vec!["12".into()]));
        assert_eq!(once.command, ["/bin/x", "a $b"]);
        let (_, whole) = command("/usr/bin/copse-notify once --stamp /s --input /i -- /bin/x ${A}", unit).unwrap();
        assert!(!whole);
        for line in ["/bin/x once", "", "/usr/bin/copse-notify wait --tcp a:1", "\"", "/usr/bin/copse-notify once %q"] {
            assert_eq!(command(line, unit), None, "{line}");
        }
    }
}
