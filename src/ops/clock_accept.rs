//! `clock accept`: the recorded way out of a time mark that no clock has reached.

use super::error::OpError;
use super::session::Session;
use crate::domain::id::ServiceName;
use crate::domain::scale::command::Command;
use crate::domain::scale::event::EventBody;
use crate::domain::scale::result::Detail;
use crate::domain::time::Timestamp;

/// What was accepted of one service.
pub struct AcceptedClock {
    /// The service.
    pub service: ServiceName,
    /// What its time mark was; none where nothing was to be done.
    pub from: Option<Timestamp>,
    /// Its time mark now.
    pub mark: Option<Timestamp>,
}

/// Takes the time mark of a service back to now, if it is further ahead than clocks may differ.
pub fn clock_accept(
    session: &mut Session,
    service: &ServiceName,
    reason: &Detail,
) -> Result<AcceptedClock, OpError> {
    let done = session.transition(service, &[], |_, _| {
        Ok(Command::AcceptClock { service: service.clone(), reason: reason.clone() })
    })?;
    let from = done.events.iter().find_map(|event| {
        if let EventBody::ClockAccepted { mark, .. } = &event.body { Some(*mark) } else { None }
    });
    Ok(AcceptedClock { service: service.clone(), from, mark: done.state.head.time_mark })
}
