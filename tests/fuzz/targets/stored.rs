//! What a ledger keeps as text: events, their fold, and policies.

use std::collections::BTreeMap;

use scalectl::domain::canonical::{canonical_json, from_value};
use scalectl::domain::id::Replicas;
use scalectl::domain::registry::{PolicyEvent, RefusalEvent, RegistryEvent, RegistryState};
use scalectl::domain::scale::event::{Event, Stamped};
use scalectl::domain::scale::invariant;
use scalectl::domain::scale::policy::{PolicyAction, PolicyGate as _, PolicyQuery, PolicyResource};
use scalectl::domain::scale::state::ServiceState;
use scalectl::policy::check::digest;
use scalectl::policy::{CheckedPolicy, PolicyEngine, PolicySource, check};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An event that is taken has one canonical text, under which it is known again.
pub fn events(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let taken = [
        as_event::<Event>(text),
        as_event::<RegistryEvent>(text),
        as_event::<PolicyEvent>(text),
        as_event::<RefusalEvent>(text),
    ];
    let kinds = taken.iter().filter(|taken| **taken).count();
    assert!(kinds <= 1, "one text is an event of {kinds} kinds: {text}");
    if kinds == 1 {
        let any: Stamped<serde_json::Value> = serde_json::from_str(text).expect("any event is one");
        assert!(any.body.get("event").is_some_and(serde_json::Value::is_string), "{text}");
    }
    kinds == 1
}

fn as_event<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(text: &str) -> bool {
    let Ok(event) = serde_json::from_str::<T>(text) else { return false };
    let canonical = canonical_json(&event);
    let again: T = serde_json::from_str(&canonical).expect("canonical JSON is read");
    assert_eq!(again, event, "{canonical}");
    assert_eq!(canonical_json(&again), canonical);
    true
}

/// A fold of events, one a line, ends in a state or in an error; what it ends in can be kept as a
/// projection and read again, and every event that it takes it takes once more in the same way.
pub fn fold(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let (mut service, mut registry) = (ServiceState::default(), RegistryState::default());
    let mut taken = 0;
    for line in text.lines() {
        if let Ok(event) = serde_json::from_str::<Event>(line) {
            let Ok(next) = service.clone().apply(&event) else { continue };
            assert_eq!(service.apply(&event).as_ref(), Ok(&next), "the fold is a function");
            service = next;
            taken += 1;
            // It may be violated by nonsense; it is never at a loss.
            let _ = invariant::check(&service);
        } else if let Ok(event) = serde_json::from_str::<RegistryEvent>(line) {
            let Ok(next) = registry.clone().apply(&event) else { continue };
            registry = next;
            taken += 1;
        }
    }
    assert!(reads_back(&service.head), "{:?}", service.head);
    for (key, execution) in &service.executions {
        assert_eq!(key, execution.key());
        assert!(reads_back(execution), "{execution:?}");
    }
    taken > 1
}

fn reads_back<T: DeserializeOwned + Serialize + PartialEq>(value: &T) -> bool {
    let json = serde_json::to_value(value).expect("JSON");
    from_value::<T>(json).is_ok_and(|again| again == *value)
}

/// A policy that is taken is kept whole: its rules are its text, its digest is that of its text,
/// and the compiled form answers as the text does.
pub fn policy(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let sources = [PolicySource { file: "fuzz.cedar".to_owned(), text: text.to_owned() }];
    let Ok(checked) = check(&sources) else { return false };
    assert_eq!(checked.digest, digest(&sources));
    assert_eq!(checked.text(), text);
    assert!((1..=500).contains(&checked.rules.len()));
    let mut ids: Vec<&str> = checked.rules.iter().map(|rule| rule.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), checked.rules.len(), "ids are unique");
    let mut rest = text;
    for rule in &checked.rules {
        let at = rest.find(&rule.text).expect("a rule is a part of its text, in its order");
        rest = &rest[at + rule.text.len()..];
        let words = ["permit", "forbid"];
        assert!(words.contains(&rule.effect.as_str()) && rule.text.contains(&rule.effect));
    }
    assert!(!rest.contains("permit (") && !rest.contains("forbid ("), "no rule is left out");
    let compiled = PolicyEngine::load(&checked.compiled).expect("what was just compiled loads");
    let document = serde_json::to_string(&checked).expect("JSON");
    let kept = PolicyEngine::of_document(&document).expect("what was just kept loads");
    let (compiled, kept) = (answers(&compiled), answers(&kept));
    assert_eq!(compiled, kept, "the compiled form and the document answer alike");
    true
}

/// A stored policy that was damaged is refused, or answers as the one with its digest.
pub fn stored_policy(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Ok(engine) = PolicyEngine::of_document(text) else { return false };
    let sound = sound_policy();
    let whole: Option<CheckedPolicy> = serde_json::from_str(text).ok();
    if engine.digest() == sound.digest {
        let sound = PolicyEngine::load(&sound.compiled).expect("it is sound");
        assert_eq!(answers(&engine), answers(&sound), "another answer under the same digest");
    } else if let Some(whole) = whole {
        assert!(
            engine.digest() == digest(&whole.sources)
                || engine.digest() == whole.compiled.policy_digest,
            "an engine has the digest of its text"
        );
    }
    true
}

/// The policy whose document is damaged.
pub fn sound_policy() -> CheckedPolicy {
    let text = include_str!("../../../src/policy/templates/ci.cedar").replace("OS_USER", "ann");
    check(&[PolicySource { file: "ci.cedar".to_owned(), text }]).expect("a template is valid")
}

/// What a policy says to every action, of a service and of the ledger, by two users.
fn answers(engine: &PolicyEngine) -> Vec<(bool, Vec<String>)> {
    let service = PolicyResource::Service {
        name: "web".parse().expect("a name"),
        actuator: None,
        adapter: Some("local".to_owned()),
        mode: "native".to_owned(),
        writer: "ops".parse().expect("a writer"),
        min: Replicas::from(0),
        max: Replicas::from(20),
        labels: BTreeMap::from([("tier".to_owned(), "front".to_owned())]),
    };
    let mut found = Vec::new();
    for (resource, action) in [
        (service.clone(), PolicyAction::ScaleUp),
        (service.clone(), PolicyAction::ScaleDown),
        (service, PolicyAction::Settle),
        (PolicyResource::Ledger { id: "l-1".to_owned() }, PolicyAction::Register),
    ] {
        for user in ["ann", "ci"] {
            let query = PolicyQuery {
                actor: user.to_owned(),
                action,
                resource: resource.clone(),
                desired: Some(Replicas::from(5)),
                current: Some(Replicas::from(3)),
                source: "cli".to_owned(),
                reason: Some("release 418".to_owned()),
                controller: None,
                os_user: Some(user.to_owned()),
                db_role: None,
                signed_by: None,
                recent: None,
                at: "2026-03-02T08:30:00Z".parse().expect("an instant"),
            };
            let answer = engine.answer(&query);
            assert!(!answer.allowed || answer.errors.is_empty(), "an error never allows");
            let rules = answer.rules.iter().map(|rule| rule.id.clone()).collect();
            found.push((answer.allowed, rules));
        }
    }
    found
}
