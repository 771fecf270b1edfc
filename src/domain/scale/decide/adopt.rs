//! Adoption: what runs becomes what is wished, and nobody is called.

use super::put::{ended_for, mint_fence};
use super::{Decision, Draft, Reply, nothing, replayed};
use crate::domain::id::{AttemptNumber, ServiceName};
use crate::domain::scale::attempt::{Base, ResultSource};
use crate::domain::scale::command::Adopt;
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{Acceptance, NewIntent, Submitted};
use crate::domain::scale::gates::{check_mode_of, check_uid, external, in_flight, registered};
use crate::domain::scale::identity::next_revision;
use crate::domain::scale::intent::{IntentWish, minted_intent_id};
use crate::domain::scale::observation::{ReadingVerdict, Source};
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer, PolicyQuery};
use crate::domain::scale::provenance::WishSource;
use crate::domain::scale::rejection::{Difference, Rejection};
use crate::domain::scale::result::{ActuationResult, Answer, Detail};
use crate::domain::scale::service::{Binding, Registration};
use crate::domain::time::DurationMs;

/// Takes what runs for what is wished: an intent that nobody carries out, because it is so already.
pub(super) fn adopt(draft: &Draft<'_>, ask: &Adopt) -> Result<Decision, Rejection> {
    // Already there?
    if let Some(answer) = adopted_before(draft, ask) {
        return answer.map(|()| replayed());
    }

    // Allowed now?
    let (registration, bound) = registered(draft.state, &ask.service)?;
    let Some(mode) = registration.mode.record_mode() else {
        return Err(external(registration));
    };
    check_mode_of(registration, mode)?;
    if ask.began_after_serial != draft.state.head.reading_serial {
        return Ok(nothing(Reply::StaleReading));
    }
    let reading = &ask.reading;
    check_uid(registration, bound, &reading.target_uid)?;
    check_nobody_in_the_way(draft, ask)?;
    let (min, max) = (registration.min_replicas, registration.max_replicas);
    if !(min..=max).contains(&reading.replicas) {
        return Err(Rejection::OutOfBounds {
            service: ask.service.clone(),
            desired: reading.replicas,
            min,
            max,
            unit_revision: registration.unit_revision,
        });
    }
    let query = PolicyQuery {
        desired: Some(reading.replicas),
        current: Some(reading.replicas),
        source: WishSource::Adopt.as_str().to_owned(),
        reason: Some(ask.reason.as_str().to_owned()),
        ..draft.about(PolicyAction::ScaleUp, registration)
    };
    let decision = draft.permitted(&query, format!("{} as it is", ask.service))?;

    // From here it must succeed.
    let latest = draft.state.head.latest_revision;
    let binding = Binding::from(reading);
    let wish = IntentWish {
        intent_id: minted_intent_id(&ask.service, mode, reading.replicas, latest),
        intent_revision: next_revision(draft.state),
        expected_unit_revision: registration.unit_revision,
        desired_replicas: reading.replicas,
        min_replicas: min,
        max_replicas: max,
        controller_mode: mode,
        replica_writer_id: registration.writer.clone(),
        execution_key: ask.key.clone(),
        target: registration.target(&binding),
        reason: ask.reason.clone(),
        retry_policy: registration.retry_policy,
    };
    if let Some(key) = &ask.id_owner {
        let (intent_id, revision) = (wish.intent_id.clone(), wish.intent_revision);
        return Err(Rejection::IntentIdConflict { intent_id, revision, key: key.clone() });
    }
    let wish = wish.checked().map_err(|error| Rejection::Contradiction(error.to_string()))?;
    adopted(draft, ask, registration, wish, decision)
}

/// What the key of an adoption answers, where it is used.
fn adopted_before(draft: &Draft<'_>, ask: &Adopt) -> Option<Result<(), Rejection>> {
    let conflict = |service: &ServiceName, revision, stored: &str, submitted: &str, field: &str| {
        Err(Rejection::KeyConflict {
            key: ask.key.clone(),
            service: service.clone(),
            revision,
            differences: vec![Difference {
                field: field.to_owned(),
                stored: stored.to_owned(),
                submitted: submitted.to_owned(),
            }],
        })
    };
    if let Some((service, revision)) = &ask.key_elsewhere {
        let (stored, submitted) = (service.as_str(), ask.service.as_str());
        return Some(conflict(service, *revision, stored, submitted, "service"));
    }
    let stored = draft.state.executions.get(&ask.key)?;
    let source = stored.intent.source;
    if source == WishSource::Adopt {
        return Some(Ok(()));
    }
    let (service, submitted) = (&stored.intent.service, WishSource::Adopt.as_str());
    Some(conflict(service, stored.revision(), source.as_str(), submitted, "source"))
}

fn check_nobody_in_the_way(draft: &Draft<'_>, ask: &Adopt) -> Result<(), Rejection> {
    if let Some(execution) = in_flight(draft.state, draft.now) {
        return Err(Rejection::in_flight(execution, draft.now));
    }
    let waiting = draft.state.executions.values().filter(|execution| execution.waits());
    waiting.into_iter().try_for_each(|execution| draft.check_own(execution, ask.supersede))
}

/// The events of an adoption: accepted, known by a reading, and observed by the same.
fn adopted(
    draft: &Draft<'_>,
    ask: &Adopt,
    registration: &Registration,
    wish: IntentWish,
    decision: PolicyAnswer,
) -> Result<Decision, Rejection> {
    let reading = &ask.reading;
    let now = draft.now.truncated_to_millis();
    let fence = mint_fence(draft, registration, None, now.plus(DurationMs::from_secs(1)));
    let identity_digest = wish.clone().accepted(fence.clone(), now).identity_digest();
    let mut events = ended_for(draft, &wish, None)?;
    let execution_key = ask.key.clone();
    let result = ActuationResult {
        execution_key: execution_key.clone(),
        target: wish.target.clone(),
        answer: Answer::Succeeded {
            observed_replicas: reading.replicas,
            retryable: false,
            error_code: None,
        },
        detail: Detail::cut("adopted: nobody was called"),
        actuator_operation_id: None,
    };
    let intent = NewIntent {
        service: ask.service.clone(),
        wish,
        dry_run: false,
        submitted: Submitted { whole_record: false, retry_policy: None },
        terms: registration.terms.clone(),
        base: Base::of(&Binding::from(reading)),
        behind: None,
        current: Some(reading.replicas),
        decision,
        permissions: Vec::new(),
        source: WishSource::Adopt,
        rolls_back: None,
    };
    let acceptance = Acceptance {
        fence,
        created_at: now,
        identity_digest,
        accepted_at: draft.now,
        consent: None,
    };
    let observation = draft.observation(&intent.wish, &result, Source::Reading, "adopted");
    events.extend([
        EventBody::IntentAccepted { intent, acceptance, receipt: None },
        EventBody::ResultRecorded {
            execution_key: execution_key.clone(),
            attempt: AttemptNumber::MIN,
            result,
            source: ResultSource::Adopted,
            ended_at: draft.now,
            retry_at: None,
            partly_applied: false,
            rollback_required: false,
            resource_version_after: None,
            decision: None,
        },
        EventBody::ReadingRecorded {
            execution_key: execution_key.clone(),
            reading: reading.clone(),
            verdict: ReadingVerdict::Matches,
        },
        EventBody::ObservationRecorded { execution_key, observation, cause: None },
    ]);
    Ok(draft.done(events))
}
