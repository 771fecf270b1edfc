//! What must hold of the placement at every instant, checked after every write before it is
//! committed.

use super::environment::Role;
use super::event::{PlacementBody, PlacementEvent};
use super::state::PlacementState;
use crate::domain::scale::invariant::Violation;

/// Checks every rule. What was measured to be less than what is reserved is nobody's fault: it is
/// asked of what was admitted that it fits.
pub fn check(
    before: &PlacementState,
    events: &[PlacementEvent],
    after: &PlacementState,
) -> Result<(), Violation> {
    for environment in after.environments.values() {
        let broken = |rule| Violation { subject: environment.name.to_string(), rule };
        let owners = environment.reservations.iter().filter(|it| it.role == Role::Primary);
        let owners: Vec<_> = owners.map(|it| &it.cell).collect();
        if owners != [&environment.effective.cell] {
            return Err(broken("one owner, and its cell is reserved"));
        }
        if environment.effective.generation.epoch > environment.effective.epoch {
            return Err(broken("a copy of an epoch that was never committed"));
        }
        let was = before.environments.get(&environment.name);
        if was.is_some_and(|was| was.effective.epoch > environment.effective.epoch) {
            return Err(broken("the epoch falls"));
        }
        if was.is_some_and(|was| was.leases > environment.leases) {
            return Err(broken("the token falls"));
        }
        let at_work = after.operations.values();
        let at_work = at_work.filter(|it| it.environment == environment.name);
        let at_work: Vec<_> =
            at_work.filter(|it| !it.course.is_over()).map(|it| &it.operation_id).collect();
        if at_work != environment.operation.iter().collect::<Vec<_>>() {
            return Err(broken("two changes at a time"));
        }
    }
    let takes_room = events.iter().any(|event| {
        matches!(
            event.body,
            PlacementBody::ChangeAdmitted { .. } | PlacementBody::EnvironmentAdopted { .. }
        )
    });
    for cell in after.cells.values() {
        let (was, is) = (before.reserved(&cell.name, None), after.reserved(&cell.name, None));
        let grows = is.whole().beyond(was.whole());
        if grows != super::capacity::Amounts::ZERO && !takes_room {
            let (subject, rule) = (cell.name.to_string(), "what was not admitted is reserved");
            return Err(Violation { subject, rule });
        }
        if !was.shortages(grows, cell.allocatable).is_empty() {
            let (subject, rule) = (cell.name.to_string(), "more is reserved than there is");
            return Err(Violation { subject, rule });
        }
    }
    Ok(())
}
