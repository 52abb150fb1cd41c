use super::*;
use crate::basic::scope::Scope;
use crate::group_file::discover::Source;
use crate::state::history::{VERSION_SIZE, VERSIONS_MAX};
use crate::state::pins::Units;

fn file(path: &str, text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { path: path.into(), text: text.into() })
}

fn version(group: &str, since: u64, text: &str) -> Version {
    Version {
        since,
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

fn sample() -> Memory {
    let old = version("b", 3, "old");
    let mut pinned = version("b", 5, "new");
    pinned.static_target = true;
    pinned.overrides.above = vec![file("/etc/systemd/system/b.service", ""), file("/e/x.conf", "[Service]\nNice=1\n")];
    pinned.overrides.below = vec![file("/usr/lib/systemd/system/service.d/10.conf", "x")];
    let only = Units::Only(["b-x.service".to_owned(), "b-x@1.service".to_owned()].into());
    let pin = |units| Pin { source: old.source.clone(), cpus: 2, units };
    pinned.pins = Pins(vec![pin(only), pin(Units::All)]);
    Memory {
        histories: BTreeMap::from([
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
    for memory in [Memory::default(), sample()] {
        let bytes = store::to_bytes(&memory);
        let read: Memory = store::from_bytes(&bytes).unwrap();
        assert_eq!(read, memory);
        assert_eq!(store::to_bytes(&read), bytes);
    }
}

#[test]
fn what_belongs_to_no_version_is_refused() {
    struct Lie(&'static str);
    impl Kept for Lie {
        const FORMAT: &'static str = Memory::FORMAT;
        fn encode(&self, to: &mut Encoder) {
            to.record(self.0, &[]);
        }
        fn decode(_: &mut Decoder<'_>) -> Option<Self> {
            None
        }
    }
    for word in ["above", "below", "pin", "version", "gone"] {
        assert_eq!(store::from_bytes::<Memory>(&store::to_bytes(&Lie(word))), Err("it is damaged".into()), "{word}");
    }
    assert!(store::from_bytes::<Memory>(&store::to_bytes(&Lie("later"))).is_ok());
}

#[test]
fn it_is_kept_beside_the_other_files() {
    use std::os::unix::fs::MetadataExt as _;
    let root = tempfile::tempdir().unwrap();
    let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
    let (store, memory, diagnostic) = Store::read(&directories);
    assert_eq!((memory, diagnostic), (Memory::default(), None));
    store.write(&sample()).unwrap();
    assert_eq!(std::fs::metadata(root.path().join("run/copse/history")).unwrap().mode() & 0o777, 0o600);
    let (_, memory, diagnostic) = Store::read(&directories);
    assert_eq!((&memory, diagnostic), (&sample(), None));
    // A user without a runtime directory has nowhere to keep it.
    let (store, memory, diagnostic) = Store::read(&Directories::new(Scope::User, None, |_| None));
    assert_eq!((memory, diagnostic), (Memory::default(), None));
    store.write(&sample()).unwrap();
}

fn since(memory: &Memory, group: &str) -> Vec<u64> {
    let versions = &memory.histories[&GroupName::new(group).unwrap()].versions;
    versions.iter().map(|version| version.since).collect()
}

/// A version of which four fill what there is.
fn large(since: u64, text: u64) -> Version {
    version("a", since, &format!("{text}").repeat(OLDER_MAX / 4 - VERSION_SIZE))
}

#[test]
fn what_older_versions_take_is_bounded_and_the_oldest_goes_first() {
    let small = |since: u64| version("b", since, &format!("{since}"));
    let groups = [("a", (2..7).map(|since| large(since, since)).collect()), ("b", vec![small(1), small(3), small(9)])];
    let histories = groups.map(|(name, all)| (GroupName::new(name).unwrap(), history(all))).into();
    let mut full = Memory { histories, orphans: BTreeMap::new() };
    // The last of each group isn't counted: 2 to 5 just fit, and the oldest have to make room for the small ones.
    assert_eq!((since(full.bounded(), "a"), since(&full, "b")), (vec![3, 4, 5, 6], vec![3, 9]));
}

#[test]
fn a_text_that_came_back_is_counted_once() {
    let versions = [2, 3, 4, 2, 5, 2].into_iter().zip(1..).map(|(text, since)| large(since, text)).collect();
    let histories = BTreeMap::from([(GroupName::new("a").unwrap(), history(versions))]);
    let mut full = Memory { histories, orphans: BTreeMap::new() };
    assert_eq!(since(full.bounded(), "a").len(), 6);
}

#[test]
fn as_many_versions_of_a_group_as_are_kept() {
    let count = u64::try_from(VERSIONS_MAX).unwrap() + 3;
    let history = history((0..count).map(|since| version("a", since, &format!("{since}"))).collect());
    let since: Vec<_> = history.versions.iter().map(|version| version.since).collect();
    assert_eq!(since, (3..count).collect::<Vec<_>>());
    // What is older than all of them is from nobody knows what.
    assert_eq!((history.in_force(2), history.in_force(3)), (None, history.versions.first()));
}
