//! Completion, by the shells themselves.

use std::process::Command;

use crate::{Ran, Root};

const SHOP: &str = "\
[process.web]\nexec = \"/a\"\ninstances = 2\n[process.worker]\nexec = \"/a\"\n[setup.migrate]\nexec = \"/a\"\n";

/// What bash offers for a line with the cursor at its end: it runs the function that it was told to, with the words
/// cut where bash cuts them.
fn offered(root: &Root, line: &str) -> Vec<String> {
    let script = r#"
        source <(copse completions bash)
        complete -p copse >/dev/null
        COMP_LINE=$1 COMP_POINT=${#1}
        # As readline does it: COMP_WORDBREAKS are words of their own.
        IFS=$'\n' read -rd '' -a COMP_WORDS < <(grep -oE '[^ @:=]+|[@:=]+' <<<"$1") || true
        [[ $1 == *[\ @:=] ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _copse copse "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_copse")).parent().unwrap();
    let ran: Ran = Command::new("bash")
        .args(["--norc", "-euc", script, "bash", line])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env("COPSE_ROOT", root.path(""))
        .output()
        .unwrap()
        .into();
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{line}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_verbs_groups_processes_and_instances() {
    let root = Root::new(&[("shop", SHOP), ("shelf", "[process.x]\nexec = \"/a\"\n"), ("mail", "")]);
    for (line, expected) in [
        ("copse expl", &["explain"][..]),
        ("copse status sh", &["shelf", "shop"]),
        ("copse status sho", &["shop"]),
        ("copse status shop/", &["shop/migrate", "shop/web", "shop/worker"]),
        ("copse logs -f shop/we", &["shop/web"]),
        // bash replaces what is behind the `@` only.
        ("copse logs shop/web@", &["1", "2"]),
        ("copse logs --since yesterday shop/wo", &["shop/worker"]),
        ("copse graph s", &["shelf", "shop"]),
        ("copse status nothing", &[]),
    ] {
        let found: Vec<_> = offered(&root, line).into_iter().filter(|word| !word.is_empty()).collect();
        assert_eq!(found, expected, "{line}");
    }
    assert!(offered(&root, "copse logs --fo").contains(&"--follow".to_owned()));
}

#[test]
fn what_copses_own_units_run_is_not_offered() {
    let root = Root::new(&[]);
    let verbs = offered(&root, "copse ");
    assert!(verbs.contains(&"status".to_owned()) && !verbs.contains(&"internal".to_owned()), "{verbs:?}");
}

#[test]
fn the_other_shells_have_scripts_too() {
    for (shell, has) in [("zsh", "#compdef copse"), ("fish", "complete "), ("bash", "complete -o bashdefault")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
        let ran: Ran = command.args(["completions", shell]).output().unwrap().into();
        assert!(ran.status == 0 && ran.stdout.contains(has) && ran.stdout.contains("COPSE_COMPLETE"), "{ran:?}");
    }
}
