//! `packaging/debian/copyright` names the licence of every crate that the source package brings along, and says which
//! of them are linked into the programs. `SNAPSHOTS=overwrite cargo test --test copyright` writes it anew. And what else
//! packages say of the crates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What cargo says of the locked crates; those that it doesn't have yet it fetches.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).arg("--locked").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The licence in the words of the machine-readable format, version 1.0.
fn in_debians_words(spdx: &str) -> String {
    let words = spdx.replace('/', " OR ");
    let renamed = |word: &str| match word {
        "MIT" => "Expat".to_owned(),
        "LGPL-2.1-or-later" => "LGPL-2.1+".to_owned(),
        "OR" => "or".to_owned(),
        "AND" => "and".to_owned(),
        "WITH" => "with".to_owned(),
        "LLVM-exception" => "LLVM exception".to_owned(),
        word => word.to_owned(),
    };
    // `(a or b) and c` is written `a or b, and c` there.
    let words = words.replace(") AND", ", AND").replace(['(', ')'], "");
    words
        .split(' ')
        .map(|word| match word.strip_suffix(',') {
            Some(word) => renamed(word) + ",",
            None => renamed(word),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Of one licence: the folders of its crates, and their authors.
#[derive(Default)]
struct Stanza {
    files: BTreeSet<String>,
    authors: BTreeSet<String>,
}

fn stanzas() -> BTreeMap<String, Stanza> {
    let metadata: Value = serde_json::from_str(&cargo(&["metadata", "--format-version=1"])).unwrap();
    let mut stanzas: BTreeMap<String, Stanza> = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let (name, version) = (package["name"].as_str().unwrap(), package["version"].as_str().unwrap());
        if package["source"].is_null() {
            continue;
        }
        let licence = package["license"].as_str().unwrap_or_else(|| panic!("{name} has no licence"));
        let stanza = stanzas.entry(in_debians_words(licence)).or_default();
        stanza.files.insert(format!("vendor/{name}-{version}/*"));
        let authors = package["authors"].as_array().unwrap().iter().filter_map(Value::as_str);
        let authors: Vec<String> = authors.map(|author| author.replace('\n', " ")).collect();
        match authors.is_empty() {
            true => drop(stanza.authors.insert(format!("The authors of {name}"))),
            false => stanza.authors.extend(authors),
        }
    }
    stanzas
}

/// The crates whose code is in the programs, `NAME-VERSION`: not macros, nor what those are made with.
fn linked() -> BTreeSet<String> {
    let arguments = ["tree", "--edges=normal", "--prefix=depth", "--no-dedupe", "--target=x86_64-unknown-linux-gnu"];
    let tree = cargo(&arguments);
    let mut below_macro = usize::MAX;
    let mut linked = BTreeSet::new();
    for line in tree.lines() {
        let name = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let depth: usize = line[..line.len() - name.len()].parse().unwrap();
        if depth > below_macro {
            continue;
        }
        below_macro = if name.contains("(proc-macro)") { depth } else { usize::MAX };
        if depth > 0 && below_macro == usize::MAX {
            linked.insert(name.split_once(" (").map_or(name, |(name, _)| name).replace(" v", "-"));
        }
    }
    linked
}

fn copyright() -> String {
    let mut text = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: copse\n\
         Comment: Written by tests/copyright.rs from what cargo knows of the crates.\n \
         Linked into the programs are:"
        .to_owned();
    for name in linked() {
        text += &format!("\n {name}");
    }
    text += "\n\nFiles: *\nCopyright: 2026 The copse authors\nLicense: Expat or Apache-2.0\n";
    for (licence, stanza) in stanzas() {
        let list = |all: BTreeSet<String>| all.into_iter().collect::<Vec<_>>().join("\n ");
        text += &format!("\nFiles: {}\n", list(stanza.files));
        text += &format!("Copyright: {}\nLicense: {licence}\n", list(stanza.authors));
    }
    text + "\n" + include_str!("../packaging/licences")
}

#[test]
fn debians_copyright_file_is_what_cargo_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/debian/copyright");
    let made = copyright();
    if std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        std::fs::write(&path, &made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap();
    assert!(there == made, "packaging/debian/copyright is old: SNAPSHOTS=overwrite cargo test --test copyright");
}

#[test]
fn every_licence_has_its_text() {
    let texts = include_str!("../packaging/licences");
    let known: Vec<&str> = texts.lines().filter_map(|line| line.strip_prefix("License: ")).collect();
    for licence in stanzas().into_keys() {
        for part in licence.replace(',', "").split(" or ").flat_map(|part| part.split(" and ")) {
            assert!(known.contains(&part), "no text of `{part}`");
        }
    }
}

/// `1.89` and `1.89.0` are the same.
fn version(text: &str) -> [u32; 3] {
    let mut numbers = text.split('.').map(|number| number.parse().unwrap());
    [(); 3].map(|()| numbers.next().unwrap_or(0))
}

/// What `Cargo.toml` says, no crate needs more; and packages ask for the same.
#[test]
fn the_oldest_compiler_is_the_same_everywhere_and_enough_for_every_crate() {
    let metadata: Value = serde_json::from_str(&cargo(&["metadata", "--format-version=1"])).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let ours = packages.iter().find(|package| package["source"].is_null()).unwrap()["rust_version"].as_str().unwrap();
    for package in packages {
        let theirs = package["rust_version"].as_str().unwrap_or("0");
        assert!(version(theirs) <= version(ours), "{} needs {theirs}", package["name"]);
    }
    assert!(include_str!("../packaging/debian/control").contains(&format!(" rustc:native (>= {ours}),\n")));
    assert!(include_str!("../packaging/rpm/copse.spec").contains(&format!(" cargo >= {ours}\n")));
}

#[test]
fn the_crate_holds_what_builds_and_installs_it_and_nothing_else() {
    let list = cargo(&["package", "--list", "--allow-dirty", "--offline"]);
    let known =
        ["src/", "man/", "units/", "examples/", "Makefile", "Cargo.", "LICENSE-", "NEWS.md", "README.md", ".cargo_"];
    for path in list.lines() {
        assert!(known.iter().any(|known| path.starts_with(known)), "{path}");
    }
    for path in ["src/bin/copse-generator.rs", "man/copse.toml.5", "units/user/copse-ready@.service", "LICENSE-MIT"] {
        assert!(list.lines().any(|line| line == path), "{path}");
    }
}
