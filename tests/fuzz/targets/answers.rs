//! Answers of actuators, one target per operation. The first byte says how the process ended.
//!
//! What must hold is told from the JSON itself, not from the types under test.

use scalectl::actuator::protocol::{
    ApplyAnswer, ApplyReply, DiscoverRequest, Exit, LookupReply, PROTOCOL, PartialTarget, Reply,
    read_apply_answer, read_describe, read_discovery, read_evidence, read_fence, read_inspect,
    read_lookup,
};
use scalectl::domain::canonical::read_document;
use scalectl::domain::id::ExecutionKey;
use scalectl::domain::scale::intent::TargetBinding;
use scalectl::domain::scale::result::ResultState;
use serde_json::Value;

use super::json;

/// What was asked, as in `fixtures/protocol/`.
const KEY: &str = "deploy-42";
const TARGET: &str = r#"{"cluster_id":"local","runtime_id":"processes","workload_id":"web",
"target_uid":"local:7f3c0a","target_resource_version":"41"}"#;

fn key() -> ExecutionKey {
    KEY.parse().expect("an identifier")
}

fn target() -> TargetBinding {
    read_document(TARGET.as_bytes()).expect("a target")
}

/// The end of the process and what it printed.
fn ended(data: &[u8]) -> (Exit, &[u8]) {
    let Some((first, rest)) = data.split_first() else { return (Exit::Code(0), data) };
    match first {
        b'1' => (Exit::Code(1), rest),
        b's' => (Exit::Signal(9), rest),
        b't' => (Exit::TimedOut, rest),
        _ => (Exit::Code(0), rest),
    }
}

/// The JSON of an answer that was taken: strict, of this protocol, and by a process that ended well
/// unless it refused.
fn said(exit: Exit, bytes: &[u8]) -> Value {
    assert_eq!(json::problem(bytes), None, "only a strict document is an answer");
    assert!(matches!(exit, Exit::Code(_)), "nothing is taken after {exit}");
    let said: Value = serde_json::from_slice(bytes).expect("it was read");
    assert_eq!(said["protocol"], PROTOCOL);
    said
}

fn is_trimmed(said: &Value, text: &str) -> bool {
    said.as_str().is_some_and(|said| said.trim() == text)
}

fn names_target(said: &Value, target: &TargetBinding) -> bool {
    is_trimmed(&said["cluster_id"], target.cluster_id.as_str())
        && is_trimmed(&said["runtime_id"], target.runtime_id.as_str())
        && is_trimmed(&said["workload_id"], target.workload_id.as_str())
        && is_trimmed(&said["target_uid"], target.target_uid.as_str())
        && is_trimmed(&said["target_resource_version"], target.target_resource_version.as_str())
}

