//! One operation of the contract, judged and accepted in a transaction.
//!
//! Owns the order: the contract's own checks, then our gates. A refusal leaves nothing behind that
//! remembers the operation. Nothing is durable before the caller's transaction is committed.

use super::holds;
use super::pool::Pool;
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
        let Some(known) = read.find_execution(&self.key)? else {
            return Ok(Seen::Fresh { is_unknown: !read.is_registered(&self.service)? });
        };
        let holds = holds(read, &self.service, &read.service_head(&self.service)?)?;
        match judge(self.operation, used(Some(&known)), holds, None)? {
            Judged::Replay(answer) => Ok(Seen::Answered(answer)),
            Judged::Accept(_) => Err(OpError::Internal {
                what: format!("{} is used, and was judged as if it were not", self.key),
            }),
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
        if may_register && !txn.is_registered(&self.service)? {
            decide_in(txn, with, &self.service, keys, |state, txn| {
                self.judged(state, txn, pool)?;
                Ok(registers(&self.service, &self.operation.service, now))
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

/// The registration of a service that nobody has registered. Nobody else has its target: in the
/// gateway's cluster targets are called as their services.
pub(in crate::ops) fn registers(service: &ServiceName, raw: &str, now: Timestamp) -> Command {
    Command::RegisterService(Box::new(RegisterService {
        target_holder: None,
        registration: gateway::registration(service, raw),
        binding: Some(gateway::binding(service, now)),
        expected: Some(0),
        authorization: None,
        owners: Owners::default(),
    }))
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
        let mut seen = self.gateway_seen_all([operation])?;
        seen.pop().expect("BUG: an operation without an answer")
    }

    /// What the ids of operations name, by one look.
    pub fn gateway_seen_all<'o>(
        &mut self,
        operations: impl IntoIterator<Item = &'o ScaleOperation>,
    ) -> Result<Vec<Result<Seen, OpError>>, OpError> {
        let asked: Vec<Asked<'o>> = operations.into_iter().map(Asked::of).collect();
        let read = self.ledger.read()?;
        let (services, keys) = (asked.iter().map(|it| &it.service), asked.iter().map(|it| &it.key));
        read.look_ahead_of(services, keys)?;
        let seen: Vec<Result<Seen, OpError>> = asked.iter().map(|it| it.seen(&read)).collect();
        drop(read);
        if seen.iter().any(|seen| matches!(seen, Ok(Seen::Answered(_)))) {
            self.ledger.confirm()?;
        }
        Ok(seen)
    }
}
