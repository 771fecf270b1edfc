//! Registering a service, and recording what its target is.

use super::leave::check_move;
use super::{Decision, Draft, Reply, nothing, unchanged};
use crate::domain::id::{AuthorizationId, ServiceName, TargetUid, UnitRevision};
use crate::domain::scale::command::RegisterService;
use crate::domain::scale::consent::Unauthorized;
use crate::domain::scale::event::EventBody;
use crate::domain::scale::gates::{check_uid, registered};
use crate::domain::scale::observation::Reading;
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::{Binding, RegisteredMode, Registration};

pub(super) fn register(draft: &Draft<'_>, ask: &RegisterService) -> Result<Decision, Rejection> {
    let (wanted, binding) = (&ask.registration, ask.binding.as_ref());
    let head = &draft.state.head;
    let actual = head.registration.as_ref().map_or(0, |r| r.unit_revision.get());
    let service = &wanted.service;

    // Malformed?
    if wanted.min_replicas > wanted.max_replicas {
        return Err(Rejection::Contradiction(format!(
            "min {} is above max {} of {service}",
            wanted.min_replicas, wanted.max_replicas
        )));
    }
    let needs_nobody = wanted.is_desired_state();
    if wanted.mode.record_mode().is_some() && wanted.actuator.is_none() && !needs_nobody {
        return Err(Rejection::Contradiction(format!(
            "{service} is {}, and no actuator is named",
            wanted.mode.as_str()
        )));
    }

    check_scaling(wanted)?;
    check_owner(wanted, head.registration.as_ref().filter(|_| head.authority.retired.is_none()))?;

    // Already there? Equal settings change nothing, whatever was expected of the revision.
    if let Some(existing) = head.registration.as_ref().filter(|_| head.authority.retired.is_none())
    {
        let same = Registration { unit_revision: existing.unit_revision, ..wanted.clone() };
        if same == *existing && is_same_target(head.binding.as_ref(), binding) {
            return Ok(unchanged());
        }
    }

    // Allowed now?
    if let Some(expected) = ask.expected.filter(|expected| *expected != actual) {
        return Err(Rejection::StaleUnitRevision { service: service.clone(), expected, actual });
    }
    if let Some(existing) = &head.registration {
        // The owner of a count is changed on purpose, with a baseline: also where the service was
        // over meanwhile, because its owner may not be.
        let may_be_owned = existing.mode.record_mode().is_none();
        let is_living = head.authority.retired.is_none();
        if existing.mode != wanted.mode && (is_living || may_be_owned) {
            return Err(Rejection::ModeMismatch {
                service: service.clone(),
                registered: existing.mode.as_str(),
                submitted: wanted.mode.as_str(),
                is_retired: !is_living,
            });
        }
        check_not_in_flight(draft, existing, wanted)?;
        check_same_uid(draft, existing, wanted, binding)?;
        check_move(draft, existing, ask)?;
    }
    let bound = binding.or(head.binding.as_ref());
    let uid = bound.map(|binding| &binding.target_uid);
    check_not_taken(wanted, uid, ask.target_holder.as_ref())?;
    let decision = match &ask.authorization {
        Some(authorization) => may_raise(draft, head.registration.as_ref(), wanted, authorization)?,
        None => may_register(draft, wanted)?,
    };
    let binding = bound.cloned().ok_or_else(|| {
        Rejection::Contradiction(format!("nobody has said what the target of {service} is"))
    })?;
    let unit_revision = UnitRevision::new(actual + 1)
        .map_err(|error| Rejection::Contradiction(error.to_string()))?;

    let registration = Registration { unit_revision, ..wanted.clone() };
    Ok(draft.done(vec![EventBody::ServiceRegistered { registration, binding, decision }]))
}

/// Whether a target is the one that is known. Its version moves by itself, and is another target
/// only where a person has said it, because nobody can read it.
fn is_same_target(known: Option<&Binding>, found: Option<&Binding>) -> bool {
    let (Some(known), Some(found)) = (known, found) else { return true };
    let is_said = found.replicas.is_none();
    known.target_uid == found.target_uid
        && (!is_said || known.target_resource_version == found.target_resource_version)
}

