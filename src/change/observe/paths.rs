//! Replaces placeholders in paths for one unit, without the service manager.

use std::path::PathBuf;

use crate::basic::scope::{SEARCH_PATH, Scope};
use crate::model::{Credential, DirectoryKind, Piece, Service, Text, is_shell};
use crate::unit::directives::Systemd;
use crate::unit::name::template_of;

/// A unit for which placeholders are replaced.
#[derive(Debug, Clone, Copy)]
pub struct Unit<'u> {
    pub name: &'u str,
    pub scope: Scope,
    pub systemd: Systemd,
}

impl Unit<'_> {
    fn instance(&self) -> &str {
        let instance = || self.name.split_once('@')?.1.rsplit_once('.').map(|(instance, _)| instance);
        template_of(self.name).and_then(|_| instance()).unwrap_or_default()
    }

    /// The text. `None` if only the process itself knows a part of it.
    pub fn text(&self, text: &Text) -> Option<String> {
        let mut all = String::new();
        for piece in text.pieces() {
            match piece {
                Piece::Literal(literal) => all.push_str(literal),
                Piece::Instance => all.push_str(self.instance()),
                Piece::Unit => all.push_str(self.name),
                Piece::Directory(kind, name) => {
                    all.push_str(self.base(*kind)?.to_str()?);
                    all.push('/');
                    all.push_str(&self.text(name)?);
                }
                Piece::CredentialsDirectory | Piece::Env(_) | Piece::EnvWords(_) => return None,
            }
        }
        Some(all)
    }

    /// The values of `%t`, `%S`, `%C`, `%L` and `%E` (systemd.unit(5), "Specifiers").
    pub fn base(&self, kind: DirectoryKind) -> Option<PathBuf> {
        if self.scope == Scope::System {
            return Some(["/run", "/var/lib", "/var/cache", "/var/log", "/etc"][kind as usize].into());
        }
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let below_home = |name: &str, default: &str| variable(name).or_else(|| Some(variable("HOME")?.join(default)));
        // Until 253 a user's state was kept with the configuration.
        let state = || match self.systemd.version {
            ..=253 => below_home("XDG_CONFIG_HOME", ".config"),
            _ => below_home("XDG_STATE_HOME", ".local/state"),
        };
        match kind {
            DirectoryKind::Runtime => variable("XDG_RUNTIME_DIR"),
            DirectoryKind::Cache => below_home("XDG_CACHE_HOME", ".cache"),
            DirectoryKind::Configuration => below_home("XDG_CONFIG_HOME", ".config"),
            DirectoryKind::State => state(),
            DirectoryKind::Logs => Some(state()?.join("log")),
        }
    }

    /// The paths of its inputs, as far as they are known.
    pub fn inputs(&self, service: &Service) -> Vec<PathBuf> {
        service.inputs.iter().filter_map(|input| self.text(input)).map(PathBuf::from).collect()
    }

    /// The files that the service manager reads for it at its start, as far as they are known. A credential may also come
    /// from a socket, which has no content to compare.
    pub fn handed(&self, service: &Service) -> Vec<PathBuf> {
        let environment = service.environment_files.iter().filter_map(|(_, file)| self.text(file)).map(PathBuf::from);
        let credentials = service.credentials.values().filter_map(|credential| match credential {
            Credential::Load(path) => self.credential(&self.text(path)?, ""),
            Credential::Encrypted(path) => self.credential(&self.text(path)?, ".encrypted"),
            Credential::Text(_) => None,
        });
        let holds = |path: &PathBuf| {
            let found = std::fs::metadata(path);
            found.is_ok_and(|found| found.is_file() || found.is_dir()) || !path.exists()
        };
        environment.chain(credentials).filter(holds).collect()
    }

    /// A path, or a name in systemd's credential store (systemd.exec(5), "LoadCredential=").
    fn credential(&self, text: &str, suffix: &str) -> Option<PathBuf> {
        if text.starts_with('/') {
            return Some(text.into());
        }
        let stores = ["/etc", "/run", "/usr/local/lib", "/usr/lib"].into_iter().filter(|_| self.scope == Scope::System);
        let of = |store: &str| PathBuf::from(format!("{store}/credstore{suffix}/{text}"));
        stores.map(of).find(|path| path.exists())
    }

    /// The file of its program. `None` for a shell script, whose programs are not known, and if the process has another file
    /// system.
    pub fn program(&self, service: &Service) -> Option<PathBuf> {
        let elsewhere = |name: &str| matches!(name, "RootDirectory" | "RootImage" | "ExecSearchPath");
        if is_shell(&service.exec) || service.pass.0.iter().any(|(_, name, _)| elsewhere(name)) {
            return None;
        }
        let program = self.text(service.exec.first()?)?;
        if program.starts_with('/') {
            return Some(program.into());
        }
        SEARCH_PATH.split(':').map(|directory| PathBuf::from(directory).join(&program)).find(|path| path.is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group_file::discover::Source;
    use crate::model::Context;
    use crate::unit::name::{GroupName, ProcessName};

    #[test]
    fn placeholders_and_programs() {
        let read = |text: &str| {
            let file = crate::basic::diagnostic::SourceFile { path: "/g.toml".into(), text: text.to_owned() };
            let source = Source { name: GroupName::new("g").unwrap(), file: file.into(), drop_ins: Vec::new() };
            let (group, diagnostics) = crate::model::read(&source, &Context { scope: Scope::System, cpus: 1 });
            let mut group = group.unwrap_or_else(|| panic!("{diagnostics:?}"));
            group.processes.remove(&ProcessName::new("p").unwrap()).unwrap().service
        };
        let of = |text: &str| {
            let service = read(&format!("[process.p]\n{text}\n"));
            let unit = Unit { name: "g-p@7.service", scope: Scope::System, systemd: Systemd::NEWEST };
            let path = |path: &PathBuf| path.display().to_string();
            let all = |paths: Vec<PathBuf>| paths.iter().map(path).collect::<Vec<_>>();
            (unit.program(&service).as_ref().map(path), all(unit.inputs(&service)), all(unit.handed(&service)))
        };
        let program = |text: &str| of(text).0;
        assert_eq!(program("exec = \"/usr/bin/x -a\"").as_deref(), Some("/usr/bin/x"));
        assert_eq!(program("exec = \"bin/x\"\nworking-directory = \"/srv\"").as_deref(), Some("/srv/bin/x"));
        assert!(program("exec = \"sleep 1\"").is_some_and(|path| path.ends_with("bin/sleep")));
        assert_eq!(program("exec = \"no-such-program-anywhere\""), None);
        assert_eq!(program("shell = \"exec /usr/bin/x\""), None);
        assert_eq!(program("exec = \"/x\"\n[process.p.service]\nRootDirectory = \"/r\""), None);
        let text = "exec = \"/x\"\ninstances = 8\nstate-directory = \"s-{instance}\"\n\
                    inputs = [\"/etc/{instance}/{unit}\", \"{state-directory}/x\"]";
        assert_eq!(of(text).1, ["/etc/7/g-p@7.service", "/var/lib/s-7/x"]);
        let text = "exec = \"/x\"\ninstances = 8\nenvironment-file = [\"/no/env-{instance}\", \"-/no/other\"]\n\
                    credentials = { a = \"/no/a-{instance}\", b = \"not-in-the-store\", c = \"/dev/null\", \
                    d = { text = \"x\" }, e = { encrypted = \"/no/e\" } }";
        assert_eq!(of(text).2, ["/no/env-7", "/no/other", "/no/a-7", "/no/e"]);
    }
}
