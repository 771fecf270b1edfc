//! What the events of the placement say in a line of `log`.

use serde_json::Value;

use super::seldom::text;

/// Every kind of event of the placement.
pub(super) const KINDS: [&str; 20] = [
    "location_put",
    "cell_put",
    "profile_registered",
    "placement_policy_put",
    "pool_put",
    "usage_recorded",
    "relocator_registered",
    "environment_adopted",
    "change_admitted",
    "operation_leased",
    "operation_lease_renewed",
    "operation_lease_released",
    "step_started",
    "step_done",
    "step_failed",
    "placement_committed",
    "standby_committed",
    "operation_retried",
    "operation_abandoned",
    "operation_ended",
];

/// What of an event a person asks for first; empty for what is no event of the placement.
pub(in crate::cli) fn placement_words(kind: &str, body: &Value) -> String {
    let named = |noun: &str| {
        format!("{} revision {}", text(&body[noun]["name"]), text(&body[noun]["revision"]))
    };
    match kind {
        "location_put" => named("location"),
        "cell_put" => {
            let cordoned = if body["cell"]["cordon"].is_null() { "" } else { ", cordoned" };
            format!("{}{cordoned}", named("cell"))
        }
        "profile_registered" => text(&body["profile"]["name"]),
        "placement_policy_put" => named("policy"),
        "pool_put" => named("pool"),
        "usage_recorded" => text(&body["usage"]["environment"]),
        "relocator_registered" => text(&body["relocator"]["name"]),
        "environment_adopted" => format!(
            "{} in cell {}, epoch {}: {:?}",
            text(&body["environment"]["name"]),
            text(&body["environment"]["effective"]["cell"]),
            text(&body["environment"]["effective"]["epoch"]),
            text(&body["reason"])
        ),
        "change_admitted" => {
            let it = &body["operation"];
            format!(
                "{} {} of {}, cell {} → {}, {} → {}",
                text(&it["operation_id"]),
                text(&it["kind"]),
                text(&it["environment"]),
                text(&it["from"]["cell"]),
                text(&it["to"]["cell"]),
                text(&it["from"]["profile"]),
                text(&it["to"]["profile"])
            )
        }
        "operation_leased" => format!(
            "{} by {} (pid {}), token {}",
            text(&body["operation_id"]),
            text(&body["lease"]["holder"]["host"]),
            text(&body["lease"]["holder"]["pid"]),
            text(&body["lease"]["token"])
        ),
        "operation_lease_renewed" | "operation_lease_released" => text(&body["operation_id"]),
        "step_started" | "step_done" => {
            format!("{} {}", text(&body["operation_id"]), text(&body["step"]))
        }
        "step_failed" => format!(
            "{} {}, {}: {}",
            text(&body["operation_id"]),
            text(&body["step"]),
            text(&body["course"]),
            trouble(&body["trouble"])
        ),
        "placement_committed" => {
            format!("{} epoch {}", text(&body["operation_id"]), text(&body["epoch"]))
        }
        "standby_committed" => {
            let cell = &body["standby"]["copy"]["cell"];
            let cell = if cell.is_null() { "none".to_owned() } else { text(cell) };
            format!("{} {cell}", text(&body["operation_id"]))
        }
        "operation_retried" | "operation_abandoned" => {
            format!("{}: {:?}", text(&body["operation_id"]), text(&body["reason"]))
        }
        "operation_ended" => {
            format!("{} {}", text(&body["operation_id"]), text(&body["course"]))
        }
        _ => String::new(),
    }
}

fn trouble(trouble: &Value) -> String {
    match trouble["kind"].as_str() {
        Some("refused") => text(&trouble["error"]["message"]),
        Some("lost") => text(&trouble["why"]),
        _ => text(&trouble["reason"]),
    }
}
