//! The manager's calls about units.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::Connected;
use super::properties::{Properties, Times};
use super::proxy::SERVICE;
use super::state::FreezerState;
use super::unit::{UnitInfo, unit_path};
use crate::basic::clock::{Monotonic, Realtime};

const UNIT: &str = "org.freedesktop.systemd1.Unit";
const SERVICE_INTERFACE: &str = "org.freedesktop.systemd1.Service";

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

    /// Of a target only what it consists of, and since when it is active.
    ///
    /// # Errors
    /// As [`Connected::properties`].
    pub async fn target_properties(&self, unit: &str) -> zbus::Result<Properties> {
        let (consists_of, active_entered) = tokio::try_join!(
            self.unit_property(unit, "ConsistsOf"),
            self.unit_time(unit, "ActiveEnterTimestampMonotonic"),
        )?;
        let times = Times { active_entered, ..Times::default() };
        Ok(Properties { consists_of, times, ..Properties::default() })
    }

    /// Of units that are up only what their present run began with, in their order: a tenth of what all properties cost.
    ///
    /// # Errors
    /// As [`Connected::properties`].
    pub async fn runs_of(&self, units: &[&str]) -> zbus::Result<Vec<Properties>> {
        stream::iter(units).map(|unit| self.run_of(unit)).buffered(WINDOW).try_collect().await
    }

    async fn run_of(&self, unit: &str) -> zbus::Result<Properties> {
        if !unit.ends_with(".service") {
            let active_entered = self.unit_time(unit, "ActiveEnterTimestampMonotonic").await?;
            let times = Times { active_entered, ..Times::default() };
            return Ok(Properties { times, ..Properties::default() });
        }
        let (main_started, main_started_at, pid, freezer) = tokio::try_join!(
            self.service_time(unit, "ExecMainStartTimestampMonotonic"),
            self.service_property(unit, "ExecMainStartTimestamp"),
            self.service_property(unit, "MainPID"),
            self.unit_property::<String>(unit, "FreezerState"),
        )?;
        Ok(Properties {
            times: Times { main_started, ..Times::default() },
            main_started_at: Realtime::from_micros(main_started_at),
            pid: Some(pid).filter(|pid| *pid != 0),
            frozen: FreezerState::from(&*freezer).is_frozen(),
            ..Properties::default()
        })
    }

    /// The properties of units, in their order.
    ///
    /// # Errors
    /// As [`Connected::properties`].
    pub async fn properties_of(&self, units: &[impl AsRef<str>]) -> zbus::Result<Vec<Properties>> {
        stream::iter(units).map(|unit| self.properties(unit.as_ref())).buffered(WINDOW).try_collect().await
    }

    /// One property of an interface, or all (`Get` and `GetAll` of `org.freedesktop.DBus.Properties`).
    async fn get(&self, unit: &str, interface: &str, property: Option<&str>) -> zbus::Result<zbus::Message> {
        const PROPERTIES: Option<&str> = Some("org.freedesktop.DBus.Properties");
        let path = &*unit_path(unit);
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
