//! `examples/shop.toml`: a web application.

use super::{INSTALLED, failed, fetch, install, moment, start};
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;

const REDIS: &str = "shop-redis.service";
const MIGRATE: &str = "shop-migrate.service";
const WEB: [&str; 2] = ["shop-web@1.service", "shop-web@2.service"];
const WORKERS: [&str; 4] =
    ["shop-worker@1.service", "shop-worker@2.service", "shop-worker@3.service", "shop-worker@4.service"];

pub(super) fn the_migration_runs_after_redis_and_before_the_shop_opens(m: &Machine) {
    let group = install(m, "shop");
    start(m, &group);
    // Both ports answer the moment the start returns.
    assert_eq!([8001, 8002].map(|port| fetch(m, port, "/health")), ["well", "well"]);
    let redis_ready = moment(m, REDIS, "ActiveEnterTimestampMonotonic");
    let [began, ended] =
        ["ExecMainStartTimestampMonotonic", "ExecMainExitTimestampMonotonic"].map(|at| moment(m, MIGRATE, at));
    assert!(
        redis_ready <= began && began <= ended,
        "redis was ready at {redis_ready}, the migration {began} to {ended}"
    );
    for unit in WEB.into_iter().chain(WORKERS) {
        let start = moment(m, unit, "ExecMainStartTimestampMonotonic");
        assert!(ended <= start, "{unit} began at {start}, the migration ended at {ended}");
        assert_eq!(m.state(unit), "active");
        assert_eq!(m.sh(&format!("stat -c %U /proc/{}", m.pid(unit))), "shop");
    }
    // The report's turn comes by the clock, or by hand.
    assert_eq!(m.state("shop-report.timer"), "active");
    assert_ne!(m.property("shop-report.timer", "NextElapseUSecRealtime"), "");
    m.systemctl(&["start", "shop-report.service"]);
    m.wait_until("the report is in the log", || {
        m.journal(&["COPSE_GROUP=shop", "COPSE_PROCESS=report"]).contains("orders done: 0, waiting: 0")
    });
}

pub(super) fn orders_are_carried_out_by_workers_that_end_by_themselves(m: &Machine) {
    let group = install(m, "shop");
    start(m, &group);
    let others = || [REDIS, WEB[0], WEB[1]].map(|unit| m.pid(unit));
    let before = others();
    let order = "import urllib.request as r; [r.urlopen(f'http://127.0.0.1:{8001 + n % 2}/', b'') for n in range(200)]";
    m.ok(&["python3", "-c", order]);
    m.wait_until("all orders are done", || fetch(m, 8001, "/") == "waiting 0, done 200");
    let restarts = || WORKERS.map(|unit| m.property(unit, "NRestarts").parse::<u32>().expect("a number"));
    // A worker ends after 20 orders and is started again, and that is nobody's failure.
    // Of 200 orders, up to 19 of each worker's may be its next ones.
    m.wait_until("the workers ended seven times", || restarts().iter().sum::<u32>() >= 7);
    m.wait_until("all workers are back", || WORKERS.iter().all(|unit| m.property(unit, "SubState") == "running"));
    assert_eq!(others(), before);
    assert_eq!((m.state(&group.target()), failed(m, &group)), ("active".into(), String::new()));
}

pub(super) fn the_migration_runs_again_only_after_a_deploy(m: &Machine) {
    let group = install(m, "shop");
    let all_runs = || m.journal(&["-u", MIGRATE]).matches("the data has schema").count();
    let earlier = all_runs();
    let runs = || all_runs() - earlier;
    start(m, &group);
    m.wait_until("the migration's line is in the log", || runs() == 1);
    m.systemctl(&["restart", &group.target()]);
    assert_eq!([8001, 8002].map(|port| fetch(m, port, "/health")), ["well", "well"]);
    assert_eq!(runs(), 1, "nothing changed: {}", m.journal(&["-u", MIGRATE]));
    m.write(&format!("{INSTALLED}/shop/REVISION"), "another\n");
    let web = WEB.map(|unit| m.pid(unit));
    m.systemctl(&["reload", MIGRATE]);
    m.wait_until("it ran once more", || runs() == 2);
    assert_eq!(WEB.map(|unit| m.pid(unit)), web, "running it again restarts nobody");
    m.systemctl(&["reload", MIGRATE]);
    assert_eq!(runs(), 2, "nothing changed any more");
}
