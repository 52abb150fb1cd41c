//! Reads "Added in version N" out of systemd's manual pages.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use copse::unit::Section;

/// The pages that describe a section's directives; of two that describe the same, the earlier counts.
fn pages(section: Section) -> &'static [&'static str] {
    match section {
        Section::Unit => &["unit"],
        Section::Service => &["service", "exec", "kill", "resource-control"],
        Section::Socket => &["socket", "exec", "kill", "resource-control"],
        Section::Timer => &["timer"],
        Section::Slice => &["slice", "resource-control"],
        Section::Install => &["unit"],
    }
}

/// Directive → the version it was added in, as the compressed pages `systemd.*.5.gz` in `directory` say.
pub fn versions(directory: &Path, section: Section) -> BTreeMap<String, u32> {
    let mut versions = BTreeMap::new();
    for page in pages(section) {
        let path = directory.join(format!("systemd.{page}.5.gz"));
        let output = Command::new("gzip").args(["-dc"]).arg(&path).output().expect("gzip runs");
        assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("the pages are UTF-8");
        for (directive, version) in page_versions(&text) {
            versions.entry(directive).or_insert(version);
        }
    }
    // All assertions stand in one entry, with the number of the first of them: each is as old as its condition.
    for (name, version) in versions.clone() {
        if let Some(assertion) = name.strip_prefix("Condition").map(|rest| format!("Assert{rest}")) {
            versions.entry(assertion).and_modify(|own| *own = version.max(*own));
        }
    }
    versions
}

/// An entry is a line of names, an indented block, and in it, last and not indented further, the number:
/// `\fIA=\fR, \fIB=\fR` · `.RS 4` · … · `Added in version 252\&.` · `.RE`
fn page_versions(text: &str) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut entries: Vec<(Vec<String>, Option<u32>)> = Vec::new();
    let mut before = "";
    for line in text.lines() {
        if line.starts_with(".RS") {
            entries.push((names(before), None));
        } else if line.starts_with(".RE") {
            if let Some((names, Some(version))) = entries.pop() {
                found.extend(names.into_iter().map(|name| (name, version)));
            }
        } else if let Some(number) = line.strip_prefix("Added in version ") {
            let number = number.trim_end_matches("\\&.").parse().expect("a version is a number");
            if let Some((_, version)) = entries.last_mut() {
                *version = Some(number);
            }
        }
        before = line;
    }
    found
}

/// `\fIMemoryMin=\fR\fI\fIbytes\fR\fR, \fIMemoryLow=\fR` → MemoryMin, MemoryLow
fn names(line: &str) -> Vec<String> {
    if !line.starts_with("\\fI") {
        return Vec::new();
    }
    let words = line.split("\\fI").filter_map(|word| word.split_once('=').map(|(name, _)| name));
    words.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric())).map(str::to_owned).collect()
}
