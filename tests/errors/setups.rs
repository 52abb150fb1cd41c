//! What takes more than text to go wrong: a small root file system is made, its groups are read.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use copse::basic::diagnostic::{Code, Diagnostic};
use copse::basic::scope::{Directories, Scope};
use copse::generator::load;
use copse::model::Context;
use libtest_mimic::Failed;
use rustix::fs::{CWD, FileType};

/// A situation in which exactly one thing is wrong.
pub struct Setup {
    /// As a sentence.
    pub name: &'static str,
    /// What is reported.
    pub code: Code,
    /// Where, and in which words: the line as the kernel log has it.
    line: &'static str,
    /// Makes it, in the directory of the group files of a root.
    make: fn(&Path) -> std::io::Result<()>,
    /// Who is to notice.
    by: By,
}

/// Who notices.
enum By {
    /// Whoever reads the groups.
    Reading,
    /// The generator, when it writes.
    Generator,
}

/// The generator's output, from the directory of the group files.
const GENERATED: &str = "../../run/systemd/generator";

const GROUP: &str = "[process.web]\nexec = \"/bin/true\"\n";

pub const ALL: &[Setup] = &[
    Setup {
        name: "a_directory_where_a_group_file_should_be",
        code: Code::Unreadable,
        line: "/etc/copse/web.toml: error[unreadable]: expected a regular file, found a directory",
        make: |copse| fs::create_dir(copse.join("web.toml")),
        by: By::Reading,
    },
    Setup {
        name: "a_loop_of_links",
        code: Code::DanglingLink,
        line: "/etc/copse/web.toml: warning[dangling-link]: the links form a loop",
        make: |copse| {
            symlink("round", copse.join("web.toml"))?;
            symlink("web.toml", copse.join("round"))
        },
        by: By::Reading,
    },
    Setup {
        name: "a_fifo_where_a_group_file_should_be",
        code: Code::Unreadable,
        line: "/etc/copse/web.toml: error[unreadable]: expected a regular file, found a FIFO",
        make: |copse| {
            let mode = rustix::fs::Mode::from_raw_mode(0o644);
            Ok(rustix::fs::mknodat(CWD, copse.join("web.toml"), FileType::Fifo, mode, 0)?)
        },
        by: By::Reading,
    },
    Setup {
        name: "a_file_of_50_megabytes",
        code: Code::TooLarge,
        line: "/etc/copse/web.toml: error[too-large]: the file is larger than 4 MiB",
        make: |copse| fs::File::create(copse.join("web.toml"))?.set_len(50 << 20),
        by: By::Reading,
    },
    Setup {
        name: "a_binary_file",
        code: Code::NotUtf8,
        line: "/etc/copse/web.toml: error[not-utf8]: the file is not UTF-8: byte 0xff in line 1; save the file as UTF-8",
        make: |copse| fs::write(copse.join("web.toml"), b"\x7fELF\x02\x01\x01\0\xff\xfe"),
        by: By::Reading,
    },
    Setup {
        name: "a_file_that_everybody_may_write",
        code: Code::Writable,
        line: "/etc/copse/web.toml: error[writable-by-others]: the group file is writable by users other than root: `/etc/copse/web.toml` is writable by all users (mode 0666); run `chown root` and `chmod go-w` on it",
        make: |copse| {
            fs::write(copse.join("web.toml"), GROUP)?;
            fs::set_permissions(copse.join("web.toml"), fs::Permissions::from_mode(0o666))
        },
        by: By::Reading,
    },
    Setup {
        name: "a_file_whose_stem_is_no_name",
        code: Code::GroupName,
        line: "/etc/copse/_web shop.toml: error[group-name]: the stem of the file name is not a valid group name; use letters, digits, `_`, `.` and `-`, with a letter or a digit first",
        make: |copse| fs::write(copse.join("_web shop.toml"), GROUP),
        by: By::Reading,
    },
    Setup {
        name: "a_link_that_leads_nowhere",
        code: Code::DanglingLink,
        line: "/etc/copse/web.toml: warning[dangling-link]: the link points to `/nowhere`, which does not exist",
        make: |copse| symlink("/nowhere/web.toml", copse.join("web.toml")),
        by: By::Reading,
    },
    Setup {
        name: "drop_ins_for_a_group_without_a_file",
        code: Code::NoGroup,
        line: "/etc/copse/web.toml.d: warning[no-group]: the group of these drop-ins has no file, ignoring",
        make: |copse| {
            fs::create_dir(copse.join("web.toml.d"))?;
            fs::write(copse.join("web.toml.d/10-local.toml"), GROUP)
        },
        by: By::Reading,
    },
    Setup {
        name: "a_unit_of_a_package_would_be_hidden",
        code: Code::Clash,
        line: "/etc/copse/web.toml:1:10: error[clash]: `web.service` would hide the installed unit `/usr/lib/systemd/system/web.service`; rename the process, or add your own `web.service` to /etc/systemd, which overrides both",
        make: |copse| {
            let units = copse.join("../../usr/lib/systemd/system");
            fs::create_dir_all(&units)?;
            fs::write(units.join("web.service"), "[Service]\nExecStart=/bin/true\n")?;
            fs::write(copse.join("web.toml"), GROUP)
        },
        by: By::Reading,
    },
    Setup {
        name: "a_target_that_is_installed_is_wanted_by_whom_its_own_file_says",
        code: Code::StaticTarget,
        line: "/etc/copse/web.toml:1:13: warning[static-target]: `wanted-by` has no effect: the installed `web.target` does not name `multi-user.target` in its `[Install]`; add `WantedBy=multi-user.target` to it and run `systemctl enable web.target`",
        make: |copse| {
            let units = copse.join("../../usr/lib/systemd/system");
            fs::create_dir_all(&units)?;
            fs::write(units.join("web.target"), "[Unit]\nX-CopseGroup=yes\n[Install]\nWantedBy=graphical.target\n")?;
            fs::write(copse.join("web.toml"), format!("wanted-by = [\"multi-user.target\"]\n{GROUP}"))
        },
        by: By::Reading,
    },
    Setup {
        name: "a_unit_that_cannot_be_written",
        code: Code::Write,
        line: "/etc/copse/web.toml:1:1: error[write]: cannot write `web.target.wants/web.service`: Not a directory (os error 20)",
        make: |copse| {
            fs::write(copse.join("web.toml"), GROUP)?;
            let output = copse.join(GENERATED);
            fs::create_dir_all(&output)?;
            fs::write(output.join("web.target.wants"), "not a directory")
        },
        by: By::Generator,
    },
    Setup {
        name: "a_memory_that_others_could_have_written",
        code: Code::LastGood,
        line: "/run/copse/history: warning[last-good]: cannot read the start history, ignoring: it is not a regular file that only its owner can read and write",
        make: |copse| {
            let state = copse.join("../../run/copse");
            fs::create_dir_all(&state)?;
            fs::write(state.join("history"), "forged")?;
            fs::set_permissions(state.join("history"), fs::Permissions::from_mode(0o666))
        },
        by: By::Generator,
    },
];

