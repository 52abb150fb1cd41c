//! Facts about systemd's directives: which version has them, how assignments merge, what a change needs.
//!
//! The rows were made from what four versions print about themselves (`tests/directives/make`), and `tests/directives.rs`
//! compares them with these versions. How assignments merge is from systemd's load-fragment-gperf.gperf.in. What a change
//! needs was measured on 252, 257 and 262 where the manual pages do not say it (the situations `a_daemon_reload_…`).

use std::sync::LazyLock;

use super::file::Section;
use crate::basic::suggest;

/// What units are generated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Systemd {
    /// The major version: 252, 257, …
    pub version: u32,
}

impl Systemd {
    /// The newest tested version; assumed if none can be found.
    pub const NEWEST: Self = Self { version: 262 };
    /// The oldest that works.
    pub const OLDEST: Self = Self { version: 247 };

    /// True if this version has `directive` in `section`. Names are case-sensitive, as in systemd. A directive without a
    /// row is unknown to every version, including ones newer than [`Self::NEWEST`].
    pub fn knows(self, section: Section, directive: &str) -> bool {
        find(section.text(), directive)
            .is_some_and(|row| row.since <= self.version && row.removed.is_none_or(|removed| self.version < removed))
    }
}

/// How several assignments of a directive become its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The last one counts; an empty one restores the default.
    Last,
    /// All count, in order; an empty one drops those before it.
    List,
    /// The words of all count, in any order; an empty one changes nothing. Dependencies are such.
    Set,
    /// The last assignment of each variable counts; an empty one drops those before it.
    Variables,
}

/// What a changed directive needs before it is in force, the least first.
///
/// A daemon-reload reads a unit's definition again while its processes run on. A setting that systemd looks up when
/// something happens (a process exits, a stop is requested, a limit is checked) is in force from then on. A setting that
/// is handed to a process or to the kernel at the start stays as it was until the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// A daemon-reload.
    DaemonReload,
    /// A restart of the unit.
    Restart,
    /// A new socket, with its services stopped meanwhile (systemd.socket(5)).
    Rebind,
}

/// Tab-separated and sorted by bytes, behind its comments; the first comment names the columns.
const TABLE: &str = include_str!("directives.tsv");

/// A row of the table. The generator looks up some twenty for each unit, and needs only the versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    section: &'static str,
    /// The name, without `=`.
    pub name: &'static str,
    /// The version that it appeared in. 0 if it is older than the manual pages record; if they disagree with what systemd
    /// takes, the first tested version that takes it.
    pub since: u32,
    /// The first tested version without it.
    pub removed: Option<u32>,
    merge: &'static str,
    effect: &'static str,
}

impl Row {
    fn parse(line: &'static str) -> Option<Self> {
        let (section, rest) = line.split_once('\t')?;
        let (name, rest) = rest.split_once('\t')?;
        let (since, rest) = rest.split_once('\t')?;
        let (removed, rest) = rest.split_once('\t')?;
        let (merge, effect) = rest.split_once('\t')?;
        Some(Self { section, name, since: since.parse().ok()?, removed: removed.parse().ok(), merge, effect })
    }
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| TABLE.lines().filter_map(Row::parse).collect());

/// The row of a directive that some version up to [`Systemd::NEWEST`] has. Names are case-sensitive.
pub fn find(section: &str, name: &str) -> Option<&'static Row> {
    let index = ROWS.binary_search_by(|row| (row.section, row.name).cmp(&(section, name))).ok()?;
    Some(&ROWS[index])
}

/// The version in which `directive` appeared in `section`, as [`Row::since`]; `None` if no version has it.
pub fn since(section: Section, directive: &str) -> Option<u32> {
    find(section.text(), directive).map(|row| row.since)
}

/// How several assignments of a directive merge. Without a row it is a list: a line more is then a difference, whichever
/// of them counts.
pub fn merge(section: &str, directive: &str) -> Merge {
    match find(section, directive).map(|row| row.merge) {
        Some("last") => Merge::Last,
        Some("set") => Merge::Set,
        Some("variables") => Merge::Variables,
        _ => Merge::List,
    }
}

/// What a change of a directive needs. Without a row it is a restart, unless the unit has no process.
pub fn effect(section: &str, directive: &str) -> Effect {
    match (find(section, directive).map(|row| row.effect), section) {
        (Some("daemon-reload"), _) | (None, "Slice" | "Timer") => Effect::DaemonReload,
        (Some("rebind"), _) | (None, "Socket") => Effect::Rebind,
        _ => Effect::Restart,
    }
}

/// All directives of `section`, sorted by name.
pub fn directives(section: Section) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.section == section.text())
}

/// The names of `section` that no tested version has dropped.
fn current(section: Section) -> impl Iterator<Item = &'static str> {
    directives(section).filter(|row| row.removed.is_none()).map(|row| row.name)
}

/// The directive of `section` that is most like `directive`; never one that newer versions dropped.
pub fn nearest(section: Section, directive: &str) -> Option<&'static str> {
    suggest::nearest(directive, current(section))
}

/// The directive of `section` that is spelled differently: `OOMScoreAdjust` for `oom-score-adjust`. Never one that newer
/// versions dropped.
pub fn spelled(section: Section, word: &str) -> Option<&'static str> {
    current(section).find(|name| suggest::same_word(name, word))
}

