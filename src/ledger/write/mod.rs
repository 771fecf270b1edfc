//! Writing: events first, then the projections of exactly what they changed, in one transaction.
//!
//! Nothing is durable before [`WriteTxn::commit`] has answered; after it, everything is. A
//! transaction of which one write failed cannot be committed.

mod beside;
mod commit;
mod copied;
mod part;

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Deref};

use crate::domain::canonical::canonical_json;
use crate::domain::digest::Digest;
use crate::domain::id::{CommandId, ExecutionKey, LedgerId, ServiceName};
use crate::domain::scale::event::{Event, Stamped};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::state::{ServiceHead, ServiceState};
use crate::domain::time::Timestamp;
use crate::ledger::columns::{column, document};
use crate::ledger::error::LedgerError;
use crate::ledger::reach::Reach;
use crate::ledger::read::ReadTxn;
use crate::ledger::sql::Value;
use crate::ledger::statements as sql;
use crate::ledger::stream::{Chainer, Stream};

pub(in crate::ledger) use copied::Copied;

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

/// Where an event was written.
struct Place {
    position: i64,
    sequence: i64,
}

/// What is written of an event beside its hash.
struct Entry<'e> {
    at: Timestamp,
    kind: &'e str,
    execution_key: Option<&'e ExecutionKey>,
    body: String,
}

impl<'e> Entry<'e> {
    fn of<B: serde::Serialize>(
        event: &'e Stamped<B>,
        kind: &'e str,
        execution_key: Option<&'e ExecutionKey>,
    ) -> Self {
        Self { at: event.at, kind, execution_key, body: canonical_json(event) }
    }
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

    /// As [`ReadTxn::service_state`], and remembers the versions, so that [`Self::append`] updates
    /// what was read and nothing else.
    pub fn service_state(
        &mut self,
        service: &ServiceName,
        keys: &[ExecutionKey],
    ) -> Result<ServiceState, LedgerError> {
        assert!(self.reaches(service), "BUG: {service} is read for a decision without its lock");
        // An error while reading may have ended the transaction, too.
        let loaded = self.read.load(service, keys);
        let (head, executions) = self.guard(loaded)?;
        let loaded = self.loaded.entry(service.clone()).or_default();
        loaded.version = head.version;
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

    /// `bodies` are the texts of the events, where these are there already.
    fn append_as(
        &mut self,
        service: &ServiceName,
        state: ServiceState,
        events: &[Event],
        bodies: Option<&[&str]>,
    ) -> Result<ServiceState, LedgerError> {
        let stream = Stream::Service(service.clone());
        let state = state.fold(events).map_err(|problem| self.illegal(&stream, &problem))?;
        let mut touched: BTreeMap<&ExecutionKey, (Place, i64)> = BTreeMap::new();
        let mut version = None;
        for (at, event) in events.iter().enumerate() {
            let key = event.body.execution_key();
            let kind = event.body.kind();
            let entry = match bodies {
                None => Entry::of(event, kind, key),
                Some(bodies) => {
                    let body = bodies[at].to_owned();
                    Entry { at: event.at, kind, execution_key: key, body }
                }
            };
            let place = self.record(&stream, &entry)?;
            let sequence = place.sequence;
            version = Some(sequence);
            if let Some(key) = key {
                touched.entry(key).or_insert((place, sequence)).1 = sequence;
            }
        }
        if let Some(version) = version {
            self.write_head(service, &state.head, version)?;
        }
        for (key, (first, version)) in touched {
            let execution =
                state.executions.get(key).expect("BUG: the fold keeps what an event names");
            self.write_execution(service, execution, first.position, version)?;
        }
        Ok(state)
    }

    fn write_head(
        &mut self,
        service: &ServiceName,
        head: &ServiceHead,
        version: i64,
    ) -> Result<(), LedgerError> {
        let before = self.loaded.get(service).map(|loaded| loaded.version);
        let (name, json) = (Value::Text(service.as_str()), document(head));
        let (new, json) = (Value::Int(version), Value::Text(&json));
        let changed = match before {
            None => 0,
            Some(0) => self.engine().exec(sql::INSERT_SERVICE, &[name, new, json])?,
            Some(before) => {
                let values = [name, new, json, Value::Int(before)];
                self.engine().exec(sql::UPDATE_SERVICE, &values)?
            }
        };
        if changed != 1 {
            return Err(self.stale(service, "the head"));
        }
        self.loaded.entry(service.clone()).or_default().version = version;
        Ok(())
    }

    fn write_execution(
        &mut self,
        service: &ServiceName,
        execution: &Execution,
        position: i64,
        version: i64,
    ) -> Result<(), LedgerError> {
        let key = execution.key();
        let json = document(execution);
        let state = execution.phase.as_str();
        let live = Value::Int(i64::from(execution.is_live()));
        let unfinished = Value::Int(i64::from(!execution.phase.is_finished()));
        let loaded = self.loaded.get(service).and_then(|loaded| loaded.executions.get(key));
        let changed = match loaded {
            None => self.engine().exec(
                sql::INSERT_EXECUTION,
                &[
                    Value::Int(position),
                    Value::Text(key.as_str()),
                    Value::Text(service.as_str()),
                    Value::Text(execution.intent.wish.intent_id.as_str()),
                    Value::Int(column(execution.revision().get())),
                    Value::Int(i64::from(execution.intent.dry_run)),
                    live,
                    unfinished,
                    Value::Text(state),
                    Value::Int(version),
                    Value::Text(&json),
                ],
            )?,
            Some(before) => self.engine().exec(
                sql::UPDATE_EXECUTION,
                &[
                    Value::Text(key.as_str()),
                    live,
                    unfinished,
                    Value::Text(state),
                    Value::Int(version),
                    Value::Text(&json),
                    Value::Int(before.version),
                    Value::Text(before.state),
                ],
            )?,
        };
        if changed != 1 {
            return Err(self.stale(service, &format!("execution {key}")));
        }
        let loaded = self.loaded.entry(service.clone()).or_default();
        loaded.executions.insert(key.clone(), Stored { version, state });
        Ok(())
    }

    /// Whether a failure has made this write one that cannot be committed.
    pub const fn has_failed(&self) -> bool {
        self.failed
    }

    /// Appends one event to its chain.
    fn record(&mut self, stream: &Stream, entry: &Entry<'_>) -> Result<Place, LedgerError> {
        assert!(self.reach.holds(stream), "BUG: {stream} is written without its lock");
        let tail = self.tail(stream)?;
        let sequence = tail.sequence + 1;
        let name = stream.to_string();
        let command_id = self.command_id.as_str();
        let hash = self.chainer.link(&tail.hash, &name, sequence, command_id, &entry.body);
        let values = [
            Value::Text(&name),
            Value::Int(sequence),
            Value::Text(command_id),
            Value::Int(entry.at.as_micros()),
            Value::Text(entry.kind),
            Value::OptionalText(entry.execution_key.map(ExecutionKey::as_str)),
            Value::Text(&entry.body),
            Value::Bytes(hash.as_bytes()),
        ];
        let mut position = 0;
        self.read.engine().each(sql::INSERT_EVENT, &values, &mut |row| {
            position = row.int(0)?;
            Ok(ControlFlow::Continue(()))
        })?;
        let before = self.tails.insert(stream.clone(), Tail { sequence, hash });
        self.displaced.push((stream.clone(), before));
        Ok(Place { position, sequence })
    }

    fn tail(&self, stream: &Stream) -> Result<Tail, LedgerError> {
        if let Some(tail) = self.tails.get(stream) {
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
