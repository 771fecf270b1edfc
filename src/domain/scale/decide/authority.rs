//! What a person lays upon a service as a whole: hand-over, hold, the end of an override, adoption
//! and retirement.

use super::leave::check_nothing_laid_upon;
use super::service::check_nothing_in_flight;
use super::{Decision, Draft, Reply, adopt, consent, nothing, tick, unchanged};
use crate::domain::id::{ServiceName, UnitRevision};
use crate::domain::scale::command::{AuthorityCommand, HandOver};
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::FailureCause;
use crate::domain::scale::gates::{check_uid, registered};
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer, PolicyQuery};
use crate::domain::scale::rejection::{MissingFact, Rejection};
use crate::domain::scale::result::Detail;
use crate::domain::scale::service::{Binding, RegisteredMode, Registration};
use crate::domain::time::Timestamp;

/// Decides one command about a service as a whole.
pub(super) fn decide(draft: &Draft<'_>, command: &AuthorityCommand) -> Result<Decision, Rejection> {
    match command {
        AuthorityCommand::HandOver(ask) => hand_over(draft, ask),
        AuthorityCommand::Retire { service, reason } => retire(draft, service, reason),
        AuthorityCommand::Hold { service, until, reason } => hold(draft, service, *until, reason),
        AuthorityCommand::ClearOverride { service, reason } => {
            clear_override(draft, service, reason)
        }
        AuthorityCommand::Adopt(ask) => adopt::adopt(draft, ask),
        AuthorityCommand::Answer { key, grants: true, reason, signing } => {
            consent::grant(draft, key, reason, signing)
        }
        AuthorityCommand::Answer { key, grants: false, reason, signing } => {
            consent::deny(draft, key, reason, signing)
        }
        AuthorityCommand::Authorize(ask) => consent::authorize(draft, ask),
        AuthorityCommand::RevokeAuthorization { service, authorization_id, reason } => {
            consent::revoke(draft, service, authorization_id, reason)
        }
        AuthorityCommand::ReviewAuthorization { service, authorization_id, reason, signing } => {
            consent::review(draft, service, authorization_id, reason, signing)
        }
        AuthorityCommand::Tick(ask) => tick::tick(draft, ask),
    }
}

/// Gives the count another owner, from what it was just read as. What waits is taken back: it was
/// wished of the owner before.
fn hand_over(draft: &Draft<'_>, ask: &HandOver) -> Result<Decision, Rejection> {
    let (registration, bound) = registered(draft.state, &ask.service)?;
    let actual = registration.unit_revision.get();

    // Already there?
    let wanted = Registration {
        mode: ask.mode,
        actuator: ask.actuator.clone().or_else(|| registration.actuator.clone()),
        owner: match ask.mode {
            RegisteredMode::Native | RegisteredMode::Delegated => None,
            RegisteredMode::ExternalHpa | RegisteredMode::ExternalKeda => {
                ask.owner.clone().or_else(|| registration.owner.clone())
            }
        },
        ..registration.clone()
    };
    if wanted == *registration {
        return Ok(unchanged());
    }

    // Allowed now?
    super::service::check_scaling(&wanted)?;
    if let Some(expected) = ask.expected.filter(|expected| *expected != actual) {
        let service = ask.service.clone();
        return Err(Rejection::StaleUnitRevision { service, expected, actual });
    }
    check_nothing_laid_upon(draft, &ask.service)?;
    check_nothing_in_flight(draft, registration)?;
    let Some(binding) = baseline(draft, ask, registration, bound)? else {
        return Ok(nothing(Reply::StaleReading));
    };
    let (subject, reason) = (ask.service.as_str(), Some(ask.reason.as_str()));
    let writer = Some(&registration.writer);
    let decision = draft.may_administer(PolicyAction::Register, subject, writer, reason)?;

    // From here it must succeed.
    let becomes_ours = ask.mode.record_mode().is_some();
    let mut events = taken_back(draft, "the count has another owner");
    let unit_revision = registration.unit_revision.next().unwrap_or(UnitRevision::MAX);
    events.push(EventBody::ServiceHandedOver {
        from: registration.mode,
        registration: Registration { unit_revision, ..wanted },
        binding,
        owners_unread: if becomes_ours { ask.owners.unread.clone() } else { Vec::new() },
        reason: ask.reason.clone(),
        decision,
    });
    Ok(draft.done(events))
}

