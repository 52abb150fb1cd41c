//! The files beside this one were written by copse before format 2, at commit 32a8f13.

use std::sync::Arc;

use crate::basic::clock::Monotonic;
use crate::basic::diagnostic::SourceFile;
use crate::group_file::discover::Source;
use crate::state::checksum::checksum;
use crate::state::history::{History, Overrides, StartHistory, Version};
use crate::state::pins::{Pin, Pins, Units};
use crate::state::store;
use crate::state::store::Kept;
use crate::unit::name::GroupName;
use crate::unit::{Unit, parse};

const HISTORY: &[u8] = include_bytes!("history");
const PINS: &[u8] = include_bytes!("pins");
#[cfg(feature = "cli")]
const APPLIED: &[u8] = include_bytes!("applied");
#[cfg(feature = "cli")]
const INTENT: &[u8] = include_bytes!("intent");

fn name(text: &str) -> GroupName {
    GroupName::new(text).unwrap()
}

fn file(path: &str, text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { path: path.into(), text: text.into() })
}

fn old() -> Source {
    let text = "description = \"Köln\"\n[process.web]\nexec = \"/bin/sleep 1000\"\n";
    Source { name: name("shop"), file: file("/etc/copse/shop.toml", text), drop_ins: Vec::new() }
}

fn new() -> Source {
    let text = "[process.web]\nexec = \"/bin/sleep 2000\"\n[process.job]\nexec = \"/bin/true\"";
    let drop_in = file("/run/copse/shop.toml.d/50-scale.toml", "[process.web]\ninstances = 3\n");
    Source { name: name("shop"), file: file("/etc/copse/shop.toml", text), drop_ins: vec![drop_in] }
}

fn pins() -> Pins {
    let only = Units::Only(["shop-web@1.service".to_owned(), "shop-web.socket".to_owned()].into());
    Pins(vec![Pin { source: old(), cpus: 2, units: only }, Pin { source: new(), cpus: 4, units: Units::All }])
}

fn at(micros: u64) -> Monotonic {
    Monotonic::from_micros(micros).unwrap()
}

fn history() -> StartHistory {
    let version = |since, source| Version {
        since: at(since),
        source,
        cpus: 4,
        static_target: false,
        overrides: Overrides::default(),
        pins: Pins::default(),
    };
    let overrides = Overrides {
        above: vec![
            file("/etc/systemd/system/shop-web@.service.d/10.conf", "[Service]\nNice=7\n"),
            file("/etc/systemd/system/shop-job.service", ""),
        ],
        below: vec![file("/usr/lib/systemd/system/service.d/x.conf", "[Service]\nend 1\n")],
    };
    let second = Version { static_target: true, overrides, pins: pins(), ..version(1_700_000_001, new()) };
    let shop = vec![version(25_000_000, old()), second, version(u64::MAX, old())];
    let other = Source { name: name("a.b-c"), file: file("/usr/lib/copse/a.b-c.toml", ""), drop_ins: Vec::new() };
    StartHistory {
        groups: [
            (name("shop"), History { versions: shop }),
            (name("a.b-c"), History { versions: vec![version(7, other)] }),
        ]
        .into(),
        orphans: [
            ("shop-old.service".to_owned(), parse::unit("[Service]\nExecStop=/bin/x\n")),
            ("shop.target.d/50-copse.conf".to_owned(), Unit::default()),
        ]
        .into(),
    }
}

/// What was written by the old copse is read, and is the same after it was written by this one.
fn read_and_written<T: Kept>(bytes: &[u8]) -> T {
    let read: T = store::from_bytes(bytes).unwrap();
    store::from_bytes(&store::to_bytes(&read)).unwrap()
}

#[test]
fn history_and_pins_survive_an_upgrade() {
    assert_eq!(read_and_written::<StartHistory>(HISTORY), history());
    assert_eq!(read_and_written::<Pins>(PINS), pins());
    let read: StartHistory = store::from_bytes(HISTORY).unwrap();
    assert!(Arc::ptr_eq(
        &read.groups[&name("shop")].versions[0].source.file,
        &read.groups[&name("shop")].versions[2].source.file
    ));
}

