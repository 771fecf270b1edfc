//! How a ledger comes to be: its tables, its identity and its first event, whole or not at all.

use std::path::{Path, PathBuf};

use super::sql::Engine;
use super::{
    Ledger, LedgerError, LedgerIdentity, Location, OpenOptions, Reach, ReadTxn, ServerAddress,
    WriteTxn, postgres, sqlite,
};
use crate::domain::id::{CommandId, LedgerId};
use crate::domain::registry::{RegistryBody, RegistryEvent};
use crate::domain::scale::provenance::Provenance;
use crate::domain::time::Timestamp;

/// What a new ledger is called; minted by the caller.
#[derive(Debug, Clone)]
pub struct CreateOptions {
    /// Its identity.
    pub ledger_id: LedgerId,
    /// The run of the command that makes it.
    pub command_id: CommandId,
    /// How to open it afterwards.
    pub open: OpenOptions,
    /// The number of the group of the operating system that shares its file; none for one user.
    pub group: Option<u32>,
}

impl Ledger {
    /// Makes a ledger and opens it. Only `init` and `quickstart` do this. It appears whole or not
    /// at all: it is made under another name and linked to its own when it is complete.
    pub fn create(
        location: &Location,
        by: &Provenance,
        at: Timestamp,
        options: &CreateOptions,
    ) -> Result<Self, LedgerError> {
        let path = match location {
            Location::File(path) => {
                Self::create_file(path, by, at, options)?;
                path.clone()
            }
            Location::Server(address) => {
                Self::create_schema(address, by, at, options)?;
                address.shown().into()
            }
        };
        Self::open(location, options.open)
            .map_err(|error| LedgerError::MadeUnopened { path, problem: error.to_string() })
    }

    fn create_file(
        path: &Path,
        by: &Provenance,
        at: Timestamp,
        options: &CreateOptions,
    ) -> Result<(), LedgerError> {
        let draft = sqlite::Draft::begin_for(path, options.ledger_id.as_str(), options.group)?;
        let engine = draft.connect(options.open.lock_timeout)?;
        let path = draft.path().to_owned();
        let mut ledger = Self::new(Box::new(engine), options, "sqlite", path.clone());
        let mut txn = ledger.write_unchecked(options.command_id.clone(), Reach::registry())?;
        txn.append_registry(&created(by, at, options))?;
        let _committed = txn.commit().map_err(|error| LedgerError::Failed {
            doing: "create",
            path,
            // Not unknown: without its link the ledger does not exist.
            problem: error.to_string(),
        })?;
        drop(ledger);
        draft.publish()
    }

    fn create_schema(
        address: &ServerAddress,
        by: &Provenance,
        at: Timestamp,
        options: &CreateOptions,
    ) -> Result<(), LedgerError> {
        let reach = Reach::registry();
        let engine = postgres::PostgresEngine::create(address, options.open, &reach.locks())?;
        let mut ledger = Self::new(Box::new(engine), options, "postgres", address.shown().into());
        let command_id = options.command_id.clone();
        let read = ReadTxn::begun(&mut ledger);
        let mut txn = WriteTxn::new(read, command_id, reach);
        let at = txn.now().unwrap_or(at);
        let by = Provenance { db_role: txn.engine().role(), ..by.clone() };
        txn.append_registry(&created(&by, at, options))?;
        txn.commit().map(|_| ())
    }

    fn new(
        engine: Box<dyn Engine>,
        options: &CreateOptions,
        name: &'static str,
        path: PathBuf,
    ) -> Self {
        let identity = LedgerIdentity {
            ledger_id: options.ledger_id.clone(),
            incarnation: 1,
            engine: name,
            path,
            schema_version: sqlite::schema_version(),
        };
        Self::of(engine, identity)
    }
}

fn created(by: &Provenance, at: Timestamp, options: &CreateOptions) -> RegistryEvent {
    let body = RegistryBody::LedgerCreated { ledger_id: options.ledger_id.clone(), incarnation: 1 };
    RegistryEvent { at, by: by.clone(), body }
}
