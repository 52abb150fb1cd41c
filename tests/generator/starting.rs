//! How systemd, or somebody else, starts the program.

use std::os::unix::fs::PermissionsExt as _;

use crate::stand::{OUTPUT, Stand, simple};

fn stand() -> Stand {
    let stand = Stand::new();
    stand.group("web", &simple("web"));
    stand
}

#[test]
fn one_to_three_arguments() {
    let stand = stand();
    let directories: Vec<_> =
        ["generator", "generator.early", "generator.late"].map(|name| stand.path("/run/systemd").join(name)).into();
    let run = |arguments: &[&std::path::Path]| {
        stand.empty();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_copse-generator"));
        command.env_clear().env("COPSE_ROOT", stand.path("/")).env("SYSTEMD_SCOPE", "system").args(arguments);
        let output = command.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap(), stand.tree(OUTPUT).len())
    };
    for count in 1..=3 {
        let arguments: Vec<_> = directories.iter().take(count).map(std::path::PathBuf::as_path).collect();
        assert_eq!(run(&arguments), (0, String::new(), 5));
    }
    let usage = "usage: copse-generator NORMAL-DIR [EARLY-DIR [LATE-DIR]]\n".to_owned();
    assert_eq!(run(&[]), (2, usage.clone(), 0));
    assert_eq!(run(&["relative".as_ref()]), (2, usage.clone(), 0));
    assert_eq!(run(&[directories[0].as_path(); 4]), (2, usage, 0));
    assert!(
        !stand.path("/run/systemd/generator.early").exists() && !stand.path("/run/systemd/generator.late").exists()
    );
}

#[test]
fn without_the_variable_of_newer_versions() {
    // Whoever runs the tests: root is PID 1's, another is a user's.
    let stand = stand();
    let outcome = stand.run_with(|command| {
        command.env_remove("SYSTEMD_SCOPE");
    });
    let system = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    assert_eq!(outcome.has("web.service"), system);
}

#[test]
fn nothing_happens_in_the_initrd() {
    let stand = stand();
    let outcome = stand
        .run_with(|command| {
            command.env("SYSTEMD_IN_INITRD", "1");
        })
        .good();
    assert!(outcome.tree.is_empty());
    stand.file("/etc/initrd-release", "");
    assert!(stand.run().good().tree.is_empty());
    // The variable is the newer word.
    let outcome = stand
        .run_with(|command| {
            command.env("SYSTEMD_IN_INITRD", "0");
        })
        .good();
    assert!(outcome.has("web.service"));
}

#[test]
fn user_scope_reads_the_users_directories() {
    let stand = stand();
    for (directory, group) in [
        ("/home/u/.config/copse", "config"),
        ("/home/u/.local/share/copse", "data"),
        ("/etc/copse/user", "etc"),
        ("/run/user/7/copse", "runtime"),
        ("/run/copse/user", "run"),
        ("/usr/lib/copse/user", "vendor"),
    ] {
        stand.file(&format!("{directory}/{group}.toml"), simple(group));
    }
    let user = |variables: &[(&str, &str)]| {
        let outcome = stand.run_with(|command| {
            command.env("SYSTEMD_SCOPE", "user").envs(variables.iter().copied());
        });
        let targets = outcome.good().tree.into_keys().filter_map(|name| Some(name.strip_suffix(".target")?.to_owned()));
        targets.collect::<Vec<_>>()
    };
    let all = ["config", "data", "etc", "run", "runtime", "vendor"];
    assert_eq!(user(&[("HOME", "/home/u"), ("XDG_RUNTIME_DIR", "/run/user/7")]), all);
    assert_eq!(user(&[("XDG_CONFIG_HOME", "/home/u/.config")]), ["config", "etc", "run", "vendor"]);
    assert_eq!(user(&[]), ["etc", "run", "vendor"]);
}

#[test]
fn errors_go_to_standard_error_where_the_kernels_log_is_closed() {
    let stand = stand();
    stand.group("bad", "x");
    stand.empty();
    stand.remove("/dev/kmsg");
    let output = stand.command().output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("copse-generator: /etc/copse/bad.toml:1:2: error[syntax]: "), "{stderr}");
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1));
}

#[test]
fn units_are_for_everybody_to_read_whatever_the_umask() {
    let stand = stand();
    stand.empty();
    let command = stand.command();
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "umask 0077; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(shell.status().unwrap().success());
    let mode = |path: &str| std::fs::metadata(stand.path(OUTPUT).join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("web.service"), mode("web.target.wants")), (0o644, 0o755));
}

#[test]
fn too_few_file_descriptors_are_an_error_and_no_crash() {
    let stand = stand();
    for limit in 3..12 {
        stand.empty();
        let command = stand.command();
        let mut shell = std::process::Command::new("/bin/sh");
        let script = format!("ulimit -n {limit}; exec \"$@\"");
        shell.args(["-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
        shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = shell.output().unwrap();
        let code = output.status.code();
        // 127: the program itself couldn't be loaded.
        assert!(matches!(code, Some(0 | 1 | 126 | 127)), "{limit}: {output:?}");
        assert_eq!(code == Some(0), stand.tree(OUTPUT).len() == 5, "{limit}: {output:?}");
    }
}

#[test]
fn a_flood_of_errors_leaves_room_in_the_log() {
    let stand = stand();
    (0..300).for_each(|n| stand.group(&format!("bad{n}"), "x"));
    let outcome = stand.run();
    assert!(outcome.has("web.service") && outcome.has("bad299.target"));
    assert_eq!(outcome.log.len(), 200);
    assert_eq!(outcome.log[199], "further diagnostics omitted; `copse check` shows all of them");
}

#[test]
fn the_version_of_systemd_decides_what_is_written() {
    let stand = Stand::new();
    stand.group("web", "[process.web]\nexec = \"/bin/true\"\nrestart-steps = 3\nrestart-max-delay-sec = \"1min\"\n");
    let steps = || {
        let outcome = stand.run();
        assert_eq!(outcome.status, 0, "{:?}", outcome.log);
        outcome.text("web.service").contains("RestartSteps=3\n")
    };
    // Unknown: nothing that the oldest doesn't have.
    assert!(!steps());
    stand.file("/usr/lib/systemd/libsystemd-shared-252.39-1~deb12u1.so", "");
    assert!(!steps());
    stand.file("/usr/lib/systemd/libsystemd-shared-257.so", "");
    assert!(steps());
}
