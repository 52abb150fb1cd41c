//! The manual, the command line and the format say the same, and groff has nothing to say against the pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use copse::group_file::keys;
use copse::unit::directives;
use copse::unit::directives::Systemd;

const FORMAT: &str = include_str!("../man/copse.toml.5");
const COMMAND: &str = include_str!("../man/copse.1");
const NOTIFY: &str = include_str!("../man/copse-notify.1");
const CONCEPTS: &str = include_str!("../man/copse.7");

/// A tagged paragraph: the words in bold of its tag, and its text, both without roff's escapes.
struct Entry {
    words: Vec<String>,
    text: String,
}

fn plain(line: &str) -> String {
    ["\\fB", "\\fR", "\\fI", "\\&"].into_iter().fold(line.replace("\\-", "-"), |line, escape| line.replace(escape, ""))
}

fn entries(page: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line == ".TP" {
            let tag = lines.next().unwrap_or_default();
            let words = tag.split("\\fB").skip(1).filter_map(|part| part.split("\\fR").next());
            entries.push(Entry { words: words.map(plain).collect(), text: String::new() });
        } else if let Some(entry) = entries.last_mut().filter(|_| !line.starts_with('.')) {
            entry.text += &format!("{} ", plain(line));
        }
    }
    entries
}

/// All words of a page that look like long options.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let is_option = |word: &&str| word.starts_with("--") && word[2..].starts_with(|c: char| c.is_ascii_lowercase());
    words.filter(is_option).map(str::to_owned).collect()
}

fn said_by(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("the program is built");
    assert!(output.status.success(), "{program} {arguments:?}");
    String::from_utf8(output.stdout).expect("help is text")
}

fn pages() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let mut pages: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|section| section.len() == 1));
    pages.sort();
    pages
}

#[test]
fn every_key_has_an_entry_in_the_manual() {
    let entries: Vec<String> = entries(FORMAT).into_iter().flat_map(|entry| entry.words).collect();
    let documented = |key: &str| {
        entries.iter().any(|entry| entry == key)
            || key.strip_suffix("-mode").is_some_and(|of| entries.iter().any(|entry| entry == of))
    };
    let all = keys::KEYS.iter().map(|key| key.name).chain(keys::GROUP_KEYS.iter().copied());
    let missing: Vec<&str> = all.filter(|key| !documented(key)).collect();
    assert!(missing.is_empty(), "man/copse.toml.5 has no entry for {missing:?}");
}

#[test]
fn every_key_that_is_a_directive_says_which_and_since_when() {
    let entries = entries(FORMAT);
    let members = FORMAT.find(".SH KEYS OF A PROCESS").map(|at| &FORMAT[at..]).map(self::entries).unwrap();
    assert!(members.len() < entries.len());
    let mut wrong = Vec::new();
    for key in keys::KEYS {
        let Some((section, directive, _)) = key.directive else { continue };
        let said = members.iter().find(|entry| entry.words.iter().any(|word| word == key.name));
        let text = said.map_or("", |entry| &entry.text);
        let since = directives::since(section, directive).unwrap_or(0);
        let old = since <= Systemd::OLDEST.version;
        if !text.contains(&format!("{directive}=")) || !old && !text.contains(&format!("since systemd {since}")) {
            wrong.push((key.name, directive, since));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_manual_names_no_key_that_is_not_there() {
    let not_keys = ["tcp", "unix", "http", "file", "command", "fd", "listening", "status", "interval-sec", "failures"];
    let known =
        |entry: &str| keys::find(entry).is_some() || keys::GROUP_KEYS.contains(&entry) || not_keys.contains(&entry);
    // Placeholders, unit names and paths aren't keys.
    let lower_case =
        |entry: &&String| entry.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !entry.starts_with('-');
    let entries: Vec<String> = entries(FORMAT).into_iter().flat_map(|entry| entry.words).collect();
    let unknown: Vec<_> = entries.iter().filter(|entry| lower_case(entry) && !known(entry)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn every_directive_of_the_profiles_is_in_the_manual() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/hardening/out");
    let entry = entries(FORMAT).into_iter().find(|entry| entry.words == ["hardening"]).expect("it has an entry").text;
    let mut tried = 0;
    for unit in ["safe-basic.service", "safe-nobody.service"] {
        let text = std::fs::read_to_string(case.join(unit)).unwrap();
        let profile = text.lines().skip_while(|line| !line.starts_with("# hardening = ")).skip(1);
        for line in profile.take_while(|line| !line.starts_with("Slice=")).filter(|line| !line.starts_with('#')) {
            let (directive, _) = line.split_once('=').unwrap();
            assert!(entry.contains(&format!("{directive}=")), "`hardening` doesn't say that it sets {directive}=");
            tried += 1;
        }
    }
    assert!(tried > 25);
}

#[test]
fn every_verb_and_option_is_in_the_manual() {
    let copse = env!("CARGO_BIN_EXE_copse");
    let help = said_by(copse, &["--help"]);
    let verbs = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let verbs: Vec<&str> = verbs
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|verb| !verb.is_empty() && *verb != "help")
        .collect();
    assert!(verbs.len() >= 8, "{verbs:?}");
    let page = plain(COMMAND);
    let documented = options(&page);
    for verb in verbs {
        let synopsis = [format!("copse {verb}"), format!("copse [{verb}")];
        assert!(
            synopsis.iter().any(|line| page.contains(line.as_str())),
            "man/copse.1 doesn't say how `{verb}` is called"
        );
        assert!(COMMAND.contains(&format!("\\fB{}\\fR", verb.replace('-', "\\-"))), "nor what `{verb}` does");
        let missing: Vec<String> =
            options(&said_by(copse, &[verb, "--help"])).difference(&documented).cloned().collect();
        assert!(missing.iter().all(|option| option == "--help"), "man/copse.1 has not {missing:?} of `{verb}`");
    }
}

#[test]
fn the_examples_of_the_format_are_good_group_files() {
    let (_, examples) = FORMAT.split_once(".SH EXAMPLES").unwrap();
    let blocks: Vec<&str> = examples.split(".nf\n").skip(1).filter_map(|rest| rest.split("\n.fi").next()).collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let text = plain(block);
        let name = text.strip_prefix("# /etc/copse/").and_then(|rest| rest.split(".toml").next()).expect("its path");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(format!("{name}.toml"));
        std::fs::write(&file, &text).unwrap();
        let check = Command::new(env!("CARGO_BIN_EXE_copse")).arg("check").arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&check.stdout);
        assert!(check.status.success() && said.is_empty(), "{said}{}", String::from_utf8_lossy(&check.stderr));
    }
}

#[test]
fn every_section_of_a_page_stands_there_once_and_each_verb_in_the_synopsis() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let mut sections: Vec<&str> = text.lines().filter(|line| line.starts_with(".SH ")).collect();
        let all = sections.len();
        sections.sort_unstable();
        sections.dedup();
        assert_eq!(sections.len(), all, "{}: a section stands there twice: {sections:?}", page.display());
    }
    let synopsis = COMMAND.split(".SH ").find(|section| section.starts_with("SYNOPSIS")).map(plain).unwrap_or_default();
    let help = said_by(env!("CARGO_BIN_EXE_copse"), &["--help"]);
    let verbs =
        help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1).take_while(|line| !line.is_empty());
    for verb in verbs.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|verb| !verb.is_empty()) {
        assert!(verb == "help" || synopsis.contains(&format!("copse {verb}")), "`{verb}` isn't in the synopsis");
    }
}

