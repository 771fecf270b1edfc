//! What may happen to a wish between its first look at the target and its end.

use crate::support::{Ran, SCALECTL, SERVICE, World};

/// A world in which the inspection of that number is preceded by something else.
fn with_inspection(number: u32, what: &str) -> World {
    let world = World::with_fake();
    at_inspection(&world, number, what);
    world
}

fn at_inspection(world: &World, number: u32, what: &str) {
    let text = format!("echo >>inspections\n[ $(wc -l <inspections) != {number} ] || {what}\n");
    world.write("fake/on-inspect", text);
}

/// A colleague's line, as a word of the shell.
fn colleague(world: &World, line: &str) -> String {
    let home = world.path("");
    let home = home.display();
    let variable = world.ledger_variable();
    let ledger = variable.map(|(name, value)| format!("{name}='{value}'")).unwrap_or_default();
    format!("HOME={home} {ledger} {SCALECTL} --actor bob {line} >/dev/null 2>&1 || true")
}

fn inspections(world: &World) -> usize {
    std::fs::read_to_string(world.fake_dir().join("inspections"))
        .unwrap_or_default()
        .lines()
        .count()
}

fn scale(world: &World, line: &str) -> Ran {
    world.json(&format!("scale {line} --reason test --timeout 20s"))
}

#[test]
fn the_premise_of_a_wish_is_from_before_it_looks() {
    let world = World::with_fake();
    at_inspection(&world, 1, &colleague(&world, "intent put web --replicas 7 --reason mine"));
    let ran = scale(&world, "web=3 --supersede").exits(10);
    assert_eq!(ran.at("/error/code"), "stale_revision");
    assert!(world.fake_log("calls").is_empty());
}

#[test]
fn a_reading_that_a_newer_one_has_overtaken_is_taken_again() {
    let world = World::with_fake();
    scale(&world, "web=2 --key first").exits(0);
    // Somebody changes the target and reads it, after this run has begun to look and before its
    // own look is recorded.
    let change = format!("{{ echo 9 >count; {}; }}", colleague(&world, "observe first"));
    let slow = format!(
        "echo >>inspections\nif [ $(wc -l <inspections) = 1 ]; then\n\
         inspection; was=$value; {change}\n\
         answer \"$was\"; exit 0; fi\n"
    );
    world.write("fake/on-inspect", slow);
    scale(&world, "web=3 --key second").exits(0);
    let intent = world.json("intent show second").exits(0);
    assert_eq!(intent.at("/execution/current_replicas"), 9, "decided on the stale count");
}

#[test]
fn a_binding_that_a_newer_one_has_overtaken_is_not_recorded() {
    let world = World::with_fake();
    let change = format!("{{ echo 9 >count; {}; }}", colleague(&world, "service bind web"));
    let slow = format!(
        "echo >>inspections\nif [ $(wc -l <inspections) = 1 ]; then\n\
         inspection; was=$value; {change}\n\
         answer \"$was\"; exit 0; fi\n"
    );
    world.write("fake/on-inspect", slow);
    let bound = world.json("service bind web").exits(0);
    assert_eq!((bound.at("/changed"), bound.at("/recorded")), (false.into(), "no".into()));
    assert_eq!(bound.at("/reading/replicas"), 0);
    assert_eq!(bound.at("/warnings/0/code"), "older_reading");
    assert_eq!(world.json("service show web").exits(0).at("/service/binding/replicas"), 9);
}

#[test]
fn a_wish_that_waits_looks_again_and_refuses_another_count() {
    let world = World::with_fake();
    world.run("service put web --cooldown 2s").exits(0);
    scale(&world, "web=2 --key first").exits(0);
    at_inspection(&world, 2, "echo 9 >count");
    let ran = scale(&world, "web=3 --key second").exits(10);
    assert_eq!(ran.at("/error/code"), "premise_moved");
    assert_eq!(inspections(&world), 2);
    assert_eq!(world.fake_log("calls").len(), 1);
}

