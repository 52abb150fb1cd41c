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

/// Runs a shell's own program that completes a line.
fn asked(root: &Root, shell: &str, arguments: &[&str]) -> String {
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_copse")).parent().unwrap();
    let ran: Ran = Command::new(shell)
        .args(arguments)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env("COPSE_ROOT", root.path(""))
        .env("HOME", root.path(""))
        .env("TERM", "dumb")
        .output()
        .unwrap_or_else(|error| panic!("{shell}, which `make prerequisites` installs: {error}"))
        .into();
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}: {}", ran.stdout);
    ran.stdout
}

/// Of each line, what is offered for its end.
const LINES: &[(&str, &[&str])] = &[
    ("copse expl", &["explain"]),
    ("copse status sh", &["shelf", "shop"]),
    ("copse status shel", &["shelf"]),
    ("copse status shop/", &["shop/migrate", "shop/web", "shop/worker"]),
    ("copse logs -f shop/we", &["shop/web"]),
    ("copse logs shop/web@", &["shop/web@1", "shop/web@2"]),
    ("copse graph shel", &["shelf"]),
    ("copse restart shop-we", &["shop-web"]),
    ("copse explain shared", &["shared-socket"]),
    ("copse kill -s HU", &["HUP"]),
];

fn shops() -> Root {
    let shelf = "description = \"A shelf: of two boards\"\n[process.x]\nexec = \"/a\"\n";
    Root::new(&[("shop", SHOP), ("shelf", shelf), ("mail", "")])
}

#[test]
fn fish_completes_verbs_groups_processes_and_instances() {
    let root = shops();
    for (line, expected) in LINES {
        let script = "copse completions fish | source; complete -C $argv[1]";
        let offered = asked(&root, "fish", &["--no-config", "-c", script, line]);
        let words: Vec<&str> = offered.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(words, *expected, "{line}");
    }
}

/// What a person sees who types a line and Tab in zsh, and then the line.
const TYPED: &str = r#"
    zmodload zsh/zpty
    zpty shell zsh -f -i
    begin=('PS1= PS2= PROMPT_EOL_MARK=' 'autoload -Uz compinit')
    case $1 in
        installed) begin+=('mkdir -p ~/functions; copse completions zsh >~/functions/_copse; fpath=(~/functions $fpath)' 'compinit -u -D') ;;
        sourced) begin+=('compinit -u -D' 'source <(copse completions zsh)') ;;
    esac
    begin+=('show() { print; print -r -- "<line>$BUFFER</line>" }' 'zle -N show' 'bindkey "^T" show' 'print be""gin')
    for line in $begin; do zpty -w shell $line; done
    zpty -r shell seen '*begin*'
    zpty -w -n shell $2$'\t\x14'
    zpty -r shell seen '*</line>*'
    print -r -- $seen
"#;

#[test]
fn zsh_completes_verbs_groups_processes_and_instances_at_the_first_key() {
    let root = shops();
    for way in ["sourced", "installed"] {
        for (line, expected) in LINES {
            let seen = asked(&root, "zsh", &["-fc", TYPED, "zsh", way, line]);
            let (shown, line_then) = seen.rsplit_once("<line>").unwrap_or_else(|| panic!("{way}: {line}: {seen:?}"));
            match expected {
                // What is the only one stands in the line, with a blank for the next word.
                [only] => {
                    let before = line.rsplit_once(' ').map_or("", |(before, _)| before);
                    assert_eq!(line_then.trim_end(), format!("{before} {only} </line>"), "{way}: {line}: {shown}");
                }
                several => {
                    let words: Vec<&str> =
                        shown.split_whitespace().map(|word| word.trim_start_matches("\u{1b}[0m")).collect();
                    let offered = several.iter().all(|one| words.contains(one));
                    assert!(offered, "{way}: {line}: {words:?}");
                }
            }
        }
    }
}
