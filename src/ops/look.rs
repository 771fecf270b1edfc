//! What people look at: questions to the ledger whose answers are shown as they are.
//!
//! Owns which services and wishes are shown. Reads only: it asks no target, and decides nothing.

use super::error::OpError;
use super::session::Session;
use crate::domain::id::{ActuatorName, ExecutionKey, IntentRevision, ServiceName};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::intent::Reason;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::RegisteredActuator;
use crate::domain::scale::state::ServiceHead;
use crate::domain::scale::tick::Evaluation;
use crate::domain::time::Timestamp;
use crate::ledger::{
    Depth, EventFilter, ExecutionFilter, Head, Order, Sought, StoredEvent, Stream, Verification,
};

impl Session {
    /// Every service that was registered, by name.
    pub fn heads(&mut self) -> Result<Vec<(ServiceName, ServiceHead)>, OpError> {
        Ok(self.ledger.read()?.service_heads()?)
    }

    /// The names of the same.
    pub fn service_names(&mut self) -> Result<Vec<ServiceName>, OpError> {
        Ok(self.ledger.read()?.service_names()?)
    }

    /// The services that a person looks at, each with its wishes that are under way and the wanted
    /// one, by number. What is retired is shown to whoever names it, and while somebody still has
    /// to look at it.
    pub fn shown(
        &mut self,
        services: &[ServiceName],
    ) -> Result<Vec<(ServiceHead, Vec<Execution>)>, OpError> {
        let read = self.ledger.read()?;
        let heads = read.service_heads()?;
        let filter = ExecutionFilter { unfinished: true, ..ExecutionFilter::default() };
        let unfinished = read.executions(&filter)?;
        let mut found = Vec::new();
        for (service, head) in heads {
            if !services.is_empty() && !services.contains(&service) {
                continue;
            }
            if services.is_empty() && head.is_over() {
                continue;
            }
            let own = unfinished.iter().filter(|it| it.intent.service == service && it.is_live());
            let mut own: Vec<Execution> = own.cloned().collect();
            if let Some(wanted) = &head.wanted
                && own.iter().all(|execution| *execution.key() != wanted.execution_key)
            {
                own.extend(read.find_execution(&wanted.execution_key)?);
            }
            own.sort_by_key(Execution::revision);
            found.push((head, own));
        }
        Ok(found)
    }

    /// Why the count of a service is pinned, while it is: the reason of the wish that pins it,
    /// whatever was wished since.
    pub fn why_pinned(&mut self, head: &ServiceHead) -> Result<Option<Reason>, OpError> {
        let Some(pinned) = head.authority.pinned_at(self.now()) else { return Ok(None) };
        let found = self.recorded_under(&pinned.execution_key)?;
        Ok(found.map(|execution| execution.intent.wish.reason))
    }

    /// What is recorded under a key; none where nothing is.
    pub fn recorded_under(&mut self, key: &ExecutionKey) -> Result<Option<Execution>, OpError> {
        let sought = Sought::Keys(std::slice::from_ref(key));
        self.sought(sought, |session| Ok(session.ledger.read()?.find_execution(key)?))
    }

    /// The key of the wish of a service that has this number; none where there is none.
    pub fn key_at(
        &mut self,
        service: &ServiceName,
        revision: IntentRevision,
    ) -> Result<Option<ExecutionKey>, OpError> {
        let sought = Sought::WishOf(service);
        self.sought(sought, |session| Ok(session.ledger.read()?.key_at(service, revision)?))
    }

    /// The wishes that a filter names, the newest first.
    pub fn wishes(&mut self, filter: &ExecutionFilter) -> Result<Vec<Execution>, OpError> {
        Ok(self.ledger.read()?.executions(filter)?)
    }

    /// The events of a key, the oldest first.
    pub fn events_of(&mut self, key: &ExecutionKey) -> Result<Vec<StoredEvent>, OpError> {
        let filter = EventFilter { execution_key: Some(key.clone()), ..EventFilter::default() };
        Ok(self.ledger.read()?.events(&filter)?)
    }

    /// The events that a filter names and somebody wants.
    pub fn events_where(
        &mut self,
        filter: &EventFilter,
        is_wanted: &dyn Fn(&StoredEvent) -> bool,
    ) -> Result<Vec<StoredEvent>, OpError> {
        Ok(self.ledger.read()?.events_where(filter, is_wanted)?)
    }

    /// What the newest tick of a service came to, and when; none where none is recorded.
    pub fn last_tick(
        &mut self,
        service: &ServiceName,
    ) -> Result<Option<(Timestamp, Evaluation)>, OpError> {
        let newest = EventFilter {
            streams: vec![Stream::Service(service.clone())],
            order: Order::NewestFirst,
            limit: Some(1),
            ..EventFilter::default()
        };
        let found = self.events_where(&newest, &|event| event.kind == "autoscale_evaluated")?;
        Ok(found.first().and_then(|event| {
            let evaluation = serde_json::from_value(event.body["evaluation"].clone()).ok()?;
            Some((event.at, evaluation))
        }))
    }

    /// The actuators that are registered, by name.
    pub fn actuators(&mut self) -> Result<Vec<RegisteredActuator>, OpError> {
        Ok(self.ledger.read()?.actuators()?)
    }

    /// The actuator of a name.
    pub fn actuator_named(&mut self, name: &ActuatorName) -> Result<RegisteredActuator, OpError> {
        let found = self.ledger.read()?.actuator(name)?;
        found.ok_or_else(|| Rejection::NoSuchActuator { name: name.to_string() }.into())
    }

    /// What a verification of the ledger finds, from the heads that somebody has kept.
    pub fn verified(&mut self, since: &[Head], depth: Depth) -> Result<Verification, OpError> {
        Ok(self.ledger.read()?.verify(since, depth)?)
    }
}
