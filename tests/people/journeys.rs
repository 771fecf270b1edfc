//! A pipeline that asks a colleague (J5): what it was asked about holds, a claim is nothing, and
//! the same line goes on.

use super::two_persons;
use crate::support::World;

const SHRINK: &str = "scale batch=2 --key gh/987/batch-down --reason nightly";

/// `batch` at eight, and a pipeline whose run is known.
fn pipeline() -> World {
    let mut world = two_persons(World::new());
    let line = crate::support::SERVICE.replace("web", "batch");
    world.run(&format!("{line} --backoff 0s")).exits(0);
    world.run("scale batch=8 --reason begin --timeout 20s").exits(0);
    world.set("GITHUB_SERVER_URL", "https://github.com");
    world.set("GITHUB_REPOSITORY", "acme/shop");
    world.set("GITHUB_RUN_ID", "987");
    world.set("SCALECTL_ACTOR", "ci");
    world
}

/// Another person looks at the ledger: on PostgreSQL that is another role.
fn colleague(world: &mut World) {
    world.be("ops2:1002");
    world.set("SCALECTL_ACTOR", "ops2");
}

#[test]
fn a_pipeline_asks_and_goes_on_once_a_colleague_has_agreed() {
    let mut world = pipeline();
    let asked = world.json(SHRINK).exits(13);
    assert_eq!(asked.at("/error/code"), "approval_required");
    assert_eq!((asked.at("/recorded"), asked.at("/applied")), ("yes".into(), "no".into()));
    assert!(asked.stderr.contains("approval grant"), "{asked:#?}");
    let listed = world.json("approval list --check").exits(26);
    assert_eq!(listed.at("/error/code"), "unanswered");
    let name = listed.at("/approvals/0/approval_id").as_str().unwrap().to_owned();
    // The same line meanwhile is the same question.
    world.run(SHRINK).exits(13);
    assert_eq!(world.json("approval list").at("/approvals").as_array().unwrap().len(), 1);

    colleague(&mut world);
    let shown = world.run(&format!("approval show {name}")).exits(0);
    for part in ["8 → 2", "acme/shop/actions/runs/987", "nightly", "only while the count is 8"] {
        assert!(shown.stdout.contains(part), "no {part:?} in {shown:#?}");
    }
    world.run(&format!("approval grant {name} --reason quiet")).exits(0);
    world.run("approval list --check").exits(0);
    // The grant has changed no target.
    assert_eq!(world.json("service show batch").at("/service/binding/replicas"), 8);

    world.be("ci:1001");
    world.set("SCALECTL_ACTOR", "ci");
    let done = world.json(SHRINK).exits(0);
    assert_eq!(done.at("/execution/outcome"), "converged");
    let over = world.json("approval list --all").exits(0);
    assert_eq!(over.at("/approvals/0/status"), "used");
    world.run(SHRINK).exits(0);
    assert_eq!(world.fake_log("effects").len(), 3, "the re-run calls nobody");
    world.run("verify").exits(0);
}

/// Without a key, the same line while its question waits is the same question, and goes on once
/// somebody has agreed; from another count it is another one.
#[test]
fn a_line_without_a_key_goes_on_with_its_own_question() {
    let mut world = pipeline();
    let line = "scale batch=2 --reason nightly";
    world.json(line).exits(13);
    let planned = world.json("plan batch=2").exits(13);
    assert_eq!(planned.at("/recorded"), "no");
    let again = world.json(line).exits(13);
    assert_eq!((again.at("/recorded"), again.at("/changed")), ("no".into(), false.into()));
    let listed = world.json("approval list");
    assert_eq!(listed.at("/approvals").as_array().unwrap().len(), 1);
    let name = listed.at("/approvals/0/approval_id").as_str().unwrap().to_owned();
    colleague(&mut world);
    world.run(&format!("approval grant {name} --reason quiet")).exits(0);
    world.be("ci:1001");
    world.set("SCALECTL_ACTOR", "ci");
    assert_eq!(world.json(line).exits(0).at("/execution/outcome"), "converged");
    // What nobody can agree to any more is asked anew.
    let line = "scale batch=1 --reason nightly";
    world.json(line).exits(13);
    std::fs::write(world.fake_dir().join("count"), "5\n").unwrap();
    std::fs::write(world.fake_dir().join("version"), "9\n").unwrap();
    assert_eq!(world.json(line).exits(13).at("/recorded"), "yes");
    world.run("verify").exits(0);
}

