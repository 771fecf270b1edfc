//! Servers and schemas that are no place for a ledger.

use super::with_fake;
use crate::support::World;
use crate::support::postgres::Cluster;

fn at(address: String) -> World {
    let mut world = World::on_postgres();
    world.set("SCALECTL_LEDGER", address);
    world
}

#[track_caller]
fn refused(world: &World, line: &str, exit: i32, code: &str, text: &str) {
    let ran = world.json(line).exits(exit);
    assert_eq!(ran.at("/error/code"), code, "{ran:#?}");
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("no".into(), "no".into()));
    assert!(ran.stderr.contains(text), "{text:?}: {ran:#?}");
}

#[test]
fn a_server_that_can_lose_what_it_acknowledged_is_refused() {
    for setting in ["fsync", "full_page_writes"] {
        let line = format!("{setting} = off");
        let server = Cluster::start(&[&line]);
        let world = at(server.address("postgres", "postgres"));
        refused(&world, "init", 21, "ledger_unsafe", "is off");
        server.psql("postgres", &format!("ALTER SYSTEM SET {setting} = on"));
        server.psql("postgres", "SELECT pg_reload_conf()");
        world.until("the server has read it", || {
            server.psql("postgres", &format!("SHOW {setting}")) == "on"
        });
        world.run("init").exits(0);
        server.psql("postgres", &format!("ALTER SYSTEM SET {setting} = off"));
        server.psql("postgres", "SELECT pg_reload_conf()");
        world.until("the server has read it", || {
            server.psql("postgres", &format!("SHOW {setting}")) == "off"
        });
        refused(&world, "status", 21, "ledger_unsafe", "is off");
    }
}

#[test]
fn a_database_that_cannot_hold_every_text_is_refused() {
    let server = Cluster::shared();
    server
        .psql("postgres", "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    let world = at(server.address("postgres", "latin"));
    refused(&world, "init", 21, "ledger_unsafe", "LATIN1");
    let missing = at(server.address("postgres", "nowhere"));
    refused(&missing, "status", 21, "ledger_missing", "no such database");
}

#[test]
fn a_schema_of_somebody_else_or_of_a_newer_program_is_refused_and_stays() {
    let server = Cluster::shared();
    server.psql(
        "suite",
        "CREATE SCHEMA foreign_one; CREATE TABLE foreign_one.ledger (a int);
         GRANT ALL ON SCHEMA foreign_one TO scalectl;",
    );
    let world = at(format!("{}?schema=foreign_one", server.address("scalectl", "suite")));
    refused(&world, "init", 21, "ledger_foreign", "somebody else");
    refused(&world, "status", 21, "ledger_foreign", "somebody else");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'foreign_one'";
    assert_eq!(server.psql("suite", tables), "1");

    let world = with_fake();
    world.sql("UPDATE ledger_schema SET version = 99");
    for line in ["status", "verify", "intent put web --replicas 3 --reason r"] {
        refused(&world, line, 21, "ledger_newer", "has schema 99");
    }
    world.sql("UPDATE ledger_schema SET version = 0");
    refused(&world, "status", 21, "ledger_older", "has schema 0");
    // Somebody else's tables beside ours are no matter; a ledger that is there is not made again.
    let world = with_fake();
    refused(&world, "init", 10, "ledger_exists", "already there");
}

#[test]
fn a_table_that_is_gone_is_a_word_and_no_panic() {
    let world = with_fake();
    world.sql("DROP TABLE execution");
    let ran = world.json("status").exits(21);
    assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
    let ran = world.json("intent put web --replicas 3 --reason r").exits(21);
    assert_eq!(ran.at("/recorded"), "no");
}
