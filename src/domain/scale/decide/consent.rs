//! What a person consents to: answers to proposals, and authorizations to break the glass.

use super::put::{ended_for, mint_fence};
use super::{Decision, Draft, approval_required, replayed, unchanged, wrong_state};
use crate::domain::id::{AuthorizationId, ExecutionKey, ServiceName};
use crate::domain::scale::command::Authorize;
use crate::domain::scale::consent::{
    AUTHORIZATION_MAX, Approval, Asked, Authorization, Consent, OpenAuthorization, Unauthorized,
    approval_id,
};
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{Acceptance, Execution, Phase};
use crate::domain::scale::gates::{
    check_mode_of, check_unit, external, fresh_count, once_registered, registered,
};
use crate::domain::scale::intent::Fence;
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer, PolicyQuery};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::Detail;
use crate::domain::scale::service::Registration;
use crate::domain::scale::signed::{SignedAct, Signing};
use crate::domain::time::{DurationMs, Timestamp};

/// Agrees to a proposal: from here on it may be carried out, for the count that it was asked about.
pub(super) fn grant(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    reason: &Detail,
    signing: &Signing,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;

    // Already there?
    if execution.approval().is_some() {
        return Ok(replayed());
    }

    // Allowed now?
    let asked = pending(draft, execution)?;
    let (registration, _) = registered(draft.state, &execution.intent.service)?;
    let wish = &execution.intent.wish;
    check_unit(registration, wish.expected_unit_revision.get())?;
    check_mode_of(registration, wish.controller_mode)?;
    let service = || execution.intent.service.clone();
    if let Some(actual) = fresh_count(&draft.state.head, draft.now).filter(|it| *it != asked.base) {
        return Err(Rejection::ApprovalMoved {
            service: service(),
            revision: execution.revision(),
            base: asked.base,
            desired: execution.desired(),
            actual: Some(actual),
            has_started: false,
        });
    }
    let act = SignedAct::answer(draft.context.ledger_id, execution, asked, true, reason);
    signing.check(&act, approval_id(key).as_str())?;
    let decision = may_answer(draft, execution, asked, reason)?;
    let (fence, created_at) = fence_of(draft, execution, asked, registration)?;
    check_about_to_start(draft, key)?;

    let approval = Approval {
        approval_id: approval_id(key),
        by: draft.context.by.clone(),
        at: draft.now,
        reason: reason.clone(),
        base: asked.base,
        decision,
    };
    let identity_digest = wish.clone().accepted(fence.clone(), created_at).identity_digest();
    let mut events = ended_for(draft, wish, None)?;
    events.push(EventBody::IntentAccepted {
        intent: execution.intent.clone(),
        acceptance: Acceptance {
            fence,
            created_at,
            identity_digest,
            accepted_at: draft.now,
            consent: Some(Consent::Approval { approval: Box::new(approval) }),
        },
        receipt: None,
    });
    Ok(draft.done(events))
}

/// The fence of a granted proposal, and when its record was made: minted now, or the one that its
/// maker brought, which must still be the newest.
fn fence_of(
    draft: &Draft<'_>,
    execution: &Execution,
    asked: &Asked,
    registration: &Registration,
) -> Result<(Fence, Timestamp), Rejection> {
    let Some((fence, created_at)) = &asked.given else {
        let now = draft.now.truncated_to_millis();
        return Ok((mint_fence(draft, registration, None, now.plus(asked.valid_for)), now));
    };
    let service = execution.intent.service.clone();
    let mark = &draft.state.head.mark;
    let (epoch, token) = fence.rank();
    let (mark_epoch, mark_token) = (mark.epoch, mark.token);
    let is_same_lease = mark.lease_id.as_ref() == Some(&fence.lease_id);
    let is_at_mark = (epoch, token) == (mark_epoch, mark_token);
    if (epoch, token) < (mark_epoch, mark_token) || (is_at_mark && !is_same_lease) {
        return Err(Rejection::FenceLost { service, epoch, token, mark_epoch, mark_token });
    }
    if !fence.is_alive(draft.now) {
        let (revision, expires_at) = (execution.revision(), fence.expires_at);
        return Err(Rejection::FenceExpired { service, revision, expires_at });
    }
    Ok((fence.clone(), *created_at))
}

