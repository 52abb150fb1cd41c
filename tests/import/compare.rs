//! What supervisor itself reads from a file, against what the imported group says through copse's own model.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use copse::basic::diagnostic::SourceFile;
use copse::basic::scope::Scope;
use copse::group_file::discover::Source;
use copse::import::supervisord::config::World;
use copse::import::supervisord::reader;
use copse::import::supervisord::translate::{Imported, Member, translate};
use copse::model;
use copse::model::{Context, Group, Piece, Process, Service, Start, Text};
use copse::unit::name::{GroupName, InstanceName, ProcessName};
use serde_json::Value;

/// Files to be imported, with the variables that supervisord would find.
#[derive(Debug, Clone)]
pub struct Input {
    /// Absolute paths and texts; the first is the one that supervisord is started with.
    pub files: Vec<(String, String)>,
    /// Its environment.
    pub environment: BTreeMap<String, String>,
    /// The machine's name.
    pub host: String,
}

impl Input {
    /// Imports them. An `[include]` finds the other files by their names, in the order of the names.
    pub fn import(&self) -> Imported {
        let file = |(path, text): &(String, String)| SourceFile { path: PathBuf::from(path), text: text.clone() };
        let include = |pattern: &str| {
            let mut matching: Vec<_> = self.files[1..].iter().filter(|(path, _)| matches(pattern, path)).collect();
            matching.sort();
            matching.into_iter().map(|found| Ok(file(found))).collect()
        };
        let world = World { environment: self.environment.clone(), host: self.host.clone(), include: &include };
        let config = reader::read(vec![file(&self.files[0])], &world);
        translate(&config, &GroupName::new("imported").unwrap(), Scope::System)
    }
}

/// `*` is all that the tests' patterns have.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((start, end)) => {
            let middle = path.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
            middle.is_some_and(|middle| !middle.contains('/') && !middle.starts_with('.'))
        }
    }
}

/// The group, as the generator would read it.
pub fn group(imported: &Imported) -> Result<Group, String> {
    let text = imported.file.to_string();
    let file = Arc::new(SourceFile { path: PathBuf::from("/etc/copse/imported.toml"), text });
    let source = Source { name: GroupName::new("imported").unwrap(), file: file.clone(), drop_ins: Vec::new() };
    let (group, diagnostics) = model::read(&source, &Context { scope: Scope::System, cpus: 2 });
    let said: Vec<String> = diagnostics.iter().map(copse::basic::diagnostic::Diagnostic::line).collect();
    group.ok_or_else(|| format!("{}\n{}", said.join("\n"), file.text))
}

