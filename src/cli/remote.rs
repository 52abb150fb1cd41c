//! `--host`: the same command on another machine, by ssh(1).
//!
//! `systemctl --host` forwards D-Bus and stays here. For copse that would lie: what a group is stands in files, and the
//! files of this machine say nothing about the units of that one; nor does this copse know what the other's copse made
//! of them. A machine that has groups has a copse, so that one is asked, and it sees its own files, manager, journal
//! and polkit rules.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::Command;

use super::common::exit::Exit;
use super::common::output::complain;

/// The exit status of ssh(1) itself.
const SSH_FAILED: i32 = 255;

/// What a shell says where there is no such command.
const NOT_FOUND: i32 = 127;

/// Runs `arguments` (without the program's name) on `host`, `[USER@]HOST[:PORT]`, and exits as they do there.
pub(super) fn run(host: &str, arguments: &[OsString]) -> Exit {
    let (address, port) = match address(host) {
        Ok(parts) => parts,
        Err(why) => {
            complain(format_args!("`--host`: {why}"));
            return Exit::Usage;
        }
    };
    let Some(arguments) = without_host(arguments) else {
        complain(format_args!("write `--host` as a word of its own, with the host behind it"));
        return Exit::Usage;
    };
    let mut ssh = Command::new("ssh");
    // A terminal there where there is one here: for an editor, colours and the width. -x: nothing of X11.
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    ssh.args(["-x", if terminal { "-t" } else { "-T" }]);
    ssh.args(port.map(|port| format!("-p{port}"))).args(["--", address]).arg(command_line(&arguments));
    match ssh.status() {
        Ok(status) => match status.code() {
            // It has said why.
            Some(SSH_FAILED) | None => Exit::Failed,
            Some(NOT_FOUND) => {
                complain(format_args!("there is no copse on `{address}`, and so no group"));
                Exit::Failed
            }
            Some(code) => u8::try_from(code).map_or(Exit::Failed, Exit::Of),
        },
        Err(error) => {
            complain(format_args!("ssh can't be run: {error}"));
            Exit::Failed
        }
    }
}

/// `[USER@]HOST[:PORT]` in two: for ssh, and the port. An IPv6 address stands in brackets where a port follows.
fn address(host: &str) -> Result<(&str, Option<u16>), String> {
    if host.is_empty() || host.starts_with('-') || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(format!("`{}` can't be a host", crate::basic::diagnostic::one_line(host)));
    }
    if host.contains('/') {
        return Err("containers of the other host can't be reached, only the host itself".to_owned());
    }
    let machine = host.rsplit_once('@').map_or(host, |(_, machine)| machine);
    match host.rsplit_once(':') {
        Some((address, port))
            if !machine.ends_with(']') && machine.matches(':').count() == 1 || machine.contains("]:") =>
        {
            let port = port.parse().map_err(|_| format!("`{port}` is no port"))?;
            Ok((address, Some(port)))
        }
        _ => Ok((host, None)),
    }
}

/// The arguments less `--host HOST`, `--host=HOST`, `-H HOST` and `-HHOST`. `None` where it wasn't found.
fn without_host(arguments: &[OsString]) -> Option<Vec<OsString>> {
    let (mut kept, mut found) = (Vec::new(), false);
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let bytes = word.as_bytes();
        if word == "--" {
            kept.push(word.clone());
            kept.extend(rest.cloned());
            break;
        }
        if word == "-H" || word == "--host" {
            found |= rest.next().is_some();
        } else if bytes.starts_with(b"--host=") || bytes.starts_with(b"-H") {
            found = true;
        } else {
            kept.push(word.clone());
        }
    }
    found.then_some(kept)
}

/// The words as a line for the other side's shell, which every word reaches unchanged.
fn command_line(arguments: &[OsString]) -> OsString {
    let mut line = b"copse".to_vec();
    for argument in arguments {
        line.push(b' ');
        line.extend(quoted(argument));
    }
    OsString::from_vec(line)
}

fn quoted(word: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend(b"'\\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
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
            ("web1:ssh", Err("`ssh` is no port".to_owned())),
            ("-oProxyCommand=x", Err("`-oProxyCommand=x` can't be a host".to_owned())),
            ("", Err("`` can't be a host".to_owned())),
            ("web1/box", Err("containers of the other host can't be reached, only the host itself".to_owned())),
        ] {
            assert_eq!(address(host), expected, "{host}");
        }
    }

    #[test]
    fn the_other_side_gets_every_word_but_the_host() {
        let line = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            without_host(&words).map(|words| command_line(&words).into_string().unwrap())
        };
        let expected = Some("copse 'status' 'shop'".to_owned());
        for words in [
            &["-H", "web1", "status", "shop"][..],
            &["--host=web1", "status", "shop"],
            &["status", "shop", "--host", "web1"],
            &["status", "-Hweb1", "shop"],
        ] {
            assert_eq!(line(words), expected, "{words:?}");
        }
        assert_eq!(
            line(&["-H", "h", "logs", "it's", "$HOME", ""]),
            Some(r"copse 'logs' 'it'\''s' '$HOME' ''".to_owned())
        );
        assert_eq!(line(&["-H", "h", "status", "--", "-H"]), Some("copse 'status' '--' '-H'".to_owned()));
        assert_eq!(line(&["status", "-fH", "h"]), None);
    }
}
