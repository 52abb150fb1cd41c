//! One unit's settings, from the merged table of `[defaults]`, its process or setup step, and its instance.

use std::collections::BTreeMap;
use std::fmt;

use super::command;
use super::command::Surroundings;
use super::directories;
use super::placeholder;
use super::placeholder::{Names, Position};
use super::probe;
use super::value;
use super::value::{invalid, wrong_type};
use super::{pass_through, start_limit};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::document::{KeySpan, Node, Table, Value};
use crate::group_file::keys;
use crate::model::{Argv, Credential, Directive, DirectoryKind, Hardening, Ready, Restart, Service, Span, Text};

/// What a table is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Started by the target.
    Auto,
    /// Started by hand or by the group's manager.
    Manual,
    /// Started by a timer.
    Timed,
    /// A setup step.
    Setup,
}

/// Everything that reading a table needs besides the table.
pub struct Context<'a> {
    /// `process.web`, as in the table's header.
    pub header: fmt::Arguments<'a>,
    /// Where the header stands.
    pub place: KeySpan<'a>,
    /// What it is.
    pub role: Role,
    /// For placeholders, without directories.
    pub names: Names<'a>,
    /// The group's shared directories: the first of each kind.
    pub shared: &'a [(DirectoryKind, Text)],
    /// Whether a unit's name is one of the group's.
    pub members: &'a dyn Fn(&str) -> bool,
}

/// Reads the merged table.
pub fn read(table: &Table, context: &Context<'_>, diagnostics: &mut Diagnostics) -> Service {
    let directories = directories::read(table, &context.names, diagnostics);
    let first = directories::first(&directories, context.shared);
    let names = Names { directories: &first, credentials: has_credentials(table), ..context.names.clone() };
    let working_directory = working_directory(table, &names, diagnostics);
    let around = Surroundings { names: &names, working_directory: working_directory.as_ref() };
    let many = |key: &str, diagnostics: &mut Diagnostics| {
        table.get(key).map_or_else(Vec::new, |entry| command::read_many(key, &entry.node, &around, diagnostics))
    };
    let ready = ready(table, context, &around, diagnostics);
    let limits = start_limit::read(table, context, &ready, diagnostics);
    let health = table.get("health").and_then(|entry| probe::health(&entry.node, &around, diagnostics));
    if health.is_some() || matches!(ready, Ready::Probe(_)) {
        pass_through::refuse_notify_access(table, diagnostics);
    }
    Service {
        description: table
            .get("description")
            .and_then(|entry| value::plain("description", &entry.node, diagnostics))
            .map(str::to_owned),
        exec: exec(table, context, &around, diagnostics),
        exec_start_pre: many("exec-start-pre", diagnostics),
        exec_start_post: many("exec-start-post", diagnostics),
        exec_reload: many("exec-reload", diagnostics),
        exec_stop: many("exec-stop", diagnostics),
        exec_stop_post: many("exec-stop-post", diagnostics),
        environment: environment(table, &names, diagnostics),
        environment_files: environment_files(table, &names, diagnostics),
        inputs: paths("inputs", table, &names, diagnostics),
        hardening: hardening(table, diagnostics),
        credentials: credentials(table, &names, diagnostics),
        pass: pass_through::read_all(context.header, table, context.members, diagnostics),
        essential: essential(table, context, diagnostics),
        directives: directives(table, &limits, diagnostics),
        restart: limits.restart,
        timeout_start: limits.timeout_start,
        working_directory,
        directories,
        ready,
        health,
    }
}

fn exec(table: &Table, context: &Context<'_>, around: &Surroundings<'_>, diagnostics: &mut Diagnostics) -> Argv {
    match (table.get("exec"), table.get("shell")) {
        (Some(exec), Some(shell)) => {
            let diagnostic = Diagnostic::new(Code::Conflict, &shell.key, "`exec` and `shell` exclude each other");
            diagnostics.push(diagnostic.related(&exec.key, "`exec` stands here"));
            Vec::new()
        }
        (Some(entry), None) => command::read("exec", &entry.node, around, diagnostics).unwrap_or_default(),
        (None, Some(entry)) => command::shell(&entry.node, around.names, diagnostics).unwrap_or_default(),
        (None, None) => {
            let diagnostic = Diagnostic::new(
                Code::MissingKey,
                &context.place,
                format!("`[{}]` says nothing to run", context.header),
            );
            diagnostics.push(diagnostic.help("add `exec = [\"/path/to/program\", \"argument\"]`, or `shell = \"…\"`"));
            Vec::new()
        }
    }
}

fn ready(table: &Table, context: &Context<'_>, around: &Surroundings<'_>, diagnostics: &mut Diagnostics) -> Ready {
    let Some(entry) = table.get("ready") else {
        return if matches!(context.role, Role::Timed | Role::Setup) { Ready::Oneshot } else { Ready::Exec };
    };
    let ready = probe::ready(&entry.node, around, diagnostics).unwrap_or(Ready::Exec);
    if context.role == Role::Timed && ready != Ready::Oneshot {
        let message = "a process with `on-calendar` runs to its end: `ready` can only be `\"oneshot\"`";
        diagnostics.push(Diagnostic::new(Code::Conflict, &entry.key, message));
    }
    ready
}

