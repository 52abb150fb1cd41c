use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Texts, sources and other values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Notes {
    texts: Vec<Arc<SourceFile>>,
    sources: Vec<Source>,
    words: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct NotesRecord {
    texts: Vec<usize>,
    sources: Vec<SourceRecord>,
    words: BTreeMap<String, String>,
}

impl Kept for Notes {
    const KIND: &'static str = "notes";
    type Record = NotesRecord;

    fn to_record<'v>(&'v self, texts: &mut TextTable<'v>) -> NotesRecord {
        NotesRecord {
            texts: texts.positions(&self.texts),
            sources: self.sources.iter().map(|source| texts.source(source)).collect(),
            words: self.words.clone(),
        }
    }

    fn from_record(record: NotesRecord, texts: &Texts) -> Option<Self> {
        let sources = record.sources.into_iter().map(|source| texts.source(source)).collect::<Option<_>>()?;
        Some(Self { texts: texts.files(&record.texts)?, sources, words: record.words })
    }
}

fn file(path: &str, text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { path: path.into(), text: text.into() })
}

fn sample() -> Notes {
    let shared = file("/etc/copse/x é.toml", "a \"quoted\"\\\u{1} text\nsecond line");
    let name = GroupName::new("x").unwrap();
    let source = Source { name, file: Arc::clone(&shared), drop_ins: vec![file("/2", ""), file("/3", "3\n")] };
    let words = [(String::new(), "é \n1".to_owned())].into();
    Notes { texts: vec![shared], sources: vec![source], words }
}

/// A file of this JSON and texts, with the right checksum.
fn sealed(body: &str) -> Vec<u8> {
    format!("copse notes {FORMAT} {}\n{body}", checksum(body.as_bytes())).into_bytes()
}

fn body() -> String {
    String::from_utf8(to_bytes(&sample())).unwrap().split_once('\n').unwrap().1.to_owned()
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        texts in prop::collection::vec((".*", "(?s).*"), 1..6),
        groups in prop::collection::vec(("[A-Za-z0-9][A-Za-z0-9_.-]{0,9}", 0..6usize, prop::collection::vec(0..6usize, 0..4)), 0..4),
        words in prop::collection::btree_map("(?s).*", "(?s).*", 0..4),
    ) {
        let texts: Vec<_> = texts.iter().map(|(path, text)| file(path, text)).collect();
        let text = |index: usize| Arc::clone(&texts[index % texts.len()]);
        let source = |(name, index, drop_ins): (String, usize, Vec<usize>)| {
            Source { name: GroupName::new(&name).unwrap(), file: text(index), drop_ins: drop_ins.into_iter().map(text).collect() }
        };
        let sources = groups.into_iter().map(source).collect();
        let notes = Notes { texts: texts.clone(), sources, words };
        let bytes = to_bytes(&notes);
        let read: Notes = from_bytes(&bytes).unwrap();
        prop_assert_eq!(&read, &notes);
        prop_assert_eq!(to_bytes(&read), bytes);
    }

    #[test]
    fn any_value_is_read_or_refused_without_a_panic(
        texts in "\\[(\\{\"path\":\"/\",\"size\":[0-9]{1,2}\\})?\\]",
        value in "[\\[{]?\"?(texts|sources|words)?\"?:?[0-9\\[\\]{},\"]{0,8}",
    ) {
        let _ = from_bytes::<Notes>(&sealed(&format!("{{\"texts\":{texts},\"value\":{value}}}\né")));
    }
}

#[test]
fn a_file_that_is_cut_off_or_changed_is_found() {
    let good = to_bytes(&sample());
    assert_eq!(from_bytes(&good), Ok(sample()));
    for end in 0..good.len() {
        assert!(from_bytes::<Notes>(&good[..end]).is_err(), "cut off at {end}");
    }
    for position in 0..good.len() {
        let mut bad = good.clone();
        bad[position] ^= 1;
        assert!(from_bytes::<Notes>(&bad).is_err(), "changed at {position}");
    }
}

#[test]
fn each_text_is_written_once() {
    assert_eq!(body().matches("second line").count(), 1);
    // Even if it was read twice.
    let twice = Notes { texts: vec![file("/a", "text"), file("/b", "text"), file("/a", "text")], ..Notes::default() };
    let bytes = to_bytes(&twice);
    assert!(bytes.ends_with(b"\ntexttext"), "{bytes:?}");
    assert_eq!(from_bytes(&bytes), Ok(twice));
}

#[test]
fn fields_that_a_later_copse_adds_are_ignored() {
    let more = body().replace("{\"name\":", "{\"news\":[1],\"name\":").replace("\"value\":{", "\"value\":{\"a\":{},");
    assert_eq!(more.matches("news").count(), 1);
    assert_eq!(from_bytes(&sealed(&more)), Ok(sample()));
}

#[test]
fn another_format_or_kind_is_refused_even_if_it_is_whole() {
    let other = |header: &str| format!("{header} {}\n{}", checksum(body().as_bytes()), body()).into_bytes();
    for format in ["3", "22", "x"] {
        let read = from_bytes::<Notes>(&other(&format!("copse notes {format}")));
        assert_eq!(read, Err("another version of copse wrote it".into()), "{format}");
    }
    for header in ["copse notess 2", "copse note 2", "cops notes 2", "copse  2", "2"] {
        assert_eq!(from_bytes::<Notes>(&other(header)), Err("the file is damaged".into()), "{header}");
    }
}

#[test]
fn wrong_positions_and_names_are_refused() {
    let wrong = [
        ("\"value\":{\"texts\":[0]", "\"value\":{\"texts\":[9]"),
        ("\"drop_ins\":[1,2]", "\"drop_ins\":[1,3]"),
        ("\"file\":0", "\"file\":-1"),
        ("\"file\":0", "\"file\":3"),
        ("\"name\":\"x\"", "\"name\":\"/\""),
        ("\"size\":2", "\"size\":3"),
        ("\"size\":2", "\"size\":1"),
        ("\"size\":2", "\"size\":99999"),
        ("\"words\":{", "\"word\":{"),
    ];
    for (from, to) in wrong {
        assert!(body().contains(from), "{from} of {}", body());
        assert_eq!(from_bytes::<Notes>(&sealed(&body().replace(from, to))), Err("the file is damaged".into()), "{to}");
    }
}

#[test]
fn a_file_is_private_whole_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made/notes");
    assert_eq!(read::<Notes>(&path), Ok(None));
    write(&path, &sample()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(read(&path), Ok(Some(sample())));
    // A killed run's is removed on the way.
    std::fs::write(path.with_file_name(".notes.copse-4194305"), "").unwrap();
    write(&path, &Notes::default()).unwrap();
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    atomic_file::remove(&path).unwrap();
    assert_eq!(read::<Notes>(&path), Ok(None));
}

#[test]
fn a_file_that_others_could_have_written_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes");
    write(&path, &sample()).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(read::<Notes>(&link).is_err());
    assert!(read::<Notes>(directory.path()).is_err());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(read::<Notes>(&path).unwrap_err().contains("only its owner"));
}
