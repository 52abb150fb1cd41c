//! The manual, the command line and the format say the same, and groff has nothing to say against the pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use copse::group_file::keys;
use copse::unit::directives;
use copse::unit::directives::Systemd;

const FORMAT: &str = include_str!("../man/copse.toml.5");
const COMMAND: &str = include_str!("../man/copse.1");
const RUN: &str = include_str!("../man/copse-run.1");
const IMPORT: &str = include_str!("../man/copse-import.1");
const EXPORT: &str = include_str!("../man/copse-export.1");
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

/// The options that a command has, of its `--help`.
fn options_of_help(help: &str) -> BTreeSet<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    lines.flat_map(|line| options(line.split("  ").next().unwrap_or_default())).collect()
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
    let of_group = [keys::GROUP_KEYS, keys::SUPERVISOR_KEYS].concat();
    let all = keys::KEYS.iter().map(|key| key.name).chain(of_group);
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
        let Some((section, directive)) = key.directive else { continue };
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
    let known = |entry: &str| {
        let of_group = [keys::GROUP_KEYS, keys::SUPERVISOR_KEYS].concat();
        keys::find(entry).is_some() || of_group.contains(&entry) || not_keys.contains(&entry)
    };
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

/// The commands and their names in `--help`.
fn commands() -> Vec<String> {
    let help = said_by(env!("CARGO_BIN_EXE_copse"), &["--help"]);
    let lines = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let names = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<String> = names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect();
    assert!(names.len() > 30, "{names:?}");
    names
}

/// A section of a page, without its heading.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!(".SH {heading}\n")).unwrap_or_else(|| panic!("there is no {heading}"));
    rest.split_once("\n.SH ").map_or(rest, |(section, _)| section)
}

/// The entries of the commands in copse(1): the lines of the tag, and all of the text.
fn command_entries() -> Vec<(Vec<String>, String)> {
    let mut entries: Vec<(Vec<String>, String)> = Vec::new();
    let (mut depth, mut tag) = (0, false);
    for line in section(COMMAND, "COMMANDS").lines() {
        match line {
            ".RS" | ".RS 4" => depth += 1,
            ".RE" => depth -= 1,
            ".TP" if depth == 0 => {
                entries.push((Vec::new(), String::new()));
                tag = true;
                continue;
            }
            ".TQ" if depth == 0 => {
                tag = true;
                continue;
            }
            _ => {}
        }
        if let Some((tags, text)) = entries.last_mut() {
            text.push_str(&format!("{}\n", plain(line)));
            if std::mem::take(&mut tag) {
                tags.push(plain(line));
            }
        }
    }
    entries
}

/// What a command is called with: `[NAME]...` of `status [NAME]... [--watch]`.
fn operand(line: &str) -> Option<&str> {
    let operand = line.split(' ').nth(1).filter(|word| !word.starts_with("[-") && !word.starts_with("[OPTIONS"));
    operand.or_else(|| line.split(' ').nth(2).filter(|_| line.contains("[OPTIONS] ")))
}