fn working_directory(table: &Table, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Option<Text> {
    let node = &table.get("working-directory")?.node;
    let text = placeholder::read("working-directory", node, Position::Path, names, diagnostics)?;
    let relative = !text.leading().starts_with('/')
        && text.leading() != "~"
        && matches!(
            text.pieces().first(),
            None | Some(crate::model::Piece::Literal(_) | crate::model::Piece::Instance)
        );
    if relative {
        diagnostics.push(invalid(node, "`working-directory` must be an absolute path, or `~`"));
        return None;
    }
    checked_path("working-directory", node, text, diagnostics)
}

/// A path goes into a directive where systemd has no quoting: no control characters, no blanks at an end.
pub fn checked_path(key: &str, node: &Node, text: Text, diagnostics: &mut Diagnostics) -> Option<Text> {
    let Value::String(written) = &node.value else { return Some(text) };
    if written.is_empty() {
        diagnostics.push(invalid(node, format!("`{key}` is empty")));
        return None;
    }
    if written.chars().any(char::is_control) || written.ends_with('\\') || written.trim() != written {
        let message = format!(
            "`{key}` holds a control character, a blank at an end, or a `\\` at the end, which a unit can't carry there"
        );
        diagnostics.push(Diagnostic::new(Code::Uncarriable, &node.place, message));
        return None;
    }
    Some(text)
}

fn environment(table: &Table, names: &Names<'_>, diagnostics: &mut Diagnostics) -> BTreeMap<String, Text> {
    let mut variables = BTreeMap::new();
    let Some(entry) = table.get("environment") else { return variables };
    let Some(entries) = entry.node.as_table() else {
        diagnostics.push(wrong_type("environment", "a table: `environment = { NAME = \"value\" }`", &entry.node));
        return variables;
    };
    for entry in entries.entries() {
        let name = &*entry.name;
        if !placeholder::is_variable(name) {
            let message = format!(
                "`{}` can't be a variable's name: systemd drops all but letters, digits and `_`",
                value::shown(name)
            );
            diagnostics.push(Diagnostic::new(Code::Uncarriable, &entry.key, message));
            continue;
        }
        let text = match &entry.node.value {
            Value::Boolean(false) => continue,
            Value::Integer(number) => Some(Text::literal(number.to_string())),
            Value::String(_) => placeholder::read(name, &entry.node, Position::Environment, names, diagnostics),
            _ => {
                diagnostics.push(wrong_type(name, "a string, or `false` to take the variable away", &entry.node));
                None
            }
        };
        let Some(text) = text else { continue };
        if name.len() + 1 + text.literal_len() >= command::LONGEST_WORD {
            let message = format!(
                "`{name}` has {} bytes; the kernel passes {} at most",
                text.literal_len(),
                command::LONGEST_WORD - 1
            );
            diagnostics.push(Diagnostic::new(Code::Uncarriable, &entry.node.place, message).help("put it into a file"));
            continue;
        }
        variables.insert(name.to_owned(), text);
    }
    variables
}

fn environment_files(table: &Table, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Vec<(bool, Text)> {
    let Some(entry) = table.get("environment-file") else { return Vec::new() };
    let mut files = Vec::new();
    for node in value::one_or_many("environment-file", &entry.node, diagnostics) {
        let Some(mut text) = placeholder::read("environment-file", node, Position::Path, names, diagnostics) else {
            continue;
        };
        let optional = text.leading().starts_with('-');
        if optional && let Some(literal) = text.leading_mut() {
            literal.remove(0);
        }
        if text.is_relative() {
            diagnostics
                .push(invalid(node, "`environment-file` takes absolute paths; a leading `-` makes one optional"));
        } else if let Some(text) = checked_path("environment-file", node, text, diagnostics) {
            files.push((optional, text));
        }
    }
    files
}

fn paths(key: &str, table: &Table, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Vec<Text> {
    let Some(entry) = table.get(key) else { return Vec::new() };
    let mut paths = Vec::new();
    for node in value::one_or_many(key, &entry.node, diagnostics) {
        match placeholder::read(key, node, Position::Path, names, diagnostics) {
            Some(text) if !text.is_relative() => paths.push(text),
            Some(_) => diagnostics.push(invalid(node, format!("`{key}` takes absolute paths"))),
            None => {}
        }
    }
    paths
}

fn hardening(table: &Table, diagnostics: &mut Diagnostics) -> Hardening {
    let word =
        table.get("hardening").and_then(|entry| value::word("hardening", &entry.node, keys::HARDENING, diagnostics));
    match word {
        Some("basic") => Hardening::Basic,
        Some("strict") => Hardening::Strict,
        _ => Hardening::None,
    }
}

fn credentials(table: &Table, names: &Names<'_>, diagnostics: &mut Diagnostics) -> BTreeMap<String, Credential> {
    let mut credentials = BTreeMap::new();
    let Some(entry) = table.get("credentials") else { return credentials };
    let Some(entries) = entry.node.as_table() else {
        diagnostics.push(wrong_type("credentials", "a table: `credentials = { name = \"/path\" }`", &entry.node));
        return credentials;
    };
    for entry in entries.entries().iter().filter(|entry| entry.node.value != Value::Boolean(false)) {
        let name = &*entry.name;
        let valid = !name.is_empty()
            && name.len() <= 255
            && name != "."
            && name != ".."
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        if !valid {
            let message =
                format!("`{}` can't be a credential's name: letters, digits, `_`, `.` and `-`", value::shown(name));
            diagnostics.push(Diagnostic::new(Code::Uncarriable, &entry.key, message));
        } else if let Some(credential) = credential(name, &entry.node, names, diagnostics) {
            credentials.insert(name.to_owned(), credential);
        }
    }
    credentials
}

/// Whether a table gives its unit credentials, by the key or by pass-through.
pub fn has_credentials(table: &Table) -> bool {
    let entries =
        |key: &str| table.get(key).and_then(|entry| entry.node.as_table()).into_iter().flat_map(Table::entries);
    // What isn't a table is a mistake already; nothing that speaks of it is a second one.
    table.get("credentials").is_some_and(|entry| entry.node.as_table().is_none())
        || entries("credentials").any(|entry| entry.node.value != Value::Boolean(false))
        || entries("service").any(|entry| entry.name.contains("Credential"))
}

fn credential(name: &str, node: &Node, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Option<Credential> {
    let path = |node: &Node, diagnostics: &mut Diagnostics| {
        let text = placeholder::read(name, node, Position::Path, names, diagnostics)?;
        checked_path(name, node, text, diagnostics)
    };
    match &node.value {
        Value::String(written) => {
            let text = path(node, diagnostics)?;
            let store_name = !written.is_empty() && !written.contains(['/', ':']) && !written.starts_with('.');
            if !store_name && text.is_relative() {
                diagnostics.push(invalid(
                    node,
                    format!("credential `{name}` takes an absolute path, or a name of systemd's credential store"),
                ));
                return None;
            }
            Some(Credential::Load(text))
        }
        Value::Table(table) => {
            value::unknown_keys("a credential", table, &["encrypted", "text"], diagnostics);
            match (table.get("encrypted"), table.get("text")) {
                (Some(entry), None) => path(&entry.node, diagnostics).map(Credential::Encrypted),
                (None, Some(entry)) => {
                    value::carried_text("text", &entry.node, diagnostics).map(|text| Credential::Text(text.to_owned()))
                }
                _ => {
                    diagnostics.push(Diagnostic::new(
                        Code::Conflict,
                        &node.place,
                        format!("credential `{name}` takes either `encrypted` or `text`"),
                    ));
                    None
                }
            }
        }
        _ => {
            diagnostics.push(wrong_type(
                name,
                "a path, a store's name, or `{ encrypted = PATH }` or `{ text = \"…\" }`",
                node,
            ));
            None
        }
    }
}

fn essential(table: &Table, context: &Context<'_>, diagnostics: &mut Diagnostics) -> bool {
    let Some(entry) = table.get("essential") else { return matches!(context.role, Role::Auto | Role::Setup) };
    let essential = value::boolean("essential", &entry.node, diagnostics).unwrap_or(true);
    if essential && context.role == Role::Timed {
        diagnostics.push(Diagnostic::new(
            Code::Conflict,
            &entry.key,
            "a process with `on-calendar` is never essential: the group doesn't wait for it",
        ));
    }
    essential && context.role != Role::Timed
}

/// The one-to-one keys, promises included, in the order of the table of keys.
fn directives(table: &Table, limits: &start_limit::Limits, diagnostics: &mut Diagnostics) -> Vec<Directive> {
    let mut directives = Vec::new();
    for key in keys::KEYS {
        let Some((section, name, kind)) = key.directive else { continue };
        let value = match (limits.promised(key.name), table.get(key.name)) {
            (Some(value), _) => Some(value),
            (None, Some(entry)) => value::directive(key.name, kind, &entry.node, diagnostics),
            (None, None) => None,
        };
        if let Some(value) = value {
            directives.push(Directive { section, name, value });
        }
    }
    directives
}

impl Restart {
    /// The value of a word of [`keys::RESTART`].
    pub fn from_word(word: &str) -> Self {
        match word {
            "on-success" => Self::OnSuccess,
            "on-failure" => Self::OnFailure,
            "on-abnormal" => Self::OnAbnormal,
            "on-watchdog" => Self::OnWatchdog,
            "on-abort" => Self::OnAbort,
            "always" => Self::Always,
            _ => Self::No,
        }
    }
}

/// The span of a key, or its default.
pub fn span_or(key: &str, table: &Table, default: Span, diagnostics: &mut Diagnostics) -> Span {
    table.get(key).and_then(|entry| value::time_span(key, &entry.node, diagnostics)).unwrap_or(default)
}
