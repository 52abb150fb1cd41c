//! What a version of systemd doesn't have, and so is left out of the units made for it.

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::discover::Source;
use crate::group_file::document;
use crate::group_file::document::{KeySpan, Table, Value};
use crate::group_file::keys;
use crate::model::parse::pass_through;
use crate::unit::Section;
use crate::unit::directives;
use crate::unit::directives::Systemd;

/// Notes on everything in `source` that is written as a directive which this systemd doesn't have. They are for who
/// asks (`copse check`); the generator leaves the same out without a word at each daemon-reload.
///
/// Reads the text once more; what is wrong with it otherwise, [`crate::model::read`] says.
pub fn left_out(source: &Source, systemd: Systemd) -> Diagnostics {
    let mut notes = Notes { systemd, found: Diagnostics::default() };
    // Each file by itself: merging would only take away where something was written.
    for file in std::iter::once(&source.file).chain(&source.drop_ins) {
        if let Some(table) = document::parse(file, &mut Diagnostics::default()) {
            notes.file(&table);
        }
    }
    notes.found
}

struct Notes {
    systemd: Systemd,
    found: Diagnostics,
}

impl Notes {
    fn file(&mut self, table: &Table) {
        for (key, section) in [("target", Section::Unit), ("slice", Section::Slice)] {
            self.directives(section, table.table(key));
        }
        self.settings(table.table("defaults"));
        for kind in ["setup", "process"] {
            for member in table.table(kind).map_or_else(Vec::new, Table::written_order) {
                self.settings(member.node.as_table());
                let instances = member.node.as_table().and_then(|member| member.table("instance"));
                for instance in instances.map_or_else(Vec::new, Table::written_order) {
                    self.settings(instance.node.as_table());
                }
            }
        }
    }

    /// The keys and pass-through tables of a process, a setup step, an instance, or `[defaults]`.
    fn settings(&mut self, table: Option<&Table>) {
        for entry in table.map_or_else(Vec::new, Table::written_order) {
            let name = &*entry.name;
            if let Some((section, directive, _)) = keys::find(name).and_then(|key| key.directive) {
                self.directive(section, directive, &entry.key);
            } else if let Some((_, section)) = pass_through::tables().find(|(table, _)| *table == name) {
                self.directives(section, entry.node.as_table());
            } else if name == "credentials" {
                self.credentials(entry.node.as_table());
            }
        }
    }

    fn directives(&mut self, section: Section, table: Option<&Table>) {
        for entry in table.map_or_else(Vec::new, Table::written_order) {
            self.directive(section, &entry.name, &entry.key);
        }
    }

    fn credentials(&mut self, table: Option<&Table>) {
        for entry in table.map_or_else(Vec::new, Table::written_order) {
            let directive = match &entry.node.value {
                Value::Table(table) if table.get("encrypted").is_some() => "LoadCredentialEncrypted",
                Value::Table(_) => "SetCredential",
                _ => "LoadCredential",
            };
            self.directive(Section::Service, directive, &entry.key);
        }
    }

    fn directive(&mut self, section: Section, directive: &str, place: &KeySpan) {
        let Some(since) = directives::since(section, directive) else { return };
        if self.systemd.knows(section, directive) {
            return;
        }
        let version = self.systemd.version;
        let when = if since > version {
            format!("systemd has `{directive}=` from version {since} on")
        } else {
            format!("systemd {version} has no `{directive}=` any more")
        };
        let left_out = format!("{when}; in units for {version} it is left out");
        self.found.push(Diagnostic::new(Code::TooNew, place, left_out));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::basic::diagnostic::SourceFile;
    use crate::unit::name::GroupName;

    fn lines(text: &str, drop_in: &str, version: u32) -> Vec<String> {
        let file = |path: &str, text: &str| Arc::new(SourceFile { path: path.into(), text: text.to_owned() });
        let name = GroupName::new("a").unwrap();
        let source = Source { name, file: file("a.toml", text), drop_ins: vec![file("a.toml.d/1.toml", drop_in)] };
        left_out(&source, Systemd { version }).iter().map(Diagnostic::line).collect()
    }

    const TEXT: &str = "
slice = { MemoryZSwapWriteback = true, CPUWeight = 5 }
[defaults]
restart-steps = 3
[process.a.service]
MemoryLimit = 5
RestartMode = \"direct\"
X-Mine = 1
[process.a.instance.1.unit]
Upholds = \"b.service\"
[setup.b]
credentials = { key = { encrypted = \"/k\" }, other = \"/o\" }
";

    #[test]
    fn each_directive_that_a_version_lacks_is_noted_where_it_is_written() {
        let drop_in = "[process.a]\nrestart-max-delay-sec = 5\n";
        let of = |version| lines(TEXT, drop_in, version);
        let places: Vec<String> = of(247).iter().map(|line| line.split(": note").next().unwrap().to_owned()).collect();
        assert_eq!(
            places,
            ["a.toml:2:11", "a.toml:4:1", "a.toml:12:17", "a.toml:7:1", "a.toml:10:1", "a.toml.d/1.toml:2:1"]
        );
        assert_eq!(
            of(252)[1],
            "a.toml:4:1: note[too-new]: systemd has `RestartSteps=` from version 254 on; in units for 252 it is left out"
        );
        assert_eq!(
            of(262),
            ["a.toml:6:1: note[too-new]: systemd 262 has no `MemoryLimit=` any more; in units for 262 it is left out"]
        );
    }
}
