//! The checks of the contract by the numbers of its rule book, and what a journal may hold.

use super::*;
use crate::domain::id::Replicas;

fn operation(id: &str, revision: Option<&str>, current: u32, desired: u32) -> ScaleOperation {
    ScaleOperation {
        schema_version: 1,
        operation_id: id.to_owned(),
        service: "api".to_owned(),
        expected_revision: revision.map(str::to_owned),
        direction: if desired > current { Direction::Up } else { Direction::Down },
        current_replicas: current,
        desired_replicas: desired,
        reason: "load".to_owned(),
    }
}

fn holds(replicas: u32, revision: u64) -> Holds {
    Holds { replicas: Replicas::from(replicas), revision }
}

fn word(judged: Result<Judged, ScaleConflict>) -> String {
    match judged {
        Ok(Judged::Accept(answer)) => {
            format!("accept {}@{}", answer.actual_replicas, answer.revision.unwrap_or_default())
        }
        Ok(Judged::Replay(answer)) => {
            format!("replay {}@{}", answer.actual_replicas, answer.revision.unwrap_or_default())
        }
        Err(conflict) => conflict.code.as_str().to_owned(),
    }
}

/// A change of an operation, for a row.
type Change = fn(&mut ScaleOperation);

/// A check, an operation, what of it is changed, the room, and what it comes to.
type Row = (&'static str, ScaleOperation, Change, Option<Room>, &'static str);

fn used() -> ScaleOperation {
    operation("used", Some("0"), 0, 2)
}

fn fresh() -> ScaleOperation {
    operation("new", Some("4"), 2, 3)
}

const fn room(others: u64) -> Room {
    Room { max: 10, others }
}

/// The service holds 2 at revision 4 in every row, and `used` was accepted long ago.
fn hold(rows: Vec<Row>) {
    let receipt = Receipt {
        request: used(),
        response: ScaleAnswer {
            accepted: true,
            actual_replicas: 2,
            revision: Some("1".to_owned()),
            message: "as stored".to_owned(),
        },
    };
    for (rule, mut asked, change, room, comes_to) in rows {
        let known = asked.operation_id == "used";
        change(&mut asked);
        let used = if known { Used::By(&receipt) } else { Used::No };
        assert_eq!(word(judge(&asked, used, holds(2, 4), room)), comes_to, "rule {rule}");
    }
}

#[test]
fn identity_comes_first_then_the_shape() {
    hold(vec![
        ("3", used(), |_| {}, None, "replay 2@1"),
        ("3 before 9", used(), |_| {}, Some(room(10)), "replay 2@1"),
        ("4 reason", used(), |it| it.reason.push('!'), None, "operation_conflict"),
        ("4 service", used(), |it| it.service.push('2'), None, "operation_conflict"),
        ("4 revision", used(), |it| it.expected_revision = None, None, "operation_conflict"),
        ("4 direction", used(), |it| it.direction = Direction::Down, None, "operation_conflict"),
        ("4 current", used(), |it| it.current_replicas = 1, None, "operation_conflict"),
        ("4 desired", used(), |it| it.desired_replicas = 3, None, "operation_conflict"),
        ("4 before 5", used(), |it| it.schema_version = 2, None, "operation_conflict"),
        ("4 before 6", used(), |it| it.service = " ".into(), None, "operation_conflict"),
        ("5", fresh(), |it| it.schema_version = 2, None, "unsupported_schema"),
        ("5 none", fresh(), |it| it.schema_version = 0, None, "unsupported_schema"),
        (
            "5 before 6",
            fresh(),
            |it| (it.schema_version, it.service) = (2, String::new()),
            None,
            "unsupported_schema",
        ),
        ("6 id", fresh(), |it| it.operation_id = " \t".into(), None, "invalid_request"),
        ("6 service", fresh(), |it| it.service = String::new(), None, "invalid_request"),
        (
            "6 before 7",
            fresh(),
            |it| (it.service, it.current_replicas) = ("\u{a0}".into(), 9),
            None,
            "invalid_request",
        ),
    ]);
}

