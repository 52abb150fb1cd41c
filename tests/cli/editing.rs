//! `copse edit` with scripts for editors.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use crate::{Ran, Root, names};

const WEB: &str = "[process.web]\nexec = \"/usr/bin/web\"\n";

const DROP_IN: &str = "etc/copse/shop.toml.d/50-local.toml";

/// Runs `copse edit` with a shell script for the editor, which finds the file's name in `$1`.
fn edit(root: &Root, editor: &str, arguments: &[&str]) -> Ran {
    let script = root.path("editor");
    fs::write(&script, format!("#!/bin/sh\nset -eu\n{editor}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    command(root, arguments).env("EDITOR", &script).output().unwrap().into()
}

fn command(root: &Root, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
    command.arg("edit").args(arguments).env_clear().env("COPSE_ROOT", root.path("")).env("PATH", "/usr/bin:/bin");
    command
}

fn read(root: &Root, path: &str) -> Option<String> {
    fs::read_to_string(root.path(path)).ok()
}

#[test]
fn a_drop_in_is_checked_and_put_in_place() {
    let root = Root::new(&[("shop", WEB)]);
    let look = "grep -q '^# exec = \"/usr/bin/web\"$' \"$1\"; test \"${1##*.}\" = toml";
    let ran = edit(&root, &format!("{look}; sed -i '1i [process.web]\\nnice = 5' \"$1\""), &["shop"]);
    assert_eq!(read(&root, DROP_IN).as_deref(), Some("[process.web]\nnice = 5\n"), "{ran:?}");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""));
    let expected =
        "copse: wrote `/etc/copse/shop.toml.d/50-local.toml`\n  help: run `copse plan shop` to see what that means\n";
    assert_eq!(ran.stderr, expected);
    // Again: the text is there, and nothing is left beside it.
    let ran = edit(&root, "sed -i 's/nice = 5/nice = 6/' \"$1\"", &["shop"]);
    assert_eq!(read(&root, DROP_IN).as_deref(), Some("[process.web]\nnice = 6\n"), "{ran:?}");
    assert_eq!(names(&root.path("etc/copse")), ["shop.toml", "shop.toml.d/50-local.toml"]);
}

