//! `scale --undo`, and several wishes in one line.

use crate::support::{Ran, SERVICE, World};

/// A world in which `web` went from 2 to 5: `web@1` and `web@2`.
fn grown() -> World {
    let world = World::with_fake();
    world.run("scale web=2 --reason first").exits(0);
    world.run("scale web=5 --reason grow").exits(0);
    world
}

fn undo(world: &World, more: &str) -> Ran {
    world.json(&format!("scale web --undo --reason back {more}"))
}

#[test]
fn the_newest_converged_wish_is_taken_back_once() {
    let world = grown();
    let ran = undo(&world, "").exits(0);
    assert_eq!(ran.at("/execution/desired_replicas"), 2);
    assert_eq!(ran.at("/execution/execution_key"), "undo.web.2");
    assert_eq!((ran.at("/undoes/from"), ran.at("/undoes/to")), (2.into(), 5.into()));
    assert!(ran.stderr.contains("undo of web@2  2 → 5"), "{ran:#?}");
    assert!(ran.stderr.contains("back to 2"), "{ran:#?}");
    // The same line again is the same undo, whatever its reason, and never the undo of an undo.
    let calls = world.fake_log("effects").len();
    for line in ["scale web --undo --reason back", "scale web --undo --reason other"] {
        let ran = world.json(line).exits(0);
        assert_eq!((ran.at("/replayed"), ran.at("/changed")), (true.into(), false.into()));
        assert_eq!(ran.at("/execution/intent_revision"), 3);
    }
    assert_eq!(world.fake_log("effects").len(), calls);
    // A newer wish is another one to undo.
    world.run("scale web=7 --reason grow").exits(0);
    let ran = undo(&world, "").exits(0);
    assert_eq!(ran.at("/execution/execution_key"), "undo.web.4");
    assert_eq!(ran.at("/execution/desired_replicas"), 2);
}

#[test]
fn a_plan_of_an_undo_writes_nothing() {
    let world = grown();
    let before = world.events();
    let ran = world.json("scale web --undo --dry-run").exits(0);
    assert_eq!(ran.at("/undoes/intent_revision"), 2);
    assert!(ran.at("/gates").as_array().is_some_and(|gates| !gates.is_empty()), "{ran:#?}");
    assert_eq!(world.events(), before);
}

/// What an undo stands on, and the refusal where that is not so. Nothing is written by any.
#[test]
fn an_undo_refuses_what_it_cannot_stand_on() {
    let refused = |world: &World, more: &str, exit: i32, code: &str| {
        let calls = world.fake_log("effects").len();
        let ran = undo(world, more).exits(exit);
        assert_eq!(ran.at("/error/code"), code, "{ran:#?}");
        assert_eq!((ran.at("/applied"), ran.at("/changed")), ("no".into(), false.into()));
        assert!(!ran.at("/error/hint").is_null(), "every refusal has a way on: {ran:#?}");
        assert_eq!(world.fake_log("effects").len(), calls);
    };
    refused(&World::with_fake(), "", 24, "nothing_to_undo");
    // Another wish waits.
    let world = grown();
    world.run("intent put web --replicas 6 --key k6 --reason x").exits(0);
    refused(&world, "", 10, "undo_in_the_way");
    world.run("intent withdraw k6").exits(0);
    // Somebody else has changed the count since.
    std::fs::write(world.fake_dir().join("count"), "4\n").expect("ours");
    refused(&world, "", 10, "premise_moved");
    std::fs::write(world.fake_dir().join("count"), "5\n").expect("ours");
    refused(&world, "--current-replicas 4", 10, "premise_moved");
    undo(&world, "--current-replicas 5").exits(0);
    // A count that was there already.
    let world = World::with_fake();
    world.run("scale web=2 --reason first").exits(0);
    world.run("scale web=2 --key same --reason first").exits(0);
    refused(&world, "", 24, "nothing_to_undo");
    // What has failed is the newest wish, and made no change.
    let world = grown();
    world.script(&["ok", "ok", "fail terminal nope"]);
    world.run("scale web=6 --reason x --max-attempts 1 --no-wait").exits(17);
    refused(&world, "", 10, "undo_in_the_way");
    for more in ["--key k", "--expect-revision 3", "--queue", "--rolls-back k"] {
        undo(&world, more).exits(2);
    }
    let ran = world.json("scale web=5 --undo --reason x").exits(2);
    assert_eq!(ran.at("/error/code"), "invalid_undo");
}

