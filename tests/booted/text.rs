//! Text arrives as its author wrote it: hundreds of nasty and random strings in one group file, each compared byte
//! for byte with what the process was given. Every run draws others; `COPSE_SEED`, which a failure names, repeats one.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::{BoxedStrategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::fmt::Write as _;

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(arguments_and_variables_reach_the_process_as_written),
    situation!(every_kind_of_command_gets_its_arguments_as_written),
    situation!(the_shell_gets_its_script_as_written),
    situation!(instances_know_their_names_and_literal_braces_stay),
    situation!(variables_of_an_environment_file_arrive_as_words),
    situation!(paths_with_blanks_and_signs_work),
];

/// Where the dumping program is, in each machine.
const DUMP: &str = "/srv/copse-text/dump";

/// Writes its own arguments and environment, as the kernel has them, to `/run/copse-text/NAME.argv` and `….environ`.
/// Beside, then renamed: who finds a file finds all of it.
const DUMP_TEXT: &str = r#"#!/usr/bin/python3 -IS
import os, sys
os.makedirs("/run/copse-text", exist_ok=True)
for kind, file in ("environ", "environ"), ("argv", "cmdline"):
    path = f"/run/copse-text/{sys.argv[1]}.{kind}"
    with open(f"/proc/self/{file}", "rb") as given, open(path + ".new", "wb") as dump:
        dump.write(given.read())
    os.rename(path + ".new", path)
"#;

/// What each of them did to some tool: each is tried at every place, each time.
#[rustfmt::skip]
const NASTY: &[&str] = &[
    "", " ", "  ", " a", "a ", "\t", "\n", "\r", "\r\n", "a\nb", "\n[Service]\nExecStart=/bin/false", "[Service]",
    "'", "''", "\"", "\"\"", "'\"", "it's", "\"quoted\"", "\\", "\\\\", "a\\", "\\\n", "\\n", "\\x41", "\\u0041",
    "\\101", "\\\"", "\\'", "a\\ b", "$", "$$", "$HOME", "${HOME}", "$$HOME", "$(id)", "`id`", "${", "a$b", "$1",
    "%", "%%", "%h", "%i", "%n", "%%n", "100%", "%Z", "{", "}", "{}", "{{}}", "{{", "}}", "{a b}", "{\"a\":1}",
    "{{{", "${{a}}", ";", " ; ", "a;b", "#", "#a", "a #b", "//a", "-", "--", "-a", "--a=b", "@a", "+a", "!a", "!!a",
    ":a", "|a", "-:@a", "*", "?", "~", "~root", "!", "&&", "|", ">", "<x>", "(", "=", "a=b", "\u{7f}", "\u{1}",
    "\u{1b}[31m", "\u{8}", "\u{85}", "\u{a0}", "é", "e\u{301}", "日本語", "😀", "\u{feff}", "\u{feff}a", "\u{2028}",
    "\u{202e}", "\u{fffd}",
]; // NUL can't be carried, and is refused: tests/errors

/// The characters of random strings: what means something to systemd, TOML, a shell or copse, and a few that don't.
const SIGNS: &[char] = &[
    ' ', '\t', '\n', '\r', '\'', '"', '\\', '$', '%', '{', '}', ';', '#', '-', '@', '+', '!', ':', '|', '=', '*', '~',
    '&', '(', ')', '[', ']', '<', '>', ',', '.', '/', 'a', 'b', 'n', 'x', '0', '4', 'é', '😀', '\u{7f}', '\u{2028}',
];

/// Not characters to Unicode, nor to systemd: words of commands can carry them, nothing else can.
const NONCHARACTERS: &[&str] = &["\u{fdd0}", "a\u{fdef}", "\u{fffe}a", "\u{ffff}", "a\u{1fffe}b", "\u{10ffff}"];

/// A source of random text, and how to have the same again.
struct Source {
    runner: TestRunner,
    seed: String,
}

impl Source {
    fn new() -> Source {
        let seed = std::env::var("COPSE_SEED").unwrap_or_else(|_| {
            let random = std::fs::read_to_string("/proc/sys/kernel/random/uuid").expect("the kernel gives a uuid");
            random.trim().replace('-', "")
        });
        let bytes: [u8; 32] = seed.as_bytes().try_into().expect("COPSE_SEED has 32 characters");
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Source { runner: TestRunner::new_with_rng(Config::default(), rng), seed }
    }

    fn draw<T: std::fmt::Debug>(&mut self, strategy: &BoxedStrategy<T>) -> T {
        strategy.new_tree(&mut self.runner).expect("nothing is filtered").current()
    }

