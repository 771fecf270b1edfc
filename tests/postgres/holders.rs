//! Who is in the way of a wait: told after two seconds, and with the end of it.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{ended, with_fake};
use crate::support::postgres::Cluster;
use crate::support::{Ran, SERVICE, World, stat_of};

/// What was said to be waited for.
fn said(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter_map(|line| line.strip_prefix("waiting for the ledger: ")).collect()
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// A put that has stopped before its COMMIT, with all of its locks.
fn stopped(world: &mut World, line: &str) -> Child {
    world.set("SCALECTL_TEST_CRASH", "before_commit#1").set("SCALECTL_TEST_STOP", "yes");
    let stopped = world.start(line);
    world.unset("SCALECTL_TEST_CRASH").unset("SCALECTL_TEST_STOP");
    let pid = i32::try_from(stopped.id()).unwrap();
    world.until("it has stopped", || stat_of(pid).is_some_and(|fields| fields[0] == "T"));
    stopped
}

const PUT: &str = "intent put web --replicas 3 --key k1 --reason r";

#[test]
fn whoever_waits_is_told_which_scalectl_is_in_the_way() {
    let mut world = with_fake();
    let holder = stopped(&mut world, &format!("--actor deploy@ci {PUT}"));
    let host = rustix::system::uname().nodename().to_str().unwrap().to_owned();
    let who = format!(
        "scalectl intent put of deploy@ci on {host} (pid {}, role scalectl, idle in its \
         transaction)",
        holder.id()
    );
    let ran = world.json("scale web=2 --key k2 --reason r --timeout 4s").exits(20);
    assert_eq!(ran.at("/error/code"), "ledger_busy");
    let told = said(&ran);
    assert_eq!(told.len(), 1, "{ran:#?}");
    assert!(told[0].starts_with(&format!("locked by {who} for 2")), "{told:?}");
    assert_eq!(ran.at("/error/facts/holder"), who.as_str());
    let held_by = serde_json::json!({
        "controller": "deploy@ci", "host": host, "pid": holder.id(), "until": null
    });
    assert_eq!(ran.at("/error/held_by"), held_by);
    // The lock timeout may end before anybody is told.
    let ran = world.json(&format!("{PUT} --lock-timeout 200ms")).exits(20);
    assert_eq!(ran.at("/error/facts/holder"), who.as_str());
    assert!(ran.stderr.contains("it was locked for"), "{ran:#?}");
    assert!(said(&ran).is_empty(), "{ran:#?}");
    signal(&holder, Signal::CONT);
    ended(holder, PUT).exits(0);
    world.run("verify").exits(0);
}

/// A `scale` asks for the lock anew whenever the lock timeout has ended a wait: what it tells is
/// all of it, and how much longer it may last.
#[test]
fn a_wait_that_is_begun_anew_is_told_with_all_of_its_length() {
    let world = with_fake();
    let held = world.schema().hold(&["service:web"]);
    let line = "scale web=2 --key k1 --reason r --timeout 9s --lock-timeout 1s";
    let ran = world.json(line).exits(20);
    let told = said(&ran);
    assert_eq!(told.len(), 2, "{ran:#?}");
    for (line, seconds) in [(told[0], 2.0..4.0), (told[1], 6.8..8.9)] {
        let (so_far, more) = line.split_once(" so far, at most ").expect("both are told");
        let length = |text: &str| text.trim_end_matches('s').parse::<f64>().expect(text);
        let so_far = length(so_far.rsplit(' ').next().unwrap());
        let more = length(more.trim_end_matches(" more"));
        assert!(seconds.contains(&so_far), "{line}");
        assert!((7.5..9.2).contains(&(so_far + more)), "{line}");
    }
    let message = ran.at("/error/message").as_str().unwrap().to_owned();
    let waited = message.rsplit(' ').next().unwrap().trim_end_matches('s').parse::<f64>();
    assert!(waited.is_ok_and(|waited| waited > 7.0), "{message}");
    assert!(message.contains("it was locked for"), "{message}");
    assert!(ran.at("/error/facts/holder").as_str().unwrap().starts_with("psql "), "{ran:#?}");
    drop(held);
}

/// Where nothing says that it is one of ours, what the server knows is told.
#[test]
fn whoever_waits_is_told_which_session_is_in_the_way() {
    let world = with_fake();
    let held = world.schema().hold(&["service:web"]);
    let ran = world.json(&format!("{PUT} --lock-timeout 2500ms")).exits(20);
    let told = said(&ran);
    assert_eq!(told.len(), 1, "{ran:#?}");
    let holder = ran.at("/error/facts/holder").as_str().unwrap().to_owned();
    assert!(told[0].starts_with(&format!("locked by {holder} for 2")), "{told:?}");
    assert!(holder.starts_with("psql (process "), "{holder}");
    assert!(
        holder.ends_with(" of the server, role scalectl, idle in its transaction)"),
        "{holder}"
    );
    assert_eq!(ran.at("/error/held_by"), serde_json::Value::Null);
    drop(held);
    // What keeps a whole table is no lock of a chain, and is told as well.
    let held = world.schema().hold_table("service");
    let ran = world.json("status --lock-timeout 4s").exits(20);
    assert_eq!(ran.at("/error/code"), "ledger_busy", "{ran:#?}");
    assert!(said(&ran)[0].starts_with("locked by psql (process "), "{ran:#?}");
    assert!(ran.at("/error/facts/holder").as_str().unwrap().starts_with("psql "), "{ran:#?}");
    drop(held);
    world.run(PUT).exits(0);
}

/// A role with no rights but those of the recipe sees who it is, and not what it is at.
#[test]
fn a_role_of_the_recipe_is_told_as_well() {
    let server = Cluster::start(&[]);
    let [administrator, owners] = super::roles_of_the_recipe();
    for statement in administrator.split(";\n").filter(|text| !text.trim().is_empty()) {
        server.psql("postgres", statement);
    }
    server.psql(
        "postgres",
        "CREATE ROLE anna LOGIN IN ROLE scalectl_writer;
         CREATE ROLE ben LOGIN IN ROLE scalectl_writer",
    );
    let mut world = World::on_postgres();
    world.set("SCALECTL_LEDGER", server.address("scalectl_owner", "scalectl"));
    world.run("init").exits(0);
    server.try_psql("scalectl_owner", "scalectl", &owners).expect("the recipe works");
    world.set("SCALECTL_LEDGER", server.address("ben", "scalectl"));
    let policy = world.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
    world.run_args(&["policy", "put", policy.to_str().unwrap(), "--reason", "r"]).exits(0);
    std::fs::create_dir_all(world.fake_dir()).unwrap();
    std::fs::write(world.fake_dir().join("capabilities"), "inspect\nlookup\nfence\n").unwrap();
    super::bind_fake(&world).exits(0);
    world.run(SERVICE).exits(0);
    let holder = stopped(&mut world, PUT);
    world.set("SCALECTL_LEDGER", server.address("anna", "scalectl"));
    let ran = world.json("scale web=2 --key k2 --reason r --timeout 3s").exits(20);
    let who = format!("(pid {}, role ben)", holder.id());
    assert!(said(&ran)[0].contains(&who), "{ran:#?}");
    assert!(ran.at("/error/facts/holder").as_str().unwrap().ends_with(&who), "{ran:#?}");
    signal(&holder, Signal::CONT);
    ended(holder, PUT).exits(0);
}

/// What is said of a server that does not answer is not that somebody has it locked.
#[test]
fn a_silent_server_is_not_called_locked() {
    let server = Cluster::start(&[]);
    let mut world = World::on_postgres();
    world.set("SCALECTL_LEDGER", server.address("postgres", "postgres"));
    world.init_fake();
    world.run(SERVICE).exits(0);
    // Whoever ends such a wait is told that.
    kill_process(server.pid(), Signal::STOP).unwrap();
    let child = world.start("status -o json");
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, Signal::INT);
    let ran = ended(child, "status").exits(130);
    kill_process(server.pid(), Signal::CONT).unwrap();
    assert_eq!(ran.at("/error/code"), "interrupted", "{ran:#?}");
    for line in ["status", "intent put web --replicas 2 --key k2 --reason r"] {
        kill_process(server.pid(), Signal::STOP).unwrap();
        let began = Instant::now();
        let child = world.start(&format!("-o json {line}"));
        std::thread::sleep(Duration::from_millis(3200));
        kill_process(server.pid(), Signal::CONT).unwrap();
        let ran = ended(child, line);
        assert!(began.elapsed() < Duration::from_secs(20), "{ran:#?}");
        let told = said(&ran);
        assert_eq!(told.len(), 1, "{ran:#?}");
        assert!(told[0].starts_with("its server does not answer for 2"), "{ran:#?}");
    }
}

