//! What is put aside is kept: nothing is written over it, and no log comes beside another database.

use std::path::PathBuf;

use super::backup;
use crate::support::postgres::sqlite_only;
use crate::support::{Ran, World};

const RESTORE: &str = "restore --from b.db --replace --reason lost";

fn files(world: &World) -> Vec<PathBuf> {
    let folder = world.ledger().parent().unwrap().to_owned();
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.retain(|path| path.to_string_lossy().contains(".replaced-"));
    files
}

fn contents(files: &[PathBuf]) -> Vec<(PathBuf, Vec<u8>)> {
    files.iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect()
}

/// A world with a backup, one ledger aside, and a ledger whose log is left alone.
fn world_with_an_orphan() -> (World, String) {
    let world = World::with_fake();
    backup(&world);
    world.run("scale web=2 --reason first --key k1").exits(0);
    let ran = world.json(RESTORE).exits(0);
    let aside = ran.at("/restored/aside").as_str().unwrap().to_owned();
    world.run("scale web=3 --reason second --key k2").exits(0);
    std::fs::remove_file(world.ledger()).unwrap();
    (world, aside)
}

fn executions(ran: &Ran) -> usize {
    usize::try_from(ran.at("/executions").as_u64().unwrap()).unwrap()
}

#[test]
fn an_orphan_never_comes_over_what_is_aside() {
    sqlite_only!("files are put aside");
    let (world, aside) = world_with_an_orphan();
    let before = contents(&files(&world));
    assert!(before.len() >= 2, "a database and its log: {before:?}");
    let ran = world.json(RESTORE).exits(0);
    for (file, content) in before {
        assert_eq!(std::fs::read(&file).unwrap(), content, "{}", file.display());
    }
    assert!(ran.stdout.contains("orphan_put_aside"), "{ran:#?}");
    let kept = world.run_args(&["-o", "json", "--ledger", &aside, "verify"]).exits(0);
    assert_eq!(executions(&kept), 1, "k1 is still there");
    world.run("verify").exits(0);
    world.run("scale web=4 --reason on --key k4").exits(0);
}

/// The log of a lost ledger is not given to a database that was put aside before without one.
#[test]
fn an_orphan_is_never_given_to_another_database() {
    sqlite_only!("files are put aside");
    let (world, aside) = world_with_an_orphan();
    // Its log is folded into it, as a reader of another tool would.
    for side in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{aside}{side}"));
    }
    world.json(RESTORE).exits(0);
    assert!(!PathBuf::from(format!("{aside}-wal")).exists(), "it has no log, and gets none");
}

/// The clock stands still: two restores want the same name.
#[test]
fn two_of_one_instant_have_two_names() {
    sqlite_only!("files are put aside");
    let mut world = World::with_fake();
    backup(&world);
    world.still("2099-01-01T00:00:00Z");
    let mut asides = Vec::new();
    for key in ["k1", "k2", "k3"] {
        world.run(&format!("scale web=2 --reason r --key {key} --supersede")).exits(0);
        let ran = world.json(RESTORE).exits(0);
        asides.push(ran.at("/restored/aside").as_str().unwrap().to_owned());
    }
    for (aside, key) in asides.iter().zip(["k1", "k2", "k3"]) {
        let ran = world.run_args(&["-o", "json", "--ledger", aside, "intent", "show", key]);
        assert_eq!(ran.code, Some(0), "{aside} has {key}: {ran:#?}");
    }
}

#[test]
fn what_is_lost_leads_to_the_line_that_puts_it_back() {
    sqlite_only!("a file is lost");
    let world = World::with_fake();
    backup(&world);
    world.run("scale web=2 --reason first --key k1").exits(0);
    let ran = world.run("restore --from /nosuch.db --reason x").exits(21);
    assert!(ran.stderr.contains("backup_missing"), "{ran:#?}");
    assert!(!ran.stderr.contains("init"), "{ran:#?}");
    let told = "restore --from b.db --reason lost --replace";
    world.run("restore --from b.db --reason lost").exits(10).says(told);
    world.run("backup --to b.db").exits(10).says("backup --to b.db --force");
    std::fs::remove_file(world.ledger()).unwrap();
    world.run("status").exits(21).says("only its log (-wal) is left").says("--replace");
    world.run("restore --from b.db --reason lost").exits(21).says("ledger_side_file").says(told);
    world.run(told).exits(0);
    world.run("verify").exits(0);
}
