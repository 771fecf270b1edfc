//! Whose hands a broken glass went through, what became of it, and what is told of it for ever.

use super::two_persons;
use crate::support::World;

const YES: &str = "--yes --current-replicas 5";

/// Gives an authorization as whoever asks now; its name.
fn given(world: &World, line: &str) -> String {
    let ran = world.json(&format!("break-glass authorize {line} --incident INC-1 --reason r"));
    ran.exits(0).at("/authorization/authorization/authorization_id").as_str().unwrap().to_owned()
}

#[test]
fn whoever_used_a_broken_glass_does_not_review_it() {
    let mut world = two_persons(World::new());
    let id = given(&world, "web=2");
    world.be("night:1002");
    world.run(&format!("intent put web --replicas 2 --key k1 --reason r --break-glass {id}"));
    world.run(&format!("scale web=2 --key k1 --reason r --break-glass {id}")).exits(0);
    let review = format!("break-glass review {id} --reason seen");
    let own = world.json(&review).exits(12);
    assert_eq!(own.at("/error/code"), "same_reviewer");
    world.be("ci:1001");
    world.json(&review).exits(12);
    world.be("lead:1003");
    assert_eq!(world.json(&review).exits(0).at("/changed"), true);
    // What was looked at is told for ever, and looked at once.
    let again = world.json(&review).exits(0);
    assert_eq!((again.at("/changed"), again.at("/recorded")), (false.into(), "no".into()));
    world.be("night:1002");
    let late = world.json(&review).exits(10);
    assert_eq!(late.at("/error/code"), "reviewed");
    assert!(late.stderr.contains("lead"), "{late:#?}");
    let told = world.run(&format!("break-glass show {id}")).exits(0);
    for part in ["used for      k1", "night@", "reviewed by   lead", "seen"] {
        assert!(told.stdout.contains(part), "{part}: {told:#?}");
    }
    assert_eq!(
        world.json("break-glass list").exits(0).at("/authorizations"),
        serde_json::json!([])
    );
    let all = world.json("break-glass list --all --check").exits(0);
    assert_eq!(all.at("/authorizations/0/review/reason"), "seen");
    world.run("verify").exits(0);
}

/// The wish of one, the attempt of a second and that of a third: none of them looks at it
/// afterwards.
#[test]
fn whoever_had_a_hand_in_a_broken_glass_does_not_review_it() {
    let mut world = two_persons(World::new());
    let id = given(&world, "web=2");
    world.be("wisher:1002");
    let scale = format!("scale web=2 --key k1 --reason r --break-glass {id}");
    for commit in 1..=4 {
        world.set("SCALECTL_TEST_CRASH", format!("after_commit#{commit}"));
        world.run(&scale);
        if world.run("intent show k1").code == Some(0) {
            break;
        }
    }
    world.unset("SCALECTL_TEST_CRASH");
    world.await_no_children();
    let shown = world.json("intent show k1").exits(0);
    assert_eq!(shown.at("/execution/state"), "accepted", "the wish is put and has not started");
    world.script(&["ok", "fail retryable busy"]);
    for (person, exit) in [("doer:1003", 18), ("second:1004", 0)] {
        world.be(person);
        world.run("actuate k1").exits(exit);
    }
    let people = [
        ("wisher:1002", 12),
        ("doer:1003", 12),
        ("second:1004", 12),
        ("ci:1001", 12),
        ("lead:1005", 0),
    ];
    for (person, exit) in people {
        world.be(person);
        world.run(&format!("break-glass review {id} --reason seen")).exits(exit);
    }
    let told = world.run(&format!("break-glass show {id}")).exits(0);
    for part in ["used for      k1", "by doer", "also by     second", "wished by   wisher"] {
        assert!(told.stdout.contains(part), "{part}: {told:#?}");
    }
    world.run("verify").exits(0);
}

#[test]
fn one_key_on_two_services_makes_two_names() {
    let world = two_persons(World::new());
    let second = crate::support::SERVICE.replace("web", "api");
    world.run(&format!("{second} --backoff 0s --workload api")).exits(0);
    let line = "--break-glass --incident INC-1 --reason r --key night --no-wait";
    world.run(&format!("scale web=2 {line} {YES}"));
    world.json(&format!("scale api=3 {line} --yes --current-replicas 5"));
    let listed = world.json("break-glass list --all").exits(0);
    let names: Vec<_> = listed.at("/authorizations").as_array().unwrap().clone();
    assert_eq!(names.len(), 1, "a key names one wish, and a refused wish breaks no glass");
}

#[test]
fn what_is_open_under_a_retired_service_is_told_and_can_be_ended() {
    let mut world = two_persons(World::new());
    let id = given(&world, "web=2");
    let retired = world.run("service retire web --reason over").exits(0);
    assert!(retired.stderr.contains(&id) && retired.stderr.contains("review"), "{retired:#?}");
    assert!(world.run("status").exits(0).stdout.contains(&id));
    world.run("break-glass list --check").exits(26);
    world.run(&format!("break-glass revoke {id} --reason over")).exits(0);
    world.be("lead:1002");
    world.run(&format!("break-glass review {id} --reason over")).exits(0);
    world.run("break-glass list --check").exits(0);
}

#[test]
fn a_refused_wish_leaves_no_broken_glass() {
    let world = two_persons(World::new());
    let line = format!("scale web=2 --break-glass --incident INC-1 --reason r {YES}");
    let refused = world.json(&format!("{line} --expect-revision 7")).exits(10);
    assert_eq!(refused.at("/error/code"), "stale_revision");
    let all = world.json("break-glass list --all --check").exits(0);
    assert_eq!(all.at("/authorizations"), serde_json::json!([]));
}