impl Setup {
    /// Makes it, reads it, and compares what is said.
    pub fn run(&self) -> Result<(), Failed> {
        let root = tempfile::tempdir()?;
        let copse = root.path().join("etc/copse");
        fs::create_dir_all(&copse)?;
        (self.make)(&copse)?;
        let lines = match self.by {
            By::Reading => read(root.path()),
            By::Generator => generate(root.path(), &copse.join(GENERATED))?,
        };
        let code = format!("[{}]: ", self.code);
        if lines.len() != 1 || lines[0] != self.line || !lines[0].contains(&code) {
            return Err(format!("expected {}:\n{}\nbut got:\n{}", self.code, self.line, lines.join("\n")).into());
        }
        Ok(())
    }
}

/// What is said about the groups of a root.
fn read(root: &Path) -> Vec<String> {
    let directories = Directories::new(Scope::System, Some(root.to_owned()), |_| None);
    let outcome = load::load(&directories, &Context { scope: Scope::System, cpus: 4 });
    outcome.diagnostics().map(Diagnostic::line).collect()
}

/// What the generator says; there is no kernel's log below the root, so it does on its standard error.
fn generate(root: &Path, output: &Path) -> Result<Vec<String>, Failed> {
    let mut generator = Command::new(env!("CARGO_BIN_EXE_copse-generator"));
    // Otherwise it would go by who runs the tests.
    let ran = generator.arg(output).env_clear().env("SYSTEMD_SCOPE", "system").env("COPSE_ROOT", root).output()?;
    let stderr = String::from_utf8(ran.stderr)?;
    let root = root.to_str().ok_or("the root's path is plain")?;
    Ok(stderr.lines().map(|line| line.trim_start_matches("copse-generator: ").replace(root, "")).collect())
}
