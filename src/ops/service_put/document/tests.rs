use std::collections::BTreeSet;

use super::*;
use crate::domain::id::{ActuatorName, Replicas};
use crate::domain::scale::scaling::Aggregation;
use crate::domain::scale::service::Drain;

fn read(value: &Value) -> Result<Document, String> {
    registration(value.to_string().as_bytes()).map_err(|error| error.to_string())
}

fn change(value: &Value) -> ServiceChange {
    read(value).expect("it is sound").change
}

#[test]
fn every_name_of_a_thing_says_the_same() {
    let four = Replicas::new(4).ok();
    for document in [
        json!({ "max_replicas": 4 }),
        json!({ "max": 4 }),
        json!({ "scaling": { "max": 4, "signal": "depth", "target": 1 } }),
        json!({ "max": 4, "max_replicas": 4 }),
    ] {
        assert_eq!(change(&document).max, four, "{document}");
    }
    for document in [
        json!({ "mode": "hpa" }),
        json!({ "controller_mode": " External_HPA " }),
        json!({ "controller": "hpa", "mode": "external_hpa" }),
    ] {
        assert_eq!(change(&document).mode, Some(RegisteredMode::ExternalHpa), "{document}");
    }
    let minute = Some(Some(DurationMs::from_secs(60)));
    for document in [
        json!({ "cooldown_ms": 60_000 }),
        json!({ "cooldown_s": 60.0 }),
        json!({ "cooldown_s": 60, "cooldown_ms": 60_000 }),
    ] {
        assert_eq!(change(&document).cooldown, minute, "{document}");
    }
    for document in [json!({ "terms": { "drain": "none" } }), json!({ "drain": "none" })] {
        assert_eq!(change(&document).drain, Some(Drain::None), "{document}");
    }
}

#[test]
fn what_is_null_is_taken_away_and_what_is_not_there_stays() {
    let none = json!({
        "actuator": null, "cooldown_ms": null, "declared_replicas": null, "scaling": null,
        "owner": null,
    });
    let none = change(&none);
    assert_eq!(none.actuator, Some(None::<ActuatorName>));
    assert_eq!((none.cooldown, none.declared), (Some(None), Some(None)));
    assert_eq!(none.owner, Some(None));
    assert!(none.scaling.is_none);
    let nothing = change(&json!({}));
    assert_eq!((nothing.actuator, nothing.cooldown), (None, None));
    assert!(!nothing.scaling.is_none && !nothing.scaling.is_whole && !nothing.are_all_labels);
    assert!(change(&json!({ "labels": {} })).are_all_labels);
}

#[test]
fn a_signal_is_a_name_or_all_of_its_words() {
    let spec = |signal: Value| {
        let document = json!({ "scaling": { "signal": signal, "target": 5 } });
        let merged = change(&document).scaling.merged(None);
        merged.ok().flatten().expect("it is whole")
    };
    let short = spec(json!("depth"));
    assert_eq!(short, spec(json!({ "name": "depth" })));
    assert_eq!(short.signal.aggregation, Aggregation::FleetTotal);
    let long = spec(json!({ "name": "depth", "aggregation": "per_replica", "unit": "jobs" }));
    assert_eq!(long.signal.aggregation, Aggregation::PerReplica);
    assert_eq!(long.signal.unit.as_ref().map(SignalWord::as_str), Some("jobs"));
}

