//! Random files for supervisord: mostly in order, with every way of writing something that there is.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::compare::Input;

/// Parts of commands and of variables' values.
#[rustfmt::skip]
const PARTS: &[&str] = &[
    "a", "b-c", "--d=e", " ", "  ", " x ", "\t", "\"q r\"", "'s t'", "\"\"", "''", "\\ ", "\\\\", "\"u\\\"v\"", "\"w\\x\"",
    "'\\'", "$X", "${Y}", "*", "~", "{", "}", "{instance}", "{env:A}", "{{unit}}", "|", "&", "(", "é", "日", "=", ":", ",",
    ";c", " ;c", " #c", "#c", "x;", "%%", "%%(here)s", "%(program_name)s", "%(group_name)s", "%(here)s", "%(host_node_name)s",
    "%(process_num)d", "%(process_num)02d", "%(process_num)3d", "%(process_num)x", "%(process_num)s", "%(numprocs)d",
    "%(ENV_A)s", "%(ENV_B)s", "%(program_name)7s", "%(program_name)-7s", "%(program_name).2s",
    "%(ENV_A)r", "\n  ", "\n\t", "\n\n  ", "\n  ;c\n  ",
];

/// What supervisord refuses, at most places. (A lone `%s` isn't among it: Python shows its whole dictionary there.)
const BAD: &[&str] = &["%(ENV_OWN)s", "%", "%(nope)s", "%d", "\"", "'", "%(process_num)q", "%(ENV_A)d", "\nnothing\n"];

/// Options of a program with values, some of them wrong.
#[rustfmt::skip]
const OPTIONS: &[(&str, &[&str])] = &[
    ("autostart", &["true", "FALSE", "on", "0", "%(ENV_FLAG)s", "maybe"]),
    ("autorestart", &["true", "false", "Unexpected", "1", "often"]),
    ("startsecs", &["0", "1", " 7 ", "1_0"]),
    ("startretries", &["0", "3", "12", "-1", "many"]),
    ("stopsignal", &["TERM", "sigint", "QUIT", "9", "usr1", "LOUD"]),
    ("stopwaitsecs", &["0", "5", "3600"]),
    ("stopasgroup", &["true", "false"]),
    ("killasgroup", &["true", "no"]),
    ("exitcodes", &["0", "0,2", "1,2", "", " 3 , 4", "300"]),
    ("user", &["app", "1000"]),
    ("umask", &["022", "0o27", "7", "9"]),
    ("redirect_stderr", &["true", "false"]),
    ("stdout_logfile", &["NONE", "/dev/stdout", "/var/log/%(program_name)s.log", "AUTO"]),
    ("priority", &["1", "999", "-5"]),
    ("numprocs_start", &["0", "1", "8"]),
    ("directory", &["/srv/a", "/srv/%(program_name)s/..", "%(here)s/x", "/srv/%(process_num)02d", "/srv/a b"]),
    ("colour", &["red"]),
];

