//! The names of groups, processes, instances and their units. Nothing else builds a unit's name.
//!
//! Rests on systemd.unit(5): a unit name holds `[A-Za-z0-9:_.\\-]`, one `@` at most for us, and 255 bytes at most.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest unit name that systemd takes (`UNIT_NAME_MAX`), in bytes.
pub const MAX: usize = 255;

macro_rules! checked_name {
    ($(#[$doc:meta])+ $name:ident, $first:expr, $rest:expr) => {
        $(#[$doc])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// The name, or `None` if the text is not valid as one.
            pub fn new(text: &str) -> Option<Self> {
                let (first, rest): (fn(char) -> bool, fn(char) -> bool) = ($first, $rest);
                let mut chars = text.chars();
                (chars.next().is_some_and(first) && chars.all(rest)).then(|| Self(text.to_owned()))
            }

            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = &'static str;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(&text).ok_or("not a name")
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked_name! {
    /// A group's name: the stem of its file, `[A-Za-z0-9][A-Za-z0-9_.-]*`.
    GroupName, |c| c.is_ascii_alphanumeric(), |c| c.is_ascii_alphanumeric() || "_.-".contains(c)
}
checked_name! {
    /// A process's or setup step's name: `[a-z0-9][a-z0-9_-]*`.
    ProcessName, |c| c.is_ascii_lowercase() || c.is_ascii_digit(), |c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c)
}
checked_name! {
    /// An instance's name: `[A-Za-z0-9_][A-Za-z0-9_.:-]*`.
    InstanceName, |c| c.is_ascii_alphanumeric() || c == '_', |c| c.is_ascii_alphanumeric() || "_.:-".contains(c)
}

/// `G-P`, or `G` for the process named like its group: what stands before `@` or the suffix.
pub fn stem(group: &GroupName, process: &ProcessName) -> String {
    unit(group, process, "")
}

fn unit(group: &GroupName, process: &ProcessName, suffix: &str) -> String {
    match (group.as_str(), process.as_str()) {
        (group, process) if group == process => [group, suffix].concat(),
        (group, process) => [group, "-", process, suffix].concat(),
    }
}

/// `G-P.service`
pub fn service(group: &GroupName, process: &ProcessName) -> String {
    unit(group, process, ".service")
}

/// `G-P@.service`
pub fn template(group: &GroupName, process: &ProcessName) -> String {
    unit(group, process, "@.service")
}

/// `G-P@I.service`
pub fn instance(group: &GroupName, process: &ProcessName, instance: &InstanceName) -> String {
    format!("{}@{instance}.service", stem(group, process))
}

/// `G-P.socket`, `G-P-NAME.socket`, or with instances that have one each `G-P@.socket` and `G-P-NAME@.socket`.
pub fn socket(group: &GroupName, process: &ProcessName, name: Option<&ProcessName>, template: bool) -> String {
    let mut text = stem(group, process);
    if let Some(name) = name {
        text.push('-');
        text.push_str(name.as_str());
    }
    text.push_str(if template { "@.socket" } else { ".socket" });
    text
}

/// `G-P.timer`. A process with a timer has no instances.
pub fn timer(group: &GroupName, process: &ProcessName) -> String {
    stem(group, process) + ".timer"
}

/// `G-P@I.socket` of the template `G-P@.socket`.
pub fn instantiate(template: &str, instance: &str) -> String {
    template.replacen('@', &format!("@{instance}"), 1)
}

/// `G.target`
pub fn target(group: &GroupName) -> String {
    format!("{group}.target")
}

/// `system-copse-G.slice`, or `app-copse-G.slice` in user scope. A dash in a slice's name is a step down in the
/// tree (systemd.slice(5)), so those in the group's name are escaped.
pub fn slice(user: bool, group: &GroupName) -> String {
    format!("{}-copse-{}.slice", if user { "app" } else { "system" }, group.as_str().replace('-', "\\x2d"))
}

/// The path of copse's drop-in for `unit`, below a directory of units.
pub fn drop_in(unit: &str) -> String {
    format!("{unit}.d/50-copse.conf")
}

/// Instances as people count them: 2 before 10, numbers before names.
pub fn in_order<'n>(instances: impl Iterator<Item = &'n InstanceName>) -> Vec<&'n InstanceName> {
    let mut all: Vec<_> = instances.collect();
    all.sort_by_cached_key(|instance| instance.as_str().parse::<u64>().map_or((1, 0), |number| (0, number)));
    all
}

/// `a@b.service` → `a@.service`; `None` if it is not an instance.
pub fn template_of(unit: &str) -> Option<String> {
    let (stem, rest) = unit.split_once('@')?;
    let (instance, suffix) = rest.rsplit_once('.')?;
    (!instance.is_empty()).then(|| format!("{stem}@.{suffix}"))
}

/// The directories in which systemd looks for drop-ins of `unit`, without `.d`: its own, its template's, those of its
/// prefixes up to a dash (`a-` for `a-b`), and its type's; the most specific first, each once (systemd.unit(5)).
///
/// Drop-ins are applied in the order of their file names. Of two with the same name, the one in the first unit directory
/// counts; in one unit directory, the more specific one.
pub fn drop_in_directories(unit: &str) -> Vec<String> {
    let mut names = Vec::new();
    below(unit, &mut names);
    names.extend(unit.rsplit_once('.').map(|(_, kind)| kind.to_owned()));
    names
}

/// As `unit_file_find_dirs` in systemd's src/shared/dropin.c: a template is cut off as the plain unit `a-.service`.
fn below(unit: &str, names: &mut Vec<String>) {
    if names.iter().any(|name| name == unit) {
        return;
    }
    names.push(unit.to_owned());
    let template = template_of(unit);
    if let Some(template) = &template {
        below(template, names);
    }
    let Some((stem, kind)) = unit.rsplit_once('.') else { return };
    let (prefix, instance) = stem.split_once('@').map_or((stem, None), |(prefix, instance)| (prefix, Some(instance)));
    // A dash at the end is skipped, once.
    let prefix = prefix.strip_suffix('-').unwrap_or(prefix);
    let Some(dash) = prefix.rfind('-').filter(|dash| *dash > 0) else { return };
    let prefix = &prefix[..=dash];
    match instance.filter(|_| template.is_some()) {
        Some(instance) => below(&format!("{prefix}@{instance}.{kind}"), names),
        None => below(&format!("{prefix}.{kind}"), names),
    }
}

/// The templates that copse ships in `units/`, without their suffix.
pub const OWN_TEMPLATES: &[&str] = &[
    "copse-ready@",
    "copse-reset@",
    "copse-directories@",
    "copse-gave-up@",
    "copse-failed@",
    "copse-invalid@",
    "copse-run@",
    "copse-supervisor@",
];

/// `copse-again@G-S.service`: runs the setup step of the unit `G-S.service` again.
pub fn again(unit: &str) -> String {
    format!("copse-again@{unit}")
}

/// `copse-failed@G.target`: active while the group is failed as a whole.
pub fn failed(group: &GroupName) -> String {
    format!("copse-failed@{group}.target")
}

/// `copse-settled-G-P.service`, `copse-settled-G-P@1.service`: the check whether the process of the unit `G-P.service` is
/// settled. Not an instance of a template `copse-settled@`, because its instance has to be that of the process, which
/// `{instance}` stands for.
pub fn settled(unit: &str) -> String {
    format!("copse-settled-{unit}")
}

/// `copse-supervisor@G.socket`
pub fn supervisor_socket(group: &GroupName) -> String {
    format!("copse-supervisor@{group}.socket")
}

/// `copse-KIND@G.service`: an instance of one of [`OWN_TEMPLATES`].
pub fn own(kind: &str, group: &GroupName) -> String {
    format!("copse-{kind}@{group}.service")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn own_templates_are_those_that_are_shipped() {
        let listed: BTreeSet<String> = OWN_TEMPLATES.iter().map(ToString::to_string).collect();
        for directory in ["units", "units/user"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
            let files = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let stems = files.filter_map(|file| file.contains('.').then(|| file.split('.').next().unwrap().to_owned()));
            assert_eq!(stems.collect::<BTreeSet<_>>(), listed, "{directory}");
        }
    }

    #[test]
    fn only_own_templates_are_instantiated() {
        let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        while let Some(directory) = directories.pop() {
            for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    directories.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                for kind in text.split("name::own(\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                    assert!(OWN_TEMPLATES.contains(&&*format!("copse-{kind}@")), "{}: {kind}", path.display());
                }
            }
        }
    }

    #[test]
    fn drop_ins_from_the_most_specific_to_the_type() {
        // As four systemds say: tests/booted/remembered.rs.
        for (unit, directories) in [
            ("a.service", "a.service service"),
            ("a-b--c.service", "a-b--c.service a-b--.service a-b-.service a-.service service"),
            ("a-b-.target", "a-b-.target a-.target target"),
            (
                "a-w-x@1.2.service",
                "a-w-x@1.2.service a-w-x@.service a-w-.service a-.service a-w-@1.2.service a-w-@.service \
                 a-@1.2.service a-@.service service",
            ),
            ("-.slice", "-.slice slice"),
        ] {
            assert_eq!(drop_in_directories(unit).join(" "), directories, "{unit}");
        }
    }
}
