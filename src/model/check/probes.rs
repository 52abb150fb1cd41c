//! Finds probes that something else answers, and so report nothing about their process.
//!
//! The kernel accepts a connection to a socket of `listen` as soon as systemd listens on it. At a socket that instances
//! share any of them answers, and at a literal port the instance with that `port` does.

use std::collections::{BTreeMap, HashMap};

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::document::{Entry, Table};
use crate::model::parse::address::Address;
use crate::model::service::{Probe, Ready, Service};
use crate::model::types::Socket;
use crate::unit::name::InstanceName;

type Instances = BTreeMap<InstanceName, Option<Service>>;

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
    let names: Vec<Option<&InstanceName>> = match instances {
        None => vec![None],
        Some(instances) => instances.keys().map(Some).collect(),
    };
    let own = |name: &InstanceName, key: &str| table.table("instance")?.table(name.as_str())?.get(key);
    let listeners = Listeners { sockets, ports: ports(table, instances), instances: names.len() };
    let mut check = |key: &str, entry: Option<&Entry>, probes: &[Probe], of: &[Option<&InstanceName>]| {
        let Some(entry) = entry else { return };
        for probe in probes {
            if let Some((message, help)) = of.iter().find_map(|name| listeners.other(key, probe, *name)) {
                diagnostics.push(Diagnostic::new(Code::EmptyProbe, entry, format!("`{key}` {message}")).help(help));
            }
        }
    };
    for key in ["ready", "health"] {
        let common: Vec<_> =
            names.iter().copied().filter(|name| name.is_none_or(|name| own(name, key).is_none())).collect();
        check(key, table.get(key), probes(template, key), &common);
        for (name, service) in instances.into_iter().flatten() {
            check(key, own(name, key), service.as_ref().map_or(&[], |service| probes(service, key)), &[Some(name)]);
        }
    }
    check("settled", table.get("settled"), settled, &names);
}

/// The instance that has a port.
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

/// The sockets and ports of a process.
struct Listeners<'i> {
    sockets: &'i [Socket],
    ports: HashMap<u16, &'i InstanceName>,
    /// The number of instances.
    instances: usize,
}

impl Listeners<'_> {
    /// How something other than the instance can answer a probe, and what to write instead.
    fn other(&self, key: &str, probe: &Probe, name: Option<&InstanceName>) -> Option<(String, String)> {
        let address = Address::of_probe(probe, name.map(InstanceName::as_str))?;
        let notify = if key == "ready" { ", or use `ready = \"notify\"`" } else { "" };
        let count = self.instances;
        if let Some(socket) = self.sockets.iter().find(|socket| is_at(socket, &address, name)) {
            if matches!(probe, Probe::Tcp(_) | Probe::Unix(_)) {
                let message = "connects to a socket that systemd listens on (`listen`): it succeeds even if the process \
                               never accepts";
                return Some((message.to_owned(), format!("probe with `http`, `command` or `file`{notify}")));
            }
            if count > 1 && !socket.each_instance {
                let message = format!("probes a socket shared by {count} instances: any instance may answer");
                let help = "probe an address of each instance, with `{instance}` in it, or with `command` or `file`";
                return Some((message, format!("{help}{notify}")));
            }
        }
        let owner = self.ports.get(&address.port_of_this_machine()?).filter(|owner| Some(**owner) != name)?;
        let message = format!("probes the port of instance `{owner}` for all {count} instances");
        Some((message, "write the port as `{env:PORT}`, which is the own port of each instance".to_owned()))
    }
}

/// True if a connection of this instance to `address` reaches the socket.
fn is_at(socket: &Socket, address: &Address, name: Option<&InstanceName>) -> bool {
    let instance = name.map(InstanceName::as_str);
    let mut own = socket.listen.iter().filter_map(|(directive, text)| Address::of_socket(directive, text, instance));
    own.any(|own| own.meets(address))
}
