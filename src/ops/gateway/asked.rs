//! One operation of the contract, judged and accepted in a transaction.
//!
//! Owns the order: the contract's own checks, then our gates. A refusal leaves nothing behind that
//! remembers the operation. Nothing is durable before the caller's transaction is committed.

use super::pool::Pool;
use super::{holds, is_unknown};
use crate::domain::gateway::{
    self, Judged, Receipt, ScaleAnswer, ScaleOperation, Used, judge, key_of, reason_of,
    service_name,
};
use crate::domain::id::{ExecutionKey, Replicas, ServiceName};
use crate::domain::scale::command::{Command, Premise, PutForm, PutIntent, RegisterService};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::intent::RetryAsked;
use crate::domain::scale::owners::Owners;
use crate::domain::scale::provenance::WishSource;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::{Reach, ReadTxn, WriteTxn};
use crate::ops::error::OpError;
use crate::ops::intent_put::with_ledger_facts;
use crate::ops::read::target_holders;
use crate::ops::session::Session;
use crate::ops::transition::{Decided, Deciding, Undecided, decide_in};

/// How long an accepted operation may be carried out.
pub(in crate::ops) const VALID_FOR: DurationMs = DurationMs::from_secs(3600);

/// An operation, and what it is called in the ledger.
pub(in crate::ops) struct Asked<'o> {
    operation: &'o ScaleOperation,
    pub(in crate::ops) service: ServiceName,
    pub(in crate::ops) key: ExecutionKey,
}

/// What a look before the write shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It was accepted before: the stored answer.
    Answered(ScaleAnswer),
    /// It was not.
    Fresh {
        /// Whether nobody has registered its service. Who is registered once is so for ever.
        is_unknown: bool,
    },
}

impl<'o> Asked<'o> {
    pub(in crate::ops) fn of(operation: &'o ScaleOperation) -> Self {
        let (service, key) = (service_name(&operation.service), key_of(&operation.operation_id));
        Self { operation, service, key }
    }

    /// A used id is answered without a write: neither a full disk nor another writer holds it up.
    pub(in crate::ops) fn seen(&self, read: &ReadTxn<'_>) -> Result<Seen, OpError> {
        let state = read.service_state(&self.service, &[])?;
        let fresh = Seen::Fresh { is_unknown: is_unknown(&state) };
        let Some(known) = read.find_execution(&self.key)? else { return Ok(fresh) };
        let holds = holds(read, &self.service, &state.head)?;
        match judge(self.operation, used(Some(&known)), holds, None)? {
            Judged::Replay(answer) => Ok(Seen::Answered(answer)),
            Judged::Accept(_) => Ok(fresh),
        }
    }

    /// The reach of a write that accepts it alone.
    pub(in crate::ops) fn reach(&self, is_unknown: bool) -> Reach {
        if is_unknown { Reach::registration(&self.service) } else { Reach::service(&self.service) }
    }

    /// Accepts it, and registers its service first where nobody has and it may.
    pub(in crate::ops) fn accept_in(
        &self,
        txn: &mut WriteTxn<'_>,
        with: &mut Deciding<'_>,
        may_register: bool,
        pool: &mut Option<Pool>,
    ) -> Result<Decided, Undecided> {
        let (keys, now) = (std::slice::from_ref(&self.key), with.now);
        if may_register && is_unknown(&txn.service_state(&self.service, keys)?) {
            decide_in(txn, with, &self.service, keys, |state, txn| {
                self.registers(state, txn, now, pool)
            })?;
        }
        let done =
            decide_in(txn, with, &self.service, keys, |state, txn| self.puts(state, txn, pool))?;
        if let Some(pool) = pool {
            pool.note(&self.service, &done.state.head);
        }
        Ok(done)
    }

    /// The contract's answer by what this transaction sees.
    fn judged(
        &self,
        state: &ServiceState,
        read: &ReadTxn<'_>,
        pool: &mut Option<Pool>,
    ) -> Result<Judged, OpError> {
        let known = match state.executions.get(&self.key) {
            Some(own) => Some(own.clone()),
            None => read.find_execution(&self.key)?,
        };
        let holds = holds(read, &self.service, &state.head)?;
        let room = match (&known, pool) {
            (None, Some(pool)) => Some(pool.room(read, &self.service)?),
            _ => None,
        };
        Ok(judge(self.operation, used(known.as_ref()), holds, room)?)
    }

    /// The registration of a service that nobody has registered, if the contract lets it pass.
    fn registers(
        &self,
        state: &ServiceState,
        read: &ReadTxn<'_>,
        now: Timestamp,
        pool: &mut Option<Pool>,
    ) -> Result<Command, OpError> {
        self.judged(state, read, pool)?;
        let registration = gateway::registration(&self.service, &self.operation.service);
        let binding = gateway::binding(&self.service, now);
        Ok(Command::RegisterService(Box::new(RegisterService {
            accept_uid: None,
            others: target_holders(read, &registration, &binding.target_uid)?,
            registration,
            binding: Some(binding),
            expected: Some(0),
            authorization: None,
            owners: Owners::default(),
        })))
    }

    /// The wish of an operation, if the contract lets it pass.
    fn puts(
        &self,
        state: &ServiceState,
        read: &ReadTxn<'_>,
        pool: &mut Option<Pool>,
    ) -> Result<Command, OpError> {
        let (Judged::Accept(response) | Judged::Replay(response)) =
            self.judged(state, read, pool)?;
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

impl Session {
    /// What an operation id names, without a write.
    pub fn gateway_seen(&mut self, operation: &ScaleOperation) -> Result<Seen, OpError> {
        let asked = Asked::of(operation);
        let seen = asked.seen(&self.ledger.read()?)?;
        if matches!(seen, Seen::Answered(_)) {
            self.ledger.confirm()?;
        }
        Ok(seen)
    }
}
