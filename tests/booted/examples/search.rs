//! `examples/search.toml`: nodes by name behind a keystore.

use super::{INSTALLED, failed, fetch, install, moment, start};
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;

const KEYSTORE: &str = "search-keystore.service";
const NODES: [&str; 3] = ["search-node@alpha.service", "search-node@beta.service", "search-node@gamma.service"];
const FILE: &str = "/var/lib/search/keystore.p12";

pub(super) fn the_keystore_is_there_before_three_slow_nodes_are_ready(m: &Machine) {
    let group = install(m, "search");
    start(m, &group);
    // The moment the start returns, all three answer, two seconds after they were started.
    assert_eq!([9201, 9202, 9203].map(|port| fetch(m, port, "/")), ["alpha master", "beta data,ingest", "gamma data"]);
    assert_eq!(fetch(m, 9202, "/_cluster/health"), "green 3/3");
    let made = moment(m, KEYSTORE, "ExecMainExitTimestampMonotonic");
    for node in NODES {
        let [start, ready] =
            ["ExecMainStartTimestampMonotonic", "ActiveEnterTimestampMonotonic"].map(|at| moment(m, node, at));
        assert!(made <= start && ready >= start + 2_000_000, "keystore {made}, {node} {start} to {ready}");
    }
    assert_eq!(m.sh(&format!("stat -c '%U' {FILE}")), "search");
    m.ok(&["openssl", "pkcs12", "-in", FILE, "-passin", &format!("file:{INSTALLED}/search/password"), "-noout"]);
    // Java's way to end when it is asked to is a clean end.
    group.stop();
    for node in NODES {
        m.wait_for_state(node, "inactive");
        assert_eq!(m.properties(node, ["ExecMainStatus", "Result"]), ["143", "success"]);
    }
}

pub(super) fn each_node_has_its_own_settings(m: &Machine) {
    let group = install(m, "search");
    start(m, &group);
    let gib = (1_u64 << 30).to_string();
    // Of a unit that says nothing: the service manager's own, which whoever started the machine gave it.
    let usual = m.property(KEYSTORE, "Nice");
    let settings = NODES.map(|node| m.properties(node, ["MemoryMax", "Nice", "LimitMEMLOCK", "LimitNOFILE"]));
    let unlimited = ["infinity", u64::MAX.to_string().as_str()].map(str::to_owned);
    let wanted = [("infinity", usual.as_str()), (gib.as_str(), usual.as_str()), (gib.as_str(), "5")];
    for ((node, [memory, nice, memlock, nofile]), (wanted_memory, wanted_nice)) in
        NODES.into_iter().zip(settings).zip(wanted)
    {
        assert_eq!((memory.as_str(), nice.as_str()), (wanted_memory, wanted_nice), "{node}");
        assert!(unlimited.contains(&memlock), "{node}: {memlock}");
        assert_eq!(nofile, "65535", "{node}");
    }
    // One that is asked to restart leaves the others alone, and the cluster is whole again when it is ready.
    let others = || [KEYSTORE, NODES[0], NODES[2]].map(|unit| m.property(unit, "ExecMainPID"));
    let before = others();
    m.systemctl(&["restart", NODES[1]]);
    assert_eq!(fetch(m, 9201, "/_cluster/health"), "green 3/3");
    assert_eq!(others(), before);
}

pub(super) fn making_the_keystore_again_restarts_no_node(m: &Machine) {
    let group = install(m, "search");
    start(m, &group);
    let nodes = NODES.map(|node| m.pid(node));
    let sum = || m.sh(&format!("sha256sum <{FILE}"));
    let first = sum();
    m.systemctl(&["reload", KEYSTORE]);
    assert_eq!(sum(), first, "nothing changed, so it isn't made again");
    m.write(&format!("{INSTALLED}/search/password"), "another\n");
    m.systemctl(&["reload", KEYSTORE]);
    let second = sum();
    assert_ne!(second, first);
    m.ok(&["openssl", "pkcs12", "-in", FILE, "-passin", &format!("file:{INSTALLED}/search/password"), "-noout"]);
    assert_eq!(NODES.map(|node| m.pid(node)), nodes);
    // A node started now reads the new one with the new password.
    m.systemctl(&["restart", NODES[0]]);
    assert_eq!(fetch(m, 9201, "/_cluster/health"), "green 3/3");
    assert_eq!(failed(m, &group), "");
}
