//! Every possible name of a group, process or instance is refused with an error, or becomes valid unit names that meet
//! nobody else's.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use copse::basic::diagnostic::SourceFile;
use copse::basic::scope::Scope;
use copse::generate::{Options, generate, unit_names};
use copse::group_file::discover::Source;
use copse::model;
use copse::model::{Context, Group};
use copse::unit::directives::Systemd;
use copse::unit::name::GroupName;
use proptest::prelude::*;

/// `unit_name_is_valid()` of systemd, written from systemd.unit(5).
fn is_valid(unit: &str) -> bool {
    let Some((stem, suffix)) = unit.rsplit_once('.') else { return false };
    let known = ["service", "socket", "target", "timer", "slice"].contains(&suffix);
    let characters = unit.chars().all(|c| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c));
    known && characters && !stem.is_empty() && !stem.starts_with('@') && unit.len() <= 255
}

/// A TOML string of any text.
fn quoted(text: &str) -> String {
    let escaped: String = text.chars().map(|c| format!("\\U{:08X}", u32::from(c))).collect();
    format!("\"{escaped}\"")
}

fn read(group: &str, processes: &[String], instances: &[String]) -> Result<Group, usize> {
    let Some(name) = GroupName::new(group) else { return Err(1) };
    let list: Vec<String> = instances.iter().map(|name| quoted(name)).collect();
    let mut text = String::new();
    for (at, process) in processes.iter().enumerate() {
        text += &format!("[process.{}]\nexec = \"/bin/true\"\nlisten = {{ a = \"@x{at}\" }}\n", quoted(process))
            .replace("\"@x", "\"unix:@x");
        if at == 0 {
            text += &format!("instances = [{}]\n", list.join(", "));
        }
    }
    let file = Arc::new(SourceFile { path: PathBuf::from(format!("/etc/copse/{group}.toml")), text });
    let source = Source { name, file, drop_ins: Vec::new() };
    let (group, diagnostics) = model::read(&source, &Context { scope: Scope::System, cpus: 2 });
    group.ok_or_else(|| diagnostics.iter().count())
}

/// Names that might pass, and names that must not.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9_-]{1,12}",
        "[A-Za-z0-9:_.@\\\\-]{0,8}",
        "[a-z0-9][a-z0-9_-]{80,300}",
        any::<String>(),
        Just("a".to_owned()),
        Just("a-b".to_owned()),
        Just("b".to_owned()),
        Just("copse".to_owned()),
        Just("ready".to_owned()),
        Just("..".to_owned()),
        Just("é".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_name_is_refused_or_becomes_valid_distinct_units(
        group in any_name(),
        processes in prop::collection::btree_set(any_name(), 1..4),
        instances in prop::collection::vec(any_name(), 0..4),
    ) {
        let processes: Vec<String> = processes.into_iter().collect();
        match read(&group, &processes, &instances) {
            Err(diagnostics) => prop_assert!(diagnostics > 0, "refused without a word"),
            Ok(group) => {
                let names = unit_names(&group);
                let distinct: BTreeSet<&String> = names.iter().collect();
                prop_assert_eq!(distinct.len(), names.len(), "{:?}", names);
                prop_assert!(names.iter().all(|name| is_valid(name)), "{:?}", names);
                let tree = generate(&group, Options { systemd: Systemd::NEWEST, static_target: false });
                for path in tree.entries.keys() {
                    prop_assert!(path.split('/').all(|part| part.len() <= 255 && part != ".." && !part.is_empty()), "{}", path);
                    prop_assert!(!path.contains("copse-ready@.") && path.matches('/').count() <= 1, "{}", path);
                }
            }
        }
    }

    #[test]
    fn what_two_groups_make_never_meets_unless_it_is_reported(
        one in "[a-c](-[a-c]){0,2}", other in "[a-c](-[a-c]){0,2}",
        p in "[a-c](-[a-c]){0,2}", q in "[a-c](-[a-c]){0,2}",
    ) {
        prop_assume!(one != other);
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("etc/copse");
        std::fs::create_dir_all(&directory).unwrap();
        for (group, process) in [(&one, &p), (&other, &q)] {
            std::fs::write(directory.join(format!("{group}.toml")), format!("[process.{process}]\nexec = \"/bin/true\"\n")).unwrap();
        }
        let directories = copse::basic::scope::Directories::new(Scope::System, Some(root.path().to_owned()), |_| None);
        let outcome = copse::generator::load::load(&directories, &Context { scope: Scope::System, cpus: 2 });
        let good: Vec<&Group> = outcome.groups.iter().filter_map(|group| group.group.as_ref()).collect();
        prop_assert!(good.len() == 2 || outcome.has_errors());
        prop_assert!(!good.is_empty(), "the first of the two is generated all the same");
        let names: Vec<String> = good.iter().flat_map(|group| unit_names(group)).collect();
        let distinct: BTreeSet<&String> = names.iter().collect();
        prop_assert_eq!(distinct.len(), names.len(), "{:?}", names);
    }
}
