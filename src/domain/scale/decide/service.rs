//! Registering a service, and recording what its target is.

use super::leave::{check_move, check_name_is_free};
use super::{Decision, Draft, Reply, nothing, unchanged};
use crate::domain::id::{AuthorizationId, ServiceName, TargetUid, UnitRevision};
use crate::domain::scale::command::RegisterService;
use crate::domain::scale::consent::Unauthorized;
use crate::domain::scale::event::EventBody;
use crate::domain::scale::gates::{check_uid, registered};
use crate::domain::scale::observation::Reading;
use crate::domain::scale::others::Others;
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::{Binding, RegisteredMode, Registration};
use crate::domain::scale::state::ServiceState;

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
        check_change(draft, existing, ask)?;
    }
    let bound = binding.or(head.binding.as_ref());
    check_not_taken(wanted, bound.map(|it| &it.target_uid), ask.others.holder.as_ref())?;
    if let Some(bound) = bound.filter(|bound| !has_it_already(draft.state, wanted, bound)) {
        check_name_is_free(draft, service, &bound.target_uid, &ask.others)?;
    }
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

/// What of a registration that is there may not be changed by another one.
fn check_change(
    draft: &Draft<'_>,
    existing: &Registration,
    ask: &RegisterService,
) -> Result<(), Rejection> {
    let (wanted, binding) = (&ask.registration, ask.binding.as_ref());
    // The owner of a count is changed on purpose, with a baseline: also where the service was
    // over meanwhile, because its owner may not be.
    let may_be_owned = existing.mode.record_mode().is_none();
    let is_living = draft.state.head.authority.retired.is_none();
    if existing.mode != wanted.mode && (is_living || may_be_owned) {
        return Err(Rejection::ModeMismatch {
            service: wanted.service.clone(),
            registered: existing.mode.as_str(),
            submitted: wanted.mode.as_str(),
            is_retired: !is_living,
        });
    }
    check_not_in_flight(draft, existing, wanted)?;
    if is_accepted(ask, existing) {
        check_nothing_in_flight(draft, existing)?;
    } else {
        check_same_uid(draft, existing, wanted, binding)?;
        check_move(draft, existing, ask)?;
    }
    Ok(())
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

/// Whether a living service has this very target by this very name.
fn has_it_already(state: &ServiceState, wanted: &Registration, found: &Binding) -> bool {
    let head = &state.head;
    let existing = head.registration.as_ref().filter(|_| head.authority.retired.is_none());
    let bound = head.binding.as_ref().is_some_and(|it| it.target_uid == found.target_uid);
    bound && existing.is_some_and(|existing| is_same_name(existing, wanted))
}

fn is_same_name(existing: &Registration, wanted: &Registration) -> bool {
    existing.cluster_id == wanted.cluster_id
        && existing.runtime_id == wanted.runtime_id
        && existing.workload_id == wanted.workload_id
}

/// Whether a recreated object is accepted by its uid: the word of `bind` where nobody can read.
fn is_accepted(ask: &RegisterService, existing: &Registration) -> bool {
    let uid = ask.binding.as_ref().map(|binding| &binding.target_uid);
    ask.accept_uid.is_some()
        && uid == ask.accept_uid.as_ref()
        && is_same_name(existing, &ask.registration)
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
    match (&draft.state.head.binding, binding) {
        (Some(bound), Some(binding)) if is_same_name(existing, wanted) => {
            check_uid(existing, bound, &binding.target_uid)
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
    let open = draft.state.head.authorizations.get(authorization_id);
    let raises = open.and_then(|open| open.authorization.raises_max_to);
    let refused = |why| Rejection::NotAuthorized {
        service: wanted.service.clone(),
        authorization_id: authorization_id.clone(),
        why,
        is_for: raises.filter(|max| *max != wanted.max_replicas),
    };
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
    others: &Others,
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
        check_uid(registration, bound, &reading.target_uid)?;
    }
    let mut events = Vec::new();
    if !same_uid {
        check_nothing_in_flight(draft, registration)?;
        check_not_taken(registration, Some(&reading.target_uid), others.holder.as_ref())?;
        check_name_is_free(draft, service, &reading.target_uid, others)?;
    }
    if !same_uid && !bound.outdated.target {
        // Another object under the same name is another target: that is a change of settings.
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
