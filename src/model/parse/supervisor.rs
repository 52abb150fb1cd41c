//! `[supervisor]`, its short form, and the names of processes there.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::context::{GroupContext, Reader};
use super::directive::directive;
use super::value;
use super::value::{Result, conflict, invalid, missing, shown, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceLocation};
use crate::basic::scope::Scope;
use crate::group_file::document::{Entry, Node, Table, Value};
use crate::group_file::keys;
use crate::group_file::keys::KeyKind;
use crate::model::service::Credential;
use crate::model::supervisor::{Login, Supervisor, SupervisorName};
use crate::model::supervisor_table::names;
use crate::model::text::{DirectoryKind, Piece, Text};
use crate::model::types::Process;
use crate::unit::name::ProcessName;

/// The longest path that every client can connect to: sun_path of unix(7), less its end.
const LONGEST: usize = 107;

/// What a group without the table can add.
const OPT_IN: &str = "add `supervisor-socket = \"/run/NAME/supervisor.sock\"` to the group's keys";

/// `[supervisor]` or `supervisor-socket` of the group's table.
pub fn read(table: &Table, context: &GroupContext<'_>, diagnostics: &mut Diagnostics) -> Option<Supervisor> {
    let (short, long) = (table.get("supervisor-socket"), table.get("supervisor"));
    if let (Some(short), Some(long)) = (short, long) {
        let diagnostic = conflict(short, "`supervisor-socket` and `[supervisor]` exclude each other");
        let diagnostic = diagnostic.related(&long.key, "`[supervisor]` is here");
        diagnostics.push(diagnostic.help("write `socket = \"…\"` in `[supervisor]`"));
    }
    let entry = long.or(short)?;
    let location = SourceLocation::from(entry);
    let nothing = Supervisor { location, link: None, user: None, group: None, mode: None, listen: None, login: None };
    let scope = context.machine.scope;
    if long.is_none() {
        let mut reader = Reader::new(table, context.name, "", false, diagnostics);
        reader.placeholders.directories = context.shared.to_vec();
        return Some(Supervisor { link: reader.link("supervisor-socket", scope), ..nothing });
    }
    let Some(keys) = entry.node.as_table() else {
        diagnostics.push(wrong_type("supervisor", "a table", &entry.node));
        return Some(nothing);
    };
    value::unknown_keys("`[supervisor]`", keys, keys::SUPERVISOR_KEYS, diagnostics);
    let mut reader = Reader::new(keys, context.name, "", false, diagnostics);
    reader.placeholders.directories = context.shared.to_vec();
    reader.refuse_in_user_scope(scope);
    let link = reader.link("socket", scope);
    let [user, group, mode] = [("user", KeyKind::User), ("group", KeyKind::User), ("mode", KeyKind::Mode)]
        .map(|(key, kind)| keys.get(key).and_then(|entry| directive(key, kind, &entry.node, reader.diagnostics)));
    let listen = reader.get("listen", loopback);
    let login = reader.login();
    Some(Supervisor { link, user, group, mode, listen, login, ..nothing })
}

impl Reader<'_, '_> {
    /// The path of the link to the socket.
    fn link(&mut self, key: &str, scope: Scope) -> Option<Text> {
        let node = &self.table.get(key)?.node;
        let text = self.path(key, node)?;
        self.diagnostics.ok(check_link(key, node, &text, scope)).map(|()| text)
    }

    fn refuse_in_user_scope(&mut self, scope: Scope) {
        if scope == Scope::User {
            for entry in ["user", "group"].iter().filter_map(|key| self.table.get(key)) {
                let message = format!("`{}` is not possible in a user's service manager", entry.name);
                self.push(conflict(entry, message).help("remove the key, or install the group system-wide"));
            }
        }
    }

    fn login(&mut self) -> Option<Login> {
        let (username, password) = (self.table.get("username"), self.table.get("password"));
        if let Some(entry) = self.table.get("listen").filter(|_| username.is_none() && password.is_none()) {
            let message = "`listen` requires `username` and `password`: every user can connect to a port";
            let help = "add `username = \"…\"` and `password = { credential = \"/etc/…\" }`";
            self.push(missing(entry, message).help(help));
        }
        for (entry, other) in [(username, "password"), (password, "username")] {
            if let Some(entry) = entry.filter(|_| self.table.get(other).is_none()) {
                let message = format!("`{}` has no effect without `{other}`", entry.name);
                self.push(missing(entry, message));
            }
        }
        let username = self.get("username", username_of);
        let password = password.and_then(|entry| self.password(entry));
        Some(Login { username: username?, password: password? })
    }

    fn password(&mut self, entry: &Entry) -> Option<Credential> {
        let Some(table) = entry.node.as_table() else {
            let expected = "a credential such as `{ credential = \"/etc/…\" }`";
            let diagnostic = wrong_type("password", expected, &entry.node);
            self.push(
                diagnostic.help("write it to a file of root's with mode 0600: every user can read a group's units"),
            );
            return None;
        };
        value::unknown_keys("`password`", table, &["credential", "encrypted"], self.diagnostics);
        let (entry, encrypted) = match (table.get("credential"), table.get("encrypted")) {
            (Some(entry), None) => (entry, false),
            (None, Some(entry)) => (entry, true),
            _ => {
                self.push(conflict(&entry.node, "`password` takes either `credential` or `encrypted`"));
                return None;
            }
        };
        let text = self.path("password", &entry.node)?;
        let in_store = !encrypted && !text.leading().contains(['/', ':', '.']);
        if text.is_relative() && !in_store {
            let expected = "an absolute path, or the name of a credential in systemd's store";
            self.push(invalid(&entry.node, format!("`password` takes {expected}")));
            return None;
        }
        Some(if encrypted { Credential::Encrypted(text) } else { Credential::Load(text) })
    }

