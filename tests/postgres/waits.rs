//! Who waits for whom.

use std::io::{BufRead as _, Write as _};
use std::time::{Duration, Instant};

use super::with_fake;
use crate::support::postgres::Cluster;
use crate::support::{SERVICE, World};

fn two_services() -> World {
    let world = with_fake();
    world.run(&SERVICE.replace("web", "api")).exits(0);
    world
}

fn put(service: &str, revision: u64) -> String {
    format!(
        "intent put {service} --replicas {} --expect-revision {revision} --reason r \
         --lock-timeout 300ms",
        revision + 1
    )
}

#[test]
fn services_do_not_wait_for_each_other() {
    let world = two_services();
    let held = world.schema().hold(&["service:web"]);
    let busy = world.json(&put("web", 0)).exits(20);
    assert_eq!(busy.at("/error/code"), "ledger_busy");
    assert_eq!((busy.at("/recorded"), busy.at("/applied")), ("no".into(), "no".into()));
    let began = Instant::now();
    world.run(&put("api", 0)).exits(0);
    assert!(began.elapsed() < Duration::from_secs(3));
    world.run("status").exits(0);
    drop(held);
    world.run(&put("web", 0)).exits(0);
}

/// What a writer records after a wait is not older than what the one before it has written.
#[test]
fn the_clock_is_read_when_the_wait_is_over() {
    let world = two_services();
    let held = world.schema().hold(&["service:web"]);
    let line = "intent put web --replicas 3 --expect-revision 0 --key k1 --reason r -o json";
    let put = world.start(line);
    world.until("it waits", || world.schema().waiting_for("service:web") > 0);
    std::thread::sleep(Duration::from_millis(300));
    let before =
        world.sql("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)");
    drop(held);
    super::ended(put, line).exits(0);
    let sql = format!("SELECT at >= {before} FROM event WHERE execution_key = 'k1'");
    assert_eq!(world.sql(&sql), "t", "it is by a clock from before the wait");
}

/// Each of the two sees a target that nobody has, and only one may take it.
#[test]
fn two_services_at_once_do_not_take_one_target() {
    let world = with_fake();
    let held = world.schema().hold(&["registry"]);
    let line = |name: &str| {
        let put = SERVICE.replace("put web", &format!("put {name}"));
        format!("-o json --lock-timeout 20s {put} --workload shared")
    };
    let puts = ["one", "two"].map(|name| world.start(&line(name)));
    world.until("both wait", || world.schema().waiting_for("registry") == 2);
    drop(held);
    let puts = puts.map(|put| super::ended(put, "service put"));
    let mut codes = [puts[0].code, puts[1].code];
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(10)], "{puts:#?}");
    let refused = puts.iter().find(|ran| ran.code == Some(10)).unwrap();
    assert_eq!(refused.at("/error/code"), "target_taken");
    assert_eq!(world.sql("SELECT count(*) FROM service WHERE name IN ('one', 'two')"), "1");
    world.run("verify").exits(0);
}

#[test]
fn a_change_of_the_policy_waits_for_every_writer_and_lets_none_in() {
    let world = two_services();
    // What a writer of one service holds.
    let held = world.schema().hold_shared(&["registry", "policy"], &["service:web"]);
    let line = ["--lock-timeout", "300ms", "policy", "put", "all.cedar", "--reason", "again"];
    world.write("all.cedar", "@id(\"every\")\npermit(principal, action, resource);\n");
    world.run_args(&line).exits(20);
    // Another writer is let in all the same.
    world.run(&put("api", 0)).exits(0);
    drop(held);
    world.run_args(&line).exits(0);
    let held = world.schema().hold(&["policy"]);
    for service in ["web", "api"] {
        let revision = u64::from(service == "api");
        world.run(&put(service, revision)).exits(20);
    }
    drop(held);
}

