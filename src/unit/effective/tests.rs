use super::*;

/// What `unit` comes to: `Section.Name=value` for each value.
fn merged(unit: &str, generated: &[(&str, &str)], above: &[(&str, &str)], below: &[(&str, &str)]) -> Vec<String> {
    let mut tree = UnitTree::default();
    for (path, text) in generated {
        match text.strip_prefix("→ ") {
            Some(target) => tree.link(*path, target),
            None => drop(tree.entries.insert((*path).to_owned(), Entry::File(parse::unit(text)))),
        }
    }
    let files = |all: &[(&str, &str)]| {
        all.iter().map(|(path, text)| Arc::new(SourceFile { path: path.into(), text: (*text).to_owned() })).collect()
    };
    let overrides = Overrides { above: files(above), below: files(below) };
    let definition = Definitions::new(&tree, &overrides).unit(unit);
    let definition = definition.unwrap();
    let lines = definition
        .directives()
        .flat_map(|(section, name, values)| values.iter().map(move |value| format!("{section}.{name}={value}")));
    lines.collect()
}

#[test]
fn a_unit_is_merged_as_systemd_does() {
    let unit = "[Unit]\nDescription=a\n[Service]\nExecStart=/a\nRestartSec=1\nEnvironment=A=1 \"B=x y\"\n";
    let etc = |name: &'static str, text: &'static str| (name, text);
    for (what, name, generated, above, below, expected) in [
        (
            "the file alone",
            "g-p.service",
            vec![("g-p.service", "[Service]\nNice=1\n")],
            vec![],
            vec![],
            "Service.Nice=1",
        ),
        (
            "a template, for an instance without a file of its own",
            "g-p@1.service",
            vec![("g-p@.service", "[Service]\nNice=1\n"), ("g-p@2.service", "[Service]\nNice=2\n")],
            vec![],
            vec![],
            "Service.Nice=1",
        ),
        (
            "an instance's own file",
            "g-p@2.service",
            vec![("g-p@.service", "[Service]\nNice=1\n"), ("g-p@2.service", "[Service]\nNice=2\n")],
            vec![],
            vec![],
            "Service.Nice=2",
        ),
        (
            "an administrator's unit file wins, a package's doesn't",
            "g-p.service",
            vec![("g-p.service", unit)],
            vec![etc("/etc/systemd/system/g-p.service", "[Service]\nNice=7\n")],
            vec![etc("/usr/lib/systemd/system/g-p.service", "[Service]\nNice=8\n")],
            "Service.Nice=7",
        ),
        (
            "drop-ins by file name, wherever they are",
            "g-p@1.service",
            vec![("g-p@.service", "[Service]\nNice=1\nUMask=1\nUser=a\nGroup=a\n")],
            vec![
                etc("/etc/systemd/system/g-p@1.service.d/10.conf", "[Service]\nNice=2\nUMask=2\nUser=b\n"),
                etc("/etc/systemd/system/g-.service.d/20.conf", "[Service]\nNice=3\nUMask=3\n"),
                etc("/etc/systemd/system/service.d/30.conf", "[Service]\nNice=4\n"),
            ],
            vec![etc("/usr/lib/systemd/system/g-p@.service.d/05.conf", "[Service]\nGroup=b\nUser=c\n")],
            "Service.Group=b Service.Nice=4 Service.UMask=3 Service.User=b",
        ),
        (
            "of one file name the first directory's, then the more specific",
            "g-p.service",
            vec![("g-p.service", "[Service]\n")],
            vec![
                etc("/etc/systemd/system/g-.service.d/a.conf", "[Service]\nNice=2\n"),
                etc("/run/systemd/system/g-p.service.d/a.conf", "[Service]\nNice=3\n"),
                etc("/run/systemd/system/g-.service.d/b.conf", "[Service]\nUMask=1\n"),
                etc("/run/systemd/system/g-p.service.d/b.conf", "[Service]\nUMask=2\n"),
            ],
            vec![],
            "Service.Nice=2 Service.UMask=2",
        ),
        (
            "a drop-in of copse's own",
            "g.target",
            vec![("g.target.d/50-copse.conf", "[Unit]\nAfter=b a\nAfter=a\n"), ("g.target.wants/g-p.service", "→ x")],
            vec![],
            vec![etc("/usr/lib/systemd/system/g.target", "[Unit]\nWants=z.service\n[Install]\nWantedBy=x\n")],
            "Unit.After=a Unit.After=b Unit.Wants=g-p.service Unit.Wants=z.service",
        ),
        (
            "lists grow and are reset, single values are replaced, variables by name",
            "g-p.service",
            vec![("g-p.service", unit)],
            vec![etc(
                "/etc/systemd/system/g-p.service.d/x.conf",
                "[Service]\nExecStart=\nExecStart=/b\nRestartSec=5\nEnvironment=B=2 C=3\n[Unit]\nDescription=\n",
            )],
            vec![],
            "Service.Environment=A=1 Service.Environment=B=2 Service.Environment=C=3 Service.ExecStart=/b Service.RestartSec=5",
        ),
        (
            "what systemd doesn't act upon",
            "g-p.service",
            vec![(
                "g-p.service",
                "# x\nA=1\n[Unit]\nDocumentation=man:x\nSourcePath=/x\nX-Copse=1\n[X-Y]\nZ=1\n[Install]\nAlias=y\n",
            )],
            vec![],
            vec![],
            "",
        ),
    ] {
        assert_eq!(merged(name, &generated, &above, &below).join(" "), expected, "{what}");
    }
}

