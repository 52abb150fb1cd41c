//! Python's `shlex`, in the two ways in which supervisor uses it.

use super::expanded::{Expanded, Part};

const WHITESPACE: &str = " \t\r\n";
const QUOTES: &str = "'\"";

/// `shlex.split(command)`: words as a POSIX shell splits them, without comments, variables or patterns.
///
/// # Errors
/// A quote that isn't closed, or a backslash at the end.
pub fn split(command: &Expanded) -> Result<Vec<Expanded>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<Expanded> = None;
    let mut parts = command.0.iter();
    let mut quote = None;
    while let Some(part) = parts.next() {
        match (part, quote) {
            (Part::Char(c), Some(open)) if *c == open => quote = None,
            (Part::Char('\\'), None | Some('"')) => {
                let escaped = parts.next().ok_or("there is nothing behind the last backslash")?;
                let into = word.get_or_insert_default();
                // Between quotes a backslash is one, unless it stands before a quote or another backslash.
                if quote.is_some() && !matches!(escaped, Part::Char('\\' | '"')) {
                    into.0.push(Part::Char('\\'));
                }
                into.0.push(escaped.clone());
            }
            (Part::Char(c), None) if WHITESPACE.contains(*c) => words.extend(word.take()),
            (Part::Char(c), None) if QUOTES.contains(*c) => {
                quote = Some(*c);
                word.get_or_insert_default();
            }
            (Part::Env(name, _), Some(_)) => {
                word.get_or_insert_default().0.push(Part::Env(name.clone(), true));
            }
            (part, _) => word.get_or_insert_default().0.push(part.clone()),
        }
    }
    if quote.is_some() {
        return Err("a quote isn't closed");
    }
    words.extend(word);
    Ok(words)
}

/// `list(shlex.shlex(text))` with `wordchars += '/.+-():'`: words, quoted texts with their quotes, and every other
/// character alone.
///
/// # Errors
/// A quote that isn't closed.
fn tokens(text: &Expanded) -> Result<Vec<Expanded>, &'static str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_/.+-():".contains(c);
    let mut tokens: Vec<Expanded> = Vec::new();
    // The word that goes on.
    let mut word: Option<Expanded> = None;
    let mut parts = text.0.iter();
    while let Some(part) = parts.next() {
        match part {
            Part::Char(c) if WHITESPACE.contains(*c) => tokens.extend(word.take()),
            // Up to the end of the line. A word goes on behind it: that's how shlex is.
            Part::Char('#') => while parts.next().is_some_and(|part| *part != Part::Char('\n')) {},
            Part::Char(c) if QUOTES.contains(*c) && word.is_none() => {
                let mut quoted = Expanded(vec![part.clone()]);
                loop {
                    let next = parts.next().ok_or("a quote isn't closed")?;
                    quoted.0.push(next.clone());
                    if next == part {
                        break;
                    }
                }
                tokens.push(quoted);
            }
            Part::Char(c) if !is_word(*c) && !QUOTES.contains(*c) => {
                tokens.extend(word.take());
                tokens.push(Expanded(vec![part.clone()]));
            }
            part => word.get_or_insert_default().0.push(part.clone()),
        }
    }
    tokens.extend(word);
    Ok(tokens)
}

/// `dict_of_key_value_pairs`: `KEY="value",OTHER=word`. Of the same key the last counts, where the first stands.
///
/// # Errors
/// What supervisord would say no to.
pub fn pairs(text: &Expanded) -> Result<Vec<(Expanded, Expanded)>, &'static str> {
    let tokens = tokens(text)?;
    let mut pairs: Vec<(Expanded, Expanded)> = Vec::new();
    // Whatever stands where the comma should be is passed over.
    for chunk in tokens.chunks(4) {
        let [key, equals, value, ..] = chunk else {
            return Err("it isn't `NAME=\"value\"`, with a comma between one and the next");
        };
        if *equals != Expanded::from("=") {
            return Err("it isn't `NAME=\"value\"`, with a comma between one and the next");
        }
        let value = value.trimmed(|c| QUOTES.contains(c));
        match pairs.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = value,
            None => pairs.push((key.clone(), value)),
        }
    }
    Ok(pairs)
}
