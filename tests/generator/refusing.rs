//! Files that can't be group files: each an error of that group only.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;

use crate::stand::{Stand, is_root, simple};

/// Makes a root with a good group, which must be generated whatever happens.
fn beside_a_good_one() -> Stand {
    let stand = Stand::new();
    stand.group("good", &simple("good"));
    stand
}

#[test]
fn what_is_no_file() {
    let stand = beside_a_good_one();
    std::fs::create_dir(stand.path("/etc/copse/directory.toml")).unwrap();
    let fifo = |path: &str| {
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, stand.path(path), kind, 0o644.into(), 0).unwrap();
    };
    fifo("/etc/copse/fifo.toml");
    fifo("/srv-fifo");
    stand.link("/etc/copse/linked.toml", "/srv-fifo");
    let _socket = std::os::unix::net::UnixListener::bind(stand.path("/etc/copse/socket.toml")).unwrap();
    let outcome = stand.run().said(
        1,
        &[
            "/etc/copse/directory.toml: error[unreadable]: expected a regular file, found a directory",
            "/etc/copse/fifo.toml: error[unreadable]: expected a regular file, found a FIFO",
            "/etc/copse/linked.toml: error[unreadable]: expected a regular file, found a FIFO",
            "/etc/copse/socket.toml: error[unreadable]: expected a regular file, found a socket",
        ],
    );
    assert!(outcome.has("good.service"));
    // Each has a target whose start fails.
    assert!(outcome.text("fifo.target").contains("Requires=copse-invalid@fifo.service\n"));
}

#[test]
fn a_device() {
    if !is_root("a device called like a group file") {
        return;
    }
    let stand = beside_a_good_one();
    let kind = rustix::fs::FileType::CharacterDevice;
    let zero = rustix::fs::makedev(1, 5);
    rustix::fs::mknodat(rustix::fs::CWD, stand.path("/etc/copse/zero.toml"), kind, 0o644.into(), zero).unwrap();
    let outcome =
        stand.run().said(1, &["/etc/copse/zero.toml: error[unreadable]: expected a regular file, found a device"]);
    assert!(outcome.has("good.service"));
}

#[test]
fn fifty_megabytes_are_not_read() {
    let stand = beside_a_good_one();
    stand.file("/etc/copse/huge.toml", vec![b'#'; 50 << 20]);
    stand.file("/etc/copse/other.toml", simple("other"));
    stand.file("/etc/copse/other.toml.d/huge.toml", vec![b'#'; (4 << 20) + 1]);
    let limited = stand.run_with(|command| {
        // Much less memory than the file has bytes.
        let program = std::mem::replace(command, std::process::Command::new("/bin/sh"));
        command.args(["-c", "ulimit -v 40000; exec \"$@\"", "sh"]).arg(program.get_program()).args(program.get_args());
        command.env_clear().stderr(std::process::Stdio::piped());
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    });
    let outcome = limited.said(
        1,
        &[
            "/etc/copse/huge.toml: error[too-large]: the file is larger than 4 MiB",
            "/etc/copse/other.toml.d/huge.toml: error[too-large]: the file is larger than 4 MiB",
        ],
    );
    assert!(outcome.has("good.service") && !outcome.has("other.service"));
}

#[test]
fn what_is_no_text() {
    let stand = beside_a_good_one();
    stand.file("/etc/copse/binary.toml", [b"# x\n#\n", &[0x7f, b'E', b'L', b'F', 0xff, 0][..]].concat());
    stand.file("/etc/copse/utf16.toml", b"\xff\xfe[\0p\0]\0");
    stand.file("/etc/copse/nul.toml", "[process.a]\nexec = \"/bin/true\"\n\0");
    stand.file("/etc/copse/latin.toml", b"description = \"caf\xe9\"\n");
    let outcome = stand.run().said(
        1,
        &[
            "/etc/copse/binary.toml: error[not-utf8]: the file is not UTF-8: byte 0xff in line 3",
            "/etc/copse/latin.toml: error[not-utf8]: the file is not UTF-8: byte 0xe9 in line 1",
            "/etc/copse/nul.toml:3:1: error[syntax]: ",
            "/etc/copse/nul.toml:3:2: error[syntax]: ",
            "/etc/copse/utf16.toml: error[not-utf8]: the file is not UTF-8: byte 0xff in line 1",
        ],
    );
    assert!(outcome.has("good.service"));
}

