//! What a workload remembers: its identity, its owner, its fences and its journal.
//!
//! Never holds the count, which is read from the processes. The file is replaced whole and synced
//! before an effect and after it, so a crash leaves a journal that says at most too little about
//! what was finished, and never too little about what was begun.

use std::fs::{self, DirBuilder, File};
use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::process::Host;
use super::slot::{self, Replica};
use super::{LocalConfig, LocalError};
use crate::actuator::protocol::{ApplyReply, ApplyRequest, LedgerIdentity};
use crate::adapters::durable::{open_lock, replace_file, sync_dir};
use crate::domain::canonical::DOCUMENT_BYTES_MAX;
use crate::domain::digest::sha256_hex;
use crate::domain::id::{
    ExecutionKey, FenceToken, IDENTIFIER_BYTES_MAX, LeaseEpoch, Replicas, TargetResourceVersion,
    TargetUid, WorkloadId,
};
use crate::domain::time::DurationMs;

/// How many keys are remembered. Older ones are forgotten only once their fence is behind, so that
/// a late call of a forgotten key is still refused.
const JOURNAL_ENTRIES_MAX: usize = 256;
const FORMAT: u32 = 1;
const STATE_FILE: &str = "state.json";
/// Holds the workload where its folder is called by a digest.
const NAME_FILE: &str = "name";

/// A fence's place in the order of fences.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize,
)]
pub(super) struct Rank {
    epoch: u64,
    token: u64,
}

impl Rank {
    pub(super) const fn of(epoch: LeaseEpoch, token: FenceToken) -> Self {
        Self { epoch: epoch.get(), token: token.get() }
    }

    pub(super) const fn of_apply(apply: &ApplyRequest) -> Self {
        let fence = &apply.request.lease.fence;
        Self::of(fence.lease_epoch, fence.fence_token)
    }
}

impl std::fmt::Display for Rank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.epoch, self.token)
    }
}

/// Calls below this have no effect any more.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize,
)]
pub(super) struct Mark {
    pub(super) rank: Rank,
    pub(super) attempt: u64,
}

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) key: ExecutionKey,
    pub(super) rank: Rank,
    /// The newest attempt that was begun or refused for ever.
    pub(super) attempt: u64,
    pub(super) outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(super) enum Outcome {
    /// Nothing was begun, and this attempt and all below are refused from now on.
    Refused,
    /// Begun. If nobody holds the workload's lock, the call has died and may have had its effect.
    Begun { desired: Replicas, version_before: u64, version_after: u64 },
    /// Ended with this answer.
    Finished { desired: Replicas, version_before: u64, version_after: u64, reply: Box<ApplyReply> },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    pub(super) format: u32,
    pub(super) uid: TargetUid,
    /// The inode of the folder. A copy of the folder is another object, which has never had the
    /// effects that the journal does not know, and must not say so.
    #[serde(default)]
    pub(super) home: Option<u64>,
    /// Raised by every effect, before it begins, and by every fence.
    pub(super) version: u64,
    /// The ledger whose orders are taken. None until the first one.
    pub(super) ledger: Option<LedgerIdentity>,
    /// The highest fence of any call.
    pub(super) seen: Rank,
    /// The highest mark of any fence operation.
    pub(super) fenced: Mark,
    /// The highest fence of a key that was forgotten.
    pub(super) forgotten: Rank,
    pub(super) journal: Vec<Entry>,
}

impl State {
    pub(super) const fn new(uid: TargetUid, home: Option<u64>) -> Self {
        let rank = Rank { epoch: 0, token: 0 };
        Self {
            format: FORMAT,
            uid,
            home,
            version: 1,
            ledger: None,
            seen: rank,
            fenced: Mark { rank, attempt: 0 },
            forgotten: rank,
            journal: Vec::new(),
        }
    }

    pub(super) fn resource_version(&self) -> TargetResourceVersion {
        self.version.to_string().parse().expect("BUG: a number is an identifier")
    }

    pub(super) fn entry(&self, key: &ExecutionKey) -> Option<&Entry> {
        self.journal.iter().find(|entry| entry.key == *key)
    }

    /// Stores what is known of a key, as the newest, and forgets the oldest that may be forgotten.
    pub(super) fn remember(&mut self, entry: Entry) {
        self.journal.retain(|other| other.key != entry.key);
        self.journal.push(entry);
        while self.journal.len() > JOURNAL_ENTRIES_MAX {
            let seen = self.seen;
            let Some(oldest) = self.journal.iter().position(|entry| entry.rank < seen) else {
                break;
            };
            let gone = self.journal.remove(oldest);
            self.forgotten = self.forgotten.max(gone.rank);
        }
    }
}

/// One workload, locked for as long as this value lives.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) id: WorkloadId,
    pub(super) dir: PathBuf,
    pub(super) state: State,
    // Closing the file lets go of the lock.
    _lock: File,
}