#[test]
fn then_the_premise_the_direction_and_the_room() {
    hold(vec![
        ("7 older", fresh(), |it| it.expected_revision = Some("3".into()), None, "stale_revision"),
        (
            "7 as text",
            fresh(),
            |it| it.expected_revision = Some("04".into()),
            None,
            "stale_revision",
        ),
        (
            "7 spaced",
            fresh(),
            |it| it.expected_revision = Some(" 4".into()),
            None,
            "stale_revision",
        ),
        ("7 none", fresh(), |it| it.expected_revision = None, None, "stale_revision"),
        ("7 count", fresh(), |it| it.current_replicas = 1, None, "stale_revision"),
        (
            "7 before 8",
            fresh(),
            |it| (it.current_replicas, it.desired_replicas) = (1, 1),
            None,
            "stale_revision",
        ),
        ("8 up", fresh(), |it| it.desired_replicas = 1, None, "invalid_direction"),
        ("8 down", fresh(), |it| it.direction = Direction::Down, None, "invalid_direction"),
        ("8 same", fresh(), |it| it.desired_replicas = 2, None, "invalid_direction"),
        (
            "8 same down",
            fresh(),
            |it| (it.direction, it.desired_replicas) = (Direction::Down, 2),
            None,
            "invalid_direction",
        ),
        ("8 before 9", fresh(), |it| it.desired_replicas = 2, Some(room(10)), "invalid_direction"),
        ("9", fresh(), |_| {}, Some(room(8)), "capacity_exceeded"),
        (
            "9 does not wrap",
            fresh(),
            |_| {},
            Some(room(u64::from(u32::MAX) + 3)),
            "capacity_exceeded",
        ),
        (
            "9 down, too",
            fresh(),
            |it| (it.direction, it.desired_replicas) = (Direction::Down, 1),
            Some(room(10)),
            "capacity_exceeded",
        ),
        (
            "9 zero fits",
            fresh(),
            |it| (it.direction, it.desired_replicas) = (Direction::Down, 0),
            Some(room(12)),
            "accept 0@5",
        ),
        ("10", fresh(), |_| {}, Some(room(7)), "accept 3@5"),
        ("10 most", fresh(), |it| it.desired_replicas = u32::MAX, None, "accept 4294967295@5"),
    ]);
}

#[test]
fn a_key_that_no_operation_has_made_is_a_conflict() {
    let asked = operation("new", Some("0"), 0, 1);
    assert_eq!(word(judge(&asked, Used::Otherwise, holds(0, 0), None)), "operation_conflict");
}

#[test]
fn a_refusal_says_where_the_service_stands_and_nothing_live() {
    let asked = operation("new", Some("3"), 2, 3);
    let conflict = judge(&asked, Used::No, holds(2, 4), None).expect_err("stale");
    let stands = ScaleObservation {
        replicas: 2,
        revision: Some("4".to_owned()),
        ready_replicas: 0,
        endpoints: Vec::new(),
    };
    assert_eq!(conflict.observation, stands);
    let most = Holds { replicas: Replicas::MAX, revision: 4 };
    let conflict = judge(&asked, Used::No, most, None).expect_err("stale");
    assert_eq!(conflict.observation.replicas, u32::MAX, "never wrapped");
}

#[test]
fn a_replay_is_byte_for_byte_what_was_stored() {
    let mut response = ScaleAnswer {
        accepted: false,
        actual_replicas: 7,
        revision: Some("1".to_owned()),
        message: "anything \u{1F600}".to_owned(),
    };
    let request = operation("used", Some("0"), 0, 2);
    let receipt = Receipt { request: request.clone(), response: response.clone() };
    let judged = judge(&request, Used::By(&receipt), holds(0, 9), None);
    assert_eq!(judged, Ok(Judged::Replay(response.clone())));
    response.actual_replicas = 8;
    assert_ne!(judged, Ok(Judged::Replay(response)));
}

#[test]
fn another_answer_is_taken_for_the_same_operation_and_revision_only() {
    let answer = |replicas, revision: Option<&str>| ScaleAnswer {
        accepted: true,
        actual_replicas: replicas,
        revision: revision.map(str::to_owned),
        message: "ready".to_owned(),
    };
    let request = operation("used", Some("0"), 0, 2);
    let stored = Receipt { request: request.clone(), response: answer(2, Some("1")) };
    let asked = |request: &ScaleOperation, replicas, revision| Receipt {
        request: request.clone(),
        response: answer(replicas, revision),
    };
    let mut other = request.clone();
    other.reason.push('!');
    let rows = [
        ("as it is", Some(&stored), asked(&request, 2, Some("1")), "same"),
        ("another count", Some(&stored), asked(&request, 1, Some("1")), "new"),
        ("1 no receipt", None, asked(&request, 2, Some("1")), "authority_state_error"),
        (
            "2 another operation",
            Some(&stored),
            asked(&other, 2, Some("1")),
            "authority_state_error",
        ),
        (
            "3 another revision",
            Some(&stored),
            asked(&request, 2, Some("2")),
            "authority_state_error",
        ),
        ("3 no revision", Some(&stored), asked(&request, 2, None), "authority_state_error"),
    ];
    for (rule, stored, asked, comes_to) in rows {
        let told = match finalized(stored, &asked, holds(2, 1)) {
            Ok(true) => "new",
            Ok(false) => "same",
            Err(conflict) => conflict.code.as_str(),
        };
        assert_eq!(told, comes_to, "{rule}");
    }
}