#[test]
fn a_byte_order_mark_is_no_mistake() {
    let stand = Stand::new();
    stand.group("web", &format!("\u{feff}{}", simple("web")));
    assert!(stand.run().good().has("web.service"));
}

#[test]
fn names_that_no_unit_can_have() {
    let stand = beside_a_good_one();
    for name in ["-web", "a b", "a@b", "é", "_x", "a\\x"] {
        stand.group(name, &simple("web"));
    }
    use std::os::unix::ffi::OsStrExt as _;
    std::fs::write(stand.path("/etc/copse").join(std::ffi::OsStr::from_bytes(b"\xff.toml")), "").unwrap();
    let outcome = stand.run();
    assert_eq!(outcome.status, 1);
    assert_eq!(outcome.log.len(), 7, "{:#?}", outcome.log);
    assert!(outcome.log.iter().all(|line| line.contains(": error[group-name]: ")), "{:#?}", outcome.log);
    assert_eq!(outcome.tree.keys().filter(|name| name.ends_with(".target")).count(), 1);
}

#[test]
fn what_others_may_write() {
    let stand = beside_a_good_one();
    for name in ["everybody", "group", "sticky", "linked", "loose"] {
        let at = if name == "loose" { "/srv/loose/deep" } else { "/srv" };
        stand.file(&format!("{at}/{name}.toml"), simple("a"));
        if name != "linked" {
            stand.link(&format!("/etc/copse/{name}.toml"), &format!("{at}/{name}.toml"));
        }
    }
    stand.mode("/srv/everybody.toml", 0o646);
    stand.mode("/srv/group.toml", 0o664);
    stand.mode("/srv/loose", 0o777);
    // In a sticky directory nobody can replace what isn't theirs.
    stand.file("/tmp/keep", "");
    stand.mode("/tmp", 0o1777);
    stand.link("/tmp/linked.toml", "../srv/linked.toml");
    stand.link("/etc/copse/linked.toml", "/tmp/linked.toml");
    let others = "error[writable-by-others]: the group file is writable by users other than root:";
    let outcome = stand.run().said(
        1,
        &[
            &format!("/etc/copse/everybody.toml: {others} `/etc/copse/everybody.toml` is writable by all users"),
            &format!("/etc/copse/group.toml: {others} `/etc/copse/group.toml` is writable by group"),
            &format!("/etc/copse/loose.toml: {others} `/srv/loose` is writable by all users (mode 0777)"),
        ],
    );
    assert!(outcome.has("good.service") && outcome.has("sticky-a.service") && outcome.has("linked-a.service"));
    // Of the directory itself, all groups in it.
    stand.mode("/etc/copse", 0o775);
    let outcome = stand.run();
    assert_eq!(outcome.log.len(), 6, "{:#?}", outcome.log);
    assert!(outcome.log[1].contains("`/etc/copse` is writable by group"));
    // Not the system's affair in user scope.
    stand.file("/etc/copse/user/mine.toml", simple("mine"));
    stand.mode("/etc/copse/user/mine.toml", 0o666);
    stand
        .run_with(|command| {
            command.env("SYSTEMD_SCOPE", "user");
        })
        .good();
}

