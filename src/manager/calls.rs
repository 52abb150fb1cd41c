//! The manager's calls about units.

use std::path::PathBuf;

use futures_util::future::try_join_all;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::Connected;
use super::properties::Properties;
use super::proxy::{MANAGER_PATH, SERVICE};
use super::unit::{UnitInfo, unit_path};
use crate::basic::clock::Monotonic;

const UNIT: &str = "org.freedesktop.systemd1.Unit";
const SERVICE_INTERFACE: &str = "org.freedesktop.systemd1.Service";

/// An interface, and a property of it.
pub type Property = (&'static str, &'static str);

/// What a target consists of, and since when it is active.
pub const CONTENT: [Property; 2] = [(UNIT, "ConsistsOf"), (UNIT, "ActiveEnterTimestampMonotonic")];

/// Since when a unit is active.
pub const START: [Property; 1] = [(UNIT, "ActiveEnterTimestampMonotonic")];

/// The present run of a service.
pub const RUN: [Property; 4] = [
    (SERVICE_INTERFACE, "ExecMainStartTimestampMonotonic"),
    (SERVICE_INTERFACE, "ExecMainStartTimestamp"),
    (SERVICE_INTERFACE, "MainPID"),
    (UNIT, "FreezerState"),
];

/// Whether files of a unit changed since the manager read them. It looks through all unit directories to answer.
pub const CHANGED_ON_DISK: [Property; 1] = [(UNIT, "NeedDaemonReload")];

/// What a status shows of a service that is up, and its present run; without [`CHANGED_ON_DISK`].
pub const SHOWN: [Property; 13] = [
    (SERVICE_INTERFACE, "ExecMainStartTimestampMonotonic"),
    (SERVICE_INTERFACE, "ExecMainStartTimestamp"),
    (SERVICE_INTERFACE, "MainPID"),
    (SERVICE_INTERFACE, "NRestarts"),
    (SERVICE_INTERFACE, "MemoryCurrent"),
    (SERVICE_INTERFACE, "CPUUsageNSec"),
    (SERVICE_INTERFACE, "StatusText"),
    (SERVICE_INTERFACE, "Result"),
    (UNIT, "ActiveState"),
    (UNIT, "ActiveEnterTimestamp"),
    (UNIT, "FreezerState"),
    (UNIT, "FragmentPath"),
    (UNIT, "DropInPaths"),
];

/// How many calls are on their way at the same time: enough to keep the manager busy.
const WINDOW: usize = 64;

/// A command of a service: its program, its argv, whether its failure counts, and how it ran last.
type Command = (String, Vec<String>, bool, u64, u64, u64, u64, u32, i32, i32);

