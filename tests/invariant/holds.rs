//! What has to hold for every text that is read as a group file: it is refused with a reason, or what comes out
//! parses back to what was meant. Used by the tests and by the fuzz target.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use copse::basic::diagnostic::{Diagnostics, Severity, SourceFile};
use copse::basic::scope::Scope;
use copse::generate;
use copse::generate::Options;
use copse::group_file::discover::Source;
use copse::model;
use copse::model::{Argv, Context, Group, PassThrough, Piece, Service, Text};
use copse::unit::directives::Systemd;
use copse::unit::name;
use copse::unit::name::GroupName;
use copse::unit::{Entry, Section, UnitTree};

use copse::unit::{Unit, parse, strict};

/// systemd loads no unit with a longer line.
const LINE_MAX: usize = 1 << 20;

/// What copse itself writes, by section: everything else has to be in the author's pass-through.
#[rustfmt::skip]
const WRITTEN: [(&str, &[&str]); 5] = [
    ("Unit", &[
        "After", "Before", "Conflicts", "Description", "Documentation", "JoinsNamespaceOf",
            "OnFailure", "PartOf", "RefuseManualStop",
        "Requires", "SourcePath", "StartLimitBurst", "StartLimitIntervalSec", "Wants", "X-CopseGroup", "X-CopseSource",
    ]),
    ("Service", &[
        "AmbientCapabilities", "BusName", "CPUQuota", "CacheDirectory", "CacheDirectoryMode", "CapabilityBoundingSet",
        "ConfigurationDirectory", "ConfigurationDirectoryMode", "Environment", "EnvironmentFile", "ExecReload",
        "ExecStart", "ExecStartPost", "ExecStartPre", "ExecStop", "ExecStopPost", "Group", "KillMode", "KillSignal",
        "LimitNOFILE", "LoadCredential", "LoadCredentialEncrypted", "LockPersonality", "LogExtraFields",
        "LogsDirectory", "LogsDirectoryMode", "MemoryDenyWriteExecute", "MemoryHigh", "MemoryMax", "Nice",
        "NoNewPrivileges", "NonBlocking", "NotifyAccess", "PIDFile", "PrivateDevices", "PrivateMounts", "PrivateTmp",
        "ProcSubset", "ProtectClock", "ProtectControlGroups", "ProtectHome", "ProtectHostname", "ProtectKernelLogs",
        "ProtectKernelModules", "ProtectKernelTunables", "ProtectProc", "ProtectSystem", "ReadOnlyPaths",
        "ReadWritePaths", "RemainAfterExit", "RemoveIPC", "Restart", "RestartMaxDelaySec", "RestartMode",
        "RestartSec", "RestartSteps", "RestrictAddressFamilies", "RestrictNamespaces", "RestrictRealtime",
        "RestrictSUIDSGID", "RuntimeDirectory", "RuntimeDirectoryMode", "SendSIGHUP", "SetCredential", "Slice",
        "Sockets", "StandardInputText", "StateDirectory", "StateDirectoryMode", "SuccessExitStatus",
        "SyslogIdentifier", "SystemCallArchitectures", "SystemCallErrorNumber", "SystemCallFilter", "TasksMax",
        "TimeoutStartSec", "TimeoutStopSec", "Type", "UMask", "UnsetEnvironment", "User", "WatchdogSec",
        "WorkingDirectory",
    ]),
    ("Socket", &[
        "FileDescriptorName", "ListenDatagram", "ListenFIFO", "ListenSequentialPacket", "ListenStream",
        "RemoveOnStop", "Service", "Slice", "SocketGroup", "SocketMode", "SocketUser", "Symlinks",
    ]),
    ("Timer", &["AccuracySec", "OnCalendar", "Persistent", "Unit"]),
    ("Slice", &[]),
];

/// Reads `text` as a group file, in both scopes and for every version of systemd. Panics where the invariant doesn't
/// hold; tells whether it was good for anything.
pub fn hold(text: &str) -> bool {
    hold_merged("group", text, &[])
}

