//! The table of what was measured, in markdown.

use std::fmt::Write as _;
use std::time::Duration;

use crate::{Event, Round};

/// A cell for the package, one for the group, and how they compare.
pub fn table(rounds: &[[Round; 2]]) -> String {
    let mut text = format!("| median, worst of {} rounds | as packaged | as a group | ratio |\n", rounds.len());
    text += "|---|---|---|---|\n";
    let memory = |round: &Round| f64::from(round.memory.values().sum::<u32>()) / 1024.0;
    row(&mut text, "memory next to the workers (PSS)", rounds, memory, mebibytes);
    let parts = [0, 1].map(|of| parts(rounds, of));
    let _ = writeln!(text, "| – made up of | {} | {} | |", parts[0], parts[1]);
    row(&mut text, "start, to the first answer", rounds, |round| round.first_answer.as_secs_f64(), seconds);
    row(&mut text, "start, until `systemctl start` returns", rounds, |round| round.started.as_secs_f64(), seconds);
    event_rows(&mut text, "manager restarted", rounds, |round| Some(round.manager_restarted));
    event_rows(&mut text, "upgraded", rounds, |round| Some(round.upgraded));
    event_rows(&mut text, "manager killed", rounds, |round| Some(round.manager_killed));
    event_rows(&mut text, "process on top killed", rounds, |round| round.top_killed);
    text
}

fn event_rows(text: &mut String, name: &str, rounds: &[[Round; 2]], event: impl Fn(&Round) -> Option<Event>) {
    let seen = |of: usize| rounds.iter().map(|round| event(&round[of])).collect::<Option<Vec<Event>>>();
    let (Some(package), Some(group)) = (seen(0), seen(1)) else {
        let fates = [0, 1].map(|of| seen(of).map_or("there is none".to_owned(), |events| fate(&events)));
        let _ = writeln!(text, "| {name} | {} | {} | |", fates[0], fates[1]);
        return;
    };
    if package.iter().chain(&group).all(|event| event.survived) {
        let lost = |round: &Round| event(round).map_or(0.0, |event| f64::from(event.asked.lost));
        row(text, &format!("{name}: queries lost"), rounds, lost, |lost| format!("{lost:.0}"));
        let silence = |round: &Round| event(round).map_or(0.0, |event| event.asked.silence.as_secs_f64());
        row(text, "– longest time without an answer", rounds, silence, seconds);
        let kept = [&package, &group].map(|events| kept(events));
        let _ = writeln!(text, "| – the workers ran on | {} | {} | |", kept[0], kept[1]);
    } else {
        let _ = writeln!(text, "| {name} | {} | {} | |", fate(&package), fate(&group));
    }
}

fn fate(events: &[Event]) -> String {
    match events.iter().filter(|event| !event.survived).count() {
        0 => "it ran on".to_owned(),
        gone if gone == events.len() => "the service is gone for good".to_owned(),
        gone => format!("the service was gone for good {gone} times of {}", events.len()),
    }
}

fn kept(events: &[Event]) -> String {
    match events.iter().filter(|event| event.workers_kept).count() {
        0 => "no".to_owned(),
        kept if kept == events.len() => "yes".to_owned(),
        kept => format!("{kept} times of {}", events.len()),
    }
}

fn row(
    text: &mut String,
    name: &str,
    rounds: &[[Round; 2]],
    value: impl Fn(&Round) -> f64,
    show: impl Fn(f64) -> String,
) {
    let cells = [0, 1].map(|of| {
        let values = rounds.iter().map(|round| value(&round[of])).collect();
        let (median, worst) = median_and_worst(values);
        format!("{}, {}", show(median), show(worst))
    });
    let ratios = rounds.iter().map(|[package, group]| value(group) / value(package)).collect();
    let (ratio, _) = median_and_worst(ratios);
    let ratio = if ratio.is_finite() { format!("{ratio:.2}") } else { String::new() };
    let _ = writeln!(text, "| {name} | {} | {} | {ratio} |", cells[0], cells[1]);
}

fn median_and_worst(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
    (median, values[values.len() - 1])
}

/// The medians of the programs, the largest first.
fn parts(rounds: &[[Round; 2]], of: usize) -> String {
    let mut parts: Vec<(f64, &str)> = rounds[0][of]
        .memory
        .keys()
        .map(|&name| {
            let values = rounds.iter().filter_map(|round| round[of].memory.get(name));
            (median_and_worst(values.map(|&kib| f64::from(kib) / 1024.0).collect()).0, name)
        })
        .collect();
    parts.sort_by(|one, other| other.0.total_cmp(&one.0));
    parts.iter().map(|(mib, name)| format!("{name} {}", mebibytes(*mib))).collect::<Vec<_>>().join(", ")
}

fn mebibytes(mib: f64) -> String {
    format!("{mib:.1} MiB")
}

fn seconds(seconds: f64) -> String {
    match Duration::from_secs_f64(seconds) {
        short if short < Duration::from_millis(100) => format!("{} ms", short.as_millis()),
        long => format!("{:.2} s", long.as_secs_f64()),
    }
}