#[test]
fn after_a_busy_lock_the_same_connection_goes_on() {
    let world = two_services();
    world.script(&["late 0.3"]);
    world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
    let call = world.start("actuate k1 -o json --lock-timeout 50ms");
    world.call_file();
    let held = world.schema().hold(&["service:web"]);
    world.until("it waits", || world.schema().waiting_for("service:web") > 0);
    std::thread::sleep(Duration::from_millis(500));
    drop(held);
    let ran = super::ended(call, "actuate").exits(0);
    assert_eq!(ran.at("/execution/state"), "succeeded");
    assert_eq!(world.fake_log("effects").len(), 1);
}

/// How many wait for a lock, and since when the first of them does.
fn queue(world: &World, stream: &str) -> (usize, String) {
    let since = "SELECT min(waitstart) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND pid IN (SELECT pid FROM pg_stat_activity WHERE application_name = 'own')";
    (world.schema().waiting_for(stream), world.sql(since))
}

/// The wait is long, its end is not: neither for whoever asked for it nor for those behind.
#[test]
fn a_signal_ends_a_long_wait_for_a_lock_and_leaves_the_queue() {
    let mut world = two_services();
    world.set("SCALECTL_LEDGER", format!("{}&application_name=own", world.schema().address()));
    world.run("intent put web --replicas 2 --key k1 --reason r").exits(0);
    let held = world.schema().hold(&["service:web"]);
    let policy = world.schema().hold_shared(&["registry", "policy"], &[]);
    world.write("all.cedar", "@id(\"other\")\npermit(principal, action, resource);\n");
    for (line, stream) in [
        ("intent put web --replicas 3 --expect-revision 1 --reason r", "service:web"),
        ("actuate k1", "service:web"),
        ("intent withdraw k1", "service:web"),
        ("scale web=4 --key k2 --reason r --supersede", "service:web"),
        ("policy put all.cedar --reason again", "policy"),
    ] {
        let line = format!("-o json --lock-timeout 60s {line}");
        let waiting = world.start(&line);
        world.until("it waits", || world.schema().waiting_for(stream) == 1);
        let before = queue(&world, stream);
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(queue(&world, stream), before, "{line}: it has lost its place");
        let began = Instant::now();
        let pid = rustix::process::Pid::from_raw(i32::try_from(waiting.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let ran = super::ended(waiting, &line).exits(143);
        assert!(began.elapsed() < Duration::from_millis(1500), "{line}: {:?}", began.elapsed());
        assert_eq!(ran.at("/error/code"), "interrupted", "{line}");
        assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("no".into(), "no".into()), "{line}");
        world.until("its place is free", || world.schema().waiting_for(stream) == 0);
        assert!(began.elapsed() < Duration::from_secs(4), "{line}: {:?}", began.elapsed());
    }
    drop((held, policy));
    world.run("scale web=4 --key k2 --reason r --supersede").exits(0);
    world.run("verify").exits(0);
}

/// The time that a command has for all of it ends such a wait as well, and it goes on to tell what
/// is there.
#[test]
fn the_callers_own_time_ends_a_wait_for_a_lock() {
    let world = two_services();
    let held = world.schema().hold(&["service:web"]);
    let began = Instant::now();
    let line = "--lock-timeout 60s scale web=2 --key k1 --reason r --timeout 3s";
    let ran = world.json(line).exits(20);
    assert_eq!(ran.at("/error/code"), "ledger_busy");
    assert!((2900..5000).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    let said = ran.stderr.lines().filter(|line| line.starts_with("waiting for the ledger"));
    assert_eq!(said.count(), 1, "{ran:#?}");
    assert_eq!(world.schema().waiting_for("service:web"), 0, "it has left the queue");
    drop(held);
}

/// Two that wait for each other: the server ends the wait of one, which is no refusal.
#[test]
fn who_is_chosen_in_a_deadlock_waits_again() {
    let world = two_services();
    let name = world.schema().name().to_owned();
    let lock = |stream: &str| {
        format!(
            "SELECT pg_advisory_xact_lock(('x' || substr(encode(sha256('scalectl {name} {stream}'),\
             'hex'), 1, 16))::bit(64)::bigint);\n"
        )
    };
    let mut other = Cluster::shared().psql_command("scalectl", "suite").spawn().unwrap();
    let mut orders = other.stdin.take().unwrap();
    let script = format!("BEGIN;\n{}\\echo held\n", lock("service:web"));
    orders.write_all(script.as_bytes()).unwrap();
    let mut said = std::io::BufReader::new(other.stdout.take().unwrap());
    let mut line = String::new();
    while line != "held\n" {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "the lock is not held");
    }
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = 'suite'";
    let before: u64 = world.sql(deadlocks).parse().unwrap();
    let put = "-o json intent put web --replicas 3 --key k1 --reason r --lock-timeout 30s";
    let put = world.start(put);
    world.until("it waits", || world.schema().waiting_for("service:web") == 1);
    // Within a second, after which the put looks for a circle.
    orders.write_all(format!("{}\\echo both\n", lock("registry")).as_bytes()).unwrap();
    while line != "both\n" {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "the other one was chosen");
    }
    world
        .until("the deadlock is counted", || world.sql(deadlocks).parse::<u64>().unwrap() > before);
    orders.write_all(b"COMMIT;\n").unwrap();
    drop(orders);
    assert!(other.wait().unwrap().success());
    super::ended(put, "put").exits(0);
    assert_eq!(world.sql("SELECT count(*) FROM execution"), "1");
    world.run("verify").exits(0);
}