/// As [`hold`], for a group of that name, with drop-ins.
pub fn hold_merged(name: &str, text: &str, drop_ins: &[&str]) -> bool {
    let file = |path: String, text: &str| Arc::new(SourceFile { path: path.into(), text: text.to_owned() });
    let main = format!("/etc/copse/{name}.toml");
    let source = Source {
        name: GroupName::new(name).expect("the caller has a good name"),
        file: file(main.clone(), text),
        drop_ins: drop_ins.iter().enumerate().map(|(at, text)| file(format!("{main}.d/{at}.toml"), text)).collect(),
    };
    let mut good = false;
    for scope in [Scope::System, Scope::User] {
        let (group, diagnostics) = model::read(&source, &Context { scope, cpus: 2 });
        diagnostics_are_sound(&diagnostics);
        assert_eq!(group.is_none(), diagnostics.has_errors(), "half a group, or none without a reason");
        if let Some(group) = group {
            units_are_sound(&group);
            good = true;
        }
    }
    good
}

fn diagnostics_are_sound(diagnostics: &Diagnostics) {
    for diagnostic in diagnostics.iter() {
        let line = diagnostic.line();
        assert!(!line.contains(char::is_control), "a line of the log could be forged: {line:?}");
        assert!(!diagnostic.message.is_empty());
        assert!(matches!(diagnostic.severity(), Severity::Error | Severity::Warning | Severity::Note));
    }
}

fn units_are_sound(group: &Group) {
    for (version, static_target) in [(247, false), (252, false), (257, false), (262, false), (257, true)] {
        let target = Options { systemd: Systemd { version }, static_target };
        let tree = generate::generate(group, target);
        if static_target {
            assert_eq!(tree, generate::generate(group, target), "not the same twice");
        }
        tree_is_sound(group, &tree);
        for (process, definition) in &group.processes {
            let template = definition.instances.is_some();
            let file = if template { name::template } else { name::service };
            service_says(group, version, &tree, &file(&group.name, process), &definition.service);
            for (instance, own) in definition.instances.iter().flatten() {
                if let Some(own) = own {
                    service_says(group, version, &tree, &name::instance(&group.name, process, instance), own);
                }
            }
        }
        for (setup, step) in &group.setup {
            let unit = name::service(&group.name, setup);
            service_says(group, version, &tree, &unit, &step.service);
            if tree.entries.contains_key(&name::again(&unit)) {
                service_says(group, version, &tree, &name::again(&unit), &step.service);
            }
        }
    }
}

/// Names of files and links, and every line of every file.
fn tree_is_sound(group: &Group, tree: &UnitTree) {
    let names: Vec<String> = generate::unit_names(group);
    let distinct: HashSet<&String> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "two units of one name: {names:?}");
    let passed = passed_through(group);
    for (path, entry) in &tree.entries {
        let parts: Vec<&str> = path.split('/').collect();
        let unit = match parts[..] {
            [unit] => unit,
            [directory, "50-copse.conf"] => directory.strip_suffix(".d").expect("a drop-in's directory"),
            [directory, unit] => {
                let wanting = [".wants", ".requires"].into_iter().find_map(|suffix| directory.strip_suffix(suffix));
                assert!(is_unit_name(wanting.unwrap_or_default()), "{path:?}");
                unit
            }
            _ => panic!("a path of an unknown kind: {path:?}"),
        };
        assert!(is_unit_name(unit), "no unit's name: {path:?}");
        match entry {
            Entry::File(file) => {
                let again = group.setup.keys().any(|setup| unit == name::again(&name::service(&group.name, setup)));
                let known = parts.len() > 1 || again || distinct.contains(&unit.to_owned());
                assert!(known, "a file nobody knows of: {path:?}");
                file_is_sound(path, file, &passed);
            }
            Entry::Link(to) => link_is_sound(path, to, tree),
        }
    }
}