#[test]
fn every_option_of_the_helper_is_in_the_manual() {
    let help = options(&said_by(env!("CARGO_BIN_EXE_copse-notify"), &["--help"]));
    let missing: Vec<_> = help.difference(&options(&plain(NOTIFY))).cloned().collect();
    assert!(help.len() > 10 && missing.iter().all(|option| option == "--help"), "{missing:?}");
}

#[test]
fn the_page_of_concepts_leads_to_all_others() {
    let see_also = CONCEPTS.split(".SH SEE ALSO").nth(1).expect("it has that chapter");
    for page in pages() {
        let (name, section) =
            (page.file_stem().unwrap().to_str().unwrap(), page.extension().unwrap().to_str().unwrap());
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains(&format!(".TH {} {section} ", name.to_uppercase())), "{}", page.display());
        let reference = format!(".BR {} ({section})", name.replace('-', "\\-"));
        assert!((name, section) == ("copse", "7") || see_also.contains(&reference), "copse(7) has no {reference}");
    }
}

#[test]
fn groff_has_nothing_to_say_against_the_pages() {
    for page in pages() {
        let output = match Command::new("groff").args(["-man", "-ww", "-z", "-Tutf8"]).arg(&page).output() {
            Ok(output) => output,
            Err(why) if std::env::var("CI").as_deref() != Ok("true") => return eprintln!("NOT RUN: groff: {why}"),
            Err(why) => panic!("groff: {why}"),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{}: {said}", page.display());
    }
}

#[test]
fn every_option_of_the_import_is_in_the_manual() {
    let page = include_str!("../man/copse-import.1");
    let documented: BTreeSet<String> = options(&plain(page)).union(&options(&plain(COMMAND))).cloned().collect();
    for from in ["supervisord", "procfile"] {
        let help = options(&said_by(env!("CARGO_BIN_EXE_copse"), &["import", from, "--help"]));
        let missing: Vec<_> = help.difference(&documented).cloned().collect();
        assert!(help.len() > 5 && missing.iter().all(|option| option == "--help"), "{from}: {missing:?}");
    }
}

#[test]
fn the_manual_says_of_each_option_of_supervisord_what_becomes_of_it() {
    use copse::import::supervisord::options::KINDS;

    let page = include_str!("../man/copse-import.1");
    let mut table = String::new();
    let roff = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    for kind in KINDS {
        table += &format!(".SS {}\n", roff(&kind.header()));
        if let Some(sentence) = kind.sentence() {
            table += &format!("{}\n", roff(&sentence));
        }
        for row in kind.rows {
            table += &format!(".TP\n\\fB{}\\fR\n{}\n", roff(row.option), roff(&row.sentence()));
        }
    }
    let written =
        page.split_once(".\\\" The table.\n").and_then(|(_, rest)| rest.split_once(".SH SEE ALSO")).unwrap().0;
    assert!(written == table, "man/copse-import.1 should have:\n{table}");
}

#[test]
fn dh_copse_tells_its_options_and_finds_its_snippets() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/dh");
    let program = std::fs::read_to_string(directory.join("dh_copse")).unwrap();
    let (page, code) = program.split_once("=cut").unwrap();
    let known = options(&page.replace("B<", " "));
    let named: BTreeSet<String> = code
        .lines()
        .filter_map(|line| Some(line.trim().strip_prefix('\'')?.split_once("' => \\$")?.0))
        .map(|name| format!("--{name}"))
        .collect();
    assert!(named.len() >= 3 && named.is_subset(&known), "{named:?} {known:?}");
    let used: BTreeSet<_> = code.split('\'').filter(|word| word.contains("-copse")).map(str::to_owned).collect();
    let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let there: BTreeSet<_> = names.filter(|name| name.contains("-copse")).collect();
    assert_eq!(used, there);
}
