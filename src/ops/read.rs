//! Reading the target of a key and recording what it says, and whose target it is. The shared step
//! of `observe`, `replay` and `scale`, and of whoever registers a target.

use super::ask::{Asker, reading_of};
use super::error::OpError;
use super::report::Report;
use super::session::Session;
use crate::actuator::protocol::PartialTarget;
use crate::domain::id::{ExecutionKey, ServiceName, TargetUid};
use crate::domain::scale::command::{Command, Settlement};
use crate::domain::scale::decide::{Reply, decide};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::intent::TargetBinding;
use crate::domain::scale::observation::Reading;
use crate::domain::scale::rejection::{MissingFact, Rejection};
use crate::domain::scale::service::Registration;
use crate::domain::scale::state::{ServiceHead, ServiceState};
use crate::ledger::ReadTxn;

/// How often a reading is taken anew because another one was recorded meanwhile.
pub(crate) const READING_TRIES: u32 = 5;

/// Whoever reads a target that many read at once may be too late each time; the same line later is
/// not.
pub(crate) fn overtaken(service: &ServiceName) -> OpError {
    let fact = MissingFact::Overtaken { readings: READING_TRIES };
    Rejection::FactUnknown { service: service.clone(), fact }.into()
}

impl Session {
    /// A reading of the target of an execution and the serial of its service before it began; none
    /// where the actuator cannot read.
    pub(crate) fn take_reading(
        &mut self,
        state: &ServiceState,
        execution: &Execution,
    ) -> Result<Option<(Reading, u64)>, OpError> {
        let Some(actuator) = self.actuator_of(state)? else {
            return Ok(None);
        };
        if !actuator.capabilities.inspect {
            return Ok(None);
        }
        let serial = state.head.reading_serial;
        let asker = self.asker(&actuator)?;
        let reading = asker.reading(&execution.intent.wish.target, self.now())?;
        Ok(Some((reading, serial)))
    }

    /// A reading right before a call. A call is not refused for whoever else drives the count,
    /// because the registered mode says whose it is; but they are told.
    pub(super) fn reading_before_call(
        &mut self,
        service: &ServiceName,
        asker: &Asker<'_>,
        target: &TargetBinding,
    ) -> Result<Reading, OpError> {
        let began_at = self.now();
        let found = asker.inspect_now(&PartialTarget::from(target), began_at)?;
        self.tell_of_owners(service, &found.owners);
        Ok(reading_of(found, began_at))
    }

    /// Says, once, who else drives a count that is ours to set.
    pub(super) fn tell_of_owners(&mut self, service: &ServiceName, owners: &[String]) {
        const CODE: &str = "other_owner";
        if self.notices.iter().any(|notice| notice.code == CODE) {
            return;
        }
        for owner in owners {
            let text = format!(
                "{owner} drives the count of {service}, too, and may undo what is wished: take it \
                 away, or give it the count with service mode"
            );
            self.notice(CODE, text);
        }
    }

    /// Reads the target of a key and confirms its result, or keeps the reading beside it.
    pub(crate) fn confirm(&mut self, key: &ExecutionKey) -> Result<Report, OpError> {
        for _ in 0..READING_TRIES {
            let (state, execution) = self.load(key)?;
            let reading = self.take_reading(&state, &execution)?;
            let (key, bound_before) = (key.clone(), state.head.binding);
            let observe = Command::Observe { key, reading, bound_before };
            let report = self.step(&execution, observe)?;
            if report.reply != Reply::StaleReading {
                return Ok(report);
            }
        }
        Report::replay(self, key)
    }

    /// Reads the target of an unknown attempt and settles it by what is read.
    pub(crate) fn settle_by_reading(
        &mut self,
        key: &ExecutionKey,
    ) -> Result<Option<Report>, OpError> {
        for _ in 0..READING_TRIES {
            let (state, execution) = self.load(key)?;
            let Some((reading, began_after_serial)) = self.take_reading(&state, &execution)? else {
                return Ok(None);
            };
            let bound_before = state.head.binding;
            let read = Settlement::Reading { reading, began_after_serial, bound_before };
            let settlement = Box::new(read);
            let (key, authorization) = (key.clone(), None);
            let settle = Command::Settle { key, settlement, authorization };
            let report = self.step(&execution, settle)?;
            if report.reply != Reply::StaleReading {
                return Ok(Some(report));
            }
        }
        Ok(None)
    }
}

