//! Faults under what copies, moves and puts back a whole ledger: a copy is there whole or not at
//! all, at most one place takes writes, and the same line goes on.

use std::collections::BTreeSet;

use super::shim::{Op, Shim};
use super::sweep::kinds;
use crate::crash::{in_parallel, told};
use crate::support::World;
use crate::support::postgres::sqlite_only;

/// Every so many faults are tried, beside the first of each kind at each file.
const STRIDE: usize = 211;

/// Runs a line on copies of a world, each time with another fault, and checks what it has left.
/// Answers how many faults were met.
fn sweep(shim: &Shim, ready: &World, line: &str, check: &(dyn Fn(&World) + Sync)) -> usize {
    let words: Vec<&str> = ["-o", "json"].into_iter().chain(line.split_whitespace()).collect();
    let sound = shim.run(&ready.copy(), &words, "count", 0);
    sound.ran.exits(0);
    let of = |op: &Op| kinds(op.class).iter().map(|kind| (*kind, op.clone())).collect::<Vec<_>>();
    let mut met = BTreeSet::new();
    let is_sampled = |(number, (kind, op)): &(usize, (&'static str, Op))| {
        let file = op.file().replace(|c: char| c.is_ascii_hexdigit(), "");
        met.insert((op.class, *kind, file)) || super::is_full() || number % STRIDE == 0
    };
    let faults: Vec<(usize, (&'static str, Op))> =
        sound.ops.iter().flat_map(of).enumerate().filter(is_sampled).collect();
    let count = faults.len();
    let failed: Vec<String> = in_parallel(faults, |(_, (kind, op))| {
        told(&format!("{line}: {kind} at {} {} {}", op.number, op.class, op.file()), || {
            let world = ready.copy();
            let on = shim.run(&world, &words, kind, op.number);
            let is_reached = on.ops.len() >= op.number;
            assert_eq!(is_reached, !on.marks.is_empty(), "it was not hit: {on:#?}");
            let code = on.ran.code.unwrap_or_else(|| panic!("it died: {on:#?}"));
            assert!(matches!(code, 0 | 10..=26), "no exit of a disk: {:#?}", on.ran);
            assert!(!on.ran.stderr.contains("panicked"), "{:#?}", on.ran);
            assert!(kind != "short" || code == 0, "a short write is no error: {:#?}", on.ran);
            check(&world);
        })
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(failed.is_empty(), "{} of {count} failed:\n{}", failed.len(), failed.join("\n"));
    count
}

/// Whether some database of the world still has a wish, under its name or put aside.
fn is_kept(world: &World, key: &str) -> bool {
    let own = world.ledger();
    let name = own.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let is_database = |file: &String| {
        file.starts_with(name) && ["-wal", "-shm"].iter().all(|side| !file.ends_with(side))
    };
    let folder = own.parent().expect("a folder");
    let files = std::fs::read_dir(folder).expect("it is there").flatten();
    let mut files = files.filter_map(|file| file.file_name().into_string().ok());
    files.any(|file| {
        // Looking takes it out of its place: a log without its database is for SQLite to find.
        let looked = world.copy();
        let place = looked.ledger().with_file_name(&file);
        let place = place.to_str().expect("UTF-8");
        is_database(&file)
            && looked.run_args(&["--ledger", place, "intent", "show", key]).code == Some(0)
    })
}

fn ready() -> World {
    let world = World::with_fake();
    world.run("scale web=2 --reason first --key k1").exits(0);
    world
}

#[test]
fn a_backup_on_a_bad_disk_is_whole_or_not_there() {
    sqlite_only!("it is about the file of the ledger");
    let shim = Shim::build();
    let faults = sweep(&shim, &ready(), "backup --to .local/b.db", &|world| {
        if world.path(".local/b.db").exists() {
            world.run("--ledger .local/b.db verify").exits(0);
        }
        world.run("verify").exits(0);
        world.run("backup --force --to .local/b.db").exits(0);
        world.run("--ledger .local/b.db verify").exits(0);
    });
    assert!(faults > 20, "{faults}");
}

#[test]
fn a_move_on_a_bad_disk_leaves_at_most_one_ledger_and_goes_on() {
    sqlite_only!("it is about the file of the ledger");
    let shim = Shim::build();
    let line = "ledger copy --to .local/moved.db --reason move";
    let faults = sweep(&shim, &ready(), line, &|world| {
        let asked = world.copy();
        let own = asked.ledger();
        let places = [own.to_str().expect("UTF-8"), ".local/moved.db"];
        let takes_writes = |place: &&&str| {
            asked.run(&format!("--ledger {place} service put web --max 7")).code == Some(0)
        };
        assert!(places.iter().filter(takes_writes).count() <= 1, "two ledgers");
        world.run(line).exits(0);
        world.run("verify").exits(0);
        world.run("--ledger .local/moved.db verify").exits(0);
        world.run("scale web=3 --reason no --key k2").exits(21);
        world.run("--ledger .local/moved.db scale web=3 --reason on --key k2").exits(0);
    });
    assert!(faults > 20, "{faults}");
}

#[test]
fn a_restore_on_a_bad_disk_leaves_the_old_or_the_new() {
    sqlite_only!("it is about the file of the ledger");
    let shim = Shim::build();
    let world = ready();
    world.run("backup --to .local/b.db").exits(0);
    world.run("scale web=4 --reason lost --key k2").exits(0);
    let line = "restore --from .local/b.db --replace --reason lost";
    let faults = sweep(&shim, &world, line, &|world| {
        assert!(is_kept(world, "k2"), "what is to be replaced is gone");
        world.run(line).exits(0);
        assert!(is_kept(world, "k2"), "what was replaced is gone");
        world.run("verify").exits(0);
        let ran = world.json("log --event ledger_restored").exits(0);
        assert!(!ran.at("/events").as_array().expect("a list").is_empty());
        world.run("scale web=3 --reason on --key k3").exits(0);
    });
    assert!(faults > 20, "{faults}");
}
