//! An event of a service out of its JSON, the long ones without a detour.
//!
//! An enum that is told apart by a member is read by keeping all members until that one is found,
//! which takes as long as everything else that is done about an event. The three long kinds are
//! read as what their column says that they are. Whatever is unusual goes the general way.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::domain::gateway::Receipt;
use crate::domain::id::{AttemptNumber, ExecutionKey, TargetResourceVersion};
use crate::domain::scale::attempt::{Call, ResultSource};
use crate::domain::scale::event::{Event, EventBody, Stamped};
use crate::domain::scale::execution::{Acceptance, NewIntent};
use crate::domain::scale::lease::HeldLease;
use crate::domain::scale::observation::Evidence;
use crate::domain::scale::policy::PolicyAnswer;
use crate::domain::scale::result::ActuationResult;
use crate::domain::time::Timestamp;

/// The event that `body` says, whatever `kind` is; a wrong `kind` only costs time.
pub(super) fn event(kind: &str, body: &str) -> Result<Event, serde_json::Error> {
    let direct = match kind {
        "intent_accepted" => read::<Accepted>(body),
        "attempt_started" => read::<Started>(body),
        "result_recorded" => read::<Recorded>(body),
        _ => None,
    };
    direct.map_or_else(|| serde_json::from_str(body), Ok)
}

/// `K` is the members of one kind; it becomes the word that it says of itself, and the event.
fn read<K: DeserializeOwned + Into<(String, EventBody)>>(body: &str) -> Option<Event> {
    let Stamped { at, by, body } = serde_json::from_str::<Stamped<K>>(body).ok()?;
    let (word, body) = body.into();
    (word == body.kind()).then_some(Event { at, by, body })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Accepted {
    event: String,
    intent: NewIntent,
    acceptance: Acceptance,
    #[serde(default)]
    receipt: Option<Box<Receipt>>,
}

impl From<Accepted> for (String, EventBody) {
    fn from(Accepted { event, intent, acceptance, receipt }: Accepted) -> Self {
        (event, EventBody::IntentAccepted { intent, acceptance, receipt })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Started {
    event: String,
    execution_key: ExecutionKey,
    held: HeldLease,
    call: Call,
    decision: PolicyAnswer,
    #[serde(default)]
    permissions: Vec<PolicyAnswer>,
    evidence: Option<Evidence>,
}

impl From<Started> for (String, EventBody) {
    fn from(it: Started) -> Self {
        let body = EventBody::AttemptStarted {
            execution_key: it.execution_key,
            held: it.held,
            call: it.call,
            decision: it.decision,
            permissions: it.permissions,
            evidence: it.evidence,
        };
        (it.event, body)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    event: String,
    execution_key: ExecutionKey,
    attempt: AttemptNumber,
    result: ActuationResult,
    source: ResultSource,
    ended_at: Timestamp,
    retry_at: Option<Timestamp>,
    partly_applied: bool,
    rollback_required: bool,
    resource_version_after: Option<TargetResourceVersion>,
    #[serde(default)]
    decision: Option<PolicyAnswer>,
}

impl From<Recorded> for (String, EventBody) {
    fn from(it: Recorded) -> Self {
        let body = EventBody::ResultRecorded {
            execution_key: it.execution_key,
            attempt: it.attempt,
            result: it.result,
            source: it.source,
            ended_at: it.ended_at,
            retry_at: it.retry_at,
            partly_applied: it.partly_applied,
            rollback_required: it.rollback_required,
            resource_version_after: it.resource_version_after,
            decision: it.decision,
        };
        (it.event, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(kind: &str) -> String {
        let path = format!("{}/fixtures/events/{kind}.json", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("the fixture")
    }

    fn generally(text: &str) -> Option<Event> {
        serde_json::from_str(text).ok()
    }

    /// An acceptance for an operation of the gateway, which has one member more.
    #[test]
    fn an_acceptance_with_a_receipt_is_read_the_same_both_ways() {
        let plain = stored("intent_accepted");
        let receipt = concat!(
            r#"{"request":{"schema_version":1,"operation_id":"op","service":"web","#,
            r#""expected_revision":"0","direction":"Up","current_replicas":0,"#,
            r#""desired_replicas":2,"reason":"load"},"response":{"accepted":true,"#,
            r#""actual_replicas":2,"revision":"1","message":"m"}}"#
        );
        let text = plain.trim_end().strip_suffix("}}").expect("two braces");
        let text = format!(r#"{text},"receipt":{receipt}}}}}"#);
        let expected = generally(&text).expect("an event");
        assert_eq!(event("intent_accepted", &text).expect("an event"), expected);
        assert!(serde_json::to_string(&expected).expect("JSON").contains(receipt));
        assert!(!serde_json::to_string(&generally(&plain)).expect("JSON").contains("receipt"));
    }

    #[test]
    fn both_ways_read_the_same() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/events");
        let mut kinds = 0;
        for entry in std::fs::read_dir(directory).expect("the fixtures") {
            let text = std::fs::read_to_string(entry.expect("a fixture").path()).expect("is text");
            let expected = generally(&text).expect("an event");
            for kind in [expected.body.kind(), "intent_accepted", "attempt_started", "", "x"] {
                assert_eq!(event(kind, &text).expect("an event"), expected, "{kind}");
            }
            kinds += 1;
        }
        assert!(kinds >= 17, "{kinds} fixtures");
    }

    #[test]
    fn the_long_kinds_take_the_short_way_and_no_others_do() {
        let (accepted, started) = (stored("intent_accepted"), stored("attempt_started"));
        let recorded = stored("result_recorded");
        assert_eq!(read::<Accepted>(&accepted), generally(&accepted));
        assert_eq!(read::<Started>(&started), generally(&started));
        assert_eq!(read::<Recorded>(&recorded), generally(&recorded));
        assert_eq!(read::<Accepted>(&started), None);
        let renamed = accepted.replace("\"intent_accepted\"", "\"intent_proposed\"");
        assert_ne!(renamed, accepted);
        assert_eq!(read::<Accepted>(&renamed), None);
    }

    #[test]
    fn what_one_way_refuses_the_other_refuses() {
        for kind in ["intent_accepted", "attempt_started", "result_recorded"] {
            let text = stored(kind);
            let bodies = [
                text.replace("\"body\":{", "\"body\":{\"more\":1,"),
                text.replace("\"body\":{", "\"body\":{\"event\":\"x\","),
                text.replace("\"execution_key\":", "\"other_key\":"),
            ];
            for body in bodies {
                assert_ne!(body, text);
                assert_eq!(generally(&body), None, "{body}");
                assert!(event(kind, &body).is_err(), "{body}");
            }
        }
    }
}
