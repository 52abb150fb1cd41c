use proptest::prelude::*;

use super::*;

/// Some records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Notes {
    texts: Vec<Arc<SourceFile>>,
    sources: Vec<Source>,
    words: Vec<Vec<String>>,
}

impl Kept for Notes {
    const FORMAT: &'static str = "notes 7";

    fn encode(&self, to: &mut Encoder) {
        for text in &self.texts {
            let number = to.file(text);
            to.record("file", &[&number]);
        }
        for source in &self.sources {
            let number = to.source(source);
            to.record("group", &[&number]);
        }
        for words in &self.words {
            to.record("words", &words.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let mut notes = Self::default();
        while let Some(record) = from.record() {
            match record.word {
                "file" => notes.texts.push(from.file(record.field(0)?)?),
                "group" => notes.sources.push(from.source(record.field(0)?)?),
                "words" => notes.words.push(record.fields.iter().map(ToString::to_string).collect()),
                _ => {}
            }
        }
        Some(notes)
    }
}

fn file(path: &str, text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { path: path.into(), text: text.into() })
}

fn sample() -> Notes {
    let shared = file("/etc/copse/x é.toml", "end of it\ngroup 1 x\nnot a line");
    let name = GroupName::new("x").unwrap();
    let source = Source { name, file: Arc::clone(&shared), drop_ins: vec![file("/2", ""), file("/3", "3\n")] };
    Notes { texts: vec![shared], sources: vec![source], words: vec![vec![], vec![String::new(), "é \n1".into()]] }
}

/// A file of this body, with the right hash.
fn sealed(body: &str) -> Vec<u8> {
    format!("{body}end {}\n", hash(body.as_bytes())).into_bytes()
}

fn body() -> String {
    let text = String::from_utf8(to_bytes(&sample())).unwrap();
    text[..text.rfind("end ").unwrap()].to_owned()
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        texts in prop::collection::vec((".*", "(?s).*"), 1..6),
        groups in prop::collection::vec(("[A-Za-z0-9][A-Za-z0-9_.-]{0,9}", 0..6usize, prop::collection::vec(0..6usize, 0..4)), 0..4),
        words in prop::collection::vec(prop::collection::vec("(?s).*", 0..4), 0..4),
    ) {
        let texts: Vec<_> = texts.iter().map(|(path, text)| file(path, text)).collect();
        let text = |at: usize| Arc::clone(&texts[at % texts.len()]);
        let source = |(name, at, drop_ins): (String, usize, Vec<usize>)| {
            Source { name: GroupName::new(&name).unwrap(), file: text(at), drop_ins: drop_ins.into_iter().map(text).collect() }
        };
        let sources = groups.into_iter().map(source).collect();
        let notes = Notes { texts: texts.clone(), sources, words };
        let bytes = to_bytes(&notes);
        let read: Notes = from_bytes(&bytes).unwrap();
        prop_assert_eq!(&read, &notes);
        // And what is read is written the same: nothing changed, nothing is written.
        prop_assert_eq!(to_bytes(&read), bytes);
    }

    #[test]
    fn nothing_makes_it_panic(body in "copse notes 7\n((text|source|file|group|words|x)( [0-9é]{0,3}){0,3}\n?[a-z0-9\n]{0,6}){0,5}") {
        let _ = from_bytes::<Notes>(&sealed(&body));
    }
}

#[test]
fn whatever_is_cut_off_or_changed_is_seen() {
    let good = to_bytes(&sample());
    assert_eq!(from_bytes(&good), Ok(sample()));
    for end in 0..good.len() {
        assert!(from_bytes::<Notes>(&good[..end]).is_err(), "cut off at {end}");
    }
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        assert!(from_bytes::<Notes>(&bad).is_err(), "changed at {at}");
    }
}

#[test]
fn a_later_copses_additions_are_left_out() {
    let more = body().replacen("group 1\n0\n", "group 1 3\n0new\nnews 2 1\nxyz\n", 1);
    assert_ne!(more, body());
    assert_eq!(from_bytes(&sealed(&more)), Ok(sample()));
}

#[test]
fn another_format_is_not_understood_even_if_whole() {
    let other = body().replacen("notes 7", "notes 8", 1);
    assert_eq!(from_bytes::<Notes>(&sealed(&other)), Err("another version of copse wrote it".into()));
    assert!(from_bytes::<Notes>(&sealed(&body().replacen("notes 7", "notes 77", 1))).is_err());
}

#[test]
fn lengths_and_numbers_that_lie_are_refused() {
    for lie in [
        "words 5\nab\n",
        "words 18446744073709551615\nab\n",
        "words 1\né\n",
        "words\n\n\n",
        "words -1\n\n",
        "file 1\n7\n",
        "group 1\n0\n",
        "text 1\nx\n",
        "source\n\n",
        "source 1\nx\n",
        "source 1 1\nx5\n",
    ] {
        let lying = format!("copse notes 7\n{lie}");
        assert_eq!(from_bytes::<Notes>(&sealed(&lying)), Err("it is damaged".into()), "{lie}");
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
    std::fs::write(path.with_file_name(".new-4194305"), "").unwrap();
    write(&path, &Notes::default()).unwrap();
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    remove(&path).unwrap();
    remove(&path).unwrap();
    assert_eq!(read::<Notes>(&path), Ok(None));
}

#[test]
fn what_others_could_have_written_is_not_believed() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes");
    write(&path, &sample()).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(read::<Notes>(&link).is_err());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(read::<Notes>(&path).unwrap_err().contains("only its owner"));
}
