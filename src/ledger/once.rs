//! What one transaction asks for several times and is answered once.
//!
//! Owns answers that hold as long as the transaction lasts, because nobody else may change what
//! they are about meanwhile; what the transaction itself changes, it takes back.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::columns::number;
use super::error::LedgerError;
use super::read::{ReadTxn, Versioned};
use super::sql::Value;
use super::statements as sql;
use crate::domain::id::ExecutionKey;
use crate::domain::scale::execution::Execution;

/// What was answered.
#[derive(Default)]
pub(super) struct Once {
    /// Keys that were looked for and not found.
    absent: RefCell<BTreeSet<ExecutionKey>>,
    /// The number of the policy, once it was asked for.
    policy: Cell<Policy>,
}

/// What is known of the number of the policy.
#[derive(Clone, Copy, Default)]
enum Policy {
    /// Nobody has asked.
    #[default]
    Unread,
    /// It is this one, or there is none.
    Is(Option<u64>),
}

impl ReadTxn<'_> {
    /// One execution, whatever its service.
    pub fn find_execution(&self, key: &ExecutionKey) -> Result<Option<Execution>, LedgerError> {
        Ok(self.find_versioned(key)?.map(|found| found.value))
    }

    /// The same with its version. A key that is not there is looked for once: a decision asks for
    /// it several times.
    pub(super) fn find_versioned(
        &self,
        key: &ExecutionKey,
    ) -> Result<Option<Versioned<Execution>>, LedgerError> {
        if self.once.absent.borrow().contains(key) {
            return Ok(None);
        }
        let values = [Value::Text(key.as_str())];
        let found = self.find_executions(sql::READ_EXECUTION, &values, Some(1))?;
        if found.is_empty() {
            self.once.absent.borrow_mut().insert(key.clone());
        }
        Ok(found.into_iter().next())
    }

    /// Keys are there from now on.
    pub(super) fn are_there<'k>(&self, keys: impl IntoIterator<Item = &'k ExecutionKey>) {
        let mut absent = self.once.absent.borrow_mut();
        keys.into_iter().for_each(|key| {
            absent.remove(key);
        });
    }

    /// The number of the policy that holds: another one after every change. Cheap: the policy
    /// itself, which is long, is not read. Asked once: nobody else changes it under this
    /// transaction.
    pub fn policy_version(&self) -> Result<Option<u64>, LedgerError> {
        if let Policy::Is(known) = self.once.policy.get() {
            return Ok(known);
        }
        let mut version = None;
        let values = [Value::Text("policy"), Value::Text("current")];
        self.engine().each(sql::READ_DOCUMENT, &values, &mut |row| {
            let place = || "the version of the policy".to_owned();
            version = Some(number(self.path(), place, row.int(0)?)?);
            Ok(ControlFlow::Break(()))
        })?;
        self.once.policy.set(Policy::Is(version));
        Ok(version)
    }

    /// The policy is another one from now on.
    pub(super) fn policy_is_another(&self) {
        self.once.policy.set(Policy::Unread);
    }
}
