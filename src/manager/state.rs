//! The words of the service manager as enums, parsed where its answers come in.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $variant:ident = $word:literal),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = concat!("`", $word, "`")] $(#[$attribute])* $variant,)+
            /// A word that this version of copse does not know.
            Other(String),
        }

        impl $name {
            /// systemd's word.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )+};
}

words! {
    /// `LoadState=`: what became of a unit's file.
    #[derive(Default)]
    LoadState {
        #[default]
        Loaded = "loaded",
        NotFound = "not-found",
        BadSetting = "bad-setting",
        Error = "error",
        Masked = "masked",
        Merged = "merged",
        Stub = "stub",
    }

    /// `ActiveState=`: the same words for every type of unit.
    #[derive(Default)]
    ActiveState {
        Active = "active",
        Reloading = "reloading",
        Refreshing = "refreshing",
        #[default]
        Inactive = "inactive",
        Failed = "failed",
        Activating = "activating",
        Deactivating = "deactivating",
        Maintenance = "maintenance",
    }

    /// `SubState=`: depends on the type of the unit. Only those that copse acts upon have a name.
    #[derive(Default)]
    SubState {
        Running = "running",
        Exited = "exited",
        Listening = "listening",
        #[default]
        Dead = "dead",
        DeadResourcesPinned = "dead-resources-pinned",
        DeadBeforeAutoRestart = "dead-before-auto-restart",
        Failed = "failed",
        FailedBeforeAutoRestart = "failed-before-auto-restart",
        AutoRestart = "auto-restart",
        AutoRestartQueued = "auto-restart-queued",
    }

    /// What a job does with its unit.
    JobType {
        Start = "start",
        VerifyActive = "verify-active",
        Stop = "stop",
        Reload = "reload",
        Restart = "restart",
    }

    /// How a job ended.
    JobResult {
        Done = "done",
        Skipped = "skipped",
        Canceled = "canceled",
        Timeout = "timeout",
        Failed = "failed",
        Dependency = "dependency",
    }

    /// `Result=` of a service or socket: the first thing that went wrong.
    UnitResult {
        Success = "success",
        ExitCode = "exit-code",
        Signal = "signal",
        CoreDump = "core-dump",
        Timeout = "timeout",
        Watchdog = "watchdog",
        OomKill = "oom-kill",
        ExecCondition = "exec-condition",
        StartLimitHit = "start-limit-hit",
        ServiceStartLimitHit = "service-start-limit-hit",
    }

    /// `Restart=` of a service.
    #[derive(Default)]
    RestartPolicy {
        #[default]
        No = "no",
        Always = "always",
        OnSuccess = "on-success",
        OnFailure = "on-failure",
        OnAbnormal = "on-abnormal",
        OnAbort = "on-abort",
        OnWatchdog = "on-watchdog",
    }

    /// `FreezerState=`
    FreezerState {
        Running = "running",
        Frozen = "frozen",
        FrozenByParent = "frozen-by-parent",
        FreezingByParent = "freezing-by-parent",
    }
}

impl ActiveState {
    /// Whether a unit is up, also while it reloads.
    pub fn is_up(&self) -> bool {
        matches!(self, Self::Active | Self::Reloading | Self::Refreshing)
    }

    /// Whether a unit is neither up nor on its way up or down.
    pub fn is_down(&self) -> bool {
        matches!(self, Self::Inactive | Self::Failed)
    }
}

impl FreezerState {
    /// Whether a unit is frozen, or its slice.
    pub fn is_frozen(&self) -> bool {
        matches!(self, Self::Frozen | Self::FrozenByParent)
    }
}

impl SubState {
    /// Whether systemd is going to start the unit again by itself. 254 and later pass through the `…-before-auto-restart`
    /// states at every crash, in which a unit is `failed` or `inactive`.
    pub fn awaits_restart(&self) -> bool {
        matches!(
            self,
            Self::AutoRestart | Self::AutoRestartQueued | Self::FailedBeforeAutoRestart | Self::DeadBeforeAutoRestart
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_word_is_shown_as_it_came() {
        for word in ["active", "hibernating"] {
            assert_eq!(ActiveState::from(word).to_string(), word);
        }
        assert_eq!(ActiveState::from("active"), ActiveState::Active);
        assert_eq!(ActiveState::from("hibernating"), ActiveState::Other("hibernating".to_owned()));
    }
}
