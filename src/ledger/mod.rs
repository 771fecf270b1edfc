//! The ledger: the only home of SQL, and the authority on what has happened.
//!
//! # Contract
//! Owns the append-only `event` table, one hash chain per [`Stream`], and its projections, which
//! are written in the same transaction and can always be derived again. Never decides anything,
//! never reads a clock, never leaves a transaction open across a child. After a crash at any point
//! either the whole transaction is there or nothing of it. [`WriteTxn::commit`] answers
//! [`Committed`] only after the operating system has said that the write is on the disk; an error
//! from COMMIT is [`LedgerError::CommitUnknown`], and every other error means that nothing was
//! recorded.
//!
//! # Locking
//! One writer of a chain at a time (of the whole ledger, in a file); it waits for the others up to
//! the lock timeout, then gives [`LedgerError::Busy`]. Readers see one snapshot and wait for
//! nobody. No other descriptor of this process may touch the files while a [`Ledger`] is open:
//! closing any drops all of its locks.
//!
//! # Compatibility
//! Migrations are an ordered list that is never edited. [`Ledger::create`] and copies apply all of
//! them, [`Ledger::migrate`] and a restore those that are missing; nothing else does. A newer
//! ledger is refused, and so is an older one until it is migrated.
//!
//! # File systems
//! Network file systems are refused, because locks do not hold there. A new directory has mode
//! 0700, the files 0600; for a group 2770 and 0660. `docs/ledger.md` says all of this for users.

mod ahead;
mod changed;
mod columns;
mod create;
mod error;
pub mod life;
mod once;
mod postgres;
mod reach;
mod read;
mod recent;
mod signers;
mod sql;
mod sqlite;
mod statements;
mod stream;
#[cfg(test)]
mod tests;
mod verify;
mod waiting;
mod write;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use columns::StoredEvent;
pub use create::CreateOptions;
pub use error::{ErrorClass, LedgerError};
pub use postgres::{AddressError, ServerAddress, Surroundings};
pub use reach::Reach;
pub use read::{EventFilter, ExecutionFilter, Order, ReadTxn};
pub use sqlite::mount_type;
pub use stream::{Head, InvalidStream, Stream};
pub use verify::{Depth, FINDINGS_LISTED_MAX, Finding, Verification};
pub use waiting::{Sought, WhileAsked, WhileLocked};
pub use write::{Committed, WriteTxn};

use crate::domain::id::{CommandId, ExecutionKey, LedgerId};
use crate::domain::time::{DurationMs, Timestamp};
use sql::Engine;
use waiting::Patience;

/// How long a command waits for another writer unless told otherwise.
pub const LOCK_TIMEOUT_DEFAULT: DurationMs = DurationMs::from_secs(5);
/// The longest such wait. SQLite counts it in 31 bits of milliseconds, PostgreSQL too.
pub const LOCK_TIMEOUT_MAX: DurationMs = DurationMs::from_secs(86_400);

/// Where a ledger is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A SQLite database in a file.
    File(PathBuf),
    /// A schema of a PostgreSQL server.
    Server(ServerAddress),
}

impl Location {
    /// The place in full: it leads there whatever the environment, a settings file or the current
    /// directory is later. What a seal keeps, and is compared with.
    pub fn place(&self) -> String {
        match self {
            Self::File(path) => sqlite::canonical(path).display().to_string(),
            Self::Server(address) => address.place(),
        }
    }
}

/// How to open a ledger.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    /// How long to wait for another writer.
    pub lock_timeout: DurationMs,
    /// How long to wait for a server, where its usual patience is more than the caller has.
    pub answer_within: Option<Duration>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { lock_timeout: LOCK_TIMEOUT_DEFAULT, answer_within: None }
    }
}

/// Which ledger it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerIdentity {
    /// Minted when it was made.
    pub ledger_id: LedgerId,
    /// 1, and one more whenever it was restored.
    pub incarnation: u64,
    /// `sqlite` or `postgres`.
    pub engine: &'static str,
    /// The file, as an absolute path; or the server, without a password.
    pub path: PathBuf,
    /// The version of its tables.
    pub schema_version: i64,
}

/// An open ledger. One transaction at a time; for more, open it again.
pub struct Ledger {
    engine: Box<dyn Engine>,
    identity: LedgerIdentity,
    poisoned_by: Option<CommandId>,
    patience: Option<Patience>,
    /// What is kept of the services that were written; none where nobody asked for it.
    kept: Option<write::Kept>,
}

