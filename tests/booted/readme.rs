//! What the README tells a newcomer first: pasted and typed as it stands there.

#[allow(dead_code)]
#[path = "../readme/mod.rs"]
mod first;

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[situation!(the_first_group_of_the_readme_works_as_it_is_pasted)];

fn the_first_group_of_the_readme_works_as_it_is_pasted(m: &Machine) {
    m.sh(first::paste());
    let mut said = Vec::new();
    for command in first::commands() {
        // What doesn't end by itself: it follows the log, or waits for an editor to be closed.
        let command = command.replace("logs -f", "logs").replace("copse edit", "EDITOR=true copse edit");
        let pid = || m.property("hello-clock.service", "MainPID");
        let before = pid();
        let output = m.run(&["sh", "-c", &command]);
        // An empty drop-in isn't put in place.
        let edits = command.contains("edit");
        assert!(output.status == 0 || edits && output.stderr.contains("the text is empty"), "{command}: {output:?}");
        if command.contains("restart hello-web@1") {
            assert_eq!(pid(), before, "nobody else notices");
        }
        said.push((command, output.stdout));
    }
    let of = |verb: &str| &said.iter().find(|(command, _)| command.contains(verb)).expect("it is there").1;
    assert!(of("status").contains("● hello   active"), "{said:?}");
    assert!(of("plan").starts_with("hello: nothing to do"), "{said:?}");
    for port in [8001, 8002] {
        let page = m.run(&["bash", "-c", &format!("cat </dev/tcp/127.0.0.1/{port}")]);
        assert!(page.status == 0 && !page.stdout.is_empty(), "{page:?}");
    }
    m.sh(first::farewell());
    m.wait_until("all of it is gone", std::time::Duration::from_secs(20), || {
        m.property("hello-web@1.service", "ActiveState") == "inactive"
    });
}
