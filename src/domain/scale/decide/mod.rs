//! The rules: from a state, a command and an instant to events, or to a rejection.
//!
//! Every rule has the same paragraphs: malformed? already there? allowed now? — *from here it must
//! succeed* — events. Nothing here reads a clock, a disk or a child; what those said is in the
//! command.

mod adopt;
mod authority;
mod changed;
mod consent;
mod finish;
mod gateway;
mod lease;
mod leave;
mod life;
mod observe;
mod put;
mod redelivery;
mod service;
mod settle;
mod start;
mod tick;

pub use changed::is_partly_applied;
pub use finish::held_to_the_wish;
pub use redelivery::answer_of_key;
pub use settle::verdict_of;
pub use start::{waits_behind, waits_behind_any};
pub use tick::ticked_count;

use super::attempt::Pending;
use super::command::{Command, Context};
use super::event::{Event, EventBody};
use super::execution::{Execution, FailureCause};
use super::gates::service_resource;
use super::intent::IntentWish;
use super::observation::{Observation, ObservationStatus, Source};
use super::policy::{PolicyAction, PolicyAnswer, PolicyQuery, PolicyResource};
use super::provenance::{Provenance, WishSource};
use super::rejection::Rejection;
use super::result::{ActuationResult, Detail};
use super::service::{CLOCK_SKEW_MAX, OnUnknown, Registration};
use super::state::ServiceState;
use super::tick::Evaluation;
use crate::domain::id::{ControllerId, ExecutionKey, ObservationId};
use crate::domain::time::Timestamp;

/// What a command comes to, where it is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What must be made durable, in this order; empty where nothing changes.
    pub events: Vec<Event>,
    /// How to say it.
    pub reply: Reply,
    /// What a tick came to.
    pub evaluation: Option<Box<Evaluation>>,
}

/// How a decision is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// It was done now.
    Done,
    /// It had been done before: the stored answer.
    Replayed,
    /// It is already so.
    Unchanged,
    /// The reading began before the newest one was recorded: read again.
    StaleReading,
    /// The result came too late to be applied, and is kept as evidence.
    Late,
    /// A tick has looked: what it came to is beside the events.
    Evaluated,
}

/// Decides one command on one service.
pub fn decide(
    state: &ServiceState,
    command: &Command,
    context: &Context<'_>,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    let asked_at = now;
    let now = match (command.has_happened(), state.head.time_mark) {
        (true, Some(mark)) => now.max(mark),
        (true, None) => now,
        // It is what the clock itself is asked about.
        (false, _) if matches!(command, Command::AcceptClock { .. }) => now,
        (false, _) => on_ledger_clock(state, now)?,
    };
    let draft = Draft { state, context, now, asked_at };
    match command {
        Command::RegisterService(ask) => service::register(&draft, ask),
        Command::BindTarget {
            service,
            reading,
            began_after_serial,
            bound_before,
            accept_uid,
            others,
        } => {
            let began = service::Began { serial: *began_after_serial, bound: bound_before };
            service::bind(&draft, service, reading, &began, accept_uid.as_ref(), others)
        }
        Command::Put(intent) => put::put(&draft, intent),
        Command::Withdraw { key, reason, supersede } => {
            put::withdraw(&draft, key, reason.as_ref(), *supersede)
        }
        Command::Abandon { key, reason, supersede } => {
            finish::abandon(&draft, key, reason, *supersede)
        }
        Command::AcquireLease { key, controller, lease_instance_id, holder, ttl } => {
            let request = lease::Request { controller, lease_instance_id, holder, ttl: *ttl };
            lease::acquire(&draft, key, &request)
        }
        Command::RenewLease { key, lease_instance_id, ttl } => {
            lease::renew(&draft, key, lease_instance_id, *ttl)
        }
        Command::ReleaseLease { key, lease_instance_id } => {
            lease::release(&draft, key, lease_instance_id)
        }
        Command::Simulate { key, controller } => start::simulate(&draft, key, controller),
        Command::Start(attempt) => start::start(&draft, attempt),
        Command::EndCall { key, attempt, lease_instance_id, end, ended_at } => {
            let call = finish::EndedCall { attempt: *attempt, lease_instance_id, end };
            finish::end_call(&draft, key, &call, *ended_at)
        }
        Command::ProveEnd { key, attempt, ended_at } => {
            finish::prove_end(&draft, key, *attempt, *ended_at)
        }
        Command::RecordFence { key, attempt, before } => {
            finish::record_fence(&draft, key, *attempt, before.as_ref())
        }
        Command::Settle { key, settlement, authorization } => {
            settle::settle(&draft, key, settlement, authorization.as_ref())
        }
        Command::Observe { key, reading, bound_before } => {
            observe::observe(&draft, key, reading.as_ref(), bound_before.as_ref())
        }
        Command::AcceptClock { service, reason } => life::accept_clock(&draft, service, reason),
        Command::Authority(command) => authority::decide(&draft, command),
        Command::Gateway(command) => gateway::decide(&draft, command),
        Command::Restore { incarnation, lost } => Ok(life::restore(&draft, *incarnation, lost)),
        Command::Relocate { why } => Ok(life::relocate(&draft, why)),
    }
}

