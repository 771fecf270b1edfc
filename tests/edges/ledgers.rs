//! A ledger with two names, one that moves under a command, and a COMMIT of what a refusal leaves.

use std::os::unix::fs::symlink;

use crate::support::{World, fake_actuator};

#[test]
fn a_ledger_with_two_names_is_refused_under_both() {
    let world = World::with_fake();
    let other = world.path("other.db");
    std::fs::hard_link(world.ledger(), &other).unwrap();
    let before = std::fs::read(world.ledger()).unwrap();
    for line in
        ["status", "verify", "intent put web --replicas 1 --reason x", "scale web=2 --reason x"]
    {
        for ledger in [world.ledger(), other.clone()] {
            let ran = world.json(&format!("--ledger {} {line}", ledger.display())).exits(21);
            assert_eq!(ran.at("/error/code"), "ledger_hard_linked");
            assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("no".into(), "no".into()));
            assert!(ran.at("/error/hint").as_str().unwrap().contains("-wal"), "{ran:#?}");
        }
    }
    assert_eq!(std::fs::read(world.ledger()).unwrap(), before);
    std::fs::remove_file(&other).unwrap();
    // A link in the same folder is named; a symbolic one is no second name.
    let beside = world.ledger().with_file_name("beside.db");
    std::fs::hard_link(world.ledger(), &beside).unwrap();
    symlink(world.ledger(), &other).unwrap();
    for ledger in [world.ledger(), other.clone()] {
        let ran = world.run(&format!("--ledger {} status", ledger.display())).exits(21);
        ran.says("beside.db, and two names have two logs");
    }
    std::fs::remove_file(&beside).unwrap();
    world.run(&format!("--ledger {} status", other.display())).exits(0);
}

#[test]
fn what_a_killed_init_has_left_is_no_second_name() {
    let world = World::with_fake();
    let draft = world.ledger().with_file_name(".ledger.db.0123456789abcdef");
    std::fs::hard_link(world.ledger(), &draft).unwrap();
    world.run("status").exits(0);
    std::fs::hard_link(world.ledger(), world.path("other.db")).unwrap();
    world.run("status").exits(21).says("error[ledger_hard_linked]");
}

/// The fake behind a script that does something once, right before the next effect.
fn with_something_before_the_effect(world: &World, script: &str) {
    let fake = fake_actuator();
    let text = format!(
        "read -r request\n\
         case $request in *'\"op\":\"apply\"'*)\n\
         [ ! -e '{armed}' ] || {{ rm '{armed}'; {script}; }} ;; esac\n\
         printf '%s\\n' \"$request\" | /bin/sh '{fake}'\n",
        armed = world.path("armed").display(),
        fake = fake.display(),
    );
    let path = world.write("before.sh", text);
    let path = path.to_str().unwrap();
    world.run_args(&["actuator", "put", "fake", "--", "/bin/sh", path]).exits(0);
    world.write("armed", "");
}

#[test]
fn a_write_to_a_ledger_that_has_lost_its_name_is_unknown() {
    let world = World::with_fake();
    let (ledger, moved) = (world.ledger(), world.path("moved.db"));
    let (copy, at) = (world.path("copy.db"), ledger.display());
    let away = format!("mv {at} {}", moved.display());
    for (key, script) in
        [("k1", away.clone()), ("k2", format!("{away}; cp {} {at}", copy.display()))]
    {
        std::fs::copy(&ledger, &copy).unwrap();
        world
            .run(&format!("intent put web --replicas {} --key {key} --reason x", &key[1..]))
            .exits(0);
        with_something_before_the_effect(&world, &script);
        let ran = world.json(&format!("actuate {key}")).exits(16);
        assert!(!world.path("armed").exists(), "it was moved: {ran:#?}");
        assert_eq!(ran.at("/recorded"), "unknown", "{ran:#?}");
        let ran = ran.says("it is recorded in a file that no longer has the name");
        assert!(!ran.stderr.contains("no: nothing was written"), "{ran:#?}");
        // Once the file has its name again, it has what was written to it.
        std::fs::rename(&moved, &ledger).unwrap();
        let shown = world.json(&format!("intent show {key}")).exits(0);
        assert_eq!(shown.at("/execution/state"), "succeeded");
        world.run(&format!("observe {key}")).exits(0);
        world.run("verify").exits(0);
    }
}

#[test]
fn a_refusal_whose_row_is_unknown_says_so() {
    for (word, is_there) in [("kept", true), ("lost", false)] {
        let mut world = World::with_fake();
        world.run("service put web --cooldown 300s").exits(0);
        world.run("scale web=1 --reason x").exits(0);
        world.set("SCALECTL_TEST_COMMIT_ERROR", format!("{word}#1"));
        let ran = world.json("intent put web --replicas 2 --key k2 --reason x").exits(14);
        assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("unknown".into(), "no".into()));
        assert_eq!(ran.at("/warnings/0/code"), "refusal_not_kept");
        let ran = ran.says("perhaps recorded").says("is perhaps not recorded");
        assert!(!ran.stderr.contains("nothing was written"), "{ran:#?}");
        world.unset("SCALECTL_TEST_COMMIT_ERROR");
        let log = world.json("log").exits(0);
        assert_eq!(log.stdout.contains("\"refused\""), is_there, "{log:#?}");
    }
}
