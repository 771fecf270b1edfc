//! Slots: which process is replica N.
//!
//! The lock of a slot file is held by a shim from before its birth until it has become the replica
//! or died. So once the lock was free under the workload's lock, the record is final: a start has
//! been recorded, or has died without becoming anything.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::LocalError;
use super::process::{Deadline, Host, Identity, Liveness};
use crate::adapters::durable::{open_lock, replace_file, try_lock};

/// How long a shim may take from its birth to its exec.
const SHIM_WAIT: Duration = Duration::from_secs(10);
/// The longest record that is read back.
const RECORD_BYTES_MAX: u64 = 64 * 1024;

/// What a slot file says. A file that says none of this, or that is cut short, was left by a shim
/// that died before it became the replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum Record {
    /// The process became the replica.
    Running { identity: Identity },
    /// As running, and it was decided to end it. It still counts while it lives.
    Stopping { identity: Identity },
    /// The command could not be executed.
    Failed { pid: i32, reason: String },
}

impl Record {
    /// What a text says; nothing of a process that cannot be a replica, which is signalled later.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(text).ok()?;
        let is_possible = match &record {
            Self::Running { identity } | Self::Stopping { identity } => identity.is_possible(),
            Self::Failed { .. } => true,
        };
        is_possible.then_some(record)
    }
}

/// A live replica.
#[derive(Debug, Clone)]
pub(super) struct Replica {
    pub(super) index: u64,
    pub(super) identity: Identity,
    stopping: bool,
}

impl Replica {
    pub(super) const fn is_stopping(&self) -> bool {
        self.stopping
    }
}

pub(super) fn slot_path(dir: &Path, index: u64) -> PathBuf {
    dir.join(format!("slot-{index}"))
}

/// The indexes of all slots that were ever used, in order.
pub(super) fn slot_indexes(dir: &Path) -> Result<Vec<u64>, LocalError> {
    let entries = fs::read_dir(dir).map_err(LocalError::io("listing", dir))?;
    let mut indexes = Vec::new();
    for entry in entries {
        let entry = entry.map_err(LocalError::io("listing", dir))?;
        let name = entry.file_name();
        let index: Option<u64> =
            name.to_str().and_then(|name| name.strip_prefix("slot-")?.parse().ok());
        indexes.extend(index);
    }
    indexes.sort_unstable();
    Ok(indexes)
}

/// Opens a slot and takes its lock, waiting for a shim that is on its way.
pub(super) fn lock_slot(path: &Path) -> Result<File, LocalError> {
    let file = open_lock(path)?;
    if lock_within(&file, SHIM_WAIT).map_err(LocalError::io("locking", path))? {
        Ok(file)
    } else {
        Err(LocalError::Busy { path: path.to_owned() })
    }
}

/// Takes an exclusive lock within a time. Returns whether it was taken.
pub(super) fn lock_within(file: &File, wait: Duration) -> io::Result<bool> {
    let mut problem = None;
    let taken = Deadline::after(wait).wait_until(|| match try_lock(file) {
        Ok(taken) => taken,
        Err(error) => {
            problem = Some(error);
            true
        }
    });
    match problem {
        Some(error) => Err(error),
        None => Ok(taken),
    }
}

/// What a slot says once no shim holds it.
pub(super) fn read_slot(path: &Path) -> Result<Option<Record>, LocalError> {
    let file = lock_slot(path)?;
    let mut text = Vec::new();
    file.take(RECORD_BYTES_MAX).read_to_end(&mut text).map_err(LocalError::io("reading", path))?;
    Ok(Record::read(&text))
}

/// The live replica in a slot, if there is one.
pub(super) fn live_in(dir: &Path, index: u64, host: &Host) -> Result<Option<Replica>, LocalError> {
    let path = slot_path(dir, index);
    let (identity, stopping) = match read_slot(&path)? {
        Some(Record::Running { identity }) => (identity, false),
        Some(Record::Stopping { identity }) => (identity, true),
        Some(Record::Failed { .. }) | None => return Ok(None),
    };
    match identity.liveness(host) {
        Liveness::Alive => Ok(Some(Replica { index, identity, stopping })),
        Liveness::Dead => Ok(None),
        Liveness::Elsewhere => Err(LocalError::Elsewhere { path }),
    }
}

/// Before a slot is used again: ends what its dead replica has left running, and empties it.
pub(super) fn clear_slot(dir: &Path, index: u64, host: &Host) -> Result<(), LocalError> {
    let path = slot_path(dir, index);
    if !path.exists() {
        return Ok(());
    }
    if let Some(Record::Running { identity } | Record::Stopping { identity }) = read_slot(&path)? {
        identity.kill_session(host);
    }
    let file = lock_slot(&path)?;
    file.set_len(0).map_err(LocalError::io("emptying", &path))
}

/// Records durably that a live replica is to end, before it is told.
pub(super) fn mark_stopping(dir: &Path, replica: &Replica) -> Result<(), LocalError> {
    let record = Record::Stopping { identity: replica.identity.clone() };
    let text = serde_json::to_vec(&record).expect("BUG: a slot record that is not JSON");
    // A live replica must never be missing from its slot, so the file is replaced whole.
    Ok(replace_file(dir, &format!("slot-{}", replica.index), &text)?)
}

/// Writes a record into a slot whose lock the caller holds and whose replica is dead.
pub(super) fn write_record(slot: &mut File, record: &Record) -> io::Result<()> {
    let text = serde_json::to_vec(record)?;
    slot.set_len(0)?;
    io::Seek::rewind(slot)?;
    slot.write_all(&text)?;
    slot.sync_all()
}
