//! The schemas say what the code says: the same documents fit and the same are refused.

mod told;

use std::path::Path;

use scalectl::domain::canonical::read_document;
use scalectl::domain::scale::intent::IntentRecord;
use scalectl::domain::scale::result::{ActuationRequest, ActuationResult};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::in_repository;
use crate::support::World;
use crate::support::schema::Schema;

fn committed(path: &str) -> Value {
    let text = std::fs::read_to_string(in_repository(path)).expect("a fixture");
    serde_json::from_str(&text).expect("JSON")
}

/// Changes that a member of a kind is put through, and whether it then still fits.
const IDENTIFIERS: [(&str, bool); 8] = [
    ("\"a\"", true),
    ("\"A.b_c:d/e-9\"", true),
    ("\"\"", false),
    ("\"-a\"", false),
    ("\"a b\"", false),
    ("\"a@1\"", false),
    ("7", false),
    ("null", false),
];
const NUMBERS: [(&str, bool); 9] = [
    ("1", true),
    ("9007199254740991", true),
    ("9007199254740992", false),
    ("0", false),
    ("-1", false),
    ("1.0", false),
    ("\"1\"", false),
    ("true", false),
    ("null", false),
];
const COUNTS: [(&str, bool); 5] =
    [("0", true), ("9007199254740991", true), ("-1", false), ("2.5", false), ("\"3\"", false)];
const INSTANTS: [(&str, bool); 9] = [
    ("\"2026-01-01T12:00:00Z\"", true),
    ("\"2026-01-01t12:00:00.1z\"", true),
    ("\"2026-01-01T12:00:00.123456+02:00\"", true),
    ("\"2026-01-01T12:00:00\"", false),
    ("\"2026-01-01T12:00:00.1234567Z\"", false),
    ("\"2026-01-01 12:00:00Z\"", false),
    ("\"2026-01-01T12:00:60Z\"", false),
    ("\"now\"", false),
    ("1767268800", false),
];
const BOOLEANS: [(&str, bool); 3] = [("0", false), ("\"false\"", false), ("null", false)];

/// A document with one member changed, or taken away.
fn changed(document: &Value, pointer: &str, to: Option<&str>) -> Value {
    let mut changed = document.clone();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let parent = changed.pointer_mut(parent).and_then(Value::as_object_mut).expect("a member");
    match to {
        Some(text) => {
            let value = serde_json::from_str(text).expect("JSON");
            parent.insert(name.to_owned(), value);
        }
        None => {
            parent.remove(name);
        }
    }
    changed
}

/// The pointers of all members, with nested ones.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    for (name, below) in value.as_object().into_iter().flatten() {
        let at = format!("{at}/{name}");
        pointers(below, &at, found);
        found.push(at);
    }
}

/// Holds the verdict of a schema equal to that of the type, for one document.
#[track_caller]
fn agree<T: DeserializeOwned>(schema: &Schema, document: &Value) -> bool {
    let problems = schema.problems(document);
    let read = read_document::<T>(document.to_string().as_bytes());
    let why = read.as_ref().err().map(ToString::to_string);
    assert_eq!(problems.is_empty(), read.is_ok(), "{document:#}\n{problems:#?}\n{why:?}");
    read.is_ok()
}

