//! The rules: from a state, a command and an instant to events, or to a rejection.
//!
//! Every rule has the same paragraphs: malformed? already there? allowed now? — *from here it must
//! succeed* — events. Nothing here reads a clock, a disk or a child; what those said is in the
//! command.

mod adopt;
mod asked;
mod change;
mod chosen;
mod lease;
mod leave;
mod registry;
mod reserved;
mod room;
mod step;

pub use change::{Planned, planned};
pub use room::{Fit, fits};

use super::command::{Command, Context};
use super::environment::{Effective, Environment};
use super::event::{PlacementBody, PlacementEvent};
use super::operation::Operation;
use super::rejection::PlacementRejection;
use super::state::PlacementState;
use crate::domain::id::{FenceToken, OperationId};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::event::Stamped;
use crate::domain::scale::policy::{
    MoveTo, PolicyAction, PolicyAnswer, PolicyQuery, PolicyResource,
};
use crate::domain::scale::provenance::WishSource;
use crate::domain::time::Timestamp;

/// What a command comes to, where it is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What must be made durable, in this order; empty where nothing changes.
    pub events: Vec<PlacementEvent>,
    /// How to say it.
    pub reply: Reply,
    /// The operation that it is about.
    pub operation_id: Option<OperationId>,
}

type Decided = Result<Decision, PlacementRejection>;

struct Draft<'d> {
    state: &'d PlacementState,
    context: &'d Context<'d>,
    now: Timestamp,
}

/// Decides one command.
pub fn decide(
    state: &PlacementState,
    command: &Command,
    context: &Context<'_>,
    now: Timestamp,
) -> Decided {
    let draft = Draft { state, context, now };
    match command {
        Command::PutLocation(put) => registry::location(&draft, put),
        Command::PutCell(put) => registry::cell(&draft, put),
        Command::CordonCell { cell, reason } => registry::cordon(&draft, cell, reason.as_ref()),
        Command::PutProfile(profile) => registry::profile(&draft, profile),
        Command::PutPolicy(put) => registry::policy(&draft, put),
        Command::PutPool(put) => registry::pool(&draft, put),
        Command::RecordUsage(usage) => registry::usage(&draft, usage),
        Command::RegisterRelocator(relocator) => registry::relocator(&draft, relocator),
        Command::Adopt(ask) => adopt::adopt(&draft, ask),
        Command::Change(change) => change::change(&draft, change),
        Command::AcquireLease { operation_id, lease_instance_id, holder, ttl, supersede } => {
            let asked =
                lease::Asked { lease_instance_id, holder, ttl: *ttl, supersede: *supersede };
            lease::acquire(&draft, operation_id, &asked)
        }
        Command::RenewLease { operation_id, token, ttl } => {
            lease::renew(&draft, operation_id, *token, *ttl)
        }
        Command::ReleaseLease { operation_id, token } => {
            lease::release(&draft, operation_id, *token)
        }
        Command::StartStep { operation_id, token, call_id, in_flight } => {
            step::start(&draft, (operation_id, *token), call_id, in_flight)
        }
        Command::EndStep { operation_id, token, step, end } => {
            step::end(&draft, (operation_id, *token), *step, end)
        }
        Command::Commit { operation_id, token, services } => {
            step::commit(&draft, (operation_id, *token), services)
        }
        Command::Retry { operation_id, reason } => leave::retry(&draft, operation_id, reason),
        Command::Abandon { operation_id, reason, gone } => {
            leave::abandon(&draft, operation_id, reason, *gone)
        }
    }
}

impl Draft<'_> {
    fn event(&self, body: PlacementBody) -> PlacementEvent {
        Stamped { at: self.now, by: self.context.by.clone(), body }
    }

    fn done(&self, bodies: Vec<PlacementBody>) -> Decision {
        let operation_id = bodies.iter().find_map(PlacementBody::operation_id).cloned();
        let events = bodies.into_iter().map(|body| self.event(body)).collect();
        Decision { events, reply: Reply::Done, operation_id }
    }

    /// Whether somebody may change what is registered.
    fn may_register(&self, subject: &str) -> Result<PolicyAnswer, PlacementRejection> {
        let resource = PolicyResource::Ledger { id: self.context.ledger_id.to_string() };
        self.ask(PolicyAction::Register, resource, subject.to_owned())
    }

    /// Whether somebody may change where an environment lives.
    fn may_relocate(
        &self,
        environment: &Environment,
        to: Option<&Effective>,
    ) -> Result<PolicyAnswer, PlacementRejection> {
        let it = &environment.effective;
        let resource = PolicyResource::Environment {
            name: environment.name.clone(),
            policy: environment.policy.to_string(),
            cell: it.cell.to_string(),
            location: it.location.to_string(),
            profile: it.profile.to_string(),
            to: to.map(|to| {
                Box::new(MoveTo {
                    cell: to.cell.to_string(),
                    location: to.location.to_string(),
                    profile: to.profile.to_string(),
                })
            }),
        };
        let subject = format!("environment {}", environment.name);
        self.ask(PolicyAction::Relocate, resource, subject)
    }

    fn ask(
        &self,
        action: PolicyAction,
        resource: PolicyResource,
        subject: String,
    ) -> Result<PolicyAnswer, PlacementRejection> {
        let by = self.context.by;
        let query = PolicyQuery::of(by, action, resource, WishSource::Cli, self.now);
        let answer = self.context.policy.answer(&query);
        if answer.allowed {
            return Ok(answer);
        }
        let actor = query.actor;
        Err(PlacementRejection::Denied { actor, subject, answer: Box::new(answer) })
    }

    /// The environment of an operation.
    fn environment_of(&self, operation: &Operation) -> Result<&Environment, PlacementRejection> {
        let found = self.state.environments.get(&operation.environment);
        found.ok_or_else(|| not_found("environment", &operation.environment))
    }

    /// An operation that is there.
    fn operation(&self, id: &OperationId) -> Result<&Operation, PlacementRejection> {
        let found = self.state.operations.get(id);
        found.ok_or_else(|| not_found("operation", id))
    }

    /// An operation that is under way, under a token that holds it. A lease that has run out and
    /// that nobody has taken over still lets what was begun be recorded.
    fn held(&self, (id, token): Held<'_>) -> Result<&Operation, PlacementRejection> {
        let operation = self.operation(id)?;
        let current = operation.lease.as_ref().map(|lease| lease.token);
        if operation.course.is_over() || current != Some(token) {
            let operation_id = id.clone();
            return Err(PlacementRejection::LeaseLost { operation_id, given: token, current });
        }
        Ok(operation)
    }
}

/// An operation, and the token under which it is carried out.
type Held<'h> = (&'h OperationId, FenceToken);

const fn unchanged(operation_id: Option<OperationId>) -> Decision {
    Decision { events: Vec::new(), reply: Reply::Unchanged, operation_id }
}

fn not_found(noun: &'static str, name: &impl ToString) -> PlacementRejection {
    PlacementRejection::NotFound { noun, name: name.to_string() }
}