/// A yes does not end what a process holds a lease for and is about to start: it is given again
/// once that lease is over.
fn check_about_to_start(draft: &Draft<'_>, key: &ExecutionKey) -> Result<(), Rejection> {
    let others = draft.state.executions.values().filter(|it| it.waits() && it.key() != key);
    for other in others {
        if let Some(held) = other.live_lease(draft.now) {
            let (service, revision) = (other.intent.service.clone(), other.revision());
            let held = Box::new(held.clone());
            return Err(Rejection::LeaseHeld { service, revision, held });
        }
    }
    Ok(())
}

/// Says no to a proposal.
pub(super) fn deny(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    reason: &Detail,
    signing: &Signing,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    if matches!(execution.phase, Phase::Rejected) {
        return Ok(replayed());
    }
    let asked = pending(draft, execution)?;
    registered(draft.state, &execution.intent.service)?;
    let act = SignedAct::answer(draft.context.ledger_id, execution, asked, false, reason);
    signing.check(&act, approval_id(key).as_str())?;
    let decision = may_answer(draft, execution, asked, reason)?;
    let execution_key = key.clone();
    Ok(draft.done(vec![EventBody::IntentRejected {
        execution_key,
        reason: reason.clone(),
        decision,
    }]))
}

/// What a proposal that still waits was asked with.
fn pending<'e>(draft: &Draft<'_>, execution: &'e Execution) -> Result<&'e Asked, Rejection> {
    match (&execution.phase, &execution.asked) {
        (Phase::Proposed { until }, Some(_)) if *until <= draft.now => {
            Err(approval_required(draft, execution, *until))
        }
        (Phase::Proposed { .. }, Some(asked)) => Ok(asked),
        (Phase::Rejected, _) => Err(wrong_state(execution, "somebody has said no")),
        (_, _) => Err(wrong_state(execution, "it does not wait for an answer")),
    }
}

/// Whether this person may answer: another one than the proposer by evidence, and let by policy.
fn may_answer(
    draft: &Draft<'_>,
    execution: &Execution,
    asked: &Asked,
    reason: &Detail,
) -> Result<PolicyAnswer, Rejection> {
    let (registration, _) = registered(draft.state, &execution.intent.service)?;
    let by = draft.context.by;
    if !by.is_other_person(&execution.put_by) {
        let (evidence, name, _) = by.compared(&execution.put_by);
        return Err(Rejection::SamePerson {
            service: execution.intent.service.clone(),
            revision: execution.revision(),
            evidence,
            name: name.to_owned(),
        });
    }
    let query = PolicyQuery {
        desired: Some(execution.desired()),
        current: Some(asked.base),
        reason: Some(reason.as_str().to_owned()),
        ..draft.about(PolicyAction::Approve, registration)
    };
    let subject = format!("{}@{}", execution.intent.service, execution.revision());
    draft.permitted(&query, subject)
}

/// Permits to break the glass: for one target and one count.
pub(super) fn authorize(draft: &Draft<'_>, ask: &Authorize) -> Result<Decision, Rejection> {
    let (registration, binding) = registered(draft.state, &ask.service)?;

    // Malformed?
    let contradiction = |text: String| Err(Rejection::Contradiction(text));
    if ask.valid_for == DurationMs::ZERO || ask.valid_for > AUTHORIZATION_MAX {
        return contradiction(format!(
            "an authorization lasts 1ms to {AUTHORIZATION_MAX}, not {}",
            ask.valid_for
        ));
    }
    if ask.max_uses == 0 {
        return contradiction("an authorization is used once or more".to_owned());
    }

    // Already there?
    if draft.state.head.authorizations.contains_key(&ask.authorization_id) {
        return Ok(unchanged());
    }

    // Allowed now?
    let max_replicas = ask.raises_max_to.unwrap_or(registration.max_replicas);
    if !(registration.min_replicas..=max_replicas).contains(&ask.desired_replicas) {
        return Err(Rejection::OutOfBounds {
            service: ask.service.clone(),
            desired: ask.desired_replicas,
            min: registration.min_replicas,
            max: max_replicas,
            unit_revision: registration.unit_revision,
        });
    }
    if registration.mode.record_mode().is_none() {
        return Err(external(registration));
    }
    let query = PolicyQuery {
        desired: Some(ask.desired_replicas),
        current: ask.current,
        reason: Some(ask.reason.as_str().to_owned()),
        ..draft.about(PolicyAction::BreakGlass, registration)
    };
    let subject = format!("{} to {}", ask.service, ask.desired_replicas);
    let decision = draft.permitted(&query, subject)?;

    let authorization = Authorization {
        authorization_id: ask.authorization_id.clone(),
        service: ask.service.clone(),
        cluster_id: registration.cluster_id.clone(),
        runtime_id: registration.runtime_id.clone(),
        workload_id: registration.workload_id.clone(),
        target_uid: binding.target_uid.clone(),
        desired_replicas: ask.desired_replicas,
        current: ask.current,
        incident: ask.incident.clone(),
        reason: ask.reason.clone(),
        until: draft.now.plus(ask.valid_for),
        max_uses: ask.max_uses,
        attests_not_drained: ask.attests_not_drained,
        raises_max_to: ask.raises_max_to,
        decision,
    };
    let act = SignedAct::authorization(draft.context.ledger_id, &authorization, ask.valid_for);
    ask.signing.check(&act, ask.authorization_id.as_str())?;
    let authorization = Box::new(authorization);
    Ok(draft.done(vec![EventBody::AuthorizationGranted { authorization }]))
}

