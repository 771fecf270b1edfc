//! `plan`: every gate of a put, from a reading of its own, and nothing written.

use super::carry::CarryOptions;
use super::error::OpError;
use super::foretell::{Foretold, Next};
use super::intent_put::with_ledger_facts;
use super::read::Read;
use super::resume::{Again, Wished, is_there, may_act};
use super::session::Session;
use super::told;
use crate::domain::id::{ControllerId, ExecutionKey};
use crate::domain::scale::command::{Command, PutIntent};
use crate::domain::scale::decide::{Decision, answer_of_key, decide, on_ledger_clock};
use crate::domain::scale::execution::Phase;
use crate::domain::scale::gates::{self, Reports};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::Timestamp;

/// What a put would meet.
pub struct Plan {
    /// The service as it stands, and its target as it was just read.
    pub state: ServiceState,
    /// What the gates say.
    pub reports: Reports,
    /// What stands before any gate; none where the gates decide.
    pub before: Option<Before>,
    /// What would refuse to start it once it is put: every gate of the put is open, and the line
    /// would end there with its wish recorded.
    pub start: Option<Box<Rejection>>,
}

/// What `scale` would answer or do without a put.
pub enum Before {
    /// The key is known: the line goes on with what is recorded under it.
    Known(Box<Foretold>),
    /// The same line goes on with a wish of the caller's own.
    Resumed(Box<Foretold>),
    /// The target is as wished by a fresh reading.
    There,
    /// The key or the target refuses it.
    Refused(Box<Rejection>),
}

/// Walks every gate of a wish without writing anything.
pub fn plan(
    session: &mut Session,
    wished: Wished,
    controller: Option<&ControllerId>,
) -> Result<Plan, OpError> {
    session.refuse_unwritable()?;
    let Wished { put, breaking, again } = wished;
    let (key, service) = (put.key().clone(), put.service.clone());
    let keys: Vec<_> = std::iter::once(key.clone()).chain(put.rolls_back.clone()).collect();
    for key in &keys {
        session.recorded_under(key)?;
    }
    let read = session.ledger.read()?;
    let mut state = read.service_state(&service, &keys)?;
    let put = with_ledger_facts(put, &state, &read)?;
    drop(read);
    let options = options_of(&put, controller);
    let mut before = recorded(session, &state, &put, again, &options)?;
    if before.is_none() && state.head.registration.is_some() {
        match session.read_now(state)? {
            Read::Fresh(fresh) if again.needs_a_change() && is_there(&fresh, &put, put.premise) => {
                state = fresh;
                before = Some(Before::There);
            }
            Read::Fresh(read) | Read::Stored(read) => state = read,
            Read::Refused(stored, rejection) => {
                state = stored;
                before = Some(Before::Refused(rejection));
            }
        }
    }
    if before.is_none()
        && let Err(rejection) = may_act(&state, controller)
    {
        before = Some(Before::Refused(Box::new(rejection)));
    }
    let now = match (&before, on_ledger_clock(&state, session.now())) {
        // Going on with what is under way is asked by its own rules, and puts nothing.
        (Some(Before::Resumed(_)), Err(_)) => session.now(),
        (_, now) => now?,
    };
    if let (None, Some(breaking)) = (&before, &breaking) {
        match breaking.supposed(session, &state, now)? {
            Ok(supposed) => state = supposed,
            Err(rejection) => before = Some(Before::Refused(Box::new(rejection))),
        }
    }
    let (reports, walked) = walked(session, &state, &put, now)?;
    let beside = walked.as_ref().err().filter(|refused| Some(*refused) != reports.first_refusal());
    before = before.or(beside.map(|rejection| Before::Refused(Box::new(rejection.clone()))));
    let mut start = None;
    if let (None, Ok(decision)) = (&before, walked) {
        start = started(session, &state, &decision, &key, &options)?;
    }
    if before.is_none() && reports.first_refusal().is_none() {
        let pinned = state.head.authority.pinned_at(now).filter(|_| put.pin_until.is_none());
        let told = told::of_wish(put.source, put.desired(), pinned, &state.head);
        session.notices.extend(told);
    }
    Ok(Plan { state, reports, before, start })
}

/// What is recorded already, and would be gone on with or is in the way: under the key, or, for a
/// line without one, of the caller's own.
fn recorded(
    session: &mut Session,
    state: &ServiceState,
    put: &PutIntent,
    again: Again,
    options: &CarryOptions,
) -> Result<Option<Before>, OpError> {
    match (answer_of_key(state, put), state.executions.get(put.key())) {
        (Some(Err(rejection)), _) => return Ok(Some(Before::Refused(Box::new(rejection)))),
        (Some(Ok(())), Some(stored)) => {
            session.note_left(stored.left());
            let foretold = session.foretell(state, stored, options)?;
            return Ok(Some(Before::Known(Box::new(foretold))));
        }
        (Some(Ok(())) | None, _) => {}
    }
    if again == Again::GoesOn
        && let Some(own) = session.resumable(state, put)?
        && let Some(own) = state.executions.get(&own)
    {
        session.note_left(own.left());
        return Ok(Some(Before::Resumed(Box::new(session.foretell(state, own, options)?))));
    }
    Ok(None)
}

fn options_of(put: &PutIntent, controller: Option<&ControllerId>) -> CarryOptions {
    CarryOptions {
        controller: controller.cloned(),
        attest_not_drained: put.attest_not_drained,
        override_cooldown: put.override_cooldown,
        ..CarryOptions::default()
    }
}

/// What every gate says of a put, and what would be recorded: what it would roll back may be none
/// of its own, which no gate says.
fn walked(
    session: &mut Session,
    state: &ServiceState,
    put: &PutIntent,
    now: Timestamp,
) -> Result<(Reports, Result<Decision, Rejection>), OpError> {
    let command = Command::Put(Box::new(put.clone()));
    session.with_context(state, Some(put.key()), |context| {
        let reports = gates::of_put(state, put, context, now);
        (reports, decide(state, &command, context, now))
    })
}

/// What would refuse the first attempt of what a put records: it waits for another, its fence is
/// over by then, nothing proves that a reduction is safe. A service that nothing here carries out
/// is asked no further.
fn started(
    session: &mut Session,
    state: &ServiceState,
    decision: &Decision,
    key: &ExecutionKey,
    options: &CarryOptions,
) -> Result<Option<Box<Rejection>>, OpError> {
    let put = state.clone().fold(&decision.events);
    let put = put.map_err(|error| OpError::Internal { what: error.to_string() })?;
    let is_carried_out = put.head.registration.as_ref().is_some_and(|it| it.actuator.is_some());
    let Some(execution) = put.executions.get(key) else { return Ok(None) };
    if !is_carried_out || !matches!(execution.phase, Phase::Accepted) {
        return Ok(None);
    }
    Ok(match session.foretell(&put, execution, options)?.next {
        Next::Refused(rejection) => Some(rejection),
        Next::Starts | Next::Stands | Next::FindsOut => None,
    })
}
