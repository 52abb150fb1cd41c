//! Names that Kubernetes takes: DNS labels of RFC 1123.

/// The longest label, in bytes.
pub const LONGEST: usize = 63;
/// The longest name of a CronJob: Kubernetes appends eleven characters to the names of its jobs.
pub const LONGEST_CRON_JOB: usize = 52;

/// The label for a name: in lower case, with `-` for every other character than letters and digits, and none at the ends.
pub fn label(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(plain).collect::<String>().trim_matches('-').to_owned()
}

/// The label of several parts, joined by `-`.
pub fn joined(parts: &[&str]) -> String {
    label(&parts.join("-"))
}

/// The key of a file in a ConfigMap or Secret.
pub fn key(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' };
    name.chars().map(plain).collect()
}
