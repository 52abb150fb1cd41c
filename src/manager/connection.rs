//! The connection to the service manager, made again if it is lost.
//!
//! `systemctl daemon-reexec`, which upgrades of systemd call, ends all private connections and leaves the bus for a moment; a
//! restart of the bus ends the connections by the bus. The manager keeps its units and jobs over it. So calls wait until the
//! manager answers again, and only signals are missed: see [`Signal::Gap`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep};
use zbus::{Connection, MatchRule, Message, MessageStream};

use super::error::is_passing;
use super::proxy::{MANAGER_PATH, ManagerProxy, SERVICE};
use super::state::JobResult;
use super::transport::{Transport, Unreachable, reach};
use crate::basic::scope::Scope;

/// How long to wait for a manager that went away: it runs all generators before it answers again.
const AWAY: Duration = Duration::from_secs(60);

/// How long to wait for one that has not answered yet: it may be away, or there may be none.
const NEVER: Duration = Duration::from_secs(5);

/// Between two attempts to reach it.
const AGAIN: Duration = Duration::from_millis(50);

/// A connection to a service manager, with the calls copse makes on it.
#[derive(Debug, Clone)]
pub struct Connected {
    scope: Scope,
    transport: Transport,
    shared: Arc<Shared>,
}

/// What all clones of a connection share.
#[derive(Debug)]
struct Shared {
    live: Mutex<Live>,
    /// Held while the connection is made again.
    mending: tokio::sync::Mutex<()>,
    /// The manager has answered before.
    answered: AtomicBool,
}

/// The present connection.
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
/// The private socket comes first: it needs no bus, which does not exist early in the boot, and no message passes through a
/// broker. It belongs to root (system) or to the user; others use the bus.
///
/// # Errors
/// [`Unreachable`] if neither leads to a manager.
pub async fn connect(scope: Scope) -> Result<Connected, Unreachable> {
    let mut tried = Vec::new();
    for transport in [Transport::Private, Transport::Bus] {
        let name = match reach(scope, transport).await {
            Some(Ok(connection)) => match Live::new(&connection, 0).await {
                Ok(live) => return Ok(Connected::new(scope, transport, live)),
                Err(error) => Some((format!("{transport:?}"), error)),
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
    fn new(scope: Scope, transport: Transport, live: Live) -> Self {
        let shared =
            Shared { live: Mutex::new(live), mending: tokio::sync::Mutex::default(), answered: AtomicBool::new(false) };
        Self { scope, transport, shared: Arc::new(shared) }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        // Nothing that holds it can panic.
        self.shared.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The `org.freedesktop.systemd1.Manager` interface, for calls that must not be repeated. If the manager goes away before
    /// it answers, that is an error ([`is_passing`]), and it is not known whether it did what it was asked.
    pub fn manager(&self) -> ManagerProxy<'static> {
        self.live().manager.clone()
    }

    /// Makes a call that may be repeated, until there is an answer: waits for a manager that is away for a moment.
    ///
    /// # Errors
    /// What the manager refuses; that it went away and is not back after [`AWAY`].
    pub async fn ask<T, F>(&self, call: impl Fn(ManagerProxy<'static>) -> F) -> zbus::Result<T>
    where
        F: Future<Output = zbus::Result<T>>,
    {
        let mut lost: Option<Instant> = None;
        loop {
            let live = self.live().clone();
            let error = match call(live.manager).await {
                Err(error) if is_passing(&error) => error,
                answer => {
                    self.shared.answered.store(true, Ordering::Relaxed);
                    return answer;
                }
            };
            let answered = self.shared.answered.load(Ordering::Relaxed);
            let patience = if answered { AWAY } else { NEVER };
            match lost.get_or_insert_with(Instant::now).elapsed() < patience {
                true => self.mend(live.number, &error).await,
                false if answered => return Err(gone(&error)),
                false => return Err(error),
            }
        }
    }

    /// Tries to make the connection of that number again, which ended with `error`; takes a moment.
    async fn mend(&self, number: u64, error: &zbus::Error) {
        let alone = self.shared.mending.lock().await;
        if self.live().number != number {
            return;
        }
        // Other errors mean that the bus is there, without the manager.
        if matches!(error, zbus::Error::InputOutput(_))
            && let Some(Ok(connection)) = reach(self.scope, self.transport).await
            && let Ok(live) = Live::new(&connection, number + 1).await
        {
            *self.live() = live;
        }
        drop(alone);
        // Also after a success: the manager's socket accepts connections while it shuts down.
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
        let mut signals = self.ask(|manager| subscribe(manager, rule.clone(), self.transport)).await?;
        let systemd = self.clone();
        tokio::spawn(async move {
            loop {
                while let Some(Ok(message)) = signals.next().await {
                    if Signal::read(&message).is_some_and(|signal| !hear(signal)) {
                        return;
                    }
                }
                match systemd.ask(|manager| subscribe(manager, rule.clone(), systemd.transport)).await {
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
async fn subscribe(
    manager: ManagerProxy<'static>,
    rule: MatchRule<'static>,
    transport: Transport,
) -> zbus::Result<MessageStream> {
    let connection = manager.inner().connection();
    match transport {
        // The manager always sends its signals to private connections: the call only shows that it is there.
        Transport::Private => {
            let peer = Some("org.freedesktop.DBus.Peer");
            connection.call_method(Some(SERVICE), MANAGER_PATH, peer, "Ping", &()).await?;
        }
        Transport::Bus => match manager.subscribe().await {
            Err(zbus::Error::MethodError(name, ..))
                if name.as_str() == "org.freedesktop.systemd1.AlreadySubscribed" => {}
            done => done?,
        },
    }
    MessageStream::for_match_rule(rule, connection, None).await
}

/// The manager did not come back.
fn gone(error: &zbus::Error) -> zbus::Error {
    let limit = crate::basic::time_span::format(AWAY);
    zbus::Error::Failure(format!("the service manager went away, and is not back after {limit}: {error}"))
}
