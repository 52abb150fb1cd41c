//! What is laid over a root before it boots: the built programs and units where a package would put them,
//! and what makes a container of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Units of the distribution that have no business in a machine that shares its kernel with the host:
/// they would set up the host's kernel or devices, or wait for hardware.
const MASKED: &[&str] = &[
    "console-getty.service",
    "dev-hugepages.mount",
    "kmod-static-nodes.service",
    "modprobe@.service",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-binfmt.service",
    "systemd-firstboot.service",
    "systemd-logind.service",
    "systemd-logind-varlink.socket",
    "systemd-modules-load.service",
    "systemd-networkd.service",
    "systemd-remount-fs.service",
    "systemd-resolved.service",
    "systemd-sysctl.service",
    "systemd-timesyncd.service",
    "systemd-udevd-control.socket",
    "systemd-udevd-kernel.socket",
    "systemd-udevd.service",
];

/// A directory that boot.sh copies over the root. boot.sh removes it.
pub struct Stage {
    directory: PathBuf,
}

impl Stage {
    /// A stage with everything that each machine over `root` gets.
    pub fn new(root: &Path) -> Result<Stage, String> {
        let stage = Stage::bare(root)?;
        stage.install()?;
        stage.write_program("/usr/local/bin/stand-in", include_str!("stand-in"));
        Ok(stage)
    }

    /// A stage that makes a container of `root`, without copse.
    pub fn bare(root: &Path) -> Result<Stage, String> {
        let directory = tempfile::Builder::new().prefix("copse-booted-").tempdir();
        let directory = directory.map_err(|error| format!("no temporary directory: {error}"))?.keep();
        let stage = Stage { directory };
        fs::create_dir(stage.files()).expect("a fresh directory");
        stage.make_container();
        stage.mask_generators(root);
        Ok(stage)
    }

    /// The directory to hand to boot.sh.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes a file; `path` is the absolute path it will have in the machine.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        self.write_with_mode(path, content.as_ref(), 0o644);
    }

    fn write_program(&self, path: &str, text: &str) {
        self.write_with_mode(path, text.as_bytes(), 0o755);
    }

    fn write_with_mode(&self, path: &str, content: &[u8], mode: u32) {
        let path = self.place(path);
        fs::write(&path, content).expect("the stage can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a file just written");
    }

    /// Makes a symbolic link at `path`, an absolute path in the machine.
    pub fn link(&self, path: &str, target: &str) {
        symlink(target, self.place(path)).expect("the stage can be written");
    }

    fn files(&self) -> PathBuf {
        self.directory.join("files")
    }

    /// Where `path` is on the stage, its directory made.
    fn place(&self, path: &str) -> PathBuf {
        let path = self.files().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("the stage can be written");
        path
    }

    fn make_container(&self) {
        // An id of its own: "uninitialized" would make it a first boot, which enables units by preset.
        let random = fs::read_to_string("/proc/sys/kernel/random/uuid").expect("the kernel gives a uuid");
        self.write("/etc/machine-id", random.replace('-', ""));
        self.write("/etc/hostname", "copse-test\n");
        self.link("/etc/systemd/system/default.target", "/lib/systemd/system/multi-user.target");
        for unit in MASKED {
            self.link(&format!("/etc/systemd/system/{unit}"), "/dev/null");
        }
    }

    /// The distribution's generators ask about disks, terminals and the kernel's command line, which are the
    /// host's here, and take half of the time of each daemon-reload.
    fn mask_generators(&self, root: &Path) {
        let directory = root.join("lib/systemd/system-generators");
        for entry in fs::read_dir(&directory).expect("every systemd brings generators") {
            let name = entry.expect("a directory that can be read").file_name();
            let name = name.to_str().expect("a generator's name is plain text");
            self.link(&format!("/etc/systemd/system-generators/{name}"), "/dev/null");
        }
    }

    /// As `make install` does it on any machine, so that what it forgets is missing here, too.
    fn install(&self) -> Result<(), String> {
        let output = Command::new("make")
            .args(["--silent", "--no-print-directory", "install-files"])
            .arg(format!("DESTDIR={}", self.files().display()))
            .arg(format!("BUILT={}", built_programs()?.display()))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .map_err(|error| format!("make can't be started: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("`make install-files` failed:\n{}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// The directory of the programs to try: `$COPSE_BIN_DIR`, or what cargo builds now. They are linked
/// statically, as they have to run on the C libraries of all the suites.
pub fn built_programs() -> Result<&'static Path, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| match std::env::var_os("COPSE_BIN_DIR") {
        Some(directory) => Ok(directory.into()),
        None => build_programs(),
    });
    built.as_deref().map_err(Clone::clone)
}

/// The same build as the Makefile's `static`; what is up to date isn't built again.
fn build_programs() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("make")
        .args(["--silent", "--no-print-directory", "static"])
        .current_dir(root)
        .env("CARGO", std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .output()
        .map_err(|error| format!("make can't be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("`make static` failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    Ok(PathBuf::from(printed.lines().last().unwrap_or_default()))
}
