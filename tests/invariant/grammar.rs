//! Group files made from the format's own words, with nasty text wherever an author may write text: most are good.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::holds::hold_merged;

/// Text with whatever means something to systemd, TOML, a shell or copse.
fn text() -> BoxedStrategy<String> {
    let pieces: &[&str] = &[
        " ",
        "  ",
        "a",
        "b-c",
        "Z",
        "0",
        "'",
        "\"",
        "\\",
        "\\n",
        "\\x41",
        "$",
        "$$",
        "$HOME",
        "${HOME}",
        "%",
        "%%",
        "%n",
        "%i",
        "{",
        "}",
        "{{",
        "}}",
        "{instance}",
        "{{instance}}",
        "{unit}",
        "{env:HOME}",
        "{{env:HOME}}",
        "{state-directory}",
        "\n",
        "\t",
        "\r",
        "\u{1}",
        "\u{7f}",
        ";",
        " ; ",
        "#",
        "-",
        "@",
        "+",
        "!",
        ":",
        "|",
        "=",
        ",",
        "*",
        "~",
        "/",
        "é",
        "😀",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{ffff}",
        "\n[Service]\nUser=root",
        "[Service]",
        "\\\n",
    ];
    prop_oneof![
        4 => prop::collection::vec(select(pieces), 0..8).prop_map(|pieces| pieces.concat()),
        1 => "\\PC{0,12}",
    ]
    .boxed()
}

/// Text in which braces aren't near a placeholder, so that it isn't refused for them.
fn harmless() -> BoxedStrategy<String> {
    text().prop_map(|text| text.replace(['{', '}'], "()").replace('\u{ffff}', "")).boxed()
}

/// A TOML string.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04x}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

fn string(text: BoxedStrategy<String>) -> BoxedStrategy<String> {
    text.prop_map(|text| quoted(&text)).boxed()
}

fn words(program: &'static str) -> BoxedStrategy<String> {
    let word = prop_oneof![
        5 => string(harmless()),
        2 => string(text()),
        2 => select(&["\"{env:WORDS...}\"", "\"{env:HOME}/x$y\"", "\"{unit}\"", "\"{group} {process}\"", "\"\""][..])
            .prop_map(str::to_owned),
    ];
    let program = format!("[{}", quoted(program));
    prop::collection::vec(word, 0..5)
        .prop_map(move |words| words.iter().fold(program.clone(), |all, word| all + ", " + word) + "]")
        .boxed()
}

fn fixed(values: &'static [&'static str]) -> BoxedStrategy<String> {
    select(values).prop_map(str::to_owned).boxed()
}

