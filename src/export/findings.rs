//! Notes and refusals, with the location of the key that they are about.

use super::keys;
use super::keys::{Fate, Row};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceLocation};
use crate::group_file::document::{Entry, Table, Value};
use crate::unit::name::ProcessName;

/// A process or setup step, or one of its instances.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// `process` or `setup`.
    pub kind: &'static str,
    pub name: &'a ProcessName,
    pub instance: Option<&'a str>,
    /// The header of its table.
    pub header: &'a SourceLocation,
}

/// What is found on the way.
pub struct Findings<'a> {
    document: &'a Table<'a>,
    group: &'a SourceLocation,
    pub diagnostics: Diagnostics,
}

impl<'a> Findings<'a> {
    /// `group`: the location of the whole group.
    pub fn new(document: &'a Table<'a>, group: &'a SourceLocation) -> Self {
        Self { document, group, diagnostics: Diagnostics::default() }
    }

    /// The entry of a key: of the instance, of the process or step, or else of `[defaults]`.
    pub fn entry(&self, member: &Member<'_>, key: &str) -> Option<&'a Entry<'a>> {
        self.tables(member).into_iter().flatten().find_map(|table| table.get(key))
    }

    /// The entry of a directive in a pass-through table, likewise.
    pub fn directive(&self, member: &Member<'_>, table: &str, name: &str) -> Option<&'a Entry<'a>> {
        self.tables(member).into_iter().flatten().find_map(|own| own.table(table)?.get(name))
    }

    fn tables(&self, member: &Member<'_>) -> [Option<&'a Table<'a>>; 3] {
        let own = self.document.table(member.kind).and_then(|members| members.table(member.name.as_str()));
        let instance = member.instance.and_then(|name| own?.table("instance")?.table(name));
        [instance, own, self.document.table("defaults")]
    }

    fn location(&self, member: &Member<'_>, key: &str) -> SourceLocation {
        self.entry(member, key).map_or_else(|| member.header.clone(), SourceLocation::from)
    }

    fn group_location(&self, key: &str) -> SourceLocation {
        self.document.get(key).map_or_else(|| self.group.clone(), SourceLocation::from)
    }

    /// The group cannot be exported because of a key of this member.
    pub fn refuse(&mut self, member: &Member<'_>, key: &str, why: &str, instead: &str) {
        let location = self.location(member, key);
        self.refuse_at(location, key, why, instead);
    }

    /// As [`Findings::refuse`], for a key of the group.
    pub fn refuse_group(&mut self, key: &str, why: &str, instead: &str) {
        let location = self.group_location(key);
        self.refuse_at(location, key, why, instead);
    }

    pub fn refuse_at(&mut self, location: SourceLocation, key: &str, why: &str, instead: &str) {
        let message = format!("cannot export `{key}`: {why}");
        self.diagnostics.push(Diagnostic::new(Code::NotExported, location, message).help(instead));
    }

    /// A key of this member means something else.
    pub fn note(&mut self, member: &Member<'_>, key: &str, what: &str) {
        let location = self.location(member, key);
        self.note_at(location, key, what, None);
    }

    /// As [`Findings::note`], with what has to be done.
    pub fn note_to_do(&mut self, member: &Member<'_>, key: &str, what: &str, remedy: &str) {
        let location = self.location(member, key);
        self.note_at(location, key, what, Some(remedy));
    }

    /// As [`Findings::note`], for a key of the group.
    pub fn note_group(&mut self, key: &str, what: &str) {
        let location = self.group_location(key);
        self.note_at(location, key, what, None);
    }

    pub fn note_at(&mut self, location: SourceLocation, key: &str, what: &str, remedy: Option<&str>) {
        let mut diagnostic = Diagnostic::new(Code::ExportDiffers, location, format!("`{key}` {what}"));
        diagnostic.help = remedy.map(str::to_owned);
        self.diagnostics.push(diagnostic);
    }

    /// Reports the keys of a table whose fate needs no more than their presence.
    pub fn table(&mut self, rows: &'static [Row], entries: &[&Entry<'_>]) {
        for entry in entries {
            // Such as `inputs = []`, which overrides a default.
            let is_empty = entry.node.value == Value::Array(Vec::new());
            let Some(row) = keys::find(rows, &entry.name).filter(|_| !is_empty) else { continue };
            match row.fate {
                Fate::Mapped => {}
                Fate::Noted => self.note_at(SourceLocation::from(*entry), &entry.name, row.text, None),
                Fate::Refused => {
                    self.refuse_at(SourceLocation::from(*entry), &entry.name, row.text, row.instead);
                }
            }
        }
    }
}
