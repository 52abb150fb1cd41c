//! A group becomes units. Nothing here can fail: [`crate::model`] has checked everything.
//!
//! One module per kind of unit. Neither the target nor a sibling `Requires=` a process that may be restarted, because a
//! restart propagates to units that require the process. All units are `PartOf=` the target. The target waits for the
//! processes through a gate, which watches them without depending on them.

mod broken;
mod command;
mod context;
mod hardening;
pub mod marks;
mod options;
mod origin;
mod orphan;
mod pin;
mod process;
mod service;
mod settled;
mod setup;
mod socket;
mod specifiers;
pub mod stamp;
mod supervisor;
mod target;
#[cfg(test)]
mod tests;
mod timer;

use crate::basic::scope::Scope;
use crate::model::{Group, Start};
use crate::unit::directives::Systemd;
use crate::unit::{UnitTree, name};

pub use self::broken::{StartedBy, invalid};
use self::context::Context;
pub use self::options::Options;
pub use self::orphan::orphaned;
pub use self::pin::pin;
pub use self::target::announce;

/// All units of `group`, with their links, as paths below the generator's directory.
pub fn generate(group: &Group, options: Options) -> UnitTree {
    tree(&Context::new(group, options))
}

/// The same units for a package that ships them instead of the group file, as paths below its unit directory. They do not
/// depend on the machine that they are made on. The target has an `[Install]` section, and the generator does not
/// complete it.
pub fn compile(group: &Group, systemd: Systemd) -> UnitTree {
    tree(&Context::compiled(group, systemd))
}

/// The target alone, for a package that ships the group file: with an `[Install]` section, and completed by the generator.
pub fn static_target(group: &Group) -> UnitTree {
    let mut tree = UnitTree::default();
    target::write_static(&Context::compiled(group, Systemd::OLDEST), &mut tree);
    tree
}

fn tree(context: &Context) -> UnitTree {
    let group = context.group;
    let mut tree = UnitTree::default();
    target::write(context, &mut tree);
    supervisor::write(context, &mut tree);
    for (name, process) in &group.processes {
        process::write(context, name, process, &mut tree);
        settled::write(context, name, process, &mut tree);
    }
    for (name, setup) in &group.setup {
        setup::write(context, name, setup, &mut tree);
    }
    tree
}

/// The names of all unit files that [`generate`] makes for `group`: templates and instances, no drop-ins. They must not be
/// another group's, or hide an installed unit. The target comes first, also a static one.
pub fn unit_names(group: &Group) -> Vec<String> {
    let mut names = vec![name::target(&group.name), name::slice(group.scope == Scope::User, &group.name)];
    names.extend(group.setup.keys().map(|setup| name::service(&group.name, setup)));
    for (process, definition) in &group.processes {
        match &definition.instances {
            None => names.push(name::service(&group.name, process)),
            Some(instances) => {
                names.push(name::template(&group.name, process));
                names.extend(instances.keys().map(|instance| name::instance(&group.name, process, instance)));
            }
        }
        if !definition.change.settled.is_empty() {
            let file = match &definition.instances {
                None => name::service(&group.name, process),
                Some(_) => name::template(&group.name, process),
            };
            names.extend(with_instances(name::settled(&file), definition));
        }
        if let Start::Timed(_) = definition.start {
            names.push(name::timer(&group.name, process));
        }
        for socket in &definition.sockets {
            let file = name::socket(&group.name, process, socket.name.as_ref(), socket.each_instance);
            names.extend(with_instances(file, definition));
        }
    }
    names
}

/// A unit file's name and, where it is a template, those of its instances.
fn with_instances(file: String, process: &crate::model::Process) -> Vec<String> {
    let instances = process.instances.iter().flat_map(|instances| instances.keys());
    let mut names = match file.contains('@') {
        true => instances.map(|instance| name::instantiate(&file, instance.as_str())).collect(),
        false => Vec::new(),
    };
    names.insert(0, file);
    names
}
