//! The Debian package, installed with apt on machines that have nothing of copse's otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;

use crate::machines::machine::{Boot, Machine};
use crate::machines::scope::Scope;
use crate::machines::stage::built_programs;
use crate::machines::version::Version;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    // Not on 247: the package is for Debian 12 and later.
    situation!(a_group_file_beside_the_installed_package_starts, [V252, V257, V262]),
    situation!(an_upgrade_of_the_package_leaves_every_process_running, [V252, V257, V262]),
    situation!(after_a_removal_a_running_group_goes_on_until_it_is_stopped, [V252, V257, V262]),
];

const GROUP: &str = r#"
    failure-policy = "stop"
    [process.manager]
    exec = "/bin/sleep 1000"
    refresh = "keep"
    [process.worker]
    exec = "/bin/sleep 1000"
    ready = { listening = 8471 }
    exec-start-pre = "/bin/true"
    instances = 2
    [process.worker.instance.2]
    ready = "exec"
    [process.worker.instance.1]
    exec = "/usr/bin/python3 -m http.server 8471"
    health = { tcp = "127.0.0.1:8471" }
"#;

const MEMBERS: [&str; 3] = ["pack-manager.service", "pack-worker@1.service", "pack-worker@2.service"];

/// What autopkgtest(1) runs on the installed package.
const AUTOPKGTEST: &str = include_str!("../../packaging/debian/tests/group");

/// The bytes of one of copse's packages, made of the programs that the other situations try.
pub fn package(name: &str) -> &'static [u8] {
    static MADE: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
    MADE.get_or_init(make_packages).get(name).unwrap_or_else(|| panic!("no {name}_*.deb"))
}

/// By their names.
fn make_packages() -> BTreeMap<String, Vec<u8>> {
    let built = built_programs().expect("the programs are built");
    let work = tempfile::tempdir().expect("a temporary directory");
    let output = Command::new("make")
        .args(["--silent", "--no-print-directory", "deb-of-built"])
        .arg(format!("BUILT={}", built.display()))
        .arg(format!("DEBS={}", work.path().join("deb").display()))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("make can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout);
    let directory = printed.lines().last().unwrap_or_default();
    let files = fs::read_dir(directory).expect("the packages are there").map(|entry| entry.unwrap().path());
    let packages = files.filter(|path| path.extension().is_some_and(|extension| extension == "deb"));
    let named = packages.map(|path| {
        let name = path.file_name().and_then(|file| file.to_str()?.split('_').next()).expect("NAME_VERSION_ARCH.deb");
        (name.to_owned(), fs::read(&path).expect("a file just made"))
    });
    named.collect()
}

/// A machine of its own with the package installed, and nothing else of copse's.
pub fn installed(m: &Machine) -> Machine {
    with_packages(m.version(), &["copse"])
}

/// A machine of its own with these packages of copse's installed, and nothing else of copse's.
pub fn with_packages(version: Version, packages: &[&str]) -> Machine {
    let mut boot = Boot::bare(version).unwrap_or_else(|why| panic!("{why:?}"));
    for name in packages {
        boot = boot.write(&format!("/root/{name}.deb"), package(name));
    }
    let mut machine = boot.start().unwrap_or_else(|why| panic!("{why:?}"));
    machine.wait_until_booted().unwrap_or_else(|why| panic!("{why:?}"));
    assert!(!machine.exists("/usr/bin/copse"), "a machine without copse");
    let files: Vec<String> = packages.iter().map(|name| format!("/root/{name}.deb")).collect();
    apt(&machine, &format!("install {}", files.join(" ")));
    machine
}

/// What apt said; it has to succeed.
pub fn apt(machine: &Machine, words: &str) -> String {
    let script = format!("DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o APT::Sandbox::User=root {words} 2>&1");
    let output = machine.run(&["sh", "-euc", &script]);
    assert_eq!(output.status, 0, "apt-get {words}: {}", output.stdout);
    output.stdout
}

fn start(machine: &Machine) -> [u32; 3] {
    machine.write("/etc/copse/pack.toml", GROUP);
    machine.reload();
    machine.systemctl(&["start", "pack.target"]);
    MEMBERS.map(|unit| machine.pid(unit))
}

fn a_group_file_beside_the_installed_package_starts(m: &Machine) {
    let machine = installed(m);
    machine.write("/root/autopkgtest", AUTOPKGTEST);
    let said = machine.sh("sh /root/autopkgtest");
    assert!(said.ends_with("all as it should be"), "{said}");
    for path in [
        "/usr/share/copse/copse.schema.json",
        "/usr/share/bash-completion/completions/copse",
        "/usr/lib/systemd/user-generators/copse-generator",
    ] {
        assert!(machine.exists(path), "{path}");
    }
}

fn an_upgrade_of_the_package_leaves_every_process_running(m: &Machine) {
    let machine = installed(m);
    let before = start(&machine);
    let units = || machine.sh("cd /run/systemd/generator && find . -name '*pack*' -type f | sort | xargs sha256sum");
    let generated = units();
    // needrestart sees programs of replaced packages, and would restart their services.
    let spared = "our %nrconf; do '/etc/needrestart/conf.d/copse.conf'; print join ' ', keys %{$nrconf{override_rc}}";
    assert!(machine.ok(&["perl", "-e", spared]).contains("pack\\-manager\\.service"));
    let next = "cd /root && dpkg-deb -R copse.deb next && sed -i 's/^Version: .*/Version: 99/' next/DEBIAN/control && \
                dpkg-deb -Zgzip -z1 -b next next.deb";
    machine.sh(next);
    apt(&machine, "install /root/next.deb");
    assert_eq!(machine.ok(&["dpkg-query", "-W", "-f", "${Version}", "copse"]), "99");
    assert_eq!(MEMBERS.map(|unit| machine.pid(unit)), before);
    assert_eq!(units(), generated);
    assert_eq!(MEMBERS.map(|unit| machine.property(unit, "NeedDaemonReload")), ["no"; 3]);
    let plan = machine.copse(&["plan", "--exit-code", "pack"]);
    assert_eq!(plan.status, 0, "nothing is outdated: {plan:?}");
    machine.kill_and_wait("pack-worker@1.service");
    assert_eq!(machine.state("pack.target"), "active");
}

fn after_a_removal_a_running_group_goes_on_until_it_is_stopped(m: &Machine) {
    let machine = installed(m);
    let before = start(&machine);
    machine.ok(&["copse", "enable", "pack"]);
    assert!(machine.exists("/etc/systemd/system/pack.target"));
    let said = apt(&machine, "remove copse");
    assert!(said.contains("still running until stopped or rebooted: pack;"), "{said}");
    assert!(!machine.exists("/usr/bin/copse"));
    assert_eq!(MEMBERS.map(|unit| machine.pid(unit)), before);
    // Whoever installs anything else has systemd read its units again.
    machine.reload();
    assert_eq!(MEMBERS.map(|unit| machine.pid(unit)), before);
    machine.systemctl(&["stop", "pack.target"]);
    for unit in MEMBERS {
        machine.wait_for_state(unit, "inactive");
    }
    machine.remove("/etc/copse/pack.toml");
    apt(&machine, "purge copse");
    let left = machine.sh("find /etc /usr /var/lib -path /var/lib/dpkg -prune -o -name '*copse*' -print");
    assert_eq!(left, "", "nothing is left of it");
    assert_eq!(machine.sh("find /etc/systemd -name 'pack*'"), "", "what `copse enable` wrote");
}
