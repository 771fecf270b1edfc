//! What a key has left behind is denied by no later answer about it: not where the target cannot be
//! read, not where the actuator is bound no more, and not by a plan.

use super::{COMMANDS, NEWER, PUT, ROWS, SCALE, line, produced, stage};
use crate::support::World;

/// States in which nobody knows what became of a call, or a failure has changed the target.
const LEFT: [(&str, &str); 5] = [
    ("recovery_pending, nobody can tell", "unknown"),
    ("recovery_pending, halt", "unknown"),
    ("failed, target changed", "partial"),
    ("verified, failed: terminal, target changed", "partial"),
    ("verified, failed: mismatch", "partial"),
];
/// Exits that promise an untouched target, 11 apart: that is about another process.
const UNTOUCHED: [i32; 10] = [2, 10, 12, 13, 14, 15, 20, 22, 24, 25];

/// Takes the bindings of this host away.
fn unbind(world: &World) {
    std::fs::remove_file(world.path(".config/scalectl/actuators.toml")).expect("bindings");
}

/// Leaves a target that nobody can read.
fn blind(world: &World) {
    std::fs::write(world.fake_dir().join("count"), "").expect("no count");
}

#[test]
fn no_failure_denies_what_a_key_has_left() {
    let mut wrong = Vec::new();
    for (state, left) in LEFT {
        let stage = produced(state);
        for (how, spoil) in [("unbound", unbind as fn(&World)), ("unreadable", blind)] {
            let world = stage.world.copy();
            spoil(&world);
            for command in COMMANDS.into_iter().chain(["replay --all", "reconcile", "scale again"])
            {
                let line = match command {
                    "replay --all" | "reconcile" => command.to_owned(),
                    "scale again" => SCALE.replace(" --key k1", ""),
                    other => line(other, state),
                };
                let ran = world.copy().json(&line);
                let (exit, applied) = (ran.code.unwrap_or(-1), ran.at("/applied"));
                // Of what is over there is nothing to reconcile, and a new wish is another key.
                let is_over = state.starts_with("verified");
                let is_of_the_key =
                    !is_over || !["replay --all", "reconcile", "scale again"].contains(&command);
                if !is_of_the_key {
                    continue;
                }
                if UNTOUCHED.contains(&exit) || exit == 17 {
                    wrong.push(format!("{state}, {how} × {command}: exit {exit}"));
                }
                // A person's word that it was not applied is what is said then.
                let is_settled = command.starts_with("settle") && exit == 0;
                if applied != left && !is_settled && exit != 11 {
                    wrong.push(format!("{state}, {how} × {command}: {exit}, applied {applied}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_plan_of_a_known_key_ends_as_the_line_itself() {
    let mut wrong = Vec::new();
    for (state, exits) in ROWS {
        let stage = produced(state);
        let scale = COMMANDS.iter().zip(exits).find(|(command, _)| **command == "scale");
        let expected = match state {
            // Only a recorded step finds out what became of it.
            "started, call dead" => 16,
            _ => i32::from(scale.expect("a column").1),
        };
        let plan = SCALE.replace("scale", "plan").replace(" --no-wait", "");
        let before = stage.world.fake_log("effects").len();
        let ran = stage.world.json(&plan);
        if ran.code != Some(expected) {
            let code = ran.at("/error/code");
            wrong.push(format!("{state}: plan {:?} {code}, scale {expected}", ran.code));
        }
        if ran.at("/recorded") != "no" || stage.world.fake_log("effects").len() != before {
            wrong.push(format!("{state}: the plan has done something"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A target that has moved under a wish is told by the plan, too.
#[test]
fn a_plan_tells_what_has_moved_since_its_wish() {
    let stage = stage("", super::ALL, &[], &["service bind web", PUT]);
    std::fs::write(stage.world.fake_dir().join("count"), "7\n").expect("another count");
    for line in [SCALE.replace("scale", "plan").replace(" --no-wait", ""), SCALE.to_owned()] {
        let ran = stage.world.json(&line);
        assert_eq!((ran.code, ran.at("/error/code").as_str()), (Some(10), Some("target_changed")));
    }
}

/// What is found out in passing was not there when the line began, and is not denied by what fails
/// after it.
#[test]
fn a_success_that_was_found_out_is_not_yet_confirmed_where_nothing_can_be_read() {
    for line in ["replay k1", SCALE] {
        let stage = stage("", super::ALL, &["unknown"], &[PUT, "actuate k1"]);
        blind(&stage.world);
        let ran = stage.world.json(line);
        assert_eq!(ran.code, Some(19), "{line}: {ran:#?}");
        assert_eq!(ran.at("/execution/state"), "succeeded", "{line}");
        assert_eq!(ran.at("/warnings/0/code"), "not_confirmed", "{line}");
        assert_eq!(ran.at("/recorded"), "yes", "{line}");
    }
}

/// Somebody has said of the first attempt that it was not applied, and the second one began from
/// another count: whatever that one failed by, "unchanged" is not what holds.
#[test]
fn a_failure_after_a_wrong_word_of_a_person_is_not_unchanged() {
    for (word, exit) in [("fail retryable x", 18), ("fail terminal x", 23)] {
        let lines = ["service bind web", PUT];
        let mut stage = stage("", "inspect\n", &["unknown", word], &lines);
        // The call has changed the count, and nobody knows.
        stage.world.run("actuate k1").exits(16);
        std::fs::write(stage.world.fake_dir().join("count"), "2\n").expect("a part of it");
        stage.world.run("settle k1 --not-applied --reason looked").exits(0);
        stage.world.run("service bind web").exits(0);
        stage.world.still(super::LATER);
        let ran = stage.world.json("actuate k1");
        assert_eq!(ran.code, Some(exit), "{word}: {ran:#?}");
        assert_eq!(ran.at("/applied"), "partial", "{word}");
    }
}

/// What a line would roll back is asked by its plan, too, and by whatever else takes the flag.
#[test]
fn a_plan_rolls_back_what_the_line_would() {
    let half = stage("", super::ALL, &["half 2 retryable"], &[PUT, "actuate k1"]);
    for (line, exit) in [
        ("plan web=0", 11),
        ("plan web=0 --rolls-back k1", 0),
        ("explain web=0 --rolls-back k1", 0),
        ("scale web=0 --rolls-back k1 --dry-run", 0),
        ("plan web=0 --rolls-back nosuch", 24),
        ("override set web=0 --until 1h --rolls-back k1", 0),
        ("scale web=0 --rolls-back k1", 0),
    ] {
        let ran = half.world.copy().json(&format!("{line} --reason r"));
        assert_eq!(ran.code, Some(exit), "{line}: {ran:#?}");
    }
    let accepted = stage("", super::ALL, &[], &[PUT]);
    for line in ["plan web=0 --rolls-back k1", "scale web=0 --rolls-back k1"] {
        let ran = accepted.world.copy().json(&format!("{line} --reason r"));
        assert_eq!((ran.code, ran.at("/error/code")), (Some(10), "wrong_state".into()), "{line}");
    }
    let put = "intent put web --replicas 0 --key k2 --reason r --rolls-back k1";
    let words: Vec<&str> = put.split(' ').collect();
    let line = serde_json::json!({ "command": words }).to_string();
    half.world.write("lines.jsonl", line);
    half.world.run("batch --file lines.jsonl -o ndjson").exits(2);
}

/// A put that cannot even be answered says nothing else of its key than any other step; another
/// wish under a used key is about no call of it.
#[test]
fn a_put_that_fails_denies_nothing_either() {
    let stage = produced("recovery_pending, nobody can tell");
    let mut world = stage.world.copy();
    world.still("2026-01-05T08:00:00Z");
    let plan = SCALE.replace("scale", "plan").replace(" --no-wait", "");
    for line in [SCALE, PUT, plan.as_str()] {
        let ran = world.json(line);
        assert_eq!((ran.code, ran.at("/applied")), (Some(16), "unknown".into()), "{line}");
        assert_eq!(ran.at("/error/code"), "clock_skew", "{line}");
    }
    let other = stage.world.json(&SCALE.replace("web=3", "web=9"));
    assert_eq!((other.code, other.at("/error/code")), (Some(10), "key_conflict".into()));
}

/// A plan reads as the line would, and fails as it would.
#[test]
fn a_plan_that_cannot_read_ends_as_the_line_would() {
    let stage = stage("", super::ALL, &[], &["service bind web"]);
    for (spoil, exit) in [(unbind as fn(&World), 24), (blind, 20)] {
        for line in ["plan web=3 --key n", "scale web=3 --key n", "explain web=3"] {
            let world = stage.world.copy();
            spoil(&world);
            let ran = world.json(&format!("{line} --reason r"));
            assert_eq!(ran.code, Some(exit), "{line}: {ran:#?}");
            assert_eq!(ran.at("/applied"), "no", "{line}");
        }
    }
}

/// The plan of a new wish ends as the line itself, and that one goes on to its first attempt.
#[test]
fn a_plan_of_a_new_wish_ends_as_its_first_attempt() {
    let unknown: &[&str] = &["service bind web", PUT, "actuate k1"];
    let careful = "service put web --drain required";
    let reduced: &[&str] = &["service bind web", PUT, "actuate k1", "observe k1", careful];
    for (words, lines, wish, exit, code) in [
        ("ok", &["service bind web"][..], "web=4", 0, ""),
        ("unknown", unknown, "web=4 --queue", 19, "waits_behind"),
        ("ok", reduced, "web=1", 25, "evidence_missing"),
    ] {
        let stage = stage("", super::ALL, &[words], lines);
        for verb in ["plan", "explain", "scale --dry-run"] {
            let ran = stage.world.json(&format!("{verb} {wish} --reason r"));
            assert_eq!(ran.code, Some(exit), "{verb} {wish}: {ran:#?}");
            assert_eq!(ran.at("/recorded"), "no", "{verb} {wish}");
        }
        let line = format!("scale {wish} --reason r --timeout 1s");
        let ran = stage.world.copy().json(&line);
        assert_eq!(ran.code, Some(exit), "{line}: {ran:#?}");
        if exit != 0 {
            assert_eq!(ran.at("/error/code"), code, "{line}");
        }
    }
}

/// A wish whose fence is over before it can begin.
#[test]
fn a_plan_of_a_wish_that_comes_too_late_says_so() {
    let world = World::with_fake();
    for verb in ["plan", "scale"] {
        let ran = world.json(&format!("{verb} web=4 --valid-for 1ms --reason r"));
        assert_eq!((ran.code, ran.at("/error/code")), (Some(11), "fence_expired".into()), "{verb}");
    }
}

/// A success that cannot be read is not yet confirmed, however often it is asked about: nothing
/// contradicts it.
#[test]
fn a_success_that_cannot_be_read_is_not_yet_confirmed_by_any_line() {
    for state in ["succeeded", "observed"] {
        let stage = produced(state);
        let world = stage.world.copy();
        blind(&world);
        let plan = SCALE.replace("scale", "plan").replace(" --no-wait", "");
        for line in ["observe k1", "replay k1", "replay --all", SCALE, plan.as_str()] {
            for turn in ["first", "second"] {
                let ran = world.json(line);
                assert_eq!(ran.code, Some(19), "{state}: {line}, {turn}: {ran:#?}");
                assert_eq!(ran.at("/recorded"), "no", "{state}: {line}, {turn}");
            }
        }
    }
}

/// Whoever is behind another is told which, and what ends it.
#[test]
fn what_waits_behind_another_has_the_way_of_that_one() {
    let stage = produced("accepted, behind another");
    let ways = stage.world.json("explain k1").exits(0).at("/ways_out");
    assert_eq!(ways[0][0], "scalectl replay web@1 --wait", "{ways}");
}

/// A used key of another service is a conflict, and what that service's calls have left is not said
/// of this one, which nobody has touched.
#[test]
fn a_key_of_another_service_says_nothing_of_this_one() {
    for (word, exit) in [("unknown", 16), ("half 9 terminal", 23)] {
        let stage = stage("", super::ALL, &[word], &[PUT]);
        let world = &stage.world;
        assert_eq!(world.run("actuate k1").code, Some(exit));
        world.run(&super::SERVICE.replace("web", "api")).exits(0);
        for line in [
            SCALE.replace("web=3", "api=3"),
            "scale api=3 --key k1 --reason r --timeout 2s".to_owned(),
            PUT.replace("put web", "put api"),
            "plan api=3 --key k1 --reason r".to_owned(),
        ] {
            let ran = world.copy().json(&line);
            let told = (ran.code, ran.at("/error/code"), ran.at("/applied"));
            assert_eq!(told, (Some(10), "key_conflict".into(), "no".into()), "{word}: {line}");
        }
    }
}

/// A failure that a queued wish goes before is not sent back to itself.
#[test]
fn a_failure_behind_a_queued_wish_has_ways_that_work() {
    let lines = [PUT, "actuate k1", NEWER];
    let mut stage = stage("", super::ALL, &["fail retryable x"], &lines);
    stage.world.still(super::LATER);
    let ways = stage.world.json("explain k1").exits(0).at("/ways_out");
    assert_eq!(ways[0][0], "scalectl actuate web@2", "{ways}");
    let rows = stage.world.json("status web").exits(0).at("/services");
    assert_eq!(rows[0]["next"], "scalectl actuate web@2", "{rows}");
    let ran = stage.world.json("actuate k1").exits(19);
    let next = ran.at("/error/next");
    assert_eq!(next[0], serde_json::json!(["scalectl", "actuate", "web@2"]), "{next}");
    stage.world.run("actuate web@2").exits(0);
    assert_eq!(stage.world.json("intent show k1").at("/execution/outcome"), "failed");
}

/// A line without a key goes on with its own wish, and so does its plan, whatever the clock says.
#[test]
fn a_plan_goes_on_with_what_is_under_way_when_the_clock_is_behind() {
    let lines = [PUT, "actuate k1"];
    for (words, exit) in [("half 9 retryable", 18), ("fail retryable x", 18)] {
        let mut stage = stage("", super::ALL, &[words], &lines);
        stage.world.still("2026-01-05T08:00:00Z");
        for verb in ["plan", "scale --dry-run", "scale --timeout 1s"] {
            let ran = stage.world.copy().json(&format!("{verb} web=3 --reason r"));
            assert_eq!(ran.code, Some(exit), "{words}: {verb}: {ran:#?}");
        }
    }
}
