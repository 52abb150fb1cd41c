//! No two files of src/ import each other, be it through others: what both need has a file of its own above them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::{code_of, sources};

/// The circles that are still there, a line each. The list may only get shorter.
const KNOWN: &[&str] =
    &["notify/probe notify/probe/command notify/probe/http notify/probe/listening notify/probe/socket"];

/// `["unit", "tree"]` for `src/unit/tree.rs`.
type Module = Vec<String>;

#[test]
fn no_file_imports_one_that_imports_it() {
    let imports = imports_of_all();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reached(&imports, module))).collect();
    let circle = |(module, above): (&&Module, &BTreeSet<&Module>)| {
        let circle: Vec<String> =
            above.iter().filter(|other| reached[*other].contains(module)).map(|other| other.join("/")).collect();
        (!circle.is_empty()).then(|| circle.join(" "))
    };
    let circles: BTreeSet<String> = reached.iter().filter_map(circle).collect();
    let known: BTreeSet<String> = KNOWN.iter().map(|circle| (*circle).to_owned()).collect();
    let new: Vec<&String> = circles.difference(&known).collect();
    assert!(
        new.is_empty(),
        "these files of src/ import each other, directly or through others: {new:#?}; move what they share to a file that \
         imports none of them"
    );
    let open: Vec<&String> = known.difference(&circles).collect();
    assert!(open.is_empty(), "no longer circles, so take them out of KNOWN in {}: {open:#?}", file!());
}

/// The modules that lead on from `start`, and `start` itself if a way leads back.
fn reached<'g>(imports: &'g BTreeMap<Module, BTreeSet<Module>>, start: &Module) -> BTreeSet<&'g Module> {
    let mut found = BTreeSet::new();
    let mut left: Vec<&Module> = imports[start].iter().collect();
    while let Some(module) = left.pop() {
        if found.insert(module) {
            left.extend(&imports[module]);
        }
    }
    found
}

fn imports_of_all() -> BTreeMap<Module, BTreeSet<Module>> {
    let src = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let files = sources(src).into_iter().map(|file| {
        let module = file.strip_prefix(src).unwrap().with_extension("");
        (module.iter().map(|part| part.to_str().unwrap().to_owned()).collect::<Module>(), code_of(&file))
    });
    let files: BTreeMap<Module, String> =
        files.filter(|(module, _)| module[0] != "bin" && *module != ["lib"]).collect();
    let imports = files.iter().map(|(module, code)| {
        let others = paths(code).into_iter().filter_map(|path| resolve(module, &path, &files));
        (module.clone(), others.filter(|other| other != module).collect())
    });
    imports.collect()
}

/// What is no import, though it may hold a path.
static ASIDE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)//.*$|pub\(in [^)]*\)").unwrap());
static IMPORT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub(?:\(\w*\))? )?use ([^;]*);").unwrap());
static INLINE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:^|[^:\w])([a-z]\w*(?:::\w+)+)").unwrap());

/// All paths of a text that may lead to another module, as they are written.
fn paths(code: &str) -> Vec<String> {
    let code = ASIDE.replace_all(code, "");
    let mut found: Vec<String> = IMPORT.captures_iter(&code).flat_map(|one| leaves(&one[1])).collect();
    let rest = IMPORT.replace_all(&code, "");
    found.extend(INLINE.captures_iter(&rest).map(|one| one[1].to_owned()));
    found
}

/// `a::b` and `a::c::d` of `a::{b, c::{d as e}}`.
fn leaves(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((stem, inner)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap().to_owned()];
    };
    let (mut depth, mut found, mut begin) = (0, Vec::new(), 0);
    let inner = inner.strip_suffix('}').unwrap();
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(leaves(&inner[begin..at]).iter().map(|leaf| format!("{stem}{leaf}")));
                begin = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// The file of what is written as `path` in `module`; `None` for what is not of this crate.
fn resolve(module: &[String], path: &str, files: &BTreeMap<Module, String>) -> Option<Module> {
    let mut parts = path.split("::").peekable();
    let mut base = module.to_vec();
    match *parts.peek()? {
        "crate" => base.clear(),
        "super" => {
            base.pop();
        }
        "self" => {}
        child => {
            base.push(child.to_owned());
            files.get(&base)?;
        }
    }
    for part in parts.skip(1) {
        if part == "super" { drop(base.pop()) } else { base.push(part.to_owned()) }
    }
    // The names behind it are those of items.
    (1..=base.len()).rev().map(|length| &base[..length]).find(|path| files.contains_key(*path)).map(<[_]>::to_vec)
}
