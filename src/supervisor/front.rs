//! Carries out what clients ask for, on the units of the group.

mod config;
mod control;
mod logs;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::call::{Call, Names};
use super::fault::{Code, Fault, Result};
use super::info;
use super::memory::Memory;
use super::methods;
use super::methods::METHODS;
use super::peer::Peer;
use super::roster::{Named, Roster};
use super::value::Value;
use crate::basic::clock::{Monotonic, Realtime};
use crate::basic::scope::Scope;
use crate::manager::jobs::Jobs;
use crate::manager::process_state::{ProcessState, process_state};
use crate::manager::properties::Properties;
use crate::manager::state::JobType;
use crate::manager::{Connected, is_refusal};
use crate::model::supervisor_table::Entry;
use crate::unit::name;
use crate::unit::name::GroupName;

/// The interface of supervisord whose clients this answers, and the version that it behaves like.
const API_VERSION: &str = "3.0";
const SUPERVISOR_VERSION: &str = "4.3.0";

/// The group that is answered for.
#[derive(Debug)]
pub struct Front {
    scope: Scope,
    group: GroupName,
    jobs: Jobs,
    memory: Memory,
}

/// Who asks, and what it sees.
#[derive(Debug, Clone, Default)]
struct View {
    /// The process of the group that asks.
    member: Option<Entry>,
    /// `supervisor-view = "own"`: when that process was started.
    own_since: Option<Monotonic>,
}

impl Front {
    pub fn new(scope: Scope, group: GroupName, jobs: Jobs, memory: Memory) -> Self {
        Self { scope, group, jobs, memory }
    }

    pub fn scope(&self) -> Scope {
        self.scope
    }

    fn systemd(&self) -> &Connected {
        self.jobs.systemd()
    }

    /// What the generated units say that clients can name, as systemd has loaded them: a group file that changed since,
    /// or is broken, changes no answer.
    pub async fn table(&self) -> Result<Roster> {
        let own = name::own("supervisor", &self.group);
        let data: Vec<u8> =
            self.systemd().service_property(&own, "StandardInputData").await.map_err(|error| failed(&error))?;
        Ok(Roster::parse(&String::from_utf8_lossy(&data)))
    }

    /// The target, by which what was noted is forgotten at its next start.
    async fn target(&self) -> Result<Properties> {
        self.systemd().properties(&name::target(&self.group)).await.map_err(|error| failed(&error))
    }

    fn hidden(&self, target: &Properties) -> BTreeSet<String> {
        self.memory.hidden(run_of(target))
    }

    /// The table with what runs besides, and without what is hidden.
    async fn roster(&self) -> Result<Roster> {
        let (table, target) = (self.table().await?, self.target().await?);
        let hidden = self.hidden(&target);
        Ok(table.with_running(target.consists_of.iter().map(String::as_str)).without(&hidden))
    }

    async fn properties(&self, unit: &str) -> Result<Properties> {
        self.systemd().properties(unit).await.map_err(|error| failed(&error))
    }

    async fn view(&self, peer: &Peer) -> Result<View> {
        let Some(unit) = &peer.unit else { return Ok(View::default()) };
        let Some(member) = self.table().await?.of_unit(unit).cloned() else { return Ok(View::default()) };
        let own_since = match member.own_view {
            true => self.properties(unit).await?.times.main_started,
            false => None,
        };
        Ok(View { member: Some(Entry { unit: unit.clone(), ..member }), own_since })
    }

    /// The group stops: its socket is about to be closed. Not asked of the target, which is inactive after a start that
    /// failed over one essential process.
    async fn is_stopping(&self) -> Result<bool> {
        let socket = name::supervisor_socket(&self.group);
        let rows = self.systemd().list(&[&socket]).await.map_err(|error| failed(&error))?;
        let job = rows.into_iter().next().and_then(|row| row.job);
        Ok(matches!(job, Some(JobType::Stop | JobType::Restart)))
    }

    /// Whether a process of the group that is a client runs. It may call at its end, and a connection that comes while the
    /// socket is about to be closed starts nothing: systemd closes it unanswered.
    pub async fn has_running_client(&self) -> bool {
        let Ok(table) = self.table().await else { return false };
        for entry in table.entries().iter().filter(|entry| entry.client) {
            let Ok(unit) = self.properties(&entry.unit).await else { return false };
            let state = process_state(&unit);
            if state.is_up() || state == ProcessState::Stopping {
                return true;
            }
        }
        false
    }

