//! What only the gateway's contract asks for: another answer to an accepted operation, and the
//! journal of a gateway's own authority, which goes on here.

use super::put::mint_fence;
use super::{Decision, Draft, unchanged};
use crate::domain::gateway::{Imported, Receipt, key_of, reason_of};
use crate::domain::id::Replicas;
use crate::domain::scale::attempt::Base;
use crate::domain::scale::command::{GatewayCommand, ImportService};
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{Acceptance, NewIntent, Submitted};
use crate::domain::scale::gates::{check_mode_of, external, registered};
use crate::domain::scale::identity::next_revision;
use crate::domain::scale::intent::{IntentWish, minted_intent_id};
use crate::domain::scale::provenance::WishSource;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::DurationMs;

/// How long what was imported may still be carried out: as a wish of `gateway apply`.
const VALID_FOR: DurationMs = DurationMs::from_secs(3600);

pub(super) fn decide(draft: &Draft<'_>, command: &GatewayCommand) -> Result<Decision, Rejection> {
    match command {
        GatewayCommand::Finalize { key, answer } => {
            let execution = draft.execution(key)?;
            if execution.receipt.as_ref().is_some_and(|receipt| receipt.response == *answer) {
                return Ok(unchanged());
            }
            let (execution_key, response) = (key.clone(), answer.clone());
            Ok(draft.done(vec![EventBody::GatewayFinalized { execution_key, response }]))
        }
        GatewayCommand::Import(ask) => import(draft, ask),
    }
}

/// Every receipt is an intent that was accepted elsewhere; each ends the one before it.
fn import(draft: &Draft<'_>, ask: &ImportService) -> Result<Decision, Rejection> {
    // Already there? The same journal again changes nothing.
    let head = &draft.state.head;
    let imported = head.gateway.as_ref().and_then(|gateway| gateway.imported.as_ref());
    if imported.is_some_and(|imported| imported.journal == ask.journal) {
        return Ok(unchanged());
    }

    // Allowed now?
    let (registration, _) = registered(draft.state, &ask.service)?;
    let mode = registration.mode.record_mode().ok_or_else(|| external(registration))?;
    check_mode_of(registration, mode)?;
    if head.gateway.is_some() || head.latest_revision > 0 {
        let text =
            format!("{} has wishes of its own already: its journal would be older", ask.service);
        return Err(Rejection::Contradiction(text));
    }

    // From here it must succeed.
    let mut state = draft.state.clone();
    let mut events = Vec::new();
    let (revision, replicas) = (ask.journaled.revision, ask.journaled.replicas);
    let imported = Imported { revision, replicas, journal: ask.journal };
    let decision = ask.decision.clone();
    fold(&mut state, &mut events, draft, EventBody::GatewayImported { imported, decision });
    for receipt in &ask.journaled.receipts {
        let before = state.head.current.as_ref().map(|current| current.execution_key.clone());
        let accepted = taken_over(draft, ask, &state, receipt)?;
        if let Some(execution_key) = before {
            let by = next_revision(&state);
            let body = EventBody::IntentSuperseded { execution_key, by, outcome: None };
            fold(&mut state, &mut events, draft, body);
        }
        fold(&mut state, &mut events, draft, accepted);
    }
    Ok(Decision { events, reply: super::Reply::Done, evaluation: None })
}

fn fold(
    state: &mut ServiceState,
    events: &mut Vec<crate::domain::scale::event::Event>,
    draft: &Draft<'_>,
    body: EventBody,
) {
    let event = draft.event(body);
    *state = std::mem::take(state)
        .apply(&event)
        .unwrap_or_else(|illegal| panic!("BUG: a checked journal cannot be folded: {illegal}"));
    events.push(event);
}

/// The intent of a receipt, as if it had been put here.
fn taken_over(
    draft: &Draft<'_>,
    ask: &ImportService,
    state: &ServiceState,
    receipt: &Receipt,
) -> Result<EventBody, Rejection> {
    let (registration, binding) = registered(state, &ask.service)?;
    let mode = registration.mode.record_mode().ok_or_else(|| external(registration))?;
    let (operation, desired) = (&receipt.request, Replicas::from(receipt.request.desired_replicas));
    let (min, max) = (registration.min_replicas, registration.max_replicas);
    if !(min..=max).contains(&desired) {
        return Err(Rejection::OutOfBounds {
            service: ask.service.clone(),
            desired,
            min,
            max,
            unit_revision: registration.unit_revision,
        });
    }
    let wish = IntentWish {
        intent_id: minted_intent_id(&ask.service, mode, desired, state.head.latest_revision),
        intent_revision: next_revision(state),
        expected_unit_revision: registration.unit_revision,
        desired_replicas: desired,
        min_replicas: min,
        max_replicas: max,
        controller_mode: mode,
        replica_writer_id: registration.writer.clone(),
        execution_key: key_of(&operation.operation_id),
        target: registration.target(binding),
        reason: reason_of(&operation.reason),
        retry_policy: registration.retry_policy,
    }
    .checked()
    .map_err(|error| Rejection::Contradiction(error.to_string()))?;
    let created_at = draft.now.truncated_to_millis();
    let over = Draft { state, ..*draft };
    let fence = mint_fence(&over, registration, None, created_at.plus(VALID_FOR));
    let identity_digest = wish.clone().accepted(fence.clone(), created_at).identity_digest();
    let intent = NewIntent {
        service: ask.service.clone(),
        wish,
        dry_run: false,
        submitted: Submitted { whole_record: false, retry_policy: None },
        terms: registration.terms.clone(),
        base: Base::of(binding),
        behind: None,
        current: Some(Replicas::from(operation.current_replicas)),
        decision: ask.decision.clone(),
        permissions: Vec::new(),
        source: WishSource::Gateway,
        rolls_back: None,
    };
    let acceptance =
        Acceptance { fence, created_at, identity_digest, accepted_at: draft.now, consent: None };
    Ok(EventBody::IntentAccepted { intent, acceptance, receipt: Some(Box::new(receipt.clone())) })
}
