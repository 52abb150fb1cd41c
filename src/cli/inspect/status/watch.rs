//! `copse status --watch`: shown again when the service manager signals a change, without polling.

use std::io::{IsTerminal as _, Write as _, stdout};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::output::{Output, whole};
use super::read::collect;
use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups::load;
use crate::cli::common::selector::Selector;
use crate::manager::proxy::MANAGER_PATH;
use crate::manager::unit::unit_path;
use crate::manager::{Connected, Signal};
use crate::status::Status;

/// Changes come in bursts: those within this time of the first are shown together.
const BURST: Duration = Duration::from_millis(150);

/// How often the status is redrawn on a terminal without a change, because of the times in it.
const REDRAW: Duration = Duration::from_secs(5);

/// Shows the status until the command is interrupted, or its stdout is closed.
pub(super) async fn watch(names: &[String], output: Output, scope: Scope, systemd: &Connected) -> Result<Exit, Error> {
    let changed = listen(systemd, &groups(names, scope)).await?;
    let redraws = stdout().is_terminal() && !output.json.json;
    loop {
        let (shown, exit) = collect(names, scope, systemd).await?;
        if shown.is_empty() {
            return Ok(exit);
        }
        loop {
            if write(output, scope, &shown, redraws).is_err() {
                return Ok(Exit::Done);
            }
            let timeout = if redraws { REDRAW } else { Duration::MAX };
            if tokio::time::timeout(timeout, changed.notified()).await.is_ok() {
                break;
            }
        }
        tokio::time::sleep(BURST).await;
    }
}

fn groups(names: &[String], scope: Scope) -> Vec<String> {
    let (_, outcome) = load(scope);
    names.iter().map(|name| Selector::new(name, &outcome.groups).group).collect()
}

/// Notifies when a unit of these groups changed, or may have while the manager was unreachable.
async fn listen(systemd: &Connected, groups: &[String]) -> zbus::Result<Arc<Notify>> {
    let stems: Vec<String> = groups.iter().map(|group| unit_path(group)).collect();
    let gates: Vec<String> = groups.iter().map(|group| unit_path(&format!("copse-ready@{group}.service"))).collect();
    let is_of_group = move |path: &String| {
        // `.`, `-` and `@`, as they are escaped in a path.
        let begins_with = |stem: &String| {
            path.strip_prefix(stem.as_str())
                .is_some_and(|rest| ["_2e", "_2d", "_40"].iter().any(|next| rest.starts_with(next)))
        };
        path == MANAGER_PATH || gates.contains(path) || stems.iter().any(begins_with)
    };
    let changed = Arc::new(Notify::new());
    let notify = Arc::clone(&changed);
    let hear = move |signal| {
        let concerned = match &signal {
            Signal::UnitChanged(path) => is_of_group(path),
            Signal::Reloaded | Signal::Gap => true,
            Signal::JobRemoved { .. } => false,
        };
        if concerned {
            notify.notify_one();
        }
        true
    };
    systemd.signals(hear).await?;
    Ok(changed)
}

fn write(output: Output, scope: Scope, shown: &[Status], redraws: bool) -> std::io::Result<()> {
    let text = output.text(scope, shown, whole);
    let text = match (redraws, output.json.json) {
        // Cursor home, and clear the screen.
        (true, _) => format!("\u{1b}[H\u{1b}[2J{text}"),
        (false, true) => text,
        (false, false) => text + "\n",
    };
    let mut stdout = stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
