//! The table of directives against what four versions of systemd print about themselves.
//!
//! `tests/directives/make` writes the table anew, for a newer systemd or a new section.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use copse::unit::Section;
use copse::unit::directives;
use copse::unit::directives::{Merge, Systemd};
use libtest_mimic::{Arguments, Failed, Trial};

#[path = "directives/manual.rs"]
mod manual;

/// The suites whose systemd is asked, and its version, the oldest first.
const SUITES: [(&str, u32); 4] = [("bullseye", 247), ("bookworm", 252), ("trixie", 257), ("forky", 262)];

const SECTIONS: [Section; 5] = [Section::Unit, Section::Service, Section::Socket, Section::Timer, Section::Slice];

const HEAD: &str = "\
# The directives that copse can write: section, name, the systemd version it appeared in (0: before the manual pages
# began to say so), the first tested version without it (-: none), how several assignments merge, what a change needs.
# tests/directives/make writes the first four from what systemd prints; a new directive gets a ? in the other two.
";

/// The directives that one version of systemd takes: (section, directive), with the form of the value.
type Dump = BTreeMap<(String, String), String>;

/// Forms of which a later assignment replaces the earlier one, as far as they say it.
const SINGLE: &[&str] = &[
    "ACTION",
    "BOOLEAN",
    "CPUWEIGHT",
    "INTEGER",
    "LEVEL",
    "MODE",
    "NANOSECONDS",
    "SECONDS",
    "SIGNAL",
    "STRING",
    "UNSIGNED",
    "WEIGHT",
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let manual_pages = std::env::var_os("COPSE_MANUAL_PAGES").map(PathBuf::from);
    let hindrance = (!rustix::process::geteuid().is_root()).then_some("entering the roots needs root");
    if let Some(why) = hindrance {
        eprintln!("NOT RUN: the table of directives isn't compared with any systemd: {why}");
    }
    // On a build machine a hindrance is a failure, which the trials themselves then meet.
    let ignored = hindrance.is_some() && std::env::var("CI").as_deref() != Ok("true");
    let mut trials: Vec<Trial> = SUITES
        .into_iter()
        .map(|(suite, version)| {
            Trial::test(format!("the_table_says_what_systemd_{version}_takes"), move || compare(suite, version))
                .with_ignored_flag(ignored)
        })
        .collect();
    trials
        .push(Trial::test("the_table_holds_nothing_that_no_systemd_takes", nothing_made_up).with_ignored_flag(ignored));
    if let Some(pages) = manual_pages {
        trials = vec![Trial::test("the_table_is_written", move || write_table(&pages))];
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What this suite's systemd prints, in the sections that copse writes.
fn dump(suite: &str, version: u32) -> Result<Dump, Failed> {
    let root = stdout(Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/roots.sh")).arg(suite))?;
    let run = |argument: &str| {
        stdout(
            Command::new("chroot")
                .arg(root.trim())
                .args(["/lib/systemd/systemd", argument])
                .env_clear()
                .env("PATH", PATH),
        )
    };
    let banner = run("--version")?;
    if banner.split_whitespace().nth(1) != Some(&version.to_string()) {
        return Err(format!("{suite} was expected to have systemd {version}, and says: {banner}").into());
    }
    let mut section = "";
    let mut dump = Dump::new();
    let text = run("--dump-configuration-items")?;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
        } else if let Some((directive, form)) = line.split_once('=')
            && SECTIONS.iter().any(|known| known.text() == section)
        {
            dump.insert((section.to_owned(), directive.to_owned()), form.to_owned());
        }
    }
    // A dump in another format must not look like a systemd that takes nothing.
    if dump.len() < 600 || SECTIONS.iter().any(|section| !dump.keys().any(|(found, _)| found == section.text())) {
        return Err(format!("systemd {version} printed only {} directives", dump.len()).into());
    }
    Ok(dump)
}

const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

fn stdout(command: &mut Command) -> Result<String, Failed> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Every directive that any of the four takes.
fn all_dumps() -> Result<BTreeMap<u32, Dump>, Failed> {
    SUITES.into_iter().map(|(suite, version)| Ok((version, dump(suite, version)?))).collect()
}

fn section_named(name: &str) -> Section {
    SECTIONS.into_iter().find(|section| section.text() == name).expect("dumps are filtered by section")
}

/// The table knows for this version what it takes, and nothing else; and a value of one part isn't a list.
fn compare(suite: &str, version: u32) -> Result<(), Failed> {
    let taken = dump(suite, version)?;
    let systemd = Systemd { version };
    let mut wrong = String::new();
    for (section, directive) in taken.keys().chain(table().keys()).collect::<BTreeSet<_>>() {
        let form = taken.get(&(section.clone(), directive.clone()));
        let really = form.is_some();
        let said = systemd.knows(section_named(section), directive);
        if really != said {
            let since = directives::since(section_named(section), directive);
            let _ = writeln!(wrong, "[{section}] {directive}=: taken: {really}, table: {said} (since {since:?})");
        }
        let merge = directives::merge(section, directive);
        let single = form.is_some_and(|form| SINGLE.contains(&form.as_str()));
        let list = form.is_some_and(|form| form.contains("[...]") || form == "CONDITION");
        if single && merge != Merge::Last || list && merge == Merge::Last {
            let _ = writeln!(wrong, "[{section}] {directive}=: takes {}, table: {merge:?}", form.unwrap());
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("systemd {version} (tests/directives/make?)\n{wrong}").into()) }
}

/// Every line of the table is taken by at least one of the four.
fn nothing_made_up() -> Result<(), Failed> {
    let known: Dump = all_dumps()?.into_values().flatten().collect();
    let made_up: Vec<_> = table().into_keys().filter(|directive| !known.contains_key(directive)).collect();
    if made_up.is_empty() { Ok(()) } else { Err(format!("no systemd takes: {made_up:?}").into()) }
}

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/unit/directives.tsv");

/// The directives in the committed table, each with the cells that no systemd prints: how it merges, what a change needs.
fn table() -> Dump {
    let text = std::fs::read_to_string(TABLE).expect("the table is committed");
    let rows = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let cells: Vec<&str> = line.splitn(5, '\t').collect();
        Some(((cells.first()?.to_string(), cells.get(1)?.to_string()), cells.get(4)?.to_string()))
    });
    rows.collect()
}

