//! From a method and its arguments to what is asked for.

use std::collections::BTreeMap;

use super::fault::{Code, Fault, Result};
use super::methods;
use super::value::Value;
use super::xml::Request;
use crate::basic::signal;

/// The most calls in one `system.multicall`.
const CALLS: usize = 256;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    ApiVersion,
    SupervisorVersion,
    Identification,
    State,
    Pid,
    ProcessInfo(String),
    AllProcessInfo,
    AllConfigInfo,
    Change(Action, Names),
    ReloadConfig,
    AddGroup(String),
    RemoveGroup(String),
    ReadLog(Log, Window),
    /// The end of the log of a process, with its size.
    TailLog(Log, Window),
    ClearLog,
    ClearLogs(String),
    ClearAllLogs,
    SendStdin(String),
    SendEvent,
    Shutdown,
    Restart,
    ListMethods,
    MethodHelp(String),
    MethodSignature(String),
    Multicall(Vec<Result<Call>>),
}

/// What is done with processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Start { wait: bool },
    Stop { wait: bool },
    Signal(i32),
}

/// Of which processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    /// `P`, `group:P`, or `group:*` for all of a group.
    One(String),
    Group(String),
    All,
}

/// Which log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Log {
    /// What systemd says of the group's units.
    Main,
    Stdout(String),
    /// Always empty.
    Stderr(String),
}

/// A part of a log, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// From the end if negative.
    pub offset: i64,
    /// 0: to the end.
    pub length: i64,
}

/// Reads a request.
///
/// # Errors
/// There is no such method, or the arguments are not those that it takes.
pub fn read(request: Request) -> Result<Call> {
    call(&request.method, request.params, false)
}

fn call(name: &str, params: Vec<Value>, within: bool) -> Result<Call> {
    let method = methods::find(name).ok_or_else(|| Fault::plain(Code::UnknownMethod))?;
    let most = method.signature.len() - 1;
    if !(method.required..=most).contains(&params.len()) {
        return Err(Fault::plain(Code::IncorrectParameters));
    }
    let mut params = Params(params.into_iter());
    let (namespace, name) = name.split_once('.').unwrap_or(("", name));
    Ok(match name {
        "getAPIVersion" | "getVersion" => Call::ApiVersion,
        "getSupervisorVersion" => Call::SupervisorVersion,
        "getIdentification" => Call::Identification,
        "getState" => Call::State,
        "getPID" => Call::Pid,
        "getProcessInfo" => Call::ProcessInfo(params.text()?),
        "getAllProcessInfo" => Call::AllProcessInfo,
        "getAllConfigInfo" => Call::AllConfigInfo,
        "startProcess" => change(Names::One(params.text()?), Action::Start { wait: params.wait() }),
        "startProcessGroup" => change(Names::Group(params.text()?), Action::Start { wait: params.wait() }),
        "startAllProcesses" => change(Names::All, Action::Start { wait: params.wait() }),
        "stopProcess" => change(Names::One(params.text()?), Action::Stop { wait: params.wait() }),
        "stopProcessGroup" => change(Names::Group(params.text()?), Action::Stop { wait: params.wait() }),
        "stopAllProcesses" => change(Names::All, Action::Stop { wait: params.wait() }),
        "signalProcess" => change(Names::One(params.text()?), params.signal()?),
        "signalProcessGroup" => change(Names::Group(params.text()?), params.signal()?),
        "signalAllProcesses" => change(Names::All, params.signal()?),
        "reloadConfig" => Call::ReloadConfig,
        "addProcessGroup" => Call::AddGroup(params.text()?),
        "removeProcessGroup" => Call::RemoveGroup(params.text()?),
        "readLog" | "readMainLog" => Call::ReadLog(Log::Main, params.window()?),
        "readProcessStdoutLog" | "readProcessLog" => Call::ReadLog(Log::Stdout(params.text()?), params.window()?),
        "readProcessStderrLog" => Call::ReadLog(Log::Stderr(params.text()?), params.window()?),
        "tailProcessStdoutLog" | "tailProcessLog" => Call::TailLog(Log::Stdout(params.text()?), params.window()?),
        "tailProcessStderrLog" => Call::TailLog(Log::Stderr(params.text()?), params.window()?),
        "clearLog" => Call::ClearLog,
        "clearProcessLogs" | "clearProcessLog" => Call::ClearLogs(params.text()?),
        "clearAllProcessLogs" => Call::ClearAllLogs,
        "sendProcessStdin" => {
            let name = params.text()?;
            params.text().map(|_| Call::SendStdin(name))?
        }
        "sendRemoteCommEvent" => Call::SendEvent,
        "shutdown" => Call::Shutdown,
        "restart" => Call::Restart,
        "listMethods" => Call::ListMethods,
        "methodHelp" => Call::MethodHelp(params.text()?),
        "methodSignature" => Call::MethodSignature(params.text()?),
        _ if within => {
            return Err(Fault::new(Code::IncorrectParameters, format!("Recursive {namespace}.multicall forbidden")));
        }
        _ => Call::Multicall(multicall(params.0.next())?),
    })
}

fn change(names: Names, action: Action) -> Call {
    Call::Change(action, names)
}