/// A dry run supposes the glass broken, and ends as the line itself would.
#[test]
fn a_dry_run_breaks_the_glass_in_thought_only() {
    let world = two_persons(World::new());
    let line = "scale web=2 --break-glass --incident INC-1 --reason r";
    let before = world.events();
    world.run("scale web=2 --reason r --dry-run").exits(13);
    let plan = world.run(&format!("{line} --dry-run")).exits(0);
    assert!(plan.stdout.contains("passed by bg-"), "{plan:#?}");
    let above = "scale web=20 --break-glass --incident INC-1 --reason r --dry-run";
    world.run(above).exits(2);
    world.run(&format!("{above} --raise-max")).exits(0);
    assert_eq!(world.events(), before);
    world.run("break-glass list --check").exits(0);
    world.run(&format!("{line} {YES}")).exits(0);
}

/// Who gave it confirmed a step; from another count it is another one.
#[test]
fn a_step_from_another_count_is_confirmed_by_the_line_that_makes_it() {
    let world = two_persons(World::new());
    let id = given(&world, "web=4");
    std::fs::write(world.fake_dir().join("count"), "7\n").unwrap();
    std::fs::write(world.fake_dir().join("version"), "9\n").unwrap();
    let line = format!("scale web=4 --reason r --break-glass {id}");
    let moved = world.json(&line).exits(10);
    assert_eq!(moved.at("/error/code"), "premise_moved");
    assert_eq!((moved.at("/error/expected"), moved.at("/error/actual")), (5.into(), 7.into()));
    assert!(moved.stderr.contains("--current-replicas 7"), "{moved:#?}");
    world.run(&format!("{line} --current-replicas 7")).exits(0);
}

#[test]
fn a_proposal_for_settings_that_are_no_more_is_taken_back() {
    let mut world = two_persons(World::new());
    let line = "scale web=2 --key k1 --reason r";
    world.run(line).exits(13);
    let put = world.run("service put web --max 12").exits(0);
    assert!(put.stderr.contains("web@2"), "{put:#?}");
    let again = world.run(line).exits(13);
    assert!(again.stderr.contains("intent withdraw k1"), "{again:#?}");
    assert!(!again.stderr.contains("approval grant"), "{again:#?}");
    assert!(world.run("status").stdout.contains("intent withdraw web@2"));
    assert!(world.run("explain k1").stdout.contains("intent withdraw k1"));
    world.be("lead:1002");
    let grant = world.json("approval grant k1 --reason r").exits(10);
    assert_eq!(grant.at("/error/code"), "stale_unit_revision");
    assert!(grant.stderr.contains("intent withdraw web@"), "{grant:#?}");
    world.be("ci:1001");
    world.run("intent withdraw k1").exits(0);
}

#[test]
fn whoever_waits_beyond_the_end_of_the_question_is_told_so() {
    let world = two_persons(World::new());
    let line = "scale web=2 --key k1 --approve-within 1s --wait-approval --timeout 20s --reason r";
    let over = world.json(line).exits(10);
    assert_eq!(over.at("/error/code"), "approval_expired");
}

/// What is still under way under it is looked at once it has ended: its next attempt needs the
/// permission, and nobody knows yet what came of it.
#[test]
fn what_is_under_way_under_a_broken_glass_is_not_reviewed_yet() {
    let mut world = two_persons(World::new());
    world.script(&["ok", "fail retryable busy"]);
    world.run("service put web --backoff 2s").exits(0);
    let line = format!("scale web=2 --key k1 --break-glass --incident INC-1 --reason r {YES}");
    world.run(&format!("{line} --no-wait")).exits(18);
    let listed = world.json("break-glass list").exits(0);
    let id = listed.at("/authorizations/0/authorization/authorization_id");
    let review = format!("break-glass review {} --reason seen", id.as_str().unwrap());
    world.be("lead:1002");
    let early = world.json(&review).exits(11);
    assert_eq!(early.at("/error/code"), "in_flight");
    world.be("ci:1001");
    world.run(&format!("{line} --timeout 20s")).exits(0);
    world.be("lead:1002");
    world.run(&review).exits(0);
    world.run("verify").exits(0);
}

/// Whoever simulates what was agreed to has carried nothing out.
#[test]
fn a_simulation_uses_no_approval() {
    let mut world = two_persons(World::new());
    world.run("intent put web --replicas 2 --key k1 --reason r").exits(13);
    world.be("lead:1002");
    world.run("approval grant k1 --reason r").exits(0);
    world.be("ci:1001");
    world.run("actuate k1 --simulate").exits(0);
    assert_eq!(world.json("approval show k1").exits(0).at("/approval/status"), "ended");
    world.run("verify").exits(0);
}

/// A yes ends what waits, but nothing that a process is about to start.
#[test]
fn a_grant_waits_for_whoever_holds_a_lease() {
    let mut world = two_persons(World::new());
    world.run("intent put web --replicas 7 --key k1 --reason r").exits(0);
    world.run("intent put web --replicas 2 --key k2 --reason r").exits(13);
    let lease = world.json("lease acquire k1").exits(0).at("/lease/lease_instance_id");
    world.be("lead:1002");
    let held = world.json("approval grant k2 --reason r").exits(11);
    assert_eq!(held.at("/error/code"), "held");
    assert_eq!(world.json("intent show k1").at("/execution/state"), "accepted");
    world.be("ci:1001");
    let release = format!("lease release k1 --lease {}", lease.as_str().unwrap());
    world.run(&release).exits(0);
    world.be("lead:1002");
    world.run("approval grant k2 --reason r").exits(0);
    assert_eq!(world.json("intent show k1").at("/execution/state"), "superseded");
    world.run("verify").exits(0);
}
