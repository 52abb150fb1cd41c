//! `copse status --watch`: shown again when the manager says that something changed. Nobody is asked in between.

use std::io::{IsTerminal as _, Write as _, stdout};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::{Exit, Output, Shown, look, whole};
use crate::basic::scope::Scope;
use crate::cli::common::load::load;
use crate::cli::common::output::failed;
use crate::cli::common::selector::Selector;
use crate::manager::proxy::MANAGER_PATH;
use crate::manager::unit::unit_path;
use crate::manager::{Connected, Heard};

/// Changes come in bursts: what comes within this time of the first is shown with it.
const BURST: Duration = Duration::from_millis(150);

/// How often what is known already is written anew on a terminal: it says for how long.
const AGE: Duration = Duration::from_secs(5);

/// Shows what is named until it is interrupted, or nobody reads any more.
pub(super) async fn watch(names: &[String], output: &Output, scope: Scope, systemd: &Connected) -> Exit {
    follow(names, output, scope, systemd).await.unwrap_or_else(|error| failed(&error))
}

async fn follow(names: &[String], output: &Output, scope: Scope, systemd: &Connected) -> zbus::Result<Exit> {
    let changed = listen(systemd, &groups(names, scope)).await?;
    let terminal = stdout().is_terminal() && !output.json;
    loop {
        let (shown, exit) = look(names, scope, systemd).await?;
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
    names.iter().map(|name| Selector::new(name, &outcome.groups).group).collect()
}

/// Notifies when something of these groups changed, or may have while the manager was away.
async fn listen(systemd: &Connected, groups: &[String]) -> zbus::Result<Arc<Notify>> {
    let stems: Vec<String> = groups.iter().map(|group| unit_path(group)).collect();
    let own: Vec<String> = groups.iter().map(|group| unit_path(&format!("copse-ready@{group}.service"))).collect();
    let concerns = move |path: &String| {
        // `.`, `-` and `@`, as they stand in a path.
        let of = |stem: &String| {
            path.strip_prefix(stem.as_str())
                .is_some_and(|rest| ["_2e", "_2d", "_40"].iter().any(|next| rest.starts_with(next)))
        };
        path == MANAGER_PATH || own.contains(path) || stems.iter().any(of)
    };
    let changed = Arc::new(Notify::new());
    let notify = Arc::clone(&changed);
    let hear = move |heard| {
        match heard {
            Heard::Signal(path) if !concerns(&path) => {}
            _ => notify.notify_one(),
        }
        true
    };
    systemd.changes(hear).await?;
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