/// A client that has stopped in a transaction keeps its locks for as long as the statement timeout,
/// and no longer.
#[test]
fn a_stopped_client_loses_its_locks() {
    let mut world = two_services();
    world.set("SCALECTL_TEST_STATEMENT_TIMEOUT_MS", "5000");
    world.set("SCALECTL_TEST_CRASH", "before_commit#1");
    world.set("SCALECTL_TEST_STOP", "yes");
    let mut stopped = world.start(&put("web", 0));
    world.unset("SCALECTL_TEST_CRASH").unset("SCALECTL_TEST_STOP");
    let pid = rustix::process::Pid::from_raw(i32::try_from(stopped.id()).unwrap()).unwrap();
    world.until("it has stopped", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", stopped.id()));
        stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
    });
    world.run(&put("web", 0)).exits(20);
    let again = format!("{} --key mine", put("web", 0));
    world.until("the locks are free", || world.run(&again).code == Some(0));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    let status = stopped.wait().unwrap();
    // It is told that nothing of it was recorded, and nothing was.
    assert_eq!(status.code(), Some(20), "it goes on after its locks are gone");
    assert_eq!(world.sql("SELECT count(*) FROM execution"), "1");
    world.run("verify").exits(0);
}

/// A key is unique over all services by an index, and no lock of a chain holds it: who loses that
/// race records nothing.
#[test]
fn a_key_that_another_service_takes_meanwhile_is_told_and_leaves_nothing() {
    let world = two_services();
    world.run(&format!("{} --key other", put("api", 0))).exits(0);
    let count = "SELECT count(*) FROM event";
    let before = world.sql(count);
    let mut other = Cluster::shared().psql_command("scalectl", "suite").spawn().unwrap();
    let mut orders = other.stdin.take().unwrap();
    let script = format!(
        "SET search_path = {};\nBEGIN;\n\
         INSERT INTO execution SELECT position + 1000000, 'k1', service, 'another', intent_revision,\n\
         dry_run, live, 0, state, version, document FROM execution WHERE execution_key = 'other';\n\
         \\echo taken\n",
        world.schema().name()
    );
    orders.write_all(script.as_bytes()).unwrap();
    let mut line = String::new();
    std::io::BufReader::new(other.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "taken\n");
    let second = world.start("intent put web --replicas 3 --key k1 --reason r -o json");
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
        AND query LIKE 'INSERT INTO execution%'";
    world.until("it waits for the row", || world.sql(waiting) == "1");
    orders.write_all(b"COMMIT;\n").unwrap();
    drop(orders);
    assert!(other.wait().unwrap().success());
    let second = super::ended(second, "put").exits(10);
    assert_eq!(second.at("/error/code"), "ledger_stale", "{second:#?}");
    assert_eq!(second.at("/recorded"), "no");
    assert_eq!(world.sql(count), before);
}
