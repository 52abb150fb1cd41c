//! `[supervisor]`: how a group answers the clients of supervisord, and what its processes are called there.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;

use super::service::Credential;
use super::text::{DirectoryKind, Piece, Text};
use crate::basic::diagnostic::SourceLocation;

/// `[supervisor]`, or `supervisor-socket`.
#[derive(Debug, Clone, PartialEq)]
pub struct Supervisor {
    /// The key that opted in.
    pub location: SourceLocation,
    /// The path that clients connect to: a symbolic link to the socket, which is in a directory of root's.
    pub link: Option<Text>,
    /// The owner of the socket.
    pub user: Option<Cow<'static, str>>,
    pub group: Option<Cow<'static, str>>,
    /// An octal mode.
    pub mode: Option<Cow<'static, str>>,
    /// A loopback address; only with a login.
    pub listen: Option<SocketAddr>,
    pub login: Option<Login>,
}

/// What every request has to present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// Without colon and control characters.
    pub username: String,
    pub password: Credential,
}

impl Supervisor {
    /// The path of the link in system scope, where it is known: with each directory as what it stands for.
    pub fn link_path(&self) -> Option<String> {
        let mut path = String::new();
        for piece in self.link.as_ref()?.pieces() {
            match piece {
                Piece::Literal(text) => path.push_str(text),
                Piece::Directory(DirectoryKind::Runtime, name) if name.is_literal() => {
                    path.extend(["/run/", name.leading()]);
                }
                _ => return None,
            }
        }
        Some(path)
    }
}

/// `supervisor-name`: the group and the process that clients know a process of copse by. With `{instance}` it is the name
/// of each instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupervisorName {
    pub group: String,
    /// What stands before the instance; without instances the whole name.
    before: String,
    /// The least number of digits of the instance. `None` without instances.
    width: Option<usize>,
    after: String,
}

/// The longest number of an instance that a name is resolved to, in digits.
const DIGITS: usize = 4;

impl SupervisorName {
    /// The name of a process without a key: `P`, or `P:P_{instance}`.
    pub fn default_of(process: &str, instances: bool) -> Self {
        let (before, width) = if instances { (format!("{process}_"), Some(1)) } else { (process.to_owned(), None) };
        Self { group: process.to_owned(), before, width, after: String::new() }
    }

    /// Reads `NAME` or `GROUP:NAME`, with `{instance}` or `{instance:02}` in `NAME` if the process has instances. Without
    /// a group it is the one that supervisord would give a program: NAME, or the process's own.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, process: &str, instances: bool) -> Result<Self, &'static str> {
        let (group, name) = match text.split_once(':') {
            Some((group, name)) if !name.trim_start_matches("{instance").is_empty() || !name.is_empty() => {
                match text.find("{instance") {
                    // The colon of `{instance:02}`.
                    Some(open) if open < group.len() => (None, text),
                    _ => (Some(group), name),
                }
            }
            Some(_) => return Err("the name after the colon is empty"),
            None => (None, text),
        };
        let (before, width, after) = match name.split_once("{instance") {
            None if instances => return Err("must contain `{instance}`, since the process has instances"),
            None => (name, None, ""),
            Some(_) if !instances => return Err("contains `{instance}`, but the process has no instances"),
            Some((before, rest)) => {
                let (format, after) = rest.split_once('}').ok_or("has a `{` without a `}`")?;
                let width = match format.strip_prefix(":0").unwrap_or(format) {
                    "" => 1,
                    width => width
                        .parse()
                        .ok()
                        .filter(|width| (1..=DIGITS).contains(width))
                        .ok_or("takes `{instance}`, or a number of digits such as `{instance:02}`")?,
                };
                (before, Some(width), after)
            }
        };
        let group = group.unwrap_or(if instances { process } else { name });
        let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !b":/*{}[]".contains(&byte));
        if ![group, before, after].into_iter().all(is_name) || group.is_empty() {
            return Err(
                "takes letters, digits and other ASCII characters without blanks, `:`, `/`, `*`, braces and brackets",
            );
        }
        if width.is_none() && before.is_empty() {
            return Err("is empty");
        }
        let (before, after) = (before.to_owned(), after.to_owned());
        Ok(Self { group: group.to_owned(), before, width, after })
    }

    /// The name of the process, or of one of its instances.
    pub fn process(&self, instance: Option<&str>) -> String {
        let (Some(width), Some(instance)) = (self.width, instance) else { return self.before.clone() };
        let number = instance.bytes().all(|byte| byte.is_ascii_digit());
        let zeros = if number { width.saturating_sub(instance.len()) } else { 0 };
        [&self.before, &*"0".repeat(zeros), instance, &self.after].concat()
    }

    /// The instance that `process` names; `None` if it names none that is a number of at most four digits.
    pub fn instance(&self, process: &str) -> Option<String> {
        self.width?;
        let digits = process.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        let valid = (1..=DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        let instance = valid.then(|| digits.parse::<u32>().ok()).flatten()?.to_string();
        (self.process(Some(&instance)) == process).then_some(instance)
    }

    /// The text before and after the instance, if systemd itself can put the instance between them.
    pub fn around_instance(&self) -> Option<(&str, &str)> {
        (self.width? == 1).then_some((&*self.before, &*self.after))
    }
}

impl fmt::Display for SupervisorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, before, after, .. } = self;
        match self.width {
            None => write!(f, "{group}:{before}"),
            Some(1) => write!(f, "{group}:{before}{{instance}}{after}"),
            Some(width) => write!(f, "{group}:{before}{{instance:0{width}}}{after}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_a_program_or_of_each_of_its_instances() {
        let parse = |text, instances| SupervisorName::parse(text, "p", instances);
        for (text, instances, group, instance, name) in [
            ("a", false, "a", None, "a"),
            ("g:a", false, "g", None, "a"),
            ("a_{instance}", true, "p", Some("7"), "a_7"),
            ("a_{instance:02}", true, "p", Some("7"), "a_07"),
            ("g:a{instance}.x", true, "g", Some("12"), "a12.x"),
            ("g:a{instance:03}", true, "g", Some("12"), "a012"),
            ("g:{instance}", true, "g", Some("blue"), "blue"),
        ] {
            let read = parse(text, instances).unwrap();
            assert_eq!((read.group.as_str(), &*read.process(instance)), (group, name), "{text}");
            assert_eq!(SupervisorName::parse(&read.to_string(), "q", instances), Ok(read), "{text}");
        }
        for (text, instances) in [
            ("", false),
            ("g:", false),
            (":a", false),
            ("a b", false),
            ("a/b", false),
            ("a:b:c", false),
            ("a*", false),
            ("a", true),
            ("a{instance}", false),
            ("a{instance", true),
            ("a{instance:9}", true),
            ("a{instance}{instance}", true),
            ("é", false),
        ] {
            assert!(parse(text, instances).is_err(), "{text}");
        }
    }

    #[test]
    fn only_a_number_in_its_own_form_is_an_instance() {
        let name = SupervisorName::parse("k:k{instance}", "p", true).unwrap();
        assert_eq!(name.instance("k0").as_deref(), Some("0"));
        assert_eq!(name.instance("k1234").as_deref(), Some("1234"));
        for other in ["k", "k01", "k12345", "k-1", "kx", "x1", "k1 ", "k../x"] {
            assert_eq!(name.instance(other), None, "{other}");
        }
        let padded = SupervisorName::parse("k:k_{instance:02}", "p", true).unwrap();
        assert_eq!(padded.instance("k_07").as_deref(), Some("7"));
        assert_eq!(padded.instance("k_7"), None);
    }
}
