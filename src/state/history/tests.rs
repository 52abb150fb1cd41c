use super::*;
use crate::basic::scope::Scope;
use crate::state::pins::{Pin, Units};

fn file(path: &str, text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { path: path.into(), text: text.into() })
}

fn at(micros: u64) -> Monotonic {
    Monotonic::from_micros(micros).unwrap()
}

fn version(group: &str, since: u64, text: &str) -> Version {
    Version {
        since: at(since),
        source: Source {
            name: GroupName::new(group).unwrap(),
            file: file("/etc/copse/x.toml", text),
            drop_ins: vec![file("/run/copse/x.toml.d/1.toml", "")],
        },
        cpus: 4,
        static_target: false,
        overrides: Overrides::default(),
        pins: Pins::default(),
    }
}

fn history(versions: Vec<Version>) -> History {
    let mut history = History::default();
    versions.into_iter().for_each(|version| assert!(history.record(version)));
    history
}

fn sample() -> StartHistory {
    let old = version("b", 3, "old");
    let mut pinned = version("b", 5, "new");
    pinned.static_target = true;
    pinned.overrides.above = vec![file("/etc/systemd/system/b.service", ""), file("/e/x.conf", "[Service]\nNice=1\n")];
    pinned.overrides.below = vec![file("/usr/lib/systemd/system/service.d/10.conf", "x")];
    let only = Units::Only(["b-x.service".to_owned(), "b-x@1.service".to_owned()].into());
    let pin = |units| Pin { source: old.source.clone(), cpus: 2, units };
    pinned.pins = Pins(vec![pin(only), pin(Units::All)]);
    StartHistory {
        groups: BTreeMap::from([
            (GroupName::new("a").unwrap(), history(vec![version("a", u64::MAX, "a")])),
            (GroupName::new("b").unwrap(), history(vec![old, pinned])),
        ]),
        orphans: BTreeMap::from([
            ("a-b.service".into(), parse::unit("# x\n\n[Unit]\n# y\nA=é\n")),
            ("x.d/50-copse.conf".into(), Unit::default()),
        ]),
    }
}

#[test]
fn what_is_written_is_read_back() {
    for history in [StartHistory::default(), sample()] {
        let bytes = store::to_bytes(&history);
        let read: StartHistory = store::from_bytes(&bytes).unwrap();
        assert_eq!(read, history);
        assert_eq!(store::to_bytes(&read), bytes);
    }
}

#[test]
fn it_is_kept_beside_the_other_files() {
    use std::os::unix::fs::MetadataExt as _;
    let root = tempfile::tempdir().unwrap();
    let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
    assert_eq!(StartHistory::read(&directories), Ok(StartHistory::default()));
    sample().write(&directories).unwrap();
    assert_eq!(std::fs::metadata(root.path().join("run/copse/history")).unwrap().mode() & 0o777, 0o600);
    assert_eq!(StartHistory::read(&directories).as_ref(), Ok(&sample()));
    // A user without a runtime directory has nowhere to keep it.
    let nowhere = Directories::new(Scope::User, None, |_| None);
    assert_eq!(StartHistory::read(&nowhere), Ok(StartHistory::default()));
    sample().write(&nowhere).unwrap();
}

fn since(history: &History) -> Vec<u64> {
    history.versions.iter().map(|version| version.since.micros()).collect()
}

/// A version of which four fill what there is.
fn large(since: u64, text: u64) -> Version {
    version("a", since, &format!("{text}").repeat(OLDER_TEXTS_MAX / 4))
}

#[test]
fn what_older_versions_take_is_bounded_and_the_oldest_goes_first() {
    // The last one is not counted: 2 to 5 just fit.
    let full = history((2..7).map(|since| large(since, since)).collect());
    assert_eq!(since(&full), [2, 3, 4, 5, 6]);
    let small = version("a", 8, "8");
    assert_eq!(since(&history(full.versions.into_iter().chain([large(7, 7), small]).collect())), [4, 5, 6, 7, 8]);
}

#[test]
fn a_text_that_came_back_is_counted_once() {
    let versions = [2, 3, 4, 2, 5, 2].into_iter().zip(1..).map(|(text, since)| large(since, text)).collect();
    assert_eq!(since(&history(versions)).len(), 6);
}

#[test]
fn as_many_versions_of_a_group_as_are_kept() {
    let count = u64::try_from(VERSIONS_MAX).unwrap() + 3;
    let history = history((1..=count).map(|since| version("a", since, &format!("{since}"))).collect());
    assert_eq!(since(&history), (4..=count).collect::<Vec<_>>());
    // What is older than all of them was started from an unknown version.
    assert_eq!((history.in_force(at(3)), history.in_force(at(4))), (None, history.versions.first()));
}
