//! A connection that is lost between two transactions, and a server that is away for a while: what
//! can wait is tried again, and what was not found out is never taken for damage.

use std::time::Duration;

use super::proxy::{Fault, Plan, Proxy, Side};
use super::{ended, with_fake};
use crate::support::postgres::Cluster;
use crate::support::{SERVICE, World, send};

const PUT: &str = "intent put web --replicas 3 --key k1 --reason r";

/// A world whose connections have a name of their own.
fn named() -> (World, String) {
    let mut world = with_fake();
    let name = format!("own_{}", world.schema().name());
    let address = format!("{}&application_name={name}", world.schema().address());
    world.set("SCALECTL_LEDGER", address);
    (world, name)
}

/// The connections of a name end, as after a restart of the server.
fn terminate(name: &str) {
    let sql = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE application_name = '{name}'"
    );
    assert_eq!(Cluster::shared().psql("suite", &sql), "1", "the one that is there");
}

#[test]
fn a_busy_lock_right_after_a_reconnection_leaves_nothing_behind() {
    let (world, name) = named();
    world.script(&["late 0.5"]);
    world.run(PUT).exits(0);
    let call = world.start("actuate k1 -o json --lock-timeout 50ms");
    world.call_file();
    terminate(&name);
    let held = world.schema().hold(&["service:web"]);
    world.until("it waits", || world.schema().waiting_for("service:web") > 0);
    std::thread::sleep(Duration::from_millis(500));
    drop(held);
    let ran = ended(call, "actuate").exits(0);
    assert_eq!(ran.at("/execution/state"), "succeeded");
    assert_eq!(world.fake_log("effects").len(), 1);
    world.run("verify").exits(0);
}

/// A world of a server of its own.
fn alone(server: &Cluster) -> World {
    let mut world = World::on_postgres();
    world.set("SCALECTL_LEDGER", server.address("postgres", "postgres"));
    world.init_fake();
    world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
    world
}

#[test]
fn a_result_is_recorded_once_the_server_is_back() {
    let mut server = Cluster::start(&[]);
    let world = alone(&server);
    world.script(&["late 0.5"]);
    world.run(PUT).exits(0);
    let call = world.start("actuate k1 -o json");
    world.call_file();
    server.kill();
    world.until("the call has its effect", || world.fake_log("effects").len() == 1);
    std::thread::sleep(Duration::from_secs(1));
    server.restart();
    let ran = ended(call, "actuate").exits(0);
    assert_eq!(ran.at("/execution/state"), "succeeded");
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("yes".into(), "yes".into()));
    assert_eq!(world.fake_log("effects").len(), 1);
    world.run("verify").exits(0);
}

#[test]
fn a_warning_at_commit_is_heard_in_every_language() {
    let server = Cluster::start(&[]);
    let mut world = alone(&server);
    let proxy = Proxy::start(&server.socket(), None);
    proxy.translate();
    let address = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port());
    world.set("SCALECTL_LEDGER", address);
    server.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.psql("postgres", "SELECT pg_reload_conf()");
    let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let put = world.start(&format!("-o json {PUT}"));
    world.until("its COMMIT waits for the standby", || {
        server.psql("postgres", &format!("SELECT count(*) {waiting}")) == "1"
    });
    server.psql("postgres", &format!("SELECT pg_cancel_backend(pid) {waiting}"));
    let ran = ended(put, PUT).exits(16);
    assert_eq!(ran.at("/error/code"), "commit_unknown");
    assert!(ran.stderr.contains("synchronous replication"), "{ran:#?}");
}

/// `verify` is cut at every message: it says that it could not look, and never that it has found
/// damage.
#[test]
fn a_lost_connection_is_no_damage() {
    let mut world = with_fake();
    world.run(PUT).exits(0);
    world.run("actuate k1").exits(0);
    let direct = Proxy::start(&Cluster::shared().socket(), None);
    world.set("SCALECTL_LEDGER", direct.address(world.schema().name()));
    world.run("verify").exits(0);
    let seen = direct.seen();
    let mut cut = 0;
    for side in [Side::Client, Side::Server] {
        let count = seen.iter().filter(|seen| seen.side == side).count();
        // Every second message: the boundaries between are the same for the one who waits.
        for number in (usize::from(side == Side::Server)..count).step_by(2) {
            let plan = Plan { side, number, fault: Fault::Before, comes_back: number % 4 < 2 };
            let proxy = Proxy::start(&Cluster::shared().socket(), Some(plan));
            world.set("SCALECTL_LEDGER", proxy.address(world.schema().name()));
            let ran = world.json("verify");
            let is_said = ran.code == Some(20) && ran.at("/error/code") == "ledger_unreachable";
            assert!(is_said || ran.code == Some(0), "{plan:?}: {ran:#?}");
            cut += usize::from(is_said);
        }
    }
    assert!(cut >= 20, "only {cut} cuts were felt");
}

