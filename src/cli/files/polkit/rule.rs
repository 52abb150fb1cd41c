//! From `controls` to JavaScript.
//!
//! A rule gets the unit's own name (never an alias: systemd resolves it first) and the verb
//! (org.freedesktop.systemd1.manage-units, org.freedesktop.systemd1(5), "Security"). The rule compares whole names. For a
//! process with instances it allows any instance, also those that the file does not name: the part of a unit's name before
//! the first `@` is that of its template, so it matches no unit of another group. The rule is ECMAScript 5: polkit's engine
//! is Duktape since 121, and was mozjs before.

use std::fmt::Write as _;

use crate::model::{Group, Process, Start};
use crate::unit::name;
use crate::unit::name::ProcessName;

/// What a user may control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grant {
    /// The user of the processes that have `controls`.
    pub(super) user: String,
    /// Whole names of units.
    units: Vec<String>,
    /// Names of templates: any instance.
    templates: Vec<String>,
}

impl Grant {
    fn push(&mut self, unit: String) {
        let list = if unit.contains('@') { &mut self.templates } else { &mut self.units };
        if !list.contains(&unit) {
            list.push(unit);
        }
    }

    /// Whole names of units without instances, and the beginnings of the names of instances.
    pub(super) fn begin(&self) -> impl Iterator<Item = &str> {
        let templates = self.templates.iter().filter_map(|template| template.split_inclusive('@').next());
        self.units.iter().map(String::as_str).chain(templates)
    }
}

/// The verbs that systemd passes to polkit for what a manager does. `copse restart` resets a unit first.
const VERBS: [&str; 8] =
    ["start", "stop", "restart", "try-restart", "reload", "reload-or-restart", "reload-or-try-restart", "reset-failed"];

/// One for each user, in the order of the processes. Root needs none.
pub(super) fn grants(group: &Group) -> Vec<Grant> {
    let mut grants: Vec<Grant> = Vec::new();
    for process in group.processes.values().filter(|process| !process.controls.is_empty()) {
        for user in users(process) {
            let at = grants.iter().position(|grant| grant.user == user).unwrap_or_else(|| {
                grants.push(Grant { user, units: Vec::new(), templates: Vec::new() });
                grants.len() - 1
            });
            for name in &process.controls {
                if let Some(controlled) = group.processes.get(name) {
                    add(&mut grants[at], group, name, controlled);
                }
            }
        }
    }
    grants
}

/// The users it runs as: one, unless an instance has its own.
fn users(process: &Process) -> Vec<String> {
    let own = process.instances.iter().flat_map(|instances| instances.values()).flatten();
    let services = std::iter::once(&process.service).chain(own);
    let user = |service: &crate::model::Service| {
        let directive = service.directives.iter().find(|directive| directive.name == "User")?;
        Some(directive.value.to_string()).filter(|user| user != "root" && user != "0")
    };
    let mut users: Vec<String> = services.filter_map(user).collect();
    users.sort();
    users.dedup();
    users
}

/// All units of a process.
fn add(grant: &mut Grant, group: &Group, name: &ProcessName, process: &Process) {
    let mut push = |unit: String| grant.push(unit);
    push(match process.instances {
        Some(_) => name::template(&group.name, name),
        None => name::service(&group.name, name),
    });
    for socket in &process.sockets {
        push(name::socket(&group.name, name, socket.name.as_ref(), socket.each_instance));
    }
    if let Start::Timed(_) = process.start {
        push(name::timer(&group.name, name));
    }
}

/// The user of copse-supervisor@.service.
const SUPERVISOR_USER: &str = "copse-supervisor";

