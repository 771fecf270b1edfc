//! Room: which cell can take something in, and which one is chosen.

use super::super::capacity::{Amounts, Axis, Totals};
use super::super::environment::{Reservation, Role};
use super::super::registry::{Cell, PlacementPolicy, Profile};
use super::super::rejection::{Limit, PlacementRejection, Unfit};
use super::super::state::PlacementState;
use crate::domain::id::{CellName, EnvironmentName, LocationName, ProfileName};
use crate::domain::time::Timestamp;

/// What an environment asks of cells, and by which policy.
pub(super) struct Asks<'a> {
    pub(super) state: &'a PlacementState,
    pub(super) policy: &'a PlacementPolicy,
    pub(super) environment: &'a EnvironmentName,
    pub(super) now: Timestamp,
}

/// The cells that are meant.
#[derive(Default)]
pub(super) struct Among<'a> {
    /// Of this location alone.
    pub(super) location: Option<&'a LocationName>,
    /// This cell alone.
    pub(super) cell: Option<&'a CellName>,
    /// The one that it is in, and what it would need there beside what it has.
    pub(super) kept: Option<(&'a CellName, Amounts)>,
    /// The one in which its other copy is.
    pub(super) taken: Option<&'a CellName>,
}

impl Among<'_> {
    fn means(&self, policy: &PlacementPolicy, cell: &Cell) -> bool {
        if let Some(named) = self.cell {
            return cell.name == *named;
        }
        let is_kept = self.kept.is_some_and(|(kept, _)| *kept == cell.name);
        self.location.is_none_or(|location| cell.location == *location)
            && (policy.lets_into(cell) || is_kept)
    }
}

/// Why a cell cannot give so much more; none where it can, or nothing is asked of it.
fn unfit(
    state: &PlacementState,
    policy: Option<&PlacementPolicy>,
    cell: &Cell,
    more: Amounts,
    now: Timestamp,
) -> Option<Unfit> {
    if more == Amounts::ZERO {
        return None;
    }
    if policy.is_some_and(|policy| !policy.lets_into(cell)) {
        return Some(Unfit::NotEligible);
    }
    if let Some(cordon) = &cell.cordon {
        return Some(Unfit::Cordoned { reason: cordon.reason.as_str().to_owned() });
    }
    if !cell.is_fresh(now) {
        return Some(Unfit::Stale { measured_at: cell.measured_at });
    }
    let missing = state.reserved(&cell.name, None).shortages(more, cell.allocatable);
    (!missing.is_empty()).then_some(Unfit::Short { missing })
}

fn sum_in<'r>(reservations: impl IntoIterator<Item = &'r Reservation>, cell: &CellName) -> Totals {
    let mut total = Totals::default();
    for reservation in reservations.into_iter().filter(|it| it.cell == *cell) {
        total.add(reservation.amounts);
    }
    total
}