/// What the new owner begins with: none where the reading is older than what is recorded. A count
/// that is ours again is read first, and nobody else may drive it.
fn baseline(
    draft: &Draft<'_>,
    ask: &HandOver,
    registration: &Registration,
    bound: &Binding,
) -> Result<Option<Binding>, Rejection> {
    let service = || ask.service.clone();
    let becomes_ours = ask.mode.record_mode().is_some();
    let found = &ask.owners;
    if becomes_ours && !found.drive.is_empty() {
        let (owners, take_away) = (found.drive.clone(), found.take_away.clone());
        return Err(Rejection::StillOwned { service: service(), owners, take_away });
    }
    if becomes_ours && !found.unread.is_empty() && !ask.accepts_unread {
        let fact = MissingFact::Owners { unread: found.unread.clone() };
        return Err(Rejection::FactUnknown { service: service(), fact });
    }
    if becomes_ours && ask.actuator.is_none() && registration.actuator.is_none() {
        return Err(Rejection::Contradiction(format!(
            "{} is to be {}, and no actuator is named",
            ask.service,
            ask.mode.as_str()
        )));
    }
    match &ask.reading {
        Some((_, serial)) if *serial != draft.state.head.reading_serial => Ok(None),
        Some((reading, _)) => {
            check_uid(registration, bound, &reading.target_uid)?;
            Ok(Some(Binding::from(reading)))
        }
        None if becomes_ours => {
            let why = "a count that changes its owner is read first, and nobody could".to_owned();
            Err(Rejection::FactUnknown { service: service(), fact: MissingFact::Count { why } })
        }
        None => Ok(Some(bound.clone())),
    }
}

/// The ends of all wishes that wait.
fn taken_back(draft: &Draft<'_>, why: &str) -> Vec<EventBody> {
    let waiting = draft.state.executions.values().filter(|execution| execution.waits());
    waiting
        .map(|execution| EventBody::IntentWithdrawn {
            execution_key: execution.key().clone(),
            reason: Some(Detail::cut(why)),
        })
        .collect()
}

/// Ends the service. Its history stays.
fn retire(
    draft: &Draft<'_>,
    service: &ServiceName,
    reason: &Detail,
) -> Result<Decision, Rejection> {
    if draft.state.head.authority.retired.is_some() {
        return Ok(unchanged());
    }
    let (registration, _) = registered(draft.state, service)?;
    check_nothing_laid_upon(draft, service)?;
    let unfinished =
        || draft.state.executions.values().filter(|it| it.is_live() && !it.phase.is_finished());
    // What nobody can carry on any more keeps nothing from its end; it is written down with it.
    let blocking = unfinished().find(|it| !it.waits() && !it.is_spent(draft.now));
    if let Some(execution) = blocking {
        return Err(Rejection::in_flight(execution, draft.now));
    }
    let (subject, reason_text) = (service.as_str(), Some(reason.as_str()));
    let writer = Some(&registration.writer);
    let decision = draft.may_administer(PolicyAction::Register, subject, writer, reason_text)?;
    let spent = unfinished().filter(|it| !it.waits());
    let mut events = spent
        .map(|it| draft.failure_end(it, FailureCause::FenceOver, "the fence ran out"))
        .collect::<Result<Vec<_>, _>>()?;
    events.extend(taken_back(draft, "the service was retired"));
    events.push(EventBody::ServiceRetired { reason: reason.clone(), decision });
    Ok(draft.done(events))
}

/// Lets nothing change the count until then; without an instant it ends that.
fn hold(
    draft: &Draft<'_>,
    service: &ServiceName,
    until: Option<Timestamp>,
    reason: &Detail,
) -> Result<Decision, Rejection> {
    let (registration, _) = registered(draft.state, service)?;
    if let Some(until) = until.filter(|until| *until <= draft.now) {
        return Err(Rejection::Contradiction(format!(
            "the hold of {service} would end at {until}, which is over"
        )));
    }
    let held = draft.state.head.authority.hold_at(draft.now);
    let is_so = match (held, until) {
        (Some(hold), Some(until)) => hold.until == until && hold.reason == reason.as_str(),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    if is_so {
        return Ok(unchanged());
    }
    let decision = may_override(draft, registration, reason)?;
    let reason = reason.clone();
    Ok(draft.done(vec![match until {
        Some(until) => EventBody::HoldSet { until, reason, decision },
        None => EventBody::HoldLifted { reason, decision },
    }]))
}

/// Ends an override. The count stays as it is, until somebody wishes another.
fn clear_override(
    draft: &Draft<'_>,
    service: &ServiceName,
    reason: &Detail,
) -> Result<Decision, Rejection> {
    let (registration, _) = registered(draft.state, service)?;
    if draft.state.head.authority.pinned_at(draft.now).is_none() {
        return Ok(unchanged());
    }
    let decision = may_override(draft, registration, reason)?;
    Ok(draft.done(vec![EventBody::OverrideCleared { reason: reason.clone(), decision }]))
}

/// What keeps a count as it is asks for the count that is.
fn may_override(
    draft: &Draft<'_>,
    registration: &Registration,
    reason: &Detail,
) -> Result<PolicyAnswer, Rejection> {
    let head = &draft.state.head;
    let known = head.binding.as_ref().and_then(Binding::known_replicas);
    let wanted = head.wanted.as_ref().map(|wanted| wanted.desired_replicas);
    let query = PolicyQuery {
        desired: wanted.or(known).or(Some(registration.min_replicas)),
        current: known,
        reason: Some(reason.as_str().to_owned()),
        ..draft.about(PolicyAction::Override, registration)
    };
    draft.permitted(&query, registration.service.to_string())
}
