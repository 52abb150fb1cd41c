//! The content of supervisord's files in its own terms: programs with their processes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::configparser::Ini;
use super::datatypes::Autorestart;
use super::python_format::Expanded;
use crate::basic::diagnostic::{Diagnostic, Diagnostics, SourceFile};

/// What the files do not hold.
pub struct World<'w> {
    /// The known variables of supervisord's environment.
    pub environment: BTreeMap<String, String>,
    /// The name of the machine.
    pub host: String,
    /// Reads the files that an absolute pattern of `[include]` matches, in their order.
    pub include: &'w dyn Fn(&str) -> Vec<Result<SourceFile, Diagnostic>>,
}

#[derive(Debug)]
pub struct Config {
    pub files: Vec<PathBuf>,
    pub ini: Ini,
    pub daemon: Daemon,
    /// In the order of the text; a program in two groups appears twice. Programs that supervisord refuses are missing.
    pub programs: Vec<Program>,
    pub diagnostics: Diagnostics,
}

/// What `[supervisord]` sets for all programs.
#[derive(Debug, Default)]
pub struct Daemon {
    pub environment: Vec<(Expanded, Expanded)>,
    pub user: Option<String>,
    pub umask: Option<i64>,
    pub directory: Option<Expanded>,
    pub minfds: Option<i64>,
}

/// A `[program:x]` or `[fcgi-program:x]`. The fields without a comment are the options of the same name.
#[derive(Debug, Clone)]
pub struct Program {
    /// The index of its section.
    pub section: usize,
    pub name: String,
    /// The name of its `[group:x]`, or its own.
    pub group: String,
    /// Whether a `[group:x]` names it.
    pub grouped: bool,
    /// Of the group and of the program.
    pub priority: (i64, i64),
    pub autostart: bool,
    pub autorestart: Autorestart,
    pub startsecs: i64,
    pub startretries: i64,
    pub stopsignal: String,
    pub stopwaitsecs: i64,
    pub stopasgroup: bool,
    pub killasgroup: bool,
    pub exitcodes: Vec<u8>,
    pub user: Option<String>,
    pub umask: Option<i64>,
    pub redirect_stderr: bool,
    /// `stdout_logfile` is `NONE`, or the like.
    pub no_stdout: bool,
    /// `stderr_logfile` is `NONE`, or the like.
    pub no_stderr: bool,
    /// The socket of a `[fcgi-program:x]`.
    pub socket: Option<Socket>,
    /// `numprocs_start`
    pub first: i64,
    /// `numprocs` of them.
    pub processes: Vec<Process>,
    /// The same process with its number left open, if there are several.
    pub pattern: Option<Process>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub name: Expanded,
    /// The words of `command`.
    pub argv: Vec<Expanded>,
    /// That of `[supervisord]` and its own.
    pub environment: Vec<(Expanded, Expanded)>,
    pub directory: Option<Expanded>,
}

/// The socket of a FastCGI program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    pub address: Address,
    pub owner: Option<String>,
    pub mode: Option<i64>,
    pub backlog: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A normalized path.
    Unix(String),
    /// A host name or address, and a port.
    Tcp(String, u16),
}
