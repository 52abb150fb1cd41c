//! The list of units a readiness gate waits for, as the generator writes it (`StandardInputText=`).

use std::collections::HashMap;
use std::fmt;

/// A unit to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Awaited {
    /// Its name, with the suffix.
    pub(super) unit: String,
    /// Whether the group is only ready when this unit is.
    pub(super) essential: bool,
}

/// A line that isn't `UNIT` or `UNIT optional`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadLine {
    number: usize,
    text: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {} of the units to wait for is neither `UNIT` nor `UNIT optional`: `{}`",
            self.number, self.text
        )
    }
}

/// Reads the list: one unit per line; empty lines and comments (`#`) don't count. A unit that an
/// administrator's drop-in names once more is waited for once, and is essential if either line says so.
///
/// # Errors
/// The first [`BadLine`].
pub(super) fn parse(text: &str) -> Result<Vec<Awaited>, BadLine> {
    let mut awaited: Vec<Awaited> = Vec::new();
    let mut places = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (unit, essential) = match words[..] {
            [] => continue,
            [word, ..] if word.starts_with('#') => continue,
            [unit] if unit.contains('.') => (unit, true),
            [unit, "optional"] if unit.contains('.') => (unit, false),
            _ => {
                return Err(BadLine { number: index + 1, text: line.to_owned() });
            }
        };
        let place = *places.entry(unit).or_insert(awaited.len());
        match awaited.get_mut(place) {
            Some(known) => known.essential |= essential,
            None => awaited.push(Awaited { unit: unit.to_owned(), essential }),
        }
    }
    Ok(awaited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_optional_units_and_comments() {
        let text = "g-a.service\n\n# by hand\n  g-w@1.service optional \ng-w@1.service\ng-a.service optional\n";
        let read = parse(text).expect("a good list");
        let read: Vec<_> = read.iter().map(|a| (a.unit.as_str(), a.essential)).collect();
        assert_eq!(read, [("g-a.service", true), ("g-w@1.service", true)]);
        assert_eq!(parse("").expect("nothing to wait for"), []);
        assert!(!parse("g-a.service optional").expect("one")[0].essential);
    }

    #[test]
    fn anything_else_is_refused() {
        for line in ["g-a.service essential", "g-a", "a.service b.service", "a.service optional x"] {
            let error = parse(&format!("ok.service\n{line}\n")).expect_err(line);
            assert_eq!(
                error.to_string(),
                format!("line 2 of the units to wait for is neither `UNIT` nor `UNIT optional`: `{line}`")
            );
        }
    }
}