#[test]
fn a_mask_hides_the_unit() {
    let tree = UnitTree { entries: [("g-p.service".into(), Entry::File(parse::unit("[Service]\nNice=1\n")))].into() };
    let masked = Arc::new(SourceFile { path: "/etc/systemd/system/g-p.service".into(), text: String::new() });
    let overrides = Overrides { above: vec![masked], below: vec![] };
    let definition = Definitions::new(&tree, &overrides).unit("g-p.service").unwrap();
    assert!(definition.masked && definition.directives().next().is_none());
    assert_eq!(Definitions::new(&tree, &overrides).unit("g-q.service"), None);
}

#[test]
fn a_difference_names_the_directive_with_its_values_before_and_now() {
    let definition = |text: &str| {
        let tree = UnitTree { entries: [("g.service".into(), Entry::File(parse::unit(text)))].into() };
        Definitions::new(&tree, &Overrides::default()).unit("g.service").unwrap()
    };
    let old = definition("[Unit]\nAfter=a b\n[Service]\nNice=1\nUMask=1\nExecStartPre=/a\n");
    let new = definition("[Unit]\nAfter=b\nAfter=a\n[Service]\nNice=2\nExecStartPre=/a\nExecStartPre=/b\nUser=x\n");
    let seen: Vec<String> = old
        .difference(&new)
        .iter()
        .map(|difference| format!("{}: {} → {}", difference.name, difference.old.join("|"), difference.new.join("|")))
        .collect();
    assert_eq!(seen, ["ExecStartPre:  → /b", "Nice: 1 → 2", "UMask: 1 → ", "User:  → x"]);
    assert_eq!(old.difference(&old), []);
}

#[test]
fn of_a_long_list_only_what_changed_is_the_difference() {
    let apart = |old: &[&str], new: &[&str]| {
        let owned = |values: &[&str]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (old, new) = super::apart(owned(old), owned(new));
        (old.join("|"), new.join("|"))
    };
    let is = |old: &str, new: &str| (old.to_owned(), new.to_owned());
    assert_eq!(apart(&["PORT=1", "A=1"], &["PORT=1", "A=2"]), is("A=1", "A=2"));
    assert_eq!(apart(&["PORT=2"], &["PORT=2", "A=2"]), is("", "A=2"));
    assert_eq!(apart(&["/a", "/b"], &["/b", "/a"]), is("/a|/b", "/b|/a"));
    assert_eq!(apart(&["/a"], &["/a", "/a"]), is("/a", "/a|/a"));
}
