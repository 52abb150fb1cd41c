//! Facts about systemd's versions: which directive since when.
//!
//! The table is made from what four versions print about themselves (`tests/directives/make`), and held against them
//! by `tests/directives.rs`.

use std::sync::LazyLock;

use super::Section;
use crate::basic::suggest;

/// What units are generated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Systemd {
    /// The major version: 252, 257, …
    pub version: u32,
}

impl Systemd {
    /// The newest version that copse was tested with: what is assumed where none can be found.
    pub const NEWEST: Self = Self { version: 262 };
    /// The oldest that works.
    pub const OLDEST: Self = Self { version: 247 };

    /// Whether this version takes `directive` in `section`. Names are case-sensitive, as in systemd.
    ///
    /// What no version is known to have isn't known to any, also not to one newer than [`Self::NEWEST`].
    pub fn knows(self, section: Section, directive: &str) -> bool {
        row(section, directive)
            .is_some_and(|row| row.since <= self.version && row.removed.is_none_or(|removed| self.version < removed))
    }
}

/// Section, directive, the version it appeared in, and, where there is one, the version without it: separated by
/// tabs, sorted by bytes. Comments sort before everything, so that they needn't be taken out.
const TABLE: &str = include_str!("directives.tsv");

/// A line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    section: &'static str,
    directive: &'static str,
    since: u32,
    removed: Option<u32>,
}

impl Row {
    fn parse(line: &'static str) -> Option<Self> {
        let mut cells = line.split('\t');
        let (section, directive) = (cells.next()?, cells.next()?);
        let since = cells.next()?.parse().ok()?;
        Some(Self { section, directive, since, removed: cells.next().and_then(|cell| cell.parse().ok()) })
    }
}

/// All rows, sorted. Read once: a generator asks some twenty times for each unit.
static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| TABLE.lines().filter_map(Row::parse).collect());

/// The rows from the first on that doesn't sort before `section` and `directive`.
fn rows_from(section: &str, directive: &str) -> &'static [Row] {
    let start = ROWS.partition_point(|row| (row.section, row.directive) < (section, directive));
    &ROWS[start..]
}

fn row(section: Section, directive: &str) -> Option<Row> {
    let found = *rows_from(section.text(), directive).first()?;
    (found.section == section.text() && found.directive == directive).then_some(found)
}

/// The version of systemd in which `directive` appeared in `section`; `None` if no version up to
/// [`Systemd::NEWEST`] has it. Names are case-sensitive.
///
/// 0 where it is older than the manual pages remember; where they disagree with what a systemd takes, the first
/// tested version that takes it.
pub fn since(section: Section, directive: &str) -> Option<u32> {
    row(section, directive).map(|row| row.since)
}

/// The directive of `section` that `directive` was most likely meant to be; never one that newer versions dropped.
pub fn nearest(section: Section, directive: &str) -> Option<&'static str> {
    suggest::nearest(directive, lasting(section))
}

/// The directive of `section` that is the same word: `OOMScoreAdjust` for `oom-score-adjust`. Never one that newer
/// versions dropped.
pub fn spelled(section: Section, word: &str) -> Option<&'static str> {
    lasting(section).find(|name| suggest::same_word(name, word))
}

/// All directives of `section`: each with the version it appeared in, as [`since`] tells it, and the first tested
/// version that has dropped it.
pub fn directives(section: Section) -> impl Iterator<Item = (&'static str, u32, Option<u32>)> {
    let all = rows_from(section.text(), "").iter().take_while(move |row| row.section == section.text());
    all.map(|row| (row.directive, row.since, row.removed))
}

/// The names of those that no tested version has dropped.
fn lasting(section: Section) -> impl Iterator<Item = &'static str> {
    directives(section).filter(|(_, _, removed)| removed.is_none()).map(|(name, _, _)| name)
}

/// All directives that some version knows.
#[cfg(test)]
pub fn all() -> impl Iterator<Item = (Section, &'static str)> {
    ROWS.iter().flat_map(|row| {
        sections_of(row.directive)
            .filter(|section| section.text() == row.section)
            .map(|section| (section, row.directive))
    })
}

/// The sections that take `directive`, in the order of [`Section`].
pub fn sections_of(directive: &str) -> impl Iterator<Item = Section> {
    [Section::Unit, Section::Service, Section::Socket, Section::Timer, Section::Slice]
        .into_iter()
        .filter(move |section| row(*section, directive).is_some())
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
    fn every_line_of_the_table_is_found_by_its_name() {
        let all: Vec<Row> = ROWS.clone();
        assert!(all.len() > 700 && all.len() == TABLE.lines().filter(|line| !line.starts_with('#')).count());
        assert!(all.is_sorted_by(|a, b| (a.section, a.directive) < (b.section, b.directive)));
        for expected in all {
            let section = sections_of(expected.directive).find(|section| section.text() == expected.section);
            assert_eq!(section.and_then(|section| row(section, expected.directive)), Some(expected));
            assert!(expected.removed.is_none_or(|removed| expected.since < removed), "{expected:?}");
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
