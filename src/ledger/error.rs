//! Errors of the ledger: each says what was being done to what, and what it means for the caller.

use std::path::PathBuf;

use super::in_the_way::{InTheWay, ServerHolder};
use crate::domain::id::{CommandId, ServiceName};
use crate::domain::time::DurationMs;

/// What an error means for the caller: the word of the exit table (design, section 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// 10: there already is a ledger, or what was decided on has moved.
    Conflict,
    /// 16: nobody knows whether the write is durable.
    Unknown,
    /// 20: locked; the same line later.
    Unavailable,
    /// 21: the ledger cannot be used as it is.
    Unusable,
}

/// Why the ledger could not be read or written.
///
/// Every variant but [`LedgerError::CommitUnknown`] and those of a ledger that was just made means
/// that nothing was recorded by this write; [`LedgerError::Poisoned`] says that of an earlier one
/// nobody knows.
#[derive(Debug, Clone, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the facts that the texts name")]
pub enum LedgerError {
    /// Nothing is there. Only `init` and `quickstart` make a ledger.
    #[error("there is no ledger at {}{}", path.display(), note(why))]
    Missing { path: PathBuf, why: &'static str },
    /// There is no backup under that name.
    #[error("there is no backup at {}{}", path.display(), note(why))]
    NoBackup { path: PathBuf, why: &'static str },
    /// Something is there already.
    #[error("{} is already there", path.display())]
    Exists { path: PathBuf },
    /// The new ledger has its name, but a power cut may still take that away.
    #[error("the ledger {} was made, but its name may not last: {problem}", path.display())]
    NameUnknown { path: PathBuf, problem: String },
    /// The new ledger is there, and cannot be used right now.
    #[error("the ledger {} was made, but cannot be opened: {problem}", path.display())]
    MadeUnopened { path: PathBuf, problem: String },
    /// A side file of another ledger is there, and would be taken for this one's.
    #[error("cannot create a ledger beside {}, which belongs to another one", path.display())]
    SideFile { path: PathBuf },
    /// A directory, a device, a socket.
    #[error("{} is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    /// The file has other names. Each name has a log of its own, so what is written under one is
    /// lost under the other.
    #[error(
        "the ledger {} has another name{}, and two names have two logs",
        path.display(), place(other.as_ref())
    )]
    HardLinked { path: PathBuf, other: Option<PathBuf> },
    /// The system has no descriptor left for this process.
    #[error("cannot {doing} the ledger {}: no descriptor is left for it", path.display())]
    Exhausted { doing: &'static str, path: PathBuf },
    /// A directory that is to be a group's, and is not.
    #[error("{} cannot be shared by a group: {problem}", path.display())]
    NotShared { path: PathBuf, problem: String },
    /// SQLite's locks do not hold there.
    #[error(
        "the ledger {} is on {file_system}, a network file system, where locks do not hold",
        path.display()
    )]
    NetworkFileSystem { path: PathBuf, file_system: String },
    /// The file or its directory cannot be written.
    #[error(
        "cannot {doing} the ledger {}: {} cannot be written",
        path.display(), culprit.display()
    )]
    ReadOnly { doing: &'static str, path: PathBuf, culprit: PathBuf },
    /// Not ours.
    #[error("{} is not a scalectl ledger: {problem}", path.display())]
    Foreign { path: PathBuf, problem: String },
    /// Written by a newer scalectl.
    #[error("the ledger {} has schema {found}, this scalectl knows up to {known}", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    /// Written by an older scalectl and not yet migrated.
    #[error("the ledger {} has schema {found}, this scalectl needs {known}", path.display())]
    Older { path: PathBuf, found: i64, known: i64 },
    /// It has moved.
    #[error("the ledger {} is sealed: it goes on at {to}", path.display())]
    Sealed { path: PathBuf, to: String },
    /// It has moved, and is not where it went.
    #[error(
        "the ledger {} has gone on at {to}, where nothing of it is now: no second one is made",
        path.display()
    )]
    Gone { path: PathBuf, to: String },
    /// A backup is read and restored, never written.
    #[error("{} is a backup of a ledger, and takes no writes", path.display())]
    IsBackup { path: PathBuf },
    /// The copy of a ledger that has not come to its end.
    #[error("the ledger {} is a copy that was not finished", path.display())]
    Unfinished { path: PathBuf },
    /// It was restored since it was opened.
    #[error(
        "the ledger {} is at incarnation {found} now, and was opened at {known}",
        path.display()
    )]
    Reincarnated { path: PathBuf, found: u64, known: u64 },
    /// Something is there that is not the other end of this copy.
    #[error("cannot {doing} {}: {problem}", path.display())]
    OtherLedger { doing: &'static str, path: PathBuf, problem: String },
    /// A copy that is not what it was made of.
    #[error("{} is not sound, and was not used: {problem}", path.display())]
    Unsound { path: PathBuf, problem: String },
    /// A SQLite with a known fault.
    #[error("this scalectl is linked to SQLite {found}, which can lose data: 3.51.3 is needed")]
    EngineTooOld { found: String },
    /// The database itself is damaged.
    #[error("cannot {doing} the ledger {}: the database is damaged: {problem}", path.display())]
    Corrupt { doing: &'static str, path: PathBuf, problem: String },
    /// What is stored makes no sense.
    #[error("the ledger {} is damaged: {place}: {problem}", path.display())]
    Nonsense { path: PathBuf, place: String, problem: String },
    /// The disk is full.
    #[error("cannot {doing} the ledger {}: the disk is full", path.display())]
    Full { doing: &'static str, path: PathBuf },
    /// Somebody else writes, for longer than the lock timeout; or wanted the same at the same time,
    /// then nobody has waited.
    #[error("cannot {doing} the ledger {}: {}", path.display(), lock_note(*waited, by))]
    Busy { doing: &'static str, path: PathBuf, waited: DurationMs, by: LockedBy },
    /// The server of the ledger could not be asked, or not to the end.
    #[error("cannot {doing} the ledger {}: {problem}", path.display())]
    Unreachable { doing: &'static str, path: PathBuf, problem: String },
    /// The server lets us not do this.
    #[error("cannot {doing} the ledger {}: {problem}", path.display())]
    NotPermitted { doing: &'static str, path: PathBuf, problem: String },
    /// The server could lose what it has acknowledged.
    #[error("the ledger {} is not safe there: {problem}", path.display())]
    UnsafeServer { path: PathBuf, problem: String },
    /// The connection was lost at COMMIT, and the write is known not to be there.
    #[error(
        "nothing of {command_id} was recorded in the ledger {}: COMMIT did not arrive: {problem}",
        path.display()
    )]
    NotCommitted { command_id: CommandId, path: PathBuf, problem: String },
    /// Anything else that the database or the system said.
    #[error("cannot {doing} the ledger {}: {problem}", path.display())]
    Failed { doing: &'static str, path: PathBuf, problem: String },
    /// COMMIT failed: the write may or may not be durable.
    #[error(
        "COMMIT of {command_id} to the ledger {} failed, it may be recorded or not: {problem}",
        path.display()
    )]
    CommitUnknown { command_id: CommandId, path: PathBuf, problem: String, was_moved: bool },
    /// What an earlier command has recorded can be read, and no standby has said that it has it.
    #[error(
        "what the ledger {} has may be lost with its server, no standby confirms it: {problem}",
        path.display()
    )]
    Unconfirmed { path: PathBuf, problem: String },
    /// What was written is in a file that has lost the name of the ledger. A COMMIT ends with
    /// [`LedgerError::CommitUnknown`] because of it.
    #[error("it is recorded in a file that no longer has the name {}", path.display())]
    Moved { path: PathBuf },
    /// An earlier COMMIT of this process failed.
    #[error(
        "nothing more is written to the ledger {}: COMMIT of {command_id} failed before",
        path.display()
    )]
    Poisoned { command_id: CommandId, path: PathBuf },
    /// A write of this transaction failed, so the rest of it is not recorded either.
    #[error(
        "nothing of {command_id} was recorded in the ledger {}: a part of it failed",
        path.display()
    )]
    Incomplete { command_id: CommandId, path: PathBuf },
    /// An event that cannot follow what is stored.
    #[error("cannot record an event of {stream} in the ledger {}: {problem}", path.display())]
    Illegal { path: PathBuf, stream: String, problem: String },
    /// The state that was decided on is not the stored one.
    #[error(
        "cannot update {what} of {service} in the ledger {}: it is not as it was read",
        path.display()
    )]
    Stale { path: PathBuf, service: ServiceName, what: String },
}

