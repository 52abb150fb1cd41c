//! No text can become a directive, a section or another unit: whatever stands in a group, its units have the same
//! directives in the same order as those of a group with harmless texts.

use proptest::prelude::*;

use super::*;
use crate::unit::strict::skeleton;

/// A group in which `hostile` stands wherever its author writes text that isn't checked against an alphabet.
fn with_everywhere(hostile: &str) -> Group {
    let path = |prefix: &str| text(&format!("{prefix}{hostile}"));
    let mut web = process("/bin/web");
    let service = &mut web.service;
    service.description = Some(hostile.to_owned());
    service
        .exec
        .extend([text(hostile), Text::from(vec![Piece::Literal(hostile.to_owned()), Piece::Env("A".to_owned())])]);
    service.exec_start_pre = vec![vec![path("/bin/"), text(hostile)]];
    service.exec_reload = vec![vec![path("/bin/")]];
    service.environment.insert("A".to_owned(), text(hostile));
    service.environment_files = vec![(true, path("/etc/"))];
    service.working_directory = Some(path("/srv/"));
    service.directives.push(directive(Section::Service, "User", "user"));
    service.directives.last_mut().unwrap().value.to_mut().push_str(hostile);
    service.directories = vec![Directory { kind: DirectoryKind::State, names: vec![path("a"), path("b")], mode: None }];
    service.credentials.extend([
        ("a".to_owned(), Credential::Load(path("/etc/"))),
        ("b".to_owned(), Credential::Text(hostile.to_owned())),
    ]);
    service.ready = Ready::Probe(vec![
        Probe::Http(text(hostile), vec![hostile.to_owned()]),
        Probe::Command(vec![path("/bin/"), text(hostile)]),
    ]);
    service.hardening = Hardening::Strict;
    service.pass = PassThrough(vec![
        (Section::Service, "Environment".to_owned(), Pass::Add(vec![hostile.to_owned(), hostile.to_owned()])),
        (Section::Unit, "ConditionHost".to_owned(), Pass::Replace(hostile.to_owned())),
    ]);
    web.sockets = vec![Socket { name: None, each_instance: false, listen: vec![("ListenStream", path("/run/"))] }];
    let mut backup = process("/bin/backup");
    backup.start = Start::Timed(vec![hostile.to_owned()]);
    let mut migrate = step("/bin/migrate");
    migrate.service.inputs = vec![path("/srv/")];
    migrate.service.environment.insert("B".to_owned(), text(hostile));

    let mut shop = group(vec![("web", web), ("backup", backup)]);
    shop.setup.insert(name("migrate"), migrate);
    shop.description = Some(hostile.to_owned());
    shop.documentation = vec![hostile.to_owned()];
    shop.files = vec![format!("/etc/copse/{hostile}.toml").into()];
    shop.shared = Some(SharedDirectories {
        directories: vec![Directory { kind: DirectoryKind::Runtime, names: vec![path("s")], mode: None }],
        user: Some(format!("u{hostile}").into()),
        group: None,
    });
    shop
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_becomes_a_directive(
        hostile in "([\\\\\n\r\"'%$; =\\[\\]#{}\t\u{1}-]|[a-z]|\nExecStart=/evil|\n\\[Service\\]\n|\\\\\n|\\$\\{A\\}|%i){0,12}"
    ) {
        let expected = skeleton(&generate(&with_everywhere("x"), newest()));
        let tree = generate(&with_everywhere(&hostile), newest());
        prop_assert_eq!(skeleton(&tree), expected);
        // What is kept of an orphan is read back at each run, and has to be what it was.
        for unit in tree.entries.keys().filter_map(|path| tree.unit(path)) {
            prop_assert_eq!(&parse::unit(&unit.to_string()), unit);
        }
    }

    #[test]
    fn no_diagnostic_becomes_a_directive(message in "\\PC{0,40}|[\\\\\n%a\\[\\]=]{0,20}", text in "[a-z\\\\\n%=\\[]{1,60}") {
        let shop = GroupName::new("shop").unwrap();
        let (files, nobody) = (["/etc/copse/shop.toml".into()], StartedBy::Units(Vec::new()));
        let tree = invalid(&shop, Scope::System, newest(), &nobody, &files, &message, &text);
        for (path, directives) in skeleton(&tree) {
            let known = ["X-CopseSource", "Description", "SourcePath", "X-CopseGroup", "Requires", "After", "StandardInputText"];
            let name = |line: &String| line.split_once("] ").unwrap().1.to_owned();
            prop_assert!(directives.iter().all(|line| known.contains(&name(line).as_str())), "{}: {:?}", path, directives);
        }
        let reporter = "copse-invalid@shop.service.d/50-copse.conf";
        let said: Vec<_> = values(&tree, reporter, "StandardInputText");
        let said: Vec<_> = said.iter().map(|line| strict::specifiers(&strict::unescape(line).unwrap()).unwrap()).collect();
        prop_assert_eq!(said, text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>());
    }
}
