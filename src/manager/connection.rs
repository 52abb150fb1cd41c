//! The way to the service manager.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use futures_util::{Stream, StreamExt as _};
use zbus::connection::Builder;
use zbus::{Connection, MatchRule, MessageStream};

use crate::manager::private::PrivateSocket;
use crate::manager::proxy::{MANAGER, MANAGER_PATH, ManagerProxy, SERVICE};
use crate::manager::unit::{History, Listed, Monotonic, unit_path};
use crate::scope::Scope;

const UNIT: &str = "org.freedesktop.systemd1.Unit";
const SERVICE_INTERFACE: &str = "org.freedesktop.systemd1.Service";

/// A command of a service: its program, its argv, whether its failure counts, and how it ran last.
type Command = (String, Vec<String>, bool, u64, u64, u64, u64, u32, i32, i32);

/// A connection to a service manager, with the calls copse makes on it.
#[derive(Debug, Clone)]
pub struct Connected {
    connection: Connection,
    manager: ManagerProxy<'static>,
    way: Way,
}

/// Why the service manager can't be reached, one line for each way that was tried.
#[derive(Debug)]
pub struct Unreachable {
    scope: Scope,
    tried: Vec<(String, zbus::Error)>,
    /// systemd runs on this machine.
    booted: bool,
}

impl Unreachable {
    fn new(scope: Scope, tried: Vec<(String, zbus::Error)>) -> Self {
        Self { scope, tried, booted: is_booted() }
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.booted {
            return f.write_str(NOT_BOOTED);
        }
        f.write_str(match self.scope {
            Scope::System => "the system's service manager can't be reached",
            Scope::User => "the user's service manager can't be reached",
        })?;
        for (way, error) in &self.tried {
            write!(f, "; {way}: {error}")?;
        }
        match self.scope {
            Scope::System => Ok(()),
            Scope::User => f.write_str(LOG_IN),
        }
    }
}

impl std::error::Error for Unreachable {}

/// A job that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedJob {
    /// Its number.
    pub id: u32,
    /// The unit it was for.
    pub unit: String,
    /// How it ended: `done`, `failed`, `canceled`, `timeout`, `dependency`, `skipped`, …
    pub result: String,
}

/// How a connection reaches the manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By its private socket, without a bus.
    Private,
    /// By the system's or the session's bus.
    Bus,
}

/// What is wrong where systemd isn't this machine's PID 1.
pub const NOT_BOOTED: &str = "systemd isn't running here, as in a chroot or in a container without it; `copse check` and \
                              `copse render` do their work all the same";

/// The help where there is no user's service manager: su(1) and sudo(8) leave nothing behind to start it with.
pub const LOG_IN: &str = "; help: log in as that user (`ssh`, `machinectl shell USER@`), as `su` and `sudo` don't start a \
                          service manager; `loginctl enable-linger USER` keeps one running";

/// Whether systemd is this machine's PID 1, as sd_booted(3) finds it out.
#[must_use]
pub fn is_booted() -> bool {
    Path::new("/run/systemd/system").is_dir()
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
        match connect_by(scope, way).await {
            Ok(connected) => return Ok(connected),
            Err(mut error) => tried.append(&mut error.tried),
        }
    }
    Err(Unreachable::new(scope, tried))
}

/// Connects by one way only. For those who lost a connection and know how it was made: while the manager
/// re-executes itself its private socket is gone for a moment, and the bus would wait for its name in vain.
///
/// # Errors
/// [`Unreachable`] when this way doesn't lead to the manager.
pub async fn connect_by(scope: Scope, way: Way) -> Result<Connected, Unreachable> {
    let (name, connection) = match way {
        Way::Private => {
            let Some(socket) = private_socket(scope) else {
                return Err(Unreachable::new(scope, Vec::new()));
            };
            (socket.display().to_string(), private(&socket).await)
        }
        Way::Bus => {
            let bus = match scope {
                Scope::System => Builder::system(),
                Scope::User => Builder::session(),
            };
            ("the bus".to_owned(), bus.build().await)
        }
    };
    let connected = match connection {
        Ok(connection) => Connected::new(connection, way).await,
        Err(error) => Err(error),
    };
    connected.map_err(|error| Unreachable::new(scope, vec![(name, error)]))
}