    /// `supervisor-name` of a process, or its default, and whether `supervisor-view` is `"own"`.
    pub fn supervisor_keys(
        &mut self,
        process: &ProcessName,
        instances: bool,
        opted_in: bool,
    ) -> (SupervisorName, bool) {
        if !opted_in {
            for entry in ["supervisor-name", "supervisor-view"].iter().filter_map(|key| self.table.get(key)) {
                let diagnostic = missing(entry, format!("`{}` has no effect without `[supervisor]`", entry.name));
                self.push(diagnostic.help(OPT_IN));
            }
        }
        let name = self.get("supervisor-name", |key, node| {
            let text = value::text(key, node)?;
            SupervisorName::parse(text, process.as_str(), instances)
                .map_err(|why| invalid(node, format!("`{key}` `{}` is not possible: it {why}", shown(text))))
        });
        let view = self.get("supervisor-view", |key, node| value::word(key, node, keys::SUPERVISOR_VIEW));
        let name = name.unwrap_or_else(|| SupervisorName::default_of(process.as_str(), instances));
        (name, view == Some("own"))
    }
}

fn check_link(key: &str, node: &Node, text: &Text, scope: Scope) -> Result<()> {
    let base = if scope == Scope::User { "/run/user/" } else { "/run/" };
    let pieces = text.pieces();
    let rest = match pieces {
        [Piece::Literal(path)] => path.strip_prefix(base),
        [Piece::Directory(DirectoryKind::Runtime, _), Piece::Literal(rest)] => rest.strip_prefix('/'),
        _ => None,
    };
    let help = "write `\"/run/NAME/supervisor.sock\"`, or `\"{runtime-directory}/supervisor.sock\"`";
    let Some(rest) = rest else {
        let message =
            format!("`{key}` must be a path below /run: systemd replaces what is there with a link to the socket");
        return Err(invalid(node, message).help(help));
    };
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    if !rest.split('/').all(plain) || rest.contains(char::is_whitespace) {
        return Err(invalid(node, format!("`{key}` must be a path without `.`, `..`, blanks and `//`")).help(help));
    }
    if text.is_literal()
        && scope == Scope::System
        && ["systemd/", "copse/", "dbus/", "user/"].iter().any(|own| rest.starts_with(own))
    {
        let message = format!("`{key}` must not be in a directory of systemd, the bus or copse");
        return Err(invalid(node, message).help(help));
    }
    if text.literal_len() > LONGEST {
        let message = format!("`{key}` is longer than {LONGEST} bytes, so no client could connect to it");
        return Err(invalid(node, message));
    }
    Ok(())
}

fn loopback(key: &str, node: &Node) -> Result<SocketAddr> {
    let text = value::plain(key, node)?;
    let address = text.parse::<SocketAddr>().ok().filter(|address| address.port() != 0);
    let help = "write `\"127.0.0.1:9001\"` or `\"[::1]:9001\"`; reach it from other hosts by ssh, or through a proxy";
    let Some(address) = address else {
        let message = format!("`{key}` takes a loopback address and a port, not `{}`", shown(&text));
        return Err(invalid(node, message).help(help));
    };
    let own = match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    if own {
        return Ok(address);
    }
    let message =
        format!("`{key}` takes loopback addresses only: `{}` could be reached from other hosts", shown(&text));
    Err(invalid(node, message).help(help))
}

fn username_of(key: &str, node: &Node) -> Result<String> {
    let text = value::plain(key, node)?;
    if text.contains(':') {
        return Err(invalid(node, format!("`{key}` must not contain a colon, which ends it in a request")));
    }
    Ok(text)
}

/// Reports names that two processes have.
pub fn check_names(processes: &BTreeMap<ProcessName, Process>, diagnostics: &mut Diagnostics) {
    let mut known: BTreeMap<(String, String), &SourceLocation> = BTreeMap::new();
    for process in processes.values() {
        for name in names(process) {
            if let Some(first) = known.get(&name) {
                let (group, process_name) = &name;
                let message = format!("two processes have the supervisor name `{group}:{process_name}`");
                let diagnostic = Diagnostic::new(Code::DuplicateName, &process.location, message);
                let diagnostic = diagnostic.related(*first, "the other one is here");
                diagnostics.push(diagnostic.help("give one of them another `supervisor-name`"));
                break;
            }
            known.insert(name, &process.location);
        }
    }
}

/// Whether a group's table opts in.
pub fn opts_in(table: &Table) -> bool {
    let set = |key: &str| table.get(key).is_some_and(|entry| entry.node.value != Value::Boolean(false));
    set("supervisor") || set("supervisor-socket")
}
