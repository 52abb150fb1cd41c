//! Time spans in the grammar of systemd.time(7), "Parsing time spans".
//!
//! Group files take spans as systemd writes them, and `copse-notify` takes
//! them on its command line; both read them here, so that `"1min 30s"` means
//! the same everywhere. Resolution is one microsecond, as in systemd; what is
//! finer is cut off.

use std::fmt;
use std::time::Duration;

/// A span of time, or none that ever ends.
///
/// systemd gives `infinity` a meaning of its own in nearly every directive
/// (`TimeoutStartSec=infinity` switches the time-out off), so it is a value
/// of its own here instead of a very long duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Span {
    /// A span that ends; a whole number of microseconds.
    Finite(Duration),
    /// `infinity`: never.
    Infinity,
}

impl Span {
    /// The duration, or `None` for [`Span::Infinity`].
    pub fn finite(self) -> Option<Duration> {
        match self {
            Span::Finite(duration) => Some(duration),
            Span::Infinity => None,
        }
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Span::Finite(duration)
    }
}

impl fmt::Display for Span {
    /// The span as systemd would write it, exact to the microsecond; what is
    /// printed parses back to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format(*self))
    }
}

const SECOND: u64 = 1_000_000;

/// Suffix and length in microseconds. The first that the text starts with is
/// taken, so a suffix stands before those that are its beginning: `months`
/// before `m`, `min` before `m`, but `M` is a month and `m` a minute.
const UNITS: &[(&str, u64)] = &[
    ("seconds", SECOND),
    ("second", SECOND),
    ("sec", SECOND),
    ("s", SECOND),
    ("minutes", 60 * SECOND),
    ("minute", 60 * SECOND),
    ("min", 60 * SECOND),
    ("months", MONTH),
    ("month", MONTH),
    ("M", MONTH),
    ("msec", 1_000),
    ("ms", 1_000),
    ("m", 60 * SECOND),
    ("hours", 3_600 * SECOND),
    ("hour", 3_600 * SECOND),
    ("hr", 3_600 * SECOND),
    ("h", 3_600 * SECOND),
    ("days", 86_400 * SECOND),
    ("day", 86_400 * SECOND),
    ("d", 86_400 * SECOND),
    ("weeks", 7 * 86_400 * SECOND),
    ("week", 7 * 86_400 * SECOND),
    ("w", 7 * 86_400 * SECOND),
    ("years", YEAR),
    ("year", YEAR),
    ("y", YEAR),
    ("usec", 1),
    ("us", 1),
    ("µs", 1), // U+00B5, the micro sign
    ("μs", 1), // U+03BC, the Greek letter
];

/// 30.44 days and 365.25 days, as systemd.time(7) says.
const MONTH: u64 = 2_629_800 * SECOND;
const YEAR: u64 = 31_557_600 * SECOND;

/// systemd's `WHITESPACE`.
fn skip_blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r'])
}

/// Reads a span: `500ms`, `1min 30s`, `1.5h`, `infinity`; a number without a
/// unit is seconds.
///
/// # Errors
/// One lower-case sentence that names the text, without a final stop: what
/// isn't in systemd's grammar, a negative span, or one beyond 2⁶⁴ µs.
pub fn parse(text: &str) -> Result<Span, String> {
    let mut rest = skip_blanks(text);
    if rest.is_empty() {
        return Err("a time span can't be empty".to_owned());
    }
    if let Some(after) = rest.strip_prefix("infinity") {
        return match skip_blanks(after) {
            "" => Ok(Span::Infinity),
            _ => Err(not_a_span(text)),
        };
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (microseconds, after) = parse_component(rest, text)?;
        total = total.checked_add(microseconds).ok_or_else(|| too_long(text))?;
        rest = skip_blanks(after);
    }
    // The highest value is systemd's own `USEC_INFINITY`.
    if total == u64::MAX {
        return Err(too_long(text));
    }
    Ok(Span::Finite(Duration::from_micros(total)))
}

