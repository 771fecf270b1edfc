//! Leases: taking, keeping and giving back the permission for one attempt.

use super::start::waits_behind;
use super::{
    Decision, Draft, approval_required, in_progress, may_repeat, outcome_unknown, replayed,
    unchanged, wrong_state,
};
use crate::domain::id::{AttemptNumber, ControllerId, ExecutionKey, LeaseInstanceId};
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::gates::{check_writer, registered};
use crate::domain::scale::lease::{
    ControllerLease, HeldLease, Holder, LEASE_TTL_MAX, LEASE_TTL_MIN,
};
use crate::domain::scale::rejection::Rejection;
use crate::domain::time::{DurationMs, Timestamp};

/// What somebody who wants a lease brings.
pub(super) struct Request<'a> {
    /// Who.
    pub(super) controller: &'a ControllerId,
    /// The instance to use where none is held.
    pub(super) lease_instance_id: &'a LeaseInstanceId,
    /// The process that holds it.
    pub(super) holder: &'a Holder,
    /// How long.
    pub(super) ttl: DurationMs,
}

pub(super) fn acquire(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    request: &Request<'_>,
) -> Result<Decision, Rejection> {
    check_ttl(request.ttl)?;
    let execution = draft.execution(key)?;

    // Already there? A finished key answers with its outcome, a held lease with itself.
    if execution.phase.is_finished() {
        return Ok(replayed());
    }
    if execution.intent.dry_run {
        return Err(Rejection::SimulatedKey { key: key.clone() });
    }
    let (registration, _) = registered(draft.state, &execution.intent.service)?;
    check_writer(registration, Some(request.controller))?;
    if let Some(held) = execution.live_lease(draft.now) {
        // A retryable failure has ended its lease; the next attempt needs another.
        let is_for_next = held.lease.attempt.get() > execution.attempts;
        let is_for_call = matches!(execution.phase, Phase::Started { .. });
        if held.lease.controller_id != *request.controller {
            return Err(Rejection::LeaseHeld {
                service: execution.intent.service.clone(),
                revision: execution.revision(),
                held: Box::new(held.clone()),
            });
        }
        if is_for_next || is_for_call {
            return Ok(unchanged());
        }
    }

    // Allowed now?
    if let Some(rejection) = waits_behind(draft.state, execution) {
        return Err(rejection);
    }
    match &execution.phase {
        Phase::Accepted | Phase::Failed { .. } => {}
        // Not before the quiet is over: a new lease turns a result that comes now into evidence.
        Phase::RecoveryPending { pending }
            if may_repeat(draft, execution)
                && pending.is_quiet(execution.intent.terms.quiet_ms, draft.now) => {}
        Phase::RecoveryPending { pending } => {
            return Err(outcome_unknown(draft, execution, pending));
        }
        Phase::Succeeded | Phase::Observed => return Ok(replayed()),
        Phase::Proposed { until } => {
            return Err(approval_required(draft, execution, *until));
        }
        Phase::Started { .. } => return Err(wrong_state(execution, "its call has not ended")),
        Phase::Verified { .. } | Phase::Rejected | Phase::Withdrawn | Phase::Superseded { .. } => {
            return Ok(replayed());
        }
    }
    let held = grant(draft, execution, request)?;

    Ok(draft.done(vec![EventBody::LeaseAcquired { execution_key: key.clone(), held }]))
}

/// A new lease for the next attempt: never past the fence.
pub(super) fn grant(
    draft: &Draft<'_>,
    execution: &Execution,
    request: &Request<'_>,
) -> Result<HeldLease, Rejection> {
    let fence = live_fence(draft, execution)?;
    let attempt = AttemptNumber::new(execution.attempts + 1)
        .map_err(|error| Rejection::Contradiction(error.to_string()))?;
    let lease = ControllerLease {
        lease_instance_id: request.lease_instance_id.clone(),
        controller_id: request.controller.clone(),
        fence: fence.clone(),
        attempt,
        acquired_at: draft.now,
        expires_at: end_of(draft.now, request.ttl, fence.expires_at),
    };
    Ok(HeldLease { lease, holder: request.holder.clone() })
}

