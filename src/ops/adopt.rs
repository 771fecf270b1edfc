//! `adopt`: what runs becomes what is wished, by a reading, and nobody is called.

use super::error::OpError;
use super::read::{READING_TRIES, overtaken};
use super::report::Report;
use super::session::Session;
use super::transition::elsewhere;
use super::wait::refuse_after_signal;
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::scale::command::{Adopt, AuthorityCommand, Command};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::identity::next_revision;
use crate::domain::scale::intent::{Reason, minted_intent_id};
use crate::domain::scale::state::ServiceState;
use crate::ledger::ReadTxn;

/// Reads the target until nothing newer was recorded meanwhile, and adopts what was read.
pub fn adopt(
    session: &mut Session,
    service: &ServiceName,
    key: &ExecutionKey,
    reason: &Reason,
    supersede: bool,
) -> Result<Report, OpError> {
    for _ in 0..READING_TRIES {
        refuse_after_signal()?;
        let state = session.load_service(service)?;
        let reading = session.read_service(&state)?.ok_or_else(|| OpError::Usage {
            code: "cannot_inspect",
            message: format!("nobody can read the target of {service}"),
            hint: Some(format!(
                "wish the count that runs by its number, with scale {service}=N --reason TEXT"
            )),
        })?;
        let began_after_serial = state.head.reading_serial;
        let done = session.transition(service, std::slice::from_ref(key), |found, read| {
            let ask = Adopt {
                service: service.clone(),
                key: key.clone(),
                reading: reading.clone(),
                began_after_serial,
                reason: reason.clone(),
                supersede,
                key_elsewhere: elsewhere(found, read, key)?
                    .map(|it| (it.intent.service.clone(), it.revision())),
                id_owner: id_owner(found, read, service, &reading, key)?,
            };
            Ok(Command::Authority(Box::new(AuthorityCommand::Adopt(ask))))
        })?;
        if done.reply != Reply::StaleReading {
            return Report::of(done, key);
        }
    }
    Err(overtaken(service))
}

fn id_owner(
    state: &ServiceState,
    read: &ReadTxn<'_>,
    service: &ServiceName,
    reading: &crate::domain::scale::observation::Reading,
    key: &ExecutionKey,
) -> Result<Option<ExecutionKey>, OpError> {
    let Some(mode) = state.head.registration.as_ref().and_then(|r| r.mode.record_mode()) else {
        return Ok(None);
    };
    let latest = state.head.latest_revision;
    let minted = minted_intent_id(service, mode, reading.replicas, latest);
    let owner = read.intent_owner(&minted, next_revision(state))?;
    Ok(owner.filter(|owner| owner != key))
}
