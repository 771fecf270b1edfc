//! What other services of the ledger have of a target: the object itself, or its name.
//!
//! Owns the facts that whoever registers a target is told of its neighbours. Decides nothing.

use super::authority::Authority;
use super::service::Registration;
use super::state::ServiceHead;
use crate::domain::id::ServiceName;

/// The other services that have a target already.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Others {
    /// Whoever has this very object: the same cluster, runtime and uid.
    pub holder: Option<ServiceName>,
    /// Whoever has an object of its name: the same cluster, runtime and workload. One that was
    /// recreated has another uid.
    pub namesakes: Vec<Namesake>,
}

/// Another service whose target has the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namesake {
    /// Its settings.
    pub registration: Registration,
    /// What is laid upon it.
    pub authority: Authority,
}

impl Namesake {
    /// Of a service that is registered, living or retired.
    pub fn of(head: &ServiceHead) -> Option<Self> {
        let registration = head.registration.clone()?;
        Some(Self { registration, authority: head.authority.clone() })
    }
}
