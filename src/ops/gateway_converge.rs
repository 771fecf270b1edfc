//! What whoever serves the gateway's contract does so that what was accepted comes to be: the next
//! steps of a service towards the newest operation, by the passes of `reconcile`.
//!
//! Owns when an operation is finalized, and when its count is wished anew. Never goes towards an
//! older operation, and never starts what a person has wished. After a crash the next look goes on
//! from what is recorded.

use std::collections::BTreeMap;

use super::error::OpError;
use super::gateway::asked::VALID_FOR;
use super::gateway_finalize::gateway_finalize;
use super::ids::mint_key;
use super::intent_put::intent_put;
use super::reconcile::{Action, Converged, ReconcileRequest, reconcile};
use super::session::Session;
use crate::domain::count::{number, runs};
use crate::domain::gateway::{Receipt, ScaleAnswer};
use crate::domain::id::{ExecutionKey, Replicas, ServiceName};
use crate::domain::scale::command::{Premise, PutForm, PutIntent};
use crate::domain::scale::execution::{Execution, FailureCause, Phase};
use crate::domain::scale::intent::{Reason, RetryAsked};
use crate::domain::scale::provenance::WishSource;
use crate::domain::scale::service::Binding;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::DurationMs;
use crate::ledger::ExecutionFilter;

/// How many steps one look takes at most: an attempt, its readings, and what comes before it.
const STEPS_MAX: usize = 16;

/// Where a service is on its way to the newest operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Convergence {
    /// Nothing is to be done: nobody carries it out, or the newest wish is not the gateway's.
    Idle,
    /// What runs is as the newest wish has it.
    Converged {
        /// The wish.
        key: ExecutionKey,
        /// What its operation is answered from now on; none where no operation has made it.
        answer: Option<ScaleAnswer>,
    },
    /// What runs still is as the newest wish has it.
    Holds {
        /// The wish.
        key: ExecutionKey,
    },
    /// What runs was as the newest wish has it, and is so no longer.
    Drifted {
        /// The wish.
        key: ExecutionKey,
        /// What was read.
        why: String,
    },
    /// The newest wish has failed for good.
    Failed {
        /// The wish.
        key: ExecutionKey,
        /// Why.
        why: String,
    },
    /// It goes on later.
    Later {
        /// What it waits for.
        why: String,
        /// How long until then, where that is known.
        after: Option<DurationMs>,
    },
}

/// Takes the next steps of a service.
pub fn gateway_converge(
    session: &mut Session,
    service: &ServiceName,
) -> Result<Convergence, OpError> {
    session.act_as_gateway();
    let mut why = String::new();
    for _ in 0..STEPS_MAX {
        let state = session.load_service(service)?;
        let Some(newest) = carried_out(&state) else { return Ok(Convergence::Idle) };
        let key = newest.key().clone();
        match &newest.phase {
            Phase::Verified { cause: None } => return session.converged(newest),
            Phase::Verified { cause: Some(FailureCause::Abandoned) }
            | Phase::Proposed { .. }
            | Phase::Rejected
            | Phase::Withdrawn
            | Phase::Superseded { .. } => return Ok(Convergence::Idle),
            Phase::Verified { cause: Some(_) } => {
                return Ok(Convergence::Failed { key, why: failure_of(newest) });
            }
            Phase::Accepted if newest.is_spent(session.now()) => {
                let why = "its fence ran out before it could start".to_owned();
                return Ok(Convergence::Failed { key, why });
            }
            Phase::Accepted
            | Phase::Started { .. }
            | Phase::RecoveryPending { .. }
            | Phase::Failed { .. }
            | Phase::Succeeded
            | Phase::Observed => {}
        }
        let row = session.pass(service)?;
        session.notices.clear();
        let after = retry_after(&row, session);
        why = row.failure.as_ref().map_or_else(|| row.why.clone(), ToString::to_string);
        let has_failed = row.failure.is_some() || row.is_blind;
        if has_failed || row.action == Action::Nothing || !has_moved(&state, &row) {
            return Ok(Convergence::Later { why, after });
        }
    }
    Ok(Convergence::Later { why, after: None })
}