/// Reads a span that has to end.
///
/// # Errors
/// As [`parse`], and for `infinity`.
pub fn parse_finite(text: &str) -> Result<Duration, String> {
    match parse(text)? {
        Span::Finite(duration) => Ok(duration),
        Span::Infinity => Err("`infinity` isn't possible here".to_owned()),
    }
}

/// One number with its unit, in microseconds, and what follows it.
fn parse_component<'t>(rest: &'t str, whole: &str) -> Result<(u64, &'t str), String> {
    if rest.starts_with('-') {
        return Err(format!("`{whole}` is negative, a time span can't be"));
    }
    // strtoll(), which systemd reads the number with, takes a plus sign.
    let unsigned = rest.strip_prefix('+').unwrap_or(rest);
    let (integer, after) = split_digits(unsigned);
    if integer.is_empty() && !rest.starts_with('.') {
        return Err(not_a_span(whole));
    }
    let (fraction, after) = match after.strip_prefix('.').map(split_digits) {
        Some(("", _)) => return Err(not_a_span(whole)),
        Some(split) => split,
        None => ("", after),
    };
    let at_unit = skip_blanks(after);
    let (unit, next) = UNITS
        .iter()
        .find_map(|(suffix, unit)| Some((*unit, at_unit.strip_prefix(suffix)?)))
        .unwrap_or((SECOND, at_unit));
    // Neither unit nor blank between two numbers: "12.34.56" isn't one.
    if next.len() == after.len() && !next.is_empty() {
        return Err(not_a_span(whole));
    }
    let number = if integer.is_empty() { Some(0) } else { integer.parse::<u64>().ok() };
    let microseconds = number
        // The two limits are systemd's: a `long long`, and strictly less than
        // the units that fit into 64 bits.
        .filter(|number| i64::try_from(*number).is_ok() && *number < u64::MAX / unit)
        .and_then(|number| number.checked_mul(unit))
        .and_then(|whole_part| whole_part.checked_add(fraction_of(fraction, unit)))
        .ok_or_else(|| too_long(whole))?;
    Ok((microseconds, next))
}

/// The fraction's digits as microseconds of `unit`, each digit cut off on its
/// own, as systemd does it.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let mut scale = unit / 10;
    let mut sum = 0;
    for digit in digits.bytes() {
        sum += u64::from(digit - b'0') * scale;
        scale /= 10;
    }
    sum
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn not_a_span(text: &str) -> String {
    format!("`{text}` isn't a time span; write it like `30s`, `1min 30s` or `500ms`")
}

fn too_long(text: &str) -> String {
    format!("`{text}` is longer than systemd can count")
}

