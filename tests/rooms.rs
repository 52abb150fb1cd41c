//! The rooms of src/ and which of them may import which: the table is the architecture, and CONTRIBUTING.md draws it.

#[path = "rooms/circles.rs"]
mod circles;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each room with the rooms that it may import, all of them further up. `Cargo.toml` says which belong to the command.
const ROOMS: [(&str, &str); 18] = [
    ("basic", ""),
    ("unit", "basic"),
    ("notify", "basic"),
    ("group_file", "basic unit"),
    ("model", "basic unit notify group_file"),
    ("generate", "basic unit model"),
    ("state", "basic unit group_file"),
    ("manager", "basic"),
    ("generator", "basic unit group_file model generate state"),
    ("change/observe", "basic unit notify group_file model generate state manager generator"),
    ("change/plan", "basic unit model change/observe"),
    ("change/rollout", "basic unit group_file state manager change/observe change/plan"),
    ("change", "unit manager generator"),
    ("status", "basic manager change/observe change/plan"),
    ("import", "basic unit group_file model"),
    ("supervisor", "basic unit model generate manager generator"),
    ("export", "basic unit group_file model"),
    (
        "cli",
        "basic unit notify group_file model generate state manager generator change/observe change/plan change/rollout change status import export",
    ),
];

#[test]
fn no_room_imports_another_but_as_the_table_says() {
    let allowed = |room: &str| ROOMS.iter().find(|(name, _)| *name == room).map(|(_, others)| *others);
    let mut used = BTreeSet::new();
    for file in sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))) {
        let Some(room) = room_of(&file) else { continue };
        for (line, other) in imports(&file) {
            if other == room {
                continue;
            }
            assert!(
                allowed(&room).is_some_and(|others| others.split(' ').any(|known| known == other)),
                "{}:{line} imports `{other}`; move the item to a room that `{room}` may import, or, if `{other}` is \
                 further up in ROOMS, add it to the line of `{room}` in {}",
                file.display(),
                file!()
            );
            used.insert((room.clone(), other));
        }
    }
    for (room, others) in ROOMS {
        for other in others.split(' ').filter(|other| !other.is_empty()) {
            assert!(
                used.contains(&(room.to_owned(), other.to_owned())),
                "`{room}` doesn't import `{other}` any more: take it out of its line in {}",
                file!()
            );
        }
    }
}

#[test]
fn rooms_import_only_what_stands_above_them() {
    for (position, (room, others)) in ROOMS.iter().enumerate() {
        for other in others.split(' ').filter(|other| !other.is_empty()) {
            let above = ROOMS[..position].iter().any(|(name, _)| *name == other);
            assert!(above, "`{room}` may not import `{other}`, which stands below it");
        }
    }
}

#[test]
fn the_crate_and_the_guide_for_contributors_introduce_the_rooms_with_the_same_picture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let head = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let head: String = head
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line)))
        .collect();
    let guide = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let picture =
        |text: &str| text.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).map(str::to_owned);
    assert!(picture(&head).is_some_and(|drawn| picture(&guide) == Some(drawn)), "the pictures differ");
    let mut at = 0;
    for (room, _) in ROOMS {
        let paragraph = format!("\n- **{room}** ");
        let found = guide[at..].find(&paragraph);
        at +=
            found.unwrap_or_else(|| panic!("CONTRIBUTING.md has no paragraph `{room}`, or not in the order of ROOMS"));
        let link = format!("[`{}`]", room.replace('/', "::"));
        assert!(head.contains(&link), "src/lib.rs does not introduce {link}");
    }
}

/// The chapters of copse(1) share what is in `cli/common`, and stand next to each other.
#[test]
fn chapters_of_the_command_import_only_what_they_share() {
    let cli = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli"));
    for file in sources(cli) {
        let own = file.strip_prefix(cli).unwrap().with_extension("");
        let own = own.iter().next().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for (position, path) in code.match_indices("crate::cli::") {
            let other: String =
                code[position + path.len()..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let line = code[..position].matches('\n').count() + 1;
            assert!(
                other == own || other == "common",
                "{}:{line} imports `cli::{other}`; move what both need to `cli/common`",
                file.display()
            );
        }
    }
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let all = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    // Tests may look at all rooms.
    let is_test = |path: &PathBuf| inside(path).iter().any(|part| part == "tests" || part == "tests.rs");
    all.filter(|path| path.extension().is_some_and(|suffix| suffix == "rs") && !is_test(path)).collect()
}

/// The part below `src/`.
fn inside(file: &Path) -> &Path {
    file.strip_prefix(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap()
}

/// `change/plan` of `src/change/plan/steps.rs`; `None` for `lib.rs` and the programs.
fn room_of(file: &Path) -> Option<String> {
    room(&inside(&file.with_extension("")).iter().map(|part| part.to_str().unwrap()).collect::<Vec<_>>())
}

fn room(path: &[&str]) -> Option<String> {
    match *path {
        ["lib"] | ["bin", ..] => None,
        ["change", inner @ ("observe" | "plan" | "rollout"), ..] => Some(format!("change/{inner}")),
        [room, ..] => Some(room.to_owned()),
        [] => None,
    }
}

/// The text of a file without its tests.
fn code_of(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned()
}

/// The rooms that a file names, with the line, outside of its tests.
fn imports(file: &Path) -> Vec<(usize, String)> {
    let code = code_of(file);
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        for (place, _) in line.match_indices("crate::") {
            let path = &line[place + "crate::".len()..];
            let end = path.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).unwrap_or(path.len());
            let names: Vec<&str> = path[..end].split("::").filter(|name| !name.is_empty()).collect();
            assert!(!names.is_empty(), "{}:{}: name one room for each `use crate::…`", file.display(), number + 1);
            found.extend(room(&names).map(|room| (number + 1, room)));
        }
    }
    found
}