#[test]
fn every_command_has_one_entry_with_its_operands_and_options() {
    let shared = options(&plain(section(COMMAND, "OPTIONS")));
    let entries = command_entries();
    for name in commands() {
        let is_entry = |tags: &[String]| tags.iter().any(|tag| tag.split(' ').next() == Some(&name));
        let [(tags, text)] = &entries.iter().filter(|(tags, _)| is_entry(tags)).collect::<Vec<_>>()[..] else {
            panic!("man/copse.1 has not one entry for `{name}`");
        };
        // These two have pages of their own.
        let others: &[&str] = match name.as_str() {
            "import" => &["supervisord", "procfile"],
            "export" => &["kubernetes"],
            "run" => &[""],
            _ => &[],
        };
        let help = match others {
            [] => said_by(env!("CARGO_BIN_EXE_copse"), &[&name, "--help"]),
            others => {
                let with = |other: &&str| {
                    let words: Vec<&str> =
                        [&name, *other, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
                    said_by(env!("CARGO_BIN_EXE_copse"), &words)
                };
                others.iter().map(with).collect()
            }
        };
        let page = std::fs::read_to_string(format!("{}/man/copse-{name}.1", env!("CARGO_MANIFEST_DIR")));
        let text = text.clone() + &page.map(|page| plain(&page)).unwrap_or_default();
        let (known, told) = (options_of_help(&help), options(&text));
        let missing: Vec<_> =
            known.iter().filter(|option| !told.contains(*option) && !shared.contains(*option)).collect();
        assert!(missing.is_empty(), "the entry of `{name}` has not {missing:?}");
        let inner = text.split("\n.TP\n").skip(1).filter_map(|rest| rest.lines().next());
        let tagged = tags.iter().map(String::as_str).chain(inner).flat_map(options);
        let stale: Vec<_> = tagged.filter(|option| !known.contains(option) && option != "--explain").collect();
        assert!(stale.is_empty(), "`copse {name}` has no {stale:?}");
        let usage = help.lines().find_map(|line| line.strip_prefix("Usage: copse ")).expect("a usage");
        let (shown, taken) = (operand(&tags[0]), operand(usage));
        let form = |operand: Option<&str>| operand.map(|word| (word.starts_with('['), word.ends_with("...")));
        let exempt = ["import", "export", "compile", "completions", "scale"].contains(&name.as_str());
        assert!(exempt || form(shown) == form(taken), "`{name}`: {shown:?} in the manual, {taken:?} in `--help`");
    }
    assert_eq!(entries.iter().flat_map(|(tags, _)| tags.first()).count(), commands().len(), "an entry too many");
}

#[test]
fn the_examples_of_the_commands_are_commands() {
    let mut tried = 0;
    for page in [COMMAND, RUN, IMPORT, EXPORT] {
        let blocks = section(page, "EXAMPLES").split(".nf\n").skip(1).filter_map(|rest| rest.split("\n.fi").next());
        for command in blocks.flat_map(str::lines).map(plain) {
            let Some(words) = command.strip_prefix("copse ") else { continue };
            let words: Vec<&str> = words.split(' ').filter(|word| *word != "\\e" && !word.is_empty()).collect();
            // Help is given only where everything before it makes sense.
            let help = Command::new(env!("CARGO_BIN_EXE_copse")).args(words).arg("--help").output().unwrap();
            assert!(help.status.success(), "{command}: {}", String::from_utf8_lossy(&help.stderr));
            tried += 1;
        }
    }
    assert!(tried >= 12, "{tried}");
}

#[test]
fn the_commands_of_the_readme_are_commands_and_the_move_from_supervisord_is_that_of_the_manual() {
    let readme = include_str!("../README.md");
    let blocks: Vec<&str> = readme.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let typed = |block: &str| -> Vec<String> {
        let lines = block.lines().filter_map(|line| line.strip_prefix("# ").or_else(|| line.strip_prefix("$ ")));
        lines.map(|line| line.split(" #").next().unwrap().trim().to_owned()).collect()
    };
    let mut tried = 0;
    for command in blocks.iter().flat_map(|block| typed(block)) {
        for words in command.split("; ").filter_map(|command| command.strip_prefix("copse ")) {
            let mut copse = Command::new(env!("CARGO_BIN_EXE_copse"));
            let help = copse.args(words.split(' ').filter(|word| *word != "--user")).arg("--help").output().unwrap();
            assert!(help.status.success(), "{command}: {}", String::from_utf8_lossy(&help.stderr));
            tried += 1;
        }
    }
    assert!(tried >= 15, "{tried}");
    let moves = blocks.iter().map(|block| typed(block)).find(|lines| lines[0].contains("import supervisord")).unwrap();
    let page = section(IMPORT, "EXAMPLES").split(".nf\n").nth(1).and_then(|rest| rest.split("\n.fi").next());
    assert_eq!(moves, plain(page.unwrap()).lines().collect::<Vec<_>>());
}

#[test]
fn the_examples_of_the_helper_are_command_lines() {
    let mut tried = 0;
    for block in section(NOTIFY, "EXAMPLES").split(".nf\n").skip(1).filter_map(|rest| rest.split("\n.fi").next()) {
        let text = plain(block).replace("\\e\n", "");
        for line in text.lines().filter_map(|line| line.split_once("=copse-notify ")) {
            let words = line.1.split_whitespace().map(std::ffi::OsString::from).collect();
            assert!(copse::notify::args::parse(words).is_ok(), "{}", line.1);
            tried += 1;
        }
    }
    assert!(tried >= 4, "{tried}");
}

#[test]
fn the_samples_of_json_are_json() {
    let samples = section(COMMAND, "JSON").split(".nf\n").skip(1).filter_map(|rest| rest.split("\n.fi").next());
    let samples: Vec<serde_json::Value> = samples.map(|text| serde_json::from_str(&plain(text)).unwrap()).collect();
    assert_eq!(samples.len(), 5);
}

/// The tree of units in copse(7) is that of the group file above it.
#[test]
fn the_group_of_the_overview_becomes_the_units_that_it_shows() {
    let mut blocks = section(CONCEPTS, "DESCRIPTION").split(".nf\n").skip(1);
    let mut block = || plain(blocks.next().and_then(|rest| rest.split("\n.fi").next()).expect("a block"));
    let (file, tree) = (block(), block());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shop.toml");
    std::fs::write(&path, &file).unwrap();
    let printed = said_by(env!("CARGO_BIN_EXE_copse"), &["render", path.to_str().unwrap()]);
    let mut made = BTreeSet::new();
    for line in printed.lines() {
        let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || "@-.".contains(c)));
        let is_unit = |word: &&str| {
            [".service", ".target", ".slice"].iter().any(|suffix| word.ends_with(suffix)) && !word.contains("@.service")
        };
        made.extend(words.filter(is_unit).map(|word| word.trim_start_matches('-').to_owned()));
    }
    let shown = tree.lines().map(|line| line.trim_start_matches("+- ").split(' ').next().unwrap().to_owned());
    assert_eq!(shown.collect::<BTreeSet<_>>(), made);
}