/// What copse-supervisor may do for the group. Newer versions of polkit (from 125 on) say of which unit the caller is, so
/// that the rule does not hold for that of another group, which has the same user.
fn supervisor_rule(group: &Group, text: &mut String) {
    let mut grant = Grant { user: SUPERVISOR_USER.to_owned(), units: Vec::new(), templates: Vec::new() };
    for (name, process) in &group.processes {
        grant.push(match process.instances {
            Some(_) => name::template(&group.name, name),
            None => name::service(&group.name, name),
        });
    }
    let list = |words: &[String]| words.iter().map(|word| string(word)).collect::<Vec<_>>().join(", ");
    let begin: Vec<String> = grant.templates.iter().map(|template| template.replace("@.service", "@")).collect();
    let _ = write!(
        text,
        r#"//
// copse-supervisor may do this with the processes of the group, and stop or restart the group.
polkit.addRule(function (action, subject) {{
    var isCaller = subject.user === {user}
        && (typeof subject.system_unit === "undefined" || subject.system_unit === {own});
    if (!isCaller) {{
        return polkit.Result.NOT_HANDLED;
    }}
    if (action.id === "org.freedesktop.systemd1.reload-daemon") {{
        return polkit.Result.YES;
    }}
    if (action.id !== "org.freedesktop.systemd1.manage-units") {{
        return polkit.Result.NOT_HANDLED;
    }}
    var unit = String(action.lookup("unit"));
    var verb = action.lookup("verb");
    if (unit === {target}) {{
        return ["stop", "restart"].indexOf(verb) !== -1 ? polkit.Result.YES : polkit.Result.NOT_HANDLED;
    }}
    var units = [{units}];
    var templates = [{templates}];
    var isInstance = function (begin) {{
        return unit.slice(0, begin.length) === begin && unit.slice(-".service".length) === ".service"
            && unit.length > begin.length + ".service".length;
    }};
    if (["start", "stop", "restart", "reset-failed", "kill"].indexOf(verb) !== -1
        && (units.indexOf(unit) !== -1 || templates.some(isInstance))) {{
        return polkit.Result.YES;
    }}
    return polkit.Result.NOT_HANDLED;
}});
"#,
        user = string(SUPERVISOR_USER),
        own = string(&name::own("supervisor", &group.name)),
        target = string(&name::target(&group.name)),
        units = list(&grant.units),
        templates = list(&begin),
    );
}

/// The rule as the text of a file.
pub(super) fn render(group: &Group, grants: &[Grant]) -> String {
    let files: Vec<String> = group.files.iter().map(|file| string(&file.display().to_string())).collect();
    let mut text = format!(
        "// Made by `copse polkit {0}` from {1}.\n\
         // Its place is /etc/polkit-1/rules.d/50-copse-{0}.rules, of a package /usr/share/polkit-1/rules.d.\n",
        group.name,
        files.join(", ")
    );
    if !grants.is_empty() {
        text.push_str(
            "//\n// The users of processes with `controls` may do this with these units, and nothing else.\n",
        );
    }
    let list = |words: &mut dyn Iterator<Item = &str>| words.map(string).collect::<Vec<_>>().join(", ");
    if group.supervisor.is_some() {
        supervisor_rule(group, &mut text);
    }
    if grants.is_empty() {
        return text;
    }
    text.push_str("polkit.addRule(function (action, subject) {\n");
    text.push_str("    if (action.id !== \"org.freedesktop.systemd1.manage-units\") {\n");
    text.push_str("        return polkit.Result.NOT_HANDLED;\n    }\n");
    let _ = writeln!(text, "    var verbs = [{}];", list(&mut VERBS.into_iter()));
    text.push_str("    var grants = [\n");
    for grant in grants {
        let (before, after): (Vec<&str>, Vec<&str>) =
            grant.templates.iter().filter_map(|template| template.split_once('@')).unzip();
        let _ = writeln!(text, "        {{");
        let _ = writeln!(text, "            user: {},", string(&grant.user));
        let _ = writeln!(text, "            units: [{}],", list(&mut grant.units.iter().map(String::as_str)));
        let any = before.iter().zip(after).map(|(before, after)| {
            format!("{{ before: {}, after: {} }}", string(&format!("{before}@")), string(after))
        });
        let _ = writeln!(text, "            instances: [{}]", any.collect::<Vec<_>>().join(", "));
        let _ = writeln!(text, "        }},");
    }
    // Without the last comma, which the oldest engines read as one more element.
    text.truncate(text.len() - ",\n".len());
    text.push_str(REST);
    text
}