#[test]
fn a_mistake_is_shown_the_text_is_kept_and_nothing_is_changed() {
    let root = Root::new(&[("shop", WEB)]);
    let ran = edit(&root, "printf '[process.wbe]\\nnice = 5\\n' >\"$1\"", &["shop"]);
    assert_eq!(ran.status, 5, "{ran:?}");
    assert!(ran.stderr.contains("--> /etc/copse/shop.toml.d/50-local.toml:1:"), "{}", ran.stderr);
    let kept = ran.stderr.lines().last().and_then(|line| line.split('`').nth(1)).expect("a path");
    assert_eq!(fs::read_to_string(kept).unwrap(), "[process.wbe]\nnice = 5\n");
    assert!(
        ran.stderr.ends_with(&format!(
            "copse: not installed: the group file has errors\n  help: find your edits in `{kept}`\n"
        ))
    );
    assert_eq!(read(&root, DROP_IN), None);
    // What is kept is no drop-in.
    assert_eq!(root.run(&["check"]).status, 0);
    // And isn't lost when somebody edits again.
    let ran = edit(&root, "printf '[process.web]\\nnice = 5\\n' >\"$1\"", &["shop"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(fs::read_to_string(kept).unwrap(), "[process.wbe]\nnice = 5\n");
}

#[test]
fn nothing_is_written_where_nothing_was() {
    let root = Root::new(&[("shop", WEB)]);
    for (editor, status, said) in
        [("true", 0, "the text is empty"), ("exit 3", 1, "the editor failed (exit status: 3)")]
    {
        let ran = edit(&root, editor, &["shop"]);
        assert_eq!((ran.status, ran.stderr.contains(said)), (status, true), "{editor}: {ran:?}");
        assert_eq!(names(&root.path("etc/copse")), ["shop.toml"], "{editor}");
    }
    let ran = edit(&root, "true", &["--full", "shop"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, "copse: no changes, `/etc/copse/shop.toml` not changed\n"));
    // What was typed until the editor failed isn't lost.
    let ran = edit(&root, "echo 'nice = 5' >\"$1\"; exit 1", &["shop"]);
    let kept = ran.stderr.lines().last().and_then(|line| line.split('`').nth(1)).expect("a path");
    assert_eq!((ran.status, fs::read_to_string(kept).unwrap()), (1, "nice = 5\n".to_owned()));
}

#[test]
fn a_packaged_group_file_is_copied_and_a_new_one_is_made() {
    let root = Root::new(&[]);
    fs::create_dir_all(root.path("usr/lib/copse")).unwrap();
    fs::write(root.path("usr/lib/copse/shop.toml"), WEB).unwrap();
    let ran = edit(&root, "sed -i s,/usr/bin/web,/opt/web, \"$1\"", &["--full", "shop"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(read(&root, "etc/copse/shop.toml"), Some(WEB.replace("/usr/bin", "/opt")));
    assert_eq!(read(&root, "usr/lib/copse/shop.toml").as_deref(), Some(WEB));
    let write = format!("printf '%s' '{WEB}' >\"$1\"");
    let ran = edit(&root, &write, &["new"]);
    assert_eq!(
        (ran.status, ran.stderr.as_str()),
        (4, "copse: there is no group `new`\n  help: run `copse edit --full new` to create it\n")
    );
    let ran = edit(&root, &write, &["--full", "new"]);
    assert_eq!((ran.status, read(&root, "etc/copse/new.toml").as_deref()), (0, Some(WEB)), "{ran:?}");
    // It is checked against the others: both would make `new-web.service`.
    let ran = edit(&root, "printf '[process.new-web]\\nexec = \"/a\"\\n' >\"$1\"", &["--full", "new-web"]);
    assert_eq!((ran.status, ran.stderr.contains("is already a unit of group `new`")), (5, true), "{ran:?}");
}

#[test]
fn what_somebody_else_wrote_meanwhile_is_not_overwritten() {
    let root = Root::new(&[("shop", WEB)]);
    let other = root.path("etc/copse/shop.toml");
    let ran =
        edit(&root, &format!("echo '# mine' >>\"$1\"; echo '# theirs' >>{}", other.display()), &["--full", "shop"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.starts_with("copse: `/etc/copse/shop.toml` changed on disk while you edited it\n"), "{ran:?}");
    let kept = ran.stderr.lines().last().and_then(|line| line.split('`').nth(1)).expect("a path");
    assert_eq!(fs::read_to_string(kept).unwrap(), format!("{WEB}# mine\n"));
    assert_eq!(fs::read_to_string(other).unwrap(), format!("{WEB}# theirs\n"));
}

#[test]
fn a_hidden_group_is_no_file_to_edit() {
    let root = Root::new(&[]);
    symlink("/dev/null", root.path("etc/copse/shop.toml")).unwrap();
    let ran = edit(&root, &format!("printf '%s' '{WEB}' >\"$1\""), &["--full", "shop"]);
    assert_eq!((ran.status, ran.stderr.contains("not a regular file")), (1, true), "{ran:?}");
    assert_eq!(fs::read_link(root.path("etc/copse/shop.toml")).unwrap(), std::path::Path::new("/dev/null"));
}

#[test]
fn the_editor_is_a_command_with_arguments_and_visual_comes_first() {
    let root = Root::new(&[("shop", WEB)]);
    let mut command = command(&root, &["shop"]);
    command.env("VISUAL", "sed -i -e '1i [process.web]' -e '1i nice = 7'").env("EDITOR", "false");
    let ran: Ran = command.output().unwrap().into();
    assert_eq!((ran.status, read(&root, DROP_IN).as_deref()), (0, Some("[process.web]\nnice = 7\n")), "{ran:?}");
}