#[test]
fn the_examples_of_the_format_are_good_group_files() {
    let blocks: Vec<&str> = FORMAT.split(".nf\n").skip(1).filter_map(|rest| rest.split("\n.fi").next()).collect();
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
fn every_entry_of_a_key_begins_with_what_the_key_takes() {
    for chapter in ["KEYS OF THE GROUP", "KEYS OF A PROCESS"] {
        for entry in entries(section(FORMAT, chapter)) {
            assert!(entry.text.starts_with("Takes "), "{:?}: {}", entry.words, entry.text);
        }
    }
}

/// The rows of a table of keys: key, directive, default.
fn rows(heading: &str) -> Vec<[String; 3]> {
    let table = section(FORMAT, "DIRECTIVES AND DEFAULTS").split(&format!(".SS {heading}\n")).nth(1).expect("a table");
    let (table, _) = table.split_once("\n.TE").expect("it ends");
    let rows = table.lines().skip_while(|line| !line.starts_with("key\t")).skip(1).map(plain);
    rows.map(|row| {
        let mut cells = row.split('\t').map(str::to_owned);
        [(); 3].map(|()| cells.next().unwrap_or_default())
    })
    .collect()
}

#[test]
fn the_table_of_keys_has_each_key_with_its_directive() {
    // Keys of one kind are one row.
    let row_of = |key: &str, shared: &[&str]| match shared.iter().find(|suffix| key.ends_with(**suffix)) {
        Some(suffix) => format!("...{suffix}"),
        None => key.to_owned(),
    };
    let names = |rows: &[[String; 3]]| rows.iter().map(|[key, ..]| key.clone()).collect::<BTreeSet<_>>();
    let table = rows("Keys of a process");
    let known: BTreeSet<_> = keys::KEYS.iter().map(|key| row_of(key.name, &["-directory-mode"])).collect();
    assert_eq!(names(&table), known);
    for key in keys::KEYS {
        let Some((_, directive)) = key.directive else { continue };
        let [_, written, _] = table.iter().find(|[name, ..]| name == key.name).unwrap();
        assert_eq!(*written, format!("{directive}="), "{}", key.name);
    }
    let group = rows("Keys of the group");
    let known: BTreeSet<_> = keys::GROUP_KEYS
        .iter()
        .filter(|key| !["defaults", "process", "setup"].contains(*key))
        .map(|key| row_of(key, &["-directory-mode", "-directory"]))
        .collect();
    assert_eq!(names(&group), known);
}

/// What a process is given that has no key but its command.
#[test]
fn the_table_of_keys_has_the_defaults() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("web.toml");
    std::fs::write(&file, "[process.web]\nexec = \"/bin/true\"\n[setup.step]\nexec = \"/bin/true\"\n").unwrap();
    let printed = said_by(env!("CARGO_BIN_EXE_copse"), &["render", file.to_str().unwrap()]);
    let unit = printed.split("\n# /").find(|unit| unit.contains("/web.service\n")).expect("the service");
    let mut compared = 0;
    for [key, directive, default] in rows("Keys of a process") {
        let Some(value) = unit.lines().find_map(|line| line.strip_prefix(directive.split(',').next()?)) else {
            continue;
        };
        if directive.is_empty() || ["required", "derived", ""].contains(&default.as_str()) || key == "description" {
            continue;
        }
        assert_eq!(value, default, "{key}");
        compared += 1;
    }
    assert!(compared >= 7, "{compared}");
}