impl Connected {
    /// The states of `units`, in their order. The manager loads those that are not loaded.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn list(&self, units: &[&str]) -> zbus::Result<Vec<UnitInfo>> {
        // Without names some versions list everything.
        if units.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.ask(|manager| async move { manager.list_units_by_names(units).await }).await?;
        Ok(rows.into_iter().map(UnitInfo::from).collect())
    }

    /// The states of the loaded units whose names match one of `patterns` (fnmatch(3)); of all, without patterns.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn list_loaded(&self, patterns: &[String]) -> zbus::Result<Vec<UnitInfo>> {
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let patterns = patterns.as_slice();
        let rows = self.ask(|manager| async move { manager.list_units_by_patterns(&[], patterns).await }).await?;
        Ok(rows.into_iter().map(UnitInfo::from).collect())
    }

    /// One property of the `Unit` interface.
    ///
    /// # Errors
    /// What the connection or the manager refuses; a property that this systemd does not have.
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
    /// As [`Connected::unit_property`]; that the unit is not a service.
    pub async fn service_property<T>(&self, unit: &str, property: &str) -> zbus::Result<T>
    where
        T: TryFrom<zbus::OwnedVariant>,
        T::Error: Into<zbus::Error>,
    {
        self.property(unit, SERVICE_INTERFACE, property).await
    }

    /// When something happened to a unit; a property of the `Unit` interface.
    ///
    /// # Errors
    /// As [`Connected::unit_property`].
    pub async fn unit_time(&self, unit: &str, property: &str) -> zbus::Result<Option<Monotonic>> {
        self.unit_property(unit, property).await.map(Monotonic::from_micros)
    }

    /// When something happened to a service; a property of the `Service` interface.
    ///
    /// # Errors
    /// As [`Connected::service_property`].
    pub async fn service_time(&self, unit: &str, property: &str) -> zbus::Result<Option<Monotonic>> {
        self.service_property(unit, property).await.map(Monotonic::from_micros)
    }

    async fn property<T>(&self, unit: &str, interface: &str, property: &str) -> zbus::Result<T>
    where
        T: TryFrom<zbus::OwnedVariant>,
        T::Error: Into<zbus::Error>,
    {
        let reply = self.get(unit, interface, Some(property)).await?;
        let value: zbus::OwnedVariant = reply.body().deserialize()?;
        T::try_from(value).map_err(Into::into)
    }

    /// The command lines of one of a service's `Exec…=`, with specifiers replaced.
    ///
    /// # Errors
    /// As [`Connected::service_property`].
    pub async fn commands(&self, unit: &str, property: &str) -> zbus::Result<Vec<Vec<String>>> {
        let all: Vec<Command> = self.service_property(unit, property).await?;
        Ok(all.into_iter().map(|(_, argv, ..)| argv).collect())
    }

    /// Clears the failed state and the start-limit counter of each of `units`.
    ///
    /// Waits only for the last call, as the manager answers in order: a thousand units take a few milliseconds. A unit that is
    /// not loaded any more is no error.
    ///
    /// # Errors
    /// That the manager is gone.
    pub async fn reset_failed(&self, units: &[String]) -> zbus::Result<()> {
        if units.is_empty() {
            return Ok(());
        }
        self.ask(|manager| async move {
            for unit in units {
                manager.reset_failed_unit(unit).await?;
            }
            manager.list_units_by_names(&[]).await
        })
        .await
        .map(drop)
    }

    /// Has the manager read all unit files again, which runs the generators.
    ///
    /// # Errors
    /// What the manager refuses.
    pub async fn reload(&self) -> zbus::Result<()> {
        self.ask(|manager| async move { manager.reload().await }).await
    }

    /// All properties of a unit.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn properties(&self, unit: &str) -> zbus::Result<Properties> {
        // An empty name stands for all interfaces of the object, as `systemctl show` asks it.
        Properties::read(&self.get(unit, "", None).await?)
    }

    /// Only these properties of a unit. A call for one takes a fortieth of the time of a call for all.
    ///
    /// # Errors
    /// As [`Connected::unit_property`].
    pub async fn only(&self, unit: &str, properties: &[Property]) -> zbus::Result<Properties> {
        let calls = properties.iter().map(|(interface, name)| self.get(unit, interface, Some(name)));
        Properties::from_single(properties.iter().map(|(_, name)| *name), &try_join_all(calls).await?)
    }

    /// As [`Connected::only`] for several units, in their order.
    ///
    /// # Errors
    /// As [`Connected::unit_property`].
    pub async fn only_of(&self, units: &[&str], properties: &[Property]) -> zbus::Result<Vec<Properties>> {
        let window = (4 * WINDOW / properties.len().max(1)).max(1);
        stream::iter(units).map(|unit| self.only(unit, properties)).buffered(window).try_collect().await
    }

    /// The properties of units, in their order.
    ///
    /// # Errors
    /// As [`Connected::properties`].
    pub async fn properties_of(&self, units: &[impl AsRef<str>]) -> zbus::Result<Vec<Properties>> {
        stream::iter(units).map(|unit| self.properties(unit.as_ref())).buffered(WINDOW).try_collect().await
    }

    /// The directories in which the manager looks for units and drop-ins.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn unit_directories(&self) -> zbus::Result<Vec<PathBuf>> {
        let reply = self.get_at(MANAGER_PATH, "org.freedesktop.systemd1.Manager", Some("UnitPath")).await?;
        let value: zbus::OwnedVariant = reply.body().deserialize()?;
        let paths: Vec<String> = value.try_into()?;
        Ok(paths.into_iter().map(PathBuf::from).collect())
    }

    /// One property of an interface, or all (`Get` and `GetAll` of `org.freedesktop.DBus.Properties`).
    async fn get(&self, unit: &str, interface: &str, property: Option<&str>) -> zbus::Result<zbus::Message> {
        self.get_at(&unit_path(unit), interface, property).await
    }

    async fn get_at(&self, path: &str, interface: &str, property: Option<&str>) -> zbus::Result<zbus::Message> {
        const PROPERTIES: Option<&str> = Some("org.freedesktop.DBus.Properties");
        self.ask(|manager| async move {
            let connection = manager.inner().connection();
            match property {
                Some(one) => connection.call_method(Some(SERVICE), path, PROPERTIES, "Get", &(interface, one)).await,
                None => connection.call_method(Some(SERVICE), path, PROPERTIES, "GetAll", &interface).await,
            }
        })
        .await
    }
}