/// Takes an authorization back: nothing starts under it any more.
pub(super) fn revoke(
    draft: &Draft<'_>,
    service: &ServiceName,
    id: &AuthorizationId,
    reason: &Detail,
) -> Result<Decision, Rejection> {
    let open = open_authorization(draft, service, id)?;
    if open.revoked_at.is_some() {
        return Ok(unchanged());
    }
    let registration = once_registered(draft.state, service)?;
    let query = PolicyQuery {
        reason: Some(reason.as_str().to_owned()),
        ..draft.about(PolicyAction::BreakGlass, registration)
    };
    // Whoever gave it may always take it back.
    if open.by.is_other_person(draft.context.by) {
        draft.permitted(&query, id.to_string())?;
    }
    let (authorization_id, reason) = (id.clone(), reason.clone());
    Ok(draft.done(vec![EventBody::AuthorizationRevoked { authorization_id, reason }]))
}

/// Says that somebody else has looked at what was done.
pub(super) fn review(
    draft: &Draft<'_>,
    service: &ServiceName,
    id: &AuthorizationId,
    reason: &Detail,
    signing: &Signing,
) -> Result<Decision, Rejection> {
    let open = open_authorization(draft, service, id)?;
    let by = draft.context.by;
    if open.over(draft.now).is_none() {
        return Err(Rejection::AuthorizationOpen {
            service: service.clone(),
            authorization_id: id.clone(),
            until: open.authorization.until,
        });
    }
    // Nobody can have looked at what is still to come, and its next attempt needs the permission.
    let used = open.uses.keys().filter_map(|key| draft.state.executions.get(key));
    if let Some(execution) = used.into_iter().find(|used| used.is_in_flight(draft.now)) {
        return Err(Rejection::in_flight(execution, draft.now));
    }
    if let Some(own) = open.hands().find(|hand| !by.is_other_person(hand)) {
        let (evidence, name, _) = by.compared(own);
        let name = name.to_owned();
        return Err(Rejection::SameReviewer { authorization_id: id.clone(), evidence, name });
    }
    let act = SignedAct::review(draft.context.ledger_id, &open.authorization, reason);
    signing.check(&act, id.as_str())?;
    let registration = once_registered(draft.state, service)?;
    let query = PolicyQuery {
        desired: Some(open.authorization.desired_replicas),
        current: open.authorization.current,
        reason: Some(reason.as_str().to_owned()),
        ..draft.about(PolicyAction::Approve, registration)
    };
    let decision = draft.permitted(&query, id.to_string())?;
    let (authorization_id, reason) = (id.clone(), reason.clone());
    Ok(draft.done(vec![EventBody::AuthorizationReviewed { authorization_id, reason, decision }]))
}

fn open_authorization<'s>(
    draft: &Draft<'s>,
    service: &ServiceName,
    id: &AuthorizationId,
) -> Result<&'s OpenAuthorization, Rejection> {
    draft.state.head.authorizations.get(id).ok_or_else(|| Rejection::NotAuthorized {
        service: service.clone(),
        authorization_id: id.clone(),
        why: Unauthorized::NoSuch,
        is_for: None,
    })
}
