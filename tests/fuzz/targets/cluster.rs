//! What kubectl prints: an object, a list of autoscalers, and the mark in an annotation.
//!
//! The JSON itself stands beside what was read of it.

use scalectl::adapters::kubectl::{mark_in, object_in, owners_in};
use serde_json::Value;

use super::json;

/// The one strict JSON object of a text that was taken.
fn object(data: &[u8]) -> Value {
    assert_eq!(json::problem(data), None, "only a strict document is taken");
    let said: Value = serde_json::from_slice(data).expect("it was read");
    assert!(said.is_object(), "{said} is taken for an object");
    said
}

/// The uid and the count are those of the JSON, absent is unknown, and names of managers are few,
/// short, and move no cursor.
pub fn kubectl_object(data: &[u8]) -> bool {
    let Ok((uid, replicas, managers)) = object_in(data) else { return false };
    let said = object(data);
    assert!(said["metadata"].is_object(), "{said}");
    assert_eq!(said["metadata"]["uid"].as_str().map(str::trim), Some(uid.as_str()));
    let count = &said["spec"]["replicas"];
    assert_eq!(count.as_u64(), replicas, "{said}");
    assert_eq!(count.is_null(), replicas.is_none(), "{said}");
    let sets = |entry: &&Value| {
        let owns = entry["fieldsV1"]["f:spec"].get("f:replicas").is_some();
        owns && (entry["manager"] != "kubectl" || entry["subresource"] != "scale")
    };
    let entries = said["metadata"]["managedFields"].as_array();
    let others = entries.into_iter().flatten().filter(sets).count();
    assert_eq!(managers.is_empty(), others == 0, "{said}: {managers:?}");
    assert!(managers.len() <= others.min(64), "{managers:?}");
    assert!(managers.is_sorted_by(|one, next| one < next), "each once: {managers:?}");
    for name in &managers {
        assert!((1..=200).contains(&name.chars().count()), "{name:?}");
        assert!(!name.chars().any(char::is_control), "{name:?}");
    }
    true
}

/// Whoever is meant for the object and is not paused drives it, and nobody else.
pub fn kubectl_autoscalers(data: &[u8]) -> bool {
    let Ok(owners) = owners_in(data, "web") else { return false };
    let said = object(data);
    let drives = |one: &&Value| {
        assert!(one.is_object() && one["metadata"].is_object(), "{said}");
        let target = &one["spec"]["scaleTargetRef"];
        let kind = target["kind"].as_str().unwrap_or("Deployment");
        let notes = &one["metadata"]["annotations"];
        let paused = notes["autoscaling.keda.sh/paused"].as_str().unwrap_or_default();
        let is_held = notes.get("autoscaling.keda.sh/paused-replicas").is_some();
        let is_paused = paused.eq_ignore_ascii_case("true") && !is_held;
        target["name"] == "web" && kind == "Deployment" && !is_paused
    };
    let items = said["items"].as_array().expect("a list has items");
    assert_eq!(owners.len(), items.iter().filter(drives).count(), "{said}: {owners:?}");
    for owner in &owners {
        assert!(owner.starts_with("ScaledObject "), "{owner:?}");
        assert!(!owner.chars().any(char::is_control), "{owner:?}");
    }
    true
}

/// A mark that is read says the same again, and its three numbers are those of the text.
pub fn kubectl_fence(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Some((ledger, (epoch, token, attempt))) = mark_in(text) else { return false };
    assert_eq!(format!("{ledger}/{epoch}.{token}.{attempt}"), text);
    assert!(!ledger.is_empty() && !ledger.contains(char::is_whitespace), "{text:?}");
    let numbers: Vec<&str> = text[ledger.len() + 1..].split('.').collect();
    let is_number = |number: &&str| number.bytes().all(|byte| byte.is_ascii_digit());
    assert!(numbers.len() == 3 && numbers.iter().all(is_number), "{text:?}");
    true
}
