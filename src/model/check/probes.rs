//! Whom a probe asks: one that somebody else answers says nothing of the process.

use std::collections::{BTreeMap, HashMap};

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::document::{Entry, Table};
use crate::model::parse::address::Address;
use crate::model::{Probe, Ready, Service, Socket};
use crate::unit::name::InstanceName;

type Instances = BTreeMap<InstanceName, Option<Service>>;

/// Finds probes that mean nothing. A connection to a socket of `listen` is accepted by the kernel as soon as systemd
/// holds it; what is asked at one that instances share is answered by any of them, and at a port that is written
/// literally by the instance whose `port` that is.
pub fn check(
    table: &Table,
    template: &Service,
    settled: &[Probe],
    instances: Option<&Instances>,
    sockets: &[Socket],
    diagnostics: &mut Diagnostics,
) {
    let has = |key: &&str| table.get(key).is_some();
    if sockets.is_empty() && !has(&"port") || !["ready", "health", "settled", "instance"].iter().any(has) {
        return;
    }
    let all: Vec<Option<&InstanceName>> = match instances {
        None => vec![None],
        Some(instances) => instances.keys().map(Some).collect(),
    };
    let own = |name: &InstanceName, key: &str| table.table("instance")?.table(name.as_str())?.get(key);
    let process = Asked { sockets, ports: ports(table, instances), count: all.len() };
    for key in ["ready", "health"] {
        let common = all.iter().copied().filter(|name| name.is_none_or(|name| own(name, key).is_none()));
        if let Some(entry) = table.get(key) {
            diagnostics.extend(process.check(key, entry, probes(template, key), &common.collect::<Vec<_>>()));
        }
        for (name, service) in instances.into_iter().flatten() {
            if let (Some(entry), Some(service)) = (own(name, key), service) {
                diagnostics.extend(process.check(key, entry, probes(service, key), &[Some(name)]));
            }
        }
    }
    if let Some(entry) = table.get("settled") {
        diagnostics.extend(process.check("settled", entry, settled, &all));
    }
}

/// Which instance has a port.
fn ports<'i>(table: &Table, instances: Option<&'i Instances>) -> HashMap<u16, &'i InstanceName> {
    let instances = instances.into_iter().flatten().filter(|_| table.get("port").is_some());
    let port = |service: &Service| Address::of_port(service)?.port_of_this_machine();
    instances.filter_map(|(name, service)| Some((port(service.as_ref()?)?, name))).collect()
}

fn probes<'s>(service: &'s Service, key: &str) -> &'s [Probe] {
    match (&service.ready, &service.health) {
        (Ready::Probe(probes), _) if key == "ready" => probes,
        (_, Some(health)) if key == "health" => &health.probes,
        _ => &[],
    }
}

/// A process as probes find it.
struct Asked<'i> {
    sockets: &'i [Socket],
    ports: HashMap<u16, &'i InstanceName>,
    /// Of instances.
    count: usize,
}

impl Asked<'_> {
    /// What is to be said of these probes of these instances.
    fn check(&self, key: &str, entry: &Entry, probes: &[Probe], of: &[Option<&InstanceName>]) -> Diagnostics {
        let mut found = Diagnostics::default();
        for probe in probes {
            let why = of.iter().find_map(|name| self.why_empty(key, probe, *name));
            if let Some((message, help)) = why {
                found.push(Diagnostic::new(Code::EmptyProbe, &entry.key, message).help(help));
            }
        }
        found
    }

    /// Why this probe says nothing of this instance, and what to write instead.
    fn why_empty(&self, key: &str, probe: &Probe, name: Option<&InstanceName>) -> Option<(String, String)> {
        let asked = Address::of_probe(probe, name.map(InstanceName::as_str))?;
        let notify = if key == "ready" { ", or use `ready = \"notify\"`" } else { "" };
        if let Some(socket) = self.sockets.iter().find(|socket| is_at(socket, &asked, name)) {
            if matches!(probe, Probe::Tcp(_) | Probe::Unix(_)) {
                let message = format!(
                    "`{key}` connects to a socket that systemd holds (`listen`): that succeeds as soon as it is there, whatever the process does"
                );
                return Some((message, format!("ask for an answer, by `http`, `command` or `file`{notify}")));
            }
            if self.count > 1 && !socket.each_instance {
                let message = format!(
                    "`{key}` asks at a socket that the {} instances share: any of them answers for the one that is meant",
                    self.count
                );
                let help = format!(
                    "ask each at an address of its own, with `{{instance}}` in it, or by `command` or `file`{notify}"
                );
                return Some((message, help));
            }
        }
        let who = self.ports.get(&asked.port_of_this_machine()?).filter(|who| Some(**who) != name)?;
        let message = format!("`{key}` asks at the port of instance `{who}`, whichever of the {} is meant", self.count);
        Some((message, "write the port as `{env:PORT}`: that is each instance's own".to_owned()))
    }
}

/// Whether who asks there is answered at this socket.
fn is_at(socket: &Socket, asked: &Address, name: Option<&InstanceName>) -> bool {
    let instance = name.map(InstanceName::as_str);
    let addresses = socket.listen.iter().filter_map(|(directive, text)| Address::of_socket(directive, text, instance));
    addresses.into_iter().any(|address| address.meets(asked))
}
