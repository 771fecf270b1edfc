//! The fold of one chain, with the version that each projection must have.
//!
//! An execution is compared with its row as soon as the events have come to the version of that
//! row, and is then let go, so that a long chain takes no more memory than a short one. If more
//! events about it follow, its row is behind: the execution is taken back out of the row, which was
//! just proved to be what the events had come to, and is compared once more at the end.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::de::DeserializeOwned;

use super::parse;
use super::positions::Positions;
use crate::domain::id::{ActuatorName, ExecutionKey};
use crate::domain::placement::event::PlacementEvent;
use crate::domain::placement::state::PlacementState;
use crate::domain::registry::{
    PolicyBody, PolicyEvent, RefusalEvent, RegistryBody, RegistryEvent, RegistryState, StoredPolicy,
};
use crate::domain::scale::event::Stamped;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::state::ServiceState;
use crate::ledger::columns::EventRow;
use crate::ledger::placement;
use crate::ledger::stream::Stream;

/// Where the events about a key begin and end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Position of the first.
    pub(super) position: i64,
    /// Sequence of the last.
    pub(super) version: i64,
    /// The version of the row; none where there is no row of this service.
    pub(super) stored: Option<i64>,
}

/// The rows that an execution is compared with.
pub(super) trait Rows {
    /// Where the row of a key is, and its version.
    fn place(&self, key: &ExecutionKey) -> Option<(i64, i64)>;
    /// What the row of a key says.
    fn execution(&self, key: &ExecutionKey) -> Option<Execution>;
    /// Whether the row says what the events say.
    fn agrees(&self, execution: &Execution, span: Span) -> bool;
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
    Placement {
        state: Box<PlacementState>,
        versions: BTreeMap<(&'static str, String), i64>,
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
            Stream::Placement => {
                Self::Placement { state: Box::default(), versions: BTreeMap::new() }
            }
            Stream::Refusals => Self::Refusals,
        }
    }

    /// Adds one event; answers the first column that contradicts its body. `agreed` are the rows
    /// that were found to say what the events say.
    pub(super) fn step(
        &mut self,
        row: &EventRow<'_>,
        rows: &dyn Rows,
        agreed: &mut Positions,
    ) -> Result<Option<&'static str>, String> {
        // Whatever fails below leaves the fold broken.
        match std::mem::replace(self, Self::Broken) {
            Self::Service { mut state, mut spans, .. } => {
                let event = parse::event(row.kind, row.body).map_err(|error| error.to_string())?;
                let key = event.body.execution_key();
                if let Some(key) = key {
                    let span = match spans.entry(key.clone()) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(new) => {
                            let stored = rows.place(key);
                            let again = stored.filter(|(position, _)| agreed.contains(*position));
                            if let Some(execution) = again.and_then(|_| rows.execution(key)) {
                                state.executions.insert(key.clone(), execution);
                            }
                            new.insert(Span {
                                position: again.map_or(row.position, |(position, _)| position),
                                version: row.sequence,
                                stored: stored.map(|(_, version)| version),
                            })
                        }
                    };
                    span.version = row.sequence;
                }
                let mut state = state.apply(&event).map_err(|error| error.to_string())?;
                if let Some(key) = key
                    && let Some(span) = spans.get(key).copied()
                    && span.stored == Some(span.version)
                    && state.executions.get(key).is_some_and(|is| rows.agrees(is, span))
                {
                    state.executions.remove(key);
                    spans.remove(key);
                    agreed.insert(span.position);
                }
                let difference = first_difference(row, &event, event.body.kind(), key);
                *self = Self::Service { state, version: row.sequence, spans };
                Ok(difference)
            }
            Self::Registry { state, versions } => {
                let (registry, difference) = registry_step(row, state, versions)?;
                *self = registry;
                Ok(difference)
            }
            Self::Policy { .. } => {
                let event: PolicyEvent = read(row)?;
                let PolicyBody::PolicySet { policy, .. } = &event.body;
                *self = Self::Policy { current: Some((policy.clone(), row.sequence)) };
                Ok(first_difference(row, &event, event.body.kind(), None))
            }
            Self::Placement { state, versions } => placement_step(self, row, *state, versions),
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

/// Adds one event of the placement.
fn registry_step(
    row: &EventRow<'_>,
    state: RegistryState,
    mut versions: BTreeMap<ActuatorName, i64>,
) -> Result<(Fold, Option<&'static str>), String> {
    let event: RegistryEvent = read(row)?;
    let state = state.apply(&event).map_err(|error| error.to_string())?;
    if let RegistryBody::ActuatorRegistered { actuator, .. } = &event.body {
        versions.insert(actuator.name.clone(), row.sequence);
    }
    let difference = first_difference(row, &event, event.body.kind(), None);
    Ok((Fold::Registry { state, versions }, difference))
}

fn placement_step(
    fold: &mut Fold,
    row: &EventRow<'_>,
    state: PlacementState,
    mut versions: BTreeMap<(&'static str, String), i64>,
) -> Result<Option<&'static str>, String> {
    let event: PlacementEvent = read(row)?;
    let state = state.apply(&event).map_err(|error| error.to_string())?;
    for it in placement::touched(&state, &event.body) {
        versions.insert((it.kind, it.name), row.sequence);
    }
    *fold = Fold::Placement { state: Box::new(state), versions };
    Ok(first_difference(row, &event, event.body.kind(), None))
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