fn multicall(calls: Option<Value>) -> Result<Vec<Result<Call>>> {
    let Some(Value::Array(calls)) = calls else { return Err(Fault::plain(Code::IncorrectParameters)) };
    if calls.len() > CALLS {
        return Err(Fault::new(Code::IncorrectParameters, format!("more than {CALLS} calls")));
    }
    Ok(calls.into_iter().map(one_of_many).collect())
}

fn one_of_many(value: Value) -> Result<Call> {
    let mut members = if let Value::Struct(members) = value { members } else { BTreeMap::new() };
    let Some(Value::String(name)) = members.remove("methodName") else {
        return Err(Fault::new(Code::IncorrectParameters, "No methodName"));
    };
    let params = match members.remove("params") {
        Some(Value::Array(params)) => params,
        None => Vec::new(),
        Some(_) => return Err(Fault::plain(Code::IncorrectParameters)),
    };
    call(&name, params, true)
}

/// The arguments that are left.
struct Params(std::vec::IntoIter<Value>);

impl Params {
    fn text(&mut self) -> Result<String> {
        match self.0.next() {
            Some(Value::String(text)) => Ok(text),
            _ => Err(Fault::plain(Code::IncorrectParameters)),
        }
    }

    /// `wait`, true unless it is said otherwise.
    fn wait(&mut self) -> bool {
        self.0.next().is_none_or(|value| value.is_true())
    }

    fn int(&mut self) -> Result<i64> {
        match self.0.next() {
            Some(Value::Int(number)) => Ok(number.into()),
            _ => Err(Fault::plain(Code::IncorrectParameters)),
        }
    }

    fn window(&mut self) -> Result<Window> {
        Ok(Window { offset: self.int()?, length: self.int()? })
    }

    /// A name with or without `SIG`, or a number.
    fn signal(&mut self) -> Result<Action> {
        let text = match self.0.next() {
            Some(Value::String(text)) => text,
            Some(Value::Int(number)) => number.to_string(),
            _ => return Err(Fault::plain(Code::IncorrectParameters)),
        };
        signal::number(&text).map(Action::Signal).ok_or_else(|| Fault::new(Code::BadSignal, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(method: &str, params: &[Value]) -> Result<Call> {
        read(Request { method: method.to_owned(), params: params.to_vec() })
    }

    fn code(method: &str, params: &[Value]) -> Option<Code> {
        reads(method, params).err().map(|fault| fault.code)
    }

    #[test]
    fn every_method_is_read() {
        for method in methods::METHODS {
            let argument = |of: &&str| match *of {
                "int" => Value::Int(1),
                "boolean" => Value::Boolean(true),
                "array" => Value::Array(Vec::new()),
                _ => Value::text("HUP"),
            };
            let params: Vec<Value> = method.signature[1..].iter().map(argument).collect();
            assert!(reads(method.name, &params).is_ok(), "{}", method.name);
            assert!(reads(method.name, &params[..method.required]).is_ok(), "{}", method.name);
            let more = [&params[..], &[Value::Int(1)]].concat();
            assert_eq!(code(method.name, &more), Some(Code::IncorrectParameters), "{}", method.name);
        }
    }

    #[test]
    fn what_is_no_method_or_no_argument() {
        for name in
            ["", "x", "supervisor.x", "supervisor._update", "supervisor.a.b", "startProcess", "fast.stopProcess"]
        {
            assert_eq!(code(name, &[]), Some(Code::UnknownMethod), "{name}");
        }
        assert_eq!(code("supervisor.startProcess", &[]), Some(Code::IncorrectParameters));
        assert_eq!(code("supervisor.startProcess", &[Value::Int(1)]), Some(Code::IncorrectParameters));
        let name = Value::text("a");
        assert_eq!(code("supervisor.signalProcess", &[name.clone(), Value::text("FOO")]), Some(Code::BadSignal));
        assert_eq!(
            code("supervisor.sendProcessStdin", &[name.clone(), Value::Int(1)]),
            Some(Code::IncorrectParameters)
        );
        let stop = Call::Change(Action::Signal(15), Names::One("a".to_owned()));
        for signal in [Value::text("15"), Value::Int(15), Value::text("sigterm"), Value::text("TERM")] {
            assert_eq!(reads("supervisor.signalProcess", &[name.clone(), signal]), Ok(stop.clone()));
        }
    }

    #[test]
    fn a_multicall_is_not_recursive() {
        let one = |name: &str| Value::structure([("methodName", Value::text(name))]);
        let calls = Value::Array(vec![one("supervisor.getPID"), one("system.multicall"), one("x"), Value::Int(1)]);
        let Ok(Call::Multicall(calls)) = reads("system.multicall", &[calls]) else { panic!() };
        assert_eq!(calls[0], Ok(Call::Pid));
        let codes: Vec<_> = calls[1..].iter().map(|call| call.as_ref().unwrap_err().code).collect();
        assert_eq!(codes, [Code::IncorrectParameters, Code::UnknownMethod, Code::IncorrectParameters]);
        let many = Value::Array(vec![one("supervisor.getPID"); CALLS + 1]);
        assert_eq!(code("system.multicall", &[many]), Some(Code::IncorrectParameters));
    }
}