/// Writes a span the way systemd does: `1min 30s`, `1s 500ms`, `0`,
/// `infinity`. Exact to the microsecond; [`parse`] reads it back (up to
/// 584,541 years, where systemd's counting ends).
pub fn format(span: impl Into<Span>) -> String {
    let Span::Finite(duration) = span.into() else {
        return "infinity".to_owned();
    };
    let mut rest = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX - 1);
    if rest == 0 {
        return "0".to_owned();
    }
    let mut text = String::new();
    for (suffix, unit) in [
        ("y", YEAR),
        ("month", MONTH),
        ("w", 7 * 86_400 * SECOND),
        ("d", 86_400 * SECOND),
        ("h", 3_600 * SECOND),
        ("min", 60 * SECOND),
        ("s", SECOND),
        ("ms", 1_000),
        ("us", 1),
    ] {
        let count = rest / unit;
        rest %= unit;
        if count > 0 {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&count.to_string());
            text.push_str(suffix);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(text: &str) -> u64 {
        u64::try_from(parse_finite(text).unwrap().as_micros()).unwrap()
    }

    /// Text and the `μs:` line that `systemd-analyze timespan` (252) printed.
    const ACCEPTED: &[(&str, u64)] = &[
        ("0", 0),
        ("5", 5000000),
        ("500ms", 500000),
        ("1min 30s", 90000000),
        ("1min30s", 90000000),
        ("2h", 7200000000),
        ("2 h", 7200000000),
        ("1.5h", 5400000000),
        ("0.5s", 500000),
        (".5s", 500000),
        ("1 2", 3000000),
        ("12.34 .56", 12900000),
        ("12.34s.56", 12900000),
        ("3month", 7889400000000),
        ("3M", 7889400000000),
        ("3m", 180000000),
        ("2months", 5259600000000),
        ("1y", 31557600000000),
        ("1year 2weeks", 32767200000000),
        ("1w", 604800000000),
        ("1d", 86400000000),
        ("1day", 86400000000),
        ("2hours 3hr", 18000000000),
        ("7us", 7),
        ("7usec", 7),
        ("7µs", 7),
        ("7μs", 7),
        ("5 seconds", 5000000),
        ("5sec5msec", 5005000),
        ("1.234567891s", 1234567),
        ("+5s", 5000000),
        ("9223372036854775807us", 9223372036854775807),
        (" 10s ", 10000000),
        ("\t10s\n", 10000000),
        ("1.0000001s", 1000000),
        ("1.9us", 1),
        ("00012s", 12000000),
    ];

    /// What `systemd-analyze timespan` (252) refused.
    const REFUSED: &[&str] = &[
        "1.",
        "1.s",
        "12.34.56",
        "++5s",
        "5 mins",
        "s",
        "",
        "  ",
        "x",
        "5x",
        "1e3",
        "5S",
        "5 MIN",
        "0x10",
        "-5",
        "- 5",
        "5 -3",
        "1,5s",
        "9223372036854775808us",
        "584542y",
        "9999999y",
        "5s;",
        "infinity1",
        "Infinity",
        "inf",
        "+ 5",
        "+.5s",
        "1ss",
    ];

    #[test]
    fn spans_mean_what_systemd_says_they_mean() {
        for (text, expected) in ACCEPTED {
            assert_eq!(micros(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn what_systemd_refuses_is_refused() {
        for text in REFUSED {
            assert!(parse(text).is_err(), "{text:?} was taken");
        }
    }

    #[test]
    fn infinity_is_a_value_of_its_own() {
        assert_eq!(parse("infinity"), Ok(Span::Infinity));
        assert_eq!(parse(" infinity\n"), Ok(Span::Infinity));
        assert!(parse("infinity 1s").is_err());
        assert_eq!(parse_finite("infinity").unwrap_err(), "`infinity` isn't possible here");
        assert_eq!(format(Span::Infinity), "infinity");
    }

    #[test]
    fn errors_say_what_is_wrong() {
        assert_eq!(parse(" ").unwrap_err(), "a time span can't be empty");
        assert_eq!(parse("-1s").unwrap_err(), "`-1s` is negative, a time span can't be");
        assert_eq!(
            parse("5 mins").unwrap_err(),
            "`5 mins` isn't a time span; write it like `30s`, `1min 30s` or `500ms`"
        );
        assert_eq!(parse("9999999y").unwrap_err(), "`9999999y` is longer than systemd can count");
    }

    #[test]
    fn format_writes_systemds_words() {
        for (expected, duration) in [
            ("0", Duration::ZERO),
            ("1us", Duration::from_micros(1)),
            ("500ms", Duration::from_millis(500)),
            ("1min 30s", Duration::from_secs(90)),
            ("1s 500ms", Duration::from_millis(1500)),
            ("1d 2h", Duration::from_secs(26 * 3600)),
        ] {
            assert_eq!(format(duration), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read_back(microseconds in 0u64..584_000 * YEAR) {
            let span = Span::Finite(Duration::from_micros(microseconds));
            proptest::prop_assert_eq!(parse(&format(span)), Ok(span));
        }

        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in "\\PC{0,20}|[0-9 .a-zA-Z+-]{0,30}") {
            let _ = parse(&text);
        }
    }
}
