//! What a process that writes again and again keeps of the services that it has written.
//!
//! Owns copies of what is committed. A copy is used only where the newest event of the service's
//! chain, read under the lock of the write, is the one that has left it: whatever changes a service
//! is an event of it, so nothing of it has changed since. (Its row would say the same, and is dear
//! to find among many.) Whoever keeps nothing loses nothing but time.

use std::collections::BTreeMap;

use super::{Loaded, Stored, Tail, WriteTxn};
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::state::ServiceState;
use crate::ledger::Ledger;
use crate::ledger::columns::column;
use crate::ledger::error::LedgerError;
use crate::ledger::stream::{Head, Stream};

/// Of more services than this nothing is kept: they are read again.
const SERVICES_MAX: usize = 4096;

/// What is kept of services, by name.
#[derive(Default)]
pub(in crate::ledger) struct Kept(BTreeMap<ServiceName, Loaded>);

impl Ledger {
    /// Tells that this process writes again and again: it keeps what it writes for the next write
    /// of the same service, and the engine may put off what it does between writes.
    pub fn writes_often(&mut self) -> Result<(), LedgerError> {
        if self.kept.is_none() {
            self.engine.writes_often()?;
            self.kept = Some(Kept::default());
        }
        Ok(())
    }

    /// Tells that this process has written much at once and writes no more, so that nobody who
    /// comes later has to read a long log.
    pub fn has_written_much(&self) {
        self.engine.empty_log();
    }
}

impl WriteTxn<'_> {
    /// The state of a service by what is kept of it; none where nothing is, or somebody else has
    /// written since.
    pub(super) fn kept_state(
        &mut self,
        service: &ServiceName,
        keys: &[ExecutionKey],
    ) -> Result<Option<ServiceState>, LedgerError> {
        if !self.loaded.contains_key(service) {
            let kept = self.read.ledger.kept.as_mut().and_then(|kept| kept.0.remove(service));
            let Some(kept) = kept else { return Ok(None) };
            self.read.look_ahead_of(std::iter::once(service), keys.iter())?;
            let stream = Stream::Service(service.clone());
            let newest = self.read.stream_head(&stream)?;
            let is_newest = |tail: &Tail| {
                let is_it =
                    |head: &Head| column(head.sequence) == tail.sequence && head.hash == tail.hash;
                newest.as_ref().is_some_and(is_it)
            };
            let Some(tail) = kept.tail.filter(is_newest) else { return Ok(None) };
            self.known_tails.insert(stream, tail);
            self.loaded.insert(service.clone(), kept);
        }
        let kept = self.loaded.get_mut(service).and_then(|loaded| loaded.state.take());
        let Some(mut state) = kept else { return Ok(None) };
        for key in keys {
            if state.executions.contains_key(key) {
                continue;
            }
            let found = self.read.find_versioned(key)?;
            if let Some(found) = found.filter(|it| it.value.intent.service == *service) {
                let stored = Stored { version: found.version, state: found.value.phase.as_str() };
                if let Some(loaded) = self.loaded.get_mut(service) {
                    loaded.executions.insert(key.clone(), stored);
                }
                state.executions.insert(key.clone(), found.value);
            }
        }
        Ok(Some(state))
    }

    /// Keeps what an append has left, where this process keeps anything: what a command reads that
    /// names no key.
    pub(super) fn keep(&mut self, service: &ServiceName, state: &ServiceState, tail: Tail) {
        if self.read.ledger.kept.is_none() {
            return;
        }
        let Some(loaded) = self.loaded.get_mut(service) else { return };
        let current = state.head.current.as_ref().map(|current| &current.execution_key);
        let is_kept = |execution: &&Execution| {
            let is_under_way = execution.is_live() && !execution.phase.is_finished();
            is_under_way || current == Some(execution.key())
        };
        let executions = state.executions.values().filter(is_kept);
        let executions: BTreeMap<ExecutionKey, Execution> =
            executions.map(|execution| (execution.key().clone(), execution.clone())).collect();
        loaded.executions.retain(|key, _| executions.contains_key(key));
        loaded.state = Some(ServiceState { head: state.head.clone(), executions });
        loaded.tail = Some(tail);
    }

    /// What was kept in this write is committed.
    pub(super) fn keep_committed(&mut self) {
        let loaded = std::mem::take(&mut self.loaded);
        let Some(kept) = self.read.ledger.kept.as_mut() else { return };
        if kept.0.len() + loaded.len() > SERVICES_MAX {
            kept.0.clear();
        }
        let written = loaded.into_iter().filter(|(_, loaded)| loaded.state.is_some());
        kept.0.extend(written.take(SERVICES_MAX));
    }
}