#[test]
fn the_clock_of_the_target_does_not_make_a_count_old() {
    let world = World::with_fake();
    // Four minutes behind: as far as clocks may be apart, and older than a count may be.
    world.write("fake/on-inspect", "date -u -d '-4 minutes' +%Y-%m-%dT%H:%M:%SZ >now\n");
    scale(&world, "web=2 --key first").exits(0);
    let ran = scale(&world, "web=3 --key second").exits(0);
    assert_eq!(ran.at("/execution/current_replicas"), 2);
    let plan = world.run("plan web=4").exits(0);
    assert!(plan.stdout.starts_with("web  3 → 4"), "{plan:#?}");
}

#[test]
fn what_was_applied_is_never_called_untouched() {
    let world = World::with_fake();
    // The wish, its attempt, its confirmation.
    let put = colleague(&world, "intent put web --replicas 5 --supersede --reason mine");
    at_inspection(&world, 3, &put);
    let ran = scale(&world, "web=3").exits(23);
    assert_eq!(ran.at("/applied"), "yes");
    assert_eq!(ran.at("/error/code"), "superseded");
}

#[test]
fn a_plan_reads_the_target_and_writes_nothing() {
    let mut world = World::with_fake();
    world.still("2100-01-05T10:00:00Z");
    scale(&world, "web=3").exits(0);
    world.still("2100-01-05T11:00:00Z");
    let events = world.events();
    let plan = world.run("plan web=5").exits(0);
    assert!(plan.stdout.starts_with("web  3 → 5"), "{plan:#?}");
    let plan = world.run("plan web=3").exits(0);
    assert!(plan.stdout.starts_with("web=3: already so"), "{plan:#?}");
    world.write("fake/count", "9\n");
    let plan = world.run("plan web=5").exits(0);
    assert!(plan.stdout.starts_with("web  9 → 5"), "{plan:#?}");
    world.write("fake/count", "");
    // What the line could not read, its plan cannot either.
    world.run("plan web=5").exits(20);
    world.run("scale web=5 --reason r").exits(20);
    assert_eq!(world.events(), events);
}

#[test]
fn a_plan_says_which_wish_would_be_gone_on_with() {
    let world = with_inspection(0, "true");
    world.run("intent put web --replicas 3 --reason test --key own").exits(0);
    let plan = world.json("plan web=3").exits(0);
    assert_eq!(plan.at("/execution/execution_key"), "own");
    let other = world.json("--actor bob plan web=3").exits(10);
    assert_eq!(other.at("/error/code"), "others_intent");
}

/// Whoever waits for ready replicas is told when they are not, when nobody can say, and when
/// something else holds by now; also by the same line again.
#[test]
fn waiting_for_ready_ends_well_only_when_they_are() {
    let world = World::new();
    world.run("init").exits(0);
    world.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
    world.run("policy put all.cedar --reason test").exits(0);
    let count = world.path("count.json");
    let says = |text: &str| std::fs::write(&count, text).expect("the count is written");
    says("{\"replicas\":3,\"ready\":0}");
    let inspect = format!("cat {}", count.display());
    world
        .run_args(&[
            "actuator",
            "put",
            "counted",
            "--",
            "scalectl",
            "actuator",
            "run",
            "exec",
            "--apply",
            "true",
            "--inspect",
            &inspect,
        ])
        .exits(0);
    world
        .run("service put web --actuator counted --max 5 --drain none --converge-on declared")
        .exits(0);
    let line = "scale web=3 --key k1 --reason r --wait=ready --timeout 600ms";
    world.run(line).exits(19).says("of 3 are ready: the same line waits on");
    world.run(line).exits(19).says("scalectl status web");
    says("{\"replicas\":3,\"ready\":3}");
    world.run(line).exits(0);
    says("3");
    world.run(line).exits(19).says("how many replicas are ready");
    says("{\"replicas\":2,\"ready\":2}");
    world.run(line).exits(23);
}

