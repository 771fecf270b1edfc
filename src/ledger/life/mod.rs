//! A ledger's life: backups, restores, moves to another place, and newer tables.
//!
//! # Contract
//! Of one ledger at most one place takes writes, at every instant and after every crash. A ledger
//! is sealed before its copy opens; a copy is held against its events before it gets its name; a
//! restored ledger has another incarnation and higher fences before anybody can open it. What was
//! not finished is gone on with by the same line again, or leaves a hidden file that nothing reads.

mod backup;
mod copy;
pub mod examine;
mod restore;

use std::ops::ControlFlow;
use std::path::Path;

pub use backup::{Backup, BackupOrder, backup};
pub use copy::{Begun, Move, Opening, Pulled};
pub use restore::{Lost, RestoreOrder, Restored, Restoring};

use super::error::LedgerError;
use super::reach::Reach;
use super::read::ReadTxn;
use super::verify::{Depth, Verification};
use super::write::WriteTxn;
use super::{Ledger, LedgerIdentity, Location, OpenOptions, columns, postgres, sqlite, statements};
use crate::domain::id::CommandId;
use crate::domain::registry::{ChainHead, RegistryBody, RegistryEvent};

/// Whether a ledger takes writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Open,
    /// It has moved.
    Sealed {
        /// Where to.
        to: String,
    },
    /// It is a backup.
    Backup,
}

/// From which tables to which a ledger was brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version that was found.
    pub from: i64,
    /// The version that it has now.
    pub to: i64,
}

impl Ledger {
    /// Brings an older ledger up to the tables of this program, in one transaction.
    pub fn migrate(location: &Location, options: OpenOptions) -> Result<Migrated, LedgerError> {
        match location {
            Location::File(path) => {
                let (_, engine) = sqlite::open_as_it_is(path, options.lock_timeout)?;
                let from = sqlite::bring_up(&engine)?;
                Ok(Migrated { from, to: sqlite::schema_version() })
            }
            Location::Server(address) => {
                let locks = Reach::everything().locks();
                let from = postgres::PostgresEngine::bring_up(address, options, &locks)?;
                Ok(Migrated { from, to: postgres::schema_version() })
            }
        }
    }

    /// Begins to write to all of it: everybody else is out.
    pub fn write_whole(&mut self, command_id: CommandId) -> Result<WriteTxn<'_>, LedgerError> {
        self.write(command_id, Reach::everything())
    }

    /// The same, also of a ledger that takes no writes.
    pub fn write_whole_anyway(
        &mut self,
        command_id: CommandId,
    ) -> Result<WriteTxn<'_>, LedgerError> {
        self.write_unchecked(command_id, Reach::everything())
    }

    fn of_file(engine: sqlite::SqliteEngine, identity: LedgerIdentity, path: &Path) -> Self {
        let identity = LedgerIdentity { engine: "sqlite", path: path.to_owned(), ..identity };
        Self::of(Box::new(engine), identity)
    }
}

impl ReadTxn<'_> {
    /// Whether it takes writes, and which incarnation is there now.
    pub fn standing(&self) -> Result<(Standing, u64), LedgerError> {
        let (seal, incarnation) = self.read_standing()?;
        let standing = match seal {
            _ if self.engine().is_backup() => Standing::Backup,
            Some(RegistryBody::LedgerSealed { to, .. }) => Standing::Sealed { to },
            _ => Standing::Open,
        };
        Ok((standing, incarnation))
    }

    /// Refuses what the first write would be refused for, as far as that is known without a lock: a
    /// role that may only read, a server that is a standby.
    pub fn check_may_write(&self) -> Result<(), LedgerError> {
        self.engine().check_may_write()
    }

    /// The incarnation in which it goes on where it has moved to, once that was about to open.
    pub fn opens_elsewhere(&self) -> Result<Option<u64>, LedgerError> {
        Ok(match self.seal()? {
            Some(RegistryBody::LedgerSealed { opens, .. }) => opens,
            _ => None,
        })
    }

    /// What has sealed it, while it is sealed.
    fn seal(&self) -> Result<Option<RegistryBody>, LedgerError> {
        Ok(self.read_standing()?.0)
    }

    fn read_standing(&self) -> Result<(Option<RegistryBody>, u64), LedgerError> {
        let mut found = (None, self.identity().incarnation);
        let place = || "its identity".to_owned();
        self.engine().each(statements::READ_STANDING, &[], &mut |row| {
            found.1 = columns::number(self.path(), place, row.int(1)?)?;
            if let Some(body) = row.optional_text(2)? {
                let event: RegistryEvent = columns::json(self.path(), place, body)?;
                found.0 = Some(event.body);
            }
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Refuses a write to what is not, or not any more, the one place that takes writes. Read after
    /// the locks: whoever held them may have sealed it.
    pub(super) fn check_writable(&self) -> Result<(), LedgerError> {
        let (standing, found) = self.standing()?;
        let (path, known) = (self.path().to_owned(), self.identity().incarnation);
        match standing {
            Standing::Sealed { to } => Err(LedgerError::Sealed { path, to }),
            Standing::Backup => Err(LedgerError::IsBackup { path }),
            Standing::Open if found != known => {
                Err(LedgerError::Reincarnated { path, found, known })
            }
            Standing::Open => Ok(()),
        }
    }

    /// The ends of all chains, as an event keeps them.
    pub fn chain_heads(&self) -> Result<Vec<ChainHead>, LedgerError> {
        let heads = self.stream_heads()?.into_iter();
        Ok(heads
            .map(|head| ChainHead {
                stream: head.stream.to_string(),
                sequence: head.sequence,
                hash: head.hash,
            })
            .collect())
    }

    /// Verifies it, and refuses it where anything is wrong.
    fn verify_whole(&self) -> Result<Verification, LedgerError> {
        let found = self.verify(&[], Depth::Quick)?;
        match found.findings.first() {
            None => Ok(found),
            Some(first) => Err(LedgerError::Unsound {
                path: self.path().to_owned(),
                problem: format!("{first} ({} findings in all)", found.findings_count),
            }),
        }
    }
}
