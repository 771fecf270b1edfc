//! The state of the placement: the fold of its events.

use std::collections::BTreeMap;

use super::capacity::Totals;
use super::environment::Environment;
use super::event::PlacementEvent;
use super::operation::{Course, Operation};
use super::registry::{
    Cell, PlaceLocation, PlacementPolicy, Profile, RegisteredRelocator, ReplicaPool, Usage,
};
use crate::domain::id::{
    CellName, EnvironmentName, IdempotencyKey, LocationName, OperationId, PlacementPolicyName,
    PoolName, ProfileName, RelocatorName,
};

/// Everything that is registered and placed. Of the operations that are over a state may have only
/// those that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlacementState {
    /// The locations.
    pub locations: BTreeMap<LocationName, PlaceLocation>,
    /// The cells.
    pub cells: BTreeMap<CellName, Cell>,
    /// The profiles.
    pub profiles: BTreeMap<ProfileName, Profile>,
    /// The placement policies.
    pub policies: BTreeMap<PlacementPolicyName, PlacementPolicy>,
    /// The pools.
    pub pools: BTreeMap<PoolName, ReplicaPool>,
    /// What was measured last of each environment.
    pub usages: BTreeMap<EnvironmentName, Usage>,
    /// Who moves copies.
    pub relocators: BTreeMap<RelocatorName, RegisteredRelocator>,
    /// The environments.
    pub environments: BTreeMap<EnvironmentName, Environment>,
    /// The operations.
    pub operations: BTreeMap<OperationId, Operation>,
}

/// An event that cannot follow what happened before: a damaged ledger, or a bug.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {event} cannot follow in the placement: {problem}")]
pub struct IllegalPlacementEvent {
    /// The event.
    pub event: &'static str,
    /// Why not.
    pub problem: &'static str,
}

impl PlacementState {
    /// The state after more events.
    pub fn fold(self, events: &[PlacementEvent]) -> Result<Self, IllegalPlacementEvent> {
        events.iter().try_fold(self, Self::apply)
    }

    /// The operation that a key names.
    pub fn operation_of(&self, key: &IdempotencyKey) -> Option<&Operation> {
        self.operations.values().find(|operation| operation.key == *key)
    }

    /// The change of an environment that is not over.
    pub fn under_way(&self, environment: &Environment) -> Option<&Operation> {
        environment.operation.as_ref().and_then(|id| self.operations.get(id))
    }

    /// The changes that only a person brings on.
    pub fn stuck(&self) -> impl Iterator<Item = &Operation> {
        self.operations.values().filter(|operation| operation.course == Course::Stuck)
    }

    /// What is reserved of a cell, for everybody or for all but one environment.
    pub fn reserved(&self, cell: &CellName, without: Option<&EnvironmentName>) -> Totals {
        let mut total = Totals::default();
        let counted = self.environments.values().filter(|it| Some(&it.name) != without);
        for reservation in counted.flat_map(|it| &it.reservations) {
            if reservation.cell == *cell {
                total.add(reservation.amounts);
            }
        }
        total
    }
}
