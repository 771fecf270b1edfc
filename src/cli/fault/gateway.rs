//! Refusals of the gateway's contract, beside the exits of every other command.

use crate::cli::exit::Exit;
use crate::cli::problem::Problem;
use crate::domain::gateway::{Code, ScaleConflict};

/// The contract's word, with our exit and a way on.
pub(super) fn of_conflict(conflict: &ScaleConflict) -> Problem {
    let told = Problem::new(conflict.code.as_str(), exit_of(conflict.code), &*conflict.message);
    let holds = &conflict.observation;
    let revision = holds.revision.as_deref().unwrap_or("none");
    let told = told.fact("holds", format!("{} at gateway revision {revision}", holds.replicas));
    match hint(conflict.code) {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

const fn hint(code: Code) -> Option<&'static str> {
    match code {
        Code::StaleRevision | Code::InvalidDirection => {
            Some("observe the service again, and derive another operation, with an id of its own")
        }
        Code::OperationConflict => Some("an id names one operation for ever: take another id"),
        Code::CapacityExceeded => Some("wish fewer, or scale another service of the pool down"),
        Code::AuthorityStateError => {
            Some("finalize with the very operation and the revision that it was answered")
        }
        _ => None,
    }
}

/// The exit of a word. Refusals of our own gates have the exit of their rejection.
const fn exit_of(code: Code) -> Exit {
    match code {
        Code::StaleRevision | Code::OperationConflict | Code::AuthorityStateError => Exit::Conflict,
        Code::UnsupportedSchema
        | Code::InvalidRequest
        | Code::InvalidDirection
        | Code::ServiceMismatch
        | Code::OutOfBounds => Exit::Usage,
        Code::CapacityExceeded => Exit::Capacity,
        Code::UnknownService => Exit::NotFound,
        Code::PolicyDenied => Exit::Denied,
        Code::ExternalOwner => Exit::ExternalOwner,
        Code::Cooldown => Exit::Cooldown,
        Code::Busy => Exit::Held,
        Code::ReconcileFailed => Exit::NotYet,
        Code::Unknown | Code::ObservationFailed => Exit::FactUnknown,
    }
}
