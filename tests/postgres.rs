//! PostgreSQL: what only a ledger on a server can meet. These tests make their own servers and
//! need no other engine; `docs/testing.md` says how the rest of the suite runs on this one.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod clocks;
mod cut_life;
mod cuts;
mod decided;
mod holders;
mod hosts;
mod life;
mod lost;
mod moves;
mod pooler;
mod proxy;
mod refused;
mod replication;
mod roles;
mod secrets;
mod seen;
mod statements;
mod tls;
mod waits;

pub(crate) use roles::recipe as roles_of_the_recipe;
pub(crate) use tls::certificates;

use std::process::Child;

use crate::support::{Ran, SERVICE, World, fake_actuator};

/// A world on the shared server, with the fake actuator and `web`.
fn with_fake() -> World {
    let world = World::on_postgres();
    world.init_fake();
    world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
    world
}

/// The line that binds the fake actuator on a host.
fn bind_fake(world: &World) -> Ran {
    let fake = fake_actuator();
    let fake = fake.to_str().expect("UTF-8");
    world.run_args(&["actuator", "put", "fake", "--timeout", "5s", "--", "/bin/sh", fake])
}

/// What a child came to.
fn ended(child: Child, line: &str) -> Ran {
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        line: line.to_owned(),
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// An identity may be used up by what was rolled back: that is no damage.
#[test]
fn a_position_that_was_never_committed_is_no_damage() {
    let mut world = with_fake();
    world.set("SCALECTL_TEST_COMMIT_ERROR", "lost#1");
    world.run("intent put web --replicas 3 --key k1 --reason r").exits(16);
    world.unset("SCALECTL_TEST_COMMIT_ERROR");
    world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
    let gap = world.sql("SELECT max(position) > count(*) FROM event");
    assert_eq!(gap, "t", "there is a gap");
    world.run("verify").exits(0);
}

#[test]
fn what_was_changed_behind_the_ledger_is_found() {
    let off = "ALTER TABLE event DISABLE TRIGGER event_is_never_changed;";
    let on = "ALTER TABLE event ENABLE ALWAYS TRIGGER event_is_never_changed;";
    // An identity cannot be updated: the row is made anew at the end.
    let moved = "CREATE TEMP TABLE moved AS SELECT * FROM event WHERE stream = 'service:web'
                 AND sequence = 1; DELETE FROM event WHERE stream = 'service:web' AND sequence = 1;
                 UPDATE moved SET position = 1000000;
                 INSERT INTO event OVERRIDING SYSTEM VALUE SELECT * FROM moved";
    for (sql, code) in [
        ("UPDATE event SET body = replace(body, '\"r\"', '\"s\"')", "hash_mismatch"),
        ("DELETE FROM event WHERE sequence = 1 AND stream = 'service:web'", "sequence_gap"),
        (moved, "out_of_order"),
        ("UPDATE service SET version = version + 1", "projection_differs"),
        ("DELETE FROM execution", "projection_missing"),
    ] {
        let world = with_fake();
        world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
        world.run("verify").exits(0);
        world.sql(&format!("{off} {sql}; {on}"));
        let ran = world.json("verify").exits(21);
        let found = ran.stdout.contains(&format!("\"{code}\""));
        assert!(found, "{code}: {ran:#?}");
    }
    let world = with_fake();
    world.sql(off);
    world.run("verify").exits(21).says("is missing or switched off");
}
