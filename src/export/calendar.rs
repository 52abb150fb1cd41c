//! Calendar events of systemd.time(7) as the five fields of cron.

/// A schedule, with its time zone if the event has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pub fields: String,
    pub zone: Option<String>,
}

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

const WORDS: &[(&str, &str)] = &[
    ("minutely", "* * * * *"),
    ("hourly", "0 * * * *"),
    ("daily", "0 0 * * *"),
    ("weekly", "0 0 * * 1"),
    ("monthly", "0 0 1 * *"),
    ("quarterly", "0 0 1 1,4,7,10 *"),
    ("semiannually", "0 0 1 1,7 *"),
    ("semi-annually", "0 0 1 1,7 *"),
    ("biannually", "0 0 1 1,7 *"),
    ("bi-annually", "0 0 1 1,7 *"),
    ("yearly", "0 0 1 1 *"),
    ("annually", "0 0 1 1 *"),
];

/// The schedule of a valid event; `None` if five fields cannot express it.
pub fn schedule(event: &str) -> Option<Schedule> {
    let event = event.trim();
    if let Some(fields) = fields(event) {
        return Some(Schedule { fields, zone: None });
    }
    let (event, zone) = event.rsplit_once(' ')?;
    let is_zone = zone.starts_with(|c: char| c.is_ascii_uppercase());
    let fields = fields(event.trim_end()).filter(|_| is_zone)?;
    Some(Schedule { fields, zone: Some(zone.to_owned()) })
}

fn fields(event: &str) -> Option<String> {
    let event = event.to_ascii_lowercase();
    if let Some((_, fields)) = WORDS.iter().find(|(word, _)| *word == event) {
        return Some((*fields).to_owned());
    }
    let mut parts = event.split_ascii_whitespace().peekable();
    let weekdays = parts.peek().and_then(|part| weekdays(part));
    if weekdays.is_some() {
        parts.next();
    }
    let date = parts.peek().filter(|part| !part.contains(':')).copied();
    if date.is_some() {
        parts.next();
    }
    let time = parts.next();
    if parts.next().is_some() || weekdays.is_none() && date.is_none() && time.is_none() {
        return None;
    }
    let (month, day) = date.map_or_else(|| Some(("*".to_owned(), "*".to_owned())), month_and_day)?;
    let (hour, minute) = time.map_or_else(|| Some(("0".to_owned(), "0".to_owned())), hour_and_minute)?;
    let weekday = weekdays.unwrap_or_else(|| "*".to_owned());
    // cron runs if either of the two matches, systemd if both do.
    let is_either = weekday != "*" && day != "*";
    (!is_either).then(|| format!("{minute} {hour} {day} {month} {weekday}"))
}

/// cron counts from Sunday, and has no 7.
fn weekdays(text: &str) -> Option<String> {
    let number = |name: &str| DAYS.iter().position(|day| name.starts_with(day) && name.len() != 2);
    let mut fields = Vec::new();
    for range in text.split(',') {
        let mut ends = range.split("..").flat_map(|part| part.split('-')).map(number);
        let first = ends.next()??;
        let last = ends.last().unwrap_or(Some(first))?;
        match (first, last) {
            (first, last) if first == last => fields.push(((first + 1) % 7).to_string()),
            (0, 6) => fields.push("*".to_owned()),
            (first, 6) => fields.push(format!("0,{}-6", first + 1)),
            (first, last) => fields.push(format!("{}-{}", first + 1, last + 1)),
        }
    }
    Some(fields.join(","))
}

/// `*-*-1`, `05-01`; neither a year nor days counted from the end of the month.
fn month_and_day(text: &str) -> Option<(String, String)> {
    if text.contains('~') {
        return None;
    }
    let parts: Vec<&str> = text.split('-').collect();
    let (month, day) = match parts[..] {
        [month, day] => (month, day),
        ["*", month, day] => (month, day),
        _ => return None,
    };
    Some((list(month, 1, 12)?, list(day, 1, 31)?))
}

/// `10:00`, `*:0/15:00`.
fn hour_and_minute(text: &str) -> Option<(String, String)> {
    let parts: Vec<&str> = text.split(':').collect();
    let (hour, minute) = match parts[..] {
        [hour, minute] => (hour, minute),
        [hour, minute, seconds] if seconds.parse() == Ok(0) => (hour, minute),
        _ => return None,
    };
    Some((list(hour, 0, 23)?, list(minute, 0, 59)?))
}

/// A field: `*`, numbers, ranges and repetitions.
fn list(text: &str, low: u32, high: u32) -> Option<String> {
    if text == "*" {
        return Some("*".to_owned());
    }
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| (low..=high).contains(number));
    let part = |part: &str| {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let step = match step {
            Some(step) => Some(step.parse::<u32>().ok()?),
            None => None,
        };
        Some(match (range.split_once(".."), step) {
            (None, None) => number(range)?.to_string(),
            (None, Some(step)) if range == "*" || number(range)? == low => format!("*/{step}"),
            (None, Some(step)) => format!("{}-{high}/{step}", number(range)?),
            (Some((first, last)), None) => format!("{}-{}", number(first)?, number(last)?),
            (Some((first, last)), Some(step)) => format!("{}-{}/{step}", number(first)?, number(last)?),
        })
    };
    let parts: Option<Vec<String>> = text.split(',').map(part).collect();
    Some(parts?.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_five_fields_can_express() {
        for (event, fields, zone) in [
            ("hourly", "0 * * * *", None),
            ("weekly UTC", "0 0 * * 1", Some("UTC")),
            ("Mon..Fri 10:00", "0 10 * * 1-5", None),
            ("Sat,Sun 04:05:00", "5 4 * * 6,0", None),
            ("Fri..Sun 1:00", "0 1 * * 0,5-6", None),
            ("*:0/15", "*/15 * * * *", None),
            ("*-*-* 4:10/20 Europe/Berlin", "10-59/20 4 * * *", Some("Europe/Berlin")),
            ("*-*-1 04:30", "30 4 1 * *", None),
            ("05-01", "0 0 1 5 *", None),
            ("*-1,7-1..7 8..18/2:00", "0 8-18/2 1-7 1,7 *", None),
            ("monday", "0 0 * * 1", None),
        ] {
            let expected = Schedule { fields: fields.to_owned(), zone: zone.map(str::to_owned) };
            assert_eq!(schedule(event), Some(expected), "{event}");
        }
    }

    #[test]
    fn what_they_cannot() {
        for event in ["2027-01-01", "*-*-1 10:00:30", "Mon *-*-1", "*-02~1", "*:*:0/10", "@1700000000"] {
            assert_eq!(schedule(event), None, "{event}");
        }
    }
}