/// Every difference, in a line each; `said` is what the oracle (supervisord.py) says about the input.
pub fn differences(imported: &Imported, said: &Value) -> Vec<String> {
    if let Some(error) = said["error"].as_str() {
        // Where only a variable's value is missing, as much is imported as can be.
        let open = error.contains("contains names ('ENV_");
        return match open || imported.diagnostics.has_errors() {
            true => Vec::new(),
            false => vec![format!("supervisor refuses it, and the import doesn't: {error}")],
        };
    }
    let errors: Vec<String> = imported
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity() == copse::basic::diagnostic::Severity::Error)
        .map(copse::basic::diagnostic::Diagnostic::line)
        .collect();
    // Python's `repr` is refused with its line: no real file asks for it.
    if errors.iter().any(|error| error.contains("%(ENV_A)r") && error.contains("is not a supported")) {
        return Vec::new();
    }
    if !errors.is_empty() {
        return errors;
    }
    let empty = Vec::new();
    let groups = said["groups"].as_array().unwrap_or(&empty).iter();
    let groups = groups.filter(|group| group["kind"] != "EventListenerPoolConfig");
    let expected: BTreeMap<String, &Value> = groups
        .flat_map(|group| {
            let programs = group["programs"].as_array().into_iter().flatten();
            programs.map(move |program| (format!("{}:{}", text(&group["group"]), text(&program["name"])), program))
        })
        .collect();
    let members: BTreeMap<&str, &Member> = imported.members.iter().map(|member| (&*member.was, member)).collect();
    let (names, wanted): (Vec<_>, Vec<_>) =
        (members.keys().copied().collect(), expected.keys().map(String::as_str).collect());
    if names != wanted || members.len() != imported.members.len() {
        return vec![format!("supervisor has {wanted:?}, the import has {names:?}")];
    }
    if expected.is_empty() {
        return Vec::new();
    }
    let group = match group(imported) {
        Ok(group) => group,
        Err(why) => return vec![format!("it doesn't pass `copse check`: {why}")],
    };
    let found = expected.into_iter().flat_map(|(name, program)| {
        let differing = member(&group, members[&*name], program);
        differing.into_iter().map(move |line| format!("{name}: {line}"))
    });
    found.collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn member(group: &Group, member: &Member, said: &Value) -> Vec<String> {
    let process = &group.processes[&ProcessName::new(&member.process).unwrap()];
    let service = service(process, member);
    let instance = member.instance.as_deref().unwrap_or_default();
    let plain = |text: &Text| plain(text, instance);
    let directive = |name: &str| {
        let found = service.directives.iter().find(|directive| directive.name == name);
        found.map_or_else(String::new, |directive| directive.value.to_string())
    };
    let mut differing = Vec::new();
    let mut same = |what: &str, here: String, there: String| {
        if here != there {
            differing.push(format!("{what}: here {here}, there {there}"));
        }
    };
    // A relative one would be relative to supervisord's own, which nobody knows.
    let directory = said["directory"].as_str().filter(|path| path.starts_with('/')).map(normalized);
    let argv: Vec<String> = service.exec.iter().map(plain).collect();
    same("argv", format!("{argv:?}"), format!("{:?}", expected_argv(said, directory.as_deref())));
    let environment: BTreeMap<&str, String> =
        service.environment.iter().map(|(name, value)| (&**name, plain(value))).collect();
    let expected: BTreeMap<&str, String> = said["environment"]
        .as_object()
        .into_iter()
        .flatten()
        // systemd drops others; the report says so.
        .filter(|(name, _)| model::is_variable(name))
        .map(|(name, value)| (&**name, text(value).to_owned()))
        .collect();
    same("environment", format!("{environment:?}"), format!("{expected:?}"));
    same("directory", format!("{:?}", service.working_directory.as_ref().map(plain)), format!("{directory:?}"));
    // What a plug-in starts, supervisord itself doesn't.
    if said["dependent_startup"] != true {
        same("autostart", (process.start == Start::Auto).to_string(), said["autostart"].to_string());
    }
    let restart = match &said["autorestart"] {
        Value::Bool(false) => "no",
        word if word == "RestartUnconditionally" => "always",
        _ => "on-failure",
    };
    same("autorestart", directive("Restart"), restart.to_owned());
    let codes = said["exitcodes"].as_array().into_iter().flatten().filter(|code| **code != 0);
    let codes: Vec<String> = codes.map(ToString::to_string).collect();
    same("exitcodes", directive("SuccessExitStatus"), codes.join(" "));
    if restart != "no" {
        same("startretries", directive("StartLimitBurst"), (number(&said["startretries"]).max(0) + 1).to_string());
    }
    same("stopwaitsecs", seconds(&directive("TimeoutStopSec")), number(&said["stopwaitsecs"]).max(1).to_string());
    let signal = directive("KillSignal");
    let signal = if signal.is_empty() { "SIGTERM" } else { &signal };
    same("stopsignal", signal.to_owned(), text(&said["stopsignal"]).to_owned());
    let mode = if said["stopasgroup"] == true { "control-group" } else { "mixed" };
    same("stopasgroup", directive("KillMode"), mode.to_owned());
    let umask = said["umask"].as_i64().filter(|mask| *mask != 0o22).map(|mask| format!("{mask:04o}"));
    let here = Some(directive("UMask")).filter(|mask| !mask.is_empty() && mask != "0022");
    same("umask", format!("{here:?}"), format!("{umask:?}"));
    // The corpus has numbers of another machine.
    if let Some(user) = said["user"].as_str() {
        let here = Some(directive("User")).filter(|user| !user.is_empty());
        same("user", here.unwrap_or("root".to_owned()), user.to_owned());
    }
    differing
}

/// A span as the import writes one.
fn seconds(span: &str) -> String {
    let digits = span.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &span[digits.len()..] {
        "h" => 3600,
        "min" => 60,
        _ => 1,
    };
    digits.parse::<i64>().map_or_else(|_| span.to_owned(), |number| (number * unit).to_string())
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn service<'g>(process: &'g Process, member: &Member) -> &'g Service {
    let named = member.instance.as_deref().and_then(InstanceName::new);
    let own = process.instances.as_ref().zip(named).map(|(instances, name)| &instances[&name]);
    own.and_then(Option::as_ref).unwrap_or(&process.service)
}

/// A text with its placeholders filled in.
fn plain(text: &Text, instance: &str) -> String {
    let shown = |piece: &Piece| match piece {
        Piece::Literal(text) => text.clone(),
        Piece::Instance => instance.to_owned(),
        other => format!("<{other:?}>"),
    };
    text.pieces().iter().map(shown).collect()
}

/// systemd gives a relative program the path that it is found at.
fn expected_argv(said: &Value, directory: Option<&str>) -> Vec<String> {
    let words = said["argv"].as_array().into_iter().flatten().map(|word| text(word).to_owned());
    let mut argv: Vec<String> = words.collect();
    if let (Some(program), Some(directory)) = (argv.first_mut(), directory)
        && program.contains('/')
        && !program.starts_with('/')
    {
        let directory = directory.trim_end_matches('/');
        *program = format!("{directory}/{}", program.strip_prefix("./").unwrap_or(program));
    }
    argv
}

/// Without `.`, `..` and doubled slashes.
pub fn normalized(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
