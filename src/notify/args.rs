//! The command line, from words to what is meant.
//!
//! By hand: values come from generated units as words of their own, are
//! never split again, and may look like anything (a `--command` names how
//! many words follow).

mod lexer;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Pid;

use super::chain_load::ChainLoad;
use super::failure::Failure;
use super::health::Health;
use super::once::Once;
use super::poll::Pace;
use super::probe::http::{Request, host_and_port};
use super::probe::{Newline, Probe, UnixAddress};
use super::send::{Send, is_fd_name};
use super::wait::{Process, Wait};

use self::lexer::{Word, Words};

/// What the command line asks for.
#[derive(Debug)]
pub enum Invocation {
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// `[PROBE…] [OPTIONS] -- COMMAND`.
    ChainLoad(ChainLoad),
    /// `wait`.
    Wait(Wait),
    /// `once`.
    Once(Once),
    /// `send`.
    Send(Send),
}

/// Reads the words after the program's name.
///
/// # Errors
/// [`Status::USAGE`](super::failure::Status::USAGE), with what is wrong.
pub fn parse(words: Vec<OsString>) -> Result<Invocation, Failure> {
    let words = Words::new(words);
    let verb = words.peek().and_then(OsStr::to_str).map(str::to_owned);
    match verb.as_deref() {
        None => Err(Failure::usage("nothing to do").help("see `copse-notify --help`")),
        Some("wait") => parse_wait(words.skip_verb()),
        Some("once") => parse_once(words.skip_verb()),
        Some("send") => parse_send(words.skip_verb()),
        Some(_) => parse_chain_load(words),
    }
}

fn unknown(option: &str) -> Failure {
    Failure::usage(format!("there is no option `--{option}` here")).help("see `copse-notify --help`")
}