/// By whom a ledger was locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockedBy {
    /// By somebody; a file does not say by whom, and a server not always.
    Somebody,
    /// By them.
    Known(Box<ServerHolder>),
    /// The wait was ended before anybody could tell whether it was locked at all.
    Perhaps,
    /// By nobody: its server had no answer.
    Nobody,
}

fn place(other: Option<&PathBuf>) -> String {
    other.map_or_else(String::new, |other| format!(", {}", other.display()))
}

fn lock_note(waited: DurationMs, by: &LockedBy) -> String {
    match (waited, by) {
        (_, LockedBy::Nobody) => format!("its server did not answer for {waited}"),
        (_, LockedBy::Perhaps) => {
            format!("it was locked, or its server did not answer, for {waited}")
        }
        (DurationMs::ZERO, _) => "others wrote to it at the same time".to_owned(),
        (_, LockedBy::Somebody | LockedBy::Known(_)) => format!("it was locked for {waited}"),
    }
}

fn note(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {why}") }
}

impl LedgerError {
    /// The word for machines.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "ledger_missing",
            Self::NoBackup { .. } => "backup_missing",
            Self::Exists { .. } => "ledger_exists",
            Self::NameUnknown { .. } => "ledger_name_unknown",
            Self::MadeUnopened { .. } => "ledger_made_unopened",
            Self::SideFile { .. } => "ledger_side_file",
            Self::NotAFile { .. } => "ledger_not_a_file",
            Self::HardLinked { .. } => "ledger_hard_linked",
            Self::Exhausted { .. } => "host_exhausted",
            Self::NotShared { .. } => "ledger_not_shared",
            Self::NetworkFileSystem { .. } => "ledger_network_fs",
            Self::ReadOnly { .. } => "ledger_read_only",
            Self::Foreign { .. } => "ledger_foreign",
            Self::Newer { .. } => "ledger_newer",
            Self::Older { .. } => "ledger_older",
            Self::Sealed { .. } => "ledger_sealed",
            Self::Gone { .. } => "ledger_gone",
            Self::IsBackup { .. } => "ledger_is_backup",
            Self::Unfinished { .. } => "ledger_unfinished",
            Self::Reincarnated { .. } => "ledger_restored",
            Self::OtherLedger { .. } => "ledger_other",
            Self::Unsound { .. } => "ledger_unsound",
            Self::EngineTooOld { .. } => "ledger_engine_too_old",
            Self::Corrupt { .. } => "ledger_corrupt",
            Self::Nonsense { .. } | Self::Illegal { .. } => "ledger_damaged",
            Self::Full { .. } => "ledger_full",
            Self::Busy { .. } => "ledger_busy",
            Self::Unreachable { .. } => "ledger_unreachable",
            Self::NotPermitted { .. } => "ledger_not_permitted",
            Self::UnsafeServer { .. } => "ledger_unsafe",
            Self::NotCommitted { .. } => "not_committed",
            Self::Failed { .. } => "ledger_failed",
            Self::CommitUnknown { was_moved: true, .. } | Self::Moved { .. } => "ledger_moved",
            Self::CommitUnknown { .. } => "commit_unknown",
            Self::Unconfirmed { .. } => "ledger_unconfirmed",
            Self::Poisoned { .. } => "ledger_poisoned",
            Self::Incomplete { .. } => "ledger_incomplete",
            Self::Stale { .. } => "ledger_stale",
        }
    }

    /// What it means for the caller.
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::Exists { .. }
            | Self::Stale { .. }
            | Self::OtherLedger { .. }
            | Self::Reincarnated { .. } => ErrorClass::Conflict,
            Self::CommitUnknown { .. }
            | Self::Unconfirmed { .. }
            | Self::Moved { .. }
            | Self::NameUnknown { .. }
            | Self::Poisoned { .. } => ErrorClass::Unknown,
            Self::Busy { .. }
            | Self::Exhausted { .. }
            | Self::Unreachable { .. }
            | Self::NotCommitted { .. } => ErrorClass::Unavailable,
            Self::Missing { .. }
            | Self::NoBackup { .. }
            | Self::NotPermitted { .. }
            | Self::UnsafeServer { .. }
            | Self::SideFile { .. }
            | Self::MadeUnopened { .. }
            | Self::NotAFile { .. }
            | Self::HardLinked { .. }
            | Self::NotShared { .. }
            | Self::NetworkFileSystem { .. }
            | Self::ReadOnly { .. }
            | Self::Foreign { .. }
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::EngineTooOld { .. }
            | Self::Sealed { .. }
            | Self::Gone { .. }
            | Self::IsBackup { .. }
            | Self::Unfinished { .. }
            | Self::Unsound { .. }
            | Self::Corrupt { .. }
            | Self::Nonsense { .. }
            | Self::Full { .. }
            | Self::Failed { .. }
            | Self::Incomplete { .. }
            | Self::Illegal { .. } => ErrorClass::Unusable,
        }
    }

    /// Whether a log is there whose ledger is not.
    pub fn is_log_alone(&self) -> bool {
        match self {
            Self::Missing { why, .. } => *why == super::sqlite::LOG_ALONE,
            Self::SideFile { .. } => true,
            _ => false,
        }
    }

    /// Whether the server could not be asked: nothing of an open transaction remains.
    pub(super) const fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Whether nothing was recorded and nothing is wrong with the ledger: it could not be asked,
    /// and the same line may succeed later.
    pub const fn is_unavailable(&self) -> bool {
        matches!(self.class(), ErrorClass::Unavailable)
    }

    /// Somebody else was in the way for so long; who is not known.
    pub(crate) const fn busy(doing: &'static str, path: PathBuf, waited: DurationMs) -> Self {
        Self::Busy { doing, path, waited, by: LockedBy::Somebody }
    }

    /// The same after a wait of another length. A server that was silent was not locked.
    pub(super) fn after(self, waited: DurationMs) -> Self {
        match self {
            Self::Busy { doing, path, by: by @ LockedBy::Nobody, .. } => {
                Self::Unreachable { doing, path, problem: lock_note(waited, &by) }
            }
            Self::Busy { doing, path, by, .. } => Self::Busy { doing, path, waited, by },
            other => other,
        }
    }

    /// The same of a wait that went on with others, of so long in all.
    #[must_use]
    pub fn in_all(self, so_long: Option<DurationMs>) -> Self {
        match (self, so_long) {
            (Self::Busy { doing, path, waited, by }, Some(so_long))
                if waited != DurationMs::ZERO =>
            {
                Self::Busy { doing, path, waited: waited.max(so_long), by }
            }
            (error, _) => error,
        }
    }

    /// The same, by whom, where that was found out.
    #[must_use]
    pub fn locked_by(self, found: Option<InTheWay>) -> Self {
        match (self, found) {
            (
                Self::Busy { doing, path, waited, by: LockedBy::Somebody | LockedBy::Perhaps },
                Some(InTheWay::Holder(holder)),
            ) => Self::Busy { doing, path, waited, by: LockedBy::Known(holder) },
            (error, _) => error,
        }
    }

    /// Who had it locked, where the server has told.
    pub fn holder(&self) -> Option<&ServerHolder> {
        match self {
            Self::Busy { by: LockedBy::Known(holder), .. } => Some(holder),
            _ => None,
        }
    }

    /// Whether it is about the ledger as a whole, and not about what one part of a write has read.
    pub const fn is_of_all(&self) -> bool {
        !matches!(self, Self::Nonsense { .. } | Self::Illegal { .. } | Self::Stale { .. })
    }

    /// The error of a shared COMMIT, as one of the runs that share it tells it.
    #[must_use]
    pub fn of_run(&self, id: &CommandId) -> Self {
        match self.clone() {
            Self::CommitUnknown { path, problem, was_moved, .. } => {
                Self::CommitUnknown { command_id: id.clone(), path, problem, was_moved }
            }
            Self::NotCommitted { path, problem, .. } => {
                Self::NotCommitted { command_id: id.clone(), path, problem }
            }
            other => other,
        }
    }

    /// Whether the same line may succeed once somebody else is done.
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }
}