    /// What variables can have as well: [`Source::words`] without noncharacters.
    fn texts(&mut self, count: usize) -> Vec<String> {
        let noncharacter = |c: char| u32::from(c) & 0xfffe == 0xfffe || ('\u{fdd0}'..='\u{fdef}').contains(&c);
        let mut texts = self.words(count);
        texts.retain(|text| !text.contains(noncharacter));
        texts
    }

    /// All that is nasty, every control character, and `count` random strings.
    fn words(&mut self, count: usize) -> Vec<String> {
        let controls = (1..32).map(|byte| format!("a{}b", char::from(byte)));
        let nasty = NASTY.iter().chain(NONCHARACTERS).map(|&text| text.to_owned());
        let strategy = random_text();
        let random: Vec<String> = (0..count).map(|_| self.draw(&strategy)).collect();
        nasty.chain(controls).chain(random).collect()
    }

    /// The seed, where something didn't arrive.
    #[track_caller]
    fn assert_same(&self, place: &str, expected: &[String], arrived: &[String]) {
        let differs = expected.iter().zip(arrived).position(|(one, other)| one != other);
        if let Some(at) = differs {
            let (expected, arrived) = (shown(&expected[at]), shown(&arrived[at]));
            panic!("{place}: word {at} was written {expected} and arrived as {arrived}; COPSE_SEED={}", self.seed);
        }
        assert_eq!(expected.len(), arrived.len(), "{place}: number of words; COPSE_SEED={}", self.seed);
    }
}

fn shown(text: &str) -> String {
    let start: String = text.chars().take(200).collect();
    format!("{start:?} ({} bytes)", text.len())
}

fn random_text() -> BoxedStrategy<String> {
    let of = |characters: BoxedStrategy<char>, length| vec(characters, length).prop_map(String::from_iter).boxed();
    let any = any::<char>().prop_filter("NUL can't be carried", |c| *c != '\0').boxed();
    prop_oneof![
        6 => of(select(SIGNS).boxed(), 0..24),
        2 => of(any, 0..24),
        1 => of(select(SIGNS).boxed(), 500..3000),
    ]
    // Where braces enclose a single word, that might be near the name of a placeholder: see
    // `instances_know_their_names_and_literal_braces_stay` for those.
    .prop_map(|text| text.replace("{x", "{ x").replace("{a", "{ a").replace("{n", "{ n").replace("{b", "{ b"))
    .boxed()
}

/// As long as the kernel takes (MAX_ARG_STRLEN is 131,072 with the closing NUL), and a little less.
fn long(name: &str) -> String {
    let start = format!("{name}% $\\\" ");
    start.clone() + &"x".repeat(131_000 - start.len())
}