/// A success is one only if it says so of this key and target, with its count, and ended with 0.
pub fn apply(data: &[u8]) -> bool {
    let (exit, bytes) = ended(data);
    let answer = read_apply_answer(bytes, &key(), &target(), exit);
    let (result, rollback_required, after) = match answer {
        ApplyAnswer::Known { result, rollback_required, resource_version_after } => {
            (result, rollback_required, resource_version_after)
        }
        ApplyAnswer::Unknown { detail, .. } => {
            assert!(detail.as_str().chars().count() <= 512);
            return false;
        }
    };
    let said = said(exit, bytes);
    assert_eq!(result.execution_key, key());
    assert_eq!(result.target, target());
    if said.get("error").is_some_and(|error| !error.is_null()) {
        assert!(said.get("result").is_none(), "a result and an error are neither");
        assert_eq!(result.state(), ResultState::Failed);
        assert!(is_trimmed(&said["error"]["code"], result.error_code().expect("a code").as_str()));
        return true;
    }
    let word = said["result"]["state"].as_str().expect("a state");
    assert!(is_trimmed(&said["result"]["execution_key"], KEY), "it names this key");
    assert!(names_target(&said["result"]["target"], &target()), "it names this target");
    assert_ne!(said["outcome_unknown"], true, "who does not know has no result");
    assert_eq!(said["rollback_required"] == true, rollback_required);
    let count = said["result"]["observed_replicas"].as_u64();
    assert_eq!(count, result.observed_replicas().map(scalectl::domain::id::Replicas::get));
    match result.state() {
        ResultState::Succeeded => {
            assert_eq!((word, exit), ("succeeded", Exit::Code(0)));
            assert_eq!(said["result"]["scaled"], true);
            assert!(count.is_some());
        }
        ResultState::Failed => {
            assert_eq!(word, "failed");
            assert_eq!(said["result"]["scaled"], false);
        }
        ResultState::Simulated => panic!("a live call is never a simulation"),
    }
    let reply = ApplyReply {
        result: *result,
        outcome_unknown: false,
        rollback_required,
        resource_version_after: after,
    };
    let wire = Reply::Apply(Box::new(reply.clone())).to_json();
    let again = read_apply_answer(wire.as_bytes(), &key(), &target(), exit);
    let ApplyAnswer::Known { result, .. } = again else { panic!("{again:?} after {wire}") };
    assert_eq!(*result, reply.result);
    true
}

/// A description that is taken is bounded and can be said again.
pub fn describe(data: &[u8]) -> bool {
    let (exit, bytes) = ended(data);
    let Ok(found) = read_describe(bytes, exit) else { return false };
    let said = said(exit, bytes);
    assert_eq!(exit, Exit::Code(0));
    assert!(is_trimmed(&said["name"], found.name.as_str()));
    assert!((1..=256).contains(&found.version.chars().count()));
    assert!(!found.version.chars().any(char::is_control));
    assert!(found.environment.len() <= 64);
    assert!(found.environment.iter().all(|name| !name.is_empty() && !name.contains(['=', '\0'])));
    let capable = serde_json::to_value(found.capabilities).expect("JSON");
    for (name, can) in capable.as_object().expect("an object") {
        assert_eq!(said["capabilities"][name] == true, *can == true, "{name} is as declared");
    }
    let wire = Reply::Describe(found.clone()).to_json();
    assert_eq!(read_describe(wire.as_bytes(), exit), Ok(found));
    true
}

fn holds_of_reading(said: &Value, found: &scalectl::actuator::protocol::Inspection) {
    assert!(names_target(&said["target"], &found.target));
    assert_eq!(said["replicas"].as_u64(), Some(found.replicas.get()));
    let ready = found.ready_replicas.map(scalectl::domain::id::Replicas::get);
    assert_eq!(said["ready_replicas"].as_u64(), ready);
    assert_eq!(said["generation"].as_u64(), found.generation);
    for names in [&found.owners, &found.managers, &found.owners_unread] {
        assert!(names.len() <= 64 && names.iter().all(|name| !name.contains(char::is_control)));
    }
    let (asked, found) = (target(), &found.target);
    assert_eq!(
        (&found.cluster_id, &found.runtime_id, &found.workload_id),
        (&asked.cluster_id, &asked.runtime_id, &asked.workload_id),
        "a reading is of the place that was asked for"
    );
}

/// A reading that is taken is of the place that was asked for, with the count that it says.
pub fn inspect(data: &[u8]) -> bool {
    let (exit, bytes) = ended(data);
    let Ok(found) = read_inspect(bytes, &PartialTarget::from(&target()), exit) else {
        return false;
    };
    assert_eq!(exit, Exit::Code(0));
    holds_of_reading(&said(exit, bytes), &found);
    let wire = Reply::Inspect(Box::new(found.clone())).to_json();
    let again = read_inspect(wire.as_bytes(), &PartialTarget::from(&target()), exit);
    assert_eq!(again, Ok(found));
    true
}