#[test]
fn every_section_of_a_page_stands_there_once() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let mut sections: Vec<&str> = text.lines().filter(|line| line.starts_with(".SH ")).collect();
        let all = sections.len();
        sections.sort_unstable();
        sections.dedup();
        assert_eq!(sections.len(), all, "{}: a section stands there twice: {sections:?}", page.display());
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
        let output = match Command::new("groff").args(["-t", "-man", "-ww", "-z", "-Tutf8"]).arg(&page).output() {
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
    let page = IMPORT;
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

    let mut table = String::new();
    let roff = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    for kind in KINDS {
        table += &format!(".SS {}\n", roff(&kind.header()));
        if let Some(sentence) = kind.sentence() {
            table += &format!("{}\n", roff(&sentence));
        }
        for row in kind.rows {
            let options: Vec<String> = row.options().map(|option| format!("\\fB{}\\fR", roff(option))).collect();
            table += &format!(".TP\n{}\n{}\n", options.join(", "), roff(&row.sentence()));
        }
    }
    let (before, rest) = IMPORT.split_once(".\\\" The table.\n").unwrap();
    let (written, after) = rest.split_once(".SH SEE ALSO").unwrap();
    if std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        let page = format!("{before}.\\\" The table.\n{table}.SH SEE ALSO{after}");
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/man/copse-import.1"), page).unwrap();
    } else {
        assert!(written == table, "man/copse-import.1 is old: SNAPSHOTS=overwrite cargo test --test manual");
    }
}

#[test]
fn the_manual_says_of_each_key_what_becomes_of_it_in_kubernetes() {
    use copse::export::keys;

    let mut table = String::new();
    let roff = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    for (heading, rows) in [("Group", keys::GROUP), ("Process, setup step, instance", keys::MEMBER)] {
        table += &format!(".SS {heading}\n");
        for row in rows {
            let keys: Vec<String> = row.keys().map(|key| format!("\\fB{}\\fR", roff(key))).collect();
            table += &format!(".TP\n{}\n{}\n", keys.join(", "), roff(&row.sentence()));
        }
    }
    let (before, rest) = EXPORT.split_once(".\\\" The table.\n").unwrap();
    let (written, after) = rest.split_once(".SH SEE ALSO").unwrap();
    if std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        let page = format!("{before}.\\\" The table.\n{table}.SH SEE ALSO{after}");
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/man/copse-export.1"), page).unwrap();
    } else {
        assert!(written == table, "man/copse-export.1 is old: SNAPSHOTS=overwrite cargo test --test manual");
    }
}

/// A TOML file without its comments and blank lines.
fn toml(text: &str) -> String {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_the_page_of_the_import_shows_is_what_is_imported() {
    let directory = tempfile::tempdir().unwrap();
    for (heading, kind, name, options) in [
        ("SUPERVISORD", "supervisord", "supervisord.conf", ""),
        ("PROCFILES", "procfile", "Procfile", "-m web=2,worker=1 -d /srv/shop"),
    ] {
        let mut blocks = section(IMPORT, heading).split(".nf\n").skip(1);
        let mut block = || plain(blocks.next().and_then(|rest| rest.split("\n.fi").next()).expect("a block"));
        let (input, output) = (block(), block());
        assert!(plain(section(IMPORT, heading)).contains(options));
        let path = directory.path().join(name);
        std::fs::write(&path, input + "\n").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
        command.args(["import", kind]).arg(&path).args(["--name", "shop"]).args(options.split_whitespace());
        let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert_eq!(toml(&printed), toml(&output));
    }
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
