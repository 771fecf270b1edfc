//! A move is made once: whatever becomes of the new place, no second one opens.

use super::backup;
use crate::support::World;

const MOVE: &str = "ledger copy --to moved.db --reason move";

fn takes_writes(world: &World, place: &str) -> bool {
    world.run(&format!("--ledger {place} service put web --max 7")).code == Some(0)
}

#[test]
fn a_moved_ledger_that_was_renamed_is_not_made_again() {
    let world = World::with_fake();
    world.run(MOVE).exits(0);
    std::fs::rename(world.path("moved.db"), world.path("x.db")).unwrap();
    let wal = world.path("moved.db-wal");
    if wal.exists() {
        std::fs::rename(wal, world.path("x.db-wal")).unwrap();
    }
    world.run(MOVE).exits(21).says("ledger_gone").says("--in-place --unseal");
    assert!(!world.path("moved.db").exists());
    assert!(takes_writes(&world, "x.db"));
    std::fs::rename(world.path("x.db"), world.path("moved.db")).unwrap();
    std::fs::rename(world.path("x.db-wal"), world.path("moved.db-wal")).unwrap();
    assert_eq!(world.json(MOVE).exits(0).at("/replayed"), true);
}

#[test]
fn a_place_is_the_same_by_whatever_way_it_is_named() {
    let world = World::with_fake();
    std::fs::create_dir(world.path("real")).unwrap();
    std::os::unix::fs::symlink(world.path("real"), world.path("link")).unwrap();
    world.run("ledger copy --to link/moved.db --reason move").exits(0);
    for place in ["real/moved.db", "./real/../real/moved.db", "link/moved.db"] {
        let ran = world.json(&format!("ledger copy --to {place} --reason move")).exits(0);
        assert_eq!(ran.at("/replayed"), true, "{place}");
    }
}

#[test]
fn a_repeated_move_tells_of_the_ledger_where_it_is_now() {
    let world = World::with_fake();
    let first = world.json(MOVE).exits(0);
    let again = world.json(MOVE).exits(0);
    assert_eq!(again.at("/heads"), first.at("/heads"));
    assert_eq!(again.at("/copied/incarnation"), 2);
    world.run("--ledger moved.db restore --in-place --reason x").exits(0);
    let there = world.json("--ledger moved.db verify").exits(0);
    let again = world.json(MOVE).exits(0);
    assert_eq!(again.at("/copied/incarnation"), 3, "{again:#?}");
    assert_eq!(again.at("/heads"), there.at("/heads"));
}

/// Once the old place is opened again, it may move anew.
#[test]
fn what_was_opened_again_may_move_again() {
    let world = World::with_fake();
    world.run(MOVE).exits(0);
    for file in ["moved.db", "moved.db-wal", "moved.db-shm"] {
        let _ = std::fs::remove_file(world.path(file));
    }
    world.run(MOVE).exits(21).says("ledger_gone");
    world.run("restore --in-place --unseal --reason lost").exits(0);
    world.run(MOVE).exits(0);
    assert!(takes_writes(&world, "moved.db"));
    world.run("verify").exits(0);
    world.run("--ledger moved.db verify").exits(0);
}

#[test]
fn a_backup_stays_what_it_is() {
    let world = World::with_fake();
    backup(&world);
    let before = std::fs::read(world.path("b.db")).unwrap();
    for line in [
        "--ledger b.db restore --in-place --reason x",
        "--ledger b.db restore --in-place --unseal --reason x",
        "--ledger b.db ledger copy --to m.db --reason x",
        "--ledger b.db service put web --max 7",
    ] {
        let ran = world.json(line).exits(21);
        assert_eq!(ran.at("/error/code"), "ledger_is_backup", "{line}");
    }
    assert_eq!(std::fs::read(world.path("b.db")).unwrap(), before);
    world.run("--ledger b.db verify").exits(0);
}
