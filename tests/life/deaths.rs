//! Deaths at every commit and name of a move, a restore and a backup: of the places of a ledger at
//! most one takes writes, and the same line again comes to the same end.

use crate::support::World;
use crate::support::postgres::sqlite_only;

/// How many of these places take a write now.
fn writable(world: &World, places: &[&str]) -> usize {
    let put = |place: &&&str| {
        let ran = world.run(&format!("--ledger {place} service put web --max 7"));
        ran.code == Some(0)
    };
    places.iter().filter(put).count()
}

/// The first release's tables are brought up, or they are not; the same line goes on.
#[test]
fn a_migration_that_dies_leaves_the_old_or_the_new() {
    let ready = World::with_fake();
    ready.run("scale web=2 --reason first --key k1").exits(0);
    let make = || {
        let mut world = ready.copy();
        world.set("SCALECTL_TEST_SCHEMA", "1");
        world
    };
    let deaths = die_everywhere(&make, "ledger migrate", &|world| {
        world.run("ledger migrate").exits(0);
        world.run("verify").exits(0);
        world.run("scale web=3 --reason on --key k2").exits(0);
    });
    assert!(deaths >= 2, "{deaths}");
}

/// Runs a line so that it dies at the N-th time of each point, for every N that it passes.
pub(crate) fn die_everywhere(
    make: &dyn Fn() -> World,
    line: &str,
    check: &dyn Fn(&World),
) -> usize {
    let mut deaths = 0;
    for point in ["before_commit", "after_commit", "before_name", "after_name"] {
        for nth in 1..20 {
            let mut world = make();
            let mark = world.path("mark");
            world.set("SCALECTL_TEST_CRASH", format!("{point}#{nth}"));
            world.set("SCALECTL_TEST_CRASH_MARK", mark.to_str().expect("UTF-8"));
            let ran = world.run(line);
            world.unset("SCALECTL_TEST_CRASH").unset("SCALECTL_TEST_CRASH_MARK");
            if !mark.exists() {
                ran.exits(0);
                break;
            }
            assert_eq!(ran.code, None, "{point}#{nth}");
            deaths += 1;
            check(&world);
        }
    }
    deaths
}

#[test]
fn a_move_that_dies_leaves_at_most_one_ledger_and_goes_on() {
    let ready = World::with_fake();
    ready.run("scale web=2 --reason first --key k1").exits(0);
    let line = "ledger copy --to moved.db --reason move";
    let deaths = die_everywhere(&|| ready.copy(), line, &|world| {
        // A copy of the world is asked: the question itself writes.
        let asked = world.copy();
        let own = asked
            .ledger_variable()
            .map_or_else(|| asked.ledger().to_str().unwrap().to_owned(), |(_, address)| address);
        let moved = asked.path("moved.db");
        assert!(writable(&asked, &[&own, moved.to_str().unwrap()]) <= 1);
        asked.run("status").exits(0);
        world.run(line).exits(0);
        world.run("verify").exits(0);
        world.run("--ledger moved.db verify").exits(0);
        world.run("scale web=3 --reason no --key k2").exits(21);
        world.run("--ledger moved.db scale web=3 --reason on --key k2").exits(0);
    });
    assert!(deaths >= 8, "{deaths}");
}

/// The databases that were put aside.
fn databases_aside(world: &World) -> Vec<String> {
    let ledger = world.ledger();
    let entries = std::fs::read_dir(ledger.parent().unwrap()).unwrap().flatten();
    let paths = entries.map(|entry| entry.path().display().to_string());
    let is_side = |path: &String| ["-wal", "-shm", "-journal"].iter().any(|e| path.ends_with(e));
    paths.filter(|path| path.contains(".replaced-") && !is_side(path)).collect()
}

#[test]
fn a_restore_that_dies_leaves_the_old_or_the_new() {
    sqlite_only!("a backup is restored to a file");
    let ready = World::with_fake();
    ready.run("backup --to b.db").exits(0);
    ready.run("scale web=2 --reason first --key k1").exits(0);
    let line = "restore --from b.db --replace --reason lost";
    let deaths = die_everywhere(&|| ready.copy(), line, &|world| {
        // The old one, the new one, or none under its name.
        let is_there = world.ledger().exists();
        world.run("verify").exits(if is_there { 0 } else { 21 });
        world.run(line).exits(0);
        world.run("verify").exits(0);
        // What was aside or is now has its log: the key that the backup lacks is in one of them.
        let aside = databases_aside(world);
        assert!(!aside.is_empty(), "something is aside");
        let has_key = |path: &String| {
            let ledger = ["--ledger", path.as_str()];
            world.run_args(&[&ledger[..], &["verify"]].concat()).exits(0);
            world.run_args(&[&ledger[..], &["intent", "show", "k1"]].concat()).code == Some(0)
        };
        assert!(aside.iter().filter(|path| has_key(path)).count() == 1, "{aside:?}");
        let ran = world.json("log --event ledger_restored").exits(0);
        assert!(!ran.at("/events").as_array().unwrap().is_empty());
        world.run("scale web=3 --reason on --key k2").exits(0);
    });
    assert!(deaths >= 5, "{deaths}");
}

#[test]
fn a_backup_that_dies_leaves_none_or_a_whole_one() {
    let ready = World::with_fake();
    let deaths = die_everywhere(&|| ready.copy(), "backup --to b.db", &|world| {
        if world.path("b.db").exists() {
            world.run("--ledger b.db verify").exits(0);
        }
        world.run("backup --to c.db").exits(0);
    });
    assert!(deaths >= 2, "{deaths}");
}