#[test]
fn what_belongs_to_others() {
    if !is_root("group files, links and directories of another user") {
        return;
    }
    let stand = beside_a_good_one();
    let own = |path: &str| std::os::unix::fs::lchown(stand.path(path), Some(1234), None).unwrap();
    stand.group("file", &simple("a"));
    own("/etc/copse/file.toml");
    stand.file("/srv/target.toml", simple("a"));
    stand.file("/tmp/keep", "");
    stand.mode("/tmp", 0o1777);
    stand.link("/tmp/link", "/srv/target.toml");
    own("/tmp/link");
    stand.link("/etc/copse/link.toml", "/tmp/link");
    stand.file("/home/folder/x.toml", simple("a"));
    own("/home/folder");
    stand.link("/etc/copse/folder.toml", "/home/folder/x.toml");
    let others = "error[writable-by-others]: the group file is writable by users other than root:";
    let outcome = stand.run().said(
        1,
        &[
            &format!("/etc/copse/file.toml: {others} `/etc/copse/file.toml` is owned by user 1234"),
            &format!("/etc/copse/folder.toml: {others} `/home/folder` is owned by user 1234"),
            &format!("/etc/copse/link.toml: {others} `/tmp/link` is owned by user 1234"),
        ],
    );
    assert!(outcome.has("good.service"));
    // Whoever owns the whole root may do what they like in it.
    own("/");
    stand.run().good();
}

#[test]
fn what_may_not_be_read() {
    let stand = beside_a_good_one();
    stand.group("secret", &simple("a"));
    stand.mode("/etc/copse/secret.toml", 0o000);
    stand.file("/usr/lib/copse/other.toml", simple("other"));
    stand.mode("/usr/lib/copse", 0o000);
    // Root reads everything; so this isn't run as root.
    let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let program = stand.path("/copse-generator");
    // By a process of its own: a descriptor of ours, open for writing, could be inherited by what another test forks
    // meanwhile, and then the copy can't be executed.
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_copse-generator")).arg(&program).status();
    assert!(copied.unwrap().success());
    stand.mode("/", 0o755);
    stand.empty();
    stand.mode("/run/systemd/generator", 0o777);
    std::fs::create_dir_all(stand.path("/run/copse")).unwrap();
    if root {
        for path in ["/run/systemd/generator", "/run/copse", "/dev/kmsg"] {
            std::os::unix::fs::chown(stand.path(path), Some(65534), None).unwrap();
        }
    }
    let command = stand.command();
    let mut other = std::process::Command::new(program);
    other.args(command.get_args()).env_clear().stderr(std::process::Stdio::piped());
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if root {
        other.uid(65534).gid(65534).current_dir("/");
    }
    let outcome = stand.outcome(other.spawn().unwrap());
    stand.mode("/usr/lib/copse", 0o755);
    // /run/copse is a directory of group files, and here it isn't root's; there are none in it.
    let outcome = outcome.said(
        1,
        &[
            "/usr/lib/copse: error[unreadable]: cannot read the directory: permission denied",
            "/etc/copse/secret.toml: error[unreadable]: cannot read the file: permission denied",
        ],
    );
    assert!(outcome.has("good.service"));
}

#[test]
fn files_that_vanish_while_they_are_read() {
    let stand = beside_a_good_one();
    let restless = stand.path("/etc/copse/restless.toml");
    let folder = stand.path("/etc/copse/good.toml.d");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                std::fs::write(&restless, simple("a")).unwrap();
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::remove_file(&restless).unwrap();
                std::fs::remove_dir(&folder).unwrap();
                std::os::unix::fs::symlink("nowhere", &restless).unwrap();
                std::fs::remove_file(&restless).unwrap();
            }
        });
        for _ in 0..60 {
            let outcome = stand.run();
            let known = ["cannot read ", "the link points to", "missing-key", "syntax", "too many levels"];
            let strange = outcome.log.iter().find(|line| !known.iter().any(|known| line.contains(known)));
            assert_eq!(strange, None);
            assert!(outcome.status <= 1 && outcome.has("good.service"), "{outcome:#?}");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
