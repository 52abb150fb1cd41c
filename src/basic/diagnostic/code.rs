//! The codes of diagnostics, which are stable. A test checks that each has a case in `tests/errors/`.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The group is not generated.
    Error,
    /// The group is generated, but probably not as intended.
    Warning,
    /// Something was left out on purpose.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

macro_rules! codes {
    ($($severity:ident { $($(#[doc = $doc:literal])+ $variant:ident $text:literal,)+ })+) => {
        /// The kind of a diagnostic.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($($(#[doc = $doc])+ $variant,)+)+ }

        impl Code {
            pub const ALL: &[Self] = &[$($(Self::$variant,)+)+];

            /// The word that users see, for example `unknown-key`.
            pub fn text(self) -> &'static str {
                match self { $($(Self::$variant => $text,)+)+ }
            }

            /// The meaning and the remedy, in a few sentences.
            pub fn explanation(self) -> &'static str {
                match self { $($(Self::$variant => concat!($($doc, "\n"),+),)+)+ }
            }

            pub fn severity(self) -> Severity {
                match self { $($(Self::$variant => Severity::$severity,)+)+ }
            }
        }
    };
}

codes! {
    Error {
        /// The file cannot be read: no permission, a directory, a device, or an error of the disk.
        Unreadable "unreadable",
        /// The file is larger than 4 MiB, so it is hardly a group file.
        TooLarge "too-large",
        /// The file is not UTF-8 text.
        NotUtf8 "not-utf8",
        /// The group file, or a directory above it, is writable by a user other than root. That user could run any command
        /// as root.
        Writable "writable-by-others",
        /// The file is not TOML.
        Syntax "syntax",
        /// The stem of the file name is not a valid group name: `[A-Za-z0-9][A-Za-z0-9_.-]*`.
        GroupName "group-name",
        /// A process or setup step has an invalid name. Valid names are `[a-z0-9][a-z0-9_-]*`.
        ProcessName "process-name",
        /// An instance has an invalid name.
        InstanceName "instance-name",
        /// The key does not exist in this table.
        UnknownKey "unknown-key",
        /// The key exists, but not in this table: for example a group key below a header, or a process key in a setup step.
        MisplacedKey "misplaced-key",
        /// The value has another type than the key takes, for example a string instead of a number.
        WrongType "wrong-type",
        /// The value has the right type, but it is not one that the key takes.
        InvalidValue "invalid-value",
        /// A key is missing that is required, or that another key has no effect without.
        MissingKey "missing-key",
        /// Two keys exclude each other, or their combination cannot work.
        Conflict "conflict",
        /// No process, setup step or instance has this name.
        UnknownName "unknown-name",
        /// Two members of the group, or two instances, have the same name.
        DuplicateName "duplicate-name",
        /// The processes and setup steps are ordered after each other in a cycle, so none could ever start.
        Cycle "cycle",
        /// The placeholder does not exist, has no value, or is not possible here.
        Placeholder "placeholder",
        /// The command contains a character that only a shell would interpret. Write an array, or use `shell`.
        ShellCharacter "shell-character",
        /// The value cannot be represented in a unit file or passed to execve(2): for example a NUL, a quote in the path of a
        /// program, an argument of 128 KiB, or a line of 1 MiB.
        Uncarriable "uncarriable",
        /// The pass-through table names a directive that systemd does not have in this section.
        UnknownDirective "unknown-directive",
        /// The directive cannot be set, because copse sets it itself and relies on it.
        RefusedDirective "refused-directive",
        /// Two groups, or two members of a group, would have a unit of the same name. Of two groups, the one that sorts later
        /// is reported.
        UnitName "unit-name",
        /// The unit would hide a unit of a package or of another generator.
        Clash "clash",
        /// The units of the group cannot be written.
        Write "write",
        /// A program of another process manager cannot be imported: that process manager would refuse the file, a value is
        /// unknown, or no unit can express it. Other programs are imported.
        NotImported "not-imported",
        /// The group cannot be exported: Kubernetes has nothing that does what the key means, or a value is unknown. Nothing is
        /// written. Write what differs there in a drop-in for `--with`, which the machines do not read.
        NotExported "not-exported",
        /// An error in copse itself, met while it processed this group. Please report it. Other groups are not affected.
        Internal "internal",
    }
    Warning {
        /// The link points to a file that does not exist, or to itself. It is ignored.
        DanglingLink "dangling-link",
        /// A state file below /run/copse could not be read, written or used. The message says what copse did instead.
        LastGood "last-good",
        /// The restart settings never reach the start limit: a failing process is restarted, or waits for a restart, forever.
        NeverGivesUp "never-gives-up",
        /// The instances share a socket, and `non-blocking` is not set. Each time systemd starts one of them, it makes the
        /// socket blocking for all. A program that waits in epoll or poll can then hang in accept(2).
        SharedSocket "shared-socket",
        /// The probe succeeds whatever its process does, so it counts as ready, healthy or settled too early. Either the probe
        /// only connects to a socket of `listen`, where the kernel accepts connections for systemd. Or another instance may
        /// answer, at a socket that the instances share or at the port of one instance.
        EmptyProbe "empty-probe",
        /// Two processes of the group have the same port, so the second one to start cannot listen.
        SamePort "same-port",
        /// Two groups have the same runtime directory, or one is below the other. It is removed when a process of either
        /// group, or either group, stops. Other kinds of directories are kept.
        SameDirectory "same-directory",
        /// The group is ordered after network-online.target but does not pull it in, so the ordering may have no effect. Or
        /// `wanted-by` names a service that does not exist, with the name of one of systemd's targets.
        NotWanted "not-wanted",
        /// The target of the group is an installed unit with an `[Install]` section of its own, which does not name the units
        /// of `wanted-by`. The key is ignored.
        StaticTarget "static-target",
        /// An array of strings is a single command, but this one looks like several. Write several commands as an array of
        /// arrays.
        OneCommand "one-command",
        /// The group of these drop-ins has no file. They are ignored.
        NoGroup "no-group",
        /// The group names a program, a directory, a file or a user that this machine does not have, so a process cannot
        /// start. Or it has `controls`, and no installed polkit rule grants them. `copse check` reports this for installed
        /// groups. A setup step may create what is missing.
        Missing "missing",
        /// A setting of another process manager has no equivalent in a group file, or needs a value that is unknown.
        LeftOut "left-out",
    }
    Note {
        /// The imported setting behaves differently under systemd.
        Otherwise "works-otherwise",
        /// The key is left out of the manifests, or means something else in Kubernetes.
        ExportDiffers "export-differs",
        /// The unit does not exist in user scope, and is ignored.
        UserScope "user-scope",
        /// The systemd that the units are generated for does not have the directive, or no longer. It is ignored.
        TooNew "too-new",
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
