//! One transition of one service: load, decide, check, append; alone in a transaction or as a part
//! of a shared one.
//!
//! Owns what a refusal leaves behind. Nothing that is decided here is durable before the caller's
//! transaction is committed.

use super::error::OpError;
use super::lock_wait::{write_about, write_to};
use super::policy_cache::{PolicyCache, PolicyInTxn};
use super::session::{Notice, Session, actuator_in};
use super::told;
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::placement::environment::RuntimeMode;
use crate::domain::placement::operation::Operation;
use crate::domain::registry::{RefusalBody, RefusalEvent, is_same_refusal};
use crate::domain::scale::command::{Command, Context, PlacedIn};
use crate::domain::scale::decide::{Decision, Reply, decide};
use crate::domain::scale::event::{Event, Stamped};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::invariant;
use crate::domain::scale::left::Left;
use crate::domain::scale::policy::{Counted, RecentChanges};
use crate::domain::scale::provenance::Provenance;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::RegisteredActuator;
use crate::domain::scale::state::{ServiceHead, ServiceState};
use crate::domain::scale::tick::Evaluation;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::{Committed, LedgerError, Reach, ReadTxn, WriteTxn};

/// What a transition came to.
pub struct Transition {
    /// How to say it.
    pub reply: Reply,
    /// What was recorded.
    pub events: Vec<Event>,
    /// The service afterwards, or as it stands where nothing changed.
    pub state: ServiceState,
    /// What a tick came to.
    pub evaluation: Option<Box<Evaluation>>,
    /// The proof that the events are durable; none where there were none.
    pub committed: Option<Committed>,
}

/// What was decided and written, and is not yet durable.
pub(super) struct Decided {
    pub(super) reply: Reply,
    pub(super) events: Vec<Event>,
    pub(super) state: ServiceState,
    pub(super) evaluation: Option<Box<Evaluation>>,
    /// What whoever made it must be told.
    pub(super) told: Vec<Notice>,
}

/// A rule's no.
pub(super) struct Refused {
    pub(super) rejection: Box<Rejection>,
    pub(super) head: Option<Box<ServiceHead>>,
    /// What the calls of the key that it is about have left; none where it is about no key.
    pub(super) left: Option<Left>,
    /// The row that it leaves, where it is of a kind that is kept.
    pub(super) kept: Option<Box<RefusalEvent>>,
}

/// Why nothing was decided.
pub(super) enum Undecided {
    Refused(Refused),
    Failed(OpError),
}

impl<E: Into<OpError>> From<E> for Undecided {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Refused {
    /// As operations say it.
    pub(super) fn into_error(self) -> OpError {
        OpError::Rejected { rejection: self.rejection, head: self.head, left: self.left }
    }
}

/// What a decision needs beside its transaction.
pub(super) struct Deciding<'s> {
    pub(super) by: &'s Provenance,
    pub(super) policy: &'s mut PolicyCache,
    /// Taken after the lock: whoever held it may have written what is newer than the command.
    pub(super) now: Timestamp,
}