/// What a key may be given; some of it is wrong in some places.
fn value_of(key: &'static str) -> BoxedStrategy<String> {
    let commands = || {
        prop_oneof![
            words("/usr/bin/x"),
            (words("x"), words("/a b/$HOME%n;")).prop_map(|(one, other)| format!("[{one}, {other}]")),
        ]
        .boxed()
    };
    match key {
        "description" => {
            string(harmless().prop_map(|text| text.replace(char::is_control, "").trim().to_owned() + "x").boxed())
        }
        "exec-start-pre" | "exec-start-post" | "exec-reload" | "exec-stop" | "exec-stop-post" => commands(),
        "environment" => {
            let one = (select(&["A", "B_1", "_x", "PATH"][..]), string(harmless()));
            prop::collection::btree_map(one.0, one.1, 0..4)
                .prop_map(|all| {
                    let all: Vec<_> = all.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                    format!("{{ {} }}", all.join(", "))
                })
                .boxed()
        }
        "environment-file" => fixed(&["\"/etc/a b\"", "[\"-/etc/100%\", \"/etc/$x\"]", "\"relative\""]),
        "working-directory" => {
            fixed(&["\"/srv/a b\"", "\"/srv/100% $x\"", "\"~\"", "\"{state-directory}\"", "\"/a\\\"b'\""])
        }
        "user" | "group" => fixed(&["\"app\"", "\"33\"", "\"0\""]),
        "umask" => fixed(&["\"0027\"", "27"]),
        "nice" => fixed(&["5", "-20", "100"]),
        "limit-nofile" => fixed(&["1024", "\"1024:4096\"", "\"infinity\""]),
        "port" => fixed(&["8000", "80"]),
        "start" => fixed(&["\"auto\"", "\"manual\""]),
        "instances" => fixed(&["1", "3", "\"cpus\"", "[\"a\", \"b-c.d:e\"]", "0", "[]"]),
        "on-calendar" => fixed(&["\"hourly\"", "[\"*-*-* 03:00\", \"Mon *-*-* 00:00\"]"]),
        "listen" => fixed(&[
            "\"tcp:80\"",
            "[\"unix:/run/a b\", \"udp:127.0.0.1:53\"]",
            "{ http = \"tcp:80\", raw = \"fifo:/run/f\" }",
        ]),
        "ready" => fixed(&[
            "\"exec\"",
            "\"notify\"",
            "\"oneshot\"",
            "{ dbus = \"org.example.X\" }",
            "{ pid-file = \"/run/x.pid\" }",
            "{ tcp = \"127.0.0.1:1\" }",
            "{ http = \"http://127.0.0.1:{env:PORT}/%20\", status = [\"200\"] }",
            "{ fd = 3 }",
            "{ command = [\"/bin/x\", \"a b\", \"$x\"] }",
            "{ file = \"/run/a b\", listening = 80 }",
        ]),
        "health" => {
            fixed(&["{ tcp = \"127.0.0.1:1\", interval-sec = 5, failures = 2 }", "{ command = [\"/x\", \"--\"] }"])
        }
        "essential" | "send-sighup" => fixed(&["true", "false"]),
        "restart" => fixed(&["\"no\"", "\"on-failure\"", "\"always\""]),
        "restart-sec" | "timeout-start-sec" | "timeout-stop-sec" | "watchdog-sec" | "start-limit-interval-sec" => {
            fixed(&["5", "\"1min 30s\"", "\"infinity\"", "\"5 parsecs\""])
        }
        "restart-steps" | "start-limit-burst" => fixed(&["3", "0"]),
        "restart-max-delay-sec" => fixed(&["60"]),
        "success-exit-status" => fixed(&["[1, \"SIGTERM\"]", "\"TEMPFAIL\""]),
        "on-failure" => fixed(&["\"alert@%n.service\"", "\"alert.service\""]),
        "kill-signal" => fixed(&["\"SIGINT\"", "\"SIGHUP\"", "\"SIGWHAT\""]),
        "kill-mode" => fixed(&["\"mixed\""]),
        "inputs" => fixed(&["[\"/etc/a b\", \"/etc/100%\"]", "[]"]),
        "hardening" => fixed(&["\"none\"", "\"basic\"", "\"strict\""]),
        "ambient-capabilities" => fixed(&["\"CAP_NET_BIND_SERVICE\""]),
        "credentials" => string(harmless())
            .prop_map(|text| format!("{{ a = \"/etc/a b\", t = {{ text = {text} }}, e = {{ encrypted = \"/e\" }} }}"))
            .boxed(),
        "memory-max" => fixed(&["\"1G\"", "\"50%\""]),
        "cpu-quota" => fixed(&["\"150%\""]),
        "tasks-max" => fixed(&["100", "\"10%\""]),
        "runtime-directory" | "state-directory" => {
            fixed(&["\"x\"", "[\"x/y\", \"z\"]", "\"{process}-{instance}\"", "\"../x\""])
        }
        "refresh" => fixed(&["\"restart\"", "\"roll\"", "\"keep\"", "\"reload\""]),
        "max-unavailable" => fixed(&["1", "\"25%\""]),
        "service" => fixed(&[
            "{ IPAddressDeny = \"any\", Environment = [\"RAW=%n $x\"] }",
            "{ ExecStart = [\"\", \"-/bin/x %i\"] }",
            "{ PrivateTmp = true }",
            "{ X-Mine = \"[Service]\" }",
            "{ User = \"\" }",
            "{ Nice = \"a\\nb\" }",
        ]),
        "unit" => {
            fixed(&["{ After = [\"x.service\"] }", "{ Documentation = \"man:x(1)\" }", "{ PartOf = \"x.target\" }"])
        }
        other => unreachable!("{other}"),
    }
}

