//! Keys that mean something else in Kubernetes: what is found by the presence or the value of each.

use super::findings::{Findings, Member};
use super::keys;
use super::options::Options;
use super::security::directive;
use super::units::Unit;
use crate::basic::diagnostic::SourceLocation;
use crate::group_file::document::{Entry, Table};
use crate::model::{FailurePolicy, Group, PassThrough, Refresh, Restart, Start};
use crate::unit::Section;

/// Reports the keys of all tables of the group but for those of processes that are left out.
pub fn tables(document: &Table<'_>, group: &Group, found: &mut Findings<'_>) {
    found.table(keys::GROUP, &document.written_order());
    if let Some(defaults) = document.table("defaults") {
        found.table(keys::MEMBER, &defaults.written_order());
    }
    for kind in ["setup", "process"] {
        for entry in document.table(kind).map_or_else(Vec::new, Table::written_order) {
            let is_held = group.processes.iter().any(|(name, process)| process.hold && entry.name == name.as_str());
            let Some(table) = entry.node.as_table().filter(|_| !(is_held && kind == "process")) else { continue };
            found.table(keys::MEMBER, &table.written_order());
            for instance in table.table("instance").map_or_else(Vec::new, Table::written_order) {
                let own = instance.node.as_table().map_or_else(Vec::new, Table::written_order);
                found.table(keys::MEMBER, &own);
            }
        }
    }
    if group.failure_policy == FailurePolicy::Stop {
        let instead = "write `failure-policy = \"continue\"` in a drop-in for `--with`";
        found.refuse_group("failure-policy", "Kubernetes never gives a container up", instead);
    }
    for key in ["target", "slice"] {
        for entry in document.table(key).map_or_else(Vec::new, Table::written_order) {
            pass_through(entry, found);
        }
    }
}

/// Reports values of one unit.
pub fn unit(unit: &Unit<'_>, options: &Options, found: &mut Findings<'_>) {
    let (member, service) = (&unit.member, unit.service);
    restart(unit, found);
    match directive(service, "KillSignal") {
        None | Some("SIGTERM") => {}
        Some(_) => {
            let instead =
                "set STOPSIGNAL in the image, and write `kill-signal = \"SIGTERM\"` in a drop-in for `--with`";
            found.refuse(member, "kill-signal", "a manifest cannot choose the signal", instead);
        }
    }
    match directive(service, "KillMode") {
        Some("mixed") | None => {}
        Some("control-group") if found.entry(member, "kill-mode").is_some() => {
            found.note(member, "kill-mode", "becomes \"mixed\": only the first process of a container gets SIGTERM");
        }
        Some("control-group") => {}
        Some(_) => {
            let instead = "write `kill-mode = \"mixed\"` in a drop-in for `--with`";
            found.refuse(member, "kill-mode", "Kubernetes kills all processes of a container", instead);
        }
    }
    if directive(service, "SendSIGHUP") == Some("yes") {
        let instead = "write `send-sighup = false` in a drop-in for `--with`";
        found.refuse(member, "send-sighup", "Kubernetes sends one signal", instead);
    }
    if let Some(process) = unit.process {
        let word = match process.change.refresh {
            Refresh::Keep => Some("keeps no container of an older definition"),
            Refresh::Reload => Some("does not reload a process"),
            Refresh::Restart | Refresh::Roll => None,
        };
        if let Some(why) = word {
            let instead = "write `refresh = \"restart\"` in a drop-in for `--with`";
            found.refuse(member, "refresh", &format!("Kubernetes {why}"), instead);
        }
    } else {
        step(unit, options, found);
    }
    directives(member, &service.pass, found);
}

fn step(unit: &Unit<'_>, options: &Options, found: &mut Findings<'_>) {
    if found.entry(&unit.member, "timeout-start-sec").is_some() {
        found.note(&unit.member, "timeout-start-sec", "is left out, because an init container has no time limit");
    }
    if options.split {
        found.note_at(
            unit.member.header.clone(),
            unit.member.name.as_str(),
            "runs in the pods of each process that waits for it",
            None,
        );
    }
}

fn restart(unit: &Unit<'_>, found: &mut Findings<'_>) {
    let is_written = found.entry(&unit.member, "restart").is_some();
    let differs = match (unit.process.map(|process| &process.start), unit.service.restart) {
        (None, restart) => !matches!(restart, Restart::No | Restart::OnFailure),
        (Some(Start::Timed(_)), restart) => !matches!(restart, Restart::No | Restart::OnFailure),
        (Some(_), restart) => restart != Restart::Always,
    };
    if is_written && differs {
        let becomes = match unit.is_timed() || unit.process.is_none() {
            true => "becomes \"on-failure\"",
            false => "becomes \"always\": Kubernetes starts a container again whatever its exit status",
        };
        found.note(&unit.member, "restart", becomes);
    }
}

/// Pass-through directives of a unit.
fn directives(member: &Member<'_>, pass: &PassThrough, found: &mut Findings<'_>) {
    for (section, name, _) in &pass.0 {
        let table = match section {
            Section::Unit => "unit",
            Section::Socket => "socket",
            Section::Timer => "timer",
            _ => "service",
        };
        if let Some(entry) = found.directive(member, table, name) {
            pass_through(entry, found);
        }
    }
}

fn pass_through(entry: &Entry<'_>, found: &mut Findings<'_>) {
    let location = SourceLocation::from(entry);
    let name = format!("{}=", entry.name);
    if keys::is_tuning(&entry.name) {
        found.note_at(location, &name, "is left out, because a pod has no units", None);
    } else {
        let instead =
            format!("write `{} = false` in the same table of a drop-in for `--with` to leave it out", entry.name);
        found.refuse_at(location, &name, "a pod has no units", &instead);
    }
}