#[cfg(feature = "cli")]
#[test]
fn the_last_apply_and_an_interrupted_one_survive_an_upgrade() {
    use crate::basic::clock::Realtime;
    use crate::state::last_apply::{Applied, Intent, Prints, Taken};
    let taken = |micros, inputs: &str, handed: Option<&str>| {
        let prints = Prints { inputs: inputs.to_owned(), handed: handed.map(ToOwned::to_owned) };
        Taken { at: Monotonic::from_micros(micros), prints }
    };
    let units = [
        ("shop-web@1.service".to_owned(), taken(26_000_000, "", Some("0a1b"))),
        ("shop-job.service".to_owned(), taken(27_000_000, "ffee", None)),
    ];
    let at = Realtime::from_micros(1_764_500_000_000_000).unwrap();
    assert_eq!(read_and_written::<Applied>(APPLIED), Applied { at, source: new(), cpus: 4, units: units.into() });
    let units = ["shop-web@1.service".to_owned(), "shop-web@2.service".to_owned()].into();
    assert_eq!(read_and_written::<Intent>(INTENT), Intent { units });
}

#[cfg(feature = "cli")]
#[test]
fn a_unit_that_was_not_running_was_started_at_no_time() {
    let records = "copse applied 1\ntext 1 0\n/\nsource 1 1\ng0\napply 1 1 1\n101\nunit 1 1 0\nu0\n";
    let applied: crate::state::last_apply::Applied = store::from_bytes(&sealed(records)).unwrap();
    assert_eq!(applied.units["u"].at, None);
}

/// A file of these records, with the right checksum.
fn sealed(records: &str) -> Vec<u8> {
    format!("{records}end {}\n", checksum(records.as_bytes())).into_bytes()
}

fn damaged<T: Kept + std::fmt::Debug>(bytes: &[u8]) -> bool {
    store::from_bytes::<T>(bytes).is_err_and(|why| why == "the file is damaged")
}

#[test]
fn a_damaged_file_is_found() {
    for end in 0..HISTORY.len() {
        assert!(damaged::<StartHistory>(&HISTORY[..end]), "cut off at {end}");
    }
    for position in "copse history 1\n".len()..HISTORY.len() {
        let mut bad = HISTORY.to_vec();
        bad[position] ^= 1;
        assert!(damaged::<StartHistory>(&bad), "changed at {position}");
    }
    assert!(store::from_bytes::<Pins>(HISTORY).is_err());
}

#[test]
fn words_and_fields_of_a_later_copse_are_ignored() {
    let records = "copse pins 1\ntext 1 1 1\n/ax\nnews 1\n1\nsource 1 1\ng0\npin 1 1 3\n04all\nnews\n\n";
    let pins: Pins = store::from_bytes(&sealed(records)).unwrap();
    assert_eq!(pins.0[0].source.file.text, "a");
}

#[test]
fn wrong_lengths_numbers_and_positions_are_refused() {
    for records in [
        "pin 5\nab\n",
        "pin 18446744073709551615\nab\n",
        "pin 1\né\n",
        "pin\n\n\n",
        "pin -1\n\n",
        "pin\n\n",
        "pin 1 1 3\n71all\n",
        "text 1\nx\n",
        "source\n\n",
        "source 1\nx\n",
        "text 1 0\n/\nsource 1 1\n/0\npin 1 1 3\n01all\n",
        "source 1 1\ng5\npin 1 1 3\n01all\n",
        "text 1 0\n/\nsource 1 1 1\ng09\npin 1 1 3\n01all\n",
        "text 1 0\n/\nsource 1 1\ng0\npin 1 1 4\n01some\n",
    ] {
        assert!(damaged::<Pins>(&sealed(&format!("copse pins 1\n{records}"))), "{records}");
    }
    for word in ["above", "below", "pin", "version", "gone"] {
        assert!(damaged::<StartHistory>(&sealed(&format!("copse history 1\n{word}\n\n"))), "{word}");
    }
}

proptest::proptest! {
    #[test]
    fn any_records_are_read_or_refused_without_a_panic(
        kind in "history|pins|applied|intent",
        records in "((text|source|version|above|pin|gone|apply|unit|x)( [0-9é]{0,3}){0,3}\n?[a-z0-9\n]{0,6}){0,5}",
    ) {
        let _ = super::convert(&kind, std::str::from_utf8(&sealed(&format!("copse {kind} 1\n{records}"))).unwrap());
    }
}
