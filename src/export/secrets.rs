//! Credentials and environment files: what becomes a Secret, and how the user creates it.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::Findings;
use super::names;
use super::options::Options;
use super::units::Unit;
use crate::model::{Credential, Group};

/// The Secrets of a group.
pub struct Secrets {
    /// With the credentials that are files: the user creates it.
    pub files: String,
    /// With the credentials whose text is in the group file.
    pub texts: String,
    /// The sources of each name. If there are several, the keys have the container in front.
    sources: BTreeMap<String, BTreeSet<Origin>>,
    /// Appended to each command.
    namespace: String,
    /// The file of each Secret with variables.
    environment: BTreeMap<String, String>,
}

/// The source of a credential.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    File(String),
    Text(String),
}

impl Secrets {
    pub fn new(group: &Group, units: &[Unit<'_>], options: &Options, found: &mut Findings<'_>) -> Self {
        let name = |suffix| names::joined(&[group.name.as_str(), suffix]);
        let namespace = options.namespace.as_ref().map(|name| format!(" --namespace={name}")).unwrap_or_default();
        let (files, texts) = (name("credentials"), name("texts"));
        let mut secrets = Self { files, texts, sources: BTreeMap::new(), namespace, environment: BTreeMap::new() };
        for unit in units {
            for (name, credential) in &unit.service.credentials {
                if let Some(origin) = secrets.read(unit, name, credential, found) {
                    secrets.sources.entry(name.clone()).or_default().insert(origin);
                }
            }
            for (_, path) in &unit.service.environment_files {
                secrets.add_environment(group, unit, &unit.at.literal(path), found);
            }
        }
        secrets
    }

    fn read(&self, unit: &Unit<'_>, name: &str, credential: &Credential, found: &mut Findings<'_>) -> Option<Origin> {
        let why = match credential {
            Credential::Text(text) => return Some(Origin::Text(text.clone())),
            Credential::Load(path) if !path.is_relative() => return Some(Origin::File(unit.at.literal(path))),
            Credential::Load(_) => format!("`{name}` is in the credential store of systemd"),
            Credential::Encrypted(_) => format!("`{name}` is encrypted for systemd"),
        };
        let instead = "write the path of a file in a drop-in for `--with`, and create the Secret from that file";
        found.refuse(&unit.member, "credentials", &why, instead);
        None
    }

    fn add_environment(&mut self, group: &Group, unit: &Unit<'_>, path: &str, found: &mut Findings<'_>) {
        let secret = Self::environment_of(group, path);
        let other = self.environment.entry(secret.clone()).or_insert_with(|| path.to_owned());
        if other != path {
            let why = format!("the files `{other}` and `{path}` would both be the Secret `{secret}`");
            found.refuse(&unit.member, "environment-file", &why, "rename one of the files");
        }
        let what = "becomes envFrom a Secret, whose values keep the quotes that systemd removes";
        let command = format!("run `kubectl create secret generic {secret} --from-env-file={path}{}`", self.namespace);
        found.note_to_do(&unit.member, "environment-file", what, &command);
    }

    /// The Secret with the variables of a file.
    pub fn environment_of(group: &Group, path: &str) -> String {
        let file = path.rsplit('/').next().unwrap_or(path);
        names::joined(&[group.name.as_str(), file])
    }

    /// The key of a credential in its Secret.
    fn key(&self, unit: &Unit<'_>, name: &str) -> String {
        match self.sources.get(name).map_or(0, BTreeSet::len) {
            0 | 1 => name.to_owned(),
            _ => format!("{}.{name}", unit.name),
        }
    }

    /// The Secrets of a unit, each with its keys and the file of each.
    pub fn of(&self, unit: &Unit<'_>) -> Vec<(String, Vec<(String, String)>)> {
        let mut files = Vec::new();
        let mut texts = Vec::new();
        for (name, credential) in &unit.service.credentials {
            let list = if matches!(credential, Credential::Text(_)) { &mut texts } else { &mut files };
            list.push((self.key(unit, name), name.clone()));
        }
        let secrets = [(self.files.clone(), files), (self.texts.clone(), texts)];
        secrets.into_iter().filter(|(_, keys)| !keys.is_empty()).collect()
    }

    /// The texts that are in the group file, by key.
    pub fn texts(&self, units: &[Unit<'_>]) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        for unit in units {
            for (name, credential) in &unit.service.credentials {
                if let Credential::Text(text) = credential {
                    texts.insert(self.key(unit, name), text.clone());
                }
            }
        }
        texts
    }

    /// Notes on the credentials that are files, with the command that creates their Secret.
    pub fn note(&self, units: &[Unit<'_>], found: &mut Findings<'_>) {
        let mut files = BTreeMap::new();
        for unit in units {
            for (name, credential) in &unit.service.credentials {
                if let Credential::Load(path) = credential
                    && !path.is_relative()
                {
                    files.insert(self.key(unit, name), unit.at.literal(path));
                }
            }
        }
        let arguments: String = files.iter().map(|(key, path)| format!(" --from-file={key}={path}")).collect();
        let command = format!("run `kubectl create secret generic {}{arguments}{}`", self.files, self.namespace);
        let has_file = |unit: &&Unit<'_>| {
            unit.service.credentials.values().any(|credential| matches!(credential, Credential::Load(_)))
        };
        for unit in units.iter().filter(has_file) {
            found.note_to_do(
                &unit.member,
                "credentials",
                "is read from a Secret that is not in the manifests",
                &command,
            );
        }
    }
}
