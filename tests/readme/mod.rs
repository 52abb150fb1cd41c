//! The first group of the README, as a reader pastes it.

const README: &str = include_str!("../../README.md");

/// What is between a line that begins so and the next fence.
fn block(fence: &str, begins: &str) -> &'static str {
    let after = README.split_once(&format!("{fence}\n{begins}")).expect("README.md has the block").1;
    let from = README.len() - after.len() - begins.len();
    let end = README[from..].find("\n```").expect("it ends") + 1;
    &README[from..from + end]
}

/// The command that writes the group file.
pub fn paste() -> &'static str {
    block("```sh", "mkdir -p /etc/copse")
}

/// The group file in it: its path, and its text.
pub fn group_file() -> (&'static str, &'static str) {
    let (head, rest) = paste().split_once(" <<'EOF'\n").expect("a here-document");
    let path = head.rsplit_once("cat > ").expect("to a file").1;
    (path, rest.split_once("EOF\n").expect("it ends").0)
}

/// The commands after it, without what is said of them.
pub fn commands() -> Vec<&'static str> {
    let lines = block("```console", "# copse check hello").lines();
    let command =
        |line: &'static str| line.strip_prefix("# ").expect("a prompt").split("  #").next().unwrap_or_default();
    let commands = lines.map(|line| command(line).split(" # ").next().unwrap_or_default().trim_end());
    commands.flat_map(|line| line.split("; ")).collect()
}

/// How to be rid of it.
pub fn farewell() -> &'static str {
    let after = README.split_once("To be rid of it: `").expect("README.md says it").1;
    after.split_once('`').expect("it ends").0
}
