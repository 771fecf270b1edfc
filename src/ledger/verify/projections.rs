//! The comparison of what is projected with what the events say.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use serde::de::DeserializeOwned;

use super::fold::{Fold, Span};
use super::{Finding, Verification};
use crate::domain::id::{ExecutionKey, LedgerId, ServiceName};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::state::ServiceHead;
use crate::ledger::columns::{ExecutionRow, column, document};
use crate::ledger::error::LedgerError;
use crate::ledger::read::ReadTxn;
use crate::ledger::sql::Value;
use crate::ledger::statements as sql;

/// What the registry and the policy say must be stored, by kind and name.
#[derive(Default)]
pub(super) struct Documents {
    identity: Option<(LedgerId, u64)>,
    expected: BTreeMap<(String, String), (i64, serde_json::Value)>,
    /// The kinds about which nothing can be said, because their chain makes no sense.
    broken: BTreeSet<&'static str>,
}

impl Documents {
    /// Takes over what one chain came to.
    pub(super) fn add(&mut self, stream: &str, fold: Fold) {
        match fold {
            Fold::Registry { state, versions } => {
                for (name, actuator) in &state.actuators {
                    let version = versions.get(name).copied().unwrap_or_default();
                    let key = ("actuator".to_owned(), name.to_string());
                    self.expected.insert(key, (version, to_value(actuator)));
                }
                self.identity = state.ledger;
            }
            Fold::Policy { current } => {
                if let Some((policy, version)) = current {
                    let key = ("policy".to_owned(), "current".to_owned());
                    self.expected.insert(key, (version, to_value(&policy)));
                }
            }
            Fold::Broken if stream == "registry" => drop(self.broken.insert("actuator")),
            Fold::Broken if stream == "policy" => drop(self.broken.insert("policy")),
            Fold::Broken | Fold::Service { .. } | Fold::Refusals => {}
        }
    }
}

fn to_value<T: serde::Serialize>(value: &T) -> serde_json::Value {
    serde_json::to_value(value).expect("BUG: a domain type that is not JSON")
}

/// Whether a stored document says what a value says. Another version of this program may have
/// written its members in another order, or left out a default.
fn says<T: serde::Serialize + DeserializeOwned + PartialEq>(text: &str, value: &T) -> bool {
    text == document(value) || serde_json::from_str::<T>(text).is_ok_and(|stored| stored == *value)
}