/// Whether an error only says that the manager is away for a moment, as during `systemctl daemon-reexec`.
#[must_use]
pub fn is_passing(error: &zbus::Error) -> bool {
    match error {
        zbus::Error::InputOutput(_) => true,
        error => matches!(
            error_name(error).as_deref(),
            Some(
                "org.freedesktop.DBus.Error.NoReply"
                    | "org.freedesktop.DBus.Error.ServiceUnknown"
                    | "org.freedesktop.DBus.Error.NameHasNoOwner"
                    | "org.freedesktop.DBus.Error.Disconnected"
            )
        ),
    }
}

/// Whether an error says that no such unit is loaded.
#[must_use]
pub fn is_unknown(error: &zbus::Error) -> bool {
    error_name(error).as_deref() == Some("org.freedesktop.systemd1.NoSuchUnit")
}

/// Whether an error says that the unit is masked.
#[must_use]
pub fn is_masked(error: &zbus::Error) -> bool {
    error_name(error).as_deref() == Some("org.freedesktop.systemd1.UnitMasked")
}

/// Whether an error is a refusal: the caller isn't allowed to do that. Without a polkit agent that could ask somebody,
/// systemd answers `InteractiveAuthorizationRequired`; where polkit, the bus or systemd itself says no, `AccessDenied`.
#[must_use]
pub fn is_refusal(error: &zbus::Error) -> bool {
    matches!(
        error_name(error).as_deref(),
        Some(
            "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"
                | "org.freedesktop.DBus.Error.AccessDenied"
                | "org.freedesktop.DBus.Error.AuthFailed"
        )
    )
}

/// The name of an error that came over the bus. zbus has a type of its own for those of the bus's own interface.
fn error_name(error: &zbus::Error) -> Option<String> {
    match error {
        zbus::Error::MethodError(name, ..) => Some(name.to_string()),
        zbus::Error::FDO(error) => Some(zbus::DBusError::name(&**error).to_string()),
        _ => None,
    }
}

/// Where the manager of `scope` listens without a bus, if the caller may use it.
fn private_socket(scope: Scope) -> Option<PathBuf> {
    match scope {
        // Only root gets in; the others would only wait for the refusal.
        Scope::System => rustix::process::geteuid().is_root().then(|| PathBuf::from("/run/systemd/private")),
        Scope::User => std::env::var_os("XDG_RUNTIME_DIR")
            .filter(|directory| !directory.is_empty())
            .map(|directory| Path::new(&directory).join("systemd/private")),
    }
}

async fn private(socket: &Path) -> zbus::Result<Connection> {
    let socket = PrivateSocket::connect(socket).await.map_err(|error| zbus::Error::InputOutput(error.into()))?;
    Builder::socket(socket).p2p().build().await
}

impl Connected {
    async fn new(connection: Connection, way: Way) -> zbus::Result<Self> {
        let manager = ManagerProxy::new(&connection).await?;
        Ok(Self { connection, manager, way })
    }

    /// How it was reached.
    #[must_use]
    pub fn way(&self) -> Way {
        self.way
    }

