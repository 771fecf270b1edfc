//! Clocks that differ: the server's from that of its hosts, and those of the hosts. What is run
//! with a wrong clock has it whole: the command, the guard and the actuator.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::bind_fake;
use crate::support::postgres::Cluster;
use crate::support::{SERVICE, World, fake_actuator};

/// Builds a library with a wall clock that is ahead by so many seconds.
pub(super) fn wrong_clock(library: &Path, ahead_s: i64) {
    let built = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .arg(library)
        .arg(format!("-DSHIFT_S=({ahead_s})"))
        .arg(format!("{}/tests/postgres/clock.c", env!("CARGO_MANIFEST_DIR")))
        .output();
    match built {
        Ok(built) => assert!(built.status.success(), "the clock is not built: {built:?}"),
        Err(error) => panic!("cc is needed here (apt-get install gcc libc6-dev): {error}"),
    }
}

/// Gives a host such a clock, and the fake that it runs.
pub(super) fn give_wrong_clock(host: &mut World, ahead_s: i64) {
    let library = host.path("clock.so");
    wrong_clock(&library, ahead_s);
    let preload = format!("LD_PRELOAD={}", library.display());
    host.set("LD_PRELOAD", library.to_str().unwrap());
    let fake = fake_actuator();
    let words = ["actuator", "put", "fake", "--timeout", "5s", "--", "/usr/bin/env", &preload];
    host.run_args(&[&words[..], &["/bin/sh", fake.to_str().unwrap()]].concat()).exits(0);
}

/// A server whose clock is ahead by so much, and a host of it with `web`, which cools for `quiet`.
fn on_server(ahead_s: i64, quiet: &str) -> (Cluster, World) {
    let server = Cluster::start_with(&[], |library| wrong_clock(library, ahead_s));
    let seconds = "SELECT CAST(extract(epoch FROM clock_timestamp()) AS BIGINT)";
    let theirs: i64 = server.psql("postgres", seconds).parse().unwrap();
    let ours = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
    assert!((theirs - ours - ahead_s).abs() < 60, "the server has another clock: {theirs} {ours}");
    let mut world = World::on_postgres();
    world.set("SCALECTL_LEDGER", server.address("postgres", "postgres"));
    world.init_fake_that(&["inspect"]);
    let service = SERVICE.replace("--quiet 0s", &format!("--quiet {quiet}"));
    world.run(&format!("{service} --backoff 0s")).exits(0);
    (server, world)
}

fn micros(instant: &Value) -> i64 {
    let instant = instant.as_str().expect("an instant");
    instant.parse::<scalectl::domain::time::Timestamp>().expect("an instant").as_micros()
}

/// For how long the call of `k1` ran, by the ledger.
fn ran_for_ms(world: &World) -> i64 {
    let shown = world.json("intent show k1").exits(0);
    let started = world.json("log --limit 1000").exits(0);
    let events = started.at("/events");
    let is_start = |event: &&Value| event.to_string().contains("attempt_started");
    let start = events.as_array().unwrap().iter().find(is_start).expect("it was started");
    (micros(&shown.at("/execution/unknown/ended_at")) - micros(&start["at"])) / 1000
}

#[test]
fn the_quiet_runs_from_the_end_of_a_call_whatever_the_clocks_say() {
    // Nearly all of it is waiting, so the hosts wait at the same time.
    std::thread::scope(|hosts| {
        for ahead_s in [240, -240, 7200] {
            hosts.spawn(move || quiet_from_the_end(ahead_s));
        }
    });
}

fn quiet_from_the_end(ahead_s: i64) {
    let (_server, world) = on_server(ahead_s, "5s");
    world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
    world.script(&["hang"]);
    // Killed at its deadline: from the start of the call, the quiet would be over by then.
    world.run("actuate k1").exits(16);
    let ran_ms = ran_for_ms(&world);
    assert!((4500..9000).contains(&ran_ms), "{ahead_s}: it ran for {ran_ms} ms");
    let early = world.json("replay k1").exits(16);
    assert!(early.stdout.contains("quiet"), "{ahead_s}: {early:#?}");
    std::thread::sleep(std::time::Duration::from_secs(6));
    world.run("replay k1").exits(0);
    assert_eq!(world.fake_log("effects").len(), 1, "{ahead_s}: no second call");
    world.run("verify").exits(0);
}

/// Whoever proves the end of a call whose guard is dead notes it, and tells it by the ledger's
/// time.
#[test]
fn an_end_that_was_proved_later_is_told_by_the_ledgers_time() {
    let (_server, world) = on_server(240, "60s");
    world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
    world.script(&["hang"]);
    let mut call = world.start("actuate k1");
    world.until("the effect is there", || !world.fake_log("effects").is_empty());
    let processes = world.call_file();
    std::thread::sleep(std::time::Duration::from_secs(2));
    for pid in [i32::try_from(call.id()).unwrap(), processes.guard] {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    call.wait().expect("ours");
    world.run("replay k1").exits(16);
    let ran_ms = ran_for_ms(&world);
    assert!((2000..60_000).contains(&ran_ms), "it ran for {ran_ms} ms");
}

#[test]
fn a_host_whose_clock_is_hours_off_can_read_its_targets() {
    let (server, world) = on_server(7200, "0s");
    let ran = world.json("scale web=3 --reason r").exits(0);
    assert!(ran.stdout.contains("host_clock_skew"), "{ran:#?}");
    let apart = server.psql(
        "postgres",
        "SELECT max(abs(extract(epoch FROM clock_timestamp()) -
                extract(epoch FROM CAST(substring(body FROM '\"read_at\":\"([^\"]+)')
                                        AS timestamptz)))) < 60 FROM scalectl.event WHERE body LIKE '%\"read_at\":%'",
    );
    assert_eq!(apart, "t", "a reading is by the host's clock");
    // What was read an hour before is none, by the clock of who has read it.
    let an_hour_ago = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec - 3600;
    let at = scalectl::domain::time::Timestamp::from_micros(an_hour_ago * 1_000_000).unwrap();
    std::fs::write(world.fake_dir().join("now"), format!("{at}\n")).unwrap();
    world.run("service bind web").exits(20).says("was asked at");
    // As is what the ledger's clock would take for now.
    let at = scalectl::domain::time::Timestamp::from_micros((an_hour_ago + 3 * 3600) * 1_000_000);
    std::fs::write(world.fake_dir().join("now"), format!("{}\n", at.unwrap())).unwrap();
    world.run("service bind web").exits(20);
    std::fs::remove_file(world.fake_dir().join("now")).unwrap();
    bind_fake(&world).exits(0);
    world.run("service bind web").exits(0);
}
