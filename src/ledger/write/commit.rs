//! The end of a write: durable, or not, or nobody knows.

use std::ops::ControlFlow;

use super::{Committed, WriteTxn};
use crate::crash::{self, CrashPoint};
use crate::ledger::error::LedgerError;
use crate::ledger::sql::{CommitError, Value};
use crate::ledger::statements as sql;

impl WriteTxn<'_> {
    fn commit_engine(&mut self) -> Result<(), CommitError> {
        let Some(is_durable) = crash::commit_error() else {
            return self.read.engine().commit();
        };
        if is_durable {
            self.read.engine().commit()?;
            self.read.open = false;
        }
        let (path, problem) = (self.path().to_owned(), "a test asked for it".to_owned());
        Err(CommitError::Unknown(LedgerError::Failed { doing: "commit to", path, problem }))
    }

    /// Makes everything durable, or nothing. Only [`LedgerError::CommitUnknown`] means that nobody
    /// knows which; this process writes nothing more to the ledger after it. A disk that was full
    /// is known to have taken nothing.
    pub fn commit(mut self) -> Result<Committed, LedgerError> {
        let (command_id, path) = (self.command_id.clone(), self.path().to_owned());
        if self.failed {
            return Err(LedgerError::Incomplete { command_id, path });
        }
        crash::hit(CrashPoint::BeforeCommit);
        let problem = match self.commit_engine() {
            Ok(()) => None,
            Err(CommitError::NotApplied(problem)) => return Err(problem),
            Err(CommitError::Unknown(problem)) => Some(problem),
            Err(CommitError::Lost(problem)) => match self.look_for_it() {
                Ok(Some(true)) => None,
                Ok(Some(false)) => {
                    let problem = problem.to_string();
                    return Err(LedgerError::NotCommitted { command_id, path, problem });
                }
                Ok(None) | Err(_) => Some(problem),
            },
        };
        if let Some(problem) = problem {
            self.read.ledger.poisoned_by = Some(command_id.clone());
            let was_moved = matches!(problem, LedgerError::Moved { .. });
            let problem = problem.to_string();
            return Err(LedgerError::CommitUnknown { command_id, path, problem, was_moved });
        }
        self.read.open = false;
        self.keep_committed();
        crash::hit(CrashPoint::AfterCommit);
        let identity = self.identity();
        let (ledger_id, incarnation) = (identity.ledger_id.clone(), identity.incarnation);
        Ok(Committed { command_id, ledger_id, incarnation })
    }

    /// Whether the lost COMMIT is there to stay; none where it has written nothing that could be
    /// looked for. Under the same locks, so that it is over: as long as the server still works on
    /// it, it holds them.
    fn look_for_it(&self) -> Result<Option<bool>, LedgerError> {
        let engine = self.read.engine();
        engine.begin_write(&self.reach.locks())?;
        let is_there = self.find_it();
        engine.rollback();
        if matches!(is_there, Ok(Some(true))) {
            engine.confirm()?;
        }
        match is_there {
            // The tables themselves were a part of it.
            Err(LedgerError::Missing { .. }) => Ok(Some(false)),
            is_there => is_there,
        }
    }

    fn find_it(&self) -> Result<Option<bool>, LedgerError> {
        let engine = self.read.engine();
        let Some((stream, tail)) = self.tails.first_key_value() else {
            return Ok(None);
        };
        let mut is_there = false;
        let name = stream.to_string();
        let values = [Value::Text(&name), Value::Int(tail.sequence)];
        engine.each(sql::READ_EVENT_HASH, &values, &mut |row| {
            is_there = row.bytes(0)? == tail.hash.as_bytes();
            Ok(ControlFlow::Break(()))
        })?;
        Ok(Some(is_there))
    }
}
