//! The cells of a change: where an environment serves, and where its recovery copy is made.

use super::super::environment::{Desired, Environment, Role};
use super::super::registry::{Cell, Profile};
use super::super::rejection::PlacementRejection;
use super::super::request::{ChangeRequest, LocationWish, StandbyWish};
use super::change::profile_of;
use super::not_found;
use super::room::{Among, Asks};

/// The cells of a change.
pub(super) struct Chosen<'s> {
    pub(super) cell: &'s Cell,
    /// Where a recovery copy is made.
    pub(super) snapshot: Option<&'s Cell>,
}

impl<'s> Chosen<'s> {
    pub(super) fn of(
        asks: &Asks<'s>,
        environment: &Environment,
        request: &ChangeRequest,
        desired: &Desired,
        profile: &Profile,
    ) -> Result<Self, PlacementRejection> {
        let cell_of = |name| asks.state.cells.get(name).ok_or_else(|| not_found("cell", name));
        let standby = environment.standby.as_ref();
        let is_wished = |location: &_| standby.is_some_and(|it| it.location == *location);
        let stays = match &desired.standby {
            StandbyWish::None => None,
            StandbyWish::In(location) => standby.filter(|_| is_wished(location)),
        };
        let stays = stays.map(|standby| &standby.copy.cell);
        let amounts = profile.reserved();
        let held = profile_of(asks.state, &environment.effective.profile)?.reserved();
        let current = &environment.effective.cell;
        let cell = if request.says_where() {
            let location = match &desired.location {
                LocationWish::Auto => None,
                LocationWish::In(location) => Some(location),
            };
            let is_kept = location.is_none_or(|it| *it == environment.effective.location)
                && desired.cell.as_ref().is_none_or(|cell| cell == current);
            let named = desired.cell.as_ref();
            // What is named as the cell that it is in is no move out of a cell that is cordoned.
            if named == Some(current) {
                current.clone()
            } else {
                let kept = is_kept.then_some((current, amounts.beyond(held)));
                let among = Among { location, cell: named, kept, taken: stays };
                asks.choose((Role::Primary, amounts), &among)?
            }
        } else {
            current.clone()
        };
        let snapshot = match &desired.standby {
            StandbyWish::None => None,
            StandbyWish::In(location) if is_wished(location) && !request.refresh_standby => None,
            StandbyWish::In(location) => {
                // The older copy stays until the new one is read back: both are stored.
                let more = amounts.beyond(held).plus(amounts.storage_alone());
                let kept = stays.map(|stays| (stays, more));
                let among =
                    Among { location: Some(location), cell: None, kept, taken: Some(&cell) };
                Some(asks.choose((Role::Standby, amounts), &among)?)
            }
        };
        if request.refresh_standby && desired.standby == StandbyWish::None {
            let text = format!("{} has no recovery copy that could be made anew", environment.name);
            return Err(PlacementRejection::Contradiction(text));
        }
        let snapshot = snapshot.as_ref().map(cell_of).transpose()?;
        Ok(Self { cell: cell_of(&cell)?, snapshot })
    }
}
