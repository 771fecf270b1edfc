//! What the server or the network said, as one of our errors.

use std::error::Error as _;
use std::fmt::Write as _;
use std::path::PathBuf;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use super::address::ServerAddress;
use crate::domain::time::DurationMs;
use crate::ledger::error::LedgerError;

/// The text of an error with its causes; never with a password, which no cause repeats.
pub(super) fn text(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said_by_server(said);
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let _ = write!(text, ": {deeper}");
        cause = deeper.source();
    }
    text
}

fn said_by_server(said: &DbError) -> String {
    let mut text = format!("{} (SQLSTATE {})", said.message(), said.code().code());
    if let Some(detail) = said.detail() {
        let _ = write!(text, ": {detail}");
    }
    text
}

/// An error of a statement.
pub(super) fn of(
    doing: &'static str,
    path: PathBuf,
    waited: DurationMs,
    error: &Error,
) -> LedgerError {
    let problem = text(error);
    let Some(code) = error.code() else {
        return LedgerError::Unreachable { doing, path, problem };
    };
    match *code {
        SqlState::LOCK_NOT_AVAILABLE => LedgerError::busy(doing, path, waited),
        // Nobody has waited for that long: others wanted the same at the same time.
        SqlState::T_R_DEADLOCK_DETECTED | SqlState::T_R_SERIALIZATION_FAILURE => {
            LedgerError::busy(doing, path, DurationMs::ZERO)
        }
        SqlState::DISK_FULL => LedgerError::Full { doing, path },
        SqlState::INSUFFICIENT_PRIVILEGE => LedgerError::NotPermitted { doing, path, problem },
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => {
            LedgerError::Corrupt { doing, path, problem }
        }
        SqlState::UNDEFINED_TABLE => {
            LedgerError::Missing { path, why: "its schema lacks a table of ours" }
        }
        // In a transaction that has failed before, nothing more is said of what is stored.
        SqlState::READ_ONLY_SQL_TRANSACTION
        | SqlState::IN_FAILED_SQL_TRANSACTION
        | SqlState::QUERY_CANCELED
        | SqlState::OUT_OF_MEMORY => LedgerError::Unreachable { doing, path, problem },
        // Class 08: connections; 53: resources; 57P: the server is starting, stopping or gone;
        // 25P03: we were idle in a transaction for too long.
        ref other
            if ["08", "53", "57P", "25P03"].iter().any(|class| other.code().starts_with(class)) =>
        {
            LedgerError::Unreachable { doing, path, problem }
        }
        _ => LedgerError::Failed { doing, path, problem },
    }
}

/// Whether the server has given a statement up, for its time or because somebody asked for it.
pub(super) fn is_cancelled(error: &Error) -> bool {
    error.code() == Some(&SqlState::QUERY_CANCELED)
}

/// An error of connecting.
pub(super) fn connecting(address: &ServerAddress, error: &Error) -> LedgerError {
    let (doing, path, problem) = ("connect to", PathBuf::from(address.shown()), text(error));
    match error.code() {
        Some(code) if code.code().starts_with("28") => {
            LedgerError::NotPermitted { doing, path, problem }
        }
        Some(code) if *code == SqlState::UNDEFINED_DATABASE => {
            LedgerError::Missing { path, why: "the server has no such database" }
        }
        Some(_) => of(doing, path, DurationMs::ZERO, error),
        // A wrong password is asked for by the server; a missing one is ours. A certificate that
        // does not hold will not hold later either, and a server has TLS or has not.
        None if ["password missing", "certificate", "does not support TLS"]
            .iter()
            .any(|word| problem.contains(word)) =>
        {
            LedgerError::NotPermitted { doing, path, problem }
        }
        None => LedgerError::Unreachable { doing, path, problem },
    }
}
