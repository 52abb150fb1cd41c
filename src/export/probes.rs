//! Probes: one of copse-notify becomes one of the kubelet.

use std::collections::BTreeMap;

use super::findings::{Findings, Member};
use super::manifest::{Action, Container, Probe};
use super::text::{Expansion, escaped};
use crate::model::{self, Ready, Service, Text};

/// `failureThreshold` without end.
const NEVER: i64 = i32::MAX as i64;
/// Of a readinessProbe, the defaults of Kubernetes.
const READINESS: (i64, i64) = (10, 3);

const LOOPBACK: &str = "probes a loopback address, and the kubelet probes the address of the pod: the process must listen \
                        on that too";

/// Adds the probes of `service` to its container.
pub fn add(
    container: &mut Container,
    member: &Member<'_>,
    service: &Service,
    at: &Expansion<'_>,
    found: &mut Findings<'_>,
) {
    let action = ready(container, member, service, at, found);
    if let Some(action) = action {
        let failures = service.timeout_start.positive().map_or(NEVER, |span| span.as_millis().div_ceil(1000) as i64);
        container.startup = Some(Probe { action: action.clone(), period: 1, failures: failures.min(NEVER) });
        let is_ready = matches!(service.ready, Ready::Probe(_)) && service.essential;
        container.readiness = is_ready.then_some(Probe { action, period: READINESS.0, failures: READINESS.1 });
    }
    if let Some(health) = &service.health {
        let action = one(&health.probes, "health", member, service, at, found);
        let period = health.interval.value.finite().map_or(10, |span| span.as_millis().div_ceil(1000) as i64);
        let failures = i64::from(health.failures);
        container.liveness = action.map(|action| Probe { action, period: period.max(1), failures });
    }
}

fn ready(
    container: &Container,
    member: &Member<'_>,
    service: &Service,
    at: &Expansion<'_>,
    found: &mut Findings<'_>,
) -> Option<Action> {
    let give = "write a probe such as `ready = { listening = \"{env:PORT}\" }` in a drop-in for `--with`";
    let mut refuse = |why: &str, instead: &str| {
        found.refuse(member, "ready", why, instead);
        None
    };
    match &service.ready {
        Ready::Exec => container.port.map(|port| Action::Tcp { host: None, port: i64::from(port) }),
        Ready::Oneshot => {
            let why = "a container that exits is started again";
            refuse(
                why,
                "make the process a setup step, or write `hold = true` in a drop-in for `--with` to leave it out",
            )
        }
        Ready::Notify => refuse("Kubernetes does not read READY=1", give),
        Ready::Dbus(_) => refuse("a pod has no bus", give),
        Ready::PidFile(_) => {
            refuse("a container ends when its first process does", "run the program in the foreground")
        }
        Ready::Probe(probes) => one(probes, "ready", member, service, at, found),
    }
}

/// The action of the only probe.
fn one(
    probes: &[model::Probe],
    key: &str,
    member: &Member<'_>,
    service: &Service,
    at: &Expansion<'_>,
    found: &mut Findings<'_>,
) -> Option<Action> {
    let [probe] = probes else {
        let instead = "write one probe in a drop-in for `--with`, for example a `command` that checks both";
        found.refuse(member, key, "a probe of Kubernetes has one action", instead);
        return None;
    };
    let result = action(probe, &service.environment, at);
    match result {
        Ok((action, is_loopback)) => {
            if is_loopback {
                found.note(member, key, LOOPBACK);
            }
            Some(action)
        }
        Err((why, instead)) => {
            found.refuse(member, key, &why, instead);
            None
        }
    }
}

type Refusal = (String, &'static str);

/// The action, and whether the probe is of a loopback address.
fn action(
    probe: &model::Probe,
    variables: &BTreeMap<String, Text>,
    at: &Expansion<'_>,
) -> Result<(Action, bool), Refusal> {
    let resolved = |text: &Text| at.resolved(text, variables).map_err(no_value);
    let other = "write an `http`, `tcp`, `listening`, `command` or `file` probe in a drop-in for `--with`";
    match probe {
        model::Probe::Tcp(address) => {
            let address = resolved(address)?;
            let (host, port) = address.rsplit_once(':').unwrap_or((&address, ""));
            Ok((Action::Tcp { host: elsewhere(host), port: number(port)? }, is_loopback(host)))
        }
        model::Probe::Listening(port) => Ok((Action::Tcp { host: None, port: number(&resolved(port)?)? }, false)),
        model::Probe::Http(_, statuses) if !statuses.is_empty() && statuses != &["200-399"] => {
            Err(("Kubernetes takes the statuses 200 to 399 as success, and no others".to_owned(), "remove `status`"))
        }
        model::Probe::Http(url, _) => {
            let url = resolved(url)?;
            let why = || ("Kubernetes cannot probe a Unix socket".to_owned(), other);
            let rest = url.strip_prefix("http://").ok_or_else(why)?;
            let (address, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            let (host, port) = match address.rsplit_once(':') {
                Some((host, port)) if !port.contains(']') => (host, number(port)?),
                _ => (address, 80),
            };
            let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
            Ok((Action::Http { host: elsewhere(host), port, path }, is_loopback(host)))
        }
        model::Probe::Command(argv) => {
            // A kubelet expands the variables of these commands, too.
            let words: Result<Vec<String>, Refusal> =
                argv.iter().map(|text| resolved(text).map(|text| escaped(&text))).collect();
            Ok((Action::Exec(words?), false))
        }
        model::Probe::File(path) => {
            Ok((Action::Exec(vec!["test".to_owned(), "-e".to_owned(), escaped(&resolved(path)?)]), false))
        }
        model::Probe::Unix(_) => Err(("Kubernetes cannot probe a Unix socket".to_owned(), other)),
        model::Probe::Fd(_) => Err(("Kubernetes does not hand a descriptor to a process".to_owned(), other)),
    }
}

pub fn no_value(name: &str) -> Refusal {
    (format!("`{{env:{name}}}` has no value in `environment`"), "add the variable to `environment`")
}

fn number(port: &str) -> Result<i64, Refusal> {
    let is_port = |number: &i64| (1..=65_535).contains(number);
    let why = || (format!("`{port}` is not a port"), "write the port of the probe as a number");
    port.parse().ok().filter(is_port).ok_or_else(why)
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.starts_with("127.") || matches!(host, "::1" | "[::1]")
}

/// The host of a probe that is not of the pod.
fn elsewhere(host: &str) -> Option<String> {
    let is_own = is_loopback(host) || matches!(host, "" | "*" | "0.0.0.0" | "::" | "[::]");
    (!is_own).then(|| host.trim_matches(['[', ']']).to_owned())
}
