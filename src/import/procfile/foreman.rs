//! foreman inserts the value of each variable that it has in place of `$NAME`, before a shell reads the command
//! (`Foreman::Process#expanded_command`). Here, as with honcho, the shell reads the variables.

use super::shell::continues_name;
use crate::import::dotenv::Variable;

/// How foreman changes the meaning of a command; `None` if it makes no difference.
pub(super) fn difference(command: &str, variables: &[Variable]) -> Option<String> {
    let values = variables.iter().map(|variable| (variable.name.as_str(), variable.value.as_str()));
    // The values of these two are harmless.
    let mut known: Vec<(&str, &str)> = values.chain([("PORT", ""), ("PS", "")]).collect();
    known.retain(|(name, _)| command.contains(&format!("${name}")));
    let mut state = State::default();
    for (at, c) in command.char_indices() {
        let (before, rest) = command.split_at(at);
        let mut inserted =
            known.iter().filter_map(|(name, value)| Some((name, value, rest.strip_prefix('$')?.strip_prefix(name)?)));
        if let Some(difference) = inserted.find_map(|(name, value, rest)| state.difference(before, rest, name, value)) {
            return Some(difference);
        }
        state.advance(c);
    }
    None
}

/// The quoting at a character of the command, as a shell sees it.
#[derive(Default)]
struct State {
    quote: Option<char>,
    /// The character before is a backslash or a dollar that belongs with this one.
    escaped: bool,
}

impl State {
    fn advance(&mut self, c: char) {
        let escaped = std::mem::take(&mut self.escaped);
        match (c, self.quote) {
            _ if escaped => {}
            ('\\' | '$', None | Some('"')) => self.escaped = true,
            ('\'' | '"', None) => self.quote = Some(c),
            (c, Some(quote)) if c == quote => self.quote = None,
            _ => {}
        }
    }

    /// What foreman does to `$NAME`, between these parts of the command.
    fn difference(&self, before: &str, rest: &str, name: &str, value: &str) -> Option<String> {
        if rest.starts_with(continues_name) {
            return Some(format!("foreman inserts the value of `${name}`, although its name continues"));
        }
        if self.escaped || self.quote == Some('\'') {
            return Some(format!("foreman inserts the value of `${name}` where a shell does not"));
        }
        let other = before.trim_end_matches(continues_name);
        let extends_variable = other.len() < before.len() && other.ends_with('$');
        let special = match self.quote {
            Some(_) => value.contains(['"', '$', '`', '\\']),
            None => value.contains(|c: char| !c.is_ascii_alphanumeric() && !"_@%+:,./- ".contains(c)),
        };
        (extends_variable || special).then(|| {
            format!("foreman inserts the value of `${name}` into the command of the shell, which then interprets it")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_makes_a_difference_is_reported() {
        let variable = |(name, value): (&str, &str)| Variable { name: name.to_owned(), value: value.to_owned() };
        let variables = [("PLAIN", "a/b c"), ("SPECIAL", "a;b"), ("QUOTE", "say \"x\"")].map(variable);
        for command in [
            "x $PORT -a \"$PORT\" ${PORTAL} $OTHER '$OTHER'",
            "x $PLAIN \"$PLAIN $SPECIAL\"",
            "x ${SPECIAL} '${SPECIAL}' $QUOT",
            "x \"it's $PLAIN\"",
        ] {
            assert_eq!(difference(command, &variables), None, "{command}");
        }
        for (command, why) in [
            ("x $PORTAL", "although its name continues"),
            ("x $PLAINER", "although its name continues"),
            ("sh -c 'x $PORT'", "where a shell does not"),
            ("x \\$PORT", "where a shell does not"),
            ("x $$PORT", "where a shell does not"),
            ("x $OTHER$PORT", "which then interprets it"),
            ("x $SPECIAL", "which then interprets it"),
            ("x \"$QUOTE\"", "which then interprets it"),
        ] {
            let said = difference(command, &variables).unwrap_or_default();
            assert!(said.ends_with(why), "{command}: {said}");
        }
    }
}
