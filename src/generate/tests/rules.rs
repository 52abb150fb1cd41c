//! One test per rule that holds for more than one kind of unit.

use super::*;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The unit of `process`, alone in its group.
fn unit(process: Process, target: Options) -> UnitTree {
    generate(&group(vec![("web", process)]), target)
}

const WEB: &str = "shop-web.service";

#[test]
fn placeholders_become_specifiers() {
    let directory = |kind| Piece::Directory(kind, Box::new(text("shop")));
    let mut web = process("/bin/web");
    web.service.exec.push(Text::from(vec![
        Piece::Literal("50%i:".to_owned()),
        Piece::Unit,
        directory(DirectoryKind::Runtime),
        directory(DirectoryKind::Configuration),
        Piece::CredentialsDirectory,
    ]));
    assert_eq!(value(&unit(web.clone(), on(250)), WEB, "ExecStart"), r#":/bin/web "50%%i:%n%t/shop%E/shop%d""#);
    assert!(value(&unit(web, on(249)), WEB, "ExecStart").ends_with(r#"%E/shop%t/credentials/%n""#));
}

#[test]
fn a_percent_is_doubled_where_systemd_would_read_it() {
    let mut web = process("/bin/web");
    web.service.description = Some("100% web".to_owned());
    web.service.working_directory = Some(text("/srv/50%"));
    web.service.environment.insert("URL".to_owned(), text("postgres://u:p%40h@db/%2Fx"));
    web.service.environment_files = vec![(true, text("/etc/a%b")), (false, text("/etc/c"))];
    web.service.directives.push(directive(Section::Service, "CPUQuota", "50%"));
    web.service.directives.push(directive(Section::Service, "User", "a%b"));
    let tree = unit(web, newest());
    assert_eq!(value(&tree, WEB, "Description"), "100%% web");
    assert_eq!(value(&tree, WEB, "WorkingDirectory"), "/srv/50%%");
    assert_eq!(value(&tree, WEB, "Environment"), r#""URL=postgres://u:p%%40h@db/%%2Fx""#);
    assert_eq!(values(&tree, WEB, "EnvironmentFile"), ["-/etc/a%%b", "/etc/c"]);
    assert_eq!(value(&tree, WEB, "User"), "a%%b");
    assert_eq!(value(&tree, WEB, "CPUQuota"), "50%", "percentages are not specifiers");
}

#[test]
fn a_probe_waits_after_the_start_and_the_authors_command_after_it() {
    let mut web = process("/bin/web");
    let url = vec![Piece::Literal("http://127.0.0.1:".to_owned()), Piece::Env("PORT".to_owned())];
    web.service.ready = Ready::Probe(vec![
        Probe::Http(Text::from(url), vec!["200".to_owned(), "300-399".to_owned()]),
        Probe::File(text("/run/web.pid")),
        Probe::Command(argv("/bin/check -v --")),
    ]);
    web.service.exec_start_post = vec![argv("/bin/warm-up")];
    let tree = unit(web, newest());
    assert_eq!(value(&tree, WEB, "Type"), "exec");
    assert_eq!(value(&tree, WEB, "NotifyAccess"), "exec");
    assert_eq!(value(&tree, WEB, "ExecStart"), ":/bin/web");
    assert_eq!(
        values(&tree, WEB, "ExecStartPost"),
        [
            "/usr/bin/copse-notify wait --http \"http://127.0.0.1:${PORT}\" --status 200 --status 300-399 \
             --file /run/web.pid --command 3 /bin/check -v --",
            ":/bin/warm-up",
        ]
    );
}

#[test]
fn a_descriptor_probe_and_health_need_copse_notify_in_front() {
    let mut web = process("web --loud");
    web.service.ready = Ready::Probe(vec![Probe::Fd(3)]);
    let tree = unit(web.clone(), newest());
    assert_eq!(value(&tree, WEB, "Type"), "notify");
    assert_eq!(value(&tree, WEB, "NotifyAccess"), "all");
    assert_eq!(value(&tree, WEB, "ExecStart"), ":/usr/bin/copse-notify --fd 3 -- web --loud");
    assert_eq!(values(&tree, WEB, "ExecStartPost"), [""; 0]);

    web.service.health =
        Some(Health { probes: vec![Probe::Tcp(text("[::1]:80"))], interval: span("10s"), failures: 2 });
    web.service.ready = Ready::Notify;
    let tree = unit(web.clone(), newest());
    assert_eq!(
        value(&tree, WEB, "ExecStart"),
        r#":/usr/bin/copse-notify --main-ready --health --tcp "[::1]:80" --failures 2 --health-interval 10s -- web --loud"#
    );
    assert_eq!(value(&tree, WEB, "WatchdogSec"), "30s");

    web.service.directives.push(directive(Section::Service, "WatchdogSec", "1min"));
    web.service.ready = Ready::Dbus("org.shop".to_owned());
    let tree = unit(web, newest());
    assert_eq!(value(&tree, WEB, "WatchdogSec"), "1min");
    assert_eq!((value(&tree, WEB, "Type"), value(&tree, WEB, "BusName")), ("dbus".into(), "org.shop".into()));
}

#[test]
fn every_way_of_being_ready_has_its_type() {
    for (ready, kind) in [
        (Ready::Exec, "exec"),
        (Ready::Notify, "notify"),
        (Ready::Oneshot, "oneshot"),
        (Ready::Dbus("org.shop".to_owned()), "dbus"),
        (Ready::PidFile(text("/run/web.pid")), "forking"),
    ] {
        let mut web = process("/bin/web");
        web.service.ready = ready.clone();
        let tree = unit(web, newest());
        assert_eq!(value(&tree, WEB, "Type"), kind);
        assert_eq!(!values(&tree, WEB, "RemainAfterExit").is_empty(), ready == Ready::Oneshot);
    }
}

#[test]
fn after_a_process_means_after_all_of_its_instances() {
    let mut manager = process("/bin/manager");
    manager.service.ready = Ready::Notify;
    manager.instances = instances(&["1", "2"]);
    let mut web = process("/bin/web");
    web.after = vec![name("manager")];
    web.after_units = vec!["postgresql.service".to_owned()];
    let mut shop = group(vec![("manager", manager), ("web", web)]);
    let tree = generate(&shop, newest());
    assert_eq!(
        names(&tree, WEB, "After"),
        ["copse-reset@shop.service", "postgresql.service", "shop-manager@1.service", "shop-manager@2.service"]
    );
    assert_eq!(value(&tree, "shop-manager@.service", "RestartMode"), "direct");
    assert_eq!(values(&tree, WEB, "RestartMode"), [""; 0]);
    shop.processes.get_mut(&name("manager")).unwrap().service.ready = Ready::Exec;
    let tree = generate(&shop, newest());
    assert_eq!(values(&tree, "shop-manager@.service", "RestartMode"), [""; 0], "its start is over at once");
}

#[test]
fn what_the_group_is_after_and_requires_reaches_every_unit() {
    let mut shop = group(vec![("web", process("/bin/web"))]);
    shop.setup.insert(name("migrate"), step("/bin/migrate"));
    shop.after = vec!["network-online.target".to_owned()];
    shop.requires = vec!["db.service".to_owned()];
    shop.wants = vec!["network-online.target".to_owned()];
    let tree = generate(&shop, newest());
    for unit in [WEB, "shop-migrate.service", "shop.target"] {
        assert!(names(&tree, unit, "After").contains(&"network-online.target".to_owned()), "{unit}");
        assert!(names(&tree, unit, "Requires").contains(&"db.service".to_owned()), "{unit}");
    }
    assert!(names(&tree, "shop.target", "Wants").contains(&"network-online.target".to_owned()));
    assert_eq!(names(&tree, WEB, "Wants"), [""; 0]);
}

#[test]
fn under_stop_the_essential_are_judged_when_they_fail() {
    let mut side = process("/bin/side");
    side.service.essential = false;
    let mut shop = group(vec![("web", process("/bin/web")), ("side", side)]);
    shop.setup.insert(name("migrate"), step("/bin/migrate"));
    let tree = generate(&shop, newest());
    assert_eq!(values(&tree, WEB, "OnFailure"), [""; 0]);
    shop.failure_policy = FailurePolicy::Stop;
    let tree = generate(&shop, newest());
    for unit in [WEB, "shop-migrate.service"] {
        assert_eq!(value(&tree, unit, "OnFailure"), "copse-gave-up@%N.service");
    }
    assert_eq!(values(&tree, "shop-side.service", "OnFailure"), [""; 0]);
    assert_eq!(
        values(&tree, "copse-ready@shop.service.d/50-copse.conf", "StandardInputText"),
        ["shop-side.service optional", "shop-web.service"]
    );
}

#[test]
fn a_directive_that_the_version_does_not_know_is_not_written() {
    let mut web = process("/bin/web");
    web.service.directives.push(directive(Section::Service, "RestartSteps", "5"));
    web.service.credentials.insert("key".to_owned(), Credential::Encrypted(text("/etc/key")));
    web.service.pass = PassThrough(vec![
        (Section::Service, "RestartMode".to_owned(), Pass::Replace("direct".to_owned())),
        (Section::Unit, "X-Mine".to_owned(), Pass::Replace("1".to_owned())),
    ]);
    let (old, new) = (unit(web.clone(), on(249)), unit(web, newest()));
    for directive in ["RestartSteps", "LoadCredentialEncrypted", "RestartMode"] {
        assert_eq!(values(&old, WEB, directive), [""; 0], "{directive}");
        assert_eq!(values(&new, WEB, directive).len(), 1, "{directive}");
    }
    assert_eq!(value(&old, WEB, "X-Mine"), "1");
}

#[test]
fn pass_through_comes_last_and_replaces_adds_or_resets() {
    let mut web = process("/bin/web");
    web.service.environment.insert("A".to_owned(), text("1"));
    web.service.exec_stop_post = vec![argv("/bin/clean")];
    let pass = |name: &str, pass| (Section::Service, name.to_owned(), pass);
    web.service.pass = PassThrough(vec![
        pass("Environment", Pass::Add(vec!["B=%i".to_owned(), "C=3".to_owned()])),
        pass("Restart", Pass::Replace("always".to_owned())),
        pass("ExecStopPost", Pass::Reset(vec!["-/bin/other $X".to_owned()])),
    ]);
    let tree = unit(web, newest());
    assert_eq!(values(&tree, WEB, "Environment"), ["A=1", "B=%i", "C=3"]);
    assert_eq!(value(&tree, WEB, "Restart"), "always");
    assert_eq!(values(&tree, WEB, "ExecStopPost"), ["", "-/bin/other $X"]);
    assert!(at(&tree, WEB).ends_with("ExecStopPost=-/bin/other $X\n"));
}

#[test]
fn credentials_have_three_sources() {
    let mut web = process("/bin/web");
    web.service.credentials.extend([
        ("a".to_owned(), Credential::Load(text("/etc/50%"))),
        ("b".to_owned(), Credential::Encrypted(text("/etc/b"))),
        ("c".to_owned(), Credential::Text("x y\n".to_owned())),
    ]);
    let tree = unit(web, newest());
    assert_eq!(value(&tree, WEB, "LoadCredential"), "a:/etc/50%%");
    assert_eq!(value(&tree, WEB, "LoadCredentialEncrypted"), "b:/etc/b");
    assert_eq!(value(&tree, WEB, "SetCredential"), r"c:x\x20y\x0a");
}

#[test]
fn hardening_fences_and_leaves_the_own_directories_writable() {
    let mut shop = group(vec![("web", process("/bin/web"))]);
    let names = vec![text("shop")];
    let kinds = [DirectoryKind::Runtime, DirectoryKind::Configuration];
    let directories = kinds.map(|kind| Directory { kind, names: names.clone(), mode: None }).to_vec();
    shop.shared = Some(SharedDirectories { directories, user: None, group: None });
    let web = |shop: &mut Group, hardening| {
        shop.processes.get_mut(&super::name("web")).unwrap().service.hardening = hardening;
        generate(shop, newest())
    };
    let tree = web(&mut shop, Hardening::Basic);
    assert_eq!(value(&tree, WEB, "ProtectSystem"), "full");
    assert_eq!(value(&tree, WEB, "NoNewPrivileges"), "yes");
    assert_eq!(values(&tree, WEB, "SystemCallFilter"), [""; 0]);
    let tree = web(&mut shop, Hardening::Strict);
    assert_eq!(value(&tree, WEB, "ProtectSystem"), "strict");
    assert_eq!(value(&tree, WEB, "ProtectHome"), "yes");
    assert_eq!(value(&tree, WEB, "ReadWritePaths"), "%t/shop");
    assert!(value(&tree, WEB, "CapabilityBoundingSet").starts_with("~CAP_SYS_ADMIN "));

    let service = &mut shop.processes.get_mut(&super::name("web")).unwrap().service;
    service.directives.push(directive(Section::Service, "CapabilityBoundingSet", "CAP_CHOWN"));
    service.working_directory = Some(text("/home/app"));
    let tree = web(&mut shop, Hardening::Strict);
    assert_eq!(value(&tree, WEB, "CapabilityBoundingSet"), "CAP_CHOWN");
    assert_eq!(value(&tree, WEB, "ProtectHome"), "read-only");

    shop.scope = Scope::User;
    let tree = web(&mut shop, Hardening::Strict);
    assert_eq!(value(&tree, WEB, "SystemCallFilter"), "@system-service");
    for mounting in ["ProtectSystem", "ProtectHome", "PrivateTmp", "ReadWritePaths"] {
        assert_eq!(values(&tree, WEB, mounting), [""; 0]);
    }
}

#[test]
fn the_user_scope_has_its_own_slice_and_drop_in_directory() {
    let mut shop = group(vec![("web", process("/bin/web"))]);
    shop.scope = Scope::User;
    let tree = generate(&shop, newest());
    assert!(has(&tree, "app-copse-shop.slice"));
    assert_eq!(value(&tree, WEB, "Slice"), "app-copse-shop.slice");
    assert!(at(&tree, WEB).contains("`systemctl --user edit`"));
}

#[test]
fn no_line_grows_with_the_number_of_instances() {
    let mut many = process("/bin/many");
    let all: Vec<_> = (1..=500).map(|number| number.to_string()).collect();
    many.instances = instances(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let mut web = process("/bin/web");
    let long = "a-process-whose-name-is-rather-long-and-then-some";
    web.after = vec![name(long)];
    let tree = generate(&group(vec![(long, many), ("web", web)]), newest());
    assert_eq!(names(&tree, WEB, "After").len(), 501);
    for (path, entry) in &tree.entries {
        if let Entry::File(unit) = entry {
            assert!(unit.to_string().lines().all(|line| line.len() <= 2_000), "{path}");
        }
    }
}

#[test]
fn no_unit_has_an_install_section() {
    let mut shop = group(vec![("web", process("/bin/web"))]);
    shop.setup.insert(name("migrate"), step("/bin/migrate"));
    shop.wanted_by = vec!["multi-user.target".to_owned()];
    for entry in generate(&shop, newest()).entries.values() {
        assert!(!matches!(entry, Entry::File(unit) if unit.section(Section::Install).next().is_some()));
    }
}

#[test]
fn a_thousand_processes_take_milliseconds() {
    let names: Vec<_> = (0..1000).map(|number| format!("p{number}")).collect();
    let processes = names.iter().map(|name| {
        let mut process = process("/bin/web --verbose --port 8000");
        process.after = vec![super::name("p0")];
        (name.as_str(), process)
    });
    let mut shop = group(processes.collect());
    shop.processes.get_mut(&name("p0")).unwrap().after.clear();
    // The processor's time, which other work on the machine doesn't lengthen.
    let time = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let start = time();
    let tree = generate(&shop, on(252));
    let took = time() - start;
    // Generous, as it isn't optimised. Quadratic work would take far longer.
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(tree.entries.len(), 2003);
}

#[test]
fn behind_a_shell_a_child_says_that_it_is_ready() {
    let mut web = process("/bin/web");
    web.service.ready = Ready::Notify;
    assert_eq!(values(&unit(web.clone(), newest()), WEB, "NotifyAccess"), [""; 0]);
    web.service.exec = argv("/bin/sh -c web");
    assert_eq!(value(&unit(web, newest()), WEB, "NotifyAccess"), "all");
}
