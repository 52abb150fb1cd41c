//! `copse status --watch`: shown again when the manager says that something changed. Nobody is asked in between.

use std::io::{IsTerminal as _, Write as _, stdout};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::Notify;

use super::{Exit, Output, Shown, load, look, whole};
use crate::cli::failed;
use crate::cli::named::Named;
use crate::manager::proxy::MANAGER_PATH;
use crate::manager::unit::unit_path;
use crate::manager::{Connected, connect, is_passing};
use crate::scope::Scope;

/// Changes come in bursts: what comes within this time of the first is shown with it.
const BURST: Duration = Duration::from_millis(150);

/// How often what is known already is written anew on a terminal: it says for how long.
const AGE: Duration = Duration::from_secs(5);

/// The manager re-executes itself, or the machine's bus is gone for a moment.
const AWAY: Duration = Duration::from_millis(200);

/// How often a manager that is away is looked for.
const TRIES: u32 = 50;

/// Shows what is named until it is interrupted, or nobody reads any more.
pub(super) async fn watch(names: &[String], output: &Output, scope: Scope) -> Exit {
    let mut away = 0;
    loop {
        let lost = match connect(scope).await {
            Ok(systemd) => match follow(names, output, scope, &systemd, &mut away).await {
                Ok(exit) => return exit,
                Err(error) if is_passing(&error) => None,
                Err(error) => Some(error.to_string()),
            },
            Err(error) => (away >= TRIES).then(|| error.to_string()),
        };
        if let Some(error) = lost {
            return failed(&error);
        }
        away += 1;
        tokio::time::sleep(AWAY).await;
    }
}

/// As long as this connection lasts.
async fn follow(
    names: &[String],
    output: &Output,
    scope: Scope,
    systemd: &Connected,
    away: &mut u32,
) -> zbus::Result<Exit> {
    let changed = listen(systemd, &groups(names, scope)).await?;
    let terminal = stdout().is_terminal() && !output.json;
    loop {
        let (shown, exit) = look(names, scope, systemd).await?;
        *away = 0;
        if shown.is_empty() {
            return Ok(exit);
        }
        let mut first = true;
        loop {
            if (first || terminal) && write(output, scope, &shown, terminal).is_err() {
                return Ok(Exit::Done);
            }
            first = false;
            match tokio::time::timeout(AGE, changed.notified()).await {
                Ok(()) => break,
                Err(_) if terminal => {}
                // In a pipe only what changed is said.
                Err(_) => {
                    changed.notified().await;
                    break;
                }
            }
        }
        tokio::time::sleep(BURST).await;
    }
}

fn groups(names: &[String], scope: Scope) -> Vec<String> {
    let (_, outcome) = load(scope);
    names.iter().map(|name| Named::new(name, &outcome.groups).group).collect()
}

/// Notifies when something of these groups changed, or the connection is lost. A task of its own takes the signals off: a
/// full queue would hold up the answers behind it.
async fn listen(systemd: &Connected, groups: &[String]) -> zbus::Result<Arc<Notify>> {
    let mut changes = systemd.changes().await?;
    let stems: Vec<String> = groups.iter().map(|group| unit_path(group)).collect();
    let own: Vec<String> = groups.iter().map(|group| unit_path(&format!("copse-ready@{group}.service"))).collect();
    let concerns = move |path: &str| {
        // `.`, `-` and `@`, as they stand in a path.
        let of = |stem: &String| {
            path.strip_prefix(stem.as_str())
                .is_some_and(|rest| ["_2e", "_2d", "_40"].iter().any(|next| rest.starts_with(next)))
        };
        path == MANAGER_PATH || own.iter().any(|own| own == path) || stems.iter().any(of)
    };
    let changed = Arc::new(Notify::new());
    let notify = Arc::clone(&changed);
    tokio::spawn(async move {
        while let Some(path) = changes.next().await {
            if concerns(&path) {
                notify.notify_one();
            }
        }
        // The next question says why.
        notify.notify_one();
    });
    Ok(changed)
}

fn write(output: &Output, scope: Scope, shown: &[Shown], terminal: bool) -> std::io::Result<()> {
    let text = output.text(scope, shown, whole);
    let text = match (terminal, output.json) {
        // Home, and nothing of what was there below or beside the new lines.
        (true, _) => format!("\u{1b}[H\u{1b}[2J{text}"),
        (false, true) => text,
        (false, false) => text + "\n",
    };
    let mut stdout = stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
