//! The manual knows every key that the program takes, and groff has nothing to say against it.

use copse::model::keys;

const PAGE: &str = include_str!("../man/copse.toml.5");

/// The words that entries of the manual begin with, as roff writes them.
fn entries() -> Vec<String> {
    let lines: Vec<&str> = PAGE.lines().collect();
    let tags = lines.windows(2).filter(|pair| pair[0] == ".TP").map(|pair| pair[1].replace("\\-", "-"));
    tags.flat_map(|tag| {
        tag.split("\\fB").skip(1).map(|part| part.split("\\fR").next().unwrap_or("").to_owned()).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn every_key_has_an_entry_in_the_manual() {
    let entries = entries();
    let documented = |key: &str| {
        entries.iter().any(|entry| entry == key)
            || key.strip_suffix("-mode").is_some_and(|of| entries.iter().any(|entry| entry == of))
    };
    let all = keys::KEYS.iter().map(|key| key.name).chain(keys::GROUP_KEYS.iter().copied());
    let missing: Vec<&str> = all.filter(|key| !documented(key)).collect();
    assert!(missing.is_empty(), "man/copse.toml.5 has no entry for {missing:?}");
}

#[test]
fn the_manual_names_no_key_that_is_not_there() {
    let not_keys = ["tcp", "unix", "http", "file", "command", "fd", "listening", "status", "interval-sec", "failures"];
    let known =
        |entry: &str| keys::find(entry).is_some() || keys::GROUP_KEYS.contains(&entry) || not_keys.contains(&entry);
    // Placeholders, unit names and paths aren't keys.
    let lower_case =
        |entry: &&String| entry.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !entry.starts_with('-');
    let unknown: Vec<_> = entries().into_iter().filter(|entry| lower_case(&entry) && !known(entry)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
