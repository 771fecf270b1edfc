//! The comparison of what is projected with what the events say.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use serde::de::DeserializeOwned;

use super::fold::{Fold, Rows, Span};
use super::{Finding, Services, Verification};
use crate::domain::id::{ExecutionKey, LedgerId, ServiceName};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::state::ServiceHead;
use crate::ledger::columns::{ExecutionRow, column, document};
use crate::ledger::error::LedgerError;
use crate::ledger::placement::{self, Placed};
use crate::ledger::read::ReadTxn;
use crate::ledger::sql::Value;
use crate::ledger::statements as sql;
use crate::ledger::stream::Stream;

/// What the registry and the policy say must be stored, by kind and name.
#[derive(Default)]
pub(super) struct Documents {
    identity: Option<(LedgerId, u64)>,
    expected: BTreeMap<(String, String), (i64, serde_json::Value)>,
    /// The rows of the placement, with their versions.
    placed: Vec<(i64, Placed)>,
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
            Fold::Placement { state, versions } => {
                let version = |it: &Placed| versions.get(&(it.kind, it.name.clone())).copied();
                let rows = placement::rows_of(&state).into_iter();
                self.placed = rows.map(|it| (version(&it).unwrap_or_default(), it)).collect();
            }
            Fold::Broken if stream == "policy" => drop(self.broken.insert("policy")),
            Fold::Broken if stream == "placement" => drop(self.broken.insert("placement")),
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

/// The rows of the executions of one chain's service. A row that cannot be read is none here: it
/// is read again at the end of the chain, and reported then.
pub(super) struct RowsOf<'a> {
    pub(super) read: &'a ReadTxn<'a>,
    pub(super) stream: Option<&'a Stream>,
}

impl RowsOf<'_> {
    fn is_own(&self, service: &str) -> bool {
        matches!(self.stream, Some(Stream::Service(own)) if own.as_str() == service)
    }

    /// Calls `use_it` with the row of a key, if this service has one.
    fn with<T>(
        &self,
        key: &ExecutionKey,
        use_it: impl Fn(&ExecutionRow<'_>) -> Option<T>,
    ) -> Option<T> {
        let mut found = None;
        let values = [Value::Text(key.as_str())];
        let done = self.read.engine().each(sql::READ_EXECUTION, &values, &mut |row| {
            let row = ExecutionRow::of(row)?;
            found = if self.is_own(row.service) { use_it(&row) } else { None };
            Ok(ControlFlow::Break(()))
        });
        done.ok().and(found)
    }
}

impl Rows for RowsOf<'_> {
    fn place(&self, key: &ExecutionKey) -> Option<(i64, i64)> {
        let mut place = None;
        let values = [Value::Text(key.as_str())];
        let done = self.read.engine().each(sql::READ_EXECUTION_PLACE, &values, &mut |row| {
            if self.is_own(row.text(2)?) {
                place = Some((row.int(0)?, row.int(1)?));
            }
            Ok(ControlFlow::Break(()))
        });
        done.ok().and(place)
    }

    fn execution(&self, key: &ExecutionKey) -> Option<Execution> {
        self.with(key, |row| row.execution(self.read.path()).ok())
    }

    fn agrees(&self, execution: &Execution, span: Span) -> bool {
        let differs = |row: &ExecutionRow<'_>| Some(execution_difference(row, execution, span));
        self.with(execution.key(), differs) == Some(None)
    }
}

