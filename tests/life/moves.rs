//! A move is made once: whatever becomes of the new place, no second one opens.

use super::backup;
use crate::support::postgres::sqlite_only;
use crate::support::{World, is_stopped, send};

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

/// Starts a line that stops at the N-th time of a point; none where it has ended before.
fn paused(world: &mut World, line: &str, point: &str, nth: u32) -> Option<std::process::Child> {
    world.set("SCALECTL_TEST_STOP", "yes").set("SCALECTL_TEST_CRASH", format!("{point}#{nth}"));
    let mut child = world.start(line);
    world.unset("SCALECTL_TEST_STOP").unset("SCALECTL_TEST_CRASH");
    let mut is_over = false;
    world.until("it has stopped or ended", || {
        is_over = child.try_wait().expect("it is ours").is_some();
        is_over || is_stopped(&child)
    });
    (!is_over).then_some(child)
}

fn goes_on(child: std::process::Child) -> Option<i32> {
    send(&child, rustix::process::Signal::CONT);
    child.wait_with_output().expect("it is ours").status.code()
}

/// Somebody opens the old place again while a copy is under way: of the two at most one is open,
/// wherever the copy was.
#[test]
fn a_source_that_is_opened_again_keeps_its_copy_closed() {
    let ready = World::with_fake();
    ready.run("scale web=2 --reason first --key k1").exits(0);
    let mut seen = 0;
    for point in ["before_commit", "after_commit", "before_name"] {
        for nth in 1..12 {
            let mut world = ready.copy();
            let Some(child) = paused(&mut world, MOVE, point, nth) else { break };
            seen += 1;
            let back = world.run("restore --in-place --unseal --reason back --lock-timeout 300ms");
            let ended = goes_on(child);
            let own = match world.ledger_variable() {
                Some((_, address)) => address,
                None => world.ledger().to_str().expect("UTF-8").to_owned(),
            };
            let open = [takes_writes(&world, &own), takes_writes(&world, "moved.db")];
            let told = format!("{point}#{nth}: back {back:#?}, copy {ended:?}, open {open:?}");
            assert!(open != [true, true], "{told}");
            // Whoever was told that it is open again, or that it has moved, is right.
            assert!(back.code != Some(0) || ended == Some(0) || open[0], "{told}");
            world.run("verify").exits(0);
        }
    }
    assert!(seen >= 6, "{seen}");
}

/// The same line twice at once: one moves it, and both are told that it has moved.
#[test]
fn a_move_that_another_run_has_finished_is_no_damage() {
    let ready = World::with_fake();
    ready.run("scale web=2 --reason first --key k1").exits(0);
    for (point, nth) in [("after_commit", 1), ("after_commit", 2), ("before_name", 1)] {
        let mut world = ready.copy();
        let Some(child) = paused(&mut world, MOVE, point, nth) else { break };
        let second = world.run(&format!("{MOVE} --lock-timeout 300ms")).code;
        let first = goes_on(child);
        assert!(first == Some(0), "{point}#{nth}: {first:?}, {second:?}");
        world.run(MOVE).exits(0);
        world.run("--ledger moved.db verify").exits(0);
    }
}

/// Two of them at once: the second waits for the first, and puts aside what that has made.
#[test]
fn of_two_restores_each_puts_aside_what_it_has_sealed() {
    sqlite_only!("a file is restored");
    let mut world = World::with_fake();
    world.run("scale web=2 --reason first --key k1").exits(0);
    backup(&world);
    let line = "restore --from b.db --replace --reason lost";
    let child = paused(&mut world, line, "before_name", 1).expect("it stops");
    let ran = world.json(&format!("{line} --lock-timeout 300ms")).exits(20);
    assert_eq!(ran.at("/error/code"), "ledger_busy");
    assert_eq!(goes_on(child), Some(0));
    world.run("scale web=9 --reason acked --key acked --timeout 20s").exits(0);
    let all: Vec<_> =
        (0..4).map(|_| world.start(&format!("{line} --lock-timeout 30s -o json"))).collect();
    let mut incarnations = std::collections::BTreeSet::new();
    for child in all {
        let ran = child.wait_with_output().expect("it is ours");
        let told: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("an answer");
        assert_eq!(ran.status.code(), Some(0), "{told:#}");
        assert!(incarnations.insert(told["restored"]["incarnation"].as_u64()), "{told:#}");
    }
    let mut acked = 0;
    for file in std::fs::read_dir(world.ledger().parent().expect("a folder")).expect("ours") {
        let path = file.expect("ours").path();
        let name = path.to_str().expect("UTF-8").to_owned();
        if name.contains(".replaced-") && !name.ends_with("-wal") && !name.ends_with("-shm") {
            world.run(&format!("--ledger {name} verify")).exits(0);
            assert!(!takes_writes(&world, &name), "{name} takes writes");
            acked +=
                u32::from(world.run(&format!("--ledger {name} intent show acked")).code == Some(0));
        }
    }
    assert_eq!(acked, 1, "what was acknowledged is in what was put aside");
    world.run("verify").exits(0);
}
