//! The stable codes. A test proves that each has a case under `tests/errors/`.

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
        /// The file can't be read: permission, a directory, a device, an error of the disk, or it vanished meanwhile.
        Unreadable "unreadable",
        /// The file is larger than 4 MiB: hardly a group file.
        TooLarge "too-large",
        /// The file isn't UTF-8 text.
        NotUtf8 "not-utf8",
        /// Others than root may write the file, or a directory on the way to it: whoever may write a system-wide group file is root.
        Writable "writable-by-others",
        /// The file isn't TOML.
        Syntax "syntax",
        /// The file's stem can't be a group's name: `[A-Za-z0-9][A-Za-z0-9_.-]*`.
        GroupName "group-name",
        /// A process or setup step can't have this name: `[a-z0-9][a-z0-9_-]*`.
        ProcessName "process-name",
        /// An instance can't have this name.
        InstanceName "instance-name",
        /// There is no such key here.
        UnknownKey "unknown-key",
        /// The key exists, but not at this place: a group's key below a table header, a process's key on a setup step.
        MisplacedKey "misplaced-key",
        /// A string where a number is expected, or the like.
        WrongType "wrong-type",
        /// The type is right, the value isn't one of those that the key takes.
        InvalidValue "invalid-value",
        /// A key that must be there isn't.
        MissingKey "missing-key",
        /// Two keys that exclude each other, or a combination that can't work.
        Conflict "conflict",
        /// No process, setup step or instance has this name.
        UnknownName "unknown-name",
        /// Two things have one name.
        DuplicateName "duplicate-name",
        /// Each is after the other.
        Cycle "cycle",
        /// A placeholder that doesn't exist, or that can't stand here.
        Placeholder "placeholder",
        /// A string of words holds a character that only a shell would understand: write an array, or `shell`.
        ShellCharacter "shell-character",
        /// What systemd or the kernel can't carry: a NUL, a quote in a program's path, a word of 128 KiB, a line of 1 MiB.
        Uncarriable "uncarriable",
        /// The pass-through table names a directive that systemd doesn't have in that section.
        UnknownDirective "unknown-directive",
        /// The directive is one that copse's design stands on.
        RefusedDirective "refused-directive",
        /// Two groups make the same unit; the one that sorts later is in error.
        UnitName "unit-name",
        /// A unit of a package or of another generator would be hidden.
        Clash "clash",
        /// The group's units couldn't be written.
        Write "write",
        /// A program of another process manager that can't be imported: that process manager would refuse the file, something
        /// isn't known that can't be guessed, or no unit could say the same. The others are imported.
        NotImported "not-imported",
        /// A mistake in copse itself, met while this group was worked on: please report it. Other groups aren't touched.
        Internal "internal",
    }
    Warning {
        /// A link that leads nowhere, or round in a circle: nothing was read.
        DanglingLink "dangling-link",
        /// What copse remembers since the boot (the last good units, what runs from which text, pins) couldn't be read, kept or obeyed.
        LastGood "last-good",
        /// The restart settings can never reach the start limit: a failing process is started, or waits to be, for ever.
        NeverGivesUp "never-gives-up",
        /// Instances share a socket, and nothing says how they wait at it. systemd makes it blocking again, for all of them, each
        /// time that it starts one, unless `non-blocking = true`; a program that waits in epoll or poll can then hang in accept(2).
        SharedSocket "shared-socket",
        /// A probe that says nothing of its process, which counts as ready, healthy or settled whatever it does: it only connects
        /// to a socket of `listen`, where systemd and the kernel take connections; or it asks an instance where another may
        /// answer, at a socket that they share or literally at the port of one.
        EmptyProbe "empty-probe",
        /// Two processes of the group have the same port: the second one that starts can't listen there.
        SamePort "same-port",
        /// Two groups have the same runtime directory, or one below the other's: it is removed when a process of either, or
        /// either group, stops. Other kinds of directories stay.
        SameDirectory "same-directory",
        /// Ordered after network-online.target, which nothing here wants: it may never be reached. Or wanted by a unit that is
        /// called like one of systemd's own targets, but for its suffix: nothing starts the group then.
        NotWanted "not-wanted",
        /// The group's target is an installed unit, whose `[Install]` says what wants it once it is enabled, and doesn't say what `wanted-by` says: that was left out.
        StaticTarget "static-target",
        /// An array of strings is one command; this one looks like several. Several are an array of arrays.
        OneCommand "one-command",
        /// A drop-in directory for a group that has no file: nothing was read.
        NoGroup "no-group",
        /// The group names a program, a directory, a file or a user that isn't on this machine, so a process won't start; or it
        /// has `controls`, and no polkit rule is installed that grants them. Said by `copse check` of installed groups; a setup
        /// step may make what is missing, and then all is well.
        Missing "missing",
        /// A setting of another process manager that the group file doesn't have: there is something else for it, it needs a value
        /// that isn't known, or nothing corresponds to it.
        LeftOut "left-out",
    }
    Note {
        /// A setting of another process manager that is imported and works a little differently.
        Otherwise "works-otherwise",
        /// Left out in user scope, where the unit doesn't exist.
        UserScope "user-scope",
        /// The systemd that the units are for doesn't have the directive yet, or not any more; it was left out.
        TooNew "too-new",
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
