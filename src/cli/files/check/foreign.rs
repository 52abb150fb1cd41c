//! Files of container tools, which some try with copse.

use std::fs;
use std::path::Path;

use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;

/// What copse is and is not, if `path` is a file of Compose or a manifest for Kubernetes.
pub(super) fn refusal(path: &Path) -> Option<Error> {
    path.extension().filter(|extension| *extension == "yaml" || *extension == "yml")?;
    let text = fs::read_to_string(path).ok()?;
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    let (kind, help) = if has("services:") {
        (
            "a file of Compose",
            "podman-systemd.unit(5) runs containers as systemd units; `man copse.toml` is the format of copse",
        )
    } else if has("apiVersion:") && has("kind:") {
        (
            "a manifest for Kubernetes",
            "run it with `kubectl apply` or `podman kube play`; `copse export kubernetes` writes such files",
        )
    } else {
        return None;
    };
    let message = format!(
        "`{}` is {kind}: copse turns group files, which are TOML, into systemd units for processes of this machine, and runs \
         no containers",
        path.display()
    );
    Some(Error::new(Exit::Invalid, message).help(help))
}
