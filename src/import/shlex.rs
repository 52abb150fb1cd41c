//! Python's `shlex`, as supervisord and honcho use it.
//!
//! The crate of that name splits strings. Here the text may hold variables that have no value yet, and it matters whether
//! they are quoted.

/// A character of the text, or something that stands for text.
pub trait Symbol: Clone + PartialEq {
    fn char(&self) -> Option<char>;

    /// The symbol between quotes.
    fn quoted(&self) -> Self;
}

impl Symbol for char {
    fn char(&self) -> Option<char> {
        Some(*self)
    }

    fn quoted(&self) -> Self {
        *self
    }
}

const WHITESPACE: &str = " \t\r\n";
pub const QUOTES: &str = "'\"";
const OPEN_QUOTE: &str = "a quote is not closed";

/// `shlex.split(text)`, or without `whitespace_split` `list(shlex.shlex(text, posix=True))`: then `#` begins a comment, and
/// each character that is no part of a word is a token.
///
/// # Errors
/// A quote that is not closed, or a backslash at the end.
pub fn posix<S: Symbol>(text: &[S], whitespace_split: bool) -> Result<Vec<Vec<S>>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<Vec<S>> = None;
    let mut quote = None;
    let mut symbols = text.iter();
    while let Some(symbol) = symbols.next() {
        match (symbol.char(), quote) {
            (Some(c), Some(open)) if c == open => quote = None,
            (Some('\\'), None | Some('"')) => {
                let escaped = symbols.next().ok_or("nothing follows the last backslash")?;
                // Between quotes a backslash escapes a quote and a backslash only.
                let literal = quote.is_some() && !matches!(escaped.char(), Some('\\' | '"'));
                word.get_or_insert_default()
                    .extend(literal.then(|| symbol.clone()).into_iter().chain([escaped.clone()]));
            }
            (Some(c), None) if WHITESPACE.contains(c) => words.extend(word.take()),
            (Some(c), None) if QUOTES.contains(c) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some('#'), None) if !whitespace_split => break,
            (Some(c), None) if !whitespace_split && !is_letter(c) => {
                words.extend(word.take());
                words.push(vec![symbol.clone()]);
            }
            (_, Some(_)) => word.get_or_insert_default().push(symbol.quoted()),
            (_, None) => word.get_or_insert_default().push(symbol.clone()),
        }
    }
    words.extend(word);
    if quote.is_some() { Err(OPEN_QUOTE) } else { Ok(words) }
}

/// `wordchars` with `posix=True`: ASCII, and the letters of Latin-1 but for `ª`, `µ` and `º`.
fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || matches!(c, 'À'..='ÿ') && !matches!(c, '×' | '÷')
}

/// `list(shlex.shlex(text))` with `wordchars += '/.+-():'`, as supervisord reads `environment`: words, quoted texts with
/// their quotes, and each other character alone.
///
/// # Errors
/// A quote that is not closed.
pub fn tokens<S: Symbol>(text: &[S]) -> Result<Vec<Vec<S>>, &'static str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_/.+-():".contains(c);
    let mut tokens: Vec<Vec<S>> = Vec::new();
    let mut word: Option<Vec<S>> = None;
    let mut symbols = text.iter();
    while let Some(symbol) = symbols.next() {
        match symbol.char() {
            Some(c) if WHITESPACE.contains(c) => tokens.extend(word.take()),
            // A comment ends with the line; the word before it goes on there.
            Some('#') => while symbols.next().is_some_and(|symbol| symbol.char() != Some('\n')) {},
            Some(c) if QUOTES.contains(c) && word.is_none() => {
                let rest = symbols.as_slice();
                let end = rest.iter().position(|symbol| symbol.char() == Some(c)).ok_or(OPEN_QUOTE)?;
                tokens.push([std::slice::from_ref(symbol), &rest[..=end]].concat());
                symbols = rest[end + 1..].iter();
            }
            Some(c) if !is_word(c) && !QUOTES.contains(c) => {
                tokens.extend(word.take());
                tokens.push(vec![symbol.clone()]);
            }
            _ => word.get_or_insert_default().push(symbol.clone()),
        }
    }
    tokens.extend(word);
    Ok(tokens)
}
