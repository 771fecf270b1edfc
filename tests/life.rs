//! A ledger's life: backup, restore, a move to another place, newer tables, the doctor, and a
//! clock that was wrong.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod aside;
mod clock;
pub(crate) mod deaths;
pub(crate) mod doctor;
mod moves;
mod since;

use crate::support::World;
use crate::support::postgres::sqlite_only;

/// A world with one key done and one under a call that has died without an answer.
fn world_with_open_call() -> World {
    let world = World::with_fake();
    world.run("scale web=2 --reason first --key k1").exits(0);
    world.run("intent put web --replicas 3 --key k2 --reason second --expect-revision 1").exits(0);
    world
}

fn backup(world: &World) -> serde_json::Value {
    let ran = world.json("backup --to b.db").exits(0);
    ran.at("/heads")
}

#[test]
fn a_backup_is_whole_private_and_takes_no_writes() {
    use std::os::unix::fs::PermissionsExt as _;

    let world = World::with_fake();
    world.run("scale web=2 --reason first --key k1").exits(0);
    let heads = backup(&world);
    let file = world.path("b.db");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let ran = world.json("--ledger b.db verify").exits(0);
    assert_eq!(ran.at("/heads"), heads, "the heads are those of the copy");
    for line in [
        "--ledger b.db scale web=3 --reason no --key k2",
        "--ledger b.db replay k1",
        "--ledger b.db service put web --max 9",
    ] {
        // A key whose call has ended is answered, and nothing is written for it.
        let expected = if line.contains("replay") { 0 } else { 21 };
        world.run(line).exits(expected);
    }
    assert_eq!(world.json("--ledger b.db verify").at("/heads"), heads, "and stays so");
    let kept = world.write("heads.json", serde_json::to_string(&heads).unwrap());
    world.run("scale web=3 --reason more --key k2").exits(0);
    world.run_args(&["verify", "--since", kept.to_str().unwrap()]).exits(0);
    let names: Vec<String> = std::fs::read_dir(world.path(""))
        .unwrap()
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("b.db"))
        .collect();
    assert_eq!(names, ["b.db"], "no draft and no side file");
}

#[test]
fn a_backup_replaces_only_a_backup_of_its_own_ledger() {
    let world = World::with_fake();
    backup(&world);
    let ran = world.run("backup --to b.db").exits(10).says("ledger_exists");
    assert!(ran.stderr.contains("of the same ledger:\n"), "one colon: {ran:#?}");
    world.run("backup --to b.db --force").exits(0);
    world.run("--ledger own.db init").exits(0);
    world.run("backup --force --to own.db").exits(10);
    world.write("notes.txt", "mine");
    world.run("backup --force --to notes.txt").exits(10);
    assert_eq!(std::fs::read(world.path("notes.txt")).unwrap(), b"mine");
    let other = World::with_fake();
    backup(&other);
    std::fs::copy(other.path("b.db"), world.path("o.db")).unwrap();
    world.run("backup --force --to o.db").exits(10).says("another ledger");
    world.run("verify").exits(0);
}

/// A disk that is not mounted is missed, and not made up.
#[test]
fn a_backup_makes_no_folder() {
    let world = World::with_fake();
    for flag in ["", " --force"] {
        let ran = world.json(&format!("backup --to not/mounted/b.db{flag}")).exits(2);
        assert_eq!(ran.at("/error/code"), "no_folder", "{ran:#?}");
        assert!(!world.path("not").exists());
    }
    std::fs::create_dir(world.path("folder")).unwrap();
    world.run("backup --to folder/b.db").exits(0);
}

#[test]
fn a_backup_under_writers_is_one_instant() {
    let world = World::with_fake();
    let writers: Vec<_> = (0..3)
        .map(|n| world.start(&format!("service put s{n} --actuator fake --writer ops --max 9")))
        .collect();
    for n in 0..3 {
        world.run(&format!("backup --to b{n}.db")).exits(0);
        world.run(&format!("--ledger b{n}.db verify")).exits(0);
    }
    for mut writer in writers {
        writer.wait().unwrap();
    }
}

