//! The connection to the service manager, made again where it is lost.
//!
//! `systemctl daemon-reexec`, which upgrades of systemd call, ends all private connections and leaves the bus for a
//! moment; a restart of the bus ends those by the bus. The manager keeps its units and jobs over it. So whoever asks
//! waits until there is somebody again who answers, and only signals are missed: see [`Signal::Gap`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep};
use zbus::{Connection, MatchRule, Message, MessageStream};

use super::error::is_passing;
use super::proxy::{MANAGER_PATH, ManagerProxy, SERVICE};
use super::state::JobResult;
use super::transport::{Unreachable, Way, reach};
use crate::basic::scope::Scope;

/// How long to wait for a manager that went away. It runs all generators before it answers again.
const AWAY: Duration = Duration::from_secs(60);

/// How long for one that hasn't answered yet: it may be away right now, or there may be none.
const NEVER: Duration = Duration::from_secs(5);

/// Between two attempts to reach it.
const AGAIN: Duration = Duration::from_millis(50);

/// A connection to a service manager, with the calls copse makes on it.
#[derive(Debug, Clone)]
pub struct Connected {
    scope: Scope,
    way: Way,
    line: Arc<Line>,
}

/// What all clones of a connection share.
#[derive(Debug)]
struct Line {
    live: Mutex<Live>,
    /// One of those who find the connection broken makes another.
    mending: tokio::sync::Mutex<()>,
    /// The manager has answered before.
    answered: AtomicBool,
}

/// The connection of now.
#[derive(Debug, Clone)]
struct Live {
    manager: ManagerProxy<'static>,
    /// How many there were before.
    number: u64,
}

/// What the manager announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// A job is over (`JobRemoved`).
    JobRemoved { id: u32, unit: String, result: JobResult },
    /// Properties of the unit with this object path have changed (`PropertiesChanged`).
    UnitChanged(String),
    /// It has read all unit files again (`Reloading`).
    Reloaded,
    /// The connection was lost and made again: signals may have been missed.
    Gap,
}

/// Connects to the system's or the calling user's service manager.
///
/// The manager's private socket comes first: it needs no bus, which early in the boot isn't there yet, and
/// spares every message the way through the broker. It belongs to root alone (system) or to the user, so
/// everybody else takes the bus.
///
/// # Errors
/// [`Unreachable`] when neither way leads to a manager.
pub async fn connect(scope: Scope) -> Result<Connected, Unreachable> {
    let mut tried = Vec::new();
    for way in [Way::Private, Way::Bus] {
        let name = match reach(scope, way).await {
            Some(Ok(connection)) => match Live::new(&connection, 0).await {
                Ok(live) => return Ok(Connected::new(scope, way, live)),
                Err(error) => Some((format!("{way:?}"), error)),
            },
            Some(Err(why)) => Some(why),
            None => None,
        };
        tried.extend(name);
    }
    Err(Unreachable::new(scope, tried))
}

impl Live {
    async fn new(connection: &Connection, number: u64) -> zbus::Result<Self> {
        Ok(Self { manager: ManagerProxy::new(connection).await?, number })
    }
}

impl Connected {
    fn new(scope: Scope, way: Way, live: Live) -> Self {
        let line =
            Line { live: Mutex::new(live), mending: tokio::sync::Mutex::default(), answered: AtomicBool::new(false) };
        Self { scope, way, line: Arc::new(line) }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        // Nothing that holds it can panic.
        self.line.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it was reached.
    pub fn way(&self) -> Way {
        self.way
    }

    /// The `org.freedesktop.systemd1.Manager` interface, for what must not be asked twice: where the manager goes away
    /// before it answers, that is an error ([`is_passing`]), and nobody knows whether it was done.
    pub fn manager(&self) -> ManagerProxy<'static> {
        self.live().manager.clone()
    }