/// Each lock of the queue is free in time, and all of them together are not.
#[test]
fn a_long_queue_of_locks_is_busy_and_not_waited_for_twice() {
    let mut world = with_fake();
    world.run(&format!("{} --backoff 0s", SERVICE.replace("web", "api"))).exits(0);
    world.set("SCALECTL_TEST_STATEMENT_TIMEOUT_MS", "1000");
    let lines = ["api", "web"].map(|service| {
        let words =
            ["intent", "put", service, "--replicas", "3", "--key", service, "--reason", "r"];
        serde_json::json!({ "command": words }).to_string()
    });
    world.write("lines.jsonl", lines.join("\n"));
    let mut held: Vec<_> = ["registry", "policy", "service:api", "service:web"]
        .map(|stream| world.schema().hold(&[stream]))
        .into_iter()
        .collect();
    let batch = world.start("--lock-timeout 1s batch --file lines.jsonl");
    world.until("it waits", || world.schema().waiting_for("registry") > 0);
    let began = std::time::Instant::now();
    while !held.is_empty() {
        std::thread::sleep(Duration::from_millis(800));
        drop(held.remove(0));
    }
    let ran = ended(batch, "batch").exits(20);
    let took = began.elapsed();
    assert!(ran.stdout.contains("\"ledger_busy\""), "{ran:#?}");
    assert!(!ran.stdout.contains("ledger_unreachable"), "{ran:#?}");
    assert!(took < Duration::from_millis(3900), "{took:?}");
}

/// On the server a COMMIT goes on whose client is gone. Until it has ended nobody says that there
/// is no such key.
#[test]
fn a_key_whose_commit_still_runs_is_not_said_to_be_missing() {
    let server = Cluster::start(&[]);
    let world = alone(&server);
    server.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.psql("postgres", "SELECT pg_reload_conf()");
    let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let mut put = world.start(PUT);
    world.until("its COMMIT waits for the standby", || {
        server.psql("postgres", &format!("SELECT count(*) {waiting}")) == "1"
    });
    put.kill().expect("it is ours");
    put.wait().expect("it is ours");
    // Nor is nothing said to be under way, or of the command.
    let command = "log --command cmd-00000000000000000000000000000001";
    let plan = "plan web=2 --reason r";
    let undo = format!("{plan} --rolls-back k1");
    let keyed = format!("{plan} --key k1");
    for line in [
        "replay k1",
        "intent show k1",
        "observe k1",
        "replay --all",
        "explain k1",
        "intent show web@1",
        "actuate web@1",
        &keyed,
        &undo,
        command,
    ] {
        let ran = world.json(&format!("{line} --lock-timeout 300ms")).exits(20);
        assert_eq!(ran.at("/error/code"), "ledger_busy", "{line}");
    }
    server.psql("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
    server.psql("postgres", "SELECT pg_reload_conf()");
    world.run("replay k1 --lock-timeout 10s").exits(19);
    world.run("replay k2").exits(24);
    let ran = world.json(command).exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "nothing_recorded");
    world.run("verify").exits(0);
}

