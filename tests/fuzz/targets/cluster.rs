//! What kubectl prints: an object, a list of autoscalers, and the mark in an annotation.
//!
//! The JSON itself stands beside what was read of it.

use scalectl::adapters::kubectl::{list_in, object_in, owners_in};
use scalectl::adapters::mark_in;
use serde_json::Value;

use super::json;

/// The one strict JSON object of a text that was taken.
fn object(data: &[u8]) -> Value {
    assert_eq!(json::problem_of_foreign(data), None, "only a strict document is taken");
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

/// Whether all that is read of an autoscaler is of its type.
fn is_sound(one: &Value) -> bool {
    let is = |value: Option<&Value>, fits: fn(&Value) -> bool| value.is_none_or(fits);
    let reference = |it: &Value| {
        it.is_object()
            && is(it.get("kind"), Value::is_string)
            && is(it.get("name"), Value::is_string)
    };
    let (metadata, target) = (&one["metadata"], &one["spec"]["scaleTargetRef"]);
    let references = metadata.get("ownerReferences");
    metadata["name"].is_string()
        && is(metadata.get("namespace"), Value::is_string)
        && is(metadata.get("annotations"), Value::is_object)
        && references.is_none_or(|it| it.as_array().is_some_and(|all| all.iter().all(reference)))
        && target["name"].is_string()
        && is(target.get("kind"), |kind| kind.is_string() || kind.is_null())
}

/// Whoever is meant for the object and lets it not alone drives it, and nobody else; who cannot be
/// understood is told and stands in nobody's way; a line has no word that could be an option.
pub fn kubectl_autoscalers(data: &[u8]) -> bool {
    let mut is_taken = false;
    for kind in ["ScaledObject", "HorizontalPodAutoscaler"] {
        let Ok(found) = owners_in(data, kind, "web") else { continue };
        let (owners, take_away, unread) = (found.drive, found.take_away, found.unread);
        is_taken = true;
        let said = object(data);
        let drives = |one: &&Value| {
            let target = &one["spec"]["scaleTargetRef"];
            let of = target["kind"].as_str().unwrap_or("Deployment");
            let notes = &one["metadata"]["annotations"];
            let paused = notes["autoscaling.keda.sh/paused"].as_str().unwrap_or_default();
            let is_held = notes.get("autoscaling.keda.sh/paused-replicas").is_some();
            let is_paused = paused.eq_ignore_ascii_case("true") && !is_held;
            let is_alone = kind == "ScaledObject" && is_paused;
            target["name"] == "web" && of == "Deployment" && !is_alone
        };
        let items = said["items"].as_array().expect("a list has items");
        // Who says of itself that it is elsewhere has nothing to do with the object.
        let here = |it: &&Value| {
            let said = it["metadata"]["namespace"].as_str().unwrap_or_default();
            said.is_empty() || said == "shop"
        };
        let (sound, other): (Vec<&Value>, Vec<&Value>) =
            items.iter().filter(here).partition(|it| is_sound(it));
        assert_eq!(unread.len(), other.len(), "{said}: {unread:?}");
        let driving = sound.into_iter().filter(drives).count();
        assert_eq!(owners.len(), driving, "{said}: {owners:?}");
        for told in owners.iter().chain(&unread) {
            assert!(told.starts_with(&format!("{kind} ")), "{told:?}");
            assert!(!told.chars().any(char::is_control), "{told:?}");
        }
        for one in &take_away {
            assert!(owners.contains(&one.owner), "{one:?}: {owners:?}");
            for line in &one.lines {
                assert_eq!(line[..5], ["kubectl", "--context", "context", "-n", "shop"]);
                let is_name = |word: &str| word.split('/').all(|it| !it.starts_with('-'));
                assert!(line.iter().all(|word| word.is_ascii() && !word.contains(' ')), "{line:?}");
                assert!(
                    line.iter().filter(|it| it.contains('/')).all(|it| is_name(it)),
                    "{line:?}"
                );
            }
        }
    }
    is_taken
}

/// Each object of a list is told with its own count or named as odd, and none is left out.
pub fn kubectl_list(data: &[u8]) -> bool {
    let Ok((objects, odd)) = list_in(data) else { return false };
    let said = object(data);
    let items = said["items"].as_array().expect("a list has items");
    assert_eq!(objects.len() + odd.len(), items.len(), "{said}: {objects:?} {odd:?}");
    for name in &odd {
        assert!((1..=200).contains(&name.chars().count()), "{name:?}");
        assert!(!name.chars().any(char::is_control), "{name:?}");
    }
    let mut sound = items.iter().filter(|it| {
        let place =
            format!("{}/{}", text(&it["metadata"]["namespace"]), text(&it["metadata"]["name"]));
        objects.iter().any(|(own, ..)| *own == place)
    });
    for (place, uid, count) in &objects {
        assert!(!place.starts_with('-') && place.matches('/').count() == 1, "{place:?}");
        // A list in the place of an object is read by position.
        let is_it = |it: &Value| {
            it["metadata"]["uid"].as_str().map(str::trim) == Some(uid)
                && (it["spec"].is_array() || it["spec"]["replicas"].as_u64() == *count)
        };
        assert!(sound.any(is_it), "{place} {uid} {count:?}: {said}");
    }
    true
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
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