impl ReadTxn<'_> {
    /// Compares a service's head and all of its executions with the fold of its chain.
    pub(super) fn compare_service(
        &self,
        service: &ServiceName,
        fold: &Fold,
        found: &mut Verification,
    ) -> Result<(), LedgerError> {
        let (state, version, spans) = match fold {
            Fold::Service { state, version, spans } => (Some(state), *version, Some(spans)),
            Fold::Registry { .. } | Fold::Policy { .. } | Fold::Refusals | Fold::Broken => {
                (None, 0, None)
            }
        };
        if let Some(state) = state {
            self.compare_head(service, &state.head, version, found)?;
        }
        let mut seen = BTreeSet::new();
        let values = [Value::Text(service.as_str())];
        let done = self.engine().each(sql::READ_EXECUTIONS_OF_SERVICE, &values, &mut |row| {
            found.executions += 1;
            let row = match ExecutionRow::of(row) {
                Ok(row) => row,
                Err(error) => {
                    let place = format!("an execution of {service}");
                    found.report(Finding::Unreadable { place, problem: error.to_string() });
                    return Ok(ControlFlow::Continue(()));
                }
            };
            let (Some(state), Some(spans)) = (state, spans) else {
                return Ok(ControlFlow::Continue(()));
            };
            let what = format!("execution {} of {service}", row.execution_key);
            let key = row.execution_key.parse::<ExecutionKey>().ok();
            let expected = key.and_then(|key| {
                let expected = (state.executions.get(&key)?, spans.get(&key)?);
                seen.insert(key);
                Some(expected)
            });
            match expected {
                None => found.report(Finding::ProjectionExtra { what }),
                Some((execution, span)) => {
                    if let Some(column) = execution_difference(&row, execution, *span) {
                        found.report(Finding::ProjectionDiffers { what, column });
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        let is_whole = done.is_ok();
        found.tolerate(done)?;
        for key in state.filter(|_| is_whole).iter().flat_map(|state| state.executions.keys()) {
            if !seen.contains(key) {
                let what = format!("execution {key} of {service}");
                found.report(Finding::ProjectionMissing { what });
            }
        }
        Ok(())
    }

    fn compare_head(
        &self,
        service: &ServiceName,
        head: &ServiceHead,
        version: i64,
        found: &mut Verification,
    ) -> Result<(), LedgerError> {
        let mut is_there = false;
        let mut difference = None;
        let values = [Value::Text(service.as_str())];
        let done = self.engine().each(sql::READ_SERVICE, &values, &mut |row| {
            is_there = true;
            if row.int(0)? != version {
                difference = Some("version");
            } else if !says(row.text(1)?, head) {
                difference = Some("head");
            }
            Ok(ControlFlow::Break(()))
        });
        let what = format!("service {service}");
        if let Some(column) = difference {
            found.report(Finding::ProjectionDiffers { what, column });
        } else if done.is_ok() && !is_there {
            found.report(Finding::ProjectionMissing { what });
        }
        found.tolerate(done)
    }

    /// Services and executions that no chain accounts for.
    pub(super) fn compare_rest(
        &self,
        services: &BTreeSet<String>,
        found: &mut Verification,
    ) -> Result<(), LedgerError> {
        let mut extra = Vec::new();
        let done = self.engine().each(sql::READ_SERVICES, &[], &mut |row| {
            let name = row.text(0)?;
            if !services.contains(name) {
                extra.push(format!("service {name:?}"));
            }
            Ok(ControlFlow::Continue(()))
        });
        found.tolerate(done)?;
        let mut count = 0;
        let done = self.engine().each(sql::COUNT_EXECUTIONS, &[], &mut |row| {
            count = row.int(0)?;
            Ok(ControlFlow::Break(()))
        });
        found.tolerate(done)?;
        if count != column(found.executions) {
            let done = self.engine().each(sql::READ_EXECUTIONS, &[], &mut |row| {
                let (key, service) = (row.text(1)?, row.text(2)?);
                if !services.contains(service) {
                    extra.push(format!("execution {key:?} of {service:?}"));
                }
                Ok(ControlFlow::Continue(()))
            });
            found.tolerate(done)?;
        }
        for what in extra {
            found.report(Finding::ProjectionExtra { what });
        }
        Ok(())
    }

    /// The identity, the actuators and the policy.
    pub(super) fn compare_documents(
        &self,
        documents: Documents,
        found: &mut Verification,
    ) -> Result<(), LedgerError> {
        let Documents { identity, mut expected, broken } = documents;
        if !broken.contains("actuator") {
            self.compare_identity(identity, found)?;
        }
        let done = self.engine().each(sql::READ_DOCUMENTS, &[], &mut |row| {
            let (kind, name, version) = (row.text(0)?, row.text(1)?, row.int(2)?);
            let what = format!("{kind} {name:?}");
            if broken.contains(kind) {
                return Ok(ControlFlow::Continue(()));
            }
            match expected.remove(&(kind.to_owned(), name.to_owned())) {
                None => found.report(Finding::ProjectionExtra { what }),
                Some((is, _)) if is != version => {
                    found.report(Finding::ProjectionDiffers { what, column: "version" });
                }
                Some((_, body)) => {
                    let stored: Option<serde_json::Value> = serde_json::from_str(row.text(3)?).ok();
                    if stored.as_ref() != Some(&body) {
                        found.report(Finding::ProjectionDiffers { what, column: "body" });
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        let is_whole = done.is_ok();
        found.tolerate(done)?;
        for (kind, name) in expected.into_keys().filter(|_| is_whole) {
            found.report(Finding::ProjectionMissing { what: format!("{kind} {name:?}") });
        }
        Ok(())
    }

    fn compare_identity(
        &self,
        identity: Option<(LedgerId, u64)>,
        found: &mut Verification,
    ) -> Result<(), LedgerError> {
        let expected = identity.map(|(id, incarnation)| (id.to_string(), column(incarnation)));
        let mut stored = None;
        let done = self.engine().each(sql::READ_IDENTITY, &[], &mut |row| {
            stored = Some((row.text(0)?.to_owned(), row.int(1)?));
            Ok(ControlFlow::Break(()))
        });
        if done.is_ok() && stored != expected {
            let what = "the identity of the ledger".to_owned();
            found.report(Finding::ProjectionDiffers { what, column: "ledger_id" });
        }
        found.tolerate(done)
    }
}

fn execution_difference(
    row: &ExecutionRow<'_>,
    execution: &Execution,
    span: Span,
) -> Option<&'static str> {
    if row.position != span.position {
        Some("position")
    } else if row.version != span.version {
        Some("version")
    } else if let Some(column) = row.first_difference(execution) {
        Some(column)
    } else if says(row.document, execution) {
        None
    } else {
        Some("document")
    }
}
