//! Finds ports that two processes of a group have: the second one to start cannot listen.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::document::KeySpan;
use crate::model::parse::address::Address;
use crate::model::parse::member::Member;
use crate::model::service::Service;
use crate::model::types::Process;
use crate::unit::Section;
use crate::unit::name::ProcessName;

/// At most this many addresses on one port are compared with another one: PID 1 waits for the generator.
const COMPARED: usize = 64;

/// A port that a process has.
struct Claim<'a> {
    process: &'a ProcessName,
    instance: Option<&'a str>,
    address: Address,
    location: KeySpan<'a>,
}

impl Claim<'_> {
    /// `web`, `web@2`
    fn owner(&self) -> String {
        self.instance.map_or(self.process.to_string(), |instance| format!("{}@{instance}", self.process))
    }
}

/// Checks `port` and `listen` of the processes that the group starts, but for those with a network of their own or with
/// shared ports. A process that is started manually may replace another one.
pub fn check<'a>(
    members: &'a [Member<'a>],
    processes: &'a BTreeMap<ProcessName, Process>,
    diagnostics: &mut Diagnostics,
) {
    let claims = members.iter().filter_map(|member| Some((member, processes.get(member.name)?)));
    let claims = claims.filter(|(_, process)| process.is_awaited() && !is_apart(&process.service));
    let claims: Vec<_> = claims.flat_map(|(member, process)| claims_of(member, process)).collect();
    let mut at_port: HashMap<(bool, u16), Vec<&Claim<'_>>> = HashMap::new();
    let mut reported = BTreeSet::new();
    for claim in &claims {
        let (Address::Tcp(_, port) | Address::Udp(_, port)) = &claim.address else { continue };
        let others = at_port.entry((matches!(claim.address, Address::Udp(..)), *port)).or_default();
        let meets = |other: &&&Claim<'_>| other.process != claim.process && other.address.meets(&claim.address);
        match others.iter().take(COMPARED).find(meets) {
            Some(other) if reported.insert((claim.process, other.process)) => {
                diagnostics.push(same(claim, other, *port));
            }
            _ => others.push(claim),
        }
    }
}

fn is_apart(service: &Service) -> bool {
    const APART: [(Section, &str); 3] = [
        (Section::Service, "PrivateNetwork"),
        (Section::Service, "NetworkNamespacePath"),
        (Section::Socket, "ReusePort"),
    ];
    service.pass.0.iter().any(|(section, directive, _)| APART.contains(&(*section, directive.as_str())))
}

fn claims_of<'a>(member: &'a Member<'a>, process: &'a Process) -> Vec<Claim<'a>> {
    let mut claims = Vec::new();
    let mut add = |key: &str, instance: Option<&'a str>, address: Option<Address>| {
        if let Some((address, entry)) = address.zip(member.table.get(key)) {
            claims.push(Claim { process: member.name, instance, address, location: entry.key });
        }
    };
    let instances = || process.instances.iter().flatten();
    match &process.instances {
        None => add("port", None, Address::of_port(&process.service)),
        Some(_) => instances().for_each(|(instance, service)| {
            add("port", Some(instance.as_str()), Address::of_port(service.as_ref().unwrap_or(&process.service)));
        }),
    }
    for socket in &process.sockets {
        for (directive, text) in &socket.listen {
            if !socket.each_instance {
                add("listen", None, Address::of_socket(directive, text, None));
                continue;
            }
            for (instance, _) in instances() {
                let instance = instance.as_str();
                add("listen", Some(instance), Address::of_socket(directive, text, Some(instance)));
            }
        }
    }
    claims
}

fn same(claim: &Claim<'_>, other: &Claim<'_>, port: u16) -> Diagnostic {
    let message = format!("`{}` and `{}` have the same port {port}", other.owner(), claim.owner());
    let counts = |claim: &&&Claim<'_>| claim.location.text() == Some("port") && claim.instance.is_some();
    let help = match [claim, other].iter().find(counts) {
        Some(claim) => {
            format!("choose another port, as `{}` uses the next one for each further instance", claim.process)
        }
        None => "choose another port for one of them".to_owned(),
    };
    let diagnostic = Diagnostic::new(Code::SamePort, &claim.location, message);
    diagnostic.related(&other.location, format!("`{}` has it here", other.owner())).help(help)
}
