//! Directives that a version of systemd does not have, which are left out of the units for it.

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::discover::Source;
use crate::group_file::document;
use crate::group_file::document::{Entry, Table, Value};
use crate::group_file::keys;
use crate::group_file::keys::KeyKind;
use crate::unit::Section;
use crate::unit::directives;
use crate::unit::directives::Systemd;

/// A note on each directive in `source` that this systemd does not have, for `copse check`; the generator leaves them out
/// silently at each daemon-reload. Errors in the text are reported by [`read`](crate::model::read), not here.
pub fn unsupported(source: &Source, systemd: Systemd) -> Diagnostics {
    let mut notes = Notes { systemd, found: Diagnostics::default() };
    // Each file on its own: merging would drop the locations of what is replaced.
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

/// The entries of a table in the order in which they were written; none if it is missing or no table.
fn entries<'a, 't>(table: Option<&'a Table<'t>>) -> Vec<&'a Entry<'t>> {
    table.map_or_else(Vec::new, Table::written_order)
}

impl Notes {
    fn file(&mut self, table: &Table) {
        self.directives(Section::Unit, table.table("target"));
        self.directives(Section::Slice, table.table("slice"));
        self.settings(table.table("defaults"));
        for member in ["setup", "process"].into_iter().flat_map(|kind| entries(table.table(kind))) {
            let member = member.node.as_table();
            self.settings(member);
            for instance in entries(member.and_then(|member| member.table("instance"))) {
                self.settings(instance.node.as_table());
            }
        }
    }

    /// The keys and pass-through tables of a process, a setup step, an instance, or `[defaults]`.
    fn settings(&mut self, table: Option<&Table>) {
        for entry in entries(table) {
            let key = keys::find(&entry.name);
            match key.map(|key| (key.kind, key.directive)) {
                Some((_, Some((section, directive)))) => self.directive(section, directive, entry),
                Some((KeyKind::Directives(section), _)) => self.directives(section, entry.node.as_table()),
                Some((KeyKind::Credentials, _)) => self.credentials(entry.node.as_table()),
                _ => {}
            }
        }
    }

    fn directives(&mut self, section: Section, table: Option<&Table>) {
        for entry in entries(table) {
            self.directive(section, &entry.name, entry);
        }
    }

    fn credentials(&mut self, table: Option<&Table>) {
        for entry in entries(table) {
            let directive = match &entry.node.value {
                Value::Table(table) if table.get("encrypted").is_some() => "LoadCredentialEncrypted",
                Value::Table(_) => "SetCredential",
                _ => "LoadCredential",
            };
            self.directive(Section::Service, directive, entry);
        }
    }

    fn directive(&mut self, section: Section, directive: &str, entry: &Entry) {
        let Some(since) = directives::since(section, directive) else { return };
        if self.systemd.knows(section, directive) {
            return;
        }
        let version = self.systemd.version;
        let message = if since > version {
            format!("systemd {version} does not have `{directive}=` (it appeared in {since}), ignoring")
        } else {
            format!("systemd {version} has dropped `{directive}=`, ignoring")
        };
        self.found.push(Diagnostic::new(Code::TooNew, entry, message));
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
        unsupported(&source, Systemd { version }).iter().map(Diagnostic::line).collect()
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
            "a.toml:4:1: note[too-new]: systemd 252 does not have `RestartSteps=` (it appeared in 254), ignoring"
        );
        assert_eq!(of(262), ["a.toml:6:1: note[too-new]: systemd 262 has dropped `MemoryLimit=`, ignoring"]);
    }
}