/// Decides one command by what the transaction sees, and writes its events into it.
///
/// `build` makes the command from the same sight; it reads no world.
pub(super) fn decide_in(
    txn: &mut WriteTxn<'_>,
    with: &mut Deciding<'_>,
    service: &ServiceName,
    keys: &[ExecutionKey],
    build: impl FnOnce(&ServiceState, &WriteTxn<'_>) -> Result<Command, OpError>,
) -> Result<Decided, Undecided> {
    let state = txn.service_state(service, keys)?;
    let command = build(&state, txn)?;
    let actuator = actuator_for(txn, &state, &command)?;
    let ledger_id = txn.identity().ledger_id.clone();
    let recent = recent_in(txn, with, service, &command)?;
    let placed = placed_in(txn, &state.head)?;
    let policy = PolicyInTxn::new(txn, with.policy);
    let context = Context {
        by: with.by,
        ledger_id: &ledger_id,
        actuator: actuator.as_ref(),
        policy: &policy,
        recent,
        placed,
    };
    let decided = decide(&state, &command, &context, with.now);
    policy.finish()?;
    match decided {
        Ok(Decision { reply, events, evaluation }) => {
            if events.is_empty() {
                return Ok(Decided { reply, events, state, evaluation, told: Vec::new() });
            }
            let pinned = state.head.authority.pinned_at(with.now).cloned();
            let state = txn.append(service, state, &events)?;
            invariant::check(&state)?;
            let told = told::of_events(&events, pinned.as_ref(), &state);
            Ok(Decided { reply, events, state, evaluation, told })
        }
        Err(rejection) => {
            let kept = rejection.is_kept().then(|| {
                Box::new(refusal(service, &command, &rejection, with.by.clone(), with.now))
            });
            let left = left_at(&command, keys, &state, &rejection);
            let head = state.head.registration.is_some().then(|| Box::new(state.head));
            Err(Undecided::Refused(Refused { rejection: Box::new(rejection), head, left, kept }))
        }
    }
}

/// How the environment of a service stands. Whoever changes a placement waits for this write, and
/// this one for them.
pub(super) fn placed_in(
    read: &ReadTxn<'_>,
    head: &ServiceHead,
) -> Result<Option<PlacedIn>, LedgerError> {
    let name = head.registration.as_ref().and_then(|it| it.environment.as_ref());
    let Some(name) = name else { return Ok(None) };
    let Some((environment, operation)) = read.environment_at_work(name)? else { return Ok(None) };
    let away = operation.filter(Operation::keeps_away).map(|operation| operation.operation_id);
    Ok(Some(PlacedIn {
        keeps_one: environment.effective.runtime_mode == RuntimeMode::AlwaysOn,
        cell: environment.effective.cell,
        environment: environment.name,
        away,
    }))
}

/// What the calls of the key that a command is about have left; none where that key is not there.
/// Another wish under a used key is about no call of it.
fn left_at(
    command: &Command,
    keys: &[ExecutionKey],
    state: &ServiceState,
    rejection: &Rejection,
) -> Option<Left> {
    let is_another = matches!(command, Command::Put(_))
        && matches!(
            rejection,
            Rejection::KeyConflict { .. }
                | Rejection::SimulatedKey { .. }
                | Rejection::LiveKey { .. }
        );
    let execution = keys.first().and_then(|key| state.executions.get(key))?;
    Some(if is_another { Left::Nothing } else { execution.left() })
}

/// How much was changed lately, where the policy in force looks at it and the command asks it.
fn recent_in(
    txn: &WriteTxn<'_>,
    with: &mut Deciding<'_>,
    service: &ServiceName,
    command: &Command,
) -> Result<Option<RecentChanges>, Undecided> {
    if !command.asks_about_a_service() {
        return Ok(None);
    }
    with.policy.refresh(txn)?;
    let counted = with.policy.counted();
    if counted == Counted::Nothing {
        return Ok(None);
    }
    // The policy was replaced after the locks of this write were chosen: the same again takes the
    // lock that it needs now.
    if counted == Counted::OfLedger && !txn.counts() {
        let (path, waited) = (txn.identity().path.clone(), DurationMs::ZERO);
        return Err(LedgerError::Busy { doing: "count the changes of", path, waited }.into());
    }
    let own = command.execution_key();
    Ok(Some(txn.recent_changes(service, own, counted, with.now)?))
}

impl Transition {
    /// The execution of a key that the command named.
    pub fn execution(&self, key: &ExecutionKey) -> Result<&Execution, OpError> {
        self.state
            .executions
            .get(key)
            .ok_or_else(|| Rejection::NoSuchKey { key: key.to_string() }.into())
    }
}

impl Session {
    /// One durable transition of one service: load, decide, check, append, commit.
    ///
    /// `build` makes the command from what the transaction sees; it reads no world. A refusal
    /// leaves the ledger as it is, but for the row of a refusal that is kept.
    pub fn transition(
        &mut self,
        service: &ServiceName,
        keys: &[ExecutionKey],
        build: impl FnOnce(&ServiceState, &WriteTxn<'_>) -> Result<Command, OpError>,
    ) -> Result<Transition, OpError> {
        self.load_policy()?;
        self.transition_unasked(service, keys, build)
    }

    /// The same for a command that hardly ever asks the policy: it is loaded only if it is asked.
    pub(super) fn transition_unasked(
        &mut self,
        service: &ServiceName,
        keys: &[ExecutionKey],
        build: impl FnOnce(&ServiceState, &WriteTxn<'_>) -> Result<Command, OpError>,
    ) -> Result<Transition, OpError> {
        self.transition_within(Reach::service(service), service, keys, build)
    }

    /// The same for a command that is decided on the targets of all services.
    pub(super) fn registration(
        &mut self,
        service: &ServiceName,
        build: impl FnOnce(&ServiceState, &WriteTxn<'_>) -> Result<Command, OpError>,
    ) -> Result<Transition, OpError> {
        self.load_policy()?;
        self.transition_within(Reach::registration(service), service, &[], build)
    }

    fn transition_within(
        &mut self,
        reach: Reach,
        service: &ServiceName,
        keys: &[ExecutionKey],
        build: impl FnOnce(&ServiceState, &WriteTxn<'_>) -> Result<Command, OpError>,
    ) -> Result<Transition, OpError> {
        self.decided(reach, keys, |txn, by, policy, now| {
            decide_in(txn, &mut Deciding { by, policy, now }, service, keys, build)
        })
    }

    /// One write: what `deciding` decides in it, one command or several, is durable with it or not
    /// at all.
    pub(super) fn decided(
        &mut self,
        reach: Reach,
        keys: &[ExecutionKey],
        deciding: impl FnOnce(
            &mut WriteTxn<'_>,
            &Provenance,
            &mut PolicyCache,
            Timestamp,
        ) -> Result<Decided, Undecided>,
    ) -> Result<Transition, OpError> {
        let counting = self.counting(reach.clone());
        let mut txn = write_about(&mut self.ledger, &self.lock_wait, counting, keys)?;
        if self.policy.lacks_a_lock(&txn)? {
            drop(txn);
            txn = write_about(&mut self.ledger, &self.lock_wait, reach.counting(), keys)?;
        }
        let now = self.clock.read(txn.now());
        match deciding(&mut txn, &self.by, &mut self.policy, now) {
            Ok(Decided { reply, events, state, evaluation, .. }) if events.is_empty() => {
                drop(txn);
                self.ledger.confirm()?;
                Ok(Transition { reply, events, state, evaluation, committed: None })
            }
            Ok(Decided { reply, events, state, evaluation, told }) => {
                let committed = Some(txn.commit()?);
                self.note_recorded();
                self.notices.extend(told);
                Ok(Transition { reply, events, state, evaluation, committed })
            }
            Err(Undecided::Failed(error)) => Err(error),
            Err(Undecided::Refused(mut refused)) => {
                drop(txn);
                self.keep_refusals(refused.kept.take().as_slice());
                Err(refused.into_error())
            }
        }
    }

    /// The reach of a write that asks the policy that was loaded.
    pub(super) fn counting(&self, reach: Reach) -> Reach {
        if self.policy.counted() == Counted::OfLedger { reach.counting() } else { reach }
    }

    /// Keeps the rows of refusals, equal ones once. A refusal that cannot be kept is still one.
    pub(super) fn keep_refusals(&mut self, refusals: &[Box<RefusalEvent>]) {
        if refusals.is_empty() {
            return;
        }
        if let Err(error) = self.try_to_keep(refusals) {
            let was_not = if self.ledger.is_poisoned() { "is perhaps not" } else { "was not" };
            let text = format!("the refusal {was_not} recorded: {error}");
            self.notice("refusal_not_kept", text);
        }
    }

    fn try_to_keep(&mut self, refusals: &[Box<RefusalEvent>]) -> Result<(), OpError> {
        let mut txn = write_to(&mut self.ledger, &self.lock_wait, Reach::refusals())?;
        let mut is_written = false;
        for (at, refusal) in refusals.iter().enumerate() {
            // Looking for it in the ledger costs more than looking for it here.
            if refusals[..at].iter().all(|earlier| !is_same_refusal(earlier, refusal)) {
                is_written |= txn.append_refusal(refusal)?;
            }
        }
        if is_written {
            let _committed = txn.commit()?;
        }
        Ok(())
    }
}

/// The row of a refusal.
fn refusal(
    service: &ServiceName,
    command: &Command,
    rejection: &Rejection,
    by: Provenance,
    at: Timestamp,
) -> RefusalEvent {
    let answer = if let Rejection::Denied { answer, .. } = rejection {
        Some((**answer).clone())
    } else {
        None
    };
    let body = RefusalBody::Refused {
        service: Some(service.clone()),
        execution_key: command.execution_key().cloned(),
        code: rejection.code().to_owned(),
        message: rejection.to_string(),
        fingerprint: fingerprint(rejection),
        answer,
    };
    Stamped { at, by, body }
}

/// What of a refusal does not vary from try to try.
fn fingerprint(rejection: &Rejection) -> String {
    if let Rejection::Denied { subject, answer, .. } = rejection {
        let rules: Vec<&str> = answer.rules.iter().map(|rule| rule.id.as_str()).collect();
        return format!("{} {subject} {}", answer.action.as_str(), rules.join(" "));
    }
    if let Rejection::Cooldown { last, .. } = rejection {
        return last.execution_key.to_string();
    }
    rejection.to_string()
}

/// The actuator that the rules look at: the registered one, or the one about to be registered.
fn actuator_for(
    read: &ReadTxn<'_>,
    state: &ServiceState,
    command: &Command,
) -> Result<Option<RegisteredActuator>, OpError> {
    let Command::RegisterService(ask) = command else {
        return actuator_in(read, state);
    };
    let Some(name) = &ask.registration.actuator else { return Ok(None) };
    let found = read.actuator(name)?;
    Ok(Some(found.ok_or_else(|| Rejection::NoSuchActuator { name: name.to_string() })?))
}

/// What is recorded under a key that is none of this service; none where nothing is.
pub(super) fn elsewhere(
    state: &ServiceState,
    read: &ReadTxn<'_>,
    key: &ExecutionKey,
) -> Result<Option<Execution>, OpError> {
    if state.executions.contains_key(key) {
        return Ok(None);
    }
    Ok(read.find_execution(key)?)
}