/// The other service of the ledger that has such an object for its target.
pub(crate) fn target_holder(
    read: &ReadTxn<'_>,
    registration: &Registration,
    uid: &TargetUid,
) -> Result<Option<ServiceName>, OpError> {
    let is_same = |head: &ServiceHead| {
        let has_uid = head.binding.as_ref().is_some_and(|bound| bound.target_uid == *uid);
        has_uid
            && head.registration.as_ref().is_some_and(|other| {
                other.cluster_id == registration.cluster_id
                    && other.runtime_id == registration.runtime_id
            })
    };
    let mut others =
        read.service_heads()?.into_iter().filter(|(name, _)| *name != registration.service);
    Ok(others.find(|(_, head)| is_same(head)).map(|(name, _)| name))
}

/// A service with what could be read of its target.
pub(super) enum Read {
    /// It was read just now.
    Fresh(ServiceState),
    /// It was not: it is as recorded, or its count is unknown.
    Stored(ServiceState),
    /// It is not the target that is registered.
    Refused(ServiceState, Box<Rejection>),
}

impl Session {
    /// A registered service with its target as it is now, read but not recorded.
    pub fn peek(&mut self, service: &ServiceName) -> Result<ServiceHead, OpError> {
        let state = self.load_service(service)?;
        Ok(match self.read_now(state)? {
            Read::Fresh(state) | Read::Stored(state) | Read::Refused(state, _) => state.head,
        })
    }

    /// A service as `scale` would find it, read but not recorded. Where it cannot be read, its
    /// count is unknown, which is said beside the answer.
    pub(super) fn as_read(&mut self, mut state: ServiceState) -> Result<Read, OpError> {
        let registration = state.head.registration.as_ref();
        let Some(registration) = registration.filter(|registration| {
            registration.actuator.as_ref().is_some_and(|name| self.is_bound_here(name))
        }) else {
            return Ok(Read::Stored(state));
        };
        let service = registration.service.clone();
        let reading = match self.read_service(&state) {
            Ok(Some(reading)) => reading,
            Ok(None) => return Ok(Read::Stored(state)),
            Err(OpError::Interrupted { signal, key }) => {
                return Err(OpError::Interrupted { signal, key });
            }
            Err(error) => {
                self.notice("not_read", format!("the count of {service} is unknown: {error}"));
                if let Some(binding) = &mut state.head.binding {
                    binding.outdated.count = true;
                }
                return Ok(Read::Stored(state));
            }
        };
        self.taken_over(state, service, reading)
    }

    /// The same for whoever could do nothing without it: what cannot be read is an error.
    pub(super) fn read_now(&mut self, state: ServiceState) -> Result<Read, OpError> {
        let service = state.head.registration.as_ref().map(|it| it.service.clone());
        match (service, self.read_service(&state)?) {
            (Some(service), Some(reading)) => self.taken_over(state, service, reading),
            (Some(_) | None, _) => Ok(Read::Stored(state)),
        }
    }

    /// A service as the recording of a reading would leave it.
    fn taken_over(
        &mut self,
        state: ServiceState,
        service: ServiceName,
        reading: Reading,
    ) -> Result<Read, OpError> {
        let began_after_serial = state.head.reading_serial;
        let bound_before = state.head.binding.clone();
        let bind = Command::BindTarget {
            service,
            reading,
            began_after_serial,
            bound_before,
            accept_uid: None,
            target_holder: None,
        };
        let now = self.now();
        let decided =
            self.with_context(&state, None, |context| decide(&state, &bind, context, now))?;
        match decided {
            Ok(decision) => {
                let fresh = state.fold(&decision.events);
                Ok(Read::Fresh(
                    fresh.map_err(|error| OpError::Internal { what: error.to_string() })?,
                ))
            }
            Err(rejection) => Ok(Read::Refused(state, Box::new(rejection))),
        }
    }
}