#[test]
fn a_restored_ledger_is_above_all_that_was_lost() {
    sqlite_only!("a backup is restored to a file");
    let world = world_with_open_call();
    backup(&world);
    let before = world.json("--ledger b.db log --limit 1000").exits(0);
    // The lost history: more wishes under the old fences.
    let line = "intent put web --replicas 5 --key lost --reason x --expect-revision 2 --supersede";
    world.run(line).exits(0);
    world.run("restore --from b.db --reason lost").exits(10).says("ledger_exists");
    let ran = world.json("restore --from b.db --replace --reason lost").exits(0);
    assert_eq!(ran.at("/restored/incarnation"), 2);
    let aside = ran.at("/restored/aside").as_str().unwrap().to_owned();
    world.run("verify").exits(0);
    let after = world.json("log --limit 1000").exits(0);
    let count = |ran: &crate::support::Ran| ran.at("/events").as_array().unwrap().len();
    assert_eq!(count(&after), count(&before) + 2, "restored, and one service");
    // What was accepted under the old fence is not started any more.
    world.run("actuate k2").exits(11).says("fence_lost");
    world.run("scale web=4 --reason on --key k3 --supersede").exits(0);
    let ran = world.json("log web --event intent_accepted --limit 1").exits(0);
    let fence = ran.at("/events/0/body/acceptance/fence");
    assert!(fence["lease_epoch"].as_u64() > Some(1_000_000), "above the old epoch: {fence}");
    // Whoever still uses the old one writes nothing more.
    world
        .run_args(&["--ledger", &aside, "scale", "web=1", "--reason", "no"])
        .exits(21)
        .says("ledger_sealed");
    world.run_args(&["--ledger", &aside, "verify"]).exits(0);
}

#[test]
fn a_call_that_the_backup_shows_under_way_is_unknown_after_the_restore() {
    sqlite_only!("a backup is restored to a file");
    let mut world = world_with_open_call();
    world.set("SCALECTL_TEST_CRASH", "after_answer#1");
    world.run("actuate k2");
    world.unset("SCALECTL_TEST_CRASH");
    world.await_no_children();
    assert_eq!(world.json("intent show k2").at("/execution/state"), "started");
    backup(&world);
    let ran = world.json("restore --from b.db --replace --reason lost").exits(0);
    assert_eq!(ran.at("/restored/unknown/0"), "k2");
    assert_eq!(world.json("intent show k2").at("/execution/state"), "recovery_pending");
    world.run("replay k2").exits(0);
    world.run("verify").exits(0);
    assert_eq!(world.fake_log("effects").len(), 2, "one of k1, one of k2");
}

#[test]
fn a_damaged_backup_is_refused_whole() {
    sqlite_only!("a backup is restored to a file");
    let world = World::with_fake();
    world.run("scale web=2 --reason first --key k1").exits(0);
    backup(&world);
    let sound = std::fs::read(world.path("b.db")).unwrap();
    let before = std::fs::read(world.ledger()).unwrap();
    let at = |needle: &[u8]| sound.windows(needle.len()).position(|w| w == needle).unwrap();
    let body = at(b"\"reason\":\"first\"") + 10;
    for (what, damage) in [("cut", None), ("a changed event", Some(body)), ("its header", Some(0))]
    {
        let mut bytes = sound.clone();
        match damage {
            None => bytes.truncate(sound.len() / 2),
            Some(at) => bytes[at] ^= 1,
        }
        world.write("bad.db", bytes);
        let ran = world.run("restore --from bad.db --replace --reason x");
        assert_eq!(ran.code, Some(21), "{what}: {ran:#?}");
        let told = if what == "a changed event" { "ledger_unsound" } else { "ledger_" };
        let ran = ran.says(told);
        assert!(!ran.stderr.contains("ledger_missing"), "{what}: {ran:#?}");
        let ran = world.run("--ledger new.db restore --from bad.db --reason x");
        assert_eq!(ran.code, Some(21), "{what}: {ran:#?}");
        assert!(!world.path("new.db").exists(), "{what}");
    }
    assert_eq!(std::fs::read(world.ledger()).unwrap(), before);
    world.run("scale web=3 --reason on --key k2").exits(0);
}

#[test]
fn a_backup_of_another_ledger_replaces_nothing() {
    sqlite_only!("a backup is restored to a file");
    let (world, other) = (World::with_fake(), World::with_fake());
    backup(&other);
    std::fs::copy(other.path("b.db"), world.path("o.db")).unwrap();
    world.run("restore --from o.db --replace --reason x").exits(10).says("ledger_other");
    world.run("service show web").exits(0);
}

#[test]
fn a_moved_ledger_is_sealed_where_it_was() {
    let world = world_with_open_call();
    let heads = world.json("verify").at("/heads");
    let events = heads.as_array().unwrap().len();
    let ran = world.json("ledger copy --to moved.db --reason move").exits(0);
    assert_eq!(ran.at("/copied/incarnation"), 2);
    assert!(events > 2);
    world.run("actuate k2").exits(21).says("ledger_sealed");
    world.run("status").exits(0);
    let same = world.json("ledger copy --to moved.db --reason move").exits(0);
    assert_eq!((same.at("/changed"), same.at("/replayed")), (false.into(), true.into()));
    world.run("ledger copy --to elsewhere.db --reason move").exits(21).says("ledger_sealed");
    assert!(!world.path("elsewhere.db").exists());
    world.run("--ledger moved.db actuate k2").exits(0);
    world.run("--ledger moved.db observe k2").exits(0);
    let kept = world.write("heads.json", serde_json::to_string(&heads).unwrap());
    world.run_args(&["--ledger", "moved.db", "verify", "--since", kept.to_str().unwrap()]).exits(0);
    // And on, to a third place.
    world.run("--ledger moved.db ledger copy --to third.db --reason on").exits(0);
    world.run("--ledger third.db scale web=5 --reason on --key k9").exits(0);
    world.run("--ledger third.db verify").exits(0);
}

