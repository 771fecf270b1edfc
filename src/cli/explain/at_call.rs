//! What the gates saw right before the newest call of a key, as its event keeps it.
//!
//! Nothing is asked again: what would be so now is told by a plan.

use crate::domain::scale::consent::Consent;
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::gates::Gate;
use crate::domain::scale::intent::ControllerMode;
use crate::domain::scale::observation::Evidence;
use crate::domain::scale::policy::PolicyAnswer;
use crate::domain::time::Timestamp;
use crate::ledger::StoredEvent;

/// One gate and what it saw; none where nobody was called.
pub(super) fn seen(execution: &Execution, events: &[StoredEvent]) -> Vec<(Gate, String)> {
    let started = events.iter().rev().find(|event| event.kind == "attempt_started");
    let started = started.and_then(|event| {
        let body: EventBody = serde_json::from_value(event.body.clone()).ok()?;
        Some((event.at, body))
    });
    let Some((at, EventBody::AttemptStarted { held, call, decision, permissions, evidence, .. })) =
        started
    else {
        return Vec::new();
    };
    let wish = &execution.intent.wish;
    let count = call.base.replicas.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let fence = &held.lease.fence;
    let consent = execution.acceptance.as_ref().and_then(|it| it.consent.as_ref());
    let consent = match consent {
        Some(Consent::Approval { approval }) => {
            format!("{} by {}, for {}", approval.approval_id, approval.by.actor, approval.base)
        }
        Some(Consent::BreakGlass { authorization_id }) => {
            format!("broken glass {authorization_id}")
        }
        None => "-".to_owned(),
    };
    let mut seen = vec![
        (
            Gate::Registration,
            format!(
                "uid {}, version {}, count {count}",
                call.base.target_uid, call.base.target_resource_version
            ),
        ),
        (Gate::Mode, mode(wish.controller_mode).to_owned()),
        (Gate::Writer, wish.replica_writer_id.to_string()),
        (
            Gate::Bounds,
            format!("{} ≤ {} ≤ {}", wish.min_replicas, wish.desired_replicas, wish.max_replicas),
        ),
        (
            Gate::Fence,
            format!("{}/{} until {}", fence.lease_epoch, fence.fence_token, fence.expires_at),
        ),
        (
            Gate::Evidence,
            evidence.map_or_else(|| "-".to_owned(), |evidence| evidence_text(&evidence, at)),
        ),
        (Gate::Policy, rules(&decision)),
        (Gate::Approval, consent),
        (
            Gate::Lease,
            format!(
                "{} on {} (pid {}), attempt {}",
                held.lease.controller_id, held.holder.host, held.holder.pid, call.attempt
            ),
        ),
    ];
    for permission in &permissions {
        seen.push((Gate::Policy, format!("another gate yielded: {}", rules(permission))));
    }
    seen.sort_by_key(|(gate, _)| gate.number());
    seen
}

fn evidence_text(evidence: &Evidence, at: Timestamp) -> String {
    let word =
        |is_so: bool, word: &str| if is_so { word.to_owned() } else { format!("not {word}") };
    let quorum = match evidence.quorum_safe {
        Some(true) => ", quorum safe",
        Some(false) => ", quorum not safe",
        None => "",
    };
    format!(
        "{}, {}{quorum}, read {} before",
        word(evidence.drained, "drained"),
        word(evidence.stabilized, "stabilized"),
        at.since(evidence.read_at)
    )
}

const fn mode(mode: ControllerMode) -> &'static str {
    match mode {
        ControllerMode::Native => "native",
        ControllerMode::Delegated => "delegated",
    }
}

fn rules(answer: &PolicyAnswer) -> String {
    let rules: Vec<&str> = answer.rules.iter().map(|rule| rule.id.as_str()).collect();
    let action = answer.action.as_str();
    match (answer.allowed, rules.is_empty()) {
        (true, true) => format!("permits {action}: no policy is set"),
        (true, false) => format!("{} permits {action}", rules.join(", ")),
        (false, true) => format!("no rule permits {action}"),
        (false, false) => format!("{} forbids {action}", rules.join(", ")),
    }
}