const REST: &str = r#"
    ];
    var unit = String(action.lookup("unit"));
    var isInstance = function (of) {
        return unit.length > of.before.length + of.after.length
            && unit.slice(0, of.before.length) === of.before
            && unit.slice(-of.after.length) === of.after;
    };
    var isGranted = function (grant) {
        return grant.user === subject.user && (grant.units.indexOf(unit) !== -1 || grant.instances.some(isInstance));
    };
    if (verbs.indexOf(action.lookup("verb")) !== -1 && grants.some(isGranted)) {
        return polkit.Result.YES;
    }
    return polkit.Result.NOT_HANDLED;
});
"#;

/// A string literal of JavaScript, in ASCII, so that neither the file's encoding nor a separator that ends a line in
/// JavaScript only (U+2028) changes its meaning. It is valid in a comment as well.
fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ (b'"' | b'\\')) => literal.extend(['\\', char::from(byte)]),
            Ok(byte @ b' '..=b'~') => literal.push(char::from(byte)),
            _ => {
                let _ = write!(literal, "\\u{unit:04x}");
            }
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::diagnostic::SourceFile;
    use crate::basic::scope::Scope;
    use crate::group_file::discover::Source;
    use crate::model;
    use crate::model::Context;
    use crate::unit::name::GroupName;

    fn group(text: &str) -> Group {
        let file = SourceFile { path: "/etc/copse/shop.toml".into(), text: text.to_owned() };
        let source = Source { name: GroupName::new("shop").unwrap(), file: file.into(), drop_ins: Vec::new() };
        let (group, diagnostics) = model::read(&source, &Context { scope: Scope::System, cpus: 2 });
        assert!(!diagnostics.has_errors(), "{diagnostics:?}");
        group.unwrap()
    }

    const SHOP: &str = r#"
        [process.manager]
        exec = "/a"
        user = "shop"
        controls = ["web", "worker", "nightly"]
        [process.second]
        exec = "/a"
        user = "shop"
        controls = ["web"]
        [process.other]
        exec = "/a"
        user = "other"
        controls = ["db"]
        [process.root]
        exec = "/a"
        user = "root"
        controls = ["db"]
        [process.db]
        exec = "/b"
        [process.web]
        exec = "/b"
        listen = "tcp:80"
        [process.worker]
        exec = "/b"
        instances = 2
        listen = "unix:/run/w-{instance}"
        [process.nightly]
        exec = "/b"
        on-calendar = "daily"
    "#;

    #[test]
    fn each_user_gets_the_units_of_what_its_processes_control_once() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            grants(&group(SHOP)),
            [
                Grant {
                    user: "shop".to_owned(),
                    units: words(&[
                        "shop-web.service",
                        "shop-web.socket",
                        "shop-nightly.service",
                        "shop-nightly.timer"
                    ]),
                    templates: words(&["shop-worker@.service", "shop-worker@.socket"]),
                },
                Grant { user: "other".to_owned(), units: words(&["shop-db.service"]), templates: Vec::new() },
            ]
        );
        assert_eq!(grants(&group("[process.a]\nexec = \"/a\"\n")), []);
    }

    #[test]
    fn the_grants_stand_in_the_rule() {
        let group = group(SHOP);
        let text = render(&group, &grants(&group));
        for line in [
            "            user: \"shop\",\n",
            "            instances: [{ before: \"shop-worker@\", after: \".service\" }, { before: \"shop-worker@\", after: \".socket\" }]\n        },\n",
            "            units: [\"shop-db.service\"],\n            instances: []\n        }\n    ];\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(text.is_ascii());
    }

    #[test]
    fn text_stays_text_in_javascript() {
        for (text, literal) in [
            ("shop", r#""shop""#),
            ("a\"b\\c\n", r#""a\"b\\c\u000a""#),
            ("é\u{2028}\u{1f600}\u{7f}", r#""\u00e9\u2028\ud83d\ude00\u007f""#),
        ] {
            assert_eq!(string(text), literal);
        }
    }
}