/// A file, or two of which the first includes the second.
pub fn input() -> impl Strategy<Value = Input> {
    let sections = vec(section(), 1..4).prop_map(|sections| sections.concat());
    let second = prop::option::weighted(0.3, vec(section(), 1..3).prop_map(|sections| sections.concat()));
    (daemon(), sections, second, group()).prop_map(|(daemon, sections, second, group)| {
        let include = if second.is_some() { "[include]\nfiles = conf.d/*.conf\n" } else { "" };
        let mut files = vec![("/srv/supervisor/supervisord.conf".to_owned(), daemon + include + &sections + &group)];
        files.extend(second.map(|text| ("/srv/supervisor/conf.d/more.conf".to_owned(), text)));
        let environment = [("A", "one"), ("B", "two words"), ("FLAG", "true")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Input { files, environment: BTreeMap::from(environment), host: "copse-test".to_owned() }
    })
}

fn daemon() -> impl Strategy<Value = String> {
    let environment = prop::option::weighted(0.4, pairs());
    let more = select(vec!["", "umask=027\n", "user=app\n", "minfds=2048\n", "directory=/srv\n", "nodaemon=true\n"]);
    (environment, more, prop::option::weighted(0.2, option())).prop_map(|(environment, more, default)| {
        // Expanded twice there, which releases don't agree on.
        let environment = environment.filter(|text| !text.contains("%%") && !text.contains("host_node_name"));
        let environment = environment.map(|text| format!("environment={text}\n")).unwrap_or_default();
        let default = default.map(|option| format!("[DEFAULT]\n{option}")).unwrap_or_default();
        format!("{default}[supervisord]\n{environment}{more}")
    })
}

fn group() -> impl Strategy<Value = String> {
    let programs = select(vec!["a", "a,b", " b , c", "a,a", "nobody"]);
    prop::option::weighted(0.2, programs)
        .prop_map(|programs| programs.map(|programs| format!("[group:g]\nprograms={programs}\n")).unwrap_or_default())
}

fn section() -> impl Strategy<Value = String> {
    let name = select(vec!["a", "b", "c", "d-e", "F.g"]);
    (name, command(), numbers(), vec(option(), 0..6), prop::option::weighted(0.5, pairs()), noise()).prop_map(
        |(name, command, numbers, options, environment, noise)| {
            let environment = environment.map(|text| format!("environment={text}\n")).unwrap_or_default();
            format!("[program:{name}]{noise}\ncommand={command}\n{numbers}{}{environment}", options.concat())
        },
    )
}

fn noise() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", "", " ; a comment", "\n# a comment\n", "\n\n;x=y\n"])
}

fn command() -> impl Strategy<Value = String> {
    (select(vec!["/bin/x", "x", "\"/bin/a b\"", "  /bin/x"]), parts())
        .prop_map(|(program, parts)| format!("{program} {parts}"))
}

fn parts() -> impl Strategy<Value = String> {
    let part = prop_oneof![60 => select(PARTS), 1 => select(BAD)];
    vec(part, 0..8).prop_map(|parts| parts.concat())
}

fn numbers() -> impl Strategy<Value = String> {
    let names = ["%(program_name)s_%(process_num)02d", "%(process_num)d", "%(program_name)s-%(process_num)x"];
    let several = (select(vec!["2", "3", "11"]), select(names.to_vec()))
        .prop_map(|(count, name)| format!("numprocs={count}\nprocess_name={name}\n"));
    prop_oneof![2 => Just(String::new()), 2 => several, 1 => Just("numprocs=1\nprocess_name=x%(process_num)d\n".to_owned())]
}

fn option() -> impl Strategy<Value = String> {
    let written = select(OPTIONS).prop_flat_map(|(name, values)| (Just(name), select(values)));
    let style = select(vec!["{}={}", "{} = {}", "{}: {}", "{}={} ; a comment"]);
    (written, style, any::<bool>()).prop_map(|((name, value), style, upper)| {
        let name = if upper { name.to_uppercase() } else { name.to_owned() };
        style.replacen("{}", &name, 1).replacen("{}", value, 1) + "\n"
    })
}

fn pairs() -> impl Strategy<Value = String> {
    let name = select(vec!["A", "OWN", "PATH", "N_%(process_num)d", "X_1"]);
    let quoted = (select(vec!["\"", "'"]), parts()).prop_map(|(quote, text)| {
        // A quote of the same kind would end it.
        format!("{quote}{}{quote}", text.replace(quote, ""))
    });
    let value =
        prop_oneof![4 => quoted, 1 => select(vec!["word", "/a:b-c.d", "%(ENV_A)s", "(x)"]).prop_map(str::to_owned)];
    let separator = select(vec![",", ", ", ",\n  ", " , "]);
    vec((name, value, separator), 1..4).prop_map(|pairs| {
        let mut text = String::new();
        for (at, (name, value, separator)) in pairs.iter().enumerate() {
            text += &format!("{}{name}={value}", if at > 0 { separator } else { "" });
        }
        text
    })
}
