//! What a request is told: a status and one JSON document, whatever it was.
//!
//! Owns which status a failure has. A refusal of the contract carries where the service stands; a
//! failure to read that carries nothing, so that nobody takes a count for one that was read.

use serde::Serialize;
use serde_json::json;

use crate::domain::gateway::{Code, ScaleConflict, code_of};
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::ledger::LedgerError;
use crate::ops::{OpError, Session};

/// What a request is told.
pub(super) struct Told {
    /// The status of HTTP.
    pub(super) status: u16,
    /// A JSON document.
    pub(super) body: String,
    /// What has to come to be before it is told; none where it is true already.
    pub(super) follow: Option<Follow>,
}

/// An accepted wish that somebody carries out.
pub(super) struct Follow {
    pub(super) service: ServiceName,
    pub(super) key: ExecutionKey,
}

/// Whether a request only asks, or wishes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    Observation,
    Operation,
}

impl Told {
    pub(super) fn of(status: u16, body: &impl Serialize) -> Self {
        let body = serde_json::to_string(body).expect("BUG: a body is JSON");
        Self { status, body, follow: None }
    }

    /// What is no word of the contract.
    pub(super) fn plain(status: u16, code: &str, message: &str) -> Self {
        Self::of(status, &json!({"code": code, "message": message}))
    }

    pub(super) fn conflict(conflict: &ScaleConflict) -> Self {
        Self::of(conflict.code.status(), conflict)
    }

    fn without_observation(code: Code, message: &str) -> Self {
        Self::plain(code.status(), code.as_str(), message)
    }

    /// The server has more to do than it can.
    pub(super) fn busy() -> Self {
        Self::without_observation(Code::Busy, "too many operations wait: try it again later")
    }

    /// The server has ended before it could tell.
    pub(super) fn ended() -> Self {
        let text = "the server has ended before it could tell: send the same operation again";
        Self::without_observation(Code::AuthorityStateError, text)
    }

    /// What has failed, with where the service stands if that can be read.
    pub(super) fn failed(
        session: Option<&mut Session>,
        raw: &str,
        error: &OpError,
        asking: Asking,
    ) -> Self {
        let code = match error {
            OpError::Gateway(conflict) => return Self::conflict(conflict),
            OpError::Rejected { rejection, .. } => code_of(rejection),
            _ if asking == Asking::Observation => Code::ObservationFailed,
            OpError::Ledger(error) if error.is_unavailable() => Code::Busy,
            _ => Code::AuthorityStateError,
        };
        Self::refused(session, raw, code, error.to_string())
    }

    /// A refusal of the contract, with where the service stands if that can be read.
    pub(super) fn refused(
        session: Option<&mut Session>,
        raw: &str,
        code: Code,
        message: String,
    ) -> Self {
        let holds = session.and_then(|session| session.gateway_holds(raw).ok());
        match holds {
            Some(holds) => Self::conflict(&holds.refuses(code, message)),
            None => Self::without_observation(code, &message),
        }
    }
}

/// Whether nobody knows what became of a write, so that this process writes nothing more.
pub(super) const fn is_fatal(error: &OpError) -> bool {
    matches!(
        error,
        OpError::Ledger(LedgerError::CommitUnknown { .. } | LedgerError::Poisoned { .. })
    )
}

/// Whether the session may be at fault: the next request opens another.
pub(super) const fn is_of_session(error: &OpError) -> bool {
    matches!(error, OpError::Ledger(error) if error.is_of_all())
}

/// Nothing of what was asked at once could even be begun: each is told why by an error of the
/// ledger, and by the text of any other.
pub(super) fn failed_alike<T>(count: usize, error: OpError) -> Vec<Result<T, OpError>> {
    let OpError::Ledger(error) = error else {
        let what = error.to_string();
        return (0..count).map(|_| Err(OpError::Internal { what: what.clone() })).collect();
    };
    (0..count).map(|_| Err(error.clone().into())).collect()
}
