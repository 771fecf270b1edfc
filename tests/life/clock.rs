//! A clock that was ahead, and the recorded way out.

use crate::support::World;

#[test]
fn a_service_that_was_written_in_the_future_is_freed() {
    for (ahead, line) in [
        ("2026-01-01T01:00:00Z", "service put web --max 9"),
        ("2027-01-01T00:00:00Z", "scale web=2 --reason ahead --key k1"),
    ] {
        let mut world = World::with_fake();
        // The registration was written by this host's own clock: begin after it.
        let mut later = world.copy();
        later.still(&in_future(ahead));
        world = later;
        world.run(line).exits(0);
        world.unset("SCALECTL_TEST_NOW").unset("SCALECTL_TEST_CLOCK");
        std::fs::remove_file(world.fake_dir().join("now")).expect("ours");
        world.run("service put web --max 8").exits(25).says("scalectl clock accept web");
        let ran = world.json("clock accept web --reason ahead").exits(0);
        assert_eq!(ran.at("/clock/0/accepted"), true);
        world.run("service put web --max 8").exits(0);
        world.run("scale web=3 --reason on --key k2").exits(0);
        world.run("verify").exits(0);
        let again = world.json("clock accept --all --reason again").exits(0);
        assert_eq!((again.at("/changed"), again.at("/recorded")), (false.into(), "no".into()));
        assert_eq!(world.json("log --event clock_accepted").at("/events/0/body/reason"), "ahead");
    }
}

/// The tests' hosts run on the real clock; the year after the next is ahead of all of them.
fn in_future(instant: &str) -> String {
    instant.replacen("202", "209", 1)
}

#[test]
fn a_wish_of_the_future_can_be_withdrawn_after_it() {
    let mut world = World::with_fake();
    world.set("SCALECTL_TEST_NOW", "2097-01-01T00:00:00Z");
    world.run("intent put web --replicas 3 --key k1 --reason ahead --expect-revision 0").exits(0);
    world.unset("SCALECTL_TEST_NOW");
    world.run("intent withdraw k1 --reason no").exits(25);
    world.run("clock accept web --reason ahead").exits(0);
    world.run("intent withdraw k1 --reason no").exits(0);
}

#[test]
fn what_ended_in_the_future_cools_from_the_acceptance() {
    let mut world = World::with_fake();
    world.run("service put web --cooldown 5m").exits(0);
    world.still("2097-01-01T00:00:00Z");
    world.run("scale web=2 --reason ahead --key k1").exits(0);
    world.unset("SCALECTL_TEST_NOW").unset("SCALECTL_TEST_CLOCK");
    world.run("cooldown web").exits(25);
    world.run("clock accept web --reason ahead").exits(0);
    world.run("cooldown web").exits(14);
}

#[test]
fn policy_is_asked_to_administer() {
    let mut world = World::with_fake();
    world.set("SCALECTL_TEST_NOW", "2097-01-01T00:00:00Z");
    world.run("service put web --max 9").exits(0);
    let policy = world.write(
        "less.cedar",
        "@id(\"most\")\npermit(principal, action, resource)\n\
         unless { action == Action::\"administer\" };\n",
    );
    world.unset("SCALECTL_TEST_NOW");
    world.run_args(&["policy", "put", policy.to_str().unwrap(), "--reason", "test"]).exits(0);
    world.run("clock accept web --reason ahead").exits(12);
    world.run("restore --in-place --reason x").exits(12);
    world.run("ledger copy --to moved.db --reason x").exits(12);
    assert!(!world.path("moved.db").exists());
}
