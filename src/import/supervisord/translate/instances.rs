//! Several processes of a program become instances: settings that differ by the number alone are written once.

use std::collections::BTreeSet;

use super::texts::text;
use crate::import::group_file::Table;
use crate::import::supervisord::config::{Process, Program};
use crate::import::supervisord::python_format::{Expanded, Format, Part};
use crate::model::spelled;
use crate::unit::name::InstanceName;

/// The names of the instances, if there are several processes: the numbers as the command, a variable or the directory
/// shows them, so that `{instance}` can replace them there; otherwise plain numbers, which can be scaled.
pub(super) fn instances(program: &Program) -> Option<Vec<String>> {
    let count = program.processes.len();
    let plain = || (0..count).map(|number| number.to_string()).collect();
    if count < 2 {
        return None;
    }
    let Some(pattern) = &program.pattern else { return Some(plain()) };
    let values = pattern.environment.iter().map(|(_, value)| value);
    let shown: Vec<&Format> =
        pattern.argv.iter().chain(values).chain(&pattern.directory).filter_map(format_in).collect();
    let in_name = format_in(&pattern.name).filter(|format| shown.contains(format));
    let format = in_name.or(shown.first().copied());
    let name = |number: i64| format.map_or_else(|| number.to_string(), |format| format.number(number));
    let names: Vec<String> = (program.first..).take(count).map(name).collect();
    let distinct = names.iter().collect::<BTreeSet<_>>().len() == count;
    let valid = names.iter().all(|name| InstanceName::new(name).is_some());
    Some(if distinct && valid { names } else { plain() })
}

/// The format of the first number in a text.
fn format_in(text: &Expanded) -> Option<&Format> {
    text.0.iter().find_map(|part| if let Part::Number(format) = part { Some(format) } else { None })
}

pub(super) fn set_instances(table: &mut Table, names: &[String]) {
    let first = names.first().and_then(|name| name.parse::<i64>().ok());
    let counted = |first: &i64| (*first..).zip(names).all(|(number, name)| number.to_string() == *name);
    match (first.filter(counted), i64::try_from(names.len())) {
        (Some(first), Ok(count)) => {
            table.set("instances", count);
            if first != 1 {
                table.set("first-instance", first);
            }
        }
        _ => table.set("instances", names.to_vec()),
    }
}

/// The processes of a program, with the names of their instances.
pub(super) struct Numbered<'p> {
    pub(super) program: &'p Program,
    pub(super) names: &'p [String],
}

impl Numbered<'_> {
    /// The words of the command for all processes.
    pub(super) fn argv(&self) -> Option<Vec<Expanded>> {
        let pattern = self.program.pattern.as_ref()?;
        let same_length = self.program.processes.iter().all(|process| process.argv.len() == pattern.argv.len());
        let fits = |(index, word): (usize, &Expanded)| self.fits(word, |process| process.argv.get(index));
        (same_length && pattern.argv.iter().enumerate().all(fits)).then(|| pattern.argv.clone())
    }

    /// The directory for all processes, which may be none.
    pub(super) fn directory(&self) -> Option<Option<Expanded>> {
        let directory = &self.program.pattern.as_ref()?.directory;
        let fits = |path: &Expanded| self.fits(path, |process| process.directory.as_ref());
        directory.as_ref().is_none_or(fits).then(|| directory.clone())
    }

    /// The value of a variable for all processes.
    pub(super) fn variable(&self, name: &Expanded) -> Option<(Expanded, Expanded)> {
        fn value<'v>(process: &'v Process, name: &Expanded) -> Option<&'v Expanded> {
            process.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value)
        }
        let pattern = value(self.program.pattern.as_ref()?, name)?;
        self.fits(pattern, |process| value(process, name)).then(|| (name.clone(), pattern.clone()))
    }

    /// Whether `pattern` with each number is what each process has, shows the number as the name of the instance does,
    /// and can be written.
    fn fits<'v>(&'v self, pattern: &Expanded, of: impl Fn(&'v Process) -> Option<&'v Expanded>) -> bool {
        let as_name = |number, name: &str| {
            pattern.0.iter().all(|part| !matches!(part, Part::Number(format) if format.number(number) != name))
        };
        let mut numbers = (self.program.first..).zip(self.program.processes.iter().zip(self.names));
        numbers.all(|(number, (process, name))| as_name(number, name) && of(process) == Some(&pattern.numbered(number)))
            && text(pattern).as_ref().and_then(spelled).is_some()
    }
}
