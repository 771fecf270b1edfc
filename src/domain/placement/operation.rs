//! Operations: one change of a placement, step by step, each durable before and after its effect.
//!
//! Source: facts/placement.md, sections 5 and 6.

use serde::{Deserialize, Serialize};

use super::environment::{Desired, Effective, Standby};
use super::protocol::{CopyPlace, Receipt, RelocatorError};
use super::request::ChangeRequest;
use crate::domain::id::{
    CallId, EnvironmentName, EnvironmentRevision, FenceToken, IdempotencyKey, LeaseInstanceId,
    OperationId, PlacementEpoch, counted,
};
use crate::domain::scale::lease::Holder;
use crate::domain::scale::provenance::Claim;
use crate::domain::scale::result::Detail;
use crate::domain::time::Timestamp;

/// The lease of a worker unless told otherwise; it is renewed while a call lasts.
pub use crate::domain::scale::lease::LEASE_TTL_DEFAULT;

/// How often a step that may succeed later is tried while an environment does not serve.
pub const TRIES_MAX: u64 = 3;

/// What kind of change it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// Another profile or runtime mode, in the cell that it is in.
    InPlace,
    /// Another cell.
    Relocation,
    /// Another recovery copy, or none.
    Standby,
    /// The workspace of an older copy goes.
    Workspace,
}

impl OperationKind {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InPlace => "in_place",
            Self::Relocation => "relocation",
            Self::Standby => "standby",
            Self::Workspace => "workspace",
        }
    }
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Say what there is, and whether anything is missing.
    Inventory,
    /// Take the route away and let accepted requests end.
    Drain,
    /// Let no write in any more.
    Fence,
    /// Copy.
    Transfer,
    /// Read the copy back.
    Verify,
    /// The ledger's: another owner, one epoch further.
    Commit,
    /// Open the new copy and route to it.
    Route,
    /// Remove the older copy.
    Retire,
    /// Make a recovery copy and read it back.
    Snapshot,
    /// The ledger's: another recovery copy, or none.
    CommitStandby,
    /// Remove the older recovery copy.
    RetireStandby,
    /// Remove a workspace that an older copy has left.
    RetireWorkspace,
    /// The way back: let writes in again.
    Unfence,
    /// The way back: give the route back.
    Undrain,
    /// The way back: remove the new copy.
    Discard,
    /// The way back: remove the new recovery copy.
    DiscardSnapshot,
}

impl Step {
    /// The word for people and machines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inventory => "inventory",
            Self::Drain => "drain",
            Self::Fence => "fence",
            Self::Transfer => "transfer",
            Self::Verify => "verify",
            Self::Commit => "commit",
            Self::Route => "route",
            Self::Retire => "retire",
            Self::Snapshot => "snapshot",
            Self::CommitStandby => "commit_standby",
            Self::RetireStandby => "retire_standby",
            Self::RetireWorkspace => "retire_workspace",
            Self::Unfence => "unfence",
            Self::Undrain => "undrain",
            Self::Discard => "discard",
            Self::DiscardSnapshot => "discard_snapshot",
        }
    }

    /// Whether the ledger alone does it.
    pub const fn is_of_ledger(self) -> bool {
        matches!(self, Self::Commit | Self::CommitStandby)
    }
}

/// Permission for one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationLease {
    /// This grant and no other.
    pub lease_instance_id: LeaseInstanceId,
    /// Higher for each new lease of the environment; the relocator is told it with every call.
    pub token: FenceToken,
    /// Who holds it.
    pub holder: Holder,
    /// When it began.
    pub acquired_at: Timestamp,
    /// From this instant on somebody else may take the operation over.
    pub expires_at: Timestamp,
}

impl OperationLease {
    /// Whether nobody else may take the operation over yet.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// A step whose call is made, or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartedStep {
    /// The step.
    pub step: Step,
    /// Under which lease.
    pub token: FenceToken,
    /// The call; none where the ledger does it alone.
    pub call_id: CallId,
    /// Since when.
    pub at: Timestamp,
}

/// A step that is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoneStep {
    /// The step.
    pub step: Step,
    /// Under which lease.
    pub token: FenceToken,
    /// Since when.
    pub at: Timestamp,
    /// What the relocator says; none where the ledger did it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Box<Receipt>>,
}

/// Why a step did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Trouble {
    /// The relocator refused it.
    Refused {
        /// Its answer.
        error: Box<RelocatorError>,
    },
    /// Nobody knows what became of the call.
    Lost {
        /// Why.
        why: Detail,
    },
    /// A person has given the change up.
    Abandoned {
        /// Why.
        reason: Detail,
    },
}

