//! Why an operation stops, and whether anything was changed by then.

use std::fmt::Display;
use std::io;
use std::path::Path;

use rusqlite::ErrorCode;
use rustix::io::Errno;

use crate::adapters::durable::Failed;
use crate::domain::placement::protocol::{Applied, Refusal, RelocatorError, Reply};

/// A refusal on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub(super) refusal: Refusal,
    pub(super) applied: Applied,
    /// The disk, or a quota of it, has no room.
    pub(super) is_full: bool,
}

pub(super) type Done<T> = Result<T, Fault>;

impl Fault {
    /// The same, after something was changed that the same request goes on from.
    pub(super) fn after_effect(mut self) -> Self {
        self.applied = Applied::Yes;
        self
    }

    /// What it says, for people.
    pub fn message(&self) -> String {
        self.refusal.to_string()
    }

    /// Why, as the protocol says it.
    pub const fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    pub(super) fn into_reply(self) -> Reply {
        Reply::Refused(Box::new(RelocatorError {
            message: self.refusal.to_string(),
            retryable: self.refusal.is_retryable(),
            applied: self.applied,
            refusal: self.refusal,
        }))
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, applied: Applied::No, is_full: false }
    }
}

/// What is there is of another kind than it must be: the same request comes to the same end until
/// somebody has changed that.
const OF_ANOTHER_KIND: [Errno; 5] =
    [Errno::EXIST, Errno::ISDIR, Errno::LOOP, Errno::NAMETOOLONG, Errno::NOTDIR];

pub(super) fn io<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Fault + 'a {
    move |error| {
        let is_full =
            matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let file = path.display().to_string();
        if Errno::from_io_error(&error).is_some_and(|errno| OF_ANOTHER_KIND.contains(&errno)) {
            return unusable(file, &format!("{doing}: {error}"));
        }
        let refusal = Refusal::Io { doing: doing.to_owned(), file, problem: error.to_string() };
        Fault { is_full, ..refusal.into() }
    }
}

/// The same of a call of the system.
pub(super) fn os<'a>(
    doing: &'static str,
    path: &'a Path,
) -> impl FnOnce(rustix::io::Errno) -> Fault + 'a {
    move |error| io(doing, path)(error.into())
}

pub(super) fn sql<'a>(
    doing: &'static str,
    path: &'a Path,
) -> impl FnOnce(rusqlite::Error) -> Fault + 'a {
    move |error| {
        let code = error.sqlite_error_code();
        let file = path.display().to_string();
        let refusal = match code {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Refusal::TimedOut { waited_for: format!("the writers of {file}") }
            }
            Some(ErrorCode::OperationInterrupted) => {
                Refusal::TimedOut { waited_for: format!("{doing} {file}") }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                return damaged(&name, "a sound database", error.to_string());
            }
            _ => Refusal::Io { doing: doing.to_owned(), file, problem: error.to_string() },
        };
        let is_full = code == Some(ErrorCode::DiskFull);
        Fault { is_full, ..refusal.into() }
    }
}

impl From<Failed> for Fault {
    fn from(Failed { doing, path, source }: Failed) -> Self {
        io(doing, &path)(source)
    }
}

/// A file of a copy, by its name below it, that is not what the manifest says.
pub(super) fn damaged(file: &str, expected: impl Into<String>, actual: impl Into<String>) -> Fault {
    let (expected, actual) = (expected.into(), actual.into());
    Refusal::Damaged { file: file.to_owned(), expected, actual }.into()
}

/// A file that cannot be used as it is.
pub(super) fn unusable(file: impl Display, problem: &str) -> Fault {
    Refusal::Unusable { file: file.to_string(), problem: problem.to_owned() }.into()
}
