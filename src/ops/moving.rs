//! What a committed move does to the services of its environment, in the transaction of the commit:
//! what waits ends, and which object is the service's is told by the next reading (decision 0082).

use super::error::OpError;
use super::transition::{Deciding, Undecided, decide_in};
use crate::domain::placement::event::{PlacementBody, PlacementEvent};
use crate::domain::placement::state::PlacementState;
use crate::domain::scale::command::Command;
use crate::domain::scale::result::Detail;
use crate::ledger::WriteTxn;

/// Moves the services that a commit among these events names; of other events nothing follows.
pub(super) fn move_services(
    txn: &mut WriteTxn<'_>,
    with: &mut Deciding<'_>,
    events: &[PlacementEvent],
    after: &PlacementState,
) -> Result<(), OpError> {
    for event in events {
        let PlacementBody::PlacementCommitted { operation_id, services, .. } = &event.body else {
            continue;
        };
        let Some(operation) = after.operations.get(operation_id) else { continue };
        let (environment, cell) = (&operation.environment, &operation.to.cell);
        let why = Detail::cut(&format!("{environment} has moved to cell {cell} ({operation_id})"));
        for service in services {
            let command = Command::Relocate { why: why.clone() };
            decide_in(txn, with, service, &[], |_, _| Ok(command)).map_err(|undecided| {
                match undecided {
                    Undecided::Refused(refused) => refused.into_error(),
                    Undecided::Failed(error) => error,
                }
            })?;
        }
    }
    Ok(())
}