#[rustfmt::skip]
const KEYS: &[&str] = &[
    "description", "exec-start-pre", "exec-start-post", "exec-reload", "exec-stop", "exec-stop-post", "environment", "environment",
    "environment-file", "working-directory", "user", "group", "umask", "nice", "limit-nofile", "port", "start",
    "instances", "on-calendar", "listen", "ready", "ready", "health", "essential", "send-sighup", "restart", "restart-sec",
    "timeout-start-sec", "timeout-stop-sec", "watchdog-sec", "start-limit-interval-sec", "restart-steps",
    "start-limit-burst", "restart-max-delay-sec", "success-exit-status", "on-failure", "kill-signal", "kill-mode",
    "inputs", "hardening", "ambient-capabilities", "credentials", "memory-max", "cpu-quota", "tasks-max",
    "runtime-directory", "state-directory", "refresh", "max-unavailable", "service", "unit",
];

/// Some of the keys, each once, with values.
fn keys(count: usize) -> BoxedStrategy<String> {
    subsequence(KEYS, 0..=count)
        .prop_flat_map(|mut keys| {
            keys.dedup();
            let lines: Vec<_> =
                keys.into_iter().map(|key| value_of(key).prop_map(move |value| format!("{key} = {value}\n"))).collect();
            lines
        })
        .prop_map(|lines| lines.concat())
        .boxed()
}

fn member(header: &'static str) -> BoxedStrategy<String> {
    let exec = prop_oneof![
        4 => words("/usr/bin/x").prop_map(|words| format!("exec = {words}\n")),
        1 => words("x").prop_map(|words| format!("exec = {words}\n")),
        1 => string(harmless()).prop_map(|script| format!("shell = {script}\n")),
    ];
    (exec, keys(3)).prop_map(move |(exec, keys)| format!("[{header}]\n{exec}{keys}")).boxed()
}

fn group() -> BoxedStrategy<(String, String)> {
    let top = [
        "",
        "description = \"A % of $x\"\n",
        "failure-policy = \"stop\"\n",
        "after = [\"network-online.target\"]\n",
        "wanted-by = [\"multi-user.target\"]\n",
        "state-directory = [\"shared\", \"shared/b\"]\n",
        "timeout-start-sec = \"5min\"\n",
    ];
    let after = prop_oneof![
        3 => Just(""),
        1 => Just("after = [\"b\"]\n"),
        1 => Just("after = [\"x.service\"]\n"),
        1 => Just("after = [\"s\"]\n"),
    ];
    let defaults = prop_oneof![3 => Just(String::new()), 1 => keys(2).prop_map(|keys| format!("[defaults]\n{keys}"))];
    let drop_in = prop_oneof![3 => Just(String::new()), 1 => member("process.b"), 1 => keys(3).prop_map(|keys| format!("[process.a]\n{keys}"))];
    (
        select(top.to_vec()),
        member("process.a"),
        after,
        member("process.b"),
        prop::option::of(member("setup.s")),
        defaults,
        drop_in,
    )
        .prop_map(|(top, a, after, b, setup, defaults, drop_in)| {
            (format!("{top}{a}{after}{b}{}{defaults}", setup.unwrap_or_default()), drop_in)
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_holds_for_groups_of_the_formats_own_words((text, drop_in) in group()) {
        hold_merged("group", &text, &[&drop_in]);
    }
}

/// Else the test above would hold for nothing but mistakes.
#[test]
fn many_of_these_groups_are_good() {
    let mut runner = TestRunner::deterministic();
    let groups = group();
    let good = (0..200)
        .filter(|_| {
            let (text, drop_in) = groups.new_tree(&mut runner).expect("nothing is filtered").current();
            hold_merged("group", &text, &[&drop_in])
        })
        .count();
    assert!(good >= 40, "{good} of 200");
}
