//! System or user: the only place that spells `/etc`, `/run` and `/usr`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Which service manager the groups are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// PID 1.
    System,
    /// A user's `systemd --user`.
    User,
}

impl Scope {
    /// The scope a generator runs in: `$SYSTEMD_SCOPE`, which systemd sets from 251 on
    /// (systemd.generator(7)). Before that, a guess from the first argument and the user: only a user manager
    /// has its generator directory below `/run/user`, and only PID 1 calls generators as root.
    pub fn of_generator(variable: Option<&str>, output: &Path, root_user: bool) -> Self {
        match variable {
            Some("system") => Self::System,
            Some("user") => Self::User,
            _ if output.starts_with("/run/user") || !root_user => Self::User,
            _ => Self::System,
        }
    }
}

/// Where copse-notify is installed: units call it by this path, because not every systemd has `ExecSearchPath=` and
/// nothing in a unit may depend on a `PATH`. `make install PREFIX=` sets the variable while it builds.
pub const NOTIFY_PROGRAM: &str = match option_env!("COPSE_NOTIFY_PROGRAM") {
    Some(path) => path,
    None => "/usr/bin/copse-notify",
};

/// Where systemd looks up the program of a command line that is no path, and `$PATH` of a service (systemd.exec(5), "$PATH").
/// The last two are links to others, unless /usr is not merged.
pub const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl Scope {
    /// What wants the target of a group that is enabled, unless its file says otherwise.
    pub fn boot_target(self) -> &'static str {
        match self {
            Self::System => "multi-user.target",
            Self::User => "default.target",
        }
    }

    /// Where an administrator (or a user) puts drop-ins for units, as people write it.
    pub fn drop_ins(self) -> &'static str {
        match self {
            Self::System => "/etc/systemd/system",
            Self::User => "~/.config/systemd/user",
        }
    }
}

/// The directories that matter, with `$COPSE_ROOT` in front of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    /// The scope they are for.
    pub scope: Scope,
    /// `$COPSE_ROOT`, or empty.
    pub root: Option<PathBuf>,
    /// Where group files are, the most important first, without the root.
    pub groups: Vec<PathBuf>,
    /// Where packages and other generators put units that a generated one would hide, without the root.
    pub units: Vec<PathBuf>,
    /// Where the administrator puts units, which hide generated ones, without the root.
    pub administrator: Vec<PathBuf>,
    /// `/run/copse`, or the user's: what the generator remembers until the next boot, without the root.
    /// Empty in user scope without `$XDG_RUNTIME_DIR`.
    pub state: Option<PathBuf>,
    /// The directory that the service manager itself gives to generators (the first of the three), without the root.
    pub generator: Option<PathBuf>,
    /// Where the service manager keeps a link `invocation:UNIT` for each unit that isn't inactive, without the root.
    pub running: Option<PathBuf>,
    /// Where systemd's private library may be, whose name tells the version, without the root.
    pub libraries: Vec<PathBuf>,
}

impl Directories {
    /// The directories of `scope`. `variable` looks up an environment variable (`std::env::var_os`); it is asked
    /// for nothing in system scope. `root` is what stands in front: `--root`, or else `$COPSE_ROOT`.
    ///
    /// The order in user scope is that of systemd.unit(5). As the XDG base directory specification wants it, an
    /// empty or relative variable counts as unset; where a default needs `$HOME` and that is unset, the directory
    /// is left out.
    pub fn new(scope: Scope, root: Option<PathBuf>, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let root = root.filter(|root| !root.as_os_str().is_empty() && root != Path::new("/"));
        match scope {
            Scope::System => Self::system(root),
            Scope::User => {
                Self::user(root, &|name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute()))
            }
        }
    }

    /// As [`Directories::new`], from this process's environment.
    pub fn from_environment(scope: Scope, root: Option<PathBuf>) -> Self {
        let root = root.or_else(|| std::env::var_os("COPSE_ROOT").map(PathBuf::from));
        Self::new(scope, root, |name| std::env::var_os(name))
    }

    fn system(root: Option<PathBuf>) -> Self {
        Self {
            scope: Scope::System,
            root,
            groups: paths(&["/etc/copse", "/run/copse", "/usr/local/lib/copse", "/usr/lib/copse"]),
            units: paths(&["/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"]),
            administrator: paths(&["/etc/systemd/system", "/run/systemd/system"]),
            state: Some("/run/copse".into()),
            generator: Some("/run/systemd/generator".into()),
            running: Some("/run/systemd/units".into()),
            libraries: libraries(),
        }
    }

    fn user(root: Option<PathBuf>, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Self {
        let home = variable("HOME");
        let below_home =
            |name: &str, default: &str| variable(name).or_else(|| home.as_ref().map(|home| home.join(default)));
        let config = below_home("XDG_CONFIG_HOME", ".config");
        let data = below_home("XDG_DATA_HOME", ".local/share");
        let runtime = variable("XDG_RUNTIME_DIR");
        let below = |base: &Option<PathBuf>, name: &str| base.as_ref().map(|base| base.join(name));
        let fixed = |path: &str| Some(PathBuf::from(path));
        let list = |all: Vec<Option<PathBuf>>| all.into_iter().flatten().collect();
        Self {
            scope: Scope::User,
            root,
            groups: list(vec![
                below(&config, "copse"),
                fixed("/etc/copse/user"),
                below(&runtime, "copse"),
                fixed("/run/copse/user"),
                below(&data, "copse"),
                fixed("/usr/local/lib/copse/user"),
                fixed("/usr/lib/copse/user"),
            ]),
            units: list(vec![
                below(&data, "systemd/user"),
                fixed("/usr/local/share/systemd/user"),
                fixed("/usr/share/systemd/user"),
                fixed("/usr/local/lib/systemd/user"),
                fixed("/usr/lib/systemd/user"),
            ]),
            administrator: list(vec![
                below(&config, "systemd/user"),
                fixed("/etc/systemd/user"),
                below(&runtime, "systemd/user"),
                fixed("/run/systemd/user"),
            ]),
            state: below(&runtime, "copse"),
            generator: below(&runtime, "systemd/generator"),
            running: below(&runtime, "systemd/units"),
            libraries: libraries(),
        }
    }

    /// Where the runtime directory of each user is that has one.
    pub const OF_USERS: &str = "/run/user";

    /// Where systemd looks for units that are there until the next boot (until the user is logged out), without the root.
    pub fn until_reboot(&self) -> Option<PathBuf> {
        let name = match self.scope {
            Scope::System => "system",
            Scope::User => "user",
        };
        Some(self.generator.as_ref()?.with_file_name(name))
    }

    /// The path on this machine: the root and `path` joined.
    pub fn rooted(&self, path: &Path) -> PathBuf {
        match &self.root {
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.to_owned(),
        }
    }

    /// The opposite of [`Directories::rooted`]: `path` as the author of a group file knows it.
    pub fn unrooted(&self, path: &Path) -> PathBuf {
        match self.root.as_ref().and_then(|root| path.strip_prefix(root).ok()) {
            Some(inner) => Path::new("/").join(inner),
            None => path.to_owned(),
        }
    }
}

