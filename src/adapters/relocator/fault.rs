//! Why an operation stops, and whether anything was changed by then.

use std::io;
use std::path::Path;

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

pub(super) fn io<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Fault + 'a {
    move |error| {
        let is_full =
            matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let file = path.display().to_string();
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
        let busy = [rusqlite::ErrorCode::DatabaseBusy, rusqlite::ErrorCode::DatabaseLocked];
        let refusal = if code.is_some_and(|code| busy.contains(&code)) {
            Refusal::TimedOut { waited_for: format!("the writers of {file}") }
        } else {
            Refusal::Io { doing: doing.to_owned(), file, problem: error.to_string() }
        };
        let is_full = code == Some(rusqlite::ErrorCode::DiskFull);
        Fault { is_full, ..refusal.into() }
    }
}
