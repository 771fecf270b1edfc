//! Events in words: the line of `log`, of `explain` and of `timeline`.

use serde::Deserialize as _;
use serde_json::Value;

use super::seldom::{text, what_seldom};
use crate::cli::problem::why_text;
use crate::cli::view::beyond;
use crate::domain::scale::attempt::UnknownWhy;
use crate::domain::scale::provenance::Provenance;
use crate::ledger::StoredEvent;

/// What is known of whoever wrote an event, without what they claim.
pub(in crate::cli) fn known_as(by: &Provenance) -> String {
    let mut known = format!("{}@{}", by.os_user, by.host);
    if let Some(role) = &by.db_role {
        known.extend([", db ", role]);
    }
    if let Some(signer) = &by.signed_by {
        known.extend([", key of ", &signer.principal]);
    }
    known
}

/// One event in words, with its kind.
pub(in crate::cli) fn describe(event: &StoredEvent) -> String {
    let what = what(event);
    let who = &event.by.actor;
    if what.is_empty() {
        format!("{:<22} by {who}", event.kind)
    } else {
        format!("{:<22} by {who}: {what}", event.kind)
    }
}

/// Why nobody knows what became of a call, and what its actuator said, where that is more.
fn lost(body: &Value) -> String {
    let word = text(&body["why"]);
    let why = UnknownWhy::deserialize(&body["why"]);
    let why = why.map_or_else(|_| word.clone(), |why| why_text(why).to_owned());
    let detail = body["detail"].as_str().unwrap_or_default();
    // An actuator's own words begin with the word that is told already.
    match beyond(&word, detail) {
        "" => why,
        // The ledger's own words for it say all of it.
        detail if word == UnknownWhy::Lost.as_str() => detail.to_owned(),
        detail => format!("{why}: {detail}"),
    }
}

/// What of an event a person asks for first.
pub(super) fn what(event: &StoredEvent) -> String {
    let body = &event.body;
    match event.kind.as_str() {
        "intent_accepted" | "intent_proposed" => {
            let intent = &body["intent"];
            let wish = &intent["wish"];
            format!(
                "@{} {} → {} {:?}{}",
                text(&wish["intent_revision"]),
                text(&intent["current"]),
                text(&wish["desired_replicas"]),
                text(&wish["reason"]),
                if intent["dry_run"] == true { " (simulation)" } else { "" }
            )
        }
        "attempt_started" => format!(
            "attempt {}, fence {}/{}, base {}",
            text(&body["call"]["attempt"]),
            text(&body["held"]["lease"]["fence"]["lease_epoch"]),
            text(&body["held"]["lease"]["fence"]["fence_token"]),
            text(&body["call"]["base"]["replicas"])
        ),
        "result_recorded" => format!(
            "{} of attempt {}, {} read, {}",
            text(&body["result"]["state"]),
            text(&body["attempt"]),
            text(&body["result"]["observed_replicas"]),
            text(&body["source"])
        ),
        "attempt_lost" => lost(body),
        "reading_recorded" => {
            format!("{} {}", text(&body["reading"]["replicas"]), text(&body["verdict"]))
        }
        "observation_recorded" => {
            let observation = &body["observation"];
            format!(
                "{} by {}: {}",
                text(&observation["status"]),
                text(&observation["source"]),
                text(&observation["detail"])
            )
        }
        "intent_superseded" => format!("by @{}", text(&body["by"])),
        "service_registered" => {
            format!("registration {}", text(&body["registration"]["unit_revision"]))
        }
        "target_bound" if body["binding"]["outdated"]["target"] == true => {
            "its environment has moved: the next reading says what it is".to_owned()
        }
        "target_bound" => format!("{} declared", text(&body["binding"]["replicas"])),
        "actuator_registered" => text(&body["actuator"]["name"]),
        "policy_set" => text(&body["policy"]["digest"]),
        "refused" => format!("{}: {}", text(&body["code"]), text(&body["message"])),
        "lease_acquired" => {
            format!("until {}", text(&body["held"]["lease"]["expires_at"]))
        }
        "lease_renewed" => format!("until {}", text(&body["expires_at"])),
        other => what_seldom(other, body),
    }
}