/// The sections that have `directive`, in the order of [`Section`].
pub fn sections_of(directive: &str) -> impl Iterator<Item = Section> {
    [Section::Unit, Section::Service, Section::Socket, Section::Timer, Section::Slice]
        .into_iter()
        .filter(move |section| find(section.text(), directive).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_is_known_from_its_version_on() {
        let (older, newer) = (Systemd { version: 247 }, Systemd { version: 257 });
        assert!(newer.knows(Section::Service, "RestartMode") && !older.knows(Section::Service, "RestartMode"));
        assert!(older.knows(Section::Unit, "After"));
        assert!(
            newer.knows(Section::Service, "MemoryLimit") && !Systemd::NEWEST.knows(Section::Service, "MemoryLimit")
        );
    }

    #[test]
    fn names_are_whole_and_case_sensitive_and_belong_to_their_section() {
        for name in
            ["", "R", "RestartSe", "RestartSecs", "restartsec", "Restart-Sec", "RestartSec\t100", "\n", "#", "~"]
        {
            assert_eq!(since(Section::Service, name), None, "{name:?}");
        }
        assert!(since(Section::Service, "RestartSec").is_some());
        assert_eq!(since(Section::Unit, "RestartSec"), None);
        assert_eq!(since(Section::Slice, "User"), None);
    }

    #[test]
    fn every_row_is_complete_and_found_by_its_name() {
        assert!(ROWS.len() > 700 && ROWS.len() == TABLE.lines().filter(|line| !line.starts_with('#')).count());
        assert!(ROWS.is_sorted_by(|a, b| (a.section, a.name) < (b.section, b.name)));
        for row in ROWS.iter() {
            let section = sections_of(row.name).find(|section| section.text() == row.section);
            assert_eq!(section.and_then(|section| find(section.text(), row.name)), Some(row));
            assert!(row.removed.is_none_or(|removed| row.since < removed), "{row:?}");
            assert!(["last", "list", "set", "variables"].contains(&row.merge), "{row:?}");
            assert!(["daemon-reload", "restart", "rebind"].contains(&row.effect), "{row:?}");
        }
    }

    #[test]
    fn what_a_change_needs() {
        for (section, name, effect) in [
            ("Unit", "Description", Effect::DaemonReload),
            ("Unit", "OnFailure", Effect::DaemonReload),
            ("Unit", "StartLimitBurst", Effect::DaemonReload),
            ("Unit", "JoinsNamespaceOf", Effect::Restart),
            ("Service", "Restart", Effect::DaemonReload),
            ("Service", "RestartSec", Effect::DaemonReload),
            ("Service", "TimeoutStopSec", Effect::DaemonReload),
            ("Service", "KillSignal", Effect::DaemonReload),
            ("Service", "ExecStop", Effect::DaemonReload),
            ("Service", "ExecReload", Effect::DaemonReload),
            ("Service", "MemoryMax", Effect::DaemonReload),
            ("Service", "MemorySwapMax", Effect::DaemonReload),
            ("Service", "MemoryPressureWatch", Effect::Restart),
            ("Service", "MemoryDenyWriteExecute", Effect::Restart),
            ("Service", "WatchdogSec", Effect::Restart),
            ("Service", "Environment", Effect::Restart),
            ("Service", "EnvironmentFile", Effect::Restart),
            ("Service", "LoadCredential", Effect::Restart),
            ("Service", "LimitNOFILE", Effect::Restart),
            ("Service", "Slice", Effect::Restart),
            ("Service", "RestrictRealtime", Effect::Restart),
            ("Service", "RuntimeDirectoryMode", Effect::Restart),
            ("Service", "RuntimeDirectoryPreserve", Effect::DaemonReload),
            ("Service", "OfTomorrow", Effect::Restart),
            ("Slice", "MemoryMax", Effect::DaemonReload),
            ("Timer", "OnCalendar", Effect::DaemonReload),
            ("Socket", "ListenStream", Effect::Rebind),
            ("Socket", "SocketMode", Effect::Rebind),
            ("Socket", "FileDescriptorName", Effect::Rebind),
            ("Socket", "MaxConnections", Effect::DaemonReload),
        ] {
            assert_eq!(super::effect(section, name), effect, "[{section}] {name}");
        }
    }

    #[test]
    fn near_names_and_sections() {
        assert_eq!(nearest(Section::Service, "RestartSecs"), Some("RestartSec"));
        assert_eq!(nearest(Section::Service, "memory-max"), Some("MemoryMax"));
        assert_eq!(nearest(Section::Unit, "Afetr"), Some("After"));
        assert_eq!(nearest(Section::Slice, "ListenStream"), None);
        assert_eq!(sections_of("RestartSec").collect::<Vec<_>>(), [Section::Service]);
        assert_eq!(sections_of("MemoryMax").collect::<Vec<_>>(), [Section::Service, Section::Socket, Section::Slice]);
        assert_eq!(sections_of("autorestart").count(), 0);
        assert_eq!(spelled(Section::Service, "oom-score-adjust"), Some("OOMScoreAdjust"));
        assert_eq!(spelled(Section::Service, "oom-score"), None);
    }
}
