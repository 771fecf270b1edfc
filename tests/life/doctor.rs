//! The doctor looks at everything that can be looked at.

use crate::support::postgres::sqlite_only;
use crate::support::{Ran, World};
use std::os::unix::fs::PermissionsExt as _;

pub(crate) fn state(ran: &Ran, check: &str) -> String {
    let checks = ran.at("/checks");
    let mut found = checks.as_array().expect("a list").iter().filter(|row| row["check"] == check);
    found.next().map_or_else(
        || "not looked at".to_owned(),
        |row| row["state"].as_str().expect("a word").to_owned(),
    )
}

#[test]
fn a_sound_ledger_is_well() {
    sqlite_only!("its file is looked at; a server is in tests/postgres/life.rs");
    let world = World::with_fake();
    let ran = world.json("doctor").exits(0);
    for check in [
        "chosen",
        "config",
        "actuators",
        "sqlite",
        "file_system",
        "disk",
        "file_mode",
        "open",
        "schema",
        "standing",
        "storage",
        "clock",
        "unfinished",
        "bindings",
        "calls",
    ] {
        assert_eq!(state(&ran, check), "ok", "{check}: {ran:#?}");
    }
}

#[test]
fn the_files_that_are_in_use_are_named() {
    sqlite_only!("its file is named");
    let world = World::with_fake();
    let found = |ran: &Ran, name: &str| {
        let checks = ran.at("/checks");
        let row = checks.as_array().unwrap().iter().find(|row| row["check"] == name).cloned();
        row.unwrap()["found"].as_str().unwrap().to_owned()
    };
    let ran = world.json("doctor").exits(0);
    assert!(found(&ran, "chosen").ends_with("(no --ledger, no SCALECTL_LEDGER)"), "{ran:#?}");
    assert!(found(&ran, "config").ends_with("/scalectl/config.toml: not there"), "{ran:#?}");
    assert!(found(&ran, "actuators").ends_with("/scalectl/actuators.toml"), "{ran:#?}");
    let file = world.path(".config/scalectl/config.toml");
    std::fs::write(&file, format!("[ledgers]\nprod = {:?}\n", world.ledger())).unwrap();
    let ran = world.json("--ledger prod doctor").exits(0);
    assert!(found(&ran, "config").ends_with("/config.toml: 1 name"), "{ran:#?}");
    assert_eq!(found(&ran, "chosen"), "prod, chosen by --ledger");
    std::fs::write(&file, "[ledger]\n").unwrap();
    let ran = world.json("doctor").exits(26);
    assert_eq!(state(&ran, "config"), "warn");
}

#[test]
fn what_other_commands_refuse_is_looked_at() {
    sqlite_only!("its file is looked at; a server is in tests/postgres/life.rs");
    let world = World::new();
    let ran = world.json("doctor").exits(21);
    assert_eq!((state(&ran, "file"), state(&ran, "sqlite")), ("fail".into(), "ok".into()));
    let world = World::with_fake();
    std::fs::write(world.ledger(), b"nonsense").unwrap();
    let ran = world.json("doctor").exits(21);
    assert_eq!((state(&ran, "open"), state(&ran, "disk")), ("fail".into(), "ok".into()));
    let world = World::with_fake();
    world.run("backup --to b.db").exits(0);
    let ran = world.json("--ledger b.db doctor").exits(21);
    assert_eq!((state(&ran, "standing"), state(&ran, "storage")), ("fail".into(), "ok".into()));
}

#[test]
fn what_a_person_should_look_at_is_26() {
    sqlite_only!("its file is looked at; a server is in tests/postgres/life.rs");
    let world = World::with_fake();
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(world.ledger(), open).unwrap();
    assert_eq!(state(&world.json("doctor").exits(26), "file_mode"), "warn");
    let mut world = World::with_fake();
    world.set("SCALECTL_TEST_NOW", "2097-01-01T00:00:00Z");
    world.run("service put web --max 9").exits(0);
    world.unset("SCALECTL_TEST_NOW");
    assert_eq!(state(&world.json("doctor").exits(26), "clock"), "warn");
    let mut world = World::with_fake();
    world.run("intent put web --replicas 3 --key k1 --reason x --expect-revision 0").exits(0);
    world.set("SCALECTL_TEST_CRASH", "after_answer#1");
    world.run("actuate k1");
    world.unset("SCALECTL_TEST_CRASH");
    world.await_no_children();
    assert_eq!(state(&world.json("doctor").exits(26), "unfinished"), "warn");
    std::fs::remove_file(world.path(".config/scalectl/actuators.toml")).unwrap();
    assert_eq!(state(&world.json("doctor").exits(26), "bindings"), "warn");
}

/// A host may have many ledgers: a call of another one needs nobody here.
#[test]
fn the_call_files_of_another_ledger_are_not_a_matter_of_this_one() {
    let world = World::with_fake();
    let calls = world.path(".local/state/scalectl/calls");
    std::fs::create_dir_all(&calls).unwrap();
    let ended = "session 4711 88123\ngroup 4712 88124\nended exit 0 boot:86400123\n";
    std::fs::write(calls.join("call-of-another"), ended).unwrap();
    std::fs::write(calls.join("call-unproved"), "session 4711 88123\n").unwrap();
    let ran = world.json("doctor");
    assert_eq!(state(&ran, "calls"), "ok", "{ran:#?}");
    assert!(ran.stdout.contains("2 others: another ledger's"), "{ran:#?}");
    std::fs::write(calls.join("call-nonsense"), "no call wrote this\n").unwrap();
    let ran = world.json("doctor").exits(26);
    assert_eq!(state(&ran, "calls"), "warn", "{ran:#?}");
    assert!(ran.stdout.contains("without sense: call-nonsense"), "{ran:#?}");
}
