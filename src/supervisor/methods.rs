//! The methods by name, with what `system.methodSignature` and `system.methodHelp` say of them.

/// A method that clients can call.
#[derive(Debug)]
pub struct Method {
    pub name: &'static str,
    /// The types of the result and of the arguments, in supervisord's words.
    pub signature: &'static [&'static str],
    /// How many of the arguments are required.
    pub required: usize,
    pub help: &'static str,
}

const fn method(name: &'static str, signature: &'static [&'static str], help: &'static str) -> Method {
    Method { name, signature, required: signature.len() - 1, help }
}

/// Its last argument is `wait`, which may be left out.
const fn waiting(name: &'static str, signature: &'static [&'static str], help: &'static str) -> Method {
    Method { name, signature, required: signature.len() - 2, help }
}

const LOG: &[&str] = &["string", "string", "int", "int"];
const TAIL: &[&str] = &["array", "string", "int", "int"];

/// All methods, sorted by name.
pub const METHODS: &[Method] = &[
    waiting("fast.startProcess", &["boolean", "string", "boolean"], "Start a process."),
    method("supervisor.addProcessGroup", &["boolean", "string"], "Add a process group that `reloadConfig` found."),
    method("supervisor.clearAllProcessLogs", &["array"], "Not possible: the logs are in the journal."),
    method("supervisor.clearLog", &["boolean"], "Not possible: the log is in the journal."),
    method("supervisor.clearProcessLog", &["boolean", "string"], "Not possible: the log is in the journal."),
    method("supervisor.clearProcessLogs", &["boolean", "string"], "Not possible: the log is in the journal."),
    method("supervisor.getAPIVersion", &["string"], "Return the version of the interface."),
    method("supervisor.getAllConfigInfo", &["array"], "Return the settings of all processes."),
    method("supervisor.getAllProcessInfo", &["array"], "Return the state of all processes."),
    method("supervisor.getIdentification", &["string"], "Return the name of the group."),
    method("supervisor.getPID", &["int"], "Return the process ID of copse-supervisor."),
    method("supervisor.getProcessInfo", &["struct", "string"], "Return the state of a process."),
    method("supervisor.getState", &["struct"], "Return the state of the group: RUNNING, unless it is stopping."),
    method("supervisor.getSupervisorVersion", &["string"], "Return the version of supervisord that this behaves like."),
    method("supervisor.getVersion", &["string"], "Return the version of the interface."),
    method("supervisor.readLog", &["string", "int", "int"], "Return a part of what systemd logged about the group."),
    method(
        "supervisor.readMainLog",
        &["string", "int", "int"],
        "Return a part of what systemd logged about the group.",
    ),
    method("supervisor.readProcessLog", LOG, "Return a part of what a process logged."),
    method("supervisor.readProcessStderrLog", LOG, "Return nothing: both streams are in the journal as one."),
    method("supervisor.readProcessStdoutLog", LOG, "Return a part of what a process logged."),
    method(
        "supervisor.reloadConfig",
        &["array"],
        "Read the group file, and return which process groups it adds, changes and removes.",
    ),
    method(
        "supervisor.removeProcessGroup",
        &["boolean", "string"],
        "Remove a stopped process group from all lists, until it is added or the group restarts.",
    ),
    method("supervisor.restart", &["boolean"], "Restart the group."),
    method(
        "supervisor.sendProcessStdin",
        &["boolean", "string", "string"],
        "Not possible: the standard input is /dev/null.",
    ),
    method(
        "supervisor.sendRemoteCommEvent",
        &["boolean", "string", "string"],
        "Not possible: there are no event listeners.",
    ),
    method("supervisor.shutdown", &["boolean"], "Stop the group."),
    method("supervisor.signalAllProcesses", &["array", "string"], "Send a signal to all processes."),
    method("supervisor.signalProcess", &["boolean", "string", "string"], "Send a signal to a process."),
    method(
        "supervisor.signalProcessGroup",
        &["array", "string", "string"],
        "Send a signal to all processes of a group.",
    ),
    waiting("supervisor.startAllProcesses", &["array", "boolean"], "Start all processes."),
    waiting("supervisor.startProcess", &["boolean", "string", "boolean"], "Start a process."),
    waiting("supervisor.startProcessGroup", &["array", "string", "boolean"], "Start all processes of a group."),
    waiting("supervisor.stopAllProcesses", &["array", "boolean"], "Stop all processes."),
    waiting("supervisor.stopProcess", &["boolean", "string", "boolean"], "Stop a process."),
    waiting("supervisor.stopProcessGroup", &["array", "string", "boolean"], "Stop all processes of a group."),
    method("supervisor.tailProcessLog", TAIL, "Return the end of what a process logged."),
    method("supervisor.tailProcessStderrLog", TAIL, "Return nothing: both streams are in the journal as one."),
    method("supervisor.tailProcessStdoutLog", TAIL, "Return the end of what a process logged."),
    method("system.listMethods", &["array"], "Return the names of all methods."),
    method("system.methodHelp", &["string", "string"], "Return what a method does."),
    method("system.methodSignature", &["array", "string"], "Return the types of a method's result and arguments."),
    method("system.multicall", &["array", "array"], "Make several calls, and return an array of results and faults."),
];

pub fn find(name: &str) -> Option<&'static Method> {
    METHODS.binary_search_by(|method| method.name.cmp(name)).ok().map(|index| &METHODS[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_sorted_and_found() {
        assert!(METHODS.is_sorted_by(|one, other| one.name < other.name));
        assert_eq!(find("supervisor.stopProcess").map(|method| method.required), Some(1));
        assert!(find("supervisor._update").is_none() && find("stopProcess").is_none());
    }
}
