//! The settings of one unit, from the merged table of `[defaults]`, its process or setup step, and its instance.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::command;
use super::context::{GroupContext, Reader, Role};
use super::directive::directive;
use super::directories::first;
use super::member::Member;
use super::placeholder;
use super::placeholder::Position;
use super::value;
use super::value::{conflict, invalid, missing, shown, unrepresentable, wrong_type};
use crate::basic::diagnostic::Diagnostics;
use crate::group_file::document::{Entry, Node, Table, Value};
use crate::group_file::keys;
use crate::model::service::{Credential, Directive, Hardening, Ready, Service};
use crate::model::text::{Argv, Text};

/// Reads the settings of `member`, or of one of its instances, whose merged table and header these are. `instances`: true
/// if the member has some.
pub fn read(
    table: &Table,
    header: &str,
    member: &Member<'_>,
    instances: bool,
    group: &GroupContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Service {
    let mut reader = Reader::new(table, group.name, member.name.as_str(), instances, diagnostics);
    let directories = reader.directories();
    reader.placeholders.directories = first(&directories, group.shared);
    reader.working_directory = reader.working_directory();
    let ready = reader.readiness(member.role);
    let limits = reader.limits(member.role, &ready);
    let health = table.get("health").and_then(|entry| reader.health(&entry.node));
    if health.is_some() || matches!(ready, Ready::Probe(_)) {
        reader.refuse_notify_access();
    }
    Service {
        description: reader.get("description", value::plain),
        exec: reader.exec(header, member),
        exec_start_pre: reader.commands("exec-start-pre"),
        exec_start_post: reader.commands("exec-start-post"),
        exec_reload: reader.commands("exec-reload"),
        exec_stop: reader.commands("exec-stop"),
        exec_stop_post: reader.commands("exec-stop-post"),
        environment: reader.environment(),
        environment_files: reader.environment_files(),
        inputs: reader.inputs(),
        hardening: reader.hardening(),
        credentials: reader.credentials(),
        pass: reader.pass_through(header, group.has_unit),
        essential: reader.essential(member.role),
        directives: reader.directives(limits.promised),
        restart: limits.restart,
        timeout_start: limits.timeout_start,
        working_directory: reader.working_directory,
        directories,
        ready,
        health,
    }
}

impl<'a> Reader<'a, '_> {
    fn exec(&mut self, header: &str, member: &Member<'_>) -> Argv {
        let argv = match (self.table.get("exec"), self.table.get("shell")) {
            (Some(exec), Some(shell)) => {
                let diagnostic = conflict(shell, "`exec` and `shell` exclude each other");
                self.push(diagnostic.related(&exec.key, "`exec` is here"));
                None
            }
            (Some(entry), None) => self.command("exec", &entry.node),
            (None, Some(entry)) => self.shell(&entry.node),
            (None, None) => {
                let diagnostic = missing(&member.location, format!("`[{header}]` has no command"));
                self.push(diagnostic.help("add `exec = [\"/path/to/program\", \"argument\"]`, or `shell = \"…\"`"));
                None
            }
        };
        argv.unwrap_or_default()
    }

    fn readiness(&mut self, role: Role) -> Ready {
        let Some(entry) = self.table.get("ready") else {
            return if matches!(role, Role::Timed | Role::Setup) { Ready::Oneshot } else { Ready::Exec };
        };
        let ready = self.ready(&entry.node).unwrap_or(Ready::Exec);
        if role == Role::Timed && ready != Ready::Oneshot {
            self.push(conflict(entry, "`ready` must be `\"oneshot\"` with `on-calendar`"));
        }
        ready
    }

    fn working_directory(&mut self) -> Option<Text> {
        let node = &self.table.get("working-directory")?.node;
        let text = self.path("working-directory", node)?;
        if text.is_relative() && text.leading() != "~" {
            self.push(invalid(node, "`working-directory` must be an absolute path, or `~`"));
            return None;
        }
        Some(text)
    }

    /// The entries of a table of values by name, without those that `false` removes.
    fn named(&mut self, key: &str, example: &str) -> Vec<&'a Entry<'a>> {
        let Some(entry) = self.table.get(key) else { return Vec::new() };
        let Some(table) = entry.node.as_table() else {
            self.push(wrong_type(key, &format!("a table such as `{key} = {{ {example} }}`"), &entry.node));
            return Vec::new();
        };
        table.entries().iter().filter(|entry| entry.node.value != Value::Boolean(false)).collect()
    }

    fn environment(&mut self) -> BTreeMap<String, Text> {
        let entries = self.named("environment", "NAME = \"value\"");
        entries.into_iter().filter_map(|entry| Some((entry.name.to_string(), self.variable(entry)?))).collect()
    }

    fn variable(&mut self, entry: &Entry) -> Option<Text> {
        let (name, node) = (&*entry.name, &entry.node);
        if !placeholder::is_variable(name) {
            let message = format!("`{}` is not a valid variable name", shown(name));
            self.push(unrepresentable(entry, message).help("use letters, digits and `_`, without a digit first"));
            return None;
        }
        let text = match &node.value {
            Value::Integer(number) => Text::literal(number.to_string()),
            Value::String(_) => self.text(name, node, Position::Environment)?,
            _ => {
                self.push(wrong_type(name, "a string, or `false` to remove the variable", node));
                return None;
            }
        };
        let length = name.len() + 1 + text.literal_len();
        self.diagnostics.ok(command::check_length(format_args!("`{name}`"), node, length)).map(|()| text)
    }

    fn environment_files(&mut self) -> Vec<(bool, Text)> {
        let mut files = Vec::new();
        for node in self.strings("environment-file") {
            let Some(mut text) = self.path("environment-file", node) else { continue };
            let optional = text.leading().starts_with('-');
            if optional && let Some(literal) = text.leading_mut() {
                literal.remove(0);
            }
            if text.is_relative() {
                let message = "`environment-file` takes absolute paths, with a leading `-` for an optional file";
                self.push(invalid(node, message));
            } else {
                files.push((optional, text));
            }
        }
        files
    }

    fn inputs(&mut self) -> Vec<Text> {
        let mut paths = Vec::new();
        for node in self.strings("inputs") {
            match self.text("inputs", node, Position::Path) {
                Some(text) if text.is_relative() => self.push(invalid(node, "`inputs` takes absolute paths")),
                text => paths.extend(text),
            }
        }
        paths
    }

    fn hardening(&mut self) -> Hardening {
        match self.get("hardening", |key, node| value::word(key, node, keys::HARDENING)) {
            Some("basic") => Hardening::Basic,
            Some("strict") => Hardening::Strict,
            _ => Hardening::None,
        }
    }

    fn credentials(&mut self) -> BTreeMap<String, Credential> {
        let mut credentials = BTreeMap::new();
        for entry in self.named("credentials", "NAME = \"/path\"") {
            let name = &*entry.name;
            let valid = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            if matches!(name, "" | "." | "..") || name.len() > 255 || !name.chars().all(valid) {
                let message = format!("`{}` is not a valid credential name", shown(name));
                self.push(unrepresentable(entry, message).help("use letters, digits, `_`, `.` and `-`"));
            } else if let Some(credential) = self.credential(name, &entry.node) {
                credentials.insert(name.to_owned(), credential);
            }
        }
        credentials
    }

    fn credential(&mut self, name: &str, node: &Node) -> Option<Credential> {
        let diagnostic = match &node.value {
            Value::String(written) => {
                let text = self.path(name, node)?;
                let in_store = !written.is_empty() && !written.contains(['/', ':']) && !written.starts_with('.');
                if in_store || !text.is_relative() {
                    return Some(Credential::Load(text));
                }
                let expected = "an absolute path, or the name of a credential in systemd's store";
                invalid(node, format!("credential `{name}` takes {expected}"))
            }
            Value::Table(table) => {
                value::unknown_keys("a credential", table, &["encrypted", "text"], self.diagnostics);
                match (table.get("encrypted"), table.get("text")) {
                    (Some(entry), None) => return self.path(name, &entry.node).map(Credential::Encrypted),
                    (None, Some(entry)) => {
                        let text = self.diagnostics.ok(value::any_text("text", &entry.node))?;
                        return Some(Credential::Text(text.to_owned()));
                    }
                    _ => conflict(node, format!("credential `{name}` takes either `encrypted` or `text`")),
                }
            }
            _ => {
                let expected = "a path, a name in systemd's store, `{ encrypted = PATH }` or `{ text = \"…\" }`";
                wrong_type(name, expected, node)
            }
        };
        self.push(diagnostic);
        None
    }

    fn essential(&mut self, role: Role) -> bool {
        let Some(entry) = self.table.get("essential") else { return matches!(role, Role::Auto | Role::Setup) };
        let essential = self.diagnostics.ok(value::boolean("essential", &entry.node)).unwrap_or(true);
        if essential && role == Role::Timed {
            self.push(conflict(
                entry,
                "`essential` cannot be combined with `on-calendar`: the group does not wait for it",
            ));
        }
        essential && role != Role::Timed
    }

    /// The keys that are directives one to one, in the order of the table of keys, which is that of `promised` too.
    fn directives(&mut self, promised: Vec<(&'static str, Cow<'static, str>)>) -> Vec<Directive> {
        let mut promised = promised.into_iter().peekable();
        let mut directives = Vec::new();
        for key in keys::KEYS {
            let Some((section, name)) = key.directive else { continue };
            let value = match promised.next_if(|(promised, _)| *promised == key.name) {
                Some((_, value)) => Some(value),
                None => {
                    let entry = self.table.get(key.name);
                    entry.and_then(|entry| directive(key.name, key.kind, &entry.node, self.diagnostics))
                }
            };
            directives.extend(value.map(|value| Directive { section, name, value }));
        }
        debug_assert!(promised.next().is_none());
        directives
    }
}
