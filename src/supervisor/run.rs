//! The program: its arguments, and what it needs before it can serve.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::LocalSet;

use super::front::Front;
use super::http::Server;
use super::login::Login;
use super::memory::Memory;
use super::serve::{Listener, serve};
use crate::basic::scope::Scope;
use crate::basic::time_span;
use crate::manager::connect;
use crate::manager::jobs::Jobs;
use crate::unit::name::GroupName;

const USAGE: &str = "usage: copse-supervisor [--user] [--exit-idle-time=SPAN] GROUP";

/// How long nobody has to be connected until the program exits.
const IDLE: Duration = Duration::from_secs(30);

/// What the command line says.
#[derive(Debug, PartialEq, Eq)]
struct Args {
    scope: Scope,
    idle: Duration,
    group: GroupName,
}

/// Runs the program with these arguments, without its name. Returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<String> = arguments.into_iter().map(|one| one.to_string_lossy().into_owned()).collect();
    match arguments.first().map(String::as_str) {
        Some("--help" | "-h") => {
            println!("{USAGE}\n\nAnswers the clients of supervisord for a group of copse; see copse-supervisor(8).");
            return 0;
        }
        Some("--version") => {
            println!("copse-supervisor {}", env!("CARGO_PKG_VERSION"));
            return 0;
        }
        _ => {}
    }
    let Some(args) = read(&arguments) else {
        eprintln!("{USAGE}");
        return 2;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(LocalSet::new().run_until(serve_group(args))))
    {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("cannot serve: {why}");
            1
        }
    }
}

fn read(arguments: &[String]) -> Option<Args> {
    let (mut scope, mut idle, mut group) = (Scope::System, IDLE, None);
    for argument in arguments {
        match argument.split_once('=') {
            None if argument == "--user" => scope = Scope::User,
            Some(("--exit-idle-time", span)) => idle = time_span::parse(span).ok()?.finite()?,
            None if group.is_none() => group = Some(GroupName::new(argument)?),
            _ => return None,
        }
    }
    Some(Args { scope, idle, group: group? })
}

async fn serve_group(args: Args) -> Result<(), String> {
    let listeners = Listener::all().map_err(|error| error.to_string())?;
    let systemd = connect(args.scope).await.map_err(|error| error.to_string())?;
    let jobs = Jobs::new(&systemd).await.map_err(|error| error.to_string())?;
    let directory = std::env::var_os("RUNTIME_DIRECTORY").map(PathBuf::from);
    let front = Arc::new(Front::new(args.scope, args.group, jobs, Memory::new(directory)));
    let username = front.table().await.map_err(|fault| fault.text())?.login;
    let login = username.map(|username| password().map(|password| Login::new(&username, &password))).transpose()?;
    // systemd makes these sockets only with a login: a port without one would be everybody's.
    if login.is_none() && listeners.iter().any(Listener::is_tcp) {
        return Err("a TCP socket without a user name and a password".to_owned());
    }
    let (end, ended) = watch::channel(false);
    let server = Server { front, login, ended };
    serve(listeners, server, end, args.scope, args.idle).await.map_err(|error| error.to_string())
}

/// The credential `password` (systemd.exec(5), LoadCredential=).
fn password() -> Result<String, String> {
    let directory = std::env::var_os("CREDENTIALS_DIRECTORY").ok_or("there is no credential `password`")?;
    let path = PathBuf::from(directory).join("password");
    std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_names_a_group() {
        let of = |arguments: &[&str]| read(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>());
        let group = GroupName::new("shop").unwrap();
        assert_eq!(of(&["shop"]), Some(Args { scope: Scope::System, idle: IDLE, group: group.clone() }));
        let (scope, idle) = (Scope::User, Duration::from_secs(2));
        assert_eq!(of(&["--user", "--exit-idle-time=2s", "shop"]), Some(Args { scope, idle, group }));
        for arguments in [&[][..], &["--x", "shop"], &["a", "b"], &["../x"], &["--exit-idle-time=infinity", "a"]] {
            assert_eq!(of(arguments), None, "{arguments:?}");
        }
    }
}
