//! Reading: one snapshot of the ledger, whatever others write meanwhile.

use std::ops::ControlFlow;
use std::path::Path;

use super::columns::{EventRow, ExecutionRow, StoredEvent, column, json, nonsense, number, parsed};
use super::error::LedgerError;
use super::once::Once;
use super::sql::{Engine, Row, Statement, Value};
use super::statements as sql;
use super::stream::{Head, Stream};
use super::{Ledger, LedgerIdentity};
use crate::domain::digest::Digest;
use crate::domain::id::{
    ActuatorName, CommandId, ExecutionKey, IntentId, IntentRevision, ServiceName,
};
use crate::domain::registry::{PolicyEvent, StoredPolicy};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::service::RegisteredActuator;
use crate::domain::scale::state::{ServiceHead, ServiceState};
use crate::domain::time::Timestamp;

/// Which end of a list comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As it happened.
    #[default]
    OldestFirst,
    /// The newest first.
    NewestFirst,
}

/// Which events are wanted. The default wants all of them.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Only of these chains; empty for all.
    pub streams: Vec<Stream>,
    /// Only about this key.
    pub execution_key: Option<ExecutionKey>,
    /// Only by this run of a command.
    pub command_id: Option<CommandId>,
    /// Only after this position.
    pub after: u64,
    /// Only from this instant on.
    pub since: Option<Timestamp>,
    /// Only before this instant.
    pub until: Option<Timestamp>,
    /// At most so many.
    pub limit: Option<usize>,
    /// Which come first.
    pub order: Order,
}

/// Which executions are wanted, the newest first. The default wants all of them.
#[derive(Debug, Clone, Default)]
pub struct ExecutionFilter {
    /// Only of this service.
    pub service: Option<ServiceName>,
    /// Only what is under way; a simulation never is.
    pub unfinished: bool,
    /// At most so many.
    pub limit: Option<usize>,
}

/// One snapshot of the ledger. Ends without a trace when it is dropped.
pub struct ReadTxn<'a> {
    pub(super) ledger: &'a mut Ledger,
    pub(super) open: bool,
    pub(super) once: Once,
}

/// An execution with the version under which it is stored.
pub(super) struct Versioned<T> {
    pub(super) version: i64,
    pub(super) value: T,
}

impl<'a> ReadTxn<'a> {
    /// A transaction that has begun.
    pub(super) fn begun(ledger: &'a mut Ledger) -> Self {
        Self { ledger, open: true, once: Once::default() }
    }
}

