//! Each case becomes the group file that stands beside it, and is reported so.

use std::path::Path;

use snapbox::{Data, assert_data_eq};

use crate::cases;
use crate::compare::group;
use crate::procfile;

#[test]
fn each_case_becomes_the_group_file_beside_it() {
    for case in cases::all() {
        let imported = case.input.import();
        let lines: String = imported.diagnostics.iter().map(|diagnostic| diagnostic.line() + "\n").collect();
        let refused = imported.diagnostics.has_errors();
        assert!(!(case.complete && refused), "{}: {lines}", case.path.display());
        let expected = |name: &str| Data::read_from(&case.path.join(name), None).raw();
        assert_data_eq!(imported.file.to_string(), expected("group.toml"));
        assert_data_eq!(lines, expected("report"));
        group(&imported).unwrap_or_else(|why| panic!("{}: {why}", case.path.display()));
    }
}

#[test]
fn each_procfile_becomes_the_group_file_beside_it() {
    for (path, input) in procfile::all() {
        let imported = input.import();
        let lines: String = imported.diagnostics.iter().map(|diagnostic| diagnostic.line() + "\n").collect();
        let expected = |name: &str| Data::read_from(&path.join(name), None).raw();
        assert_data_eq!(imported.text.as_str(), expected("group.toml"));
        assert_data_eq!(lines, expected("report"));
        imported.group().unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        assert!(!imported.executions().is_empty());
    }
}

#[test]
fn no_case_has_a_file_too_much() {
    for case in cases::all() {
        let known = ["supervisord.conf", "conf.d", "environment", "group.toml", "report"];
        for entry in std::fs::read_dir(&case.path).unwrap() {
            let name = entry.unwrap().file_name();
            assert!(known.iter().any(|known| Path::new(known) == name), "{name:?} in {}", case.path.display());
        }
    }
}
