//! Putting a wish, and taking it back.

use super::{
    Decision, Draft, in_progress, outcome_unknown, redelivery, replayed, unchanged, wrong_state,
};
use crate::domain::id::{ExecutionKey, FenceToken, LeaseEpoch, LeaseId};
use crate::domain::scale::attempt::Base;
use crate::domain::scale::command::{PutForm, PutIntent};
use crate::domain::scale::consent::{Asked, Consent};
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{
    Acceptance, Execution, FailureCause, NewIntent, Phase, Submitted,
};
use crate::domain::scale::gates::{self, fresh_count, in_flight, registered};
use crate::domain::scale::identity::{external_lease_id, intended_identity};
use crate::domain::scale::intent::{Fence, IntentWish};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::Detail;
use crate::domain::scale::service::Registration;
use crate::domain::time::Timestamp;

pub(super) fn put(draft: &Draft<'_>, put: &PutIntent) -> Result<Decision, Rejection> {
    // Already there?
    if let Some(answer) = redelivery::answered(draft, put) {
        return answer.map(|()| replayed());
    }

    // Allowed now?
    let undone = undone_by(draft, put)?;
    let reports = gates::of_put(draft.state, put, draft.context, draft.now);
    let proposal = match reports.first_refusal() {
        None => None,
        // The last word is a colleague's, and every other gate is open.
        Some(Rejection::ApprovalRequired { until, .. }) => Some(*until),
        Some(rejection) => return Err(rejection.clone()),
    };
    // From here it must succeed.
    let intent_of = accept(draft, put, &reports)?;
    let events = match proposal {
        Some(until) => propose(draft, put, intent_of, &reports, until),
        None => accepted(draft, put, intent_of)?,
    };
    Ok(draft.done(undone.into_iter().chain(events).collect()))
}

/// Ends the waiting wishes, and lets this one be carried out.
fn accepted(
    draft: &Draft<'_>,
    put: &PutIntent,
    (intent, acceptance): (NewIntent, Acceptance),
) -> Result<Vec<EventBody>, Rejection> {
    let mut events = Vec::new();
    if !put.dry_run {
        events = ended_for(draft, &intent.wish, put.rolls_back.as_ref())?;
    }
    let pinned = put.pin_until.map(|until| EventBody::OverrideSet {
        execution_key: put.key().clone(),
        replicas: put.desired(),
        until,
        decision: intent.decision.clone(),
    });
    let receipt = put.receipt.clone();
    events.push(EventBody::IntentAccepted { intent, acceptance, receipt });
    events.extend(pinned);
    Ok(events)
}

/// What the acceptance of a wish ends.
pub(super) fn ended_for(
    draft: &Draft<'_>,
    newer: &IntentWish,
    undone: Option<&ExecutionKey>,
) -> Result<Vec<EventBody>, Rejection> {
    let mut events = Vec::new();
    let others = draft.state.executions.values().filter(|other| {
        let key = other.key();
        other.is_live() && *key != newer.execution_key && Some(key) != undone
    });
    for other in others {
        events.extend(ended_by_acceptance(draft, other, newer)?);
    }
    Ok(events)
}

/// Asks a colleague. A proposal ends only older proposals.
fn propose(
    draft: &Draft<'_>,
    put: &PutIntent,
    (intent, acceptance): (NewIntent, Acceptance),
    reports: &gates::Reports,
    until: Timestamp,
) -> Vec<EventBody> {
    let older = draft
        .state
        .executions
        .values()
        .filter(|other| other.is_live() && matches!(other.phase, Phase::Proposed { .. }));
    let mut events: Vec<EventBody> = older
        .map(|other| EventBody::IntentSuperseded {
            execution_key: other.key().clone(),
            by: intent.wish.intent_revision,
            outcome: None,
        })
        .collect();
    let is_minted = matches!(&put.form, PutForm::Flags { fence: None, .. });
    let asked = Asked {
        valid_for: put.valid_for(),
        given: (!is_minted).then_some((acceptance.fence, acceptance.created_at)),
        refused: reports.refused.clone().expect("BUG: gate 14 has seen what policy refused"),
        base: intent.current.expect("BUG: gate 14 has seen a count"),
    };
    events.push(EventBody::IntentProposed { intent, until, asked });
    events
}

/// The end of the failed wish that this one undoes. What has ended already stays as it is; what
/// nobody knows the outcome of cannot be undone.
fn undone_by(draft: &Draft<'_>, put: &PutIntent) -> Result<Option<EventBody>, Rejection> {
    let Some(key) = &put.rolls_back else {
        return Ok(None);
    };
    let undone = match &put.rolls_back_elsewhere {
        Some(foreign) => foreign.as_ref(),
        None => draft.execution(key)?,
    };
    match &undone.phase {
        _ if put.rolls_back_elsewhere.is_some() || !undone.is_live() => {
            Err(wrong_state(undone, "it is not a live intent of this service"))
        }
        Phase::Failed { .. } => {
            draft.check_own(undone, put.supersede)?;
            let detail = format!("rolled back by {}", put.key());
            draft.failure_end(undone, FailureCause::Abandoned, &detail).map(Some)
        }
        Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. }
        | Phase::Superseded { outcome: Some(_), .. } => Ok(None),
        Phase::Started { .. } => Err(in_progress(undone)),
        Phase::RecoveryPending { pending } => Err(outcome_unknown(draft, undone, pending)),
        Phase::Proposed { .. }
        | Phase::Accepted
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { outcome: None, .. } => {
            Err(wrong_state(undone, "it has changed nothing: there is nothing to undo"))
        }
    }
}

