//! A group in a machine, for as long as one situation needs it.

use super::machine::Machine;
use super::scope::Scope;

/// A group whose file is in `/etc/copse`. When dropped, it is stopped, its file (and drop-ins) removed and
/// what failed of it is forgotten, so that the next situation finds the machine as it was.
pub struct Group<'m> {
    machine: &'m Machine,
    name: String,
}

impl<'m> Group<'m> {
    #[track_caller]
    pub(crate) fn new(machine: &'m Machine, name: &str, toml: &str) -> Group<'m> {
        let group = Group { machine, name: name.to_owned() };
        group.rewrite(toml);
        group
    }

    /// A group whose file the situation had written by a command of copse's.
    pub fn there(machine: &'m Machine, name: &str) -> Group<'m> {
        Group { machine, name: name.to_owned() }
    }

    /// `G.target`.
    pub fn target(&self) -> String {
        format!("{}.target", self.name)
    }

    /// The path of the group file.
    pub fn file(&self) -> String {
        format!("/etc/copse/{}.toml", self.name)
    }

    /// Replaces the group file and has systemd read it.
    #[track_caller]
    pub fn rewrite(&self, toml: &str) {
        self.machine.write(&self.file(), toml);
        self.machine.reload();
    }

    /// `systemctl start G.target`, which has to succeed: afterwards the group is ready.
    #[track_caller]
    pub fn start(&self) {
        let target = self.target();
        let output = self.machine.run(&["systemctl", "start", &target]);
        assert!(
            output.status == 0,
            "`systemctl start {target}` ended with {}: {}\n{}",
            output.status,
            output.stderr,
            self.account()
        );
    }

    /// `systemctl start G.target`, which has to fail.
    #[track_caller]
    pub fn fails_to_start(&self) {
        let output = self.machine.run(&["systemctl", "start", &self.target()]);
        assert_eq!(output.status, 1, "{output:?}");
    }

    /// `systemctl stop G.target`, which has to succeed.
    #[track_caller]
    pub fn stop(&self) {
        self.machine.ok(&["systemctl", "stop", &self.target()]);
    }

    /// The names of the group's loaded units: those of the target, `G.*`, `G-*` and copse's own of it.
    pub fn units(&self) -> Vec<String> {
        self.units_in(&[])
    }

    /// What systemd knows of the group, for a person: state of each unit, and the group's journal.
    pub fn account(&self) -> String {
        let all = self.patterns();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let units = self
            .machine
            .run(&[&["systemctl", "list-units", "--all", "--full", "--no-pager", "--plain", "--"], &all[..]].concat());
        let jobs = self.machine.run(&["systemctl", "list-jobs", "--full", "--no-pager"]);
        format!(
            "--- units of {}\n{}--- jobs\n{}{}",
            self.name,
            units.stdout,
            jobs.stdout,
            self.machine.account_of(&all)
        )
    }

    /// Patterns as systemctl takes them. A group `a` is meant not to be tried beside a group `a-b`.
    fn patterns(&self) -> [String; 4] {
        let name = &self.name;
        // In the name of an instance or a slice a `-` of the group's may stand escaped, as `\x2d`; in a
        // pattern the `\` itself would be an escape.
        let escaped = name.replace('-', "?x2d");
        [format!("{name}.*"), format!("{name}-*"), format!("copse-*@{name}.*"), format!("copse-*@{escaped}.*")]
    }

    /// Names of loaded units in any of these states; all when there are none given.
    fn units_in(&self, states: &[&str]) -> Vec<String> {
        let mut words = vec!["systemctl", "list-units", "--full", "--plain", "--no-legend", "--no-pager"];
        let state = format!("--state={}", states.join(","));
        words.push(if states.is_empty() { "--all" } else { &state });
        let patterns = self.patterns();
        words.push("--");
        words.extend(patterns.iter().map(String::as_str));
        let list = self.machine.ok(&words);
        let names = list.lines().filter_map(|line| line.split_whitespace().next());
        names.map(str::to_owned).collect()
    }

    fn clear_away(&self) {
        let run = |words: &[&str]| self.machine.run(words);
        run(&["systemctl", "stop", &self.target()]);
        // What a broken group leaves running must not meet the next situation; how it stops is not asked here.
        let patterns = self.patterns();
        let busy = || self.units_in(&["active", "activating", "deactivating", "reloading"]);
        let left = busy();
        if !left.is_empty() {
            let left: Vec<&str> = left.iter().map(String::as_str).collect();
            run(&[&["systemctl", "kill", "--signal=KILL", "--"], &left[..]].concat());
            run(&[&["systemctl", "stop", "--"], &left[..]].concat());
        }
        self.machine.remove(&self.file());
        self.machine.remove(&format!("{}.d", self.file()));
        run(&["systemctl", "reset-failed", "--", &patterns[0], &patterns[1], &patterns[2]]);
        run(&["systemctl", "daemon-reload"]);
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Before it is stopped: afterwards nothing of it is to be seen.
            self.machine.note(&self.account());
            if super::pool::keeps_machines() {
                return;
            }
        }
        self.clear_away();
    }
}
