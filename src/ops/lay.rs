//! What a person lays upon a service as a whole: hold, the end of an override, retirement.

use super::error::OpError;
use super::session::Session;
use super::transition::Transition;
use crate::domain::id::ServiceName;
use crate::domain::scale::command::{AuthorityCommand, Command};
use crate::domain::scale::result::Detail;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::Timestamp;

/// What came of it.
pub struct Laid {
    /// The service afterwards.
    pub head: ServiceHead,
    /// Whether anything changed.
    pub changed: bool,
}

impl From<Transition> for Laid {
    fn from(done: Transition) -> Self {
        Self { changed: done.committed.is_some(), head: done.state.head }
    }
}

impl Session {
    /// One durable transition about a service as a whole.
    pub(super) fn lay(
        &mut self,
        service: &ServiceName,
        command: AuthorityCommand,
    ) -> Result<Transition, OpError> {
        self.transition(service, &[], |_, _| Ok(Command::Authority(Box::new(command))))
    }
}

/// Lets nothing change the count until then; without an instant it ends that.
pub fn hold(
    session: &mut Session,
    service: &ServiceName,
    until: Option<Timestamp>,
    reason: &Detail,
) -> Result<Laid, OpError> {
    let (named, reason) = (service.clone(), reason.clone());
    let command = AuthorityCommand::Hold { service: named, until, reason };
    session.lay(service, command).map(Laid::from)
}

/// Ends an override; the count stays.
pub fn override_clear(
    session: &mut Session,
    service: &ServiceName,
    reason: &Detail,
) -> Result<Laid, OpError> {
    let (named, reason) = (service.clone(), reason.clone());
    let command = AuthorityCommand::ClearOverride { service: named, reason };
    session.lay(service, command).map(Laid::from)
}

/// Ends a service; its history stays.
pub fn service_retire(
    session: &mut Session,
    service: &ServiceName,
    reason: &Detail,
) -> Result<Laid, OpError> {
    let (named, reason) = (service.clone(), reason.clone());
    let command = AuthorityCommand::Retire { service: named, reason };
    session.lay(service, command).map(Laid::from)
}