fn accept(
    draft: &Draft<'_>,
    put: &PutIntent,
    reports: &gates::Reports,
) -> Result<(NewIntent, Acceptance), Rejection> {
    let (registration, binding) = registered(draft.state, &put.service)?;
    let decision = reports.decision.clone().expect("BUG: gate 13 was walked");
    let (wish, fence, created_at, retry_policy) = match &put.form {
        PutForm::Record(record) => {
            let (wish, fence, created_at) = (**record).clone().into_parts();
            (wish, fence, created_at, None)
        }
        PutForm::Flags { replicas, reason, retry, key, fence, valid_for } => {
            let asked = retry.over(registration.retry_policy);
            let (intent_id, intent_revision) = intended_identity(draft.state, put)
                .expect("BUG: gate 4 has seen a mode that takes orders");
            let wish = IntentWish {
                intent_id,
                intent_revision,
                expected_unit_revision: registration.unit_revision,
                desired_replicas: *replicas,
                min_replicas: registration.min_replicas,
                max_replicas: registration.max_replicas,
                controller_mode: registration
                    .mode
                    .record_mode()
                    .expect("BUG: gate 4 has seen a mode that takes orders"),
                replica_writer_id: registration.writer.clone(),
                execution_key: key.clone(),
                target: registration.target(binding),
                reason: reason.clone(),
                retry_policy: asked.unwrap_or(registration.retry_policy),
            }
            .checked()
            .map_err(|error| Rejection::Contradiction(error.to_string()))?;
            let now = draft.now.truncated_to_millis();
            let fence = mint_fence(draft, registration, *fence, now.plus(*valid_for));
            (wish, fence, now, asked)
        }
    };
    let identity_digest = wish.clone().accepted(fence.clone(), created_at).identity_digest();
    let consent = put.authorization.clone().map(|id| Consent::BreakGlass { authorization_id: id });
    let acceptance =
        Acceptance { fence, created_at, identity_digest, accepted_at: draft.now, consent };
    let submitted =
        Submitted { whole_record: matches!(put.form, PutForm::Record(_)), retry_policy };
    let intent = NewIntent {
        service: put.service.clone(),
        wish,
        dry_run: put.dry_run,
        submitted,
        terms: registration.terms.clone(),
        base: Base::of(binding),
        behind: in_flight(draft.state, draft.now)
            .filter(|other| Some(other.key()) != put.rolls_back.as_ref())
            .map(Execution::revision),
        current: fresh_count(&draft.state.head, draft.now),
        decision,
        permissions: reports.permissions(),
        source: put.source,
        rolls_back: put.rolls_back.clone(),
    };
    Ok((intent, acceptance))
}

pub(super) fn mint_fence(
    draft: &Draft<'_>,
    registration: &Registration,
    given: Option<(LeaseEpoch, FenceToken)>,
    expires_at: Timestamp,
) -> Fence {
    let mark = &draft.state.head.mark;
    match given {
        Some((lease_epoch, fence_token)) => Fence {
            lease_id: external_lease_id(registration),
            lease_epoch,
            fence_token,
            expires_at,
        },
        None => Fence {
            lease_id: LeaseId::derived("ledger", draft.context.ledger_id.as_str()),
            lease_epoch: LeaseEpoch::new(mark.epoch).unwrap_or(LeaseEpoch::MIN),
            fence_token: FenceToken::new(mark.token.saturating_add(1)).unwrap_or(FenceToken::MAX),
            expires_at,
        },
    }
}

/// What the acceptance of a newer wish does to an older live one (design, section 3).
fn ended_by_acceptance(
    draft: &Draft<'_>,
    other: &Execution,
    newer: &IntentWish,
) -> Result<Option<EventBody>, Rejection> {
    let superseded = |outcome| EventBody::IntentSuperseded {
        execution_key: other.key().clone(),
        by: newer.intent_revision,
        outcome,
    };
    match &other.phase {
        Phase::Proposed { .. } | Phase::Accepted => Ok(Some(superseded(None))),
        Phase::Succeeded | Phase::Observed => Ok(Some(superseded(other.unconfirmed_outcome()))),
        // A failure that nothing can try again any more has only waited to be written down.
        Phase::Failed { .. } if !other.is_retryable(draft.now) => {
            draft.failure_end(other, FailureCause::FenceOver, "the fence ran out").map(Some)
        }
        Phase::Failed { .. }
        | Phase::Started { .. }
        | Phase::RecoveryPending { .. }
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => Ok(None),
    }
}

pub(super) fn withdraw(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    reason: Option<&Detail>,
    supersede: bool,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    match &execution.phase {
        Phase::Withdrawn => Ok(unchanged()),
        Phase::Proposed { .. } | Phase::Accepted => {
            draft.check_own(execution, supersede)?;
            Ok(draft.done(vec![EventBody::IntentWithdrawn {
                execution_key: key.clone(),
                reason: reason.cloned(),
            }]))
        }
        Phase::Failed { .. } => Err(wrong_state(execution, "end it with intent abandon")),
        Phase::Started { .. } | Phase::RecoveryPending { .. } => {
            Err(wrong_state(execution, "it has started"))
        }
        Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Superseded { .. } => Err(wrong_state(execution, "it is over")),
    }
}