    /// Answers a call.
    ///
    /// # Errors
    /// The fault that the client gets.
    pub async fn answer(self: &Arc<Self>, call: Call, peer: &Peer) -> Result<Value> {
        match call {
            Call::ListMethods => {
                return Ok(Value::Array(METHODS.iter().map(|method| Value::text(method.name)).collect()));
            }
            Call::MethodHelp(name) => return documented(&name, |method| Value::text(method.help)),
            Call::MethodSignature(name) => {
                let types = |method: &methods::Method| {
                    Value::Array(method.signature.iter().map(|of| Value::text(*of)).collect())
                };
                return documented(&name, types);
            }
            Call::Multicall(calls) => {
                let mut results = Vec::new();
                for call in calls {
                    let result = match call {
                        Ok(call) => Box::pin(self.answer(call, peer)).await,
                        Err(fault) => Err(fault),
                    };
                    results.push(result.unwrap_or_else(|fault| {
                        Value::structure([
                            ("faultCode", Value::Int(fault.number())),
                            ("faultString", Value::text(fault.text())),
                        ])
                    }));
                }
                return Ok(Value::Array(results));
            }
            _ => {}
        }
        if self.is_stopping().await? {
            return Err(Fault::plain(Code::ShutdownState));
        }
        match call {
            Call::ApiVersion => Ok(Value::text(API_VERSION)),
            Call::SupervisorVersion => Ok(Value::text(SUPERVISOR_VERSION)),
            Call::Identification => Ok(Value::text(self.group.as_str())),
            Call::State => Ok(Value::structure([("statecode", Value::Int(1)), ("statename", Value::text("RUNNING"))])),
            Call::Pid => Ok(Value::number(std::process::id().into())),
            Call::ProcessInfo(name) => {
                let entry = self.roster().await?.find_process(&name)?;
                self.info(&entry, &self.view(peer).await?).await
            }
            Call::AllProcessInfo => self.all_info(&self.view(peer).await?).await,
            Call::AllConfigInfo => self.all_config().await,
            Call::Change(action, names) => self.change(action, names, peer).await,
            Call::ReloadConfig => self.reload_config(&self.view(peer).await?).await,
            Call::AddGroup(name) => self.add_group(&name, peer).await,
            Call::RemoveGroup(name) => self.remove_group(&name, peer).await,
            Call::ReadLog(log, window) => self.read_log(&log, window).await,
            Call::TailLog(log, window) => self.tail_log(&log, window).await,
            Call::ClearLog => Err(Fault::new(Code::Failed, JOURNAL)),
            Call::ClearLogs(name) => {
                self.roster().await?.find(&name)?;
                Err(Fault::new(Code::Failed, JOURNAL))
            }
            Call::ClearAllLogs => {
                let roster = self.roster().await?;
                let refused = |entry: &Entry| result(entry, &Err(Fault::new(Code::Failed, JOURNAL)));
                Ok(Value::Array(roster.entries().iter().map(refused).collect()))
            }
            Call::SendStdin(name) => {
                let entry = self.roster().await?.find_process(&name)?;
                match process_state(&self.properties(&entry.unit).await?).is_signallable() {
                    true => Err(Fault::new(Code::NoFile, name)),
                    false => Err(Fault::new(Code::NotRunning, name)),
                }
            }
            Call::SendEvent => Err(Fault::new(Code::Failed, "no event listeners")),
            Call::Shutdown => self.stop_group(peer).await,
            Call::Restart => self.restart_group(peer).await,
            Call::ListMethods | Call::MethodHelp(_) | Call::MethodSignature(_) | Call::Multicall(_) => {
                Err(Fault::plain(Code::UnknownMethod))
            }
        }
    }

    /// The processes of a request.
    async fn named(&self, names: &Names) -> Result<Named> {
        let roster = self.roster().await?;
        match names {
            Names::One(name) => roster.find(name),
            Names::Group(name) => roster.group(name).map(Named::Group),
            Names::All => Ok(Named::Group(roster.entries().to_vec())),
        }
    }

    async fn info(&self, entry: &Entry, view: &View) -> Result<Value> {
        let unit = self.properties(&entry.unit).await?;
        let state = seen_state(entry, &unit, view);
        Ok(info::process(entry, &unit, state, Realtime::now()))
    }

    async fn all_info(&self, view: &View) -> Result<Value> {
        let roster = self.roster().await?;
        let units: Vec<&str> = roster.entries().iter().map(|entry| entry.unit.as_str()).collect();
        let properties = self.systemd().properties_of(&units).await.map_err(|error| failed(&error))?;
        let now = Realtime::now();
        let each = roster.entries().iter().zip(&properties);
        Ok(Value::Array(
            each.map(|(entry, unit)| info::process(entry, unit, seen_state(entry, unit, view), now)).collect(),
        ))
    }
}

const JOURNAL: &str = "the log is in the journal, which is cleared by journalctl --vacuum-time";

/// What tells one run of the group from the next.
fn run_of(target: &Properties) -> u64 {
    target.times.inactive_left.map_or(0, Monotonic::micros)
}

/// The state as the caller sees it. With a view of its own, a manual process that has run since before the caller was
/// started is stopped, for which the caller starts it again.
fn seen_state(entry: &Entry, unit: &Properties, view: &View) -> ProcessState {
    let state = process_state(unit);
    match view.own_since {
        Some(since) if !entry.auto && state.is_up() && unit.times.main_started < Some(since) => ProcessState::Stopped,
        _ => state,
    }
}

fn documented(name: &str, of: impl Fn(&methods::Method) -> Value) -> Result<Value> {
    methods::find(name).map(of).ok_or_else(|| Fault::plain(Code::SignatureUnsupported))
}

/// The result of one process among several.
fn result(entry: &Entry, outcome: &Result<()>) -> Value {
    let (status, description) = match outcome {
        Ok(()) => (super::fault::SUCCESS, "OK".to_owned()),
        Err(fault) => (fault.number(), fault.text()),
    };
    Value::structure([
        ("name", Value::text(&entry.name)),
        ("group", Value::text(&entry.group)),
        ("status", Value::Int(status)),
        ("description", Value::text(description)),
    ])
}

/// `group:name`, or the name alone of a process that is its own group.
fn spelled(entry: &Entry) -> String {
    match entry.group == entry.name {
        true => entry.name.clone(),
        false => format!("{}:{}", entry.group, entry.name),
    }
}

/// Why the service manager refuses.
fn why(error: &zbus::Error, group: &GroupName) -> String {
    match is_refusal(error) {
        true => format!("not permitted; `copse polkit {group}` prints the rule that permits it"),
        false => match error {
            zbus::Error::MethodError(_, Some(message), _) => message.clone(),
            error => error.to_string(),
        },
    }
}

fn failed(error: &zbus::Error) -> Fault {
    Fault::new(Code::Failed, format!("the service manager does not answer: {error}"))
}
