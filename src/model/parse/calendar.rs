//! The grammar of calendar events, systemd.time(7).
//!
//! A timer with a time that systemd cannot read never elapses, with nothing but a line in the log.

const WORDS: &[&str] = &[
    "minutely",
    "hourly",
    "daily",
    "weekly",
    "monthly",
    "quarterly",
    "semiannually",
    "semi-annually",
    "biannually",
    "bi-annually",
    "yearly",
    "annually",
];

const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// True if `text` is a calendar event. A time zone is not looked up: any text in the form of one is accepted.
pub fn is_event(text: &str) -> bool {
    let text = text.trim();
    let text = match text.rsplit_once(' ') {
        Some((event, zone)) if is_zone(zone) => event.trim_end(),
        _ => text,
    };
    let word = text.to_ascii_lowercase();
    WORDS.contains(&word.as_str()) || event(&word).is_some()
}

/// As in /usr/share/zoneinfo: `UTC`, `Europe/Berlin`, `Etc/GMT+3`.
fn is_zone(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_+-".contains(c);
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(plain)
        && days(&word.to_lowercase()).is_none()
}

/// Days of the week, a date, a time of day: at least one of them.
fn event(text: &str) -> Option<()> {
    if let Some(seconds) = text.strip_prefix('@') {
        return seconds.parse::<u64>().ok().map(|_| ());
    }
    let mut parts = text.split_ascii_whitespace().peekable();
    let mut any = parts.next_if(|part| days(part).is_some()).is_some();
    any |= parts.next_if(|part| date(part).is_some()).is_some();
    any |= parts.next_if(|part| time(part).is_some()).is_some();
    (any && parts.next().is_none()).then_some(())
}

/// `mon,wed`, `mon..fri`, `mon-fri`.
fn days(text: &str) -> Option<()> {
    let number = |name: &str| DAYS.iter().position(|day| *day == name || &day[..3] == name);
    text.split(',').try_for_each(|range| {
        let mut ends = range.split("..").flat_map(|part| part.split('-')).map(number);
        let mut last = ends.next()??;
        ends.try_for_each(|end| {
            let end = end.filter(|end| last <= *end)?;
            last = end;
            Some(())
        })
    })
}

/// `2024-05-01`, `*-*-1,15`, `05-01`; with `~` the day counts from the end of its month.
fn date(text: &str) -> Option<()> {
    let mut parts = text.split(['-', '~']);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() || text.matches('~').count() > 1 {
        return None;
    }
    match third {
        // A `~` stands in front of the day.
        Some(day) if !text[first.len()..].starts_with('~') => {
            year(first)?;
            list(second, 1, 12)?;
            list(day, 1, 31)
        }
        Some(_) => None,
        None => {
            list(first, 1, 12)?;
            list(second, 1, 31)
        }
    }
}

fn year(text: &str) -> Option<()> {
    // Two digits are a year of 1970 to 2069.
    list(text, 0, 99).or_else(|| list(text, 1970, 2199))
}

/// `10:00`, `*:0/15`, `2:30:15.5`.
fn time(text: &str) -> Option<()> {
    let mut parts = text.split(':');
    list(parts.next()?, 0, 23)?;
    list(parts.next()?, 0, 59)?;
    if let Some(seconds) = parts.next() {
        let whole = seconds.split(',').all(|part| part == "*" || part.split("..").all(is_decimal_or_repeated));
        whole.then_some(())?;
    }
    parts.next().is_none().then_some(())
}

fn is_decimal_or_repeated(text: &str) -> bool {
    let decimal = |text: &str| {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits(fraction) && digits(whole) && whole.parse::<u32>().is_ok_and(|whole| whole < 60)
    };
    match text.split_once('/') {
        Some((start, step)) => decimal(start) && decimal(step) && step.chars().any(|c| ('1'..='9').contains(&c)),
        None => decimal(text),
    }
}

/// `*`, or numbers, ranges `1..5` and repetitions `1/5`, separated by commas, all within the bounds.
fn list(text: &str, low: u32, high: u32) -> Option<()> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|number| digits && (low..=high).contains(number))
    };
    if text == "*" {
        return Some(());
    }
    text.split(',').try_for_each(|part| {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        if let Some(step) = step {
            step.parse::<u32>().ok().filter(|step| *step > 0)?;
        }
        match range.split_once("..") {
            Some((start, end)) => (number(start)? <= number(end)?).then_some(()),
            None => number(range).map(|_| ()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `systemd-analyze calendar` of 252.
    #[test]
    fn systemd_takes_the_same() {
        for good in [
            "daily",
            "Hourly",
            "weekly UTC",
            "Mon..Fri 10:00",
            "Mon,Tue",
            "mon-fri 10:00",
            "*-*-* 02:00:00 Europe/Berlin",
            "2024-02-30",
            "20-01-01",
            "01-01",
            "*:0/5",
            "*-*-1,15 04:30",
            "1..5:10",
            "@123",
            "monday *-*~07/1",
            "*-02~03",
            "*-*-* *:*:0/0.5",
            "10:00 CET",
        ] {
            assert!(is_event(good), "{good}");
        }
        for bad in [
            "",
            "every day",
            "dayly",
            "25:00",
            "24:00",
            "10",
            "5:",
            "12-*-1~3",
            "Mon 10:61",
            "2024-13-01",
            "00:00:60",
            "Sat..Mon",
            "Mon Tue",
            "Mon, Tue",
            "1 2 3",
            "Mon 2024",
            "*/5 * * * *",
            "*:0/0",
            "@",
        ] {
            assert!(!is_event(bad), "{bad}");
        }
    }
}
