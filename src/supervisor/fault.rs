//! The faults of supervisord (`supervisor.xmlrpc.Faults`).

/// What a call is refused with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    UnknownMethod = 1,
    IncorrectParameters = 2,
    BadArguments = 3,
    SignatureUnsupported = 4,
    ShutdownState = 6,
    BadName = 10,
    BadSignal = 11,
    NoFile = 20,
    NotExecutable = 21,
    Failed = 30,
    AbnormalTermination = 40,
    SpawnError = 50,
    AlreadyStarted = 60,
    NotRunning = 70,
    AlreadyAdded = 90,
    StillRunning = 91,
    CantReread = 92,
}

/// The status of a process with which all went well, in arrays of results.
pub const SUCCESS: i32 = 80;

impl Code {
    fn name(self) -> &'static str {
        match self {
            Self::UnknownMethod => "UNKNOWN_METHOD",
            Self::IncorrectParameters => "INCORRECT_PARAMETERS",
            Self::BadArguments => "BAD_ARGUMENTS",
            Self::SignatureUnsupported => "SIGNATURE_UNSUPPORTED",
            Self::ShutdownState => "SHUTDOWN_STATE",
            Self::BadName => "BAD_NAME",
            Self::BadSignal => "BAD_SIGNAL",
            Self::NoFile => "NO_FILE",
            Self::NotExecutable => "NOT_EXECUTABLE",
            Self::Failed => "FAILED",
            Self::AbnormalTermination => "ABNORMAL_TERMINATION",
            Self::SpawnError => "SPAWN_ERROR",
            Self::AlreadyStarted => "ALREADY_STARTED",
            Self::NotRunning => "NOT_RUNNING",
            Self::AlreadyAdded => "ALREADY_ADDED",
            Self::StillRunning => "STILL_RUNNING",
            Self::CantReread => "CANT_REREAD",
        }
    }
}

/// A fault: its code, and what the text says besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub code: Code,
    pub extra: Option<String>,
}

impl Fault {
    /// With one line of text: clients print it as it is.
    pub fn new(code: Code, extra: impl AsRef<str>) -> Self {
        let line = extra.as_ref().lines().next().unwrap_or_default();
        Self { code, extra: Some(line.to_owned()) }
    }

    pub fn plain(code: Code) -> Self {
        Self { code, extra: None }
    }

    pub fn number(&self) -> i32 {
        self.code as i32
    }

    /// `BAD_NAME: web`
    pub fn text(&self) -> String {
        match &self.extra {
            Some(extra) => format!("{}: {extra}", self.code.name()),
            None => self.code.name().to_owned(),
        }
    }
}

pub type Result<T> = std::result::Result<T, Fault>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_one_line() {
        let fault = Fault::new(Code::Failed, "Access denied\nSee system logs");
        assert_eq!((fault.number(), fault.text().as_str()), (30, "FAILED: Access denied"));
        assert_eq!(Fault::plain(Code::ShutdownState).text(), "SHUTDOWN_STATE");
    }
}
