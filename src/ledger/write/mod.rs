//! Writing: events first, then the projections of exactly what they changed, in one transaction.
//!
//! Nothing is durable before [`WriteTxn::commit`] has answered; after it, everything is. A
//! transaction of which one write failed cannot be committed.

mod beside;
mod commit;
mod copied;
mod kept;
mod part;
mod rows;

use std::collections::BTreeMap;
use std::ops::Deref;

use crate::domain::digest::Digest;
use crate::domain::id::{CommandId, ExecutionKey, LedgerId, ServiceName};
use crate::domain::scale::event::Event;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::Timestamp;
use crate::ledger::columns::column;
use crate::ledger::error::LedgerError;
use crate::ledger::reach::Reach;
use crate::ledger::read::ReadTxn;
use crate::ledger::stream::{Chainer, Stream};

pub(in crate::ledger) use copied::Copied;
pub(in crate::ledger) use kept::Kept;
use rows::Entry;

/// The proof that a write is durable. Only a commit makes one.
#[must_use = "a call may be made only with the proof that it was recorded"]
#[derive(Debug)]
pub struct Committed {
    command_id: CommandId,
    ledger_id: LedgerId,
    incarnation: u64,
}

impl Committed {
    /// The run of the command that wrote.
    pub const fn command_id(&self) -> &CommandId {
        &self.command_id
    }

    /// The ledger that it wrote to.
    pub const fn ledger_id(&self) -> &LedgerId {
        &self.ledger_id
    }

    /// The incarnation of that ledger.
    pub const fn incarnation(&self) -> u64 {
        self.incarnation
    }
}

/// One write of one command. No other writer of the chains in its reach is in. Rolled back when it
/// is dropped.
pub struct WriteTxn<'a> {
    read: ReadTxn<'a>,
    command_id: CommandId,
    reach: Reach,
    loaded: BTreeMap<ServiceName, Loaded>,
    /// The newest event that this transaction has put on each chain, for the next one and to look
    /// for after a lost COMMIT.
    tails: BTreeMap<Stream, Tail>,
    /// The newest events of chains as this process has left them, where nobody has added to these.
    known_tails: BTreeMap<Stream, Tail>,
    /// What of `tails` the part under way has replaced.
    displaced: Vec<(Stream, Option<Tail>)>,
    chainer: Chainer,
    failed: bool,
}

/// What of a service was read in this transaction: what an UPDATE must still find.
#[derive(Default)]
struct Loaded {
    version: i64,
    executions: BTreeMap<ExecutionKey, Stored>,
    /// What an append has left, until somebody takes it; see `kept.rs`.
    state: Option<ServiceState>,
    /// The newest event of its chain, where it is known.
    tail: Option<Tail>,
}

struct Stored {
    version: i64,
    state: &'static str,
}

/// The newest event of a chain.
#[derive(Clone, Copy)]
struct Tail {
    sequence: i64,
    hash: Digest,
}

impl<'a> Deref for WriteTxn<'a> {
    type Target = ReadTxn<'a>;
    fn deref(&self) -> &ReadTxn<'a> {
        &self.read
    }
}

impl<'a> WriteTxn<'a> {
    pub(in crate::ledger) fn new(read: ReadTxn<'a>, command_id: CommandId, reach: Reach) -> Self {
        Self {
            read,
            command_id,
            reach,
            loaded: BTreeMap::new(),
            tails: BTreeMap::new(),
            known_tails: BTreeMap::new(),
            displaced: Vec::new(),
            chainer: Chainer::default(),
            failed: false,
        }
    }

    /// The run of the command that writes.
    pub const fn command_id(&self) -> &CommandId {
        &self.command_id
    }

    /// What the clock of the database said when this transaction had its locks; none where the
    /// clock of this host is the clock.
    pub fn now(&self) -> Option<Timestamp> {
        self.engine().now()
    }

    /// Whether a service is in the reach of this write.
    pub fn reaches(&self, service: &ServiceName) -> bool {
        self.reach.holds(&Stream::Service(service.clone()))
    }

    /// Whether nobody else is decided on how much was changed lately until this write has ended.
    pub const fn counts(&self) -> bool {
        self.reach.counts()
    }

    /// As [`ReadTxn::service_state`], and remembers the versions, so that [`Self::append`] updates
    /// what was read and nothing else.
    pub fn service_state(
        &mut self,
        service: &ServiceName,
        keys: &[ExecutionKey],
    ) -> Result<ServiceState, LedgerError> {
        assert!(self.reaches(service), "BUG: {service} is read for a decision without its lock");
        // An error while reading may have ended the transaction, too.
        let kept = self.kept_state(service, keys);
        if let Some(state) = self.guard(kept)? {
            return Ok(state);
        }
        let loaded = self.read.load(service, keys);
        let (head, executions) = self.guard(loaded)?;
        let loaded = self.loaded.entry(service.clone()).or_default();
        loaded.version = head.version;
        loaded.state = None;
        let mut state = ServiceState { head: head.value, executions: BTreeMap::new() };
        for found in executions {
            let key = found.value.key().clone();
            let stored = Stored { version: found.version, state: found.value.phase.as_str() };
            loaded.executions.insert(key.clone(), stored);
            state.executions.insert(key, found.value);
        }
        Ok(state)
    }

    /// Appends events to a service's chain and answers the state after them. `state` must be what
    /// [`Self::service_state`] or the previous call answered in this transaction, else it is
    /// [`LedgerError::Stale`].
    pub fn append(
        &mut self,
        service: &ServiceName,
        state: ServiceState,
        events: &[Event],
    ) -> Result<ServiceState, LedgerError> {
        let appended = self.append_as(service, state, events, None);
        self.guard(appended)
    }

    /// Whether a failure has made this write one that cannot be committed.
    pub const fn has_failed(&self) -> bool {
        self.failed
    }

    fn tail(&self, stream: &Stream) -> Result<Tail, LedgerError> {
        if let Some(tail) = self.tails.get(stream).or_else(|| self.known_tails.get(stream)) {
            return Ok(*tail);
        }
        let head = self.stream_head(stream)?;
        Ok(head.map_or(Tail { sequence: 0, hash: Digest::ZERO }, |head| Tail {
            sequence: column(head.sequence),
            hash: head.hash,
        }))
    }

    /// Whatever was half written must not become durable.
    fn guard<T>(&mut self, done: Result<T, LedgerError>) -> Result<T, LedgerError> {
        self.failed |= done.is_err();
        done
    }

    fn stale(&self, service: &ServiceName, what: &str) -> LedgerError {
        let (path, service) = (self.path().to_owned(), service.clone());
        LedgerError::Stale { path, service, what: what.to_owned() }
    }

    fn illegal(&self, stream: &Stream, problem: &dyn std::error::Error) -> LedgerError {
        let (stream, problem) = (stream.to_string(), problem.to_string());
        LedgerError::Illegal { path: self.path().to_owned(), stream, problem }
    }
}
