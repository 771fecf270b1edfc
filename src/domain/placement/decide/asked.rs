//! What a change is held against: what is offered and may be spent, what was measured, and what the
//! relocator has seen.

use super::super::capacity::Axis;
use super::super::command::{Change, Sighting};
use super::super::environment::{Desired, Environment};
use super::super::protocol::{Inventory, Refusal, WorkspaceState};
use super::super::registry::{Profile, is_fresh};
use super::super::rejection::PlacementRejection;
use super::super::request::{ChangeRequest, StandbyWish};
use super::change::profile_of;
use super::not_found;
use super::room::Asks;
use crate::domain::id::EnvironmentName;

/// A change that is held against what is offered, measured and seen.
pub(super) struct Asked<'a> {
    pub(super) asks: &'a Asks<'a>,
    pub(super) environment: &'a Environment,
    pub(super) request: &'a ChangeRequest,
    pub(super) desired: &'a Desired,
    pub(super) profile: &'a Profile,
}

impl Asked<'_> {
    /// Only what the policy offers can be asked for, within its budget.
    pub(super) fn check_offer(&self, is_copied: bool) -> Result<(), PlacementRejection> {
        if self.request.profile.is_none() && !is_copied {
            return Ok(());
        }
        let policy = self.asks.policy;
        let (environment, name) = (self.environment.name.clone(), policy.name.clone());
        let Some(cost) = policy.offers.get(&self.profile.name) else {
            return Err(PlacementRejection::ProfileNotOffered {
                environment,
                policy: name,
                profile: self.profile.name.clone(),
                offered: policy.offers.keys().cloned().collect(),
            });
        };
        let copies = if self.desired.standby == StandbyWish::None { 1 } else { 2 };
        let (cost, budget) = (u128::from(cost.get()) * copies, policy.budget.get());
        if cost <= u128::from(budget) {
            return Ok(());
        }
        Err(PlacementRejection::CostExceeded { environment, policy: name, cost, budget })
    }

    /// A smaller profile needs fresh usage, and must have room for it.
    pub(super) fn check_shrink(&self) -> Result<(), PlacementRejection> {
        let before = profile_of(self.asks.state, &self.environment.effective.profile)?;
        if !self.profile.is_smaller_than(before) {
            return Ok(());
        }
        let environment = || self.environment.name.clone();
        let usage = self.asks.state.usages.get(&self.environment.name);
        let missing =
            |usage| PlacementRejection::UsageMissing { environment: environment(), usage };
        let usage = usage.ok_or_else(|| missing(None))?;
        let total = usage.total().ok_or_else(|| missing(Some(Box::new(usage.clone()))))?;
        let (fresh_for, now) = (self.asks.policy.usage_fresh_for_ms, self.asks.now);
        let measured_at = usage.measured_at;
        if !is_fresh(measured_at, fresh_for, now) {
            let environment = environment();
            return Err(PlacementRejection::UsageStale {
                environment,
                measured_at,
                fresh_for,
                now,
            });
        }
        for axis in [Axis::StorageBytes, Axis::MemoryBytes] {
            let (used, maximum) = (total.of(axis), self.profile.maximum.of(axis));
            if used > u128::from(maximum) {
                return Err(PlacementRejection::UnsafeShrink {
                    environment: environment(),
                    profile: self.profile.name.clone(),
                    axis,
                    used,
                    maximum,
                    measured_at,
                });
            }
        }
        Ok(())
    }

    fn check_seen(&self, seen: &Inventory) -> Result<(), PlacementRejection> {
        let environment = self.environment;
        if seen.workspace == WorkspaceState::Running {
            let environment = environment.name.clone();
            return Err(PlacementRejection::WorkspaceRunning { environment });
        }
        if seen.source != environment.effective.copy() {
            return Err(unknown(&environment.name, format!("{} was looked at", seen.source)));
        }
        let maximum = self.profile.maximum.of(Axis::StorageBytes);
        let is_another = self.profile.name != environment.effective.profile;
        if is_another && seen.bytes > maximum {
            return Err(PlacementRejection::UnsafeShrink {
                environment: environment.name.clone(),
                profile: self.profile.name.clone(),
                axis: Axis::StorageBytes,
                used: u128::from(seen.bytes),
                maximum,
                measured_at: self.asks.now,
            });
        }
        Ok(())
    }

    /// What is to be copied must be whole and at rest, and somebody must be able to copy it.
    pub(super) fn check_copy(
        &self,
        change: &Change,
        is_moved: bool,
    ) -> Result<(), PlacementRejection> {
        let environment = || self.environment.name.clone();
        let what = if is_moved { "a move" } else { "a recovery copy" };
        let name = self
            .environment
            .relocator
            .as_ref()
            .ok_or_else(|| PlacementRejection::NoRelocator { environment: environment(), what })?;
        let relocator = self.asks.state.relocators.get(name);
        let relocator = relocator.ok_or_else(|| not_found("relocator", name))?;
        if is_moved && !(relocator.can("fence") && relocator.can("unfence")) {
            let why = format!("relocator {name} cannot fence");
            return Err(PlacementRejection::UnprovableFencing { environment: environment(), why });
        }
        match &change.sighting {
            Some(Sighting::Seen(inventory)) => self.check_seen(inventory),
            Some(Sighting::Refused(error)) => Err(refused(&self.environment.name, &error.refusal)),
            Some(Sighting::Unasked(why)) => Err(unknown(&self.environment.name, why.clone())),
            None => Err(unknown(&self.environment.name, "nobody was asked".to_owned())),
        }
    }
}

fn unknown(environment: &EnvironmentName, why: String) -> PlacementRejection {
    PlacementRejection::InventoryUnknown { environment: environment.clone(), why }
}

/// What a refusal of the relocator means before anything is done.
pub(super) fn refused(environment: &EnvironmentName, refusal: &Refusal) -> PlacementRejection {
    let name = environment.clone();
    match refusal {
        Refusal::MissingDependency { missing } => {
            PlacementRejection::MissingDependency { environment: name, missing: missing.clone() }
        }
        Refusal::WorkspaceRunning => PlacementRejection::WorkspaceRunning { environment: name },
        Refusal::UnprovableFencing { why } => {
            PlacementRejection::UnprovableFencing { environment: name, why: why.clone() }
        }
        other => unknown(environment, other.to_string()),
    }
}
