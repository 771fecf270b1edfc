//! One transition of the placement: load, decide, check, append, commit. The shared step of
//! `capacity`, `placement` and `operation`.
//!
//! Owns what a refusal leaves behind. Nothing that is decided here is durable before the commit.

use super::error::OpError;
use super::lock_wait::write_to;
use super::moving::move_services;
use super::policy_cache::PolicyInTxn;
use super::session::Session;
use super::transition::Deciding;
use crate::domain::id::{EnvironmentName, IdempotencyKey, OperationId};
use crate::domain::placement::command::{Command, Context};
use crate::domain::placement::decide::decide;
use crate::domain::placement::environment::Environment;
use crate::domain::placement::event::PlacementEvent;
use crate::domain::placement::invariant;
use crate::domain::placement::operation::Operation;
use crate::domain::placement::rejection::PlacementRejection;
use crate::domain::placement::state::PlacementState;
use crate::domain::registry::{RefusalBody, RefusalEvent};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::event::Stamped;
use crate::domain::scale::provenance::Provenance;
use crate::domain::time::Timestamp;
use crate::ledger::{Committed, EventFilter, Order, Reach, StoredEvent, Stream, WriteTxn};

/// What a transition of the placement came to.
pub struct Placed {
    /// How to say it.
    pub reply: Reply,
    /// What was recorded.
    pub events: Vec<PlacementEvent>,
    /// The placement afterwards, or as it stands where nothing changed.
    pub state: PlacementState,
    /// The operation that it is about.
    pub operation_id: Option<OperationId>,
    /// The proof that the events are durable; none where there were none.
    pub committed: Option<Committed>,
}

impl Placed {
    /// The operation that it is about, as it stands.
    pub fn operation(&self) -> Option<&Operation> {
        self.operation_id.as_ref().and_then(|id| self.state.operations.get(id))
    }
}

impl Session {
    /// One durable transition of the placement. `build` makes the command from what the transaction
    /// sees; it reads no world. A refusal leaves the ledger as it is, but for the row of one that
    /// is kept.
    pub(super) fn place(
        &mut self,
        named: &[OperationId],
        key: Option<&IdempotencyKey>,
        build: impl FnOnce(&PlacementState, &WriteTxn<'_>) -> Result<Command, OpError>,
    ) -> Result<Placed, OpError> {
        self.load_policy()?;
        let mut txn = write_to(&mut self.ledger, &self.lock_wait, Reach::placement())?;
        let now = self.clock.read(txn.now());
        let state = txn.placement_state(named, key)?;
        let command = build(&state, &txn)?;
        let (ledger_id, incarnation) =
            (txn.identity().ledger_id.clone(), txn.identity().incarnation);
        let policy = PolicyInTxn::new(&txn, &mut self.policy);
        let context = Context { by: &self.by, ledger_id: &ledger_id, incarnation, policy: &policy };
        let decided = decide(&state, &command, &context, now);
        policy.finish()?;
        match decided {
            Ok(decision) if decision.events.is_empty() => {
                drop(txn);
                self.ledger.confirm()?;
                let (reply, operation_id) = (decision.reply, decision.operation_id);
                Ok(Placed { reply, events: Vec::new(), state, operation_id, committed: None })
            }
            Ok(decision) => {
                let after = txn.append_placement(state.clone(), &decision.events)?;
                invariant::check(&state, &decision.events, &after)?;
                let mut with = Deciding { by: &self.by, policy: &mut self.policy, now };
                move_services(&mut txn, &mut with, &decision.events, &after)?;
                let committed = Some(txn.commit()?);
                self.note_recorded();
                let (reply, operation_id) = (decision.reply, decision.operation_id);
                Ok(Placed { reply, events: decision.events, state: after, operation_id, committed })
            }
            Err(rejection) => {
                drop(txn);
                if rejection.is_kept() {
                    let kept = refusal(&rejection, self.by.clone(), now);
                    self.keep_refusals(&[Box::new(kept)]);
                }
                Err(rejection.into())
            }
        }
    }

    /// All that is registered and placed, with the operations that are not over.
    pub fn placement(&mut self) -> Result<PlacementState, OpError> {
        Ok(self.ledger.read()?.placement(&[], None)?)
    }

    /// The same with every operation that there ever was.
    pub fn whole_placement(&mut self) -> Result<PlacementState, OpError> {
        Ok(self.ledger.read()?.whole_placement()?)
    }

    /// An environment that is known.
    pub fn environment(&mut self, name: &EnvironmentName) -> Result<Environment, OpError> {
        let found = self.ledger.read()?.environment(name)?;
        Ok(found.ok_or_else(|| not_found("environment", name))?)
    }

    /// One operation, over or not, with the placement around it.
    pub fn operation(&mut self, id: &OperationId) -> Result<(PlacementState, Operation), OpError> {
        let state = self.ledger.read()?.placement(std::slice::from_ref(id), None)?;
        let found = state.operations.get(id).cloned();
        let operation = found.ok_or_else(|| not_found("operation", id))?;
        Ok((state, operation))
    }

    /// What happened in one operation, as it happened.
    pub fn operation_events(&mut self, id: &OperationId) -> Result<Vec<StoredEvent>, OpError> {
        let filter = EventFilter {
            streams: vec![Stream::Placement],
            order: Order::OldestFirst,
            ..EventFilter::default()
        };
        let is_of_it = |event: &StoredEvent| {
            let named = event.body["operation_id"].as_str();
            named.or(event.body["operation"]["operation_id"].as_str()) == Some(id.as_str())
        };
        Ok(self.ledger.read()?.events_where(&filter, &is_of_it)?)
    }
}

/// There is no such thing.
pub(super) fn not_found(noun: &'static str, name: &impl ToString) -> PlacementRejection {
    PlacementRejection::NotFound { noun, name: name.to_string() }
}

/// The row of a refusal.
fn refusal(rejection: &PlacementRejection, by: Provenance, at: Timestamp) -> RefusalEvent {
    let answer = match rejection {
        PlacementRejection::Denied { answer, .. } => Some((**answer).clone()),
        _ => None,
    };
    let message = rejection.to_string();
    let body = RefusalBody::Refused {
        service: None,
        execution_key: None,
        code: rejection.code().to_owned(),
        fingerprint: message.clone(),
        message,
        answer,
    };
    Stamped { at, by, body }
}
