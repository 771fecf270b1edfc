//! What the events of people, ticks and the life of a ledger say in a line of `log`.

use serde_json::Value;

/// A member as people read it.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "?".to_owned(),
        other => other.to_string(),
    }
}

/// What a person or a tick has laid upon a service.
fn of_authority(kind: &str, body: &Value) -> String {
    match kind {
        "service_handed_over" => format!(
            "{} → {}, baseline {}, registration {}: {}",
            text(&body["from"]),
            text(&body["registration"]["mode"]),
            text(&body["binding"]["replicas"]),
            text(&body["registration"]["unit_revision"]),
            text(&body["reason"])
        ),
        "hold_set" => format!("until {}: {}", text(&body["until"]), text(&body["reason"])),
        "override_set" => {
            format!("{} until {}", text(&body["replicas"]), text(&body["until"]))
        }
        "authorization_granted" => {
            let it = &body["authorization"];
            format!(
                "{} {} → {} [{}] {:?}",
                text(&it["authorization_id"]),
                text(&it["current"]),
                text(&it["desired_replicas"]),
                text(&it["incident"]),
                text(&it["reason"])
            )
        }
        "authorization_used" => {
            format!("{} for {}", text(&body["authorization_id"]), text(&body["execution_key"]))
        }
        "authorization_revoked" | "authorization_reviewed" => {
            format!("{}: {}", text(&body["authorization_id"]), text(&body["reason"]))
        }
        "autoscale_evaluated" => {
            let it = &body["evaluation"];
            format!(
                "{} at {}: {} → {}",
                text(&it["outcome"]["kind"]),
                text(&it["value"]),
                text(&it["current"]),
                text(&it["desired"])
            )
        }
        "service_retired" | "hold_lifted" | "override_cleared" | "intent_rejected" => {
            text(&body["reason"])
        }
        _ => String::new(),
    }
}

/// What is seldom there: the life of a ledger, and what came late.
pub(super) fn what_seldom(kind: &str, body: &Value) -> String {
    match kind {
        "clock_accepted" => {
            format!("time was at {}: {:?}", text(&body["mark"]), text(&body["reason"]))
        }
        "execution_clock_accepted" => "its instants are brought back to now".to_owned(),
        "service_restored" => format!(
            "incarnation {}, fences from {}/{} on",
            text(&body["incarnation"]),
            text(&body["mark"]["epoch"]),
            text(&body["mark"]["token"])
        ),
        "ledger_restored" => {
            format!("incarnation {}: {:?}", text(&body["incarnation"]), text(&body["reason"]))
        }
        "ledger_sealed" => format!("it goes on at {}", text(&body["to"])),
        "ledger_opened" => format!("it was at {}", text(&body["from"])),
        "intent_withdrawn" if !body["reason"].is_null() => format!("{:?}", text(&body["reason"])),
        "gateway_finalized" => format!(
            "answers {}: {:?}",
            text(&body["response"]["actual_replicas"]),
            text(&body["response"]["message"])
        ),
        "gateway_imported" => format!(
            "{} at gateway revision {}",
            text(&body["imported"]["replicas"]),
            text(&body["imported"]["revision"])
        ),
        "call_ended" | "target_fenced" => format!("attempt {}", text(&body["attempt"])),
        "late_result_kept" => format!(
            "{} of attempt {}{}",
            text(&body["result"]["state"]),
            text(&body["attempt"]),
            if body["contradicts"] == true { ", contradicts what is recorded" } else { "" }
        ),
        kind => {
            let words = super::placement_words(kind, body);
            if words.is_empty() { of_authority(kind, body) } else { words }
        }
    }
}