/// A TOML string.
fn toml(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => write!(quoted, "\\u{:04x}", u32::from(c)).expect("a String takes all"),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// An argv for the dumping program, as TOML.
fn dumping(name: &str, arguments: &[String]) -> String {
    let words = [DUMP, name].into_iter().chain(arguments.iter().map(String::as_str));
    format!("[{}]", words.map(toml).collect::<Vec<_>>().join(", "))
}

fn install(m: &Machine) {
    m.remove("/run/copse-text");
    m.write_program(DUMP, DUMP_TEXT);
}

fn file(m: &Machine, name: &str) -> Vec<String> {
    let path = format!("/run/copse-text/{name}");
    m.wait_until(&format!("{path} is written"), || m.exists(&path));
    let text = m.read(&path);
    text.strip_suffix('\0').unwrap_or(&text).split('\0').map(str::to_owned).collect()
}

/// The arguments that the dump of that name was given after its name.
fn arguments(m: &Machine, name: &str) -> Vec<String> {
    // The kernel's own words for a script come first: the interpreter, its option, the script.
    let mut argv = file(m, &format!("{name}.argv"));
    assert_eq!(argv[2..4], [DUMP, name]);
    argv.split_off(4)
}

/// The variable of that name in the dump's environment.
fn variable(environment: &[String], name: &str) -> Option<String> {
    environment.iter().find_map(|line| line.strip_prefix(&format!("{name}=")).map(str::to_owned))
}

fn arguments_and_variables_reach_the_process_as_written(m: &Machine) {
    install(m);
    let mut source = Source::new();
    let mut words = source.words(300);
    words.extend([long("argument"), String::new()]);
    let mut values = source.texts(300);
    values.push(long("value"));
    let environment = values.iter().enumerate().map(|(at, value)| format!("V_{at} = {}\n", toml(value)));
    let _group = m.start_group(
        "text",
        &format!(
            "[process.text]\nready = \"oneshot\"\nexec = {}\n[process.text.environment]\n{}",
            dumping("plain", &words),
            environment.collect::<String>()
        ),
    );
    source.assert_same("exec", &words, &arguments(m, "plain"));
    let environment = file(m, "plain.environ");
    let arrived: Option<Vec<String>> = (0..values.len()).map(|at| variable(&environment, &format!("V_{at}"))).collect();
    source.assert_same("environment", &values, &arrived.expect("no variable is lost"));
}

fn every_kind_of_command_gets_its_arguments_as_written(m: &Machine) {
    install(m);
    let mut source = Source::new();
    let keys = ["exec-start-pre", "exec-start-post", "exec-reload", "exec-stop", "exec-stop-post"];
    let words: Vec<Vec<String>> = keys.iter().map(|_| source.words(60)).collect();
    let mut text = String::from("[process.text]\nexec = \"sleep infinity\"\n");
    for (key, words) in keys.iter().zip(&words) {
        // Two of each: the first must not swallow the second.
        let empty = dumping(&format!("{key}-first"), &[]);
        writeln!(text, "{key} = [{empty}, {}]", dumping(key, words)).expect("a String takes all");
    }
    let _group = m.start_group("text", &text);
    m.systemctl(&["reload", "text.service"]);
    m.systemctl(&["stop", "text.service"]);
    for (key, words) in keys.iter().zip(&words) {
        assert_eq!(arguments(m, &format!("{key}-first")), [""; 0], "{key}");
        source.assert_same(key, words, &arguments(m, key));
    }
}

fn the_shell_gets_its_script_as_written(m: &Machine) {
    install(m);
    let mut source = Source::new();
    let words = source.words(100);
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    // The shell's own language stays the shell's: variables, `%`, comments, several lines.
    let script = format!(
        "# a comment; with \"signs\" 100%\nname='a  b'\nset -- \"$name\" \"${{#name}}\" \"$(printf '%s' \"$HOSTILE\")\"\n\
         exec {DUMP} shell \"$@\" {}",
        quoted.join(" \\\n")
    );
    let _group = m.start_group(
        "text",
        &format!(
            "[process.text]\nready = \"oneshot\"\nenvironment = {{ HOSTILE = {} }}\nshell = {}\n",
            toml("$(id) \"'`id` {}"),
            toml(&script)
        ),
    );
    let mut expected = vec!["a  b".to_owned(), "4".to_owned(), "$(id) \"'`id` {}".to_owned()];
    expected.extend(words);
    source.assert_same("shell", &expected, &arguments(m, "shell"));
}

fn instances_know_their_names_and_literal_braces_stay(m: &Machine) {
    install(m);
    let source = Source::new();
    let written = [
        "{instance}",
        "{{instance}}",
        "{{{instance}}}",
        "a{instance}b{instance}",
        "%i {instance} %%i",
        "{group}",
        "{{group}}",
        "{process}",
        "{unit}",
        "{{unit}}",
        "{{env:HOME}}",
        "{{env:HOME...}}",
        "{{instnace}}",
        "{ instance }",
        "{{ instance }}",
        "{foo}",
        "{{foo}}",
        "${instance}",
        "\\{instance}",
        "{{runtime-directory}}",
        "{runtime-directory}/$x",
        "{state-directory}",
    ];
    let arrives = |instance: &str| {
        let own = [
            instance.to_owned(),
            "{instance}".to_owned(),
            "{{instance}}".to_owned(),
            format!("a{instance}b{instance}"),
            format!("%i {instance} %%i"),
            "text".to_owned(),
            "{group}".to_owned(),
            "node".to_owned(),
            format!("text-node@{instance}.service"),
            "{unit}".to_owned(),
            "{env:HOME}".to_owned(),
            "{env:HOME...}".to_owned(),
            "{instnace}".to_owned(),
            "{ instance }".to_owned(),
            "{{ instance }}".to_owned(),
            "{foo}".to_owned(),
            "{{foo}}".to_owned(),
            format!("${instance}"),
            format!("\\{instance}"),
            "{runtime-directory}".to_owned(),
            format!("/run/text-of/{instance}/$x"),
            "/var/lib/text-shared".to_owned(),
        ];
        own.to_vec()
    };
    let names = ["1", "a", "_", "b-c.d:e_F", "x-y", "0.0"];
    let words: Vec<String> = std::iter::once("{instance}").chain(written).map(str::to_owned).collect();
    let exec = dumping("{instance}", &words[1..]);
    let _group = m.start_group(
        "text",
        &format!(
            "state-directory = \"text-shared\"\n[process.node]\nready = \"oneshot\"\ninstances = {names:?}\nexec = {exec}\n\
             runtime-directory = \"text-of/{{instance}}\"\nenvironment = {{ ME = \"{{instance}} of {{{{group}}}}\" }}\n\
             [process.node.instance.a]\nenvironment = {{ OWN = \"{{instance}}%i\" }}\n"
        ),
    );
    for name in names {
        source.assert_same(name, &arrives(name), &arguments(m, name));
        let environment = file(m, &format!("{name}.environ"));
        assert_eq!(variable(&environment, "ME"), Some(format!("{name} of {{group}}")));
        assert_eq!(variable(&environment, "OWN"), (name == "a").then(|| "a%i".to_owned()));
    }
}

fn variables_of_an_environment_file_arrive_as_words(m: &Machine) {
    install(m);
    let mut source = Source::new();
    let strategy = vec(select(SIGNS), 0..24).prop_map(String::from_iter).boxed();
    let mut values: Vec<String> = NASTY.iter().map(|&text| text.to_owned()).collect();
    values.extend((0..100).map(|_| source.draw(&strategy)));
    // What systemd itself leaves out of an environment file, or changes in it, is none of copse's business.
    values.retain(|value| !value.chars().any(|c| c.is_control() || c == '\u{feff}'));
    let mut text = String::from("SEVERAL='one \"two  three\" four'\nNONE=\n");
    for (at, value) in values.iter().enumerate() {
        let value: String =
            value.chars().flat_map(|c| "\"\\$`".contains(c).then_some('\\').into_iter().chain([c])).collect();
        writeln!(text, "V_{at}=\"{value}\"").expect("a String takes all");
    }
    m.write("/srv/copse-text/variables of 100%", &text);
    let mut words: Vec<String> = (0..values.len()).map(|at| format!("{{env:V_{at}}}")).collect();
    words.extend((0..values.len()).map(|at| format!("$HOME%h{{env:V_{at}}}$${{{{env:V_{at}}}}}")));
    words.extend(["{env:SEVERAL...}", "{env:NONE...}", "{env:SEVERAL}", "end"].map(str::to_owned));
    let _group = m.start_group(
        "text",
        &format!(
            "[process.text]\nready = \"oneshot\"\nenvironment-file = \"/srv/copse-text/variables of 100%\"\nexec = {}\n",
            dumping("variables", &words)
        ),
    );
    let mut expected = values.clone();
    expected.extend(values.iter().enumerate().map(|(at, value)| format!("$HOME%h{value}$${{env:V_{at}}}")));
    expected.extend(["one", "two  three", "four", "one \"two  three\" four", "end"].map(str::to_owned));
    source.assert_same("{env:…}", &expected, &arguments(m, "variables"));
}

fn paths_with_blanks_and_signs_work(m: &Machine) {
    install(m);
    let directory = "/srv/copse-text/a b%n;$HOME #{x y}";
    m.ok(&["mkdir", "-p", directory]);
    let mut text = String::new();
    let names = ["plain", " leading", "a b", "$HOME", "${HOME}", "%n", "100%", ";", "#", "@a", "-a", "{ }", "é😀"];
    for (at, name) in names.iter().enumerate() {
        let program = format!("{directory}/{name}");
        m.write_program(&program, "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$PWD\" \"$1\" >\"/run/copse-text/program-$1\"\n");
        // By its whole path, and relative to the working directory.
        for (kind, path) in [("whole", program.clone()), ("relative", format!("./{name}"))] {
            writeln!(
                text,
                "[process.p{at}-{kind}]\nready = \"oneshot\"\nworking-directory = {}\nexec = [{}, \"{at}-{kind}\"]",
                toml(directory),
                toml(&path)
            )
            .expect("a String takes all");
        }
    }
    m.sh("mkdir -p /run/copse-text");
    let _group = m.start_group("text", &text);
    for (at, name) in names.iter().enumerate() {
        for kind in ["whole", "relative"] {
            let said = m.read(&format!("/run/copse-text/program-{at}-{kind}"));
            assert_eq!(said, format!("{directory}/{name}\n{directory}\n{at}-{kind}\n"), "{name:?}, {kind}");
        }
    }
}
