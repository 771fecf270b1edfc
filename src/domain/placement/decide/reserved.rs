//! What is reserved for an environment at each point of a change of it.
//!
//! Nothing is ever reserved later that was not reserved at the admission.

use super::super::capacity::Amounts;
use super::super::environment::{Effective, Reservation, Role, Standby};
use super::super::operation::{Operation, Step};
use super::super::protocol::CopyPlace;
use super::super::registry::Profile;
use super::super::state::PlacementState;
use crate::domain::id::{CellName, ProfileName};

/// How far a change is, as far as its reservations go.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one step behind it, or not")]
pub(super) struct Point {
    pub(super) is_committed: bool,
    pub(super) is_retired: bool,
    pub(super) is_standby_committed: bool,
    pub(super) is_standby_retired: bool,
    /// Whether it is over, so that nothing is needed beside what stays.
    pub(super) is_over: bool,
}

impl Point {
    /// Where an operation is.
    pub(super) fn of(operation: &Operation) -> Self {
        Self {
            is_committed: operation.is_committed(),
            is_retired: operation.is_done(Step::Retire),
            is_standby_committed: operation.is_done(Step::CommitStandby),
            is_standby_retired: operation.is_done(Step::RetireStandby),
            is_over: false,
        }
    }

    /// Where it is once it has ended.
    pub(super) fn at_end(operation: &Operation) -> Self {
        Self { is_over: true, ..Self::of(operation) }
    }
}

/// The parts of a change that reservations follow from.
pub(super) struct Moving<'m> {
    pub(super) from: &'m Effective,
    pub(super) to: &'m Effective,
    pub(super) standby_before: Option<&'m Standby>,
    pub(super) snapshot: Option<&'m CopyPlace>,
}

impl<'m> Moving<'m> {
    pub(super) fn of(operation: &'m Operation) -> Self {
        Self {
            from: &operation.from,
            to: &operation.to,
            standby_before: operation.standby_before.as_ref(),
            snapshot: operation.snapshot.as_ref(),
        }
    }

    /// What is reserved at a point.
    pub(super) fn reservations(&self, state: &PlacementState, at: Point) -> Vec<Reservation> {
        let amounts = |profile: &ProfileName| {
            state.profiles.get(profile).map_or(Amounts::ZERO, Profile::reserved)
        };
        let reserve = |role, cell: &CellName, profile: &ProfileName, amounts| Reservation {
            role,
            cell: cell.clone(),
            profile: profile.clone(),
            amounts,
        };
        let (from, to) = (self.from, self.to);
        let owner = if at.is_committed { to } else { from };
        let mut list =
            vec![reserve(Role::Primary, &owner.cell, &owner.profile, amounts(&owner.profile))];
        let (old, new) = (amounts(&from.profile), amounts(&to.profile));
        let before = self.standby_before.map(|standby| &standby.copy.cell);
        let made = self.snapshot.map(|copy| &copy.cell);
        let current = if at.is_standby_committed { made } else { before };
        if let Some(cell) = current {
            let (profile, amounts) = match (at.is_over, at.is_committed) {
                (_, true) => (&to.profile, new),
                (true, false) => (&from.profile, old),
                // Whether it ends so or so, it has what it needs.
                (false, false) => (&to.profile, old.plus(new.beyond(old))),
            };
            list.push(reserve(Role::Standby, cell, profile, amounts));
        }
        if at.is_over {
            return list;
        }
        if to.cell != from.cell {
            match (at.is_committed, at.is_retired) {
                (false, _) => list.push(reserve(Role::Overlap, &to.cell, &to.profile, new)),
                (true, false) => list.push(reserve(Role::Overlap, &from.cell, &from.profile, old)),
                (true, true) => {}
            }
        }
        let other = match (at.is_standby_committed, at.is_standby_retired) {
            (false, _) => made.zip(Some(&to.profile)).zip(Some(new)),
            (true, false) => before.zip(Some(&to.profile)).zip(Some(new)),
            (true, true) => None,
        };
        if let Some(((cell, profile), whole)) = other {
            // Two recovery copies in one cell run once, and are stored twice.
            let amounts = if before == made { whole.storage_alone() } else { whole };
            list.push(reserve(Role::Overlap, cell, profile, amounts));
        }
        list
    }
}
