//! A standby: what it does to an answer, and what is left when the primary is gone.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::bind_fake;
use crate::support::postgres::Cluster;
use crate::support::{SERVICE, World};

const PUT: &str = "intent put web --replicas 3 --key k1 --reason r";

/// A world with `web` and the fake at an address.
fn furnished(address: &str) -> World {
    let mut world = World::on_postgres();
    world.set("SCALECTL_LEDGER", address);
    world.init_fake();
    world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
    world
}

#[test]
fn a_cancelled_wait_for_a_standby_is_unknown() {
    let server = Cluster::start(&[]);
    let world = furnished(&server.address("postgres", "postgres"));
    server.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.psql("postgres", "SELECT pg_reload_conf()");
    let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let put = world.start(&format!("-o json {PUT}"));
    world.until("its COMMIT waits for the standby", || {
        server.psql("postgres", &format!("SELECT count(*) {waiting}")) == "1"
    });
    // Nobody says that it is done, as long as it waits.
    std::thread::sleep(Duration::from_millis(200));
    server.psql("postgres", &format!("SELECT pg_cancel_backend(pid) {waiting}"));
    let ran = super::ended(put, PUT).exits(16);
    assert_eq!(ran.at("/error/code"), "commit_unknown");
    assert_eq!(ran.at("/recorded"), "unknown");
    assert!(ran.stderr.contains("synchronous replication"), "{ran:#?}");
    server.psql("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
    server.psql("postgres", "SELECT pg_reload_conf()");
    world.until("nobody is waited for", || {
        server.psql("postgres", "SHOW synchronous_standby_names").is_empty()
    });
    let command = ran.at("/error/facts/command");
    let log = world.json(&format!("log --command {}", command.as_str().unwrap())).exits(0);
    assert!(!log.at("/events").as_array().unwrap().is_empty(), "it is there after all");
    assert_eq!(world.json(PUT).exits(0).at("/replayed"), true);
}

const WAITING: &str = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

/// What is there is not yet recorded: the standby that may take over does not have it. That holds
/// for the command whose COMMIT was broken off, and for everybody who finds the row after it.
#[test]
fn a_row_that_no_standby_has_is_unknown() {
    let server = Cluster::start(&[]);
    let mut world = furnished(&server.address("postgres", "postgres"));
    world.set("SCALECTL_TEST_STATEMENT_TIMEOUT_MS", "1000");
    let names = |names: &str| {
        server.psql("postgres", &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        server.psql("postgres", "SELECT pg_reload_conf()");
        world.until("the setting holds", || {
            server.psql("postgres", "SHOW synchronous_standby_names") == names
        });
    };
    names("nobody");
    let put = world.start(&format!("-o json --lock-timeout 1s {PUT}"));
    world.until("its COMMIT waits for the standby", || {
        server.psql("postgres", &format!("SELECT count(*) {WAITING}")) == "1"
    });
    server.psql("postgres", &format!("SELECT pg_terminate_backend(pid) {WAITING}"));
    let ran = super::ended(put, PUT).exits(16);
    assert_eq!(
        (ran.at("/error/code"), ran.at("/recorded")),
        ("commit_unknown".into(), "unknown".into())
    );
    let is_there = "SELECT count(*) FROM scalectl.event WHERE execution_key = 'k1'";
    assert_eq!(server.psql("postgres", is_there), "1", "the row is there for everybody");
    let policy = format!("policy put {} --reason r", world.path("all.cedar").display());
    let service = format!("{SERVICE} --backoff 0s");
    for line in [PUT, &policy, &service, "batch"] {
        let begun = Instant::now();
        let words = PUT.split(' ').collect::<Vec<_>>();
        let batched = serde_json::json!({ "command": words }).to_string();
        let output = if line == "batch" { "ndjson" } else { "json" };
        let line = format!("-o {output} --lock-timeout 1s {line}");
        let ran = world.run_with(&line, batched.as_bytes()).exits(16);
        assert_eq!(ran.at("/error/code"), "ledger_unconfirmed", "{line}");
        assert_eq!(ran.at("/recorded"), "unknown", "{line}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{line}: {:?}", begun.elapsed());
    }
    names("");
    assert_eq!(world.json(PUT).exits(0).at("/replayed"), true);
    assert_eq!(server.psql("postgres", is_there), "1", "once");
}

/// A role, a database or a person may have asked for less than a write here needs.
#[test]
fn every_write_waits_for_the_standby_whatever_its_role_has_set() {
    let server = Cluster::start(&[]);
    let world = furnished(&server.address("postgres", "postgres"));
    for name in ["off", "local"] {
        let text = format!("@id(\"{name}\")\npermit(principal, action, resource);\n");
        world.write(&format!("{name}.cedar"), text);
    }
    server.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.psql("postgres", "SELECT pg_reload_conf()");
    for setting in ["off", "local"] {
        let sql = format!("ALTER ROLE postgres SET synchronous_commit = '{setting}'");
        // Its own COMMIT waits for the standby that is not there.
        server.psql("postgres", &format!("SET synchronous_commit = off; {sql}"));
        let held = server.psql("postgres", "SHOW synchronous_commit");
        assert_eq!(held, setting, "the role has it");
        for line in [
            format!("intent put web --replicas 4 --key {setting} --supersede --reason r"),
            format!("{SERVICE} --backoff 1{}s", setting.len()),
            format!("policy put {setting}.cedar --reason r"),
        ] {
            let put = world.start(&format!("-o json {line}"));
            world.until("its COMMIT waits for the standby", || {
                server.psql("postgres", &format!("SELECT count(*) {WAITING}")) == "1"
            });
            server.psql("postgres", &format!("SELECT pg_cancel_backend(pid) {WAITING}"));
            super::ended(put, &line).exits(16);
        }
    }
}

/// A client: puts one key after the other, and keeps what was acknowledged.
struct Client {
    acknowledged: Vec<String>,
    longest: Duration,
}

fn client(world: &World, service: &str, is_over: &AtomicBool, done: &Mutex<u32>) -> Client {
    let mut client = Client { acknowledged: Vec::new(), longest: Duration::ZERO };
    let mut last = Instant::now();
    let mut number = 0;
    while !is_over.load(Ordering::SeqCst) {
        let key = format!("{service}-{number}");
        let line = format!(
            "intent put {service} --replicas {} --key {key} --expect-revision {number} --reason r",
            number % 10 + 1
        );
        let ran = world.json(&line);
        match ran.code {
            Some(0) => {
                client.acknowledged.push(key);
                client.longest = client.longest.max(last.elapsed());
                last = Instant::now();
                number += 1;
                *done.lock().unwrap() += 1;
            }
            // Not there, or nobody knows: the same keyed line again.
            Some(16 | 20) => std::thread::sleep(Duration::from_millis(50)),
            _ => panic!("{ran:#?}"),
        }
    }
    client
}

/// From here on the standby gets nothing: whoever is still told of a success is told a lie.
fn cut_off(world: &World, standby: &Cluster) {
    standby.psql("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
    standby.psql("postgres", "SELECT pg_reload_conf()");
    world.until("the standby receives nothing", || {
        standby.psql("postgres", "SELECT count(*) FROM pg_stat_wal_receiver") == "0"
    });
}

#[test]
fn nothing_acknowledged_is_lost_when_the_synchronous_standby_takes_over() {
    let mut primary = Cluster::start(&["wal_level = replica", "max_wal_senders = 5"]);
    let standby = Cluster::standby_of(&primary, &[]);
    let (one, two) = (primary.address("postgres", "x"), standby.address("postgres", "x"));
    let host = |address: &str| {
        address.trim_start_matches("postgres://postgres@").trim_end_matches("/x").to_owned()
    };
    // The standby alone is no ledger.
    let mut alone = World::on_postgres();
    alone.set("SCALECTL_LEDGER", standby.address("postgres", "postgres"));
    let ran = alone.json("status").exits(20);
    assert_eq!(ran.at("/error/code"), "ledger_unreachable", "{ran:#?}");
    alone.set(
        "SCALECTL_LEDGER",
        format!("{}?target_session_attrs=any", standby.address("postgres", "postgres")),
    );
    alone.json("status").exits(20).says("it is a standby");

    let both = format!("postgres://postgres@{},{}/postgres", host(&two), host(&one));
    let world = furnished(&format!("{both}?connect_timeout=2"));
    primary.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    primary.psql("postgres", "SELECT pg_reload_conf()");
    world.until("the standby is in step", || {
        primary.psql("postgres", "SELECT sync_state FROM pg_stat_replication") == "sync"
    });
    // A replay is confirmed by the standby.
    world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
    let services = ["s0", "s1", "s2"];
    for service in services {
        world.run(&SERVICE.replace("web", service)).exits(0);
    }
    let (is_over, done) = (Arc::new(AtomicBool::new(false)), Mutex::new(0_u32));
    let clients: Vec<Client> = std::thread::scope(|scope| {
        let (world, done) = (&world, &done);
        let begun: Vec<_> = services
            .into_iter()
            .map(|service| {
                let is_over = Arc::clone(&is_over);
                scope.spawn(move || client(world, service, &is_over, done))
            })
            .collect();
        world.until("there is load", || *done.lock().unwrap() >= 12);
        cut_off(world, &standby);
        std::thread::sleep(Duration::from_secs(1));
        primary.kill();
        standby.promote();
        let before = *done.lock().unwrap();
        world.until("the clients go on", || *done.lock().unwrap() >= before + 12);
        is_over.store(true, Ordering::SeqCst);
        begun.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let rows = standby.psql(
        "postgres",
        "SELECT execution_key FROM scalectl.event WHERE kind = 'intent_accepted'",
    );
    let all: Vec<&str> = rows.lines().collect();
    let there: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(there.len(), all.len(), "none is applied twice");
    for client in &clients {
        assert!(client.longest < Duration::from_secs(10), "{:?}", client.longest);
        for key in &client.acknowledged {
            assert!(there.contains(key.as_str()), "{key} was acknowledged, and is lost");
        }
    }
    world.run("verify").exits(0);
    bind_fake(&world).exits(0);
}