/// `web` and `api`, on an actuator that has one count for both.
fn two() -> World {
    let world = World::with_fake();
    let put = SERVICE.replace("put web", "put api");
    world.run(&format!("{put} --workload api --backoff 0s")).exits(0);
    world
}

#[test]
fn several_wishes_are_planned_before_one_is_made() {
    let world = two();
    let before = world.events();
    // One plan is refused: nothing is done, and the line of each says how it stands.
    let ran = world.json("scale web=3 api=99 --reason x").exits(2);
    assert_eq!(ran.at("/error/code"), "out_of_bounds");
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("no".into(), "no".into()));
    assert_eq!((ran.at("/services/0/exit"), ran.at("/services/1/exit")), (0.into(), 2.into()));
    assert_eq!(world.fake_log("effects"), Vec::<String>::new());
    let ran = world.run("scale web=3 api=99 --reason x").exits(2);
    assert!(ran.stderr.contains("nothing was done: 1 of 2 would be refused"), "{ran:#?}");
    world.json("scale web=3 api=3 --reason x --dry-run").exits(0);
    assert_eq!(world.events(), before, "neither a plan nor a refusal is an intent");
    let ran = world.json("scale web=3 api=3 --reason x --key r-1").exits(0);
    let lost = world.json("explain r-1").exits(24);
    assert_eq!(lost.at("/error/facts/did you mean"), "r-1.api, r-1.web");
    for (at, name) in ["web", "api"].into_iter().enumerate() {
        assert_eq!(ran.at(&format!("/services/{at}/service")), name);
        assert_eq!(
            ran.at(&format!("/services/{at}/execution/execution_key")),
            format!("r-1.{name}")
        );
        assert_eq!(ran.at(&format!("/services/{at}/execution/outcome")), "converged");
    }
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("yes".into(), "yes".into()));
    // The same line again is the same wishes.
    let again = world.json("scale web=3 api=3 --reason x --key r-1").exits(0);
    assert_eq!((again.at("/changed"), again.at("/applied")), (false.into(), "no".into()));
}

#[test]
fn what_is_about_one_service_is_not_said_of_several() {
    let world = two();
    for (more, code) in [
        ("--expect-revision 0", "one_service_only"),
        ("--current-replicas 0", "one_service_only"),
        ("--fence 1.1", "one_service_only"),
        ("--rolls-back k", "one_service_only"),
        ("--break-glass --incident I-1", "one_service_only"),
        ("web=4", "named_twice"),
        ("web", "invalid_wish"),
    ] {
        let ran = world.json(&format!("scale web=3 api=3 --reason x {more}")).exits(2);
        assert_eq!(ran.at("/error/code"), code, "{more}: {ran:#?}");
    }
    let ran = world.json("scale web 3 --reason x").exits(2);
    let line: Vec<_> = ran.at("/error/next/0").as_array().cloned().unwrap_or_default();
    assert!(line.iter().any(|word| word == "web=3"), "{ran:#?}");
}

/// What comes after a wish that needs somebody is not begun, and the same line goes on.
#[test]
fn the_line_stops_at_what_needs_somebody() {
    let world = two();
    world.script(&["fail terminal nope"]);
    let ran = world.json("scale web=3 api=3 --reason x --key r-1 --max-attempts 1").exits(17);
    assert_eq!(ran.at("/services/0/exit"), 17);
    assert_eq!(ran.at("/services/1/begun"), false);
    let ran = world.run("scale web=3 api=3 --reason x --key r-1 --max-attempts 1").exits(17);
    assert!(ran.stdout.lines().any(|line| line.starts_with("web ")), "{ran:#?}");
}

/// Each says once what it takes back, before the first of them begins.
#[test]
fn several_undos_tell_each_once() {
    let world = World::with_local();
    world.run("service put api --actuator procs --writer ops --max 10 --backoff 0s").exits(0);
    world.run("scale web=1 api=2 --reason first").exits(0);
    world.run("scale web=2 api=1 --reason grow").exits(0);
    let ran = world.run("scale web api --undo --reason back").exits(0);
    for told in ["undo of web@2  1 → 2", "undo of api@2  2 → 1"] {
        assert_eq!(ran.stderr.matches(told).count(), 1, "{ran:#?}");
    }
    let (begun, told) = (ran.stderr.find("accepted "), ran.stderr.rfind("undo of "));
    assert!(told < begun, "all plans come first: {ran:#?}");
    let status = world.json("status").exits(0);
    assert_eq!(status.at("/services/0/desired_replicas"), 2, "{status:#?}");
    assert_eq!(status.at("/services/1/desired_replicas"), 1);
    world.run("scale api=0 --reason end").exits(0);
}
