//! `service mode`: the count gets another owner, from what it was just read as.

use super::error::OpError;
use super::read::{READING_TRIES, overtaken};
use super::session::Session;
use super::wait::refuse_after_signal;
use crate::domain::id::{ActuatorName, ServiceName};
use crate::domain::scale::command::{AuthorityCommand, HandOver};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::observation::Reading;
use crate::domain::scale::owners::Owners;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::Detail;
use crate::domain::scale::service::{RegisteredMode, Registration};
use crate::domain::scale::state::ServiceHead;

/// What is to change.
pub struct ModeChange {
    /// The service.
    pub service: ServiceName,
    /// Who owns the count from now on.
    pub mode: RegisteredMode,
    /// The unit revision that is believed to hold; none for what is read first.
    pub expected: Option<u64>,
    /// Who carries wishes out from now on; none for who does now.
    pub actuator: Option<ActuatorName>,
    /// What the other controller is called.
    pub owner: Option<String>,
    /// Whether owners that nobody could read are taken for none.
    pub accepts_unread: bool,
    /// Why.
    pub reason: Detail,
}

/// What a hand-over came to.
pub struct HandedOver {
    /// The settings before.
    pub before: Registration,
    /// The service afterwards.
    pub head: ServiceHead,
    /// Whether anything changed.
    pub changed: bool,
    /// What was read right before; none where nobody can read.
    pub baseline: Option<Reading>,
    /// Who else was found.
    pub owners: Owners,
}

/// Gives the count of a service another owner. Reads the target first, where anybody can.
pub fn service_mode(session: &mut Session, change: &ModeChange) -> Result<HandedOver, OpError> {
    let service = &change.service;
    for _ in 0..READING_TRIES {
        refuse_after_signal()?;
        let state = session.load_service(service)?;
        let before =
            state.head.registration.clone().ok_or_else(|| {
                OpError::from(Rejection::NoSuchService { service: service.clone() })
            })?;
        let looked = session.look_at_service(&state, change.actuator.as_ref())?;
        let (baseline, owners) =
            looked.map_or((None, Owners::default()), |(reading, owners)| (Some(reading), owners));
        let serial = state.head.reading_serial;
        let ask = HandOver {
            service: service.clone(),
            mode: change.mode,
            // A premise that nobody named is what was just read.
            expected: Some(change.expected.unwrap_or(before.unit_revision.get())),
            actuator: change.actuator.clone(),
            owner: change.owner.clone().or_else(|| owners.drive.first().cloned()),
            reading: baseline.clone().map(|reading| (reading, serial)),
            owners: owners.clone(),
            accepts_unread: change.accepts_unread,
            reason: change.reason.clone(),
        };
        let actuator = match &change.actuator {
            Some(name) => Some(session.actuator(name)?),
            None => session.actuator_of(&state)?,
        };
        let done = session.lay(service, AuthorityCommand::HandOver(ask))?;
        if done.reply != Reply::StaleReading {
            if let Some(registration) = &done.state.head.registration {
                session.tell_of_quorum(registration, actuator.as_ref());
            }
            let changed = done.committed.is_some();
            return Ok(HandedOver { before, head: done.state.head, changed, baseline, owners });
        }
    }
    Err(overtaken(service))
}