#[test]
fn one_wrong_member_refuses_the_whole_and_is_named() {
    let scaled = |more: Value| {
        let mut scaling = json!({ "signal": "depth", "target": 5 });
        let (members, more) = (scaling.as_object_mut(), more.as_object().cloned());
        members.expect("an object").extend(more.expect("an object"));
        json!({ "scaling": scaling })
    };
    for (document, told) in [
        (json!([]), "[] is no object of settings"),
        (json!({ "maxreplicas": 4 }), "maxreplicas: unknown member; did you mean max_replicas?"),
        (json!({ "scale_up_step": 4 }), "scale_up_step: unknown member; did you mean scaling."),
        (json!({ "kubernetes": {} }), "kubernetes: unknown member (scalectl schema registration"),
        (json!({ "scaling.min": 1 }), "scaling.min: unknown member"),
        (json!({ "binding": {} }), "binding: a fact, and no setting"),
        (json!({ "max": 4, "max_replicas": 5 }), "max: 4, but max_replicas, its other name, says"),
        (json!({ "mode": "hpa", "controller": "keda" }), "controller: \"keda\", but mode, its"),
        (json!({ "mode": "hpaa" }), "mode: \"hpaa\" is no mode: native, delegated"),
        (json!({ "mode": null }), "mode: invalid type: null"),
        (json!({ "mode": "" }), "mode: \"\" is no mode"),
        (json!({ "max": "4" }), "max: invalid type: string \"4\""),
        (json!({ "max": 4.5 }), "max: invalid type"),
        (json!({ "max": -1 }), "max: invalid value"),
        (json!({ "max": true }), "max: invalid type"),
        (json!({ "max": null }), "max: invalid type: null"),
        (json!({ "terms": [] }), "terms: [] is no object"),
        (
            json!({ "terms": { "drian": "none" } }),
            "terms.drian: unknown member; did you mean terms.d",
        ),
        (json!({ "drain": "maybe" }), "drain: unknown variant `maybe`"),
        (json!({ "readings": 11 }), "readings: "),
        (json!({ "quiet_ms": 86_400_001 }), "quiet_ms: "),
        (json!({ "cooldown_s": 0.0001 }), "cooldown_s: 0.0001 is no whole number of milliseconds"),
        (json!({ "cooldown_s": -1 }), "cooldown_s: -1 is no whole"),
        (json!({ "cooldown_s": 5, "cooldown_ms": 5 }), "cooldown_s: 5, but cooldown_ms, its other"),
        (json!({ "backoff_s": 3601 }), "backoff_s: backoff_s 3601 is outside"),
        (json!({ "retry_policy": { "max_attempts": 9 } }), "retry_policy.max_attempts: "),
        (json!({ "quorum": "yes" }), "quorum: invalid type"),
        (json!({ "labels": { "a": 1 } }), "labels.a: invalid type"),
        (json!({ "labels": { "a": "" } }), "labels.a: a label without a value is left away"),
        (json!({ "labels": { "": "b" } }), "labels: a label has a name"),
        (json!({ "labels": { "a": "\n" } }), "labels.a: a label has at most 256 bytes"),
        (json!({ "owner": " " }), "owner: a name of an owner is not blank"),
        (json!({ "unit_revision": 0 }), "unit_revision: "),
        (json!({ "service": "w b" }), "service: "),
        (json!({ "scaling": {} }), "scaling.signal: no signal is named"),
        (json!({ "scaling": { "signal": "depth" } }), "scaling.target: no target is named"),
        (json!({ "scaling": { "signal": 1, "target": 1 } }), "scaling.signal: 1 is no object"),
        (scaled(json!({ "target": 0 })), "scaling: target 0 is outside above 0 to 1e12"),
        (scaled(json!({ "target": "5" })), "scaling.target: invalid type"),
        (scaled(json!({ "deadband": 1.5 })), "scaling: deadband 1.5 is outside"),
        (scaled(json!({ "scale_up_samples": 61 })), "scaling: scale_up_samples 61 is outside"),
        (scaled(json!({ "scale_up_stabilization_samples": 300 })), "scaling.scale_up_stabil"),
        (scaled(json!({ "mode": "kedaa" })), "scaling.mode: \"kedaa\" is no mode"),
        (scaled(json!({ "target_match": "version" })), "scaling.target_match: unknown member; did"),
    ] {
        let error = read(&document).expect_err("one member is wrong");
        assert!(error.starts_with(told), "{document}\n{error}\n{told}");
    }
    let twice = br#"{"max": 4, "max": 4}"#;
    let error = registration(twice).expect_err("a member twice").to_string();
    assert!(error.contains("duplicate key \"max\""), "{error}");
}

#[test]
fn the_schema_has_every_name_and_no_other() {
    let text = include_str!("../../../../fixtures/schemas/registration.json");
    let schema: Value = serde_json::from_str(text).expect("a schema is JSON");
    let mut said = BTreeSet::new();
    for (block, place) in [
        ("", ""),
        ("terms.", "/properties/terms"),
        ("retry_policy.", "/properties/retry_policy"),
        ("scaling.", "/$defs/scaling"),
        ("scaling.signal.", "/$defs/signal"),
    ] {
        let properties = schema.pointer(&format!("{place}/properties"));
        let properties = properties.and_then(Value::as_object).expect("properties");
        said.extend(properties.keys().map(|name| format!("{block}{name}")));
    }
    let whole = json!({ "scaling": { "signal": { "name": "depth" }, "target": 1 } });
    let mut members = Members::of(whole).expect("an object");
    taken(&mut members).expect("it is sound");
    let known: BTreeSet<String> = members.known().iter().map(|&name| name.to_owned()).collect();
    assert_eq!(known, said);
}