fn link_is_sound(path: &str, to: &Path, tree: &UnitTree) {
    let to = to.to_str().expect("text");
    let name = to.rsplit('/').next().unwrap_or_default();
    let template = name.split_once('@').and_then(|(stem, rest)| Some(format!("{stem}@.{}", rest.rsplit_once('.')?.1)));
    let there = |name: &str| tree.entries.contains_key(name);
    let of_ours = there(name) || template.is_some_and(|template| there(&template)) || name.starts_with("copse-");
    // A static target is installed, and linked to by whatever wants it.
    assert!(of_ours || name.ends_with(".target"), "{path:?} leads nowhere: {to:?}");
    assert!(to == format!("../{name}") || to.starts_with("/usr/lib/systemd/"), "{path:?} leads elsewhere: {to:?}");
}

/// systemd's rules for a unit's name (`unit_name_is_valid()`).
fn is_unit_name(name: &str) -> bool {
    let Some((stem, suffix)) = name.rsplit_once('.') else { return false };
    let known = ["service", "socket", "target", "timer", "slice"].contains(&suffix);
    let character = |c: char| c.is_ascii_alphanumeric() || ":_.\\-@".contains(c);
    let at = stem.matches('@').count();
    known && name.len() <= 255 && !stem.is_empty() && !stem.starts_with('@') && at <= 1 && stem.chars().all(character)
}

/// What the author passes through: section and directive.
fn passed_through(group: &Group) -> HashSet<(&'static str, String)> {
    let processes = group.processes.values().flat_map(|process| {
        let instances = process.instances.iter().flatten().filter_map(|(_, own)| own.as_ref());
        std::iter::once(&process.service).chain(instances)
    });
    let services = processes.chain(group.setup.values().map(|setup| &setup.service)).map(|service| &service.pass);
    let all = services.chain([&group.target, &group.slice]);
    all.flat_map(|pass| pass.0.iter()).map(|(section, name, _)| (section.text(), name.clone())).collect()
}

