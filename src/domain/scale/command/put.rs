//! Putting a wish: what was submitted, and every fact that was gathered for it.

use crate::domain::gateway::Receipt;
use crate::domain::id::{
    AuthorizationId, ExecutionKey, FenceToken, IntentRevision, LeaseEpoch, Replicas, ServiceName,
};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::intent::{IntentRecord, Reason, RetryAsked};
use crate::domain::scale::provenance::WishSource;
use crate::domain::time::{DurationMs, Timestamp};

/// What a put believes about the intents before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Premise {
    /// The newest intent revision is this; 0 before the first.
    Revision(u64),
    /// Whatever is newest.
    Latest,
}

/// How a wish was submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutForm {
    /// From flags: the rest is minted.
    Flags {
        /// What is wished.
        replicas: Replicas,
        /// Why.
        reason: Reason,
        /// How often and how soon to try again.
        retry: RetryAsked,
        /// The key; the caller mints one where none was given.
        key: ExecutionKey,
        /// A fence of the writer's own.
        fence: Option<(LeaseEpoch, FenceToken)>,
        /// The life of the fence.
        valid_for: DurationMs,
    },
    /// The whole record of the contract.
    Record(Box<IntentRecord>),
}

/// Put one wish.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent flag of the caller")]
pub struct PutIntent {
    /// The service.
    pub service: ServiceName,
    /// The wish.
    pub form: PutForm,
    /// Whether it is a recorded simulation.
    pub dry_run: bool,
    /// What it believes about the intents before it.
    pub premise: Premise,
    /// What it believes about the count.
    pub expect_count: Option<Replicas>,
    /// Whether it may wait behind what is in flight.
    pub queue: bool,
    /// Whether it may end another actor's waiting intent.
    pub supersede: bool,
    /// Whether it asks policy to pass the cooldown.
    pub override_cooldown: bool,
    /// Whether a person vouches for what is not drained.
    pub attest_not_drained: bool,
    /// Where the wish comes from.
    pub source: WishSource,
    /// How long it may wait for a colleague where policy says no; none where it may not.
    pub approve_within: Option<DurationMs>,
    /// The authorization that breaks the glass for it.
    pub authorization: Option<AuthorizationId>,
    /// Until when it pins the count.
    pub pin_until: Option<Timestamp>,
    /// The failed intent that it undoes.
    pub rolls_back: Option<ExecutionKey>,
    /// The gateway's operation that it is for, with the answer that it gets.
    pub receipt: Option<Box<Receipt>>,
    /// The service and revision that the key already names elsewhere in the ledger.
    pub key_elsewhere: Option<(ServiceName, IntentRevision)>,
    /// The intent that it would undo, where that is another service's.
    pub rolls_back_elsewhere: Option<Box<Execution>>,
    /// The key that the intent id and revision already name in the ledger.
    pub id_owner: Option<ExecutionKey>,
}

impl PutIntent {
    /// A plain wish: nothing asked for beside it, and whatever is newest is its premise.
    pub fn new(service: ServiceName, form: PutForm) -> Self {
        Self {
            service,
            form,
            dry_run: false,
            premise: Premise::Latest,
            expect_count: None,
            queue: false,
            supersede: false,
            override_cooldown: false,
            attest_not_drained: false,
            source: WishSource::Cli,
            approve_within: None,
            authorization: None,
            pin_until: None,
            rolls_back: None,
            receipt: None,
            key_elsewhere: None,
            rolls_back_elsewhere: None,
            id_owner: None,
        }
    }

    /// The life of the fence that is minted for it, where one is.
    pub fn valid_for(&self) -> DurationMs {
        match &self.form {
            PutForm::Flags { valid_for, .. } => *valid_for,
            PutForm::Record(_) => DurationMs::ZERO,
        }
    }

    /// The key that it names.
    pub fn key(&self) -> &ExecutionKey {
        match &self.form {
            PutForm::Flags { key, .. } => key,
            PutForm::Record(record) => &record.wish().execution_key,
        }
    }

    /// The wished count.
    pub fn desired(&self) -> Replicas {
        match &self.form {
            PutForm::Flags { replicas, .. } => *replicas,
            PutForm::Record(record) => record.wish().desired_replicas,
        }
    }

    /// Why.
    pub fn reason(&self) -> &Reason {
        match &self.form {
            PutForm::Flags { reason, .. } => reason,
            PutForm::Record(record) => &record.wish().reason,
        }
    }
}