    /// The `org.freedesktop.systemd1.Manager` interface.
    #[must_use]
    pub fn manager(&self) -> &ManagerProxy<'static> {
        &self.manager
    }

    /// The jobs that end from now on (the `JobRemoved` signal).
    ///
    /// Take them off at once, in a task of its own: when the queue is full, nothing else is read from the
    /// connection either.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn ended_jobs(&self) -> zbus::Result<impl Stream<Item = EndedJob> + Send + Unpin + use<>> {
        // Not by way of the proxy, which waits for signals of the manager's bus name: a private connection
        // knows no such name.
        let rule = MatchRule::builder()
            .msg_type(zbus::message::Type::Signal)
            .interface(MANAGER)
            .member("JobRemoved")
            .build()?;
        let signals = self.signals(rule).await?;
        Ok(signals.filter_map(|signal| {
            let job = signal.ok().and_then(|signal| {
                let (id, _, unit, result): (u32, zbus::OwnedObjectPath, String, String) =
                    signal.body().deserialize().ok()?;
                Some(EndedJob { id, unit, result })
            });
            std::future::ready(job)
        }))
    }

    /// Says each time that a property of one of `units` has changed (the `PropertiesChanged` signal).
    ///
    /// To be taken off at once, as [`Connected::ended_jobs`].
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn changed_units(&self, units: &[&str]) -> zbus::Result<impl Stream<Item = ()> + Send + Unpin + use<>> {
        let rule = MatchRule::builder()
            .msg_type(zbus::message::Type::Signal)
            .interface("org.freedesktop.DBus.Properties")
            .member("PropertiesChanged")
            .path_namespace("/org/freedesktop/systemd1/unit")
            .build()?;
        let paths: HashSet<String> = units.iter().map(|unit| unit_path(unit)).collect();
        let signals = self.signals(rule).await?;
        Ok(signals.filter_map(move |signal| {
            let ours =
                signal.is_ok_and(|signal| signal.header().path().is_some_and(|path| paths.contains(path.as_str())));
            std::future::ready(ours.then_some(()))
        }))
    }

    async fn signals(&self, rule: MatchRule<'static>) -> zbus::Result<MessageStream> {
        let signals = MessageStream::for_match_rule(rule, &self.connection, None).await?;
        if self.way == Way::Bus {
            // The manager sends its signals to private connections always.
            match self.manager.subscribe().await {
                Err(zbus::Error::MethodError(name, ..))
                    if name.as_str() == "org.freedesktop.systemd1.AlreadySubscribed" => {}
                done => done?,
            }
        }
        Ok(signals)
    }

    /// Object paths of units whose properties change from now on (`PropertiesChanged`), and the manager's own when it has
    /// read all units again (`Reloading`).
    ///
    /// As with [`Connected::ended_jobs`]: take them off at once.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn changes(&self) -> zbus::Result<impl Stream<Item = String> + Send + Unpin + use<>> {
        let rule = MatchRule::builder().msg_type(zbus::message::Type::Signal).path_namespace(MANAGER_PATH).build()?;
        let signals = self.signals(rule).await?;
        Ok(signals.filter_map(|signal| {
            let path = signal.ok().and_then(|signal| {
                let head = signal.header();
                let is = |member: &str| head.member().is_some_and(|found| found.as_str() == member);
                // It is sent before and after; only then there is something to see.
                let read = || is("Reloading") && signal.body().deserialize().is_ok_and(|begins: bool| !begins);
                (is("PropertiesChanged") || read()).then(|| head.path().map(ToString::to_string))?
            });
            std::future::ready(path)
        }))
    }

    /// The state of `units`, in the order the manager gives them; it loads those that weren't loaded.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn list(&self, units: &[&str]) -> zbus::Result<Vec<Listed>> {
        let rows = self.manager.list_units_by_names(units).await?;
        Ok(rows.into_iter().map(Listed::from).collect())
    }

    /// One property of the `Unit` interface.
    ///
    /// # Errors
    /// What the connection or the manager refuses; a property that this systemd doesn't have.
    pub async fn unit_property<T>(&self, unit: &str, property: &str) -> zbus::Result<T>
    where
        T: TryFrom<zbus::OwnedVariant>,
        T::Error: Into<zbus::Error>,
    {
        self.property(unit, UNIT, property).await
    }

    /// One property of the `Service` interface.
    ///
    /// # Errors
    /// As [`Connected::unit_property`]; also when the unit isn't a service.
    pub async fn service_property<T>(&self, unit: &str, property: &str) -> zbus::Result<T>
    where
        T: TryFrom<zbus::OwnedVariant>,
        T::Error: Into<zbus::Error>,
    {
        self.property(unit, SERVICE_INTERFACE, property).await
    }

    async fn property<T>(&self, unit: &str, interface: &str, property: &str) -> zbus::Result<T>
    where
        T: TryFrom<zbus::OwnedVariant>,
        T::Error: Into<zbus::Error>,
    {
        let reply = self
            .connection
            .call_method(
                Some(SERVICE),
                unit_path(unit),
                Some("org.freedesktop.DBus.Properties"),
                "Get",
                &(interface, property),
            )
            .await?;
        let value: zbus::OwnedVariant = reply.body().deserialize()?;
        T::try_from(value).map_err(Into::into)
    }

    /// The argvs of one of a service's `Exec…=`, as they are executed: specifiers are replaced.
    ///
    /// # Errors
    /// As [`Connected::service_property`].
    pub async fn commands(&self, unit: &str, property: &str) -> zbus::Result<Vec<Vec<String>>> {
        let all: Vec<Command> = self.service_property(unit, property).await?;
        Ok(all.into_iter().map(|(_, argv, ..)| argv).collect())
    }

    /// When and how a unit ran last. All questions are asked at once; the manager answers them in one go.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn history(&self, unit: &str) -> zbus::Result<History> {
        let (condition, condition_at, assertion, assertion_at, left_inactive) = tokio::try_join!(
            self.unit_property::<bool>(unit, "ConditionResult"),
            self.unit_property::<u64>(unit, "ConditionTimestampMonotonic"),
            self.unit_property::<bool>(unit, "AssertResult"),
            self.unit_property::<u64>(unit, "AssertTimestampMonotonic"),
            self.unit_property::<u64>(unit, "InactiveExitTimestampMonotonic"),
        )?;
        let (result, main_started) = if unit.ends_with(".service") {
            tokio::try_join!(
                self.service_property::<String>(unit, "Result"),
                self.service_property::<u64>(unit, "ExecMainStartTimestampMonotonic"),
            )?
        } else {
            // The other kinds of units have no main process; leaving `inactive` is all their running.
            ("success".to_owned(), 0)
        };
        Ok(History {
            condition_met: condition,
            condition_checked: Monotonic(condition_at),
            assertion_met: assertion,
            assertion_checked: Monotonic(assertion_at),
            left_inactive: Monotonic(left_inactive),
            main_started: Monotonic(main_started),
            result,
        })
    }

    /// Clears the failed state and the start-limit counter of each of `units`.
    ///
    /// Only the last call is waited for: the manager answers in order, and that a unit vanished meanwhile is
    /// no error here. A thousand units take a few milliseconds this way.
    ///
    /// # Errors
    /// A broken connection.
    pub async fn reset_failed(&self, units: &[String]) -> zbus::Result<()> {
        for unit in units {
            self.manager.reset_failed_unit(unit).await?;
        }
        if !units.is_empty() {
            self.manager.list_units_by_names(&[]).await?;
        }
        Ok(())
    }

    /// All properties of a unit, as the manager has them at one moment.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn properties(&self, unit: &str) -> zbus::Result<std::collections::HashMap<String, zbus::OwnedVariant>> {
        let reply = self
            .connection
            .call_method(
                Some(SERVICE),
                unit_path(unit),
                Some("org.freedesktop.DBus.Properties"),
                "GetAll",
                // An empty name stands for all interfaces of the object, as `systemctl show` asks it.
                &"",
            )
            .await?;
        reply.body().deserialize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_manager_is_not_reached_comes_with_what_to_do() {
        let said = |scope, booted| Unreachable { scope, tried: Vec::new(), booted }.to_string();
        assert!(said(Scope::System, false).starts_with("systemd isn't running here"));
        assert_eq!(said(Scope::System, true), "the system's service manager can't be reached");
        assert!(said(Scope::User, true).starts_with("the user's service manager can't be reached; help: log in as"));
    }
}