impl ReadTxn<'_> {
    /// Compares a service's head, and what of its executions was not found to agree yet, with the
    /// fold of its chain.
    pub(super) fn compare_service(
        &self,
        service: &ServiceName,
        fold: &Fold,
        services: &mut Services,
        found: &mut Verification,
    ) -> Result<(), LedgerError> {
        services.walked.insert(service.to_string());
        let Fold::Service { state, version, spans } = fold else {
            services.broken.insert(service.to_string());
            return Ok(());
        };
        self.compare_head(service, &state.head, *version, found)?;
        for (key, execution) in &state.executions {
            let Some(span) = spans.get(key) else { continue };
            let what = format!("execution {key} of {service}");
            let mut is_there = false;
            let mut difference = None;
            let values = [Value::Text(key.as_str())];
            let done = self.engine().each(sql::READ_EXECUTION, &values, &mut |row| {
                let row = ExecutionRow::of(row)?;
                if row.service == service.as_str() {
                    is_there = true;
                    services.agreed.insert(row.position);
                    difference = execution_difference(&row, execution, *span);
                }
                Ok(ControlFlow::Break(()))
            });
            match done {
                Err(error) if !super::is_no_finding(&error) => {
                    found.report(Finding::Unreadable { place: what, problem: error.to_string() });
                }
                Err(error) => return Err(error),
                Ok(()) if !is_there => found.report(Finding::ProjectionMissing { what }),
                Ok(()) => {
                    if let Some(column) = difference {
                        found.report(Finding::ProjectionDiffers { what, column });
                    }
                }
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
        services: &Services,
        found: &mut Verification,
    ) -> Result<(), LedgerError> {
        let mut extra = Vec::new();
        let done = self.engine().each(sql::READ_SERVICES, &[], &mut |row| {
            let name = row.text(0)?;
            if !services.walked.contains(name) {
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
        for what in extra {
            found.report(Finding::ProjectionExtra { what });
        }
        if count != column(services.agreed.count()) {
            let done = self.engine().each(sql::READ_EXECUTIONS, &[], &mut |row| {
                let (position, key, service) = (row.int(0)?, row.text(1)?, row.text(2)?);
                if services.agreed.contains(position) || services.broken.contains(service) {
                    return Ok(ControlFlow::Continue(()));
                }
                let what = if services.walked.contains(service) {
                    format!("execution {key} of {service}")
                } else {
                    format!("execution {key:?} of {service:?}")
                };
                found.report(Finding::ProjectionExtra { what });
                Ok(ControlFlow::Continue(()))
            });
            found.tolerate(done)?;
        }
        Ok(())
    }

    /// The identity, the actuators and the policy.
    pub(super) fn compare_documents(
        &self,
        documents: Documents,
        found: &mut Verification,
    ) -> Result<(), LedgerError> {
        let Documents { identity, mut expected, placed, broken } = documents;
        if !broken.contains("placement") {
            self.compare_placement(placed, found)?;
        }
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

    /// The rows of the placement.
    fn compare_placement(
        &self,
        placed: Vec<(i64, Placed)>,
        found: &mut Verification,
    ) -> Result<(), LedgerError> {
        let named = placed.into_iter().map(|it| ((it.1.kind.to_owned(), it.1.name.clone()), it));
        let mut expected: BTreeMap<(String, String), (i64, Placed)> = named.collect();
        let done = self.engine().each(sql::READ_WHOLE_PLACEMENT, &[], &mut |row| {
            let (kind, name) = (row.text(0)?, row.text(1)?);
            let what = format!("{kind} {name:?} of the placement");
            let Some((version, it)) = expected.remove(&(kind.to_owned(), name.to_owned())) else {
                found.report(Finding::ProjectionExtra { what });
                return Ok(ControlFlow::Continue(()));
            };
            let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
            let columns = [
                ("version", row.int(2)? == version),
                ("live", row.int(3)? == i64::from(it.live)),
                ("idempotency_key", row.optional_text(4)? == it.key.as_deref()),
                ("body", value(row.text(5)?) == value(&it.body)),
            ];
            if let Some((column, _)) = columns.into_iter().find(|(_, is_same)| !is_same) {
                found.report(Finding::ProjectionDiffers { what, column });
            }
            Ok(ControlFlow::Continue(()))
        });
        let is_whole = done.is_ok();
        found.tolerate(done)?;
        for (kind, name) in expected.into_keys().filter(|_| is_whole) {
            let what = format!("{kind} {name:?} of the placement");
            found.report(Finding::ProjectionMissing { what });
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
