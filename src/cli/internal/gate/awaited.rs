//! The units that a readiness gate waits for.

use std::collections::HashMap;

/// A unit to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Awaited {
    pub(super) unit: String,
    /// Whether the group is ready only when this unit is.
    pub(super) essential: bool,
}

/// Parses `StandardInputText=` of a gate as the generator writes it: one unit per line, with `optional` if it is not
/// essential; empty lines and comments (`#`) are ignored. A unit that is listed twice, for example by a drop-in, is
/// essential if one of the lines says so.
///
/// # Errors
/// A message about the first line that is not valid.
pub(super) fn parse(text: &str) -> Result<Vec<Awaited>, String> {
    let mut awaited: Vec<Awaited> = Vec::new();
    let mut indices = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (unit, essential) = match words[..] {
            [] => continue,
            [word, ..] if word.starts_with('#') => continue,
            [unit] if unit.contains('.') => (unit, true),
            [unit, "optional"] if unit.contains('.') => (unit, false),
            _ => {
                let number = index + 1;
                return Err(format!(
                    "line {number} of the list of units: expected `UNIT` or `UNIT optional`, found `{line}`"
                ));
            }
        };
        let index = *indices.entry(unit).or_insert(awaited.len());
        match awaited.get_mut(index) {
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
                error,
                format!("line 2 of the list of units: expected `UNIT` or `UNIT optional`, found `{line}`")
            );
        }
    }
}