/// An actuator may have a minute to answer; whoever waits may not.
#[test]
fn a_reading_that_hangs_keeps_nobody_beyond_their_time() {
    let world = World::with_fake();
    scale(&world, "web=2 --key k1").exits(0);
    // A success that waits for its confirmation.
    world.run("intent put web --replicas 4 --key k2 --reason r --queue").exits(0);
    world.run("actuate k2").exits(0);
    world.write("fake/on-inspect", "exec sleep 50\n");
    for (line, exit) in [
        ("scale web=3 --reason r --timeout 1s", 20),
        ("observe k1 --wait --timeout 1s", 20),
        ("observe k2 --wait --timeout 1s", 19),
        ("replay --all --wait --timeout 1s", 19),
    ] {
        let began = std::time::Instant::now();
        let ran = world.json(line).exits(exit);
        assert_eq!(ran.at("/error/code"), "unavailable", "{line}");
        let took = began.elapsed();
        assert!(took < std::time::Duration::from_secs(25), "{line}: {took:?}");
    }
}

/// What a reading has recorded is not denied by the answer that nothing had to be changed.
#[test]
fn a_reading_that_was_news_is_said_to_be_recorded() {
    let world = World::with_fake();
    let before = world.events();
    let ran = scale(&world, "web=0").exits(0);
    assert_eq!((ran.at("/changed"), ran.at("/recorded")), (false.into(), "yes".into()));
    assert!(world.events() > before);
}

/// What is to be undone must be there, also where the count is.
#[test]
fn a_count_that_is_there_hides_no_wrong_rollback() {
    let world = World::with_fake();
    for line in ["scale web=0 --rolls-back nosuch", "plan web=0 --rolls-back nosuch"] {
        world.run(&format!("{line} --reason r")).exits(24);
    }
}

/// What a line says to be so is asked also where the count is as wished.
#[test]
fn a_count_that_is_there_hides_no_wrong_premise() {
    let world = World::with_fake();
    scale(&world, "web=2").exits(0);
    for (premise, exit, code) in [
        ("--expect-revision 0", 10, "stale_revision"),
        ("--expect-revision 1", 0, ""),
        ("--current-replicas 1", 10, "premise_moved"),
        ("--current-replicas 2", 0, ""),
    ] {
        for verb in ["plan", "scale"] {
            let ran = world.json(&format!("{verb} web=2 --reason r {premise}")).exits(exit);
            if exit != 0 {
                assert_eq!(ran.at("/error/code"), code, "{verb} {premise}");
            }
        }
    }
    world.run("intent show web@2").exits(24);
}

/// A failure that a newer wish will end is not tried again, nor waited for.
#[test]
fn a_failure_behind_a_queued_wish_is_not_waited_for() {
    let world = World::with_fake();
    world.script(&["fail retryable x"]);
    world
        .run("intent put web --replicas 3 --key k1 --reason r --max-attempts 3 --backoff 1h")
        .exits(0);
    world.run("actuate k1").exits(18);
    world.run("intent put web --replicas 4 --key k2 --reason r --queue").exits(0);
    let began = std::time::Instant::now();
    for line in ["actuate k1", "scale web=3 --key k1 --reason r --max-attempts 3 --backoff 1h"] {
        let ran = world.json(line).exits(19);
        assert_eq!(ran.at("/error/code"), "waits_behind", "{line}");
    }
    assert!(began.elapsed() < std::time::Duration::from_secs(30));
}

/// Another service's wish is there, and is not said to be missing.
#[test]
fn what_is_another_services_is_not_rolled_back_and_not_missing() {
    let world = World::with_fake();
    world.run(&SERVICE.replace(" web ", " api ").replace("fake:web", "fake:api")).exits(0);
    scale(&world, "api=1 --key k1").exits(0);
    let put = "intent put web --replicas 2 --key k2";
    for line in ["scale web=2", "plan web=2", put] {
        let ran = world.json(&format!("{line} --rolls-back k1 --reason r")).exits(10);
        assert_eq!(ran.at("/error/code"), "wrong_state", "{line}");
        let message = ran.at("/error/message").to_string();
        assert!(message.contains("api@1"), "{line}: {message}");
    }
    world.run("verify").exits(0);
}