/// A COMMIT that a standby keeps waiting is told as that: by whoever commits, and by those behind.
#[test]
fn a_commit_that_waits_for_a_standby_is_told() {
    let server = Cluster::start(&[]);
    let mut world = World::on_postgres();
    world.set("SCALECTL_LEDGER", server.address("postgres", "postgres"));
    world.init_fake();
    world.run(SERVICE).exits(0);
    server.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.psql("postgres", "SELECT pg_reload_conf()");
    let first = world.start(&format!("-o json {PUT}"));
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    world.until("its COMMIT waits", || server.psql("postgres", waiting) != "0");
    let pid = first.id();
    let behind = "intent put web --replicas 2 --key k2 --reason r --lock-timeout 3s";
    let ran = world.json(behind).exits(20);
    let who = format!("(pid {pid}, role postgres, its COMMIT waits for a standby)");
    assert!(said(&ran)[0].contains(&who), "{ran:#?}");
    assert!(ran.at("/error/facts/holder").as_str().unwrap().ends_with(&who), "{ran:#?}");
    server.psql("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
    server.psql("postgres", "SELECT pg_reload_conf()");
    let ran = ended(first, PUT).exits(0);
    let told = said(&ran);
    assert!(
        told[0].starts_with("it is written, and no standby has confirmed that, for 2"),
        "{ran:#?}"
    );
    world.run("verify").exits(0);
}
