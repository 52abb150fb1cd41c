//! What foreman does to a command before a shell reads it: it puts the text of each variable that it knows in place of
//! `$NAME`, wherever that stands (`Foreman::Process#expanded_command`). Nobody else does; here, as with honcho, it is the
//! shell that reads a variable.

use super::goes_on;
use crate::import::dotenv::Variable;

/// Why the shell that foreman starts reads the command otherwise than the shell would by itself; `None` where it makes no
/// difference.
pub(super) fn differs(command: &str, variables: &[Variable]) -> Option<String> {
    let values = variables.iter().map(|variable| (variable.name.as_str(), variable.value.as_str()));
    // A port and a process's name are harmless in themselves.
    let mut known: Vec<(&str, &str)> = values.chain([("PORT", ""), ("PS", "")]).collect();
    known.retain(|(name, _)| command.contains(&format!("${name}")));
    let mut state = State::default();
    for (at, c) in command.char_indices() {
        if c == '$'
            && let Some(why) = known.iter().find_map(|(name, value)| state.differs(command.split_at(at), name, value))
        {
            return Some(why);
        }
        state.after(c);
    }
    None
}

/// Where in the command we are, as a shell sees it.
#[derive(Default)]
struct State {
    quote: Option<char>,
    /// The character before is a backslash or a dollar that takes this one.
    taken: bool,
}

impl State {
    fn after(&mut self, c: char) {
        let taken = std::mem::take(&mut self.taken);
        match (c, self.quote) {
            _ if taken => {}
            ('\\', None | Some('"')) | ('$', None | Some('"')) => self.taken = true,
            ('\'' | '"', None) => self.quote = Some(c),
            (c, Some(quote)) if c == quote => self.quote = None,
            _ => {}
        }
    }

    /// What is before a dollar, and what begins with it.
    fn differs(&self, (before, behind): (&str, &str), name: &str, value: &str) -> Option<String> {
        let rest = behind.strip_prefix('$')?.strip_prefix(name)?;
        if rest.starts_with(goes_on) {
            return Some(format!("foreman takes `${name}` for a variable here, though its name goes on"));
        }
        if self.taken || self.quote == Some('\'') {
            return Some(format!("foreman puts the value of `${name}` in, also where a shell wouldn't"));
        }
        let another = before.trim_end_matches(goes_on);
        let extends = another.len() < before.len() && another.ends_with('$');
        let special = extends
            || match self.quote {
                Some(_) => value.contains(['"', '$', '`', '\\']),
                None => value.contains(|c: char| !c.is_ascii_alphanumeric() && !"_@%+:,./- ".contains(c)),
            };
        special.then(|| format!("foreman puts the value of `${name}` in before the shell reads the line: there it is a part of the line, here it stays a value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_makes_a_difference_is_said() {
        let variable = |(name, value): (&str, &str)| Variable { name: name.to_owned(), value: value.to_owned() };
        let variables = [("PLAIN", "a/b c"), ("SPECIAL", "a;b"), ("QUOTE", "say \"x\"")].map(variable);
        for command in [
            "x $PORT -a \"$PORT\" ${PORTAL} $OTHER '$OTHER'",
            "x $PLAIN \"$PLAIN $SPECIAL\"",
            "x ${SPECIAL} '${SPECIAL}' $QUOT",
            "x \"it's $PLAIN\"",
        ] {
            assert_eq!(differs(command, &variables), None, "{command}");
        }
        for (command, why) in [
            ("x $PORTAL", "though its name goes on"),
            ("x $PLAINER", "though its name goes on"),
            ("sh -c 'x $PORT'", "also where a shell wouldn't"),
            ("x \\$PORT", "also where a shell wouldn't"),
            ("x $$PORT", "also where a shell wouldn't"),
            ("x $OTHER$PORT", "here it stays a value"),
            ("x $SPECIAL", "here it stays a value"),
            ("x \"$QUOTE\"", "here it stays a value"),
        ] {
            let said = differs(command, &variables).unwrap_or_default();
            assert!(said.ends_with(why), "{command}: {said}");
        }
    }
}
