//! `gateway apply`: one operation of the contract, accepted or refused in one transaction.
//!
//! Owns the order: the contract's own checks, then our gates. A refusal leaves nothing behind that
//! remembers the operation. After a crash an operation is there with its receipt, or not at all;
//! the same operation again is then answered or judged.

use super::error::OpError;
use super::gateway::{holds, is_unknown, room};
use super::intent_put::with_ledger_facts;
use super::session::Session;
use super::transition::{Deciding, Transition, decide_in};
use crate::domain::gateway::{
    self, Judged, Receipt, ScaleAnswer, ScaleOperation, Used, judge, key_of, reason_of,
    service_name,
};
use crate::domain::id::{ExecutionKey, Replicas, ServiceName};
use crate::domain::scale::command::{Command, Premise, PutForm, PutIntent, RegisterService};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::intent::RetryAsked;
use crate::domain::scale::owners::Owners;
use crate::domain::scale::provenance::WishSource;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::{Reach, ReadTxn};

use super::read::target_holder;

/// How long an accepted operation may be carried out.
const VALID_FOR: DurationMs = DurationMs::from_secs(3600);

/// What an operation came to.
pub struct GatewayApplied {
    /// The answer.
    pub answer: ScaleAnswer,
    /// Whether it had been accepted before.
    pub replayed: bool,
}

/// Judges an operation and accepts it. `pool` is how much all services of the gateway may have
/// together; none where nothing bounds them.
pub fn gateway_apply(
    session: &mut Session,
    operation: &ScaleOperation,
    pool: Option<u32>,
) -> Result<GatewayApplied, OpError> {
    session.act_as_gateway();
    let asked = Asked::of(operation, pool);
    let seen = asked.seen(session)?;
    if let Some(answer) = seen.replay {
        session.ledger.confirm()?;
        return Ok(GatewayApplied { answer, replayed: true });
    }
    let done = asked.write(session, seen.is_unknown)?;
    let receipt = done.execution(&asked.key)?.receipt.as_ref();
    let receipt = receipt.ok_or_else(|| OpError::Internal {
        what: format!("operation {:?} was accepted without a receipt", operation.operation_id),
    })?;
    let replayed = done.reply == Reply::Replayed;
    Ok(GatewayApplied { answer: receipt.response.clone(), replayed })
}

/// An operation, and what it is called in the ledger.
struct Asked<'o> {
    operation: &'o ScaleOperation,
    service: ServiceName,
    key: ExecutionKey,
    pool: Option<u32>,
}

/// What a look before the write shows.
struct Seen {
    replay: Option<ScaleAnswer>,
    is_unknown: bool,
}

impl<'o> Asked<'o> {
    fn of(operation: &'o ScaleOperation, pool: Option<u32>) -> Self {
        let (service, key) = (service_name(&operation.service), key_of(&operation.operation_id));
        Self { operation, service, key, pool }
    }

    /// A used id is answered without a write: neither a full disk nor another writer holds it up.
    fn seen(&self, session: &mut Session) -> Result<Seen, OpError> {
        let read = session.ledger.read()?;
        let state = read.service_state(&self.service, &[])?;
        let is_unknown = is_unknown(&state);
        let Some(known) = read.find_execution(&self.key)? else {
            return Ok(Seen { replay: None, is_unknown });
        };
        let holds = holds(&read, &self.service, &state.head)?;
        match judge(self.operation, used(Some(&known)), holds, None)? {
            Judged::Replay(answer) => Ok(Seen { replay: Some(answer), is_unknown }),
            Judged::Accept(_) => Ok(Seen { replay: None, is_unknown }),
        }
    }

    fn write(&self, session: &mut Session, is_unknown_yet: bool) -> Result<Transition, OpError> {
        let reach = if is_unknown_yet {
            Reach::registration(&self.service)
        } else {
            Reach::service(&self.service)
        };
        let reach = if self.pool.is_some() { reach.pooled() } else { reach };
        session.load_policy()?;
        let keys = std::slice::from_ref(&self.key);
        session.decided(reach, keys, |txn, by, policy, now| {
            if is_unknown_yet && is_unknown(&txn.service_state(&self.service, keys)?) {
                let mut with = Deciding { by, policy: &mut *policy, now };
                decide_in(txn, &mut with, &self.service, keys, |state, txn| {
                    self.registers(state, txn, now)
                })?;
            }
            let mut with = Deciding { by, policy, now };
            decide_in(txn, &mut with, &self.service, keys, |state, txn| self.puts(state, txn))
        })
    }

    /// The contract's answer by what this transaction sees.
    fn judged(&self, state: &ServiceState, read: &ReadTxn<'_>) -> Result<Judged, OpError> {
        let known = match state.executions.get(&self.key) {
            Some(own) => Some(own.clone()),
            None => read.find_execution(&self.key)?,
        };
        let holds = holds(read, &self.service, &state.head)?;
        let room = match &known {
            Some(_) => None,
            None => room(read, &self.service, self.pool)?,
        };
        Ok(judge(self.operation, used(known.as_ref()), holds, room)?)
    }

    /// The registration of a service that nobody has registered, if the contract lets it pass.
    fn registers(
        &self,
        state: &ServiceState,
        read: &ReadTxn<'_>,
        now: Timestamp,
    ) -> Result<Command, OpError> {
        self.judged(state, read)?;
        let registration = gateway::registration(&self.service, &self.operation.service);
        let binding = gateway::binding(&self.service, now);
        Ok(Command::RegisterService(Box::new(RegisterService {
            target_holder: target_holder(read, &registration, &binding.target_uid)?,
            registration,
            binding: Some(binding),
            expected: Some(0),
            authorization: None,
            owners: Owners::default(),
        })))
    }

    /// The wish of an operation, if the contract lets it pass.
    fn puts(&self, state: &ServiceState, read: &ReadTxn<'_>) -> Result<Command, OpError> {
        let (Judged::Accept(response) | Judged::Replay(response)) = self.judged(state, read)?;
        let form = PutForm::Flags {
            replicas: Replicas::from(self.operation.desired_replicas),
            reason: reason_of(&self.operation.reason),
            retry: RetryAsked::default(),
            key: self.key.clone(),
            fence: None,
            valid_for: VALID_FOR,
        };
        let put = PutIntent {
            premise: Premise::Latest,
            queue: true,
            source: WishSource::Gateway,
            receipt: Some(Box::new(Receipt { request: self.operation.clone(), response })),
            ..PutIntent::new(self.service.clone(), form)
        };
        Ok(Command::Put(Box::new(with_ledger_facts(put, state, read)?)))
    }
}

fn used(known: Option<&Execution>) -> Used<'_> {
    match known {
        None => Used::No,
        Some(Execution { receipt: Some(receipt), .. }) => Used::By(receipt),
        Some(_) => Used::Otherwise,
    }
}