/// The bounds of a scaling spec, and what cannot go together.
pub(super) fn check_scaling(wanted: &Registration) -> Result<(), Rejection> {
    let service = &wanted.service;
    let contradiction = |text: String| Err(Rejection::Contradiction(text));
    if let Some(scaling) = &wanted.scaling {
        if let Err(error) = scaling.check(wanted) {
            return contradiction(format!("scaling of {service}: {error}"));
        }
        if let Some(declared) = wanted.declared_replicas {
            return contradiction(format!(
                "{service} is scaled by {}, and its declared count is {declared}: one or the other",
                scaling.signal.name
            ));
        }
    }
    if let Some(declared) = wanted.declared_replicas
        && !(wanted.min_replicas..=wanted.max_replicas).contains(&declared)
    {
        return contradiction(format!(
            "the declared count {declared} of {service} is outside its bounds {} to {}",
            wanted.min_replicas, wanted.max_replicas
        ));
    }
    // A quorum is a membership that people manage, not a count that an autoscaler moves.
    if wanted.quorum_required && wanted.mode == RegisteredMode::ExternalHpa {
        return contradiction(format!("{service} needs a quorum, and an HPA knows none"));
    }
    Ok(())
}

/// Whoever owns the count is named where it is somebody else, and named anew by a hand-over only.
fn check_owner(wanted: &Registration, existing: Option<&Registration>) -> Result<(), Rejection> {
    let service = &wanted.service;
    if let (Some(owner), Some(_)) = (&wanted.owner, wanted.mode.record_mode()) {
        let mode = wanted.mode.as_str();
        let text = format!("{service} is {mode}, so {owner} cannot own its count");
        return Err(Rejection::Contradiction(text));
    }
    let of_same_mode = existing.filter(|existing| existing.mode == wanted.mode);
    let Some(existing) = of_same_mode.filter(|existing| existing.owner != wanted.owner) else {
        return Ok(());
    };
    let text = |owner: &Option<String>| owner.clone().unwrap_or_else(|| "not named".to_owned());
    Err(Rejection::Contradiction(format!(
        "the owner of the count of {service} is {}, not {}: another one is named by service mode",
        text(&existing.owner),
        text(&wanted.owner)
    )))
}

/// A target has one writer, so it has one service.
fn check_not_taken(
    registration: &Registration,
    uid: Option<&TargetUid>,
    holder: Option<&ServiceName>,
) -> Result<(), Rejection> {
    let service = registration.service.clone();
    match (uid, holder) {
        (Some(uid), Some(holder)) => {
            Err(Rejection::TargetTaken { service, uid: uid.clone(), holder: holder.clone() })
        }
        (Some(uid), None) if registration.is_anothers(uid) => {
            Err(Rejection::Contradiction(format!(
                "{uid} is not the target of {service}: in the cluster {}, runtime {}, a target is \
                 called as its service",
                registration.cluster_id, registration.runtime_id
            )))
        }
        (Some(_) | None, _) => Ok(()),
    }
}

/// Who carries a wish out, and on what, does not change under a call.
fn check_not_in_flight(
    draft: &Draft<'_>,
    existing: &Registration,
    wanted: &Registration,
) -> Result<(), Rejection> {
    let moves = existing.actuator != wanted.actuator
        || existing.mode != wanted.mode
        || existing.writer != wanted.writer
        || existing.cluster_id != wanted.cluster_id
        || existing.runtime_id != wanted.runtime_id
        || existing.workload_id != wanted.workload_id;
    let blocking = draft
        .state
        .executions
        .values()
        .find(|execution| moves && execution.is_live() && execution.is_in_flight(draft.now));
    match blocking {
        None => Ok(()),
        Some(execution) => Err(Rejection::in_flight(execution, draft.now)),
    }
}

/// A recreated object under the same name is accepted by `bind`, by its uid, and never in passing.
fn check_same_uid(
    draft: &Draft<'_>,
    existing: &Registration,
    wanted: &Registration,
    binding: Option<&Binding>,
) -> Result<(), Rejection> {
    let is_same_name = existing.cluster_id == wanted.cluster_id
        && existing.runtime_id == wanted.runtime_id
        && existing.workload_id == wanted.workload_id;
    match (&draft.state.head.binding, binding) {
        (Some(bound), Some(binding)) if is_same_name => {
            check_uid(existing, &bound.target_uid, &binding.target_uid)
        }
        (Some(_) | None, _) => Ok(()),
    }
}