/// Reads an option that is, or belongs to, a probe; `false` if it is neither.
fn probe_option(option: &str, words: &mut Words, probes: &mut Vec<Probe>) -> Result<bool, Failure> {
    match option {
        "tcp" => probes.push(tcp(words)?),
        "unix" => probes.push(Probe::Unix(unix(words)?)),
        "http" => {
            let request = Request::parse(&words.text(option)?).map_err(Failure::usage)?;
            probes.push(Probe::Http(request));
        }
        "status" | "header" => {
            let value = words.text(option)?;
            let Some(Probe::Http(request)) = probes.last_mut() else {
                return Err(Failure::usage(format!("`--{option}` has to follow an `--http`")));
            };
            match option {
                "status" => request.statuses(&value),
                _ => request.header(&value),
            }
            .map_err(Failure::usage)?;
        }
        "file" => probes.push(Probe::File { path: path(words, option)?, non_empty: false }),
        "non-empty" => match probes.last_mut() {
            Some(Probe::File { non_empty, .. }) => *non_empty = true,
            _ => return Err(Failure::usage("`--non-empty` has to follow a `--file`")),
        },
        "fd" => {
            let number: u16 = words.number(option, "a descriptor's number")?;
            if number < 3 {
                return Err(Failure::usage("`--fd` can't be one of the standard descriptors"));
            }
            if probes.iter().any(|probe| matches!(probe, Probe::Descriptor(_))) {
                return Err(Failure::usage("`--fd` can be given once"));
            }
            probes.push(Probe::Descriptor(Newline { number: number.into(), reader: None, seen: false }));
        }
        "command" => probes.push(Probe::Command(words.counted(option)?)),
        "listening" => {
            let port: u16 = words.number(option, "a port")?;
            if port == 0 {
                return Err(Failure::usage("`--listening` needs a port, not `0`"));
            }
            probes.push(Probe::Listening { port, service: None });
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn tcp(words: &mut Words) -> Result<Probe, Failure> {
    let text = words.text("tcp")?;
    let (host, port) = host_and_port(&text, None).ok_or_else(|| {
        Failure::usage(format!("`{text}` isn't of the form `HOST:PORT`"))
            .help("an IPv6 address goes in brackets: `[::1]:80`")
    })?;
    Ok(Probe::Tcp { host, port })
}

fn unix(words: &mut Words) -> Result<UnixAddress, Failure> {
    let value = words.value("unix")?;
    match value.as_bytes() {
        [] | [b'@'] => Err(Failure::usage("`--unix` needs a path or `@NAME`")),
        [b'@', name @ ..] if name.len() > 107 => Err(too_long(&value)),
        [b'@', name @ ..] => Ok(UnixAddress::Abstract(name.to_vec())),
        path if path.len() > 107 => Err(too_long(&value)),
        _ => Ok(UnixAddress::Path(value.into())),
    }
}

fn too_long(value: &OsStr) -> Failure {
    Failure::usage(format!("`{}` is longer than the 107 bytes of a socket's address", value.to_string_lossy()))
}

fn path(words: &mut Words, option: &str) -> Result<PathBuf, Failure> {
    let value = words.value(option)?;
    if value.is_empty() {
        return Err(Failure::usage(format!("`--{option}` needs a path")));
    }
    Ok(value.into())
}

/// Reads an option of probing; `false` if it is none.
fn pace_option(option: &str, words: &mut Words, pace: &mut Pace) -> Result<bool, Failure> {
    match option {
        "interval" => pace.interval = words.finite_span(option)?,
        "probe-timeout" => pace.attempt = words.finite_span(option)?,
        "timeout" => pace.timeout = words.span(option)?.finite(),
        _ => return Ok(false),
    }
    Ok(true)
}

fn parse_chain_load(mut words: Words) -> Result<Invocation, Failure> {
    let mut ready = Vec::new();
    let mut healthy = Vec::new();
    let mut health = false;
    let mut failures = 3;
    let mut interval = None;
    let mut pace = Pace::default();
    let (mut pass_notify, mut main_ready, mut strict) = (false, false, false);
    let mut last = String::new();
    loop {
        let option = match words.next(&last)? {
            Some(Word::Option(option)) => option,
            Some(Word::Command(command)) if !command.is_empty() => {
                check_health(&ready, &healthy, health, main_ready)?;
                return Ok(Invocation::ChainLoad(ChainLoad {
                    probes: ready,
                    health: health.then_some(Health { probes: healthy, failures, interval, attempt: pace.attempt }),
                    pace,
                    pass_notify: pass_notify || main_ready,
                    main_ready,
                    strict,
                    command,
                }));
            }
            _ => return Err(Failure::usage("there is no command").help("it goes after `--`")),
        };
        let probes = if health { &mut healthy } else { &mut ready };
        match option.as_str() {
            "help" => return Ok(Invocation::Help),
            "version" => return Ok(Invocation::Version),
            "health" => health = true,
            "failures" => failures = words.number::<u32>(&option, "a number from 1 on")?,
            "health-interval" => interval = Some(words.finite_span(&option)?),
            "pass-notify" => pass_notify = true,
            "main-ready" => main_ready = true,
            "strict" => strict = true,
            name => {
                if !probe_option(name, &mut words, probes)? && !pace_option(name, &mut words, &mut pace)? {
                    return Err(unknown(name));
                }
            }
        }
        if failures == 0 || interval == Some(Duration::ZERO) {
            return Err(Failure::usage(format!("`--{option}` can't be 0")));
        }
        last = option;
    }
}

fn check_health(ready: &[Probe], healthy: &[Probe], health: bool, main_ready: bool) -> Result<(), Failure> {
    if health && healthy.is_empty() {
        return Err(Failure::usage("`--health` has to be followed by a probe"));
    }
    if healthy.iter().any(|probe| matches!(probe, Probe::Descriptor(_))) {
        return Err(Failure::usage("`--fd` says once that a program is ready, never that it is healthy"));
    }
    if main_ready && !ready.is_empty() {
        return Err(Failure::usage("`--main-ready` leaves readiness to the command, so no probe can decide it")
            .help("probes of health go after `--health`"));
    }
    Ok(())
}

fn parse_wait(mut words: Words) -> Result<Invocation, Failure> {
    let mut wait = Wait { probes: Vec::new(), process: Process::Main, pace: Pace::default(), strict: false };
    let mut last = String::new();
    while let Some(word) = words.next(&last)? {
        let Word::Option(option) = word else {
            return Err(Failure::usage("`wait` runs no command").help("without `wait`, the command after `--` is"));
        };
        match option.as_str() {
            "help" => return Ok(Invocation::Help),
            "strict" => wait.strict = true,
            "pid" => wait.process = process(&mut words)?,
            "fd" => {
                return Err(Failure::usage("`--fd` needs the form with a command after `--`"));
            }
            name => {
                if !probe_option(name, &mut words, &mut wait.probes)? && !pace_option(name, &mut words, &mut wait.pace)?
                {
                    return Err(unknown(name));
                }
            }
        }
        last = option;
    }
    if wait.probes.is_empty() {
        return Err(Failure::usage("`wait` needs a probe, like `--tcp HOST:PORT`"));
    }
    Ok(Invocation::Wait(wait))
}

fn process(words: &mut Words) -> Result<Process, Failure> {
    if words.next_value() == Some(OsStr::new("none")) {
        words.value("pid")?;
        return Ok(Process::Nobody);
    }
    let pid: i32 = words.number("pid", "a PID or `none`")?;
    Pid::from_raw(pid).map(Process::Pid).ok_or_else(|| Failure::usage("`--pid` needs a PID or `none`, not `0`"))
}

fn parse_once(mut words: Words) -> Result<Invocation, Failure> {
    let mut once = Once::default();
    let mut last = String::new();
    loop {
        let option = match words.next(&last)? {
            Some(Word::Option(option)) => option,
            Some(Word::Command(command)) if !command.is_empty() => {
                if once.stamp.as_os_str().is_empty() {
                    return Err(Failure::usage("`once` needs a `--stamp FILE`"));
                }
                once.command = command;
                return Ok(Invocation::Once(once));
            }
            _ => return Err(Failure::usage("there is no command").help("it goes after `--`")),
        };
        match option.as_str() {
            "help" => return Ok(Invocation::Help),
            "stamp" => once.stamp = path(&mut words, &option)?,
            "input" => once.inputs.push(path(&mut words, &option)?.into()),
            "definition" => once.definitions.push(words.value(&option)?),
            "again" | "force" => once.again = true,
            name => return Err(unknown(name)),
        }
        last = option;
    }
}

fn parse_send(mut words: Words) -> Result<Invocation, Failure> {
    let mut send = Send::default();
    let mut last = String::new();
    while let Some(word) = words.next(&last)? {
        let Word::Option(option) = word else {
            return Err(Failure::usage("`send` runs no command"));
        };
        match option.as_str() {
            "help" => return Ok(Invocation::Help),
            "ready" => send.ready = true,
            "reloading" => send.reloading = true,
            "stopping" => send.stopping = true,
            "watchdog" => send.watchdog = true,
            "no-barrier" => send.no_barrier = true,
            "strict" => send.strict = true,
            "status" => send.status = Some(words.value(&option)?.to_string_lossy().into_owned()),
            "mainpid" => {
                let pid: i32 = words.number(&option, "a PID")?;
                let pid = u32::try_from(pid).ok().filter(|pid| *pid > 0);
                send.main_pid = Some(pid.ok_or_else(|| Failure::usage("`--mainpid` needs a PID, not `0`"))?);
            }
            "extend-timeout" => send.extend_timeout = Some(words.finite_span(&option)?),
            "watchdog-usec" => send.watchdog_usec = Some(words.finite_span(&option)?),
            "fdstore" => {
                let name = fd_name(&mut words, &option)?;
                let fd: u16 = words.number(&option, "a descriptor's number after the name")?;
                send.fd_store.push((name, fd.into()));
            }
            "fdstore-remove" => send.fd_store_remove.push(fd_name(&mut words, &option)?),
            name => return Err(unknown(name)),
        }
        last = option;
    }
    let options = Send { no_barrier: send.no_barrier, strict: send.strict, ..Send::default() };
    if send == options {
        return Err(Failure::usage("nothing to send").help("see `copse-notify --help`"));
    }
    Ok(Invocation::Send(send))
}

fn fd_name(words: &mut Words, option: &str) -> Result<String, Failure> {
    let name = words.text(option)?;
    if is_fd_name(&name) {
        return Ok(name);
    }
    Err(Failure::usage(format!("`{}` can't name a descriptor", name.escape_debug()))
        .help("up to 255 ASCII characters, no control character and no colon"))
}
