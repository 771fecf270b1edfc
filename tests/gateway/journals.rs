//! The journal of a gateway's own authority goes on here, as a whole or not at all.

use serde_json::{Value, json};

use super::{apply, observed, operation, world, written};

fn receipt(request: &Value, revision: u64, actual: u32) -> Value {
    let response = json!({
        "accepted": true, "actual_replicas": actual, "revision": revision.to_string(),
        "message": "Accepted elsewhere \u{1F600}",
    });
    json!({"request": request, "response": response})
}

/// `api` with its last two receipts, `a b` with none left, and one that was only ever at zero.
fn journal() -> Value {
    json!({
        "schema_version": 1,
        "targets": {"api": 3, "a b": 4},
        "revisions": {"api": 7, "a b": 2, "gone": 1},
        "receipts": [
            receipt(&operation("a", 5, 0, 2), 6, 1),
            receipt(&operation("b", 6, 2, 3), 7, 3),
        ],
        "more": "is ignored",
    })
}

fn import(world: &crate::support::World, journal: &Value) -> crate::support::Ran {
    world.run_with("-o json gateway import -", journal.to_string().as_bytes())
}

#[test]
fn what_was_accepted_elsewhere_is_answered_as_there_and_goes_on() {
    let world = world();
    let ran = import(&world, &journal()).exits(0);
    assert_eq!(ran.at("/changed"), true);
    assert_eq!(ran.at("/imported").as_array().unwrap().len(), 3);
    assert_eq!(observed(&world, "api"), (3, "7".to_owned()));
    assert_eq!(observed(&world, "a b"), (4, "2".to_owned()));
    assert_eq!(observed(&world, "gone"), (0, "1".to_owned()));
    // Exact replays, and a used id is not judged anew.
    let replay = apply(&world, &operation("a", 5, 0, 2)).exits(0).json();
    assert_eq!(replay, journal()["receipts"][0]["response"]);
    let mut other = operation("a", 5, 0, 2);
    other["reason"] = "another".into();
    assert_eq!(apply(&world, &other).exits(10).json()["code"], "operation_conflict");
    // The same journal again is the same import.
    let before = written(&world);
    assert_eq!(import(&world, &journal()).exits(0).at("/changed"), false);
    assert_eq!(written(&world), before);
    assert_eq!(apply(&world, &operation("c", 7, 3, 1)).exits(0).json()["revision"], "8");
    assert_eq!(import(&world, &journal()).exits(0).at("/changed"), false);
    assert_eq!(observed(&world, "api"), (1, "8".to_owned()));
    let mut other = operation("d", 2, 4, 5);
    other["service"] = "a b".into();
    assert_eq!(apply(&world, &other).exits(0).json()["revision"], "3");
    world.run("verify").exits(0);
}

#[test]
fn a_journal_that_does_not_fit_is_refused_as_a_whole() {
    type Damage = fn(&mut Value);
    let rows: [(&str, Damage, &str); 5] = [
        ("a gap", |it| it["revisions"]["api"] = 8.into(), "journal_corrupt"),
        (
            "no target",
            |it| drop(it["targets"].as_object_mut().unwrap().remove("api")),
            "journal_corrupt",
        ),
        ("schema", |it| it["schema_version"] = 2.into(), "journal_corrupt"),
        (
            "no receipts",
            |it| drop(it.as_object_mut().unwrap().remove("receipts")),
            "document_shape",
        ),
        ("past u32", |it| it["targets"]["a b"] = 4_294_967_296_u64.into(), "document_shape"),
    ];
    let world = world();
    let before = written(&world);
    for (what, damage, code) in rows {
        let mut damaged = journal();
        damage(&mut damaged);
        let ran = import(&world, &damaged).exits(2);
        assert_eq!(ran.at("/error/code"), code, "{what}");
    }
    // Two of one name: readers would disagree.
    let twice = r#"{"schema_version":1,"targets":{},"targets":{},"revisions":{},"receipts":[]}"#;
    world.run_with("gateway import -", twice.as_bytes()).exits(2).says("document_syntax");
    world.run_with("gateway import -", b"").exits(2).says("document_empty");
    assert_eq!(written(&world), before);
}

#[test]
fn what_has_wishes_of_its_own_is_not_imported_over() {
    let world = world();
    let mut other = operation("x", 0, 0, 1);
    other["service"] = "gone".into();
    apply(&world, &other).exits(0);
    let before = written(&world);
    import(&world, &journal()).exits(2);
    assert_eq!(written(&world), before, "nothing of the others either");
    assert_eq!(observed(&world, "api"), (0, "0".to_owned()));
}

#[test]
fn an_empty_journal_and_a_later_one_of_another_service_are_fine() {
    let world = world();
    let empty = json!({"schema_version": 1, "targets": {}, "revisions": {}, "receipts": []});
    assert_eq!(import(&world, &empty).exits(0).at("/changed"), false);
    let one = json!({
        "schema_version": 1, "targets": {"db": 1}, "revisions": {"db": 1}, "receipts": [],
    });
    import(&world, &one).exits(0);
    import(&world, &journal()).exits(0);
    assert_eq!(observed(&world, "db"), (1, "1".to_owned()));
    world.run("verify").exits(0);
}
