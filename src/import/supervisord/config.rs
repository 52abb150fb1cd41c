//! What supervisord's files say, in its own terms: programs with their processes, as `ServerOptions.read_config` and
//! `processes_from_section` of supervisor 4 make them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::configparser::{Ini, Spot};
use super::datatypes::Autorestart;
use super::expanded::Expanded;
use super::reader::Reader;
use crate::basic::diagnostic::{Diagnostic, Diagnostics, SourceFile, SourceLocation};

/// Everything that was read.
#[derive(Debug)]
pub struct Config {
    /// The files, in the order in which they were read.
    pub files: Vec<Arc<SourceFile>>,
    /// Their sections.
    pub ini: Ini,
    /// `[supervisord]`
    pub daemon: Daemon,
    /// In the order of the text; a program that is in two groups is there twice.
    pub programs: Vec<Program>,
    /// Whether `%(host_node_name)s` was filled in.
    pub host_used: bool,
    /// Whether `%(ENV_PATH)s` was taken for systemd's own search path.
    pub path_used: bool,
    /// Whether supervisord would read all of it: a program that it refuses isn't among the programs.
    pub diagnostics: Diagnostics,
}

/// What `[supervisord]` says about its programs.
#[derive(Debug, Default)]
pub struct Daemon {
    /// What each program's environment begins with.
    pub environment: Vec<(Expanded, Expanded)>,
    /// Who it runs as.
    pub user: Option<String>,
    /// `umask`
    pub umask: Option<i64>,
    /// `directory`
    pub directory: Option<Expanded>,
    /// `minfds`
    pub minfds: Option<i64>,
}

/// A `[program:x]` or `[fcgi-program:x]`.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its place among the sections.
    pub section: usize,
    /// Its name.
    pub name: String,
    /// The name of its group, which is its own where no `[group:x]` has it.
    pub group: String,
    /// Whether a `[group:x]` has it.
    pub grouped: bool,
    /// `priority`, of the group and of the program.
    pub priority: (i64, i64),
    /// `autostart`
    pub autostart: bool,
    /// `autorestart`
    pub autorestart: Autorestart,
    /// `startsecs`
    pub startsecs: i64,
    /// `startretries`
    pub startretries: i64,
    /// `stopsignal`
    pub stopsignal: String,
    /// `stopwaitsecs`
    pub stopwaitsecs: i64,
    /// `stopasgroup`
    pub stopasgroup: bool,
    /// `killasgroup`
    pub killasgroup: bool,
    /// `exitcodes`
    pub exitcodes: Vec<u8>,
    /// `user`
    pub user: Option<String>,
    /// `umask`
    pub umask: Option<i64>,
    /// Where the output goes.
    pub output: Outputs,
    /// The socket of a `[fcgi-program:x]`.
    pub socket: Option<Socket>,
    /// `numprocs_start`
    pub first: i64,
    /// The processes, `numprocs` of them.
    pub processes: Vec<Process>,
    /// The same with the number left open, where there may be several.
    pub pattern: Option<Process>,
}

/// One process of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// `process_name`
    pub name: Expanded,
    /// The words of `command`.
    pub argv: Vec<Expanded>,
    /// `[supervisord]`'s environment and the program's own.
    pub environment: Vec<(Expanded, Expanded)>,
    /// `directory`
    pub directory: Option<Expanded>,
}

/// Which of a program's outputs are thrown away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outputs {
    /// `stdout_logfile=NONE`
    pub no_stdout: bool,
    /// `stderr_logfile=NONE`
    pub no_stderr: bool,
    /// `redirect_stderr`
    pub joined: bool,
}

/// A FastCGI socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    /// `unix://PATH`, normalized, or `tcp://HOST:PORT`.
    pub address: Address,
    /// `socket_owner`
    pub owner: Option<String>,
    /// `socket_mode`
    pub mode: Option<i64>,
    /// `socket_backlog`
    pub backlog: Option<i64>,
}

/// Where a FastCGI socket listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// At a path.
    Unix(String),
    /// At a host, which may be a name, and a port.
    Tcp(String, u16),
}

/// What the reading needs besides the files.
pub struct World<'w> {
    /// The variables that supervisord would find in its environment, as far as the caller says so.
    pub environment: BTreeMap<String, String>,
    /// The machine's name.
    pub host: String,
    /// The files that a pattern of `[include]`, joined to the directory of the first file, names, in their order.
    pub include: &'w dyn Fn(&str) -> Vec<Result<SourceFile, Diagnostic>>,
}

/// Reads `files`, the first of which is the one that supervisord would be started with; the others are read as if it
/// included them. Paths are absolute.
pub fn read(files: Vec<SourceFile>, world: &World<'_>) -> Config {
    let here = directory_of(files.first().map_or(Path::new("/"), |file| &file.path));
    let mut reader = Reader::new(here, world);
    let (several, mut files) = (files.len() > 1, files.into_iter());
    files.next().into_iter().for_each(|file| reader.file(file));
    reader.included(world, several);
    for file in files {
        let here = directory_of(&file.path);
        reader.file(file);
        reader.ini.expand_here(&here);
    }
    let daemon = reader.daemon();
    let programs = reader.programs(&daemon);
    Config {
        files: reader.files,
        ini: reader.ini,
        daemon,
        programs,
        host_used: reader.host_used.get(),
        path_used: reader.path_used.get(),
        diagnostics: reader.diagnostics,
    }
}

pub(super) fn directory_of(path: &Path) -> String {
    path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned()
}

/// Where a setting or section stands, as an excerpt shows it: the whole line.
pub fn place(files: &[Arc<SourceFile>], spot: Spot) -> SourceLocation {
    let file = &files[spot.file];
    let mut start = 0;
    let mut rest = file.text.as_str();
    for _ in 1..spot.line {
        let end =
            rest.find(['\n', '\r']).map_or(rest.len(), |at| at + if rest[at..].starts_with("\r\n") { 2 } else { 1 });
        start += end;
        rest = &rest[end..];
    }
    let line = rest.split(['\n', '\r']).next().unwrap_or_default();
    let indent = line.len() - line.trim_start().len();
    SourceLocation::new(file, start + indent..start + line.trim_end().len().max(indent))
}

/// The absolute path, without `.`, `..` and doubled slashes: Python's `os.path.normpath`.
pub(super) fn normalized(path: &str) -> String {
    let mut normal = PathBuf::from("/");
    for part in Path::new(path).components() {
        match part {
            std::path::Component::ParentDir => {
                normal.pop();
            }
            std::path::Component::Normal(name) => normal.push(name),
            _ => {}
        }
    }
    normal.to_string_lossy().into_owned()
}
