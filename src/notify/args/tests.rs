use super::*;
use crate::notify::failure::Status;

fn read(line: &str) -> Result<Invocation, Failure> {
    parse(line.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect())
}

fn probes(line: &str) -> Vec<String> {
    match read(&format!("wait {line}")).unwrap() {
        Invocation::Wait(wait) => wait.probes.iter().map(ToString::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn probes_in_all_forms() {
    for (line, names) in [
        ("--tcp localhost:80", vec!["tcp localhost:80"]),
        ("--tcp=[::1]:80", vec!["tcp [::1]:80"]),
        ("--unix /run/x --unix @y", vec!["unix /run/x", "unix @y"]),
        ("--http http://h/ --status 204 --header A:b --file x", vec!["http http://h/", "file x"]),
        ("--file x --non-empty --file y", vec!["file x (not empty)", "file y"]),
        ("--command 3 a -- --tcp --listening 80", vec!["command a -- --tcp", "a listener on port 80"]),
    ] {
        assert_eq!(probes(line), names, "{line}");
    }
}

#[test]
fn the_command_is_everything_after_the_dashes() {
    let Ok(Invocation::ChainLoad(chain)) = read("--tcp h:1 --interval 1s -- wait -- --x") else {
        panic!();
    };
    assert_eq!(chain.command, ["wait", "--", "--x"]);
    assert_eq!(chain.pace.interval, Duration::from_secs(1));
    assert!(chain.health.is_none() && !chain.pass_notify);
}

#[test]
fn probes_after_health_are_those_of_health() {
    let Ok(Invocation::ChainLoad(chain)) =
        read("--tcp h:1 --health --http http://h --status 200 --file x --failures 2 --health-interval 5s -- c")
    else {
        panic!();
    };
    let health = chain.health.unwrap();
    assert_eq!((chain.probes.len(), health.probes.len(), health.failures), (1, 2, 2));
    assert_eq!(health.interval, Some(Duration::from_secs(5)));
}

#[test]
fn main_ready_passes_the_socket_on() {
    let Ok(Invocation::ChainLoad(chain)) = read("--main-ready --health --tcp h:1 -- c") else {
        panic!();
    };
    assert!(chain.main_ready && chain.pass_notify && chain.probes.is_empty());
}

/// Every mistake, and how it is answered.
#[test]
fn mistakes_are_named() {
    for (line, message) in [
        ("", "nothing to do"),
        ("run x", "`run` isn't an option"),
        ("--tcp h:1", "there is no command"),
        ("--tcp h:1 --", "there is no command"),
        ("--tpc h:1 -- c", "there is no option `--tpc` here"),
        ("wait", "`wait` needs a probe, like `--tcp HOST:PORT`"),
        ("wait --tcp", "`--tcp` needs a value"),
        ("wait --tcp ::1:80", "`::1:80` isn't of the form `HOST:PORT`"),
        ("wait --fd 3", "`--fd` needs the form with a command after `--`"),
        ("wait --tcp h:1 -- c", "`wait` runs no command"),
        ("wait --file x --strict=yes", "`--strict` takes no value, but got `yes`"),
        ("wait --strict=yes", "`--strict` takes no value, but got `yes`"),
        ("wait --unix @", "`--unix` needs a path or `@NAME`"),
        ("wait --file x --status 200", "`--status` has to follow an `--http`"),
        ("wait --header x", "`--header` has to follow an `--http`"),
        ("wait --tcp h:1 --non-empty", "`--non-empty` has to follow a `--file`"),
        ("wait --http http://h --status 2xx", "`2xx` isn't a status or a range like `200-399`"),
        (
            "wait --http https://h",
            "`https://h` needs TLS, which isn't spoken here; ask the plain port, or use a command",
        ),
        ("wait --command x", "`--command` needs the number of words that follow, not `x`"),
        ("wait --command 0", "`--command` needs at least one word"),
        ("wait --command 3 a b", "`--command 3` is followed by only 2 words"),
        ("wait --listening 0", "`--listening` needs a port, not `0`"),
        ("wait --listening 65536", "`--listening` needs a port, not `65536`"),
        ("wait --file x --pid 0", "`--pid` needs a PID or `none`, not `0`"),
        ("wait --file x --pid -1", "`--pid` needs a PID or `none`, not `-1`"),
        (
            "wait --file x --timeout soon",
            "`--timeout`: `soon` isn't a time span; write it like `30s`, `1min 30s` or `500ms`",
        ),
        ("wait --file x --interval infinity", "`--interval`: `infinity` isn't possible here"),
        ("--fd 2 -- c", "`--fd` can't be one of the standard descriptors"),
        ("--fd 5 --fd 6 -- c", "`--fd` can be given once"),
        ("--health -- c", "`--health` has to be followed by a probe"),
        ("--health --fd 5 -- c", "`--fd` says once that a program is ready, never that it is healthy"),
        ("--health --file x --failures 0 -- c", "`--failures` can't be 0"),
        ("--health --file x --health-interval 0 -- c", "`--health-interval` can't be 0"),
        ("--main-ready --file x -- c", "`--main-ready` leaves readiness to the command, so no probe can decide it"),
        ("once -- c", "`once` needs a `--stamp FILE`"),
        ("once --stamp x", "there is no command"),
        ("once --stamp x --inputs y -- c", "there is no option `--inputs` here"),
        ("send", "nothing to send"),
        ("send --strict", "nothing to send"),
        ("send --ready -- c", "`send` runs no command"),
        ("send --mainpid 0", "`--mainpid` needs a PID, not `0`"),
        ("send --fdstore a:b 3", "`a:b` can't name a descriptor"),
        ("send --fdstore a x", "`--fdstore` needs a descriptor's number after the name, not `x`"),
    ] {
        let failure = read(line).expect_err(line);
        assert_eq!((failure.status, failure.message.as_str()), (Status::USAGE, message), "{line}");
    }
}

#[test]
fn help_and_version_win_over_what_is_missing() {
    for line in ["--help", "-h", "wait --help", "once --help", "send --help", "--tcp h:1 --help"] {
        assert!(matches!(read(line), Ok(Invocation::Help)), "{line}");
    }
    assert!(matches!(read("--version"), Ok(Invocation::Version)));
    assert!(matches!(read("-V"), Ok(Invocation::Version)));
}