/// Looks whether what runs is still as the newest wish has it. What is as it was read last is not
/// recorded anew, because whoever tends many services looks often.
pub fn gateway_tend(session: &mut Session, service: &ServiceName) -> Result<Convergence, OpError> {
    session.act_as_gateway();
    let state = session.load_service(service)?;
    let Some(newest) = carried_out(&state) else { return Ok(Convergence::Idle) };
    let is_answered = newest.receipt.as_deref().is_none_or(|receipt| !receipt.is_as_accepted());
    if !matches!(newest.phase, Phase::Verified { cause: None }) || !is_answered {
        return gateway_converge(session, service);
    }
    let (key, desired) = (newest.key().clone(), newest.desired());
    if let Some(hold) = state.head.authority.hold_at(session.now()) {
        let why = format!("{} holds it until {}", hold.actor, hold.until);
        return Ok(Convergence::Later { why, after: None });
    }
    let found = session.live(std::slice::from_ref(service))?;
    let notices = std::mem::take(&mut session.notices);
    let Some(found) = found.get(service).and_then(|head| head.binding.as_ref()) else {
        return Ok(match notices.into_iter().next() {
            Some(notice) => Convergence::Later { why: notice.text, after: None },
            // Its actuator cannot read.
            None => Convergence::Holds { key },
        });
    };
    let known = state.head.binding.as_ref().filter(|known| !known.outdated.count);
    let as_read = |read: &Binding| (read.target_uid.clone(), read.replicas, read.ready_replicas);
    let run = if known.map(as_read) == Some(as_read(found)) {
        found.replicas
    } else {
        match session.refresh_binding(service)? {
            Some((_, after)) if carried_out(&after).is_none_or(|newest| *newest.key() != key) => {
                return gateway_converge(session, service);
            }
            read => read.map(|(reading, _)| reading.replicas),
        }
    };
    Ok(match run.filter(|run| *run != desired) {
        Some(run) => {
            let wished = number(desired.get(), "is wished", "are wished");
            Convergence::Drifted { key, why: format!("{}, and {wished}", runs(run.get())) }
        }
        None => Convergence::Holds { key },
    })
}

/// Wishes the count of a wish that did not come to be, or does not hold any more, anew; unless
/// somebody has wished meanwhile.
pub fn gateway_wish_again(
    session: &mut Session,
    service: &ServiceName,
    failed: &ExecutionKey,
    why: &str,
) -> Result<(), OpError> {
    session.act_as_gateway();
    let state = session.load_service(service)?;
    let Some(newest) = carried_out(&state).filter(|newest| newest.key() == failed) else {
        return Ok(());
    };
    let form = PutForm::Flags {
        replicas: newest.desired(),
        reason: Reason::cut(&format!("{} again: {why}", newest.desired())),
        retry: RetryAsked::default(),
        key: mint_key(service, "gateway-again")?,
        fence: None,
        valid_for: VALID_FOR,
    };
    let put = PutIntent {
        premise: Premise::Revision(state.head.latest_revision),
        queue: true,
        source: WishSource::Gateway,
        ..PutIntent::new(service.clone(), form)
    };
    intent_put(session, put).map(|_| ())
}

/// The services that the gateway has wished something of and an actuator carries out: those that
/// are to be tended, if its wish is the newest one.
pub fn gateway_tended(session: &mut Session) -> Result<Vec<ServiceName>, OpError> {
    Ok(session.ledger.read()?.services_where(|head| {
        let is_actuated = head.registration.as_ref().is_some_and(|it| it.actuator.is_some());
        is_actuated && head.gateway.is_some() && head.authority.retired.is_none()
    })?)
}

