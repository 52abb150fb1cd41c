//! What the manager's errors mean.

/// Whether the manager is only away for a moment, as during `systemctl daemon-reexec`.
pub fn is_passing(error: &zbus::Error) -> bool {
    match error {
        zbus::Error::InputOutput(_) => true,
        error => error_name(error).is_some_and(|name| {
            name.strip_prefix("org.freedesktop.DBus.Error.").is_some_and(|name| {
                // The bus tries in vain to start a manager that is not there.
                name.starts_with("Spawn.")
                    || matches!(name, "NoReply" | "ServiceUnknown" | "NameHasNoOwner" | "Disconnected")
            })
        }),
    }
}

/// Whether no such unit is loaded.
pub fn is_unknown(error: &zbus::Error) -> bool {
    error_name(error).as_deref() == Some("org.freedesktop.systemd1.NoSuchUnit")
}

/// Whether the caller is not allowed to do that. Without a polkit agent, systemd answers `InteractiveAuthorizationRequired`;
/// if polkit, the bus or systemd itself refuses, `AccessDenied`.
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

/// Whether the unit is masked.
pub fn is_masked(error: &zbus::Error) -> bool {
    error_name(error).as_deref() == Some("org.freedesktop.systemd1.UnitMasked")
}