impl Ledger {
    /// Opens a ledger that is there. Creates nothing where there is none.
    pub fn open(location: &Location, options: OpenOptions) -> Result<Self, LedgerError> {
        let (engine, name, path, schema_version): (Box<dyn Engine>, _, _, _) = match location {
            Location::File(path) => {
                let (path, engine) = sqlite::open(path, options.lock_timeout)?;
                (Box::new(engine), "sqlite", path, sqlite::schema_version())
            }
            Location::Server(address) => {
                // Leaves a transaction open, in which the identity is read.
                let engine = postgres::PostgresEngine::open(address, options)?;
                let version = postgres::schema_version();
                (Box::new(engine), "postgres", address.shown().into(), version)
            }
        };
        let identity = read_identity(engine.as_ref(), name, &path, schema_version)?;
        Ok(Self::of(engine, identity))
    }

    fn of(engine: Box<dyn Engine>, identity: LedgerIdentity) -> Self {
        Self { engine, identity, poisoned_by: None, patience: None, kept: None }
    }

    /// What the clock of the database said when it was last asked; none where the clock of this
    /// host is the clock.
    pub fn now(&self) -> Option<Timestamp> {
        self.engine.now()
    }

    /// Whom the server of the ledger knows at the other end; none where there is no server.
    pub fn role(&self) -> Option<String> {
        self.engine.role()
    }

    /// Which ledger it is.
    pub const fn identity(&self) -> &LedgerIdentity {
        &self.identity
    }

    /// Whether an earlier COMMIT of this process failed, so that it writes nothing more.
    pub const fn is_poisoned(&self) -> bool {
        self.poisoned_by.is_some()
    }

    /// Makes sure that what this process has read, and answers with as recorded, would survive as
    /// what it had written itself. No transaction is open.
    pub fn confirm(&self) -> Result<(), LedgerError> {
        self.engine.confirm()
    }

    /// Begins to read one snapshot.
    pub fn read(&mut self) -> Result<ReadTxn<'_>, LedgerError> {
        self.engine.begin_read()?;
        Ok(ReadTxn::begun(self))
    }

    /// Begins to write to the chains of `reach`, alone. `command_id` is random, one per run of a
    /// command.
    pub fn write(
        &mut self,
        command_id: CommandId,
        reach: Reach,
    ) -> Result<WriteTxn<'_>, LedgerError> {
        self.write_about(command_id, reach, &[])
    }

    /// The same, and tells which keys it will be about.
    pub fn write_about(
        &mut self,
        command_id: CommandId,
        reach: Reach,
        keys: &[ExecutionKey],
    ) -> Result<WriteTxn<'_>, LedgerError> {
        if let Some(command_id) = self.poisoned_by.clone() {
            return Err(LedgerError::Poisoned { command_id, path: self.identity.path.clone() });
        }
        let reach = reach.about(keys);
        let services = reach.named_services();
        self.begin_write(&reach.locks(), &ahead::of_write(&services, keys))?;
        drop(services);
        let txn = WriteTxn::new(ReadTxn::begun(self), command_id, reach);
        txn.check_writable()?;
        Ok(txn)
    }

    /// The same for a ledger that is not there yet.
    fn write_unchecked(
        &mut self,
        command_id: CommandId,
        reach: Reach,
    ) -> Result<WriteTxn<'_>, LedgerError> {
        self.begin_write(&reach.locks(), &[])?;
        Ok(WriteTxn::new(ReadTxn::begun(self), command_id, reach))
    }
}

fn read_identity(
    engine: &dyn Engine,
    name: &'static str,
    path: &Path,
    schema_version: i64,
) -> Result<LedgerIdentity, LedgerError> {
    let place = || "its identity".to_owned();
    let mut identity = None;
    let read = engine.each(statements::READ_IDENTITY, &[], &mut |row| {
        engine.knows(row.text(0)?, row.int(1)?);
        identity = Some(LedgerIdentity {
            ledger_id: columns::parsed(path, place, row.text(0)?)?,
            incarnation: columns::number(path, place, row.int(1)?)?,
            engine: name,
            path: path.to_owned(),
            schema_version,
        });
        Ok(ControlFlow::Break(()))
    });
    engine.rollback();
    read?;
    identity.ok_or_else(|| match name {
        // The tables of a copy are there before it is: see `life/copy.rs`.
        "postgres" => LedgerError::Unfinished { path: path.to_owned() },
        _ => columns::nonsense(path, place(), "there is none"),
    })
}
