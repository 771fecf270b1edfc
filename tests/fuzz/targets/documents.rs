//! Documents: strict JSON, the record of the contract, and what an actuator is asked.

use std::collections::BTreeSet;

use scalectl::actuator::protocol::{PROTOCOL, Request};
use scalectl::domain::canonical::{canonical_json, parse_strict, read_document};
use scalectl::domain::id::Replicas;
use scalectl::domain::scale::intent::IntentRecord;
use scalectl::ops::service_put::registration;
use serde_json::Value;

use super::json;

/// Two readers of different shape agree on what one strict document is.
pub fn strict_json(data: &[u8]) -> bool {
    let read = parse_strict(data);
    let problem = json::problem(data);
    assert_eq!(read.is_ok(), problem.is_none(), "{read:?}, but the second reader: {problem:?}");
    let Ok(value) = read else { return false };
    let canonical = canonical_json(&value);
    assert!(canonical.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{canonical}");
    let again = parse_strict(canonical.as_bytes()).expect("canonical JSON is strict JSON");
    if !has_fraction(&value) {
        assert_eq!(again, value, "canonical JSON says the same");
        assert_eq!(canonical_json(&again), canonical, "canonical JSON of canonical JSON is itself");
    }
    true
}

/// A fraction may be read one unit in its last place off; no stored type has a free one.
fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fraction),
        Value::Object(members) => members.values().any(has_fraction),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The members of the record, and which of them may be left out.
const MEMBERS: [(&str, bool); 15] = [
    ("schema_version", true),
    ("intent_id", false),
    ("intent_revision", false),
    ("expected_unit_revision", false),
    ("desired_replicas", false),
    ("min_replicas", false),
    ("max_replicas", false),
    ("controller_mode", false),
    ("replica_writer_id", false),
    ("execution_key", false),
    ("fence", false),
    ("target", false),
    ("reason", false),
    ("retry_policy", true),
    ("created_at", false),
];

/// A record that is taken has every member, no other, keeps its bounds, and is known again by its
/// digests after it went out and came back.
pub fn intent_record(data: &[u8]) -> bool {
    let Ok(record) = read_document::<IntentRecord>(data) else { return false };
    assert_eq!(json::problem(data), None, "only a strict document is a record");
    let said: Value = serde_json::from_slice(data).expect("it was read");
    let said = said.as_object().expect("a record is an object");
    let known: BTreeSet<&str> = MEMBERS.iter().map(|(name, _)| *name).collect();
    assert!(said.keys().all(|name| known.contains(name.as_str())), "{said:?}");
    assert!(MEMBERS.iter().all(|(name, optional)| *optional || said.contains_key(*name)));

    let wish = record.wish();
    assert!(wish.min_replicas <= wish.desired_replicas, "{wish:?}");
    assert!(wish.desired_replicas <= wish.max_replicas, "{wish:?}");
    assert_eq!(said["desired_replicas"].as_u64(), Some(wish.desired_replicas.get()));
    assert_eq!(said["intent_revision"].as_u64(), Some(wish.intent_revision.get()));
    assert_eq!(said["reason"].as_str(), Some(wish.reason.as_str()), "a reason is kept verbatim");
    let key = said["execution_key"].as_str().map(str::trim);
    assert_eq!(key, Some(wish.execution_key.as_str()));

    let canonical = canonical_json(&record);
    let again: IntentRecord = read_document(canonical.as_bytes()).expect("canonical JSON is read");
    assert_eq!(again, record, "{canonical}");
    assert_eq!(again.identity_digest(), record.identity_digest());
    assert_eq!(again.wish().digest(), wish.digest());
    assert_eq!(canonical_json(&again), canonical);
    true
}

/// The names of the counts and of the mode, wherever they may stand.
const BOUNDS: [[&str; 2]; 2] = [["min_replicas", "min"], ["max_replicas", "max"]];
const MODES: [&str; 3] = ["mode", "controller_mode", "controller"];

/// A registration that is taken says each thing once or in the same way, says it in every order and
/// with every white space, and has no room for a stranger at any depth.
pub fn registration_document(data: &[u8]) -> bool {
    let Ok(read) = registration(data) else { return false };
    assert_eq!(json::problem(data), None, "only a strict document is a registration");
    let said: Value = serde_json::from_slice(data).expect("it was read");
    let change = &read.change;
    let blocks = [Some(&said), said.get("scaling").filter(|it| it.is_object())];
    let all = |names: &[&str]| -> Vec<&Value> {
        let found = blocks.into_iter().flatten();
        found.flat_map(|block| names.iter().filter_map(|name| block.get(name))).collect()
    };
    for (names, taken) in BOUNDS.iter().zip([change.min, change.max]) {
        let taken = taken.map(Replicas::get);
        let found = all(names);
        assert!(found.iter().all(|value| value.as_u64() == taken), "{found:?}: {taken:?}");
        assert_eq!(found.is_empty(), taken.is_none());
    }
    let modes = all(&MODES);
    assert_eq!(modes.is_empty(), change.mode.is_none(), "{modes:?}");
    assert!(modes.iter().all(|mode| mode.is_string()), "{modes:?}");
    if !has_fraction(&said) {
        let again = registration(canonical_json(&said).as_bytes()).expect("it says the same");
        assert_eq!(format!("{again:?}"), format!("{read:?}"));
    }
    for place in ["", "/terms", "/retry_policy", "/scaling", "/scaling/signal"] {
        let mut with = said.clone();
        let Some(Value::Object(members)) = with.pointer_mut(place) else { continue };
        members.insert("stranger".to_owned(), Value::Null);
        assert!(registration(with.to_string().as_bytes()).is_err(), "{with}");
    }
    true
}

/// A request that is taken names this protocol and its operation, and is the same on the wire.
pub fn actuator_request(data: &[u8]) -> bool {
    let Ok(request) = Request::read(data) else { return false };
    assert_eq!(json::problem(data), None, "only a strict document is a request");
    let said: Value = serde_json::from_slice(data).expect("it was read");
    assert_eq!(said["protocol"], PROTOCOL);
    assert_eq!(said["op"], request.op());
    let wire = request.to_json();
    assert_eq!(wire.matches('\n').count(), 1, "one line: {wire:?}");
    assert_eq!(Request::read(wire.as_bytes()).as_ref(), Ok(&request), "{wire}");
    true
}