/// Values with their verdicts, and the members that are put through them.
type Kind<'a> = (&'a [(&'a str, bool)], &'a [&'a str]);

/// Puts a good document through every change, and holds schema and type together.
fn walk<T: DeserializeOwned>(schema: &Schema, good: &Value, kinds: &[Kind<'_>]) -> Vec<Value> {
    let mut refused = Vec::new();
    assert!(agree::<T>(schema, good));
    for (changes, members) in kinds {
        for (pointer, (to, fits)) in
            members.iter().flat_map(|member| changes.iter().map(move |change| (member, change)))
        {
            let document = changed(good, pointer, Some(to));
            assert_eq!(agree::<T>(schema, &document), *fits, "{pointer} = {to}");
            if !fits {
                refused.push(document);
            }
        }
    }
    // Every member is missing once, and every object has a stranger once.
    let mut all = Vec::new();
    pointers(good, "", &mut all);
    for pointer in all {
        agree::<T>(schema, &changed(good, &pointer, None));
        if good.pointer(&pointer).is_some_and(Value::is_object) {
            let document = changed(good, &format!("{pointer}/stranger"), Some("1"));
            assert!(!agree::<T>(schema, &document), "{pointer}/stranger");
            refused.push(document);
        }
    }
    let stranger = changed(good, "/stranger", Some("1"));
    assert!(!agree::<T>(schema, &stranger));
    refused.push(stranger);
    refused
}

fn long(chars: usize) -> String {
    format!("\"{}\"", "é".repeat(chars))
}

#[test]
fn an_intent_fits_its_schema_exactly_if_the_binary_takes_it() {
    let world = World::with_fake();
    let put = world.json("intent put web --replicas 3 --key k1 --reason up --expect-revision 0");
    let good = put.exits(0).at("/intent");
    let schema = Schema::named("intent");
    let (most, over) = (long(512), long(513));
    let reasons = [(&*most, true), (&*over, false), ("\"\"", false), ("\"\\u0000\"", false)];
    let backoffs = [("0", true), ("3600", true), ("0.5", true), ("3600.001", false), ("-1", false)];
    let mut refused = walk::<IntentRecord>(
        &schema,
        &good,
        &[
            (
                &IDENTIFIERS,
                &["/intent_id", "/execution_key", "/replica_writer_id", "/target/target_uid"],
            ),
            (&NUMBERS, &["/intent_revision", "/expected_unit_revision", "/fence/fence_token"]),
            (&COUNTS[2..], &["/desired_replicas", "/min_replicas", "/max_replicas"]),
            (&INSTANTS, &["/created_at", "/fence/expires_at"]),
            (&reasons, &["/reason"]),
            (&backoffs, &["/retry_policy/backoff_s"]),
            (
                &[("1", true), ("8", true), ("9", false), ("0", false)],
                &["/retry_policy/max_attempts"],
            ),
            (&[("\"delegated\"", true), ("\"external_hpa\"", false)], &["/controller_mode"]),
            (&[("\"1\"", true), ("\"2\"", false), ("1", false)], &["/schema_version"]),
        ],
    );
    // What a schema cannot say, the type does.
    let bounds = changed(&good, "/max_replicas", Some("2"));
    assert!(schema.problems(&bounds).is_empty());
    refused.push(bounds);
    let events = |world: &World| world.json("verify").exits(0).at("/events");
    let before = events(&world);
    for document in refused.iter().step_by(3) {
        let ran = world.run_with("intent put web --file -", document.to_string().as_bytes());
        assert_eq!(ran.code, Some(2), "{document:#}\n{ran:#?}");
    }
    assert_eq!(events(&world), before);
    // The record that came out goes in again, and is the same one.
    let again = world.run_with("intent put web --file - -o json", good.to_string().as_bytes());
    assert_eq!(again.exits(0).at("/replayed"), true);
}

#[test]
fn a_result_fits_its_schema_exactly_if_it_is_read() {
    let schema = Schema::named("result");
    for path in ["apply.succeeded", "apply.failed", "lookup.applied"] {
        let answer = committed(&format!("fixtures/protocol/{path}.json"));
        let good = &answer["result"];
        let (most, over) = (long(512), long(513));
        walk::<ActuationResult>(
            &schema,
            good,
            &[
                (&IDENTIFIERS, &["/execution_key", "/target/workload_id"]),
                (&IDENTIFIERS[..7], &["/actuator_operation_id"]),
                (&COUNTS, &["/observed_replicas"]),
                (&BOOLEANS, &["/scaled", "/retryable"]),
                (&[("\"started\"", false), ("\"Failed\"", false)], &["/state"]),
                (&[(&*most, true), (&*over, false), ("null", false)], &["/detail"]),
            ],
        );
    }
    // The rules between the members.
    let good = &committed("fixtures/protocol/apply.succeeded.json")["result"];
    for state in ["simulated", "succeeded", "failed"] {
        for scaled in [true, false] {
            for count in [json!(null), json!(3)] {
                for code in [json!(null), json!("boom")] {
                    let mut document = good.clone();
                    document["state"] = json!(state);
                    document["scaled"] = json!(scaled);
                    document["observed_replicas"] = count.clone();
                    document["error_code"] = code;
                    agree::<ActuationResult>(&schema, &document);
                }
            }
        }
    }
}

/// An actuator that keeps what it was asked and says that nothing was done.
const KEEPS: &str = r#"read -r request; printf '%s\n' "$request" >>asked
case $request in
*'"op":"describe"'*) echo '{"protocol":"scalectl.actuator/1","name":"keeps","version":"1"}' ;;
*) echo '{"protocol":"scalectl.actuator/1","error":{"code":"nothing_done"}}' ;;
esac"#;

#[test]
fn a_request_fits_its_schema_exactly_if_it_is_read() {
    let world = World::new();
    world.init_fake();
    let asked = world.path("asked");
    let script = KEEPS.replace(">>asked", &format!(">>{}", asked.display()));
    world.run_args(&["actuator", "put", "keeps", "--", "/bin/sh", "-c", &script]).exits(0);
    world
        .run(
            "service put web --actuator keeps --max 10 --cluster c --runtime r --target-uid u \
             --target-version 1 --drain none",
        )
        .exits(0);
    world.run("intent put web --replicas 3 --key k1 --reason up").exits(0);
    world.run("actuate k1").exits(17);
    let good = last_request(&asked);
    assert_eq!(good["execution_key"], "k1");
    walk::<ActuationRequest>(
        &Schema::named("request"),
        &good,
        &[
            (&IDENTIFIERS, &["/intent_id", "/lease/controller_id", "/lease/fence/lease_id"]),
            (&NUMBERS, &["/intent_revision", "/lease/attempt", "/lease/fence/lease_epoch"]),
            (&COUNTS, &["/desired_replicas"]),
            (&INSTANTS, &["/lease/acquired_at", "/lease/fence/expires_at"]),
            (&BOOLEANS, &["/dry_run"]),
        ],
    );
    let committed = &committed("fixtures/protocol/apply.request.json")["request"];
    assert!(agree::<ActuationRequest>(&Schema::named("request"), committed));
}

/// The contract's request in the last `apply` that was asked.
fn last_request(asked: &Path) -> Value {
    let text = std::fs::read_to_string(asked).expect("it was asked");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut applies = lines.filter(|request| request["op"] == "apply");
    applies.next_back().expect("an apply")["request"].clone()
}

#[test]
fn the_schemas_are_printed_as_they_are_committed() {
    let world = World::new();
    for name in ["intent", "result", "request", "answer", "registration", "signals"] {
        let path = in_repository(&format!("fixtures/schemas/{name}.json"));
        let text = std::fs::read_to_string(path).expect("a schema");
        assert_eq!(world.run(&format!("schema {name}")).exits(0).stdout, text, "{name}");
    }
}