/// An attempt has left half of it, and then the count is somebody else's: that is no refusal of an
/// untouched target, and what is told to end it does.
#[test]
fn an_approval_that_has_moved_after_an_attempt_is_abandoned() {
    let mut world = pipeline();
    world.run("service put batch --target-match replicas").exits(0);
    world.json(SHRINK).exits(13);
    colleague(&mut world);
    world.run("approval grant gh/987/batch-down --reason quiet").exits(0);
    world.be("ci:1001");
    world.set("SCALECTL_ACTOR", "ci");
    world.script(&["ok", "ok", "half 6 retryable"]);
    world.run("actuate gh/987/batch-down").exits(18);
    std::fs::write(world.fake_dir().join("count"), "50\n").unwrap();
    world.run("service bind batch").exits(0);
    let moved = world.json("actuate gh/987/batch-down").exits(23);
    assert_eq!(moved.at("/error/code"), "approval_moved");
    assert_eq!(moved.at("/applied"), "partial");
    let next = moved.at("/error/next/0");
    assert_eq!(next[2], "abandon", "{next}");
    let words: Vec<&str> =
        next.as_array().unwrap()[1..].iter().filter_map(serde_json::Value::as_str).collect();
    let ended = world.json(&words.join(" ")).exits(0);
    assert_eq!(ended.at("/applied"), "partial");
}

/// What was agreed to was asked about eight; by then it is fifty.
#[test]
fn an_approval_holds_for_the_count_that_it_was_asked_about() {
    let mut world = pipeline();
    world.run(SHRINK).exits(13);
    let set = |world: &World, count: u32, version: u32| {
        std::fs::write(world.fake_dir().join("count"), format!("{count}\n")).unwrap();
        std::fs::write(world.fake_dir().join("version"), format!("{version}\n")).unwrap();
    };
    set(&world, 50, 90);
    colleague(&mut world);
    let moved = world.json("approval grant batch@latest --reason r").exits(10);
    assert_eq!(moved.at("/error/code"), "approval_moved");
    // It is asked about eight again, and moves after the answer.
    set(&world, 8, 91);
    world.run("approval grant batch@latest --reason r").exits(0);
    set(&world, 50, 92);
    world.be("ci:1001");
    let moved = world.json(SHRINK).exits(10);
    assert_eq!(moved.at("/applied"), "no");
    assert_eq!(world.fake_log("effects").len(), 2);
}

#[test]
fn a_line_may_wait_for_its_colleague() {
    let mut world = pipeline();
    let waiting = world.start(&format!("{SHRINK} --wait-approval --timeout 60s"));
    world.until("it asks", || world.run("approval list --check").code == Some(26));
    let name = world.json("approval list").at("/approvals/0/approval_id");
    colleague(&mut world);
    let grant = format!("approval grant {} --reason r", name.as_str().unwrap());
    world.run(&grant).exits(0);
    let ended = waiting.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(world.fake_log("effects").len(), 3);
}

#[test]
fn whoever_waits_is_told_of_a_no_and_of_the_end_of_their_own_time() {
    let mut world = pipeline();
    world.run(&format!("{SHRINK} --wait-approval --timeout 1s")).exits(13);
    let waiting = world.start(&format!("{SHRINK} --wait-approval --timeout 60s"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    colleague(&mut world);
    world.run("approval deny batch@latest --reason not-tonight").exits(0);
    let ended = waiting.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(12), "{ended:?}");
    let answered = world.json("approval list --all").exits(0);
    assert_eq!(answered.at("/approvals/0/status"), "denied");
    // A no is for good, and a yes after it is none.
    world.run("approval grant batch@latest --reason sorry").exits(12);
    assert_eq!(world.fake_log("effects").len(), 2);
}

#[test]
fn a_question_that_nobody_answers_in_time_is_over() {
    let mut world = two_persons(World::new());
    world.still("2027-01-05T10:00:00Z");
    world.run("scale web=2 --key k1 --approve-within 1h --reason r").exits(13);
    world.run("approval list --check").exits(26);
    world.still("2027-01-05T11:00:00Z");
    world.run("approval list --check").exits(0);
    colleague(&mut world);
    let late = world.json("approval grant k1 --reason r").exits(10);
    assert_eq!(late.at("/error/code"), "approval_expired");
    let all = world.json("approval list --all").exits(0);
    assert_eq!(all.at("/approvals/0/status"), "expired", "it is kept");
}

/// The page on which a colleague decides says what runs now, also where the last confirming reading
/// said something else.
#[test]
fn whoever_answers_sees_the_newest_count() {
    let mut world = pipeline();
    std::fs::write(world.fake_dir().join("count"), "7\n").expect("ours");
    world.run(SHRINK).exits(13);
    colleague(&mut world);
    let listed = world.json("approval list");
    let id = listed.at("/approvals/0/approval_id").as_str().expect("a name").to_owned();
    let shown = world.json(&format!("approval show {id}")).exits(0);
    assert_eq!(shown.at("/current/reading/replicas"), 7, "{shown:#?}");
    let shown = world.run(&format!("approval show {id}")).exits(0);
    assert!(shown.stdout.contains("read          7 of 7 running"), "{shown:#?}");
}
