//! What `copse-generator` does: it writes the units of every group into systemd's directory. A broken group does not
//! affect the others.
//!
//! A group whose file is broken gets its last good units of this boot; without any, a `G.target` whose start fails and
//! reports why. Pinned units are generated from the version of the group file that they are pinned to. A unit that was
//! removed from its group while it runs is kept. What a group was generated from is noted in its history.

pub mod installed;
pub mod kmsg;
pub mod load;
mod orphans;
mod report;
mod run;
pub mod running;

use std::path::Path;

use self::kmsg::Log;
use self::load::{GroupOutcome, guarded};
use self::run::Run;
use crate::basic::clock::Monotonic;
use crate::basic::diagnostic::{Code, Diagnostic, Severity};
use crate::basic::scope::Directories;
use crate::group_file::discover;
use crate::model::Context;
use crate::state::history::StartHistory;
use crate::unit::tree::write::Writer;

/// How many CPUs this process may use: the value of `"cpus"` (sched_getaffinity(2)).
pub fn cpus() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count().max(1))
}

/// Writes all units to `output`, and logs the diagnostics. Returns whether there was no error.
///
/// The state is updated only if `output` is the service manager's own directory: `systemd-analyze verify` and others run
/// generators, too.
pub fn run(output: &Path, directories: &Directories) -> bool {
    let began = Monotonic::now();
    let mut log = Log::open(directories);
    let mut writer = match Writer::open(output) {
        Ok(writer) => writer,
        Err(error) => {
            log.line(3, &format!("{}: error[{}]: {error}", output.display(), Code::Write));
            return false;
        }
    };
    let mut good = true;
    let mut report = |diagnostic: &Diagnostic| {
        log.diagnostic(diagnostic);
        good &= diagnostic.severity() != Severity::Error;
    };
    let read = StartHistory::read(directories);
    read.as_ref().err().into_iter().for_each(&mut report);
    let unreadable = read.is_err();
    let context = Context { scope: directories.scope, cpus: cpus() };
    let found = discover::find(directories);
    found.diagnostics.iter().for_each(&mut report);
    let mut run = Run::new(began, directories, context, read.unwrap_or_default(), &mut writer);
    // An unreadable file is replaced.
    run.changed = unreadable;
    let without_file = run.without_file(&found.groups);
    let mut finish = |run: &mut Run, mut group: GroupOutcome| {
        let path = group.path.clone();
        if let Err(panic) = guarded(&path, || run.group(&mut group)) {
            group.diagnostics.push(panic);
        }
        group.diagnostics.iter().for_each(&mut report);
    };
    // One after the other, so that a thousand groups are not in memory at once. Broken and pinned ones come last: by then
    // it is known which unit names their older versions may use.
    let mut later = Vec::new();
    for group in found.groups {
        let group = run.checks.read(group, &context);
        match group.group {
            Some(_) if !run.pinned.contains(&group.name) => finish(&mut run, group),
            _ => later.push(group),
        }
    }
    later.into_iter().for_each(|group| finish(&mut run, group));
    without_file.into_iter().for_each(|name| run.note_group_removed(name));
    run.keep_orphans().iter().for_each(&mut report);
    let Run { history, changed, .. } = run;
    let own = directories.generator.as_ref().is_some_and(|own| directories.rooted(own) == output);
    if own
        && changed
        && let Err(diagnostic) = history.write(directories)
    {
        report(&diagnostic);
    }
    good
}