/// The end of a lease: never past the end of its fence.
pub(super) fn end_of(now: Timestamp, ttl: DurationMs, fence_end: Timestamp) -> Timestamp {
    now.plus(ttl.min(LEASE_TTL_MAX)).min(fence_end)
}

fn live_fence<'e>(
    draft: &Draft<'_>,
    execution: &'e Execution,
) -> Result<&'e crate::domain::scale::intent::Fence, Rejection> {
    let fence = execution.fence().ok_or_else(|| wrong_state(execution, "it has no fence yet"))?;
    if fence.is_alive(draft.now) {
        return Ok(fence);
    }
    Err(Rejection::FenceExpired {
        service: execution.intent.service.clone(),
        revision: execution.revision(),
        expires_at: fence.expires_at,
    })
}

fn check_ttl(ttl: DurationMs) -> Result<(), Rejection> {
    if (LEASE_TTL_MIN..=LEASE_TTL_MAX).contains(&ttl) {
        Ok(())
    } else {
        Err(Rejection::Contradiction(format!(
            "a lease lasts {LEASE_TTL_MIN} to {LEASE_TTL_MAX}, not {ttl}"
        )))
    }
}

/// The caller's own live lease, or the refusal that it is not, or no longer, the caller's. While a
/// call is under way nobody else can have replaced its lease, so another clock does not end it.
fn own<'e>(
    draft: &Draft<'_>,
    execution: &'e Execution,
    given: &LeaseInstanceId,
) -> Result<&'e HeldLease, Rejection> {
    let live = if matches!(execution.phase, Phase::Started { .. }) {
        execution.lease.as_ref()
    } else {
        execution.live_lease(draft.now)
    };
    live.filter(|held| held.lease.lease_instance_id == *given).ok_or_else(|| Rejection::LeaseLost {
        key: execution.key().clone(),
        given: given.clone(),
        held: live.cloned().map(Box::new),
    })
}

pub(super) fn renew(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    given: &LeaseInstanceId,
    ttl: DurationMs,
) -> Result<Decision, Rejection> {
    check_ttl(ttl)?;
    let execution = draft.execution(key)?;
    if execution.phase.is_finished() {
        return Ok(replayed());
    }
    // An expired lease is lost: extending it could revive one that another has replaced.
    let held = own(draft, execution, given)?;
    let fence = live_fence(draft, execution)?;
    let expires_at = end_of(draft.now, ttl, fence.expires_at);
    if expires_at <= held.lease.expires_at {
        return Ok(unchanged());
    }
    Ok(draft.done(vec![EventBody::LeaseRenewed {
        execution_key: key.clone(),
        lease_instance_id: given.clone(),
        expires_at,
    }]))
}

pub(super) fn release(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    given: &LeaseInstanceId,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    if execution.phase.is_finished() {
        return Ok(replayed());
    }
    match &execution.phase {
        Phase::Started { .. } => return Err(in_progress(execution)),
        // Until its end is proved, the call may be alive.
        Phase::RecoveryPending { pending } if pending.ended_at.is_none() && !pending.fenced => {
            return Err(outcome_unknown(draft, execution, pending));
        }
        Phase::Proposed { .. }
        | Phase::Accepted
        | Phase::RecoveryPending { .. }
        | Phase::Failed { .. }
        | Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => {}
    }
    // The same line again finds nothing left to give back.
    if execution.live_lease(draft.now).is_none() {
        return Ok(unchanged());
    }
    own(draft, execution, given)?;
    Ok(draft.done(vec![EventBody::LeaseReleased {
        execution_key: key.clone(),
        lease_instance_id: given.clone(),
    }]))
}
