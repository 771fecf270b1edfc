//! The placement, read: rows in, types out. What does not fit is an error that names the row.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use super::columns::{document, json, nonsense};
use super::error::LedgerError;
use super::read::ReadTxn;
use super::sql::{Row, Statement, Value};
use super::statements as sql;
use crate::domain::id::{EnvironmentName, IdempotencyKey, OperationId};
use crate::domain::placement::environment::Environment;
use crate::domain::placement::event::PlacementBody;
use crate::domain::placement::operation::Operation;
use crate::domain::placement::state::PlacementState;

/// The kinds of rows, as their column says them.
const KINDS: [&str; 9] = [
    "location",
    "cell",
    "profile",
    "policy",
    "pool",
    "usage",
    "relocator",
    "environment",
    "operation",
];

/// The kind of a row, as one of ours.
fn kind_of(text: &str) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| *kind == text)
}

/// One row as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) live: bool,
    pub(super) key: Option<String>,
    pub(super) body: String,
}

/// The rows that one event is about; its operation has already become what the event made of it.
pub(super) fn touched(state: &PlacementState, body: &PlacementBody) -> Vec<Placed> {
    let named = |kind, name: &dyn ToString, body: String| Placed {
        kind,
        name: name.to_string(),
        live: true,
        key: None,
        body,
    };
    match body {
        PlacementBody::LocationPut { location, .. } => {
            vec![named("location", &location.name, document(location))]
        }
        PlacementBody::CellPut { cell, .. } => vec![named("cell", &cell.name, document(cell))],
        PlacementBody::ProfileRegistered { profile, .. } => {
            vec![named("profile", &profile.name, document(profile))]
        }
        PlacementBody::PlacementPolicyPut { policy, .. } => {
            vec![named("policy", &policy.name, document(policy))]
        }
        PlacementBody::PoolPut { pool, .. } => vec![named("pool", &pool.name, document(pool))],
        PlacementBody::UsageRecorded { usage, .. } => {
            vec![named("usage", &usage.environment, document(usage))]
        }
        PlacementBody::RelocatorRegistered { relocator, .. } => {
            vec![named("relocator", &relocator.name, document(relocator))]
        }
        PlacementBody::EnvironmentAdopted { environment, .. } => {
            of_environment(state, &environment.name)
        }
        _ => {
            let operation = body.operation_id().and_then(|id| state.operations.get(id));
            let Some(operation) = operation else { return Vec::new() };
            let mut rows = of_environment(state, &operation.environment);
            rows.push(of_operation(operation));
            rows
        }
    }
}

fn of_environment(state: &PlacementState, name: &EnvironmentName) -> Vec<Placed> {
    let found = state.environments.get(name);
    let row = |environment| Placed {
        kind: "environment",
        name: name.to_string(),
        live: true,
        key: None,
        body: document(environment),
    };
    found.map(row).into_iter().collect()
}

fn of_operation(operation: &Operation) -> Placed {
    Placed {
        kind: "operation",
        name: operation.operation_id.to_string(),
        live: !operation.course.is_over(),
        key: Some(operation.key.to_string()),
        body: document(operation),
    }
}

/// One row, as it was read.
struct Found<'r> {
    kind: &'r str,
    name: &'r str,
    version: i64,
    live: bool,
    key: Option<&'r str>,
    body: &'r str,
}

impl<'r> Found<'r> {
    fn of(row: &'r dyn Row) -> Result<Self, LedgerError> {
        Ok(Self {
            kind: row.text(0)?,
            name: row.text(1)?,
            version: row.int(2)?,
            live: row.int(3)? == 1,
            key: row.optional_text(4)?,
            body: row.text(5)?,
        })
    }

    fn read<T: serde::de::DeserializeOwned>(&self, path: &Path) -> Result<T, LedgerError> {
        json(path, || self.place(), self.body)
    }

    fn place(&self) -> String {
        format!("{} {:?} of the placement", self.kind, self.name)
    }

    /// Keeps a document under the name that it gives itself; answers whether that is the row's.
    fn keep<K: Ord + ToString, T: serde::de::DeserializeOwned>(
        &self,
        path: &Path,
        map: &mut BTreeMap<K, T>,
        name: impl Fn(&T) -> K,
    ) -> Result<bool, LedgerError> {
        let it: T = self.read(path)?;
        let key = name(&it);
        let is_same = key.to_string() == self.name;
        map.insert(key, it);
        Ok(is_same)
    }

