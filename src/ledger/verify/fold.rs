//! The fold of one chain, with the version that each projection must have.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::domain::id::{ActuatorName, ExecutionKey};
use crate::domain::registry::{
    PolicyBody, PolicyEvent, RefusalEvent, RegistryBody, RegistryEvent, RegistryState, StoredPolicy,
};
use crate::domain::scale::event::{Event, Stamped};
use crate::domain::scale::state::ServiceState;
use crate::ledger::columns::EventRow;
use crate::ledger::stream::Stream;

/// Where the events about a key begin and end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Position of the first.
    pub(super) position: i64,
    /// Sequence of the last.
    pub(super) version: i64,
}

/// What the events of one chain add up to.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum Fold {
    Service {
        state: ServiceState,
        version: i64,
        spans: BTreeMap<ExecutionKey, Span>,
    },
    Registry {
        state: RegistryState,
        versions: BTreeMap<ActuatorName, i64>,
    },
    Policy {
        current: Option<(StoredPolicy, i64)>,
    },
    Refusals,
    /// An event made no sense: nothing can be said about the projections any more.
    Broken,
}

impl Fold {
    pub(super) fn of(stream: &Stream) -> Self {
        match stream {
            Stream::Service(_) => {
                Self::Service { state: ServiceState::default(), version: 0, spans: BTreeMap::new() }
            }
            Stream::Registry => {
                Self::Registry { state: RegistryState::default(), versions: BTreeMap::new() }
            }
            Stream::Policy => Self::Policy { current: None },
            Stream::Refusals => Self::Refusals,
        }
    }

    /// Adds one event; answers the first column that contradicts its body.
    pub(super) fn step(&mut self, row: &EventRow<'_>) -> Result<Option<&'static str>, String> {
        // Whatever fails below leaves the fold broken.
        match std::mem::replace(self, Self::Broken) {
            Self::Service { state, mut spans, .. } => {
                let event: Event = read(row)?;
                let key = event.body.execution_key();
                let state = state.apply(&event).map_err(|error| error.to_string())?;
                if let Some(key) = key {
                    let first = Span { position: row.position, version: row.sequence };
                    match spans.get_mut(key) {
                        Some(span) => span.version = row.sequence,
                        None => drop(spans.insert(key.clone(), first)),
                    }
                }
                let difference = first_difference(row, &event, event.body.kind(), key);
                *self = Self::Service { state, version: row.sequence, spans };
                Ok(difference)
            }
            Self::Registry { state, mut versions } => {
                let event: RegistryEvent = read(row)?;
                let state = state.apply(&event).map_err(|error| error.to_string())?;
                match &event.body {
                    RegistryBody::LedgerCreated { .. } => {}
                    RegistryBody::ActuatorRegistered { actuator, .. } => {
                        versions.insert(actuator.name.clone(), row.sequence);
                    }
                }
                *self = Self::Registry { state, versions };
                Ok(first_difference(row, &event, event.body.kind(), None))
            }
            Self::Policy { .. } => {
                let event: PolicyEvent = read(row)?;
                let PolicyBody::PolicySet { policy, .. } = &event.body;
                *self = Self::Policy { current: Some((policy.clone(), row.sequence)) };
                Ok(first_difference(row, &event, event.body.kind(), None))
            }
            Self::Refusals => {
                let event: RefusalEvent = read(row)?;
                *self = Self::Refusals;
                let key = event.body.execution_key();
                Ok(first_difference(row, &event, event.body.kind(), key))
            }
            Self::Broken => Ok(None),
        }
    }
}

fn read<T: DeserializeOwned>(row: &EventRow<'_>) -> Result<T, String> {
    serde_json::from_str(row.body).map_err(|error| error.to_string())
}

fn first_difference<B>(
    row: &EventRow<'_>,
    event: &Stamped<B>,
    kind: &str,
    key: Option<&ExecutionKey>,
) -> Option<&'static str> {
    [
        ("at", row.at == event.at.as_micros()),
        ("kind", row.kind == kind),
        ("execution_key", row.execution_key == key.map(ExecutionKey::as_str)),
    ]
    .into_iter()
    .find_map(|(column, same)| (!same).then_some(column))
}