impl ReadTxn<'_> {
    pub(super) fn engine(&self) -> &dyn Engine {
        self.ledger.engine.as_ref()
    }

    pub(super) fn path(&self) -> &Path {
        &self.ledger.identity.path
    }

    /// Which ledger this is.
    pub fn identity(&self) -> &LedgerIdentity {
        &self.ledger.identity
    }

    /// A service with every live unfinished execution, the newest accepted one and the named keys,
    /// as far as they are there and belong to it. An unknown service is the empty state.
    pub fn service_state(
        &self,
        service: &ServiceName,
        keys: &[ExecutionKey],
    ) -> Result<ServiceState, LedgerError> {
        let (head, executions) = self.load(service, keys)?;
        let executions = executions.into_iter().map(|found| found.value);
        Ok(ServiceState {
            head: head.value,
            executions: executions.map(|execution| (execution.key().clone(), execution)).collect(),
        })
    }

    pub(super) fn find_executions(
        &self,
        statement: Statement,
        values: &[Value<'_>],
        limit: Option<usize>,
    ) -> Result<Vec<Versioned<Execution>>, LedgerError> {
        let mut found = Vec::new();
        if limit == Some(0) {
            return Ok(found);
        }
        self.engine().each(statement, values, &mut |row| {
            let row = ExecutionRow::of(row)?;
            found.push(Versioned { version: row.version, value: row.execution(self.path())? });
            Ok(if limit.is_some_and(|limit| found.len() >= limit) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        Ok(found)
    }

    /// Every service by name, with everything but its executions.
    pub fn service_heads(&self) -> Result<Vec<(ServiceName, ServiceHead)>, LedgerError> {
        self.of_services(|name, row| {
            let head = self.head_in(&name, row)?;
            Ok(Some((name, head)))
        })
    }

    /// The services of which something holds, by name; one is in memory at a time.
    pub fn services_where(
        &self,
        holds: impl Fn(&ServiceHead) -> bool,
    ) -> Result<Vec<ServiceName>, LedgerError> {
        self.of_services(|name, row| Ok(holds(&self.head_in(&name, row)?).then_some(name)))
    }

    /// Every service by name.
    pub fn service_names(&self) -> Result<Vec<ServiceName>, LedgerError> {
        self.of_services(|name, _| Ok(Some(name)))
    }

    /// What is made of each service and its row, by name.
    fn of_services<T>(
        &self,
        of: impl Fn(ServiceName, &dyn Row) -> Result<Option<T>, LedgerError>,
    ) -> Result<Vec<T>, LedgerError> {
        let mut found = Vec::new();
        self.engine().each(sql::READ_SERVICES, &[], &mut |row| {
            let name = row.text(0)?;
            let name = parsed(self.path(), || format!("service {name}"), name)?;
            found.extend(of(name, row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    fn head_in(&self, name: &ServiceName, row: &dyn Row) -> Result<ServiceHead, LedgerError> {
        json(self.path(), || format!("service {name}"), row.text(2)?)
    }

    /// The executions that are wanted, the newest first.
    pub fn executions(&self, filter: &ExecutionFilter) -> Result<Vec<Execution>, LedgerError> {
        let of_service = filter.service.as_ref().map(|service| [Value::Text(service.as_str())]);
        let found = match (&of_service, filter.unfinished) {
            (Some(values), true) => {
                self.find_executions(sql::READ_UNFINISHED, values, filter.limit)
            }
            (Some(values), false) => {
                self.find_executions(sql::READ_EXECUTIONS_OF_SERVICE, values, filter.limit)
            }
            (None, true) => self.find_executions(sql::READ_ALL_UNFINISHED, &[], filter.limit),
            (None, false) => self.find_executions(sql::READ_EXECUTIONS, &[], filter.limit),
        }?;
        Ok(found.into_iter().map(|found| found.value).collect())
    }

    fn find_key(
        &self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Option<ExecutionKey>, LedgerError> {
        let mut found = None;
        self.engine().each(statement, values, &mut |row| {
            found = Some(parsed(self.path(), || "an execution".to_owned(), row.text(0)?)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// The key of the live intent at a place in its service.
    pub fn key_at(
        &self,
        service: &ServiceName,
        revision: IntentRevision,
    ) -> Result<Option<ExecutionKey>, LedgerError> {
        let revision = Value::Int(column(revision.get()));
        self.find_key(sql::READ_KEY_AT, &[Value::Text(service.as_str()), revision])
    }

    /// The key that an intent id and revision name, simulations aside.
    pub fn intent_owner(
        &self,
        intent_id: &IntentId,
        revision: IntentRevision,
    ) -> Result<Option<ExecutionKey>, LedgerError> {
        let revision = Value::Int(column(revision.get()));
        self.find_key(sql::READ_INTENT_OWNER, &[Value::Text(intent_id.as_str()), revision])
    }

    /// How many live intents of a service were ever accepted, whoever made them.
    pub fn accepted_ever(&self, service: &ServiceName) -> Result<u64, LedgerError> {
        let stream = Stream::Service(service.clone()).to_string();
        let mut count = 0;
        self.engine().each(sql::COUNT_ACCEPTED, &[Value::Text(&stream)], &mut |row| {
            let place = || format!("the accepted intents of {service}");
            count = number(self.path(), place, row.int(0)?)?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(count)
    }

    fn find_document<T: serde::de::DeserializeOwned>(
        &self,
        kind: &str,
        name: &str,
    ) -> Result<Option<T>, LedgerError> {
        let mut found = None;
        let values = [Value::Text(kind), Value::Text(name)];
        self.engine().each(sql::READ_DOCUMENT, &values, &mut |row| {
            found = Some(json(self.path(), || format!("{kind} {name}"), row.text(1)?)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// One registered actuator.
    pub fn actuator(&self, name: &ActuatorName) -> Result<Option<RegisteredActuator>, LedgerError> {
        self.find_document("actuator", name.as_str())
    }

    /// Every registered actuator by name.
    pub fn actuators(&self) -> Result<Vec<RegisteredActuator>, LedgerError> {
        let mut found = Vec::new();
        self.engine().each(sql::READ_DOCUMENTS, &[], &mut |row| {
            if row.text(0)? == "actuator" {
                let name = row.text(1)?;
                found.push(json(self.path(), || format!("actuator {name}"), row.text(3)?)?);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// The policy that holds.
    pub fn policy(&self) -> Result<Option<StoredPolicy>, LedgerError> {
        self.find_document("policy", "current")
    }

    /// Every policy that ever held, the oldest first.
    pub fn policy_history(&self) -> Result<Vec<PolicyEvent>, LedgerError> {
        let mut history = Vec::new();
        self.engine().each(sql::READ_STREAM, &[Value::Text("policy")], &mut |row| {
            let row = EventRow::of(row)?;
            history.push(json(self.path(), || row.place(), row.body)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(history)
    }

    /// The events that are wanted. Named chains without `after` are read by their own index, all
    /// else by position. A key alone names its service's chain and the refusals.
    pub fn events(&self, filter: &EventFilter) -> Result<Vec<StoredEvent>, LedgerError> {
        self.events_where(filter, &|_| true)
    }

    /// The same, of which only those count that are wanted: a page of a long chain reads no more.
    pub fn events_where(
        &self,
        filter: &EventFilter,
        wanted: &dyn Fn(&StoredEvent) -> bool,
    ) -> Result<Vec<StoredEvent>, LedgerError> {
        let mut filter = filter.clone();
        if let (Some(key), true) = (&filter.execution_key, filter.streams.is_empty()) {
            let owner = self.find_execution(key)?.map(|it| Stream::Service(it.intent.service));
            filter.streams = owner.into_iter().chain([Stream::Refusals]).collect();
        }
        let streams: Vec<String> = filter.streams.iter().map(Stream::to_string).collect();
        let newest_first = filter.order == Order::NewestFirst;
        let mut found = Vec::new();
        if streams.is_empty() || filter.after > 0 {
            let by_position =
                if newest_first { sql::READ_EVENTS_NEWEST_FIRST } else { sql::READ_EVENTS };
            let after = Value::Int(column(filter.after));
            self.find_events(by_position, after, &filter, &streams, wanted, &mut found)?;
        } else {
            let by_stream =
                if newest_first { sql::READ_STREAM_NEWEST_FIRST } else { sql::READ_STREAM };
            for name in streams.iter().map(|name| Value::Text(name)) {
                self.find_events(by_stream, name, &filter, &streams, wanted, &mut found)?;
            }
            found.sort_by_key(|event| event.position);
            found.dedup_by_key(|event| event.position);
            if newest_first {
                found.reverse();
            }
            found.truncate(filter.limit.unwrap_or(usize::MAX));
        }
        Ok(found)
    }

    /// Adds at most `filter.limit` events to what is found already.
    fn find_events(
        &self,
        statement: Statement,
        value: Value<'_>,
        filter: &EventFilter,
        streams: &[String],
        wanted: &dyn Fn(&StoredEvent) -> bool,
        found: &mut Vec<StoredEvent>,
    ) -> Result<(), LedgerError> {
        let room = filter.limit.map_or(usize::MAX, |limit| found.len().saturating_add(limit));
        if found.len() >= room {
            return Ok(());
        }
        self.engine().each(statement, &[value], &mut |row| {
            let row = EventRow::of(row)?;
            if row.passes(filter, streams) {
                found.extend(Some(row.stored(self.path())?).filter(wanted));
            }
            Ok(if found.len() >= room { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
    }

    /// The newest event of a chain: its number and hash; none before the first.
    pub fn stream_head(&self, stream: &Stream) -> Result<Option<Head>, LedgerError> {
        let mut head = None;
        let text = stream.to_string();
        self.engine().each(sql::READ_STREAM_HEAD, &[Value::Text(&text)], &mut |row| {
            let place = || format!("the head of {stream}");
            let hash = Digest::from_bytes(row.bytes(1)?)
                .ok_or_else(|| nonsense(self.path(), place(), "a hash of another length"))?;
            let sequence = number(self.path(), place, row.int(0)?)?;
            head = Some(Head { stream: stream.clone(), sequence, hash });
            Ok(ControlFlow::Break(()))
        })?;
        Ok(head)
    }

    /// The heads of all chains, in the order of their names.
    pub fn stream_heads(&self) -> Result<Vec<Head>, LedgerError> {
        let mut heads = Vec::new();
        let mut last = String::new();
        while let Some(text) = self.next_stream(&last)? {
            let stream: Stream = parsed(self.path(), || "the name of a stream".to_owned(), &text)?;
            heads.extend(self.stream_head(&stream)?);
            last = text;
        }
        Ok(heads)
    }

    /// The chain after a name. Always a greater name, so that a walk ends on any database.
    pub(super) fn next_stream(&self, last: &str) -> Result<Option<String>, LedgerError> {
        let mut next = None;
        self.engine().each(sql::READ_NEXT_STREAM, &[Value::Text(last)], &mut |row| {
            next = row.optional_text(0)?.filter(|text| *text > last).map(str::to_owned);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(next)
    }
}

impl Drop for ReadTxn<'_> {
    fn drop(&mut self) {
        if self.open {
            self.engine().rollback();
        }
    }
}