/// A journal with two accepted operations of `api` and none left of `db`.
fn journal() -> serde_json::Value {
    let receipt = |id: &str, before: u64, current: u32, desired: u32| {
        serde_json::json!({
            "request": operation(id, Some(&before.to_string()), current, desired),
            "response": ScaleAnswer {
                accepted: true,
                actual_replicas: desired,
                revision: Some((before + 1).to_string()),
                message: "accepted elsewhere".to_owned(),
            },
        })
    };
    serde_json::json!({
        "schema_version": 1,
        "targets": {"api": 3, "db": 4},
        "revisions": {"api": 7, "db": 2, "gone": 1},
        "receipts": [receipt("a", 5, 0, 2), receipt("b", 6, 2, 3)],
    })
}

fn checked(journal: serde_json::Value) -> Result<Vec<(String, Journaled)>, String> {
    let journal: Journal = serde_json::from_value(journal).map_err(|error| error.to_string())?;
    journal.checked().map(|it| it.into_iter().collect()).map_err(|error| error.to_string())
}

#[test]
fn a_journal_says_what_each_service_was_before_its_receipts() {
    let services = checked(journal()).expect("a sound journal");
    let told: Vec<(&str, u64, u32, usize)> = services
        .iter()
        .map(|(name, it)| (name.as_str(), it.revision, it.replicas, it.receipts.len()))
        .collect();
    assert_eq!(told, [("api", 5, 0, 2), ("db", 2, 4, 0), ("gone", 1, 0, 0)]);
}

#[test]
fn what_the_rules_cannot_have_written_is_no_journal() {
    type Damage = fn(&mut serde_json::Value);
    let rows: [(&str, Damage, &str); 19] = [
        ("schema", |it| it["schema_version"] = 2.into(), "schema_version"),
        ("no receipts", |it| drop(it.as_object_mut().expect("one").remove("receipts")), "receipts"),
        ("no targets", |it| drop(it.as_object_mut().expect("one").remove("targets")), "targets"),
        ("blank", |it| it["revisions"][" "] = 1.into(), "without a name"),
        ("no revision", |it| it["targets"]["x"] = 1.into(), "no revision"),
        ("past u32", |it| it["targets"]["db"] = 4_294_967_296_u64.into(), "u32"),
        ("negative", |it| it["revisions"]["db"] = (-1).into(), "u64"),
        ("never accepted", |it| it["revisions"]["db"] = 0.into(), "nothing was ever accepted"),
        ("too far", |it| it["revisions"]["db"] = u64::MAX.into(), "past"),
        ("twice", |it| it["receipts"][1]["request"]["operation_id"] = "a".into(), "a second \"a\""),
        (
            "blank id",
            |it| it["receipts"][1]["request"]["operation_id"] = " ".into(),
            "could not have been accepted",
        ),
        (
            "unknown service",
            |it| it["receipts"][1]["request"]["service"] = "x".into(),
            "has no target",
        ),
        ("refusal", |it| it["receipts"][1]["response"]["accepted"] = false.into(), "is a refusal"),
        (
            "nameless revision",
            |it| it["receipts"][1]["response"]["revision"] = "07".into(),
            "names no revision",
        ),
        (
            "wrong premise",
            |it| it["receipts"][1]["request"]["expected_revision"] = "5".into(),
            "could not have been accepted",
        ),
        (
            "other schema",
            |it| it["receipts"][0]["request"]["schema_version"] = 2.into(),
            "could not have been accepted",
        ),
        (
            "wrong way",
            |it| it["receipts"][0]["request"]["direction"] = "Down".into(),
            "could not have been accepted",
        ),
        ("a gap", |it| it["revisions"]["api"] = 8.into(), "its receipts end with"),
        ("another end", |it| it["targets"]["api"] = 2.into(), "its receipts end with"),
    ];
    for (what, damage, says) in rows {
        let mut damaged = journal();
        damage(&mut damaged);
        let error = checked(damaged).expect_err(what);
        assert!(error.contains(says), "{what}: {error}");
    }
    let mut turned = journal();
    turned["receipts"].as_array_mut().expect("a list").reverse();
    let error = checked(turned).expect_err("turned round");
    assert!(error.contains("operation \"a\" goes from 0 to revision 6, after 3 at 7"), "{error}");
}

#[test]
fn every_refusal_of_our_gates_has_a_word() {
    use crate::domain::scale::rejection::Rejection;
    let service = || service_name("api");
    let rows = [
        (Rejection::FenceMissing { service: service() }, Code::ExternalOwner),
        (Rejection::NoSuchService { service: service() }, Code::UnknownService),
        (Rejection::Contradiction("x".to_owned()), Code::OutOfBounds),
        (
            Rejection::PremiseMoved {
                service: service(),
                expected: Replicas::MIN,
                actual: Replicas::MAX,
            },
            Code::OperationConflict,
        ),
    ];
    for (rejection, code) in rows {
        assert_eq!(code_of(&rejection), code, "{rejection}");
    }
}
