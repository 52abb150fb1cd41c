//! What is asked about units.

use std::collections::HashMap;

use super::Connected;
use super::proxy::SERVICE;
use super::unit::{History, Monotonic, UnitInfo, unit_path};

const UNIT: &str = "org.freedesktop.systemd1.Unit";
const SERVICE_INTERFACE: &str = "org.freedesktop.systemd1.Service";

/// A command of a service: its program, its argv, whether its failure counts, and how it ran last.
type Command = (String, Vec<String>, bool, u64, u64, u64, u64, u32, i32, i32);

impl Connected {
    /// The state of `units`, in their order; the manager loads those that weren't loaded.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn list(&self, units: &[&str]) -> zbus::Result<Vec<UnitInfo>> {
        // Without names the manager lists nothing or everything, depending on its version.
        if units.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.ask(|manager| async move { manager.list_units_by_names(units).await }).await?;
        Ok(rows.into_iter().map(UnitInfo::from).collect())
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
        let reply = self.get(unit, interface, Some(property)).await?;
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
    /// A manager that is gone.
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

    /// Has the manager read all unit files again, which runs the generators; returns when that is done.
    ///
    /// # Errors
    /// What the manager refuses.
    pub async fn reload(&self) -> zbus::Result<()> {
        self.ask(|manager| async move { manager.reload().await }).await
    }

    /// All properties of a unit, as the manager has them at one moment.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn properties(&self, unit: &str) -> zbus::Result<HashMap<String, zbus::OwnedVariant>> {
        // An empty name stands for all interfaces of the object, as `systemctl show` asks it.
        self.get(unit, "", None).await?.body().deserialize()
    }

    /// One of an interface's properties, or all: `Get` and `GetAll` of `org.freedesktop.DBus.Properties`.
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
