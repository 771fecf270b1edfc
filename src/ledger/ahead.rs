//! What a decision about a service reads, told to the engine before it is asked.
//!
//! Owns nothing that is decided by: whoever asks gets the same answer, told before or not. It only
//! saves journeys to a server.

use std::ops::ControlFlow;

use super::columns::{column, json};
use super::error::LedgerError;
use super::read::{ReadTxn, Versioned};
use super::sql::{Bound, Value};
use super::statements as sql;
use super::stream::Stream;
use crate::domain::id::{ActuatorName, ExecutionKey, IntentId, IntentRevision, ServiceName};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::state::ServiceHead;

/// Of more services than this nothing is told: a write of many reads one after the other.
const SERVICES_MAX: usize = 4;
/// The same for keys.
const KEYS_MAX: usize = 8;

/// What a write of services reads first; each is named with its chain.
pub(super) fn of_write<'a>(
    services: &'a [(&ServiceName, String)],
    keys: &'a [ExecutionKey],
) -> Vec<Bound<'a>> {
    let mut ahead = vec![Bound::new(sql::READ_STANDING, [])];
    if services.is_empty() || services.len() > SERVICES_MAX {
        return ahead;
    }
    for (service, stream) in services {
        let (service, stream) = (Value::Text(service.as_str()), Value::Text(stream));
        ahead.push(Bound::new(sql::READ_SERVICE, [service]));
        ahead.push(Bound::new(sql::READ_UNFINISHED, [service]));
        ahead.push(Bound::new(sql::READ_STREAM_HEAD, [stream]));
    }
    ahead.extend(of_keys(keys));
    let policy = [Value::Text("policy"), Value::Text("current")];
    ahead.push(Bound::new(sql::READ_DOCUMENT, policy));
    ahead
}

fn of_service<'a>(service: &'a ServiceName, keys: &'a [ExecutionKey]) -> Vec<Bound<'a>> {
    let service = Value::Text(service.as_str());
    let mut ahead =
        vec![Bound::new(sql::READ_SERVICE, [service]), Bound::new(sql::READ_UNFINISHED, [service])];
    ahead.extend(of_keys(keys));
    ahead
}

fn of_keys(keys: &[ExecutionKey]) -> impl Iterator<Item = Bound<'_>> {
    let values = keys.iter().take(KEYS_MAX).map(|key| [Value::Text(key.as_str())]);
    values.map(|values| Bound::new(sql::READ_EXECUTION, values))
}

impl ReadTxn<'_> {
    /// Tells that an actuator and the owner of an intent will be asked for.
    pub fn look_ahead(
        &self,
        actuator: Option<&ActuatorName>,
        intent: Option<(&IntentId, IntentRevision)>,
    ) -> Result<(), LedgerError> {
        let mut ahead = Vec::new();
        if let Some(name) = actuator {
            let values = [Value::Text("actuator"), Value::Text(name.as_str())];
            ahead.push(Bound::new(sql::READ_DOCUMENT, values));
        }
        if let Some((id, revision)) = intent {
            let values = [Value::Text(id.as_str()), Value::Int(column(revision.get()))];
            ahead.push(Bound::new(sql::READ_INTENT_OWNER, values));
        }
        self.engine().look_ahead(&ahead)
    }

    /// Tells which services and which keys will be looked for.
    pub fn look_ahead_of<'a>(
        &self,
        services: impl Iterator<Item = &'a ServiceName>,
        keys: impl Iterator<Item = &'a ExecutionKey>,
    ) -> Result<(), LedgerError> {
        let services = services.map(|it| Bound::new(sql::READ_SERVICE, [Value::Text(it.as_str())]));
        let keys = keys.map(|it| Bound::new(sql::READ_EXECUTION, [Value::Text(it.as_str())]));
        self.engine().look_ahead(&services.chain(keys).collect::<Vec<_>>())
    }

    /// A state with the stored versions; version 0 is a service that is not there yet.
    pub(super) fn load(
        &self,
        service: &ServiceName,
        keys: &[ExecutionKey],
    ) -> Result<(Versioned<ServiceHead>, Vec<Versioned<Execution>>), LedgerError> {
        self.engine().look_ahead(&of_service(service, keys))?;
        let head = self.versioned_head(service)?;
        let mut found =
            self.find_executions(sql::READ_UNFINISHED, &[Value::Text(service.as_str())], None)?;
        let current = head.value.current.as_ref().map(|current| &current.execution_key);
        for key in current.into_iter().chain(keys) {
            if found.iter().all(|known| known.value.key() != key) {
                let named = self.find_versioned(key)?;
                found.extend(named.filter(|it| it.value.intent.service == *service));
            }
        }
        Ok((head, found))
    }

    fn versioned_head(&self, service: &ServiceName) -> Result<Versioned<ServiceHead>, LedgerError> {
        let mut head = Versioned { version: 0, value: ServiceHead::default() };
        self.engine().each(sql::READ_SERVICE, &[Value::Text(service.as_str())], &mut |row| {
            let place = || format!("service {service}");
            head =
                Versioned { version: row.int(0)?, value: json(self.path(), place, row.text(1)?)? };
            Ok(ControlFlow::Break(()))
        })?;
        Ok(head)
    }

    /// Whether anybody has registered a service: who is registered once is so for ever.
    pub fn is_registered(&self, service: &ServiceName) -> Result<bool, LedgerError> {
        Ok(self.stream_head(&Stream::Service(service.clone()))?.is_some())
    }

    /// A service without its executions. An unknown one is the empty head.
    pub fn service_head(&self, service: &ServiceName) -> Result<ServiceHead, LedgerError> {
        Ok(self.versioned_head(service)?.value)
    }
}
