//! `operation wait`: until an operation is over, or waits for a person.

use super::error::OpError;
use super::session::Session;
use super::wait::{Teller, pause};
use crate::actuator::host::Deadline;
use crate::domain::id::OperationId;
use crate::domain::placement::operation::{Course, Operation};
use crate::domain::time::DurationMs;

/// How often the ledger is looked at.
const LOOK_EVERY: DurationMs = DurationMs::from_millis(250);

/// Waits; whatever is under way goes on whether or not anybody waits for it.
pub fn operation_wait(
    session: &mut Session,
    id: &OperationId,
    until: Deadline,
    say: &mut dyn FnMut(&Operation),
) -> Result<Operation, OpError> {
    let mut teller = Teller::default();
    loop {
        let (_, operation) = session.operation(id)?;
        match operation.course {
            Course::Succeeded | Course::Failed | Course::Stuck => return Ok(operation),
            Course::Forward | Course::Back if until.is_past() => return Ok(operation),
            Course::Forward | Course::Back => {}
        }
        let what = format!("{:?}", operation.next_step());
        if teller.is_due(&what) {
            say(&operation);
        }
        pause(LOOK_EVERY, until)?;
    }
}
