//! Expanded texts as texts of a group file.

use crate::import::supervisord::config::{Process, Program};
use crate::import::supervisord::expanded::{Expanded, Part};
use crate::import::supervisord::python_format::Format;
use crate::model::{Piece, Text, is_variable, spelled};

/// How the process's number is shown in a text, where it first is.
pub fn number_format(text: &Expanded) -> Option<&Format> {
    text.0.iter().find_map(|part| if let Part::Number(format) = part { Some(format) } else { None })
}

/// The processes of a program, with the names of their instances.
pub struct Numbered<'p> {
    /// The program.
    pub program: &'p Program,
    /// One name for each of its processes.
    pub names: &'p [String],
}

impl Numbered<'_> {
    /// The words of the command that say of each process what it is.
    pub fn argv(&self) -> Option<Vec<Expanded>> {
        let pattern = self.program.pattern.as_ref()?;
        let same_length = self.program.processes.iter().all(|process| process.argv.len() == pattern.argv.len());
        let fits = |(at, word): (usize, &Expanded)| self.fits(word, |process| process.argv.get(at));
        (same_length && pattern.argv.iter().enumerate().all(fits)).then(|| pattern.argv.clone())
    }

    /// The directory that does so; there may be none at all.
    pub fn directory(&self) -> Option<Option<Expanded>> {
        match &self.program.pattern.as_ref()?.directory {
            None => Some(None),
            Some(path) => self.fits(path, |process| process.directory.as_ref()).then(|| Some(path.clone())),
        }
    }

    /// A variable that all processes have, with the value that does so.
    pub fn variable(&self, name: &Expanded) -> Option<(Expanded, Expanded)> {
        fn value<'v>(process: &'v Process, name: &Expanded) -> Option<&'v Expanded> {
            process.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value)
        }
        let pattern = value(self.program.pattern.as_ref()?, name)?;
        self.fits(pattern, |process| value(process, name)).then(|| (name.clone(), pattern.clone()))
    }

    /// Whether `pattern` is what each process has, shows the number as the instance's name has it, and can be written.
    fn fits<'v>(&'v self, pattern: &Expanded, of: impl Fn(&'v Process) -> Option<&'v Expanded>) -> bool {
        let numbers = (self.program.first..).zip(self.program.processes.iter().zip(self.names));
        numbers.into_iter().all(|(number, (process, name))| {
            let as_named = |part: &Part| !matches!(part, Part::Number(format) if format.number(number) != *name);
            pattern.0.iter().all(as_named) && of(process) == Some(&pattern.numbered(number))
        }) && text(pattern).as_ref().and_then(spelled).is_some()
    }
}

/// A text of a command. A variable that is a whole word, and not between quotes, may become several words, or none, as
/// it would have with supervisord. `None` where a variable can't be named.
pub fn argument(word: &Expanded) -> Option<Text> {
    if let [Part::Env(name, false)] = &word.0[..] {
        return is_variable(name).then(|| Text::from(vec![Piece::EnvWords(name.to_string())]));
    }
    text(word)
}

/// A text. `None` where a variable can't be named.
pub fn text(text: &Expanded) -> Option<Text> {
    let mut written = Text::literal("");
    for part in &text.0 {
        match part {
            Part::Char(c) => written.push_literal(c.encode_utf8(&mut [0; 4])),
            Part::Env(name, _) if is_variable(name) => written.push(Piece::Env(name.to_string())),
            Part::Env(..) => return None,
            Part::Number(_) => written.push(Piece::Instance),
        }
    }
    // The text begins with an empty literal where it begins with something else.
    let pieces = written.into_pieces();
    let bare: Vec<Piece> = match &pieces[..] {
        [Piece::Literal(first), rest @ ..] if first.is_empty() && !rest.is_empty() => rest.to_vec(),
        _ => pieces,
    };
    Some(Text::from(bare))
}
