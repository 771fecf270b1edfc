//! The rows of an append: the events of a chain, then the projections of what they changed.
//!
//! All rows of one append are handed to the engine together, because to some engines every
//! statement is a journey. None of them is durable before the commit.

use std::collections::BTreeMap;

use super::{Stored, Tail, WriteTxn};
use crate::domain::canonical::canonical_json;
use crate::domain::digest::Digest;
use crate::domain::id::{CommandId, ExecutionKey, ServiceName};
use crate::domain::scale::event::{Event, Stamped};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::Timestamp;
use crate::ledger::columns::{column, document};
use crate::ledger::error::LedgerError;
use crate::ledger::sql::{Bound, Value};
use crate::ledger::statements as sql;
use crate::ledger::stream::Stream;

/// What is written of an event beside its hash.
pub(super) struct Entry<'e> {
    pub(super) at: Timestamp,
    pub(super) kind: &'e str,
    pub(super) execution_key: Option<&'e ExecutionKey>,
    pub(super) body: String,
}

impl<'e> Entry<'e> {
    pub(super) fn of<B: serde::Serialize>(
        event: &'e Stamped<B>,
        kind: &'e str,
        execution_key: Option<&'e ExecutionKey>,
    ) -> Self {
        Self { at: event.at, kind, execution_key, body: canonical_json(event) }
    }
}

/// An event at its place in its chain.
struct Link<'e> {
    entry: Entry<'e>,
    sequence: i64,
    hash: Digest,
}

impl Link<'_> {
    fn insert<'l>(&'l self, stream: &'l str, command_id: &'l CommandId) -> Bound<'l> {
        let Entry { at, kind, execution_key, body } = &self.entry;
        Bound::new(
            sql::INSERT_EVENT,
            [
                Value::Text(stream),
                Value::Int(self.sequence),
                Value::Text(command_id.as_str()),
                Value::Int(at.as_micros()),
                Value::Text(kind),
                Value::OptionalText(execution_key.map(ExecutionKey::as_str)),
                Value::Text(body),
                Value::Bytes(self.hash.as_bytes()),
            ],
        )
    }
}

/// The row of an execution that the events changed.
struct Touched<'e> {
    execution: &'e Execution,
    json: String,
    /// The first of these events that is about it.
    first: i64,
    version: i64,
}

impl Touched<'_> {
    fn write<'t>(&'t self, names: [&'t str; 2], before: Option<&Stored>) -> Bound<'t> {
        let Touched { execution, json, first, version } = self;
        let [stream, service] = names;
        let key = Value::Text(execution.key().as_str());
        let live = Value::Int(i64::from(execution.is_live()));
        let unfinished = Value::Int(i64::from(!execution.phase.is_finished()));
        let (state, version) = (Value::Text(execution.phase.as_str()), Value::Int(*version));
        let json = Value::Text(json);
        if let Some(Stored { version: old, state: was }) = before {
            let was = [Value::Int(*old), Value::Text(was)];
            let [old, was] = was;
            let values = [key, live, unfinished, state, version, json, old, was];
            return Bound::new(sql::UPDATE_EXECUTION, values);
        }
        Bound::new(
            sql::INSERT_EXECUTION,
            [
                Value::Text(stream),
                Value::Int(*first),
                key,
                Value::Text(service),
                Value::Text(execution.intent.wish.intent_id.as_str()),
                Value::Int(column(execution.revision().get())),
                Value::Int(i64::from(execution.intent.dry_run)),
                live,
                unfinished,
                state,
                version,
                json,
            ],
        )
    }
}