fn may_register(draft: &Draft<'_>, wanted: &Registration) -> Result<PolicyAnswer, Rejection> {
    let (subject, writer) = (wanted.service.as_str(), Some(&wanted.writer));
    draft.may_administer(PolicyAction::Register, subject, writer, None)
}

/// A broken glass lets the upper bound be raised, to what it says, and nothing else.
fn may_raise(
    draft: &Draft<'_>,
    existing: Option<&Registration>,
    wanted: &Registration,
    authorization_id: &AuthorizationId,
) -> Result<PolicyAnswer, Rejection> {
    let refused = |why| Rejection::NotAuthorized {
        service: wanted.service.clone(),
        authorization_id: authorization_id.clone(),
        why,
    };
    let open = draft.state.head.authorizations.get(authorization_id);
    let open = open.ok_or_else(|| refused(Unauthorized::NoSuch))?;
    let raised = existing.map(|existing| Registration {
        max_replicas: wanted.max_replicas,
        unit_revision: wanted.unit_revision,
        ..existing.clone()
    });
    if let Some(why) = open.over(draft.now) {
        return Err(refused(why));
    }
    let is_for_this = open.authorization.raises_max_to == Some(wanted.max_replicas)
        && raised.as_ref() == Some(wanted);
    if is_for_this {
        Ok(open.authorization.decision.clone())
    } else {
        Err(refused(Unauthorized::OtherCount))
    }
}

impl Draft<'_> {
    /// Whether another reading was bound while this one was under way, and began later. Instants
    /// are compared only of what overlapped: a clock that was ahead holds nobody up.
    pub(super) fn is_overtaken(&self, reading: &Reading, bound_before: Option<&Binding>) -> bool {
        let bound = self.state.head.binding.as_ref();
        bound_before != bound && bound.is_some_and(|bound| reading.began_at < bound.read_at)
    }
}

/// What was recorded when a reading began.
pub(super) struct Began<'a> {
    pub(super) serial: u64,
    pub(super) bound: &'a Option<Binding>,
}

pub(super) fn bind(
    draft: &Draft<'_>,
    service: &ServiceName,
    reading: &Reading,
    began: &Began<'_>,
    accept_uid: Option<&TargetUid>,
    holder: Option<&ServiceName>,
) -> Result<Decision, Rejection> {
    let (registration, bound) = registered(draft.state, service)?;
    let stale = || Ok(nothing(Reply::StaleReading));
    // What was read before the newest result or reading was recorded is older than what is bound.
    if began.serial != draft.state.head.reading_serial {
        return stale();
    }
    let same_uid = bound.target_uid == reading.target_uid;
    if draft.is_overtaken(reading, began.bound.as_ref()) {
        return if same_uid { Ok(unchanged()) } else { stale() };
    }
    if !same_uid && accept_uid != Some(&reading.target_uid) {
        check_uid(registration, &bound.target_uid, &reading.target_uid)?;
    }
    let mut events = Vec::new();
    if !same_uid {
        // Another object under the same name is another target: that is a change of settings.
        check_nothing_in_flight(draft, registration)?;
        check_not_taken(registration, Some(&reading.target_uid), holder)?;
        let decision = may_register(draft, registration)?;
        let unit_revision = registration.unit_revision.next().unwrap_or(UnitRevision::MAX);
        events.push(EventBody::ServiceRegistered {
            registration: Registration { unit_revision, ..registration.clone() },
            binding: Binding::from(reading),
            decision,
        });
    } else if Binding::from(reading) != *bound {
        events.push(EventBody::TargetBound { binding: Binding::from(reading) });
    }
    if events.is_empty() { Ok(unchanged()) } else { Ok(draft.done(events)) }
}

pub(super) fn check_nothing_in_flight(
    draft: &Draft<'_>,
    registration: &Registration,
) -> Result<(), Rejection> {
    let moved = Registration { actuator: None, ..registration.clone() };
    check_not_in_flight(draft, registration, &moved)
}
