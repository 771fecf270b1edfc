//! A part of a write that may fail alone, and a run that may not.

use super::WriteTxn;
use crate::domain::id::CommandId;
use crate::ledger::error::LedgerError;
use crate::ledger::statements as sql;
use crate::ledger::stream::Stream;

impl WriteTxn<'_> {
    /// Does a part of the write that may fail alone, and whose events are those of a run of its
    /// own: after an error nothing of the part remains, and the rest can still be committed. Every
    /// service must be read again after an error.
    pub fn part<T, E: From<LedgerError>>(
        &mut self,
        command_id: CommandId,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.engine().exec(sql::SAVEPOINT, &[])?;
        self.displaced.clear();
        let failed_before = self.failed;
        let whole = std::mem::replace(&mut self.command_id, command_id);
        let done = work(self);
        self.command_id = whole;
        if done.is_err() {
            let has_failed = self.failed;
            // Until it is undone nothing may be committed.
            self.failed = true;
            if let Err(error) = self.undo_part() {
                // Some failures end the whole transaction, and the savepoint with it: they say
                // more than what follows from them.
                return if has_failed { done } else { Err(error.into()) };
            }
            self.failed = failed_before;
        }
        self.engine().exec(sql::RELEASE_SAVEPOINT, &[])?;
        done
    }

    /// Does one run of several that are written together. Costs less than a part, and is no part:
    /// an error after something was written fails the whole write ([`Self::has_failed`]).
    pub fn run<T, E: From<LedgerError>>(
        &mut self,
        command_id: CommandId,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.displaced.clear();
        let whole = std::mem::replace(&mut self.command_id, command_id);
        let done = work(self);
        self.command_id = whole;
        self.failed |= done.is_err() && !self.displaced.is_empty();
        done
    }

    fn undo_part(&mut self) -> Result<(), LedgerError> {
        self.engine().exec(sql::ROLLBACK_TO_SAVEPOINT, &[])?;
        // What was written before the part is still a part of the COMMIT.
        while let Some((stream, before)) = self.displaced.pop() {
            if let Stream::Service(service) = &stream {
                self.loaded.remove(service);
            }
            match before {
                Some(tail) => self.tails.insert(stream, tail),
                None => self.tails.remove(&stream),
            };
        }
        Ok(())
    }
}
