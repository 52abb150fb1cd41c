use super::*;
use crate::history::pins::Units;
use crate::scope::Scope;
use crate::source::Source;

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
        gone: BTreeMap::from([("a-b.service".into(), "[Unit]\n".into()), ("x.d/50-copse.conf".into(), "é".into())]),
    }
}

#[test]
fn what_is_written_is_read_back() {
    for memory in [Memory::default(), sample()] {
        let bytes = private::to_bytes(&memory);
        let read: Memory = private::from_bytes(&bytes).unwrap();
        assert_eq!(read, memory);
        assert_eq!(private::to_bytes(&read), bytes);
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
        assert_eq!(
            private::from_bytes::<Memory>(&private::to_bytes(&Lie(word))),
            Err("it is damaged".into()),
            "{word}"
        );
    }
    assert!(private::from_bytes::<Memory>(&private::to_bytes(&Lie("later"))).is_ok());
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

#[test]
fn texts_that_only_older_versions_have_are_bounded_the_oldest_goes_first() {
    let large = |since: u64| version("a", since, &format!("{since}").repeat(OLDER_MAX / 4));
    let small = |since: u64| version("b", since, &format!("{since}"));
    let since = |memory: &Memory, group: &str| {
        let versions = &memory.histories[&GroupName::new(group).unwrap()].versions;
        versions.iter().map(|version| version.since).collect::<Vec<_>>()
    };
    let memory = |a: Vec<Version>, b: Vec<Version>| Memory {
        histories: [("a", a), ("b", b)].map(|(name, all)| (GroupName::new(name).unwrap(), history(all))).into(),
        gone: BTreeMap::new(),
    };
    let mut full = memory((2..7).map(large).collect(), vec![small(1), small(3), small(9)]);
    // The last of each group isn't counted: 2 to 5 just fit, and the oldest has to make room for a few bytes more.
    assert_eq!((since(full.bounded(), "a"), since(&full, "b")), (vec![3, 4, 5, 6], vec![3, 9]));
    // A text that came back is there anyway.
    let mut back = memory([2, 3, 4, 5, 2].map(large).into_iter().collect(), vec![small(1)]);
    assert_eq!(since(back.bounded(), "a").len(), 5);
}
