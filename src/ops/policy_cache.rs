//! The policy that a session has loaded, and its answers inside a transaction.
//!
//! Owns when the stored policy is read and parsed: once, and again only after it was replaced.
//! Inside a transaction it always answers with the policy that the transaction sees. Writes
//! nothing, so a crash has nothing to undo.

use std::cell::RefCell;

use super::error::OpError;
use crate::domain::scale::policy::{Counted, PolicyAnswer, PolicyGate, PolicyQuery};
use crate::ledger::{ReadTxn, WriteTxn};
use crate::policy::{NoPolicy, PolicyEngine};

/// The policy as last read.
pub(super) enum PolicyCache {
    /// It was not read yet.
    Empty,
    /// There was none.
    None,
    /// It was this one, stored under this version.
    Engine {
        /// The version.
        version: u64,
        /// The rules.
        engine: Box<PolicyEngine>,
    },
}

impl PolicyCache {
    /// Nothing was read yet.
    pub(super) const EMPTY: Self = Self::Empty;

    /// Whether nothing was read yet.
    pub(super) const fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Reads the policy that `read` sees, unless it is the one that is here.
    pub(super) fn refresh(&mut self, read: &ReadTxn<'_>) -> Result<(), OpError> {
        let stored = read.policy_version()?;
        let is_current = match (&self, stored) {
            (Self::None, None) => true,
            (Self::Engine { version, .. }, Some(stored)) => *version == stored,
            (Self::Empty | Self::None | Self::Engine { .. }, _) => false,
        };
        if is_current {
            return Ok(());
        }
        *self = match (stored, read.policy()?) {
            (Some(version), Some(policy)) => {
                let engine = Box::new(PolicyEngine::of_document(&policy.document)?);
                Self::Engine { version, engine }
            }
            _ => Self::None,
        };
        Ok(())
    }

    /// What of the recent changes the policy that was read looks at.
    pub(super) const fn counted(&self) -> Counted {
        match self {
            Self::Empty | Self::None => Counted::Nothing,
            Self::Engine { engine, .. } => engine.counted(),
        }
    }

    /// Whether a write lacks a lock that the policy wants which it sees: one that came after ours
    /// was read and before the locks were taken. The same write with that lock is past this.
    pub(super) fn lacks_a_lock(&mut self, txn: &WriteTxn<'_>) -> Result<bool, OpError> {
        if self.is_empty() || txn.counts() {
            return Ok(false);
        }
        self.refresh(txn)?;
        Ok(self.counted() == Counted::OfLedger)
    }

    /// Whoever answers by what was read.
    pub(super) fn gate(&self) -> &dyn PolicyGate {
        let gate: Option<&dyn PolicyGate> = match self {
            Self::Empty => None,
            Self::None => Some(&NoPolicy),
            Self::Engine { engine, .. } => Some(engine.as_ref()),
        };
        gate.expect("BUG: the policy is asked before it was read")
    }
}

/// The answers of the policy that a transaction sees. It is read at the first question.
pub(super) struct PolicyInTxn<'t, 'a> {
    read: &'t ReadTxn<'a>,
    state: RefCell<State<'t>>,
}

struct State<'t> {
    cache: &'t mut PolicyCache,
    is_read: bool,
    failed: Option<OpError>,
}

impl<'t, 'a> PolicyInTxn<'t, 'a> {
    /// Answers by what `read` sees; `cache` saves reading it again.
    pub(super) fn new(read: &'t ReadTxn<'a>, cache: &'t mut PolicyCache) -> Self {
        Self { read, state: RefCell::new(State { cache, is_read: false, failed: None }) }
    }

    /// Gives up the transaction. An error means that the answers were none, whatever was decided
    /// by them.
    pub(super) fn finish(self) -> Result<(), OpError> {
        self.state.into_inner().failed.map_or(Ok(()), Err)
    }
}

impl PolicyGate for PolicyInTxn<'_, '_> {
    fn answer(&self, query: &PolicyQuery) -> PolicyAnswer {
        let mut state = self.state.borrow_mut();
        if !state.is_read {
            state.is_read = true;
            state.failed = state.cache.refresh(self.read).err();
        }
        match &state.failed {
            None => state.cache.gate().answer(query),
            Some(error) => PolicyAnswer {
                allowed: false,
                action: query.action,
                rules: Vec::new(),
                errors: vec![error.to_string()],
                policy_digest: None,
            },
        }
    }
}