/// Makes the table: which versions take a directive is theirs to say; the exact number is taken from the manual pages
/// where it agrees with that, else it is the first of the four that takes it.
fn write_table(pages: &Path) -> Result<(), Failed> {
    let dumps = all_dumps()?;
    let everything: BTreeSet<_> = dumps.values().flat_map(BTreeMap::keys).collect();
    let table = table();
    let numbers: BTreeMap<&str, _> =
        SECTIONS.into_iter().map(|section| (section.text(), manual::versions(pages, section))).collect();
    let mut text = HEAD.to_owned();
    for key @ (section, directive) in &everything {
        let taken: Vec<(u32, bool)> = dumps.iter().map(|(version, dump)| (*version, dump.contains_key(*key))).collect();
        let first = taken.iter().position(|(_, taken)| *taken).expect("it came from a dump");
        // Later than the last version without it, and not later than the first with it.
        let (above, upto) = (first.checked_sub(1).map_or(0, |before| taken[before].0), taken[first].0);
        let stated = numbers[section.as_str()].get(directive).copied();
        let since = match stated {
            Some(stated) if above < stated && stated <= upto => stated,
            // As old as the oldest asked, and no page says more.
            _ if above == 0 => 0,
            _ => {
                eprintln!("[{section}] {directive}=: pages say {stated:?}, seen in {upto} but not in {above}");
                upto
            }
        };
        let dropped = taken[first..].iter().find(|(_, taken)| !taken).map(|(version, _)| version.to_string());
        let dropped = dropped.as_deref().unwrap_or("-");
        let by_hand = table.get(*key).map_or("?\t?", String::as_str);
        let _ = writeln!(text, "{section}\t{directive}\t{since}\t{dropped}\t{by_hand}");
    }
    Ok(std::fs::write(TABLE, text)?)
}