impl Trouble {
    /// The word for machines.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Refused { error } => error.refusal.code(),
            Self::Lost { .. } => "call_lost",
            Self::Abandoned { .. } => "abandoned",
        }
    }

    /// The text for people.
    pub fn text(&self) -> &str {
        match self {
            Self::Refused { error } => &error.message,
            Self::Lost { why } => why.as_str(),
            Self::Abandoned { reason } => reason.as_str(),
        }
    }
}

/// How far an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// On its way.
    Forward,
    /// On its way back: what was done is undone.
    Back,
    /// It waits for a person: see its trouble.
    Stuck,
    /// Over: all is as wished.
    Succeeded,
    /// Over: all is as before.
    Failed,
}

impl Course {
    /// The word for people and machines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Back => "back",
            Self::Stuck => "stuck",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }

    /// Whether it is over.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// One change, from its admission to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Its name.
    pub operation_id: OperationId,
    /// Of which environment.
    pub environment: EnvironmentName,
    /// The key that it was submitted under.
    pub key: IdempotencyKey,
    /// What was submitted.
    pub request: ChangeRequest,
    /// The revision that it has made of the environment.
    pub revision: EnvironmentRevision,
    /// What kind of change it is.
    pub kind: OperationKind,
    /// What is wished then.
    pub desired: Desired,
    /// What was wished before.
    pub desired_before: Desired,
    /// The owner that it began with.
    pub from: Effective,
    /// The owner that it commits; its generation is the copy that is made, or the one that stays.
    pub to: Effective,
    /// The recovery copy that it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standby_before: Option<Standby>,
    /// The recovery copy that is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<CopyPlace>,
    /// The older copy whose workspace goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<CopyPlace>,
    /// The steps that are still to be done, the next one first.
    pub steps: Vec<Step>,
    /// What is done.
    pub done: Vec<DoneStep>,
    /// The steps that were ever started, in this order.
    pub begun: Vec<Step>,
    /// The call that is under way, or of which nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<StartedStep>,
    /// How far it is.
    pub course: Course,
    /// Whether it waits on its way back, where it is stuck.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_going_back: bool,
    /// How often the next step was tried without success.
    #[serde(deserialize_with = "counted")]
    pub tries: u64,
    /// Why the last try failed, or why it goes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// Whoever carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<OperationLease>,
    /// Under which token the source was last fenced by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fenced: Option<FenceToken>,
    /// The lease under which a call was made of which nobody knows the end. It may still act, so
    /// nothing more is begun under that lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsure: Option<FenceToken>,
    /// When it was admitted.
    pub admitted_at: Timestamp,
    /// By whom.
    pub actor: Claim,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

impl Operation {
    /// The committed epoch before it.
    pub const fn epoch(&self) -> PlacementEpoch {
        self.from.epoch
    }

    /// Whether its owner is the committed one: of what stays in its cell that is so at once.
    pub fn is_committed(&self) -> bool {
        self.kind != OperationKind::Relocation || self.is_done(Step::Commit)
    }

    /// Whether a step is done.
    pub fn is_done(&self, step: Step) -> bool {
        self.done.iter().any(|done| done.step == step)
    }

    /// Whether a step was ever started.
    pub fn has_begun(&self, step: Step) -> bool {
        self.begun.contains(&step)
    }

    /// The receipt of a step that is done.
    pub fn receipt(&self, step: Step) -> Option<&Receipt> {
        let done = self.done.iter().rev().find(|done| done.step == step)?;
        done.receipt.as_deref()
    }

    /// The step that comes next: the next one that is planned; but a new lease fences first where
    /// the source was to be fenced and still is to be, so that whoever had the older one can change
    /// nothing any more.
    pub fn next_step(&self) -> Option<Step> {
        let planned = *self.steps.first()?;
        let token = self.lease.as_ref().map(|lease| lease.token);
        let must_fence = self.has_begun(Step::Fence)
            && self.fenced != token
            && match planned {
                Step::Fence | Step::Transfer | Step::Verify | Step::Commit | Step::Route => true,
                Step::Inventory
                | Step::Drain
                | Step::Retire
                | Step::Snapshot
                | Step::CommitStandby
                | Step::RetireStandby
                | Step::RetireWorkspace
                | Step::Unfence
                | Step::Undrain
                | Step::Discard
                | Step::DiscardSnapshot => false,
            };
        Some(if must_fence { Step::Fence } else { planned })
    }

    /// Whether requests are kept away from the environment: from the drain to the route, or back.
    pub fn keeps_away(&self) -> bool {
        self.has_begun(Step::Drain)
            && !self.is_done(Step::Route)
            && !self.is_done(Step::Undrain)
            && !self.course.is_over()
    }
}