#[test]
fn tables_are_brought_up_only_on_purpose() {
    let mut world = World::with_fake();
    world.set("SCALECTL_TEST_SCHEMA", "1");
    world.run("status").exits(21).says("scalectl ledger migrate");
    let ran = world.json("ledger migrate").exits(0);
    assert_eq!((ran.at("/migrated/from"), ran.at("/migrated/to")), (2.into(), 3.into()));
    assert_eq!(world.json("ledger migrate").exits(0).at("/changed"), false);
    world.run("verify").exits(0);
    world.run("scale web=2 --reason on --key k1").exits(0);
    world.unset("SCALECTL_TEST_SCHEMA");
    for line in ["status", "ledger migrate", "scale web=1 --reason no"] {
        world.run(line).exits(21).says("ledger_newer");
    }
}

/// A ledger of the first release, under a program that knows newer tables.
fn world_with_first_release() -> World {
    let mut world = World::new();
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/ledgers/v1.db");
    let ledger = world.write("v1.db", std::fs::read(fixture).expect("a fixture"));
    world.set("SCALECTL_LEDGER", ledger.to_str().expect("UTF-8"));
    world
}

#[test]
fn a_ledger_of_the_first_release_is_brought_up_and_keeps_its_history() {
    let mut world = world_with_first_release();
    world.run("log").exits(21).says("scalectl ledger migrate");
    let ran = world.json("ledger migrate").exits(0);
    assert_eq!((ran.at("/migrated/from"), ran.at("/migrated/to")), (1.into(), 2.into()));
    let (log, heads) = (world.json("log --limit 1000"), world.json("verify").exits(0).at("/heads"));
    assert!(heads.as_array().unwrap().len() > 1, "{heads}");
    // What is new is there.
    world.run("capacity location list").exits(0);
    let heads_after = world.json("verify").exits(0).at("/heads");
    assert_eq!(heads_after, heads);
    world.set("SCALECTL_TEST_SCHEMA", "1");
    for line in ["status", "verify", "clock accept --all --reason x"] {
        world.run(line).exits(21).says("scalectl ledger migrate");
    }
    let ran = world.json("ledger migrate").exits(0);
    assert_eq!((ran.at("/migrated/from"), ran.at("/migrated/to")), (2.into(), 3.into()));
    assert_eq!(world.json("verify").exits(0).at("/heads"), heads_after);
    let events = world.json("log --limit 1000").at("/events");
    let before = log.at("/events");
    assert_eq!(
        events.as_array().unwrap()[..before.as_array().unwrap().len()],
        before.as_array().unwrap()[..]
    );
    // And it is written to, above its history.
    world.run("intent withdraw k-2 --supersede --reason on").exits(0);
    let kept = world.write("heads.json", serde_json::to_string(&heads).unwrap());
    world.run_args(&["verify", "--since", kept.to_str().unwrap()]).exits(0);
    world.unset("SCALECTL_TEST_SCHEMA");
    world.run("status").exits(21).says("ledger_newer");
}

#[test]
fn local_refuses_what_was_copied_from_a_ledger_before_it_was_restored() {
    sqlite_only!("a file is copied behind the ledger");
    let world = World::with_local();
    world.run("scale web=1 --reason first --key k1").exits(0);
    world.run("backup --to b.db").exits(0);
    for end in ["", "-wal"] {
        let of = |path: std::path::PathBuf| format!("{}{end}", path.display());
        std::fs::copy(of(world.ledger()), of(world.path("old.db"))).unwrap();
    }
    world.run("restore --from b.db --replace --reason lost").exits(0);
    world.run("scale web=2 --reason on --key k2").exits(0);
    // The copy knows nothing of it, and its own rules let it try.
    let ran = world.json("--ledger old.db scale web=3 --reason old --key k3 --timeout 20s");
    let read = world.json("service bind web").exits(0);
    assert_eq!(read.at("/service/binding/replicas"), 2, "nothing was changed: {ran:#?}");
    // The target's own refusal is the end of that wish, recorded in the copy alone.
    assert_eq!((ran.code, ran.at("/applied")), (Some(17), "no".into()), "{ran:#?}");
    assert_eq!(ran.at("/execution/result/error_code"), "other_ledger", "{ran:#?}");
    world.run("--ledger old.db verify").exits(0);
    // The one that was restored goes on.
    world.run("scale web=0 --reason end --key k4").exits(0);
}
