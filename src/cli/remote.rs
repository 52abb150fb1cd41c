//! `--host`: the same command on another machine, by ssh(1).
//!
//! `systemctl --host` forwards D-Bus and stays here. That would give wrong answers for groups: they are files, and the
//! files of this machine say nothing about the units of another. So the other machine's own copse runs the command, with
//! its own files, service manager, journal and polkit rules.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::Command;

use super::common::error::Error;
use super::common::exit::Exit;

/// The exit status of ssh(1) if ssh itself failed.
const SSH_FAILED: i32 = 255;

/// The exit status of a shell if there is no such command.
const COMMAND_NOT_FOUND: i32 = 127;

/// Runs `args` (without the program's name) on `host`, `[USER@]HOST[:PORT]`, and exits as they do there.
///
/// # Errors
/// `host` is not valid, or copse cannot be run there.
pub(super) fn run(host: &str, args: &[OsString]) -> Result<Exit, Error> {
    let (address, port) = address(host).map_err(|error| match host.contains(',') {
        true => Error::usage(error).help(format!(
            "run `clush -w {host} copse …` to look at several hosts; to change them, use the Ansible collection \
             copse.systemd, copse-fleet(7)"
        )),
        false => Error::usage(error),
    })?;
    let Some(args) = without_host(args) else {
        return Err(
            Error::usage("cannot find `--host` among the arguments").help("write `--host HOST` as two arguments")
        );
    };
    let mut ssh = Command::new("ssh");
    // A terminal there if there is one here: for an editor, colors and the width. -x: no X11 forwarding.
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    ssh.args(["-x", if terminal { "-t" } else { "-T" }]);
    ssh.args(port.map(|port| format!("-p{port}"))).args(["--", address]).arg(command_line(&args));
    let status = ssh.status().map_err(|error| Error::cannot("run ssh", error))?;
    match status.code() {
        // ssh has printed the reason.
        Some(SSH_FAILED) | None => Ok(Exit::Failed),
        Some(COMMAND_NOT_FOUND) => {
            Err(Error::failed(format_args!("cannot run copse on `{address}`: command not found")))
        }
        Some(code) => Ok(u8::try_from(code).map_or(Exit::Failed, Exit::Status)),
    }
}

/// Splits `[USER@]HOST[:PORT]` into ssh's destination and the port. An IPv6 address with a port is in brackets.
fn address(host: &str) -> Result<(&str, Option<u16>), String> {
    let invalid = |why: &str| Err(format!("invalid host `{host}`: {why}"));
    if host.is_empty() || host.starts_with('-') || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return invalid("not a host name");
    }
    if host.contains(',') {
        return invalid("it takes one host");
    }
    if host.contains('/') {
        return invalid("containers on another host are not supported");
    }
    let machine = host.rsplit_once('@').map_or(host, |(_, machine)| machine);
    match host.rsplit_once(':') {
        Some((address, port))
            if !machine.ends_with(']') && machine.matches(':').count() == 1 || machine.contains("]:") =>
        {
            port.parse().map_or_else(|_| invalid("the port is not a number"), |port| Ok((address, Some(port))))
        }
        _ => Ok((host, None)),
    }
}

/// The arguments without `--host HOST`, `--host=HOST`, `-H HOST` and `-HHOST`; `None` if none of these was found.
fn without_host(args: &[OsString]) -> Option<Vec<OsString>> {
    let (mut kept, mut found) = (Vec::new(), false);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let bytes = arg.as_bytes();
        if arg == "--" {
            kept.push(arg.clone());
            kept.extend(rest.cloned());
            break;
        }
        if arg == "-H" || arg == "--host" {
            found |= rest.next().is_some();
        } else if bytes.starts_with(b"--host=") || bytes.starts_with(b"-H") {
            found = true;
        } else {
            kept.push(arg.clone());
        }
    }
    found.then_some(kept)
}

/// The command line for the other side's shell, with each argument quoted.
fn command_line(args: &[OsString]) -> OsString {
    let mut line = b"copse".to_vec();
    for arg in args {
        line.push(b' ');
        line.extend(quoted(arg));
    }
    OsString::from_vec(line)
}

fn quoted(arg: &OsStr) -> Vec<u8> {
    let inner = arg.as_bytes().split(|byte| *byte == b'\'').collect::<Vec<_>>().join(&b"'\\''"[..]);
    [b"'", &inner[..], b"'"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (host, expected) in [
            ("web1", Ok(("web1", None))),
            ("root@web1", Ok(("root@web1", None))),
            ("root@web1:2222", Ok(("root@web1", Some(2222)))),
            ("root@[2001:db8::1]:2222", Ok(("root@[2001:db8::1]", Some(2222)))),
            ("2001:db8::1", Ok(("2001:db8::1", None))),
            ("web1:ssh", Err("invalid host `web1:ssh`: the port is not a number".to_owned())),
            ("-oProxyCommand=x", Err("invalid host `-oProxyCommand=x`: not a host name".to_owned())),
            ("", Err("invalid host ``: not a host name".to_owned())),
            ("web1,web2", Err("invalid host `web1,web2`: it takes one host".to_owned())),
            ("web1/box", Err("invalid host `web1/box`: containers on another host are not supported".to_owned())),
        ] {
            assert_eq!(address(host), expected, "{host}");
        }
    }

    #[test]
    fn the_other_side_gets_every_word_but_the_host() {
        let line = |args: &[&str]| {
            let args: Vec<OsString> = args.iter().map(OsString::from).collect();
            without_host(&args).map(|args| command_line(&args).into_string().unwrap())
        };
        let expected = Some("copse 'status' 'shop'".to_owned());
        for args in [
            &["-H", "web1", "status", "shop"][..],
            &["--host=web1", "status", "shop"],
            &["status", "shop", "--host", "web1"],
            &["status", "-Hweb1", "shop"],
        ] {
            assert_eq!(line(args), expected, "{args:?}");
        }
        assert_eq!(
            line(&["-H", "h", "logs", "it's", "$HOME", ""]),
            Some(r"copse 'logs' 'it'\''s' '$HOME' ''".to_owned())
        );
        assert_eq!(line(&["-H", "h", "status", "--", "-H"]), Some("copse 'status' '--' '-H'".to_owned()));
        assert_eq!(line(&["status", "-fH", "h"]), None);
    }
}