/// The instant that counts: a clock up to 300 s behind the service's time mark is taken to the
/// mark, a clock further behind is refused. So no accepted write is ever older than one before it.
pub fn on_ledger_clock(state: &ServiceState, now: Timestamp) -> Result<Timestamp, Rejection> {
    let Some(mark) = state.head.time_mark else {
        return Ok(now);
    };
    if now >= mark {
        return Ok(now);
    }
    if now.plus(CLOCK_SKEW_MAX) < mark {
        // Without a registration nothing was ever written: the gates say so.
        let Some(registration) = &state.head.registration else {
            return Ok(mark);
        };
        let service = registration.service.clone();
        return Err(Rejection::ClockSkew { service, now, mark });
    }
    Ok(mark)
}

/// What every rule needs, and what it makes its events from.
struct Draft<'a> {
    state: &'a ServiceState,
    context: &'a Context<'a>,
    now: Timestamp,
    /// The caller's own clock, which its readings were timed by.
    asked_at: Timestamp,
}

impl Draft<'_> {
    /// Somebody, where that is another person than whoever asks now.
    fn another(&self, person: &Provenance) -> Option<Box<Provenance>> {
        self.context.by.is_other_person(person).then(|| Box::new(person.clone()))
    }

    fn event(&self, body: EventBody) -> Event {
        Event { at: self.now, by: self.context.by.clone(), body }
    }

    fn done(&self, bodies: Vec<EventBody>) -> Decision {
        Decision {
            events: bodies.into_iter().map(|body| self.event(body)).collect(),
            reply: Reply::Done,
            evaluation: None,
        }
    }

    /// Whether policy lets the caller change the ledger itself, for the sake of `subject`.
    fn may_administer(
        &self,
        action: PolicyAction,
        subject: &str,
        controller: Option<&ControllerId>,
        reason: Option<&str>,
    ) -> Result<PolicyAnswer, Rejection> {
        let resource = PolicyResource::Ledger { id: self.context.ledger_id.to_string() };
        let by = self.context.by;
        let mut query = PolicyQuery::of(by, action, resource, WishSource::Cli, self.now);
        query.controller = controller.cloned();
        query.reason = reason.map(str::to_owned);
        self.permitted(&query, subject.to_owned())
    }

    /// The question whether the caller may do something about a service.
    fn about(&self, action: PolicyAction, registration: &Registration) -> PolicyQuery {
        let resource = service_resource(registration, self.context);
        let by = self.context.by;
        let mut query = PolicyQuery::of(by, action, resource, WishSource::Cli, self.now);
        query.controller = Some(registration.writer.clone());
        query.recent = self.context.recent;
        query
    }

    /// The answer of the policy where it is yes, and the refusal where it is no.
    fn permitted(&self, query: &PolicyQuery, subject: String) -> Result<PolicyAnswer, Rejection> {
        let answer = self.context.policy.answer(query);
        if answer.allowed {
            return Ok(answer);
        }
        let actor = query.actor.clone();
        Err(Rejection::Denied { actor, subject, answer: Box::new(answer) })
    }

    fn execution(&self, key: &ExecutionKey) -> Result<&Execution, Rejection> {
        self.state.executions.get(key).ok_or_else(|| Rejection::NoSuchKey { key: key.to_string() })
    }

    /// A wish of another claim is ended only on purpose: a guard against accident, not a right.
    fn check_own(&self, execution: &Execution, supersede: bool) -> Result<(), Rejection> {
        if supersede || execution.put_by.actor == self.context.by.actor {
            return Ok(());
        }
        Err(Rejection::OthersIntent {
            service: execution.intent.service.clone(),
            revision: execution.revision(),
            actor: execution.put_by.actor.to_string(),
        })
    }

    /// The one terminal record of a key, from the result that it rests on.
    fn observation(
        &self,
        wish: &IntentWish,
        result: &ActuationResult,
        source: Source,
        detail: &str,
    ) -> Observation {
        Observation {
            observation_id: ObservationId::derived("observation", wish.execution_key.as_str()),
            execution_key: wish.execution_key.clone(),
            intent_id: wish.intent_id.clone(),
            intent_revision: wish.intent_revision,
            target: wish.target.clone(),
            status: ObservationStatus::of(result),
            scaled: result.scaled(),
            observed_replicas: result.observed_replicas(),
            outcome_digest: result.outcome_digest(),
            observed_at: self.now,
            verified: true,
            detail: Detail::cut(detail),
            source,
        }
    }

    /// The durable end of a failure whose result is already recorded.
    fn failure_end(
        &self,
        execution: &Execution,
        cause: FailureCause,
        detail: &str,
    ) -> Result<EventBody, Rejection> {
        let recorded = execution.result.as_ref().ok_or_else(|| Rejection::WrongState {
            service: execution.intent.service.clone(),
            revision: execution.revision(),
            phase: Box::new(execution.phase.clone()),
            why: "it has no result",
        })?;
        let wish = &execution.intent.wish;
        Ok(EventBody::ObservationRecorded {
            execution_key: execution.key().clone(),
            observation: self.observation(wish, &recorded.result, Source::Actuator, detail),
            cause: Some(cause),
        })
    }
}