fn file_is_sound(path: &str, unit: &Unit, passed: &HashSet<(&'static str, String)>) {
    let text = unit.to_string();
    let read = parse::unit(&text);
    assert!(read.is_generated(), "{path}: no header");
    assert_eq!(read, *unit, "{path}: it is read back as another");
    for line in text.lines() {
        assert!(line.len() < LINE_MAX, "{path}: a line of {} bytes", line.len());
        assert!(!line.contains(|c: char| c.is_ascii_control() && c != '\t'), "{path}: a control character: {line:?}");
        assert!(!line.contains(copse::unit::value::is_noncharacter), "{path}: a noncharacter: {line:?}");
        assert!(line.starts_with('#') || !line.ends_with('\\'), "{path}: it goes on in the next line: {line:?}");
    }
    for (section, name, value) in strict::directives(&text).unwrap_or_else(|error| panic!("{path}: {error}")) {
        let known = WRITTEN.iter().find(|(known, _)| *known == section);
        let (section, names) = known.unwrap_or_else(|| panic!("{path}: a section nobody wrote: [{section}]"));
        let known = names.contains(&name.as_str()) || passed.contains(&(section, name.clone()));
        assert!(known, "{path}: a directive nobody wrote, in [{section}]: {name}={value}");
    }
}

/// The file's commands and variables are those of the model.
fn service_says(group: &Group, version: u32, tree: &UnitTree, path: &str, service: &Service) {
    let Some(unit) = tree.unit(path) else { panic!("{path} isn't there") };
    let directives = strict::directives(&unit.to_string()).expect("it was read before");
    let values = |wanted: &str| -> Vec<&str> {
        let found = directives.iter().filter(|(section, name, _)| section == "Service" && name == wanted);
        found.map(|(_, _, value)| value.as_str()).collect()
    };
    let passed = |name: &str| replaced(&service.pass, name);
    let mut commands: Vec<(&str, Vec<&Argv>)> = vec![("ExecStart", vec![&service.exec])];
    for (name, argvs) in [
        ("ExecStartPre", &service.exec_start_pre),
        ("ExecStartPost", &service.exec_start_post),
        ("ExecStop", &service.exec_stop),
        ("ExecStopPost", &service.exec_stop_post),
    ] {
        commands.push((name, argvs.iter().collect()));
    }
    for (name, argvs) in commands.into_iter().filter(|(name, _)| !passed(name)) {
        let lines = values(name);
        // Before the author's, copse-notify may do something of its own.
        let own = lines.len().checked_sub(argvs.len()).unwrap_or_else(|| panic!("{path}: too few of {name}="));
        for line in &lines[..own] {
            assert!(
                line.trim_start_matches(['-', ':']).starts_with(copse::basic::scope::NOTIFY_PROGRAM),
                "{path}: {name}={line}"
            );
        }
        for (line, argv) in lines[own..].iter().zip(argvs) {
            let read = strict::argv(line, |name| format!("«{name}» «{name}»"));
            let read = read.unwrap_or_else(|error| panic!("{path}: {name}={line}: {error}"));
            let meant = meant(version, argv);
            // copse-notify may stand in front, up to its `--`; the command is the rest.
            let before = read.len().checked_sub(meant.len()).unwrap_or_else(|| panic!("{path}: {name}={line}"));
            assert_eq!(read[before..], meant, "{path}: {name}={line}");
            let helper = before > 0 && read[0] == copse::basic::scope::NOTIFY_PROGRAM && read[before - 1] == "--";
            assert!(before == 0 || helper, "{path}: {name}={line}");
        }
    }
    if !passed("Environment") {
        variables_are(version, path, &values("Environment"), service, group);
    }
}

fn replaced(pass: &PassThrough, wanted: &str) -> bool {
    pass.0.iter().any(|(section, name, _)| *section == Section::Service && name == wanted)
}

fn variables_are(version: u32, path: &str, lines: &[&str], service: &Service, group: &Group) {
    let mut found = BTreeMap::new();
    for line in lines {
        let words = parse::words(line).unwrap_or_else(|error| panic!("{path}: Environment={line}: {error}"));
        let [word] = &words[..] else { panic!("{path}: not one variable: Environment={line}") };
        let word = strict::specifiers(word).unwrap_or_else(|error| panic!("{path}: Environment={line}: {error}"));
        let (name, value) = word.split_once('=').expect("NAME=VALUE");
        found.insert(name.to_owned(), value.to_owned());
    }
    for (name, text) in &service.environment {
        assert_eq!(found.remove(name), Some(canonical(version, text)), "{path}: {name}");
    }
    // copse's own: `$STATE_DIRECTORY` and its siblings.
    for name in found.keys() {
        let own = name.ends_with("_DIRECTORY") && (group.shared.is_some() || !service.directories.is_empty());
        // Those that supervisord sets.
        let own = own || name.starts_with("SUPERVISOR_") && group.supervisor.is_some();
        assert!(own, "{path}: a variable nobody wrote: {name}");
    }
}

/// What the words of a command are, as [`strict::argv`] shows them.
fn meant(version: u32, argv: &Argv) -> Vec<String> {
    let words = argv.iter().flat_map(|text| match text.pieces() {
        [Piece::EnvWords(name)] => vec![format!("«{name}»"); 2],
        _ => vec![canonical(version, text)],
    });
    words.collect()
}

fn canonical(version: u32, text: &Text) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Literal(literal) => literal.clone(),
        Piece::Instance => "<i>".to_owned(),
        Piece::Unit => "<n>".to_owned(),
        Piece::Directory(kind, name) => {
            format!("<{}>/{}", kind.specifier().trim_start_matches('%'), canonical(version, name))
        }
        Piece::CredentialsDirectory if version >= 250 => "<d>".to_owned(),
        Piece::CredentialsDirectory => "<t>/credentials/<n>".to_owned(),
        Piece::Env(name) | Piece::EnvWords(name) => format!("«{name}» «{name}»"),
    };
    text.pieces().iter().map(piece).collect()
}