impl Workload {
    /// Opens a workload, and makes it if it is new.
    pub(super) fn open(
        config: &LocalConfig,
        id: &WorkloadId,
        wait: DurationMs,
    ) -> Result<Self, LocalError> {
        let dir = config.state_dir.join(dir_name(id));
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&dir).map_err(LocalError::io("making", &dir))?;
        sync_dir(&config.state_dir)?;
        let lock = lock(&dir, wait)?;
        if !is_folder_name(id.as_str()) && !dir.join(NAME_FILE).exists() {
            replace_file(&dir, NAME_FILE, id.as_str().as_bytes())?;
        }
        let state = if let Some(state) = read_state(&dir)? {
            state
        } else {
            let state = State::new(minted_uid(&dir)?, Some(inode(&dir)?));
            save(&dir, &state)?;
            state
        };
        Ok(Self { id: id.clone(), dir, state, _lock: lock })
    }

    /// Opens a workload that was opened before; none if it never was, or not in this folder.
    pub(super) fn open_existing(
        config: &LocalConfig,
        id: &WorkloadId,
        wait: DurationMs,
    ) -> Result<Option<Self>, LocalError> {
        let dir = config.state_dir.join(dir_name(id));
        if !dir.join(STATE_FILE).exists() {
            return Ok(None);
        }
        let lock = lock(&dir, wait)?;
        let state = read_state(&dir)?;
        Ok(state.map(|state| Self { id: id.clone(), dir, state, _lock: lock }))
    }

    /// Makes the state durable.
    pub(super) fn save(&self) -> Result<(), LocalError> {
        save(&self.dir, &self.state)
    }

    /// The live replicas, by slot. Waits for shims that a dead call has left on their way.
    pub(super) fn live(&self, host: &Host) -> Result<Vec<Replica>, LocalError> {
        let mut live = Vec::new();
        for index in slot::slot_indexes(&self.dir)? {
            live.extend(slot::live_in(&self.dir, index, host)?);
        }
        Ok(live)
    }
}

/// The workload's own name where it is a safe file name, else a digest of it. A name that looks
/// like a digest becomes one too, so that two workloads never share a folder.
fn dir_name(id: &WorkloadId) -> String {
    let text = id.as_str();
    if is_folder_name(text) {
        text.to_owned()
    } else {
        format!("sha256-{}", sha256_hex(text.as_bytes()))
    }
}

fn is_folder_name(text: &str) -> bool {
    text.len() <= 64
        && !text.starts_with("sha256-")
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// A folder that holds the state of a workload.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Folder {
    /// Of this one.
    Of(WorkloadId),
    /// Called by a digest, and nothing says of what.
    Unnamed(String),
}

/// The folders of workloads, by their names; none where there is no state directory yet.
pub(super) fn folders(state_dir: &Path) -> Result<Vec<Folder>, LocalError> {
    let entries = match fs::read_dir(state_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LocalError::io("reading", state_dir)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(LocalError::io("reading", state_dir))?;
        if !entry.path().join(STATE_FILE).is_file() {
            continue;
        }
        let folder = entry.file_name().to_string_lossy().into_owned();
        let named = name_in(&entry.path());
        let id = named.as_deref().unwrap_or(&folder).parse().ok();
        // A name that leads elsewhere is not that of this folder.
        found.push(match id.filter(|id| dir_name(id) == folder) {
            Some(id) => Folder::Of(id),
            None => Folder::Unnamed(folder),
        });
    }
    Ok(found)
}

/// What a folder says that its workload is called; none where it says nothing.
fn name_in(dir: &Path) -> Option<String> {
    let mut text = String::new();
    let open = File::open(dir.join(NAME_FILE)).ok()?;
    // One byte more than a name has.
    let bytes_max = u64::try_from(IDENTIFIER_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    open.take(bytes_max).read_to_string(&mut text).ok()?;
    Some(text)
}

fn minted_uid(dir: &Path) -> Result<TargetUid, LocalError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| LocalError::State {
        path: dir.join(STATE_FILE),
        problem: format!("minting its uid: {error}"),
    })?;
    Ok(TargetUid::derived("local", &sha256_hex(&bytes)[..32]))
}

fn lock(dir: &Path, wait: DurationMs) -> Result<File, LocalError> {
    let path = dir.join("lock");
    let file = open_lock(&path)?;
    if slot::lock_within(&file, wait.to_std()).map_err(LocalError::io("locking", &path))? {
        Ok(file)
    } else {
        Err(LocalError::Busy { path })
    }
}

fn inode(dir: &Path) -> Result<u64, LocalError> {
    Ok(fs::metadata(dir).map_err(LocalError::io("inspecting", dir))?.ino())
}

/// What is known of this very folder; nothing if the file came here with a copy of another.
fn read_state(dir: &Path) -> Result<Option<State>, LocalError> {
    let path = dir.join(STATE_FILE);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(LocalError::Io { doing: "reading", path, source }),
    };
    let unusable = |problem: String| LocalError::State { path: path.clone(), problem };
    if text.len() > 8 * DOCUMENT_BYTES_MAX {
        return Err(unusable("it is longer than anything that was written".to_owned()));
    }
    let state: State = serde_json::from_slice(&text).map_err(|e| unusable(e.to_string()))?;
    if state.format != FORMAT {
        return Err(unusable(format!("its format is {}, this is {FORMAT}", state.format)));
    }
    let here = inode(dir)?;
    Ok(Some(state).filter(|state| state.home.is_none_or(|home| home == here)))
}

fn save(dir: &Path, state: &State) -> Result<(), LocalError> {
    let text = serde_json::to_vec(state).expect("BUG: a state that is not JSON");
    Ok(replace_file(dir, STATE_FILE, &text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_workloads_never_share_a_folder() {
        let name = |text: &str| dir_name(&text.parse().expect("valid"));
        assert_eq!(name("web-1.blue_x"), "web-1.blue_x");
        let names = ["web", "team/web", "team:web", "sha256-1", &name("team/web")].map(name);
        for (at, one) in names.iter().enumerate() {
            assert!(names.iter().skip(at + 1).all(|other| other != one), "{names:?}");
            assert!(!one.contains('/') && !one.starts_with('.'), "{one}");
        }
    }
}
