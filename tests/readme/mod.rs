//! The first group of the README, and what a reader types and sees.

const README: &str = include_str!("../../README.md");

/// A command with what it prints, as far as the README shows that.
#[derive(Debug)]
pub struct Typed {
    pub command: &'static str,
    pub output: Vec<&'static str>,
}

/// The first block of a language.
fn block(text: &'static str, language: &str) -> &'static str {
    let after = text.split_once(&format!("```{language}\n")).expect("README.md has the block").1;
    after.split_once("```").expect("it ends").0
}

/// The group file at the top: its path, and its text.
pub fn group_file() -> (&'static str, &'static str) {
    let text = block(README, "toml");
    let path = text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("its path");
    (path, text)
}

/// The text below a heading; the empty heading is the top of the page.
fn section(heading: &str) -> &'static str {
    let after = match heading {
        "" => README,
        _ => README.split_once(&format!("\n## {heading}\n")).expect("README.md has the section").1,
    };
    after.split_once("\n## ").map_or(after, |(section, _)| section)
}

/// The commands of a section, without the comments after them.
pub fn commands(heading: &str) -> Vec<Typed> {
    let mut typed: Vec<Typed> = Vec::new();
    let mut open = false;
    for line in section(heading).lines() {
        match line {
            "```console" => open = true,
            "```" => open = false,
            _ if !open => {}
            _ => match line.strip_prefix("# ").or_else(|| line.strip_prefix("$ ")) {
                Some(command) => {
                    let command = command.split("  #").next().unwrap_or_default();
                    let command = command.split(" # ").next().unwrap_or_default().trim_end();
                    typed.push(Typed { command, output: Vec::new() });
                }
                None => typed.last_mut().expect("a command").output.push(line),
            },
        }
    }
    typed
}

/// How to remove the group.
pub fn farewell() -> &'static str {
    let after = README.split_once("Remove it with `").expect("README.md has it").1;
    after.split_once('`').expect("it ends").0
}
