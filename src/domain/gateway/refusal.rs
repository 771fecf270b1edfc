//! Which word of the contract a refusal of our own gates has (design, section 8).

use super::wire::Code;
use crate::domain::scale::rejection::{Class, Rejection};

/// The word of a refusal. What is not the gateway's to mend by another wish is *busy* where it goes
/// away by itself or by a person, and *unknown* where a fact is missing.
pub const fn code_of(rejection: &Rejection) -> Code {
    match rejection {
        // Whoever brings the fences, or has the target, is another controller than the gateway.
        Rejection::FenceMissing { .. }
        | Rejection::TargetTaken { .. }
        | Rejection::WorkloadTaken { .. }
        | Rejection::NotWriter { .. } => Code::ExternalOwner,
        Rejection::OthersIntent { .. } => Code::Busy,
        _ => match rejection.class() {
            Class::Usage => Code::OutOfBounds,
            Class::Conflict => Code::OperationConflict,
            Class::Held | Class::RetryLater | Class::NotYet => Code::Busy,
            Class::Denied | Class::ApprovalRequired => Code::PolicyDenied,
            Class::Cooldown => Code::Cooldown,
            Class::Capacity => Code::CapacityExceeded,
            Class::Unknown
            | Class::FactUnknown
            | Class::Failed
            | Class::Diverged
            | Class::Attention => Code::Unknown,
            Class::ExternalOwner => Code::ExternalOwner,
            Class::NotFound => Code::UnknownService,
        },
    }
}
