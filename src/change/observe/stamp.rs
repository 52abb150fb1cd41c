//! Whether a setup step with `inputs` would run: the stamp of copse-notify, compared as copse-notify compares it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::inputs::Moment;
use super::paths::Unit;
use crate::basic::clock;
use crate::generate::stamp;
use crate::model::{DirectoryKind, Service, Text};
use crate::notify::once;
use crate::notify::once::Once;
use crate::unit::Section;
use crate::unit::effective::Definitions;
use crate::unit::name::{GroupName, ProcessName};

/// A step's stamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// When the step last succeeded, in microseconds since the epoch; zero if it never did.
    pub at: Moment,
    /// Whether it had this command and these inputs. `None` if that is unknown: with credentials, with variables in the
    /// command, or if the stamp is unreadable.
    pub unchanged: Option<bool>,
}

/// The stamp of a step. `None` if it keeps none, or if pass-through or a drop-in replaces its command.
pub fn read(
    group: &GroupName,
    step: &ProcessName,
    service: &Service,
    definitions: &Definitions<'_>,
    unit: Unit<'_>,
) -> Option<Stamp> {
    let passed = |(section, name, _): &(Section, String, _)| *section == Section::Service && name == "ExecStart";
    let replaced =
        service.pass.0.iter().any(passed) || definitions.is_overridden(unit.name, Section::Service, "ExecStart");
    if service.inputs.is_empty() || replaced {
        return None;
    }
    let path = unit.base(DirectoryKind::State)?.join(stamp::directory(group, step)).join(stamp::FILE);
    let definition = definitions.unit(unit.name)?;
    let credentials = definition.directives().any(|(_, name, _)| name.contains("Credential"));
    let once = if credentials { None } else { once(path.clone(), service, unit) };
    Some(Stamp { at: modified(&path), unchanged: once.and_then(|once| once::is_unchanged(&once)) })
}

/// What the unit's `ExecStart=` runs. `None` if only systemd knows a part of it.
fn once(stamp: PathBuf, service: &Service, unit: Unit<'_>) -> Option<Once> {
    let text = |text: &Text| Some(OsString::from(unit.text(text)?));
    let texts = |texts: &[Text]| texts.iter().map(text).collect::<Option<_>>();
    let definitions = vec![stamp::definition(service).into()];
    Some(Once { stamp, inputs: texts(&service.inputs)?, definitions, again: false, command: texts(&service.exec)? })
}

fn modified(path: &Path) -> Moment {
    let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    modified.map_or(0, clock::since_epoch)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::basic::diagnostic::SourceFile;
    use crate::basic::scope::Scope;
    use crate::generate;
    use crate::generate::Options;
    use crate::group_file::discover::Source;
    use crate::model::{Context, Group};
    use crate::notify::args;
    use crate::notify::args::Invocation;
    use crate::unit::directives::Systemd;
    use crate::unit::overrides::Overrides;
    use crate::unit::strict;

    const UNIT: Unit<'static> = Unit { name: "g-s.service", scope: Scope::System, systemd: Systemd::NEWEST };

    fn group(rest: &str) -> Group {
        let text =
            format!("[process.p]\nexec = \"/bin/p\"\n[setup.s]\ninputs = [\"/etc/a%b\", \"/etc/{{unit}}\"]\n{rest}\n");
        let file = SourceFile { path: "/etc/copse/g.toml".into(), text };
        let source = Source { name: GroupName::new("g").unwrap(), file: file.into(), drop_ins: Vec::new() };
        crate::model::read(&source, &Context { scope: Scope::System, cpus: 1 }).0.expect("a valid group")
    }

    /// The stamp, with a drop-in of an administrator for the step.
    fn stamp(group: &Group, drop_in: &str) -> Option<Stamp> {
        let tree = generate::generate(group, Options { systemd: Systemd::NEWEST, static_target: false });
        let path = "/etc/systemd/system/g-s.service.d/x.conf".into();
        let above = vec![Arc::new(SourceFile { path, text: drop_in.to_owned() })];
        let overrides = Overrides { above, below: Vec::new() };
        let (step, setup) = group.setup.first_key_value().unwrap();
        read(&group.name, step, &setup.service, &Definitions::new(&tree, &overrides), UNIT)
    }

    #[test]
    fn it_is_the_stamp_of_the_generated_command() {
        let group = group("exec = [\"/bin/x\", \"a $b\", \"{unit}\"]");
        let tree = generate::generate(&group, Options { systemd: Systemd::NEWEST, static_target: false });
        let line = tree.unit("g-s.service").unwrap().values(Section::Service, "ExecStart").next().unwrap();
        let argv = strict::argv(line, |_| panic!("no variable")).unwrap();
        let argv = argv.iter().skip(1).map(|word| word.replace("<S>", "/var/lib").replace("<n>", "g-s.service").into());
        let Ok(Invocation::Once(expected)) = args::parse(argv.collect()) else { panic!("{line}") };
        assert_eq!(
            once("/var/lib/copse/setup/g/s/stamp".into(), &group.setup.first_key_value().unwrap().1.service, UNIT),
            Some(expected)
        );
    }

    #[test]
    fn a_replaced_command_is_unknown() {
        let never = Some(Stamp { at: 0, unchanged: Some(false) });
        let plain = group("exec = \"/bin/x\"");
        assert_eq!(stamp(&plain, "[Service]\nNice=1\n"), never);
        assert_eq!(stamp(&plain, "[Service]\nExecStart=\nExecStart=/bin/y\n"), None);
        assert_eq!(stamp(&plain, "[Service]\nLoadCredential=a\n"), Some(Stamp { at: 0, unchanged: None }));
        assert_eq!(stamp(&group("exec = [\"/bin/x\", \"{env:A}\"]"), ""), Some(Stamp { at: 0, unchanged: None }));
        assert_eq!(stamp(&group("exec = \"/bin/x\"\n[setup.s.service]\nExecStart = \"/bin/y\""), ""), None);
    }
}