/// The services that have something to go towards, each with its newest wish of the gateway that is
/// not finished.
pub fn gateway_unfinished(
    session: &mut Session,
) -> Result<BTreeMap<ServiceName, ExecutionKey>, OpError> {
    let filter = ExecutionFilter { unfinished: true, ..ExecutionFilter::default() };
    let mut found = session.ledger.read()?.executions(&filter)?;
    found.retain(|it| it.intent.source == WishSource::Gateway);
    found.sort_by_key(Execution::revision);
    Ok(found.into_iter().map(|it| (it.intent.service.clone(), it.key().clone())).collect())
}

/// The newest accepted wish, if it is the gateway's and somebody carries it out.
fn carried_out(state: &ServiceState) -> Option<&Execution> {
    let head = &state.head;
    let registration = head.registration.as_ref()?;
    let is_ours = registration.actuator.is_some()
        && registration.mode.record_mode().is_some()
        && head.authority.retired.is_none();
    let newest = state.executions.get(&head.current.as_ref()?.execution_key)?;
    (is_ours && newest.intent.source == WishSource::Gateway).then_some(newest)
}

fn failure_of(execution: &Execution) -> String {
    let stands = format!("it {}", super::report::stands(execution));
    let Some(result) = execution.result.as_ref().map(|it| &it.result) else { return stands };
    let code = result.error_code().map(ToString::to_string);
    let said = [code.as_deref().unwrap_or_default(), result.detail.as_str()];
    let said: Vec<&str> = said.into_iter().filter(|said| !said.is_empty()).collect();
    if said.is_empty() { stands } else { format!("{stands}: {}", said.join(": ")) }
}

/// Whether a step has brought the service on.
fn has_moved(before: &ServiceState, row: &Converged) -> bool {
    let Some(report) = &row.report else { return false };
    let after = &report.execution;
    before.executions.get(after.key()).is_none_or(|before| {
        before.phase.as_str() != after.phase.as_str()
            || before.readings_matched != after.readings_matched
            || before.attempts != after.attempts
    })
}

fn retry_after(row: &Converged, session: &Session) -> Option<DurationMs> {
    match &row.report.as_ref()?.execution.phase {
        Phase::Failed { retry_at } => Some(retry_at.since(session.now())),
        _ => None,
    }
}

impl Session {
    /// One pass over one service.
    fn pass(&mut self, service: &ServiceName) -> Result<Converged, OpError> {
        let request = ReconcileRequest {
            services: vec![service.clone()],
            health: None,
            max_actions: 1,
            only_static: false,
            valid_for: VALID_FOR,
            approve_within: DurationMs::ZERO,
        };
        let done = reconcile(self, &request)?;
        if let Some(error) = done.end {
            return Err(error);
        }
        done.rows.into_iter().next().ok_or_else(|| OpError::Internal {
            what: format!("a pass over {service} has looked at nothing"),
        })
    }

    fn converged(&mut self, newest: &Execution) -> Result<Convergence, OpError> {
        let key = newest.key().clone();
        let Some(receipt) = newest.receipt.as_deref() else {
            return Ok(Convergence::Converged { key, answer: None });
        };
        if !receipt.is_as_accepted() {
            return Ok(Convergence::Converged { key, answer: Some(receipt.response.clone()) });
        }
        let asked: Receipt = receipt.converged(ready(newest));
        let done = gateway_finalize(self, &asked)?;
        Ok(Convergence::Converged { key, answer: Some(done.answer) })
    }
}

/// How many of a wish are ready, as it was read last; without a reading, as was reported.
fn ready(execution: &Execution) -> u32 {
    let desired = execution.desired();
    let read = execution.last_reading.as_ref();
    let ready = read.map_or(desired, |read| read.ready_replicas.unwrap_or(read.replicas));
    let most: Replicas = ready.min(desired);
    u32::try_from(most.get()).unwrap_or(u32::MAX)
}