/// Nothing changes.
fn nothing(reply: Reply) -> Decision {
    Decision { events: Vec::new(), reply, evaluation: None }
}

/// The stored answer: nothing changes.
fn replayed() -> Decision {
    nothing(Reply::Replayed)
}

fn unchanged() -> Decision {
    nothing(Reply::Unchanged)
}

fn wrong_state(execution: &Execution, why: &'static str) -> Rejection {
    Rejection::WrongState {
        service: execution.intent.service.clone(),
        revision: execution.revision(),
        phase: Box::new(execution.phase.clone()),
        why,
    }
}

/// The refusal of whatever must wait for the end of a call.
pub fn in_progress(execution: &Execution) -> Rejection {
    match &execution.lease {
        Some(held) => Rejection::InProgress {
            service: execution.intent.service.clone(),
            revision: execution.revision(),
            held: Box::new(held.clone()),
        },
        None => wrong_state(execution, "its call has not ended"),
    }
}

/// The refusal of whatever waits for a person's consent, or has waited in vain.
fn approval_required(draft: &Draft<'_>, execution: &Execution, until: Timestamp) -> Rejection {
    let (service, revision) = (execution.intent.service.clone(), execution.revision());
    if until <= draft.now {
        Rejection::ApprovalExpired { service, revision, until }
    } else {
        Rejection::ApprovalRequired { service, revision, until }
    }
}

/// The refusal of whatever needs to know what became of a call.
fn outcome_unknown(draft: &Draft<'_>, execution: &Execution, pending: &Pending) -> Rejection {
    let quiet = execution.intent.terms.quiet_ms;
    Rejection::OutcomeUnknown {
        service: execution.intent.service.clone(),
        revision: execution.revision(),
        attempt: pending.call.attempt.get(),
        why: pending.why,
        until: (!pending.is_quiet(quiet, draft.now)).then(|| pending.quiet_until(quiet)),
    }
}

/// Whether the actuator makes the effect of a key once, however often it is called.
fn deduplicates(draft: &Draft<'_>) -> bool {
    draft.context.actuator.is_some_and(|a| a.capabilities.deduplicates_execution_key)
}

/// Whether an attempt whose outcome is unknown may be followed by another under the same key.
fn may_repeat(draft: &Draft<'_>, execution: &Execution) -> bool {
    execution.intent.terms.on_unknown == OnUnknown::RetrySameKey
        && deduplicates(draft)
        && execution.has_budget()
}
