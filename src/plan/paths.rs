//! What placeholders in paths come to for one unit, without asking the service manager.

use std::path::PathBuf;

use crate::model::{Argv, DirectoryKind, Piece, Service, Text};
use crate::scope::Scope;
use crate::unit::name::template_of;

/// A unit, for which texts are read.
#[derive(Debug, Clone, Copy)]
pub struct Unit<'u> {
    /// Its name.
    pub name: &'u str,
    /// Whose manager runs it.
    pub scope: Scope,
}

impl Unit<'_> {
    fn instance(&self) -> &str {
        let instance = || self.name.split_once('@')?.1.rsplit_once('.').map(|(instance, _)| instance);
        template_of(self.name).and_then(|_| instance()).unwrap_or_default()
    }

    /// The text; `None` where it holds what is known only to the process itself.
    #[must_use]
    pub fn text(&self, text: &Text) -> Option<String> {
        let mut all = String::new();
        for piece in text.pieces() {
            match piece {
                Piece::Literal(literal) => all.push_str(literal),
                Piece::Instance => all.push_str(self.instance()),
                Piece::Unit => all.push_str(self.name),
                Piece::Directory(kind, name) => {
                    all.push_str(base(self.scope, *kind)?.to_str()?);
                    all.push('/');
                    all.push_str(&self.text(name)?);
                }
                Piece::CredentialsDirectory | Piece::Env(_) | Piece::EnvWords(_) => return None,
            }
        }
        Some(all)
    }

    /// The paths of its inputs, as far as they are known.
    #[must_use]
    pub fn inputs(&self, service: &Service) -> Vec<PathBuf> {
        service.inputs.iter().filter_map(|input| self.text(input)).map(PathBuf::from).collect()
    }

    /// The file of its program. `None` for a shell's script, which names programs that aren't known, and where the
    /// process sees another file system.
    #[must_use]
    pub fn program(&self, service: &Service) -> Option<PathBuf> {
        let elsewhere = |name: &str| matches!(name, "RootDirectory" | "RootImage" | "ExecSearchPath");
        if is_shell(&service.exec) || service.pass.0.iter().any(|(_, name, _)| elsewhere(name)) {
            return None;
        }
        let program = self.text(service.exec.first()?)?;
        if program.starts_with('/') {
            return Some(program.into());
        }
        // systemd's own path, which a bare name is looked up in (systemd.service(5)).
        let path = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
        path.iter().map(|directory| PathBuf::from(directory).join(&program)).find(|path| path.is_file())
    }
}

fn is_shell(argv: &Argv) -> bool {
    let word = |at: usize| argv.get(at).map(Text::leading);
    word(0) == Some("/bin/sh") && word(1) == Some("-c")
}

/// What `%t` and its siblings are (systemd.unit(5), "Specifiers").
#[must_use]
pub fn base(scope: Scope, kind: DirectoryKind) -> Option<PathBuf> {
    if scope == Scope::System {
        return Some(["/run", "/var/lib", "/var/cache", "/var/log", "/etc"][kind as usize].into());
    }
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let below_home = |name: &str, default: &str| variable(name).or_else(|| Some(variable("HOME")?.join(default)));
    match kind {
        DirectoryKind::Runtime => variable("XDG_RUNTIME_DIR"),
        DirectoryKind::Cache => below_home("XDG_CACHE_HOME", ".cache"),
        DirectoryKind::Configuration => below_home("XDG_CONFIG_HOME", ".config"),
        // Where they are depends on the version of systemd.
        DirectoryKind::State | DirectoryKind::Logs => None,
    }
}
