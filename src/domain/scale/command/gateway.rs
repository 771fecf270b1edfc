//! What only the gateway's contract asks for. An operation is a [`super::PutIntent`].

use crate::domain::digest::Digest;
use crate::domain::gateway::{Journaled, ScaleAnswer};
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::scale::policy::PolicyAnswer;

/// What only the gateway's contract asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayCommand {
    /// Give an accepted operation another answer, which was compared with its receipt.
    Finalize {
        /// The operation's key.
        key: ExecutionKey,
        /// The answer.
        answer: ScaleAnswer,
    },
    /// Take over what a journal holds of a service.
    Import(ImportService),
}

/// What is taken over of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportService {
    /// What the service is called here.
    pub service: ServiceName,
    /// What the journal holds of it.
    pub journaled: Journaled,
    /// The digest of the journal.
    pub journal: Digest,
    /// What policy said of the import as a whole.
    pub decision: PolicyAnswer,
}

impl GatewayCommand {
    /// The key that it is about, if it is about one.
    pub const fn execution_key(&self) -> Option<&ExecutionKey> {
        match self {
            Self::Finalize { key, .. } => Some(key),
            Self::Import(_) => None,
        }
    }
}
