//! Deaths at every commit, and a disk that takes nothing.

use super::{apply, observed, operation, world, written};
use crate::support::World;
use crate::support::postgres::sqlite_only;

fn dies(world: &mut World, point: &str, line: &str, stdin: &[u8]) {
    let mark = world.path("mark");
    world.set("SCALECTL_TEST_CRASH", format!("{point}#1"));
    world.set("SCALECTL_TEST_CRASH_MARK", mark.to_str().expect("UTF-8"));
    let ran = world.run_with(line, stdin);
    world.unset("SCALECTL_TEST_CRASH").unset("SCALECTL_TEST_CRASH_MARK");
    assert_eq!(ran.code, None, "{point}: {ran:#?}");
    assert!(mark.exists(), "{point}: it did not die there");
}

#[test]
fn an_operation_that_dies_is_there_as_a_whole_or_not_at_all() {
    for (point, is_there) in [("before_commit", false), ("after_commit", true)] {
        let mut world = world();
        let first = operation("a", 0, 0, 2);
        dies(&mut world, point, "gateway apply --file -", first.to_string().as_bytes());
        let holds = if is_there { (2, "1".to_owned()) } else { (0, "0".to_owned()) };
        assert_eq!(observed(&world, "api"), holds, "{point}");
        // The same operation again comes to the same answer.
        let body = apply(&world, &first).exits(0).json();
        assert_eq!((&body["revision"], &body["actual_replicas"]), (&"1".into(), &2.into()));
        assert_eq!(observed(&world, "api"), (2, "1".to_owned()));
        world.run("verify").exits(0);
    }
}

#[test]
fn an_import_that_dies_has_taken_over_all_or_nothing() {
    let journal = r#"{"schema_version":1,"targets":{"a":1,"b":2},"revisions":{"a":3,"b":4},
        "receipts":[]}"#;
    for (point, held) in [("before_commit", 0), ("after_commit", 2)] {
        let mut world = world();
        dies(&mut world, point, "gateway import -", journal.as_bytes());
        assert_eq!(observed(&world, "b").0, held, "{point}");
        let changed = world.run_with("-o json gateway import -", journal.as_bytes()).exits(0);
        assert_eq!(changed.at("/changed"), held == 0, "{point}");
        assert_eq!(observed(&world, "a"), (1, "3".to_owned()));
        world.run("verify").exits(0);
    }
}

#[test]
fn a_finalization_that_dies_is_made_by_the_same_line() {
    for point in ["before_commit", "after_commit"] {
        let mut world = world();
        let request = operation("a", 0, 0, 2);
        apply(&world, &request).exits(0);
        let response = serde_json::json!({
            "accepted": true, "actual_replicas": 1, "revision": "1", "message": "ready",
        });
        let asked = serde_json::json!({"request": request, "response": response}).to_string();
        dies(&mut world, point, "gateway finalize --file -", asked.as_bytes());
        world.run_with("gateway finalize --file -", asked.as_bytes()).exits(0);
        assert_eq!(apply(&world, &request).exits(0).json(), response);
        world.run("verify").exits(0);
    }
}

/// What is answered from the ledger needs no room on its disk.
#[test]
fn a_replay_is_answered_while_another_writer_holds_the_ledger() {
    sqlite_only!("one writer at a time");
    let world = world();
    let first = operation("a", 0, 0, 2);
    let accepted = apply(&world, &first).exits(0).stdout;
    let before = written(&world);
    let held = world.lock();
    let again =
        world.run_with("gateway apply --file - --lock-timeout 0s", first.to_string().as_bytes());
    drop(held);
    assert_eq!(again.exits(0).stdout, accepted);
    assert_eq!(written(&world), before);
}
