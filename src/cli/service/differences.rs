//! What a registration was and is, setting by setting, in the words of the flags that say it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::domain::time::DurationMs;

/// Members that are told by another word than their own, and by which.
const WORDS: [(&str, &str); 20] = [
    ("min_replicas", "min"),
    ("max_replicas", "max"),
    ("cooldown_ms", "cooldown"),
    ("declared_replicas", "replicas"),
    ("quorum_required", "quorum"),
    ("cluster_id", "cluster"),
    ("runtime_id", "runtime"),
    ("workload_id", "workload"),
    ("terms.target_match", "target-match"),
    ("terms.on_unknown", "on-unknown"),
    ("terms.required_readings", "readings"),
    ("terms.reading_interval_ms", "readings, every"),
    ("terms.converge_on", "converge-on"),
    ("terms.drain", "drain"),
    ("terms.quiet_ms", "quiet"),
    ("retry_policy.max_attempts", "max-attempts"),
    ("retry_policy.backoff_s", "backoff"),
    ("scaling.signal.name", "signal"),
    ("scaling.target", "signal-target"),
    ("scaling.deadband", "deadband"),
];

/// The settings in which two registrations differ, one line each. The number of the registration is
/// told beside them.
pub(super) fn differences(before: &Value, after: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    compare("", before, after, &mut lines);
    lines
}

fn compare(path: &str, before: &Value, after: &Value, lines: &mut Vec<String>) {
    let none = Map::new();
    let (old, new) = match (before, after) {
        (Value::Object(old), Value::Object(new)) => (old, new),
        (Value::Null, Value::Object(new)) => (&none, new),
        (Value::Object(old), Value::Null) => (old, &none),
        (old, new) if old == new || path == "unit_revision" => return,
        (old, new) => {
            let (old, new) = (text(path, old), text(path, new));
            lines.push(format!("{:<18} {old} → {new}", word(path)));
            return;
        }
    };
    for name in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let of = |members: &Map<String, Value>| members.get(name).cloned().unwrap_or(Value::Null);
        compare(&path, &of(old), &of(new), lines);
    }
}

fn word(path: &str) -> String {
    if let Some((_, word)) = WORDS.iter().find(|(member, _)| *member == path) {
        return (*word).to_owned();
    }
    match path.split_once('.') {
        Some(("labels", name)) => format!("label {name}"),
        Some(("scaling", member)) => member.replace("signal.", "signal-").replace('_', "-"),
        Some(_) | None => path.to_owned(),
    }
}

fn text(path: &str, value: &Value) -> String {
    match (path, value) {
        ("cooldown_ms" | "declared_replicas", Value::Null) => "none".to_owned(),
        ("quorum_required", value) => {
            if *value == true {
                "required".to_owned()
            } else {
                "none".to_owned()
            }
        }
        ("retry_policy.backoff_s", value) => duration(value.as_f64().map(|it| it * 1000.0)),
        (path, value) if path.ends_with("_ms") => duration(value.as_f64()),
        (_, Value::Null) => "-".to_owned(),
        (_, Value::String(text)) => text.clone(),
        (_, other) => other.to_string(),
    }
}

/// A duration as a flag takes it; in milliseconds where a shorter word would round it.
fn duration(millis: Option<f64>) -> String {
    let Some(millis) = millis else { return "-".to_owned() };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "stored durations are whole milliseconds, and at most a day"
    )]
    let millis = millis.round() as u64;
    let duration = DurationMs::from_millis(millis);
    let text = duration.to_string();
    let in_seconds = format!("{}s", millis / 1000);
    match [text, in_seconds].into_iter().find(|text| text.parse() == Ok(duration)) {
        Some(text) => text,
        None => format!("{millis}ms"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_told_in_the_words_of_their_flags() {
        let before = json!({
            "unit_revision": 1, "min_replicas": 0, "max_replicas": 10, "cooldown_ms": null,
            "terms": {"quiet_ms": 60000, "drain": "required"}, "quorum_required": true,
            "retry_policy": {"backoff_s": 5.0}, "labels": {"team": "shop"},
        });
        let after = json!({
            "unit_revision": 2, "min_replicas": 0, "max_replicas": 12, "cooldown_ms": 65000,
            "terms": {"quiet_ms": 4250, "drain": "none"}, "retry_policy": {"backoff_s": 0.5},
            "labels": {"tier": "front"}, "declared_replicas": 4,
            "scaling": {"signal": {"name": "depth", "unit": "jobs"}, "target": 5.0,
                "scale_up_step": 1},
        });
        let told: Vec<String> = differences(&before, &after)
            .iter()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            told,
            [
                "cooldown none → 65s",
                "replicas none → 4",
                "label team shop → -",
                "label tier - → front",
                "max 10 → 12",
                "quorum required → none",
                "backoff 5s → 500ms",
                "scale-up-step - → 1",
                "signal - → depth",
                "signal-unit - → jobs",
                "signal-target - → 5.0",
                "drain required → none",
                "quiet 1m → 4250ms",
            ]
        );
        assert_eq!(differences(&after, &after), Vec::<String>::new());
    }
}