/// As distributions have it: Debian's multiarch directory from 13 on, `/lib` where it isn't merged into `/usr`.
fn libraries() -> Vec<PathBuf> {
    let mut all = paths(&["/usr/lib/systemd", "/lib/systemd", "/usr/lib64/systemd"]);
    let abi = match std::env::consts::ARCH {
        "arm" => "gnueabihf",
        "x86_64" | "aarch64" | "riscv64" | "s390x" | "loongarch64" => "gnu",
        _ => return all,
    };
    all.insert(0, format!("/usr/lib/{}-linux-{abi}/systemd", std::env::consts::ARCH).into());
    all
}

fn paths(all: &[&str]) -> Vec<PathBuf> {
    all.iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(variables: &[(&str, &str)]) -> Directories {
        Directories::new(Scope::User, None, |name| {
            variables.iter().find(|(found, _)| *found == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn system_scope_asks_for_no_variable() {
        let directories = Directories::new(Scope::System, None, |name| panic!("asked for {name}"));
        assert_eq!(directories.groups, paths(&["/etc/copse", "/run/copse", "/usr/local/lib/copse", "/usr/lib/copse"]));
    }

    #[test]
    fn user_scope_with_all_variables() {
        let directories = user(&[
            ("HOME", "/home/u"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_DATA_HOME", "/d"),
            ("XDG_RUNTIME_DIR", "/run/user/7"),
        ]);
        assert_eq!(
            directories.groups,
            paths(&[
                "/c/copse",
                "/etc/copse/user",
                "/run/user/7/copse",
                "/run/copse/user",
                "/d/copse",
                "/usr/local/lib/copse/user",
                "/usr/lib/copse/user",
            ])
        );
        assert_eq!(directories.state, Some("/run/user/7/copse".into()));
        assert_eq!(directories.generator, Some("/run/user/7/systemd/generator".into()));
    }

    #[test]
    fn user_scope_falls_back_to_home() {
        let directories = user(&[("HOME", "/home/u"), ("XDG_CONFIG_HOME", ""), ("XDG_DATA_HOME", "relative")]);
        assert_eq!(directories.groups[0], Path::new("/home/u/.config/copse"));
        assert!(directories.groups.contains(&"/home/u/.local/share/copse".into()));
        assert_eq!(directories.state, None);
    }

    #[test]
    fn user_scope_without_any_variable_keeps_the_fixed_directories() {
        assert_eq!(
            user(&[]).groups,
            paths(&["/etc/copse/user", "/run/copse/user", "/usr/local/lib/copse/user", "/usr/lib/copse/user"])
        );
    }

    #[test]
    fn root_stands_in_front_and_a_root_of_slash_is_none() {
        let directories = Directories::new(Scope::System, Some("/img".into()), |_| None);
        assert_eq!(directories.rooted(Path::new("/etc/copse")), Path::new("/img/etc/copse"));
        assert_eq!(directories.unrooted(Path::new("/img/etc/copse")), Path::new("/etc/copse"));
        assert_eq!(Directories::new(Scope::System, Some("/".into()), |_| None).root, None);
    }

    #[test]
    fn scope_of_a_generator() {
        let of = Scope::of_generator;
        assert_eq!(of(Some("user"), Path::new("/run/systemd/generator"), true), Scope::User);
        assert_eq!(of(None, Path::new("/run/systemd/generator"), true), Scope::System);
        assert_eq!(of(None, Path::new("/run/user/0/systemd/generator"), true), Scope::User);
        assert_eq!(of(None, Path::new("/tmp/x"), false), Scope::User);
    }
}