/// Nor for a COMMIT that waits for a standby, nor for a server that is stopped before it answers
/// anything. Nobody knows then, and the key is found out about later.
#[test]
fn a_server_that_answers_nothing_keeps_nobody_beyond_their_time() {
    let server = Cluster::start(&[]);
    let world = alone(&server);
    let line = "scale web=2 --key k9 --reason r --timeout 1s";
    server.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.psql("postgres", "SELECT pg_reload_conf()");
    let began = std::time::Instant::now();
    let ran = world.json(line).exits(16);
    assert_eq!(ran.at("/error/code"), "commit_unknown");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    server.psql("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
    server.psql("postgres", "SELECT pg_reload_conf()");
    world.run(&line.replace("1s", "20s")).exits(0);
    let signal = |it| rustix::process::kill_process(server.pid(), it).expect("it is ours");
    signal(rustix::process::Signal::STOP);
    let began = std::time::Instant::now();
    let ran = world.json(line);
    let took = began.elapsed();
    signal(rustix::process::Signal::CONT);
    assert_eq!(ran.exits(20).at("/error/code"), "ledger_unreachable");
    assert!(took < Duration::from_secs(8), "{took:?}");
    world.run("verify").exits(0);
}

/// Ctrl-C ends a wait for a server in words, also where no lock is waited for: in a COMMIT nobody
/// knows then, before it nothing was written.
#[test]
fn a_signal_ends_the_wait_for_an_answer_in_words() {
    let server = Cluster::start(&[]);
    let world = alone(&server);
    let stop = |child: &std::process::Child| {
        std::thread::sleep(Duration::from_millis(1500));
        send(child, rustix::process::Signal::INT);
    };
    server.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.psql("postgres", "SELECT pg_reload_conf()");
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    for line in ["intent put web --replicas 3 --reason r --key k7", "scale web=4 --reason r"] {
        let child = world.start(&format!("-o json {line}"));
        world.until("its COMMIT waits", || server.psql("postgres", waiting) != "0");
        let began = std::time::Instant::now();
        stop(&child);
        let ran = ended(child, line).exits(16);
        assert_eq!(ran.at("/error/code"), "commit_unknown");
        assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
        server.psql("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
        server.psql("postgres", "SELECT pg_reload_conf()");
        world.run("replay --all --lock-timeout 10s");
        server.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
        server.psql("postgres", "SELECT pg_reload_conf()");
    }
    server.psql("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
    server.psql("postgres", "SELECT pg_reload_conf()");
    world.run("verify").exits(0);
    // A server that falls silent between two questions.
    let mut world = with_fake();
    world.run(PUT).exits(0);
    let line = "explain k1";
    let direct = Proxy::start(&Cluster::shared().socket(), None);
    world.set("SCALECTL_LEDGER", direct.address(world.schema().name()));
    world.run(line).exits(0);
    let answers = direct.seen().into_iter().filter(|seen| seen.side == Side::Server).count();
    let number = answers - 4;
    let plan = Plan { side: Side::Server, number, fault: Fault::Silence, comes_back: false };
    let proxy = Proxy::start(&Cluster::shared().socket(), Some(plan));
    world.set("SCALECTL_LEDGER", proxy.address(world.schema().name()));
    let child = world.start(&format!("-o json {line}"));
    let began = std::time::Instant::now();
    stop(&child);
    let ran = ended(child, line).exits(130);
    assert_eq!(ran.at("/error/code"), "interrupted");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

/// Whoever has said how long to wait does not wait for the patience of a statement.
#[test]
fn a_server_that_falls_silent_keeps_nobody_beyond_their_time() {
    let mut world = with_fake();
    world.run(&format!("{SERVICE} --readings 2")).exits(0);
    world.run(PUT).exits(0);
    world.run("actuate k1").exits(0);
    let watch = "observe k1 --wait --timeout 1s";
    let direct = Proxy::start(&Cluster::shared().socket(), None);
    world.set("SCALECTL_LEDGER", direct.address(world.schema().name()));
    world.run(watch).exits(0);
    let sent = direct.seen().into_iter().filter(|seen| seen.side == Side::Client);
    let sent: Vec<bool> = sent.map(|seen| seen.is_commit).collect();
    let places: Vec<usize> = (0..sent.len()).filter(|at| !sent[*at]).collect();
    for number in places.iter().copied().step_by(places.len().div_ceil(4)) {
        let plan = Plan { side: Side::Client, number, fault: Fault::Silence, comes_back: false };
        let proxy = Proxy::start(&Cluster::shared().socket(), Some(plan));
        world.set("SCALECTL_LEDGER", proxy.address(world.schema().name()));
        let began = std::time::Instant::now();
        let ran = world.json(watch).exits(20);
        // Whether it is silent or somebody holds the lock, whoever asks for one cannot tell.
        let code = ran.at("/error/code");
        assert!(code == "ledger_unreachable" || code == "ledger_busy", "{plan:?}: {code}");
        let took = began.elapsed();
        assert!(took < Duration::from_secs(25), "{plan:?}: {took:?}");
    }
}
