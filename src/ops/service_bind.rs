//! `service bind`: the target, read and recorded.

use super::ask::{owners_of, reading_of};
use super::error::OpError;
use super::read::{READING_TRIES, as_said, overtaken, target_holders};
use super::session::Session;
use super::transition::Transition;
use super::wait::refuse_after_signal;
use crate::actuator::protocol::PartialTarget;
use crate::domain::id::{ActuatorName, ServiceName, TargetUid};
use crate::domain::scale::command::{Command, RegisterService};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::observation::Reading;
use crate::domain::scale::owners::Owners;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::state::{ServiceHead, ServiceState};
use crate::ledger::WriteTxn;

/// What a binding came to.
pub struct Bound {
    /// The service as it now is.
    pub head: ServiceHead,
    /// What was read; none where nobody can read and a person has said it.
    pub reading: Option<Reading>,
    /// Whether anything changed.
    pub changed: bool,
}

/// Reads the target of a service and records what it is. Another object must be accepted by name.
pub fn service_bind(
    session: &mut Session,
    service: &ServiceName,
    accept_uid: Option<&TargetUid>,
) -> Result<Bound, OpError> {
    let state = session.load_service(service)?;
    let (reading, transition) = match (session.bind(service, state, accept_uid)?, accept_uid) {
        (Some(bound), _) => bound,
        (None, Some(uid)) => return session.bind_as_said(service, uid),
        (None, None) => return Err(cannot_read(service)),
    };
    let bound_at = transition.state.head.binding.as_ref().map(|binding| binding.read_at);
    if transition.reply == Reply::Unchanged && Some(reading.began_at) < bound_at {
        let text = "a newer reading was recorded meanwhile, and is what is bound";
        session.notice("older_reading", text);
    }
    Ok(Bound {
        changed: transition.committed.is_some(),
        head: transition.state.head,
        reading: Some(reading),
    })
}

fn cannot_read(service: &ServiceName) -> OpError {
    OpError::Usage {
        code: "cannot_inspect",
        message: format!("nobody can read the target of {service}"),
        hint: Some(format!(
            "say what it is: another object with --accept-uid UID, another version with service \
             put {service} --target-version and the four other members of its target"
        )),
    }
}

impl Session {
    /// A reading of a service's target, outside of any key; none where the actuator cannot read.
    pub(crate) fn read_service(
        &mut self,
        state: &ServiceState,
    ) -> Result<Option<Reading>, OpError> {
        Ok(self.look_at_service(state, None)?.map(|(reading, _)| reading))
    }

    /// The same with the controllers that drive the count, by another actuator than the registered
    /// one where one is named.
    pub(crate) fn look_at_service(
        &mut self,
        state: &ServiceState,
        by: Option<&ActuatorName>,
    ) -> Result<Option<(Reading, Owners)>, OpError> {
        let actuator = match by {
            Some(name) => Some(self.actuator(name)?),
            None => self.actuator_of(state)?,
        };
        let Some(actuator) = actuator else {
            return Ok(None);
        };
        let (Some(registration), true) = (&state.head.registration, actuator.capabilities.inspect)
        else {
            return Ok(None);
        };
        let partial = PartialTarget {
            cluster_id: Some(registration.cluster_id.clone()),
            runtime_id: Some(registration.runtime_id.clone()),
            workload_id: registration.workload_id.clone(),
            target_uid: None,
            target_resource_version: None,
        };
        let began_at = self.now();
        let found = self.asker(&actuator)?.inspect_now(&partial, began_at)?;
        let owners = owners_of(&found);
        Ok(Some((reading_of(found, began_at), owners)))
    }

    /// Reads a service's target and records it, so that a wish is made from what is there now. None
    /// where the actuator cannot read.
    pub(crate) fn refresh_binding(
        &mut self,
        service: &ServiceName,
    ) -> Result<Option<(Reading, ServiceState)>, OpError> {
        let state = self.load_service(service)?;
        let bound = self.bind(service, state, None)?;
        Ok(bound.map(|(reading, transition)| (reading, transition.state)))
    }

    /// Another object under the same name, by a person's word: nobody can read which one is there.
    fn bind_as_said(&mut self, service: &ServiceName, uid: &TargetUid) -> Result<Bound, OpError> {
        let now = self.now();
        let transition = self.registration(service, |state, txn| {
            let (Some(registration), Some(bound)) = (&state.head.registration, &state.head.binding)
            else {
                return Err(Rejection::NoSuchService { service: service.clone() }.into());
            };
            let (target_uid, read_at) = (uid.clone(), now);
            let version = bound.target_resource_version.clone();
            Ok(Command::RegisterService(Box::new(RegisterService {
                registration: registration.clone(),
                binding: Some(as_said(target_uid, version, read_at)),
                expected: None,
                accept_uid: Some(uid.clone()),
                others: target_holders(txn, registration, uid)?,
                owners: Owners::default(),
                authorization: None,
            })))
        })?;
        let changed = transition.committed.is_some();
        Ok(Bound { changed, head: transition.state.head, reading: None })
    }

    /// Reads until no result and no other reading was recorded meanwhile, and records it.
    fn bind(
        &mut self,
        service: &ServiceName,
        mut state: ServiceState,
        accept_uid: Option<&TargetUid>,
    ) -> Result<Option<(Reading, Transition)>, OpError> {
        for _ in 0..READING_TRIES {
            refuse_after_signal()?;
            let Some(reading) = self.read_service(&state)? else {
                return Ok(None);
            };
            let (uid, head) = (&reading.target_uid, &state.head);
            let build = |found: &ServiceState, txn: &WriteTxn<'_>| {
                let is_new = found.head.binding.as_ref().is_none_or(|b| b.target_uid != *uid);
                let registration = found.head.registration.as_ref().filter(|_| is_new);
                let others = registration.map(|settings| target_holders(txn, settings, uid));
                Ok(Command::BindTarget {
                    service: service.clone(),
                    reading: reading.clone(),
                    began_after_serial: head.reading_serial,
                    bound_before: head.binding.clone(),
                    accept_uid: accept_uid.cloned(),
                    others: others.transpose()?.unwrap_or_default(),
                })
            };
            // Only another object may be somebody else's, and only this word binds one.
            let transition = match accept_uid {
                Some(_) => self.registration(service, build)?,
                None => self.transition(service, &[], build)?,
            };
            if transition.reply != Reply::StaleReading {
                return Ok(Some((reading, transition)));
            }
            state = transition.state;
        }
        Err(overtaken(service))
    }
}