    /// Asks the manager something that may be asked twice, until there is an answer: one that is away for a moment is
    /// waited for.
    ///
    /// # Errors
    /// What the manager refuses; that it went away and didn't come back.
    pub async fn ask<T, F>(&self, question: impl Fn(ManagerProxy<'static>) -> F) -> zbus::Result<T>
    where
        F: Future<Output = zbus::Result<T>>,
    {
        let mut lost: Option<Instant> = None;
        loop {
            let live = self.live().clone();
            let error = match question(live.manager).await {
                Err(error) if is_passing(&error) => error,
                answer => {
                    self.line.answered.store(true, Ordering::Relaxed);
                    return answer;
                }
            };
            let answered = self.line.answered.load(Ordering::Relaxed);
            let patience = if answered { AWAY } else { NEVER };
            match lost.get_or_insert_with(Instant::now).elapsed() < patience {
                true => self.mend(live.number, &error).await,
                false if answered => return Err(gone(&error)),
                false => return Err(error),
            }
        }
    }

    /// Tries to make the connection of that number anew, which ended with `error`; takes a moment.
    async fn mend(&self, number: u64, error: &zbus::Error) {
        let alone = self.line.mending.lock().await;
        if self.live().number != number {
            return;
        }
        // Otherwise the bus is there, and the manager isn't on it.
        if matches!(error, zbus::Error::InputOutput(_))
            && let Some(Ok(connection)) = reach(self.scope, self.way).await
            && let Ok(live) = Live::new(&connection, number + 1).await
        {
            *self.live() = live;
        }
        drop(alone);
        // Also then: its socket takes connections while it is on its way out.
        sleep(AGAIN).await;
    }

    /// Calls `hear` with each signal from now on, until it returns `false`. A task of its own takes them off the connection:
    /// a full queue would hold up the answers behind it. Needs a running tokio runtime.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn signals(&self, mut hear: impl FnMut(Signal) -> bool + Send + 'static) -> zbus::Result<()> {
        // Without a sender, as the proxy would add it: a private connection has no bus names.
        let rule = MatchRule::builder().msg_type(zbus::message::Type::Signal).path_namespace(MANAGER_PATH).build()?;
        let mut signals = self.ask(|manager| subscribe(manager, rule.clone(), self.way)).await?;
        let systemd = self.clone();
        tokio::spawn(async move {
            loop {
                while let Some(Ok(message)) = signals.next().await {
                    if Signal::read(&message).is_some_and(|signal| !hear(signal)) {
                        return;
                    }
                }
                match systemd.ask(|manager| subscribe(manager, rule.clone(), systemd.way)).await {
                    Ok(again) => signals = again,
                    // The next call reports it.
                    Err(_) => {
                        hear(Signal::Gap);
                        return;
                    }
                }
                if !hear(Signal::Gap) {
                    return;
                }
            }
        });
        Ok(())
    }
}

impl Signal {
    fn read(message: &Message) -> Option<Self> {
        let header = message.header();
        match header.member()?.as_str() {
            "JobRemoved" => {
                let (id, _, unit, result): (u32, zbus::OwnedObjectPath, String, String) =
                    message.body().deserialize().ok()?;
                Some(Self::JobRemoved { id, unit, result: JobResult::from(&*result) })
            }
            "PropertiesChanged" => Some(Self::UnitChanged(header.path()?.to_string())),
            // It is sent before and after: `true` if it begins.
            "Reloading" => message.body().deserialize().is_ok_and(|begins: bool| !begins).then_some(Self::Reloaded),
            _ => None,
        }
    }
}

/// Asks for signals on the connection of `manager`. The stream comes last and has to be read at once: while it is full, no
/// answer arrives.
async fn subscribe(manager: ManagerProxy<'static>, rule: MatchRule<'static>, way: Way) -> zbus::Result<MessageStream> {
    let connection = manager.inner().connection();
    match way {
        // The manager always sends its signals to private connections: the call only shows that it is there.
        Way::Private => {
            let peer = Some("org.freedesktop.DBus.Peer");
            connection.call_method(Some(SERVICE), MANAGER_PATH, peer, "Ping", &()).await?;
        }
        Way::Bus => match manager.subscribe().await {
            Err(zbus::Error::MethodError(name, ..))
                if name.as_str() == "org.freedesktop.systemd1.AlreadySubscribed" => {}
            done => done?,
        },
    }
    MessageStream::for_match_rule(rule, connection, None).await
}

/// That the manager didn't come back.
fn gone(error: &zbus::Error) -> zbus::Error {
    let limit = crate::basic::time_span::format(AWAY);
    zbus::Error::Failure(format!("the service manager went away, and wasn't back after {limit}: {error}"))
}