impl Asks<'_> {
    /// Chooses a cell. The one that it has already is kept as long as it can be; else the cell that
    /// is emptiest afterwards, on its fullest axis, and the first by name of equal ones.
    pub(super) fn choose(
        &self,
        (role, amounts): (Role, Amounts),
        among: &Among<'_>,
    ) -> Result<CellName, PlacementRejection> {
        let mut limits = Vec::new();
        let mut best: Option<(u128, &CellName)> = None;
        for candidate in self.state.cells.values().filter(|cell| among.means(self.policy, cell)) {
            let name = &candidate.name;
            let kept = among.kept.filter(|(kept, _)| *kept == name);
            let more = kept.map_or(amounts, |(_, more)| more);
            let unfit = if among.taken == Some(name) {
                Some(Unfit::Taken)
            } else {
                kept.and_then(|_| self.is_left(candidate))
                    .or_else(|| unfit(self.state, Some(self.policy), candidate, more, self.now))
            };
            if let Some(unfit) = unfit {
                limits.push(Limit { cell: name.clone(), unfit });
                continue;
            }
            if kept.is_some() {
                return Ok(name.clone());
            }
            let mut after = self.state.reserved(name, None);
            after.add(more);
            let fullness = after.fullness(candidate.allocatable);
            if best.is_none_or(|(least, _)| fullness < least) {
                best = Some((fullness, name));
            }
        }
        best.map(|(_, name)| name.clone()).ok_or_else(|| self.no_room(role, amounts, limits))
    }

    /// Why the cell that it is in is not eligible any more.
    fn is_left(&self, cell: &Cell) -> Option<Unfit> {
        match &cell.cordon {
            Some(cordon) => Some(Unfit::Cordoned { reason: cordon.reason.as_str().to_owned() }),
            None if self.policy.lets_into(cell) => None,
            None => Some(Unfit::NotEligible),
        }
    }

    /// Holds what is to be reserved against what is there: all of it fits, or nothing is reserved.
    pub(super) fn admit(
        &self,
        before: &[Reservation],
        after: &[Reservation],
    ) -> Result<(), PlacementRejection> {
        for reservation in after {
            let cell = self.state.cells.get(&reservation.cell);
            let cell = cell.ok_or_else(|| super::not_found("cell", &reservation.cell))?;
            let had = sum_in(before, &cell.name).whole();
            let more = sum_in(after, &cell.name).whole().beyond(had);
            if let Some(unfit) = unfit(self.state, Some(self.policy), cell, more, self.now) {
                let limit = Limit { cell: cell.name.clone(), unfit };
                return Err(self.no_room(reservation.role, more, vec![limit]));
            }
        }
        Ok(())
    }

    fn no_room(&self, role: Role, needed: Amounts, limits: Vec<Limit>) -> PlacementRejection {
        let environment = self.environment.clone();
        PlacementRejection::CapacityUnavailable { environment, role, needed, limits }
    }
}

/// How much of a profile a cell could still take in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// The cell.
    pub cell: CellName,
    /// The profile.
    pub profile: ProfileName,
    /// How many copies of it fit.
    pub copies: u64,
    /// What is used up first.
    pub limited_by: Option<Axis>,
    /// Why none does, where it is not for room alone.
    pub unfit: Option<Unfit>,
    /// What is free.
    pub free: Amounts,
}

/// What would fit where, and what limits it: cells and profiles by name. Of a policy only what it
/// offers and lets in is looked at.
pub fn fits(state: &PlacementState, policy: Option<&PlacementPolicy>, now: Timestamp) -> Vec<Fit> {
    let is_offered =
        |it: &&Profile| policy.is_none_or(|policy| policy.offers.contains_key(&it.name));
    let is_eligible = |it: &&Cell| policy.is_none_or(|policy| policy.lets_into(it));
    let mut found = Vec::new();
    for cell in state.cells.values().filter(is_eligible) {
        for profile in state.profiles.values().filter(is_offered) {
            found.push(fit(state, cell, profile, now));
        }
    }
    found
}

fn fit(state: &PlacementState, cell: &Cell, profile: &Profile, now: Timestamp) -> Fit {
    let needed = profile.reserved();
    let free = state.reserved(&cell.name, None).left_of(cell.allocatable);
    let of_axis = |axis: &Axis| free.of(*axis).checked_div(needed.of(*axis));
    let limiting = Axis::ALL.into_iter().filter(|axis| of_axis(axis).is_some());
    let limited_by = limiting.min_by_key(|axis| of_axis(axis));
    let room = limited_by.and_then(|axis| of_axis(&axis)).unwrap_or(u64::MAX);
    let unfit = unfit(state, None, cell, needed, now);
    let copies = match &unfit {
        None => room,
        Some(_) => 0,
    };
    let (cell, profile) = (cell.name.clone(), profile.name.clone());
    Fit { cell, profile, copies, limited_by, unfit, free }
}