/// *Never* and *applied* are taken only from who says so, of this key and target.
pub fn lookup(data: &[u8]) -> bool {
    let (exit, bytes) = ended(data);
    let Ok(found) = read_lookup(bytes, &key(), &target(), exit) else { return false };
    assert_eq!(exit, Exit::Code(0));
    let said = said(exit, bytes);
    match &found {
        LookupReply::Never => assert_eq!(said["outcome"], "never"),
        LookupReply::Unknown => assert_eq!(said["outcome"], "unknown"),
        LookupReply::Applied { result } => {
            assert_eq!(said["outcome"], "applied");
            assert!(is_trimmed(&said["result"]["execution_key"], KEY));
            assert!(names_target(&said["result"]["target"], &target()));
            assert_ne!(result.state(), ResultState::Simulated);
        }
    }
    let wire = Reply::Lookup(found.clone()).to_json();
    assert_eq!(read_lookup(wire.as_bytes(), &key(), &target(), exit), Ok(found));
    true
}

/// *Fenced* is taken only from who says so; a reading that comes with it is of the place asked for.
pub fn fence(data: &[u8]) -> bool {
    let (exit, bytes) = ended(data);
    let Ok(found) = read_fence(bytes, &target(), exit) else { return false };
    assert_eq!(exit, Exit::Code(0));
    let said = said(exit, bytes);
    assert_eq!(said["fenced"], found.fenced);
    if let Some(reading) = &found.reading {
        holds_of_reading(&said["reading"], reading);
    }
    let wire = Reply::Fence(Box::new(found.clone())).to_json();
    assert_eq!(read_fence(wire.as_bytes(), &target(), exit), Ok(found));
    true
}

/// Evidence that is taken says what the JSON says; new words beside it change nothing.
pub fn evidence(data: &[u8]) -> bool {
    let (exit, bytes) = ended(data);
    let Ok(found) = read_evidence(bytes, exit) else { return false };
    assert_eq!(exit, Exit::Code(0));
    let said = said(exit, bytes);
    let kept = serde_json::to_value(&found).expect("JSON");
    for member in ["drained", "stabilized", "observed_replicas", "remaining_replicas"] {
        assert_eq!(kept[member], said[member], "{member}");
    }
    assert_eq!(kept["quorum_safe"], said["quorum_safe"], "absent is unknown, never safe");
    let wire = Reply::Evidence(Box::new(found.clone())).to_json();
    assert_eq!(read_evidence(wire.as_bytes(), exit), Ok(found));
    true
}

/// What is listed is sorted, each place once, with the counts that the text says; unknown stays
/// unknown.
pub fn discover(data: &[u8]) -> bool {
    let (exit, bytes) = ended(data);
    let asked = DiscoverRequest::default();
    let Ok(found) = read_discovery(bytes, &asked, exit) else { return false };
    assert_eq!(exit, Exit::Code(0));
    let said = said(exit, bytes);
    let listed = said["found"].as_array().expect("a list");
    assert_eq!((listed.len(), said["more"] == true), (found.found.len(), found.more));
    let mut last = None;
    for (said, one) in listed.iter().zip(&found.found) {
        assert!(names_target(&said["target"], &one.target));
        let count = one.replicas.map(scalectl::domain::id::Replicas::get);
        assert_eq!(said["replicas"].as_u64(), count);
        let target = &one.target;
        let place =
            [target.cluster_id.as_str(), target.runtime_id.as_str(), target.workload_id.as_str()];
        let place = place.map(str::to_owned);
        assert!(last.as_ref().is_none_or(|last| *last < place), "{place:?} after {last:?}");
        last = Some(place);
        for names in [&one.owners, &one.managers, &one.owners_unread] {
            assert!(names.len() <= 64 && names.iter().all(|name| !name.contains(char::is_control)));
        }
    }
    let wire = Reply::Discover(Box::new(found.clone())).to_json();
    assert_eq!(read_discovery(wire.as_bytes(), &asked, exit), Ok(found));
    true
}