impl WriteTxn<'_> {
    /// Appends one event to its chain; answers its number there.
    pub(super) fn record(&mut self, stream: &Stream, entry: Entry<'_>) -> Result<i64, LedgerError> {
        let link = self.link(stream, entry)?;
        let name = stream.to_string();
        let Bound { statement, values } = link.insert(&name, &self.command_id);
        self.read.engine().exec(statement, &values)?;
        Ok(link.sequence)
    }

    /// The next event of a chain, of which nothing is written yet.
    fn link<'e>(&mut self, stream: &Stream, entry: Entry<'e>) -> Result<Link<'e>, LedgerError> {
        assert!(self.reach.holds(stream), "BUG: {stream} is written without its lock");
        let tail = self.tail(stream)?;
        let (sequence, name) = (tail.sequence + 1, stream.to_string());
        let command_id = self.command_id.as_str();
        let hash = self.chainer.link(&tail.hash, &name, sequence, command_id, &entry.body);
        let before = self.tails.insert(stream.clone(), Tail { sequence, hash });
        self.displaced.push((stream.clone(), before));
        Ok(Link { entry, sequence, hash })
    }

    /// `bodies` are the texts of the events, where these are there already.
    pub(super) fn append_as(
        &mut self,
        service: &ServiceName,
        state: ServiceState,
        events: &[Event],
        bodies: Option<&[&str]>,
    ) -> Result<ServiceState, LedgerError> {
        let stream = Stream::Service(service.clone());
        let state = state.fold(events).map_err(|problem| self.illegal(&stream, &problem))?;
        let mut links = Vec::with_capacity(events.len());
        let mut changed: BTreeMap<&ExecutionKey, (i64, i64)> = BTreeMap::new();
        for (at, event) in events.iter().enumerate() {
            let (kind, key) = (event.body.kind(), event.body.execution_key());
            let entry = match bodies {
                None => Entry::of(event, kind, key),
                Some(bodies) => {
                    let body = bodies[at].to_owned();
                    Entry { at: event.at, kind, execution_key: key, body }
                }
            };
            let link = self.link(&stream, entry)?;
            if let Some(key) = key {
                changed.entry(key).or_insert((link.sequence, 0)).1 = link.sequence;
            }
            links.push(link);
        }
        let touched = changed.into_iter().map(|(key, (first, version))| {
            let execution = state.executions.get(key);
            let execution = execution.expect("BUG: the fold keeps what an event names");
            Touched { execution, json: document(execution), first, version }
        });
        let touched: Vec<Touched<'_>> = touched.collect();
        self.read.are_there(touched.iter().map(|row| row.execution.key()));
        self.write_rows(service, &links, &state, &touched)?;
        if let Some(Link { sequence, hash, .. }) = links.last() {
            self.keep(service, &state, Tail { sequence: *sequence, hash: *hash });
        }
        Ok(state)
    }

    fn write_rows(
        &mut self,
        service: &ServiceName,
        links: &[Link<'_>],
        state: &ServiceState,
        touched: &[Touched<'_>],
    ) -> Result<(), LedgerError> {
        let Some(Link { sequence: version, .. }) = links.last() else {
            return Ok(());
        };
        let loaded = self.loaded.get(service).ok_or_else(|| self.stale(service, "the head"))?;
        let (stream, json) = (Stream::Service(service.clone()).to_string(), document(&state.head));
        let mut writes: Vec<Bound<'_>> =
            links.iter().map(|link| link.insert(&stream, &self.command_id)).collect();
        let head = (Value::Text(service.as_str()), Value::Int(*version), Value::Text(&json));
        writes.push(match loaded.version {
            0 => Bound::new(sql::INSERT_SERVICE, [head.0, head.1, head.2]),
            before => Bound::new(sql::UPDATE_SERVICE, [head.0, head.1, head.2, Value::Int(before)]),
        });
        for row in touched {
            let before = loaded.executions.get(row.execution.key());
            writes.push(row.write([&stream, service.as_str()], before));
        }
        let counts = self.read.engine().exec_all(&writes)?;
        if let Some(at) = counts.iter().position(|count| *count != 1) {
            let row = at.checked_sub(links.len() + 1).and_then(|at| touched.get(at));
            let what = row.map_or_else(
                || "the head".to_owned(),
                |row| format!("execution {}", row.execution.key()),
            );
            return Err(self.stale(service, &what));
        }
        let loaded = self.loaded.entry(service.clone()).or_default();
        loaded.version = *version;
        for row in touched {
            let stored = Stored { version: row.version, state: row.execution.phase.as_str() };
            loaded.executions.insert(row.execution.key().clone(), stored);
        }
        Ok(())
    }
}
