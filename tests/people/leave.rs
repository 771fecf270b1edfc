//! Who wants to end, hand over or move what somebody has laid a word upon is refused, and the lines
//! of the refusal are the way.

use serde_json::Value;

use crate::support::{Ran, SERVICE, World};

/// The lines of a refusal, as they stand.
fn lines(ran: &Ran) -> Vec<Vec<String>> {
    serde_json::from_value::<Vec<Vec<String>>>(ran.at("/error/next")).unwrap()
}

/// Walks each way: what goes before, the line that is refused and its code, and how many of the
/// lines that are printed are the way. Then the line itself is the end of it.
#[test]
fn the_lines_of_a_refusal_lead_to_what_was_refused() {
    let owned = "service mode web hpa --reason theirs";
    for (before, line, code, way) in [
        (
            &["hold set web --until 1h --reason x"][..],
            "service retire web --reason x",
            "on_hold",
            1,
        ),
        (&["hold set web --until 1h --reason x"], "service put web --workload other", "on_hold", 1),
        (&["hold set web --until 1h --reason x"], owned, "on_hold", 1),
        (
            &["override set web=3 --until 1h --reason x"],
            "service retire web --reason x",
            "pinned",
            1,
        ),
        (&["override set web=3 --until 1h --reason x"], owned, "pinned", 1),
        (
            &["override set web=3 --until 1h --reason x"],
            "service put web --workload other",
            "pinned",
            1,
        ),
        (&[owned], "service put web --workload other --mode native", "mode_mismatch", 2),
        (&[owned], "service put web --workload other", "external_owner", 1),
        (
            &[owned, "service retire web --reason x"],
            "service put web --mode native",
            "mode_mismatch",
            2,
        ),
        (
            &[owned, "service retire web --reason x"],
            "service put web --workload other",
            "external_owner",
            2,
        ),
    ] {
        let world = World::with_fake();
        for line in before {
            world.run(line).exits(0);
        }
        let ran = world.json(line);
        assert_eq!(ran.at("/error/code"), code, "{line}: {ran:#?}");
        assert_eq!(ran.at("/recorded"), Value::from("no"), "{line}");
        let next = lines(&ran);
        for words in &next[..way] {
            let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            world.run_args(&words).exits(0);
        }
        world.run(line).exits(0);
    }
}

/// A target that nobody can read is said; another one is not taken for the same.
#[test]
fn a_target_that_is_said_anew_is_not_said_to_be_there_already() {
    let world = World::new();
    world.init_fake_that(&[]);
    let put = "service put web --actuator fake --writer ops --max 10 --drain none \
               --target-match replicas --cluster c --runtime r --workload web --target-version 1 \
               --target-uid u1";
    world.run(put).exits(0);
    assert_eq!(world.json(put).exits(0).at("/changed"), false);
    let ran = world.json(&put.replace("u1", "u2")).exits(10);
    assert_eq!(ran.at("/error/code"), "target_changed");
    // The line of the refusal is the way, whatever lies upon the service.
    world.run("service bind web").exits(2).says("cannot_inspect");
    world.run("hold set web --until 1h --reason x").exits(0);
    let words = lines(&ran).remove(0);
    let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let said = world.run_args(&words).exits(0);
    assert!(said.stdout.contains("uid u2  version 1  as said: nobody can read it"), "{said:#?}");
    assert_eq!(world.json(&put.replace("u1", "u2")).exits(0).at("/changed"), false);
    assert_eq!(world.json(&words.join(" ")).exits(0).at("/changed"), false);
    world.run("scale web=3 --reason r").exits(12).says("on_hold");
    world.run("hold lift web --reason x").exits(0);
    world.run("scale web=3 --reason r").exits(0);
    let put = put.replace("u1", "u2");
    let ran = world.json(&put.replace("--target-version 1", "--target-version 7")).exits(0);
    assert_eq!(ran.at("/changed"), true);
    assert_eq!(ran.at("/service/binding/target_resource_version"), "7", "{ran:#?}");
}

/// docs/decisions/0058: a recreated object has another uid and the same name, and what is laid upon
/// the service that has the name is no more got around than got rid of.
#[test]
fn a_recreated_object_is_under_the_word_upon_its_name() {
    let api = SERVICE.replace("put web", "put api") + " --workload web";
    let owned = "service mode web hpa --reason theirs";
    for (before, exit, says, ways) in [
        (&["hold set web --until 1h --reason x"][..], 12, "holds web until", 2),
        (&["override set web=3 --until 1h --reason x"], 12, "has pinned web to 3", 2),
        (&[owned], 22, "external_hpa owns the count of web", 2),
        (&[owned, "service retire web --reason x"], 22, "owns the count of web", 3),
    ] {
        let world = World::with_fake();
        for line in before {
            world.run(line).exits(0);
        }
        world.write("fake/uid", "another\n");
        let ran = world.json(&api).exits(exit).says(says);
        assert_eq!(ran.at("/error/code"), "workload_taken", "{before:?}");
        assert_eq!(ran.at("/recorded"), Value::from("no"), "{before:?}");
        world.run("service show api").exits(24);
        let log = world.run("log --event refused").exits(0).stdout;
        assert!(log.contains("workload_taken"), "the refusal is kept: {log}");
        let next = lines(&ran);
        assert_eq!(next.len(), ways, "{next:?}");
        for words in &next {
            let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            world.run_args(&words).exits(0);
        }
        // Whoever had the name has the object now, by every rule.
        assert_eq!(world.json(&api).exits(10).at("/error/code"), "target_taken");
        world.run("verify").exits(0);
    }
    // Nothing lies upon it: a name that is free again is free.
    let world = World::with_fake();
    world.write("fake/uid", "another\n");
    world.run(&api).exits(0);
}
