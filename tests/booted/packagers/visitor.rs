//! Visitors of the example's page, and what they see of an upgrade.

use crate::machines::machine::Machine;
use crate::machines::scope::{Scope, Spawned};

const PROGRAM: &str = "/run/visitor.py";
const END: &str = "/run/visited-enough";

/// They visit from their making on; see visitor.py.
pub struct Visitors<'m> {
    machine: &'m Machine,
    process: Spawned,
}

impl<'m> Visitors<'m> {
    /// Begins to visit the page on the machine's loopback interface.
    pub fn new(machine: &'m Machine) -> Self {
        machine.remove(END);
        machine.write(PROGRAM, include_str!("visitor.py"));
        let process = machine.spawn(&["python3", PROGRAM, "8090", END]);
        Self { machine, process }
    }

    /// Waits until this version of the web program has answered.
    #[track_caller]
    pub fn see(&self, version: &str) {
        let seen = format!("sees {version}\n");
        self.machine.wait_until(&format!("a visitor sees {version}"), || self.process.stdout().contains(&seen));
    }

    /// Ends it. Everybody was answered, and counted once.
    #[track_caller]
    pub fn lost_nothing(self) {
        self.machine.write(END, "");
        let said = self.process.finish().stdout;
        let numbers =
            said.lines().last().unwrap_or_default().split(' ').map(str::parse).collect::<Result<Vec<u32>, _>>();
        let Ok([answered, lost, miscounted]) = numbers.as_deref() else { panic!("the visitors said {said}") };
        assert_eq!((*lost, *miscounted), (0, 0), "{said}");
        assert!(*answered > 50, "{said}");
        eprintln!("{}: {answered} answered, {lost} lost, {miscounted} miscounted", self.machine.version());
    }
}
