//! `status --live`: every target as it is now, several at once, and nothing recorded.

use std::collections::BTreeMap;

use super::ask::reading_of;
use super::error::OpError;
use super::read::Read;
use super::session::Session;
use super::wait::refuse_after_signal;
use crate::actuator::protocol::PartialTarget;
use crate::domain::id::ServiceName;
use crate::domain::scale::service::RegisteredActuator;
use crate::domain::scale::state::{ServiceHead, ServiceState};

/// At most so many targets are asked at the same time.
const AT_ONCE: usize = 8;

/// One service that can be asked about its target here.
struct Asked {
    service: ServiceName,
    state: ServiceState,
    actuator: RegisteredActuator,
    target: PartialTarget,
}

impl Session {
    /// The named services, all where none is named, with their targets as they are now. What cannot
    /// be read is as recorded, and said beside the answer.
    pub fn live(
        &mut self,
        services: &[ServiceName],
    ) -> Result<BTreeMap<ServiceName, ServiceHead>, OpError> {
        let mut asked = Vec::new();
        for (head, _) in self.shown(services)? {
            if let Some(registration) = &head.registration {
                let service = registration.service.clone();
                asked.extend(self.askable(&service)?);
            }
        }
        let mut fresh = BTreeMap::new();
        while !asked.is_empty() {
            refuse_after_signal()?;
            let rest = asked.split_off(asked.len().min(AT_ONCE));
            self.read_at_once(asked, &mut fresh)?;
            asked = rest;
        }
        Ok(fresh)
    }

    /// What can be asked here; of a service without an actuator there is nothing to ask.
    fn askable(&mut self, service: &ServiceName) -> Result<Option<Asked>, OpError> {
        let state = self.load_service(service)?;
        let Some(actuator) = self.actuator_of(&state)? else { return Ok(None) };
        let Some(registration) = &state.head.registration else { return Ok(None) };
        if !actuator.capabilities.inspect || state.head.authority.retired.is_some() {
            return Ok(None);
        }
        if !self.is_bound_here(&actuator.name) {
            let text = format!("{service} was not read: {} is not bound here", actuator.name);
            self.notice("not_read", text);
            return Ok(None);
        }
        let target = PartialTarget {
            cluster_id: Some(registration.cluster_id.clone()),
            runtime_id: Some(registration.runtime_id.clone()),
            workload_id: registration.workload_id.clone(),
            target_uid: None,
            target_resource_version: None,
        };
        Ok(Some(Asked { service: service.clone(), state, actuator, target }))
    }

    fn read_at_once(
        &mut self,
        asked: Vec<Asked>,
        fresh: &mut BTreeMap<ServiceName, ServiceHead>,
    ) -> Result<(), OpError> {
        let began_at = self.now();
        let mut askers = Vec::new();
        for one in &asked {
            askers.push(self.asker(&one.actuator));
        }
        let found = std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (asker, one) in askers.into_iter().zip(&asked) {
                let target = &one.target;
                threads.push(scope.spawn(move || asker?.inspect_now(target, began_at)));
            }
            let mut found = Vec::new();
            for thread in threads {
                let panicked = |_| Err(OpError::Internal { what: "a reading has panicked".into() });
                found.push(thread.join().unwrap_or_else(panicked));
            }
            found
        });
        for (Asked { service, state, .. }, found) in asked.into_iter().zip(found) {
            let read = match found {
                Ok(found) => {
                    self.taken_over(state, service.clone(), reading_of(found, began_at))?
                }
                Err(error @ (OpError::Interrupted { .. } | OpError::Internal { .. })) => {
                    return Err(error);
                }
                Err(error) => {
                    self.notice("not_read", format!("{service} was not read: {error}"));
                    continue;
                }
            };
            match read {
                Read::Fresh(state) => {
                    fresh.insert(service, state.head);
                }
                Read::Stored(_) => {}
                Read::Refused(_, rejection) => {
                    let code = rejection.code();
                    self.notice("not_read", format!("{service} was not read: {code}: {rejection}"));
                }
            }
        }
        Ok(())
    }
}
