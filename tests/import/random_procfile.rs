//! Random Procfiles and `.env` files: mostly in order, with every way of writing something that there is.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::procfile::Input;

/// Parts of commands.
#[rustfmt::skip]
const PARTS: &[&str] = &[
    "a", "b-c", "--d=e", " ", " ", "  ", "\t", "\"q r\"", "'s t'", "\"\"", "''", "\\ ", "\\\\", "\"u\\\"v\"", "'w\\x'", "\"w\\x\"",
    "$A", "${A}", "\"$A\"", "\"${B}\"", "$B", "${C:-none}", "$PORT", "${PORT}", "\"$PORT\"", "'$PORT'", "\\$PORT", "$PORTAL",
    "$PS", "$NONE", "{instance}", "{env:A}", "{{unit}}", "{x", "x}", "é", "日", "=", ":", ",", "%", "%i", "%%", "#c", " #c", "*", "?x",
    "[ab]", "~", "@", "+", "!", "^",
];

/// What begins a command, and what goes between two.
const BEGINS: &[&str] = &[
    "bin/show ",
    "show ",
    "./bin/show ",
    "/srv/procfile/bin/show ",
    "exec show ",
    "X=1 show ",
    "'bin/show' ",
    "env Y=2 show ",
];
const BETWEEN: &[&str] = &[" && show ", " || show ", "; show ", " | show ", " >/dev/null; show "];

/// Values as they are written in a `.env` file.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "a", "one-two", "two words", "\"two words\"", "'two words'", "", "\"\"", "a#b", "a # c", "#", "\"a\\nb\"", "'a\\nb'", "a\\nb", "\"q\\\"r\"",
    "\"a\\\\b\"", "$A", "'$A'", "postgres://u:p%40@h/d?x=1", "é", " padded ", "a;b", "a`b", "\"it's\"", "it's", "{\"a\": 1}", "a=b", "%h",
    "C:\\x", "\\", "a\tb",
];

/// A Procfile with its `.env` file.
pub fn input() -> impl Strategy<Value = Input> {
    let more = subsequence(vec!["worker", "Clock", "a_b-9", "release", "_x"], 0..4);
    // A group needs a process.
    let names = more.prop_map(|more| [&["web"], &more[..]].concat()).prop_shuffle();
    let entries = names.prop_flat_map(|names| {
        names.into_iter().map(|name| (Just(name), command(), select(vec![": ", ":", ":  ", ":\t"]))).collect::<Vec<_>>()
    });
    let noise = select(vec!["", "", "# comment\n", "\n", "no entry\n"]);
    let numbers = prop::option::weighted(0.4, (1..4_u16, 1..3_u16));
    let port = prop::option::weighted(0.3, select(vec![80, 3000, 9000]));
    (entries, noise, env(), numbers, port).prop_map(|(entries, noise, env, numbers, port)| {
        // Of both, foreman takes the option, and honcho the file.
        let port = port.filter(|_| !env.contains("PORT"));
        let lines = entries.iter().map(|(name, command, colon)| format!("{name}{colon}{command}\n"));
        let procfile = lines.collect::<Vec<_>>().join(noise);
        let formation = numbers.map(|(number, others)| format!("{}={number},all={others},release=1", entries[0].0));
        Input { procfile, env, formation, port }
    })
}

fn command() -> impl Strategy<Value = String> {
    let one =
        || (select(BEGINS), vec(select(PARTS), 0..7)).prop_map(|(begin, parts)| begin.to_owned() + &parts.concat());
    let more = prop::option::weighted(0.2, (select(BETWEEN), vec(select(PARTS), 0..4)));
    (one(), more).prop_map(|(first, more)| match more {
        Some((between, parts)) => first + between + &parts.concat(),
        None => first,
    })
}

fn env() -> impl Strategy<Value = String> {
    let name = select(vec!["A", "B", "C_1", "LONG_NAME", "A", "export D", "PORT"]);
    let line = (name, select(VALUES)).prop_map(|(name, value)| match name {
        "PORT" => "PORT=7000\n".to_owned(),
        name => format!("{name}={value}\n"),
    });
    vec(
        prop_oneof![8 => line, 1 => select(vec!["# comment\n", "\n", "nothing\n", "E = f\n"]).prop_map(str::to_owned)],
        0..4,
    )
    .prop_map(|lines| lines.concat())
}
