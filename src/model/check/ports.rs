//! A port that two processes of a group have: the second one that starts can't listen there.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::document::KeySpan;
use crate::model::parse::address::Address;
use crate::model::parse::process::Merged;
use crate::model::{Process, Service};
use crate::unit::Section;
use crate::unit::name::ProcessName;

/// How many on one port are compared with another, each on an address of its own: nobody writes more, and PID 1 waits.
const COMPARED: usize = 64;

/// A port that a process has.
struct Claim<'a> {
    process: &'a ProcessName,
    instance: Option<&'a str>,
    address: Address,
    place: KeySpan<'a>,
}

impl Claim<'_> {
    /// `web`, `web@2`
    fn owner(&self) -> String {
        self.instance.map_or(self.process.to_string(), |instance| format!("{}@{instance}", self.process))
    }
}

/// Ports by `port` and by `listen`, of what the group starts and what doesn't say that it is alone in a network, or that
/// it shares its ports. What is started by hand may be there instead of another.
pub fn check<'a>(
    members: &'a [Merged<'a>],
    processes: &'a BTreeMap<ProcessName, Process>,
    diagnostics: &mut Diagnostics,
) {
    let claims = members.iter().filter_map(|member| Some((member, processes.get(member.name)?)));
    let claims = claims.filter(|(_, process)| process.is_awaited() && !is_apart(&process.service));
    let claims: Vec<_> = claims.flat_map(|(member, process)| claims_of(member, process)).collect();
    let mut at_port: HashMap<(bool, u16), Vec<&Claim<'_>>> = HashMap::new();
    let mut said = BTreeSet::new();
    for claim in &claims {
        let (Address::Tcp(_, port) | Address::Udp(_, port)) = &claim.address else { continue };
        let others = at_port.entry((matches!(claim.address, Address::Udp(..)), *port)).or_default();
        let meets = |other: &&&Claim<'_>| other.process != claim.process && other.address.meets(&claim.address);
        match others.iter().take(COMPARED).find(meets) {
            Some(other) if said.insert((claim.process, other.process)) => {
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

fn claims_of<'a>(member: &'a Merged<'a>, process: &'a Process) -> Vec<Claim<'a>> {
    let mut claims = Vec::new();
    let mut add = |key: &str, instance: Option<&'a str>, address: Option<Address>| {
        if let Some((address, entry)) = address.zip(member.table.get(key)) {
            claims.push(Claim { process: member.name, instance, address, place: entry.key });
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
    let counts = |one: &&Claim<'_>| one.place.text() == Some("port") && one.instance.is_some();
    let counting = [claim, other].into_iter().find(|one| counts(one));
    let help = match counting {
        Some(one) => format!(
            "the first instance of `{}` has the port that is written, and each further one the next",
            one.process
        ),
        None => "give one of them another".to_owned(),
    };
    let diagnostic = Diagnostic::new(Code::SamePort, &claim.place, message);
    diagnostic.related(&other.place, format!("`{}` has it here", other.owner())).help(help)
}