    /// Puts what the row says into a state. Its columns must say what its document says.
    fn put_into(&self, state: &mut PlacementState, path: &Path) -> Result<(), LedgerError> {
        let is_same = match self.kind {
            "location" => self.keep(path, &mut state.locations, |it| it.name.clone()),
            "cell" => self.keep(path, &mut state.cells, |it| it.name.clone()),
            "profile" => self.keep(path, &mut state.profiles, |it| it.name.clone()),
            "policy" => self.keep(path, &mut state.policies, |it| it.name.clone()),
            "pool" => self.keep(path, &mut state.pools, |it| it.name.clone()),
            "usage" => self.keep(path, &mut state.usages, |it| it.environment.clone()),
            "relocator" => self.keep(path, &mut state.relocators, |it| it.name.clone()),
            "environment" => self.keep(path, &mut state.environments, |it| it.name.clone()),
            "operation" => {
                let operation: Operation = self.read(path)?;
                let says = self.live != operation.course.is_over()
                    && self.key == Some(operation.key.as_str());
                let map = &mut state.operations;
                self.keep(path, map, |it: &Operation| it.operation_id.clone()).map(|is| is && says)
            }
            _ => Ok(false),
        };
        if is_same? {
            return Ok(());
        }
        Err(nonsense(path, self.place(), "its columns contradict its document"))
    }
}

impl ReadTxn<'_> {
    /// All that is registered and placed, with the operations that are not over, those that are
    /// named, and that of a key.
    pub fn placement(
        &self,
        named: &[OperationId],
        key: Option<&IdempotencyKey>,
    ) -> Result<PlacementState, LedgerError> {
        self.placement_with(named, key, &mut |_, _, _| {})
    }

    /// The same, and tells the version of each row.
    pub(super) fn placement_with(
        &self,
        named: &[OperationId],
        key: Option<&IdempotencyKey>,
        version_of: &mut dyn FnMut(&'static str, &str, i64),
    ) -> Result<PlacementState, LedgerError> {
        let mut state = PlacementState::default();
        let mut read = |statement: Statement, values: &[Value<'_>]| {
            self.engine().each(statement, values, &mut |row| {
                let found = Found::of(row)?;
                found.put_into(&mut state, self.path())?;
                if let Some(kind) = kind_of(found.kind) {
                    version_of(kind, found.name, found.version);
                }
                Ok(ControlFlow::Continue(()))
            })
        };
        read(sql::READ_PLACEMENT, &[])?;
        for id in named {
            read(sql::READ_PLACED, &[Value::Text("operation"), Value::Text(id.as_str())])?;
        }
        if let Some(key) = key {
            read(sql::READ_PLACED_BY_KEY, &[Value::Text(key.as_str())])?;
        }
        Ok(state)
    }

    /// The placement with every operation that there ever was.
    pub fn whole_placement(&self) -> Result<PlacementState, LedgerError> {
        let mut state = PlacementState::default();
        self.engine().each(sql::READ_WHOLE_PLACEMENT, &[], &mut |row| {
            Found::of(row)?.put_into(&mut state, self.path())?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(state)
    }

    /// One environment.
    pub fn environment(&self, name: &EnvironmentName) -> Result<Option<Environment>, LedgerError> {
        let mut state = PlacementState::default();
        let values = [Value::Text("environment"), Value::Text(name.as_str())];
        self.engine().each(sql::READ_PLACED, &values, &mut |row| {
            Found::of(row)?.put_into(&mut state, self.path())?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(state.environments.remove(name))
    }
}

impl ReadTxn<'_> {
    /// One environment with the change of it that is not over.
    pub fn environment_at_work(
        &self,
        name: &EnvironmentName,
    ) -> Result<Option<(Environment, Option<Operation>)>, LedgerError> {
        let Some(environment) = self.environment(name)? else { return Ok(None) };
        let Some(id) = &environment.operation else { return Ok(Some((environment, None))) };
        let mut state = PlacementState::default();
        let values = [Value::Text("operation"), Value::Text(id.as_str())];
        self.engine().each(sql::READ_PLACED, &values, &mut |row| {
            Found::of(row)?.put_into(&mut state, self.path())?;
            Ok(ControlFlow::Break(()))
        })?;
        let operation = state.operations.remove(id);
        Ok(Some((environment, operation)))
    }
}

/// Every row that a state must have.
pub(super) fn rows_of(state: &PlacementState) -> Vec<Placed> {
    fn all<K: ToString, T: serde::Serialize>(
        kind: &'static str,
        map: &BTreeMap<K, T>,
    ) -> impl Iterator<Item = Placed> {
        map.iter().map(move |(name, it)| Placed {
            kind,
            name: name.to_string(),
            live: true,
            key: None,
            body: document(it),
        })
    }
    let rows = all("location", &state.locations)
        .chain(all("cell", &state.cells))
        .chain(all("profile", &state.profiles))
        .chain(all("policy", &state.policies))
        .chain(all("pool", &state.pools))
        .chain(all("usage", &state.usages))
        .chain(all("relocator", &state.relocators))
        .chain(all("environment", &state.environments))
        .chain(state.operations.values().map(of_operation));
    rows.collect()
}
