//! Consent: what permits a wish that policy alone does not.
//!
//! Two kinds, and both are a person's. An approval is another person's answer to one proposal: it
//! belongs to that execution and to nothing else. An authorization breaks the glass: it is bound to
//! one target and one count, and somebody reviews it afterwards. Neither can be used for anything
//! that it was not given for, and neither is used up by a refusal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::{Event, EventBody};
use super::execution::{Execution, Outcome, Phase};
use super::intent::Fence;
use super::policy::PolicyAnswer;
use super::provenance::Provenance;
use super::result::Detail;
use crate::domain::digest::sha256_hex;
use crate::domain::id::{
    ApprovalId, AuthorizationId, ClusterId, ExecutionKey, Replicas, RuntimeId, ServiceName,
    TargetUid, WorkloadId,
};
use crate::domain::time::{DurationMs, Timestamp};

/// How long a proposal waits, where nobody says.
pub const APPROVE_WITHIN_DEFAULT: DurationMs = DurationMs::from_secs(24 * 3600);
/// The longest that a proposal may wait.
pub const APPROVE_WITHIN_MAX: DurationMs = DurationMs::from_secs(7 * 24 * 3600);
/// How long an authorization lasts, where nobody says.
pub const AUTHORIZATION_DEFAULT: DurationMs = DurationMs::from_secs(3600);
/// The longest that an authorization may last.
pub const AUTHORIZATION_MAX: DurationMs = DurationMs::from_secs(24 * 3600);
/// The longest name of an incident, in characters.
pub const INCIDENT_CHARS_MAX: usize = 128;

/// The name of a proposal, for people: `a-` and ten hex digits of its key's digest.
pub fn approval_id(key: &ExecutionKey) -> ApprovalId {
    let digest = sha256_hex(key.as_str().as_bytes());
    format!("a-{}", &digest[..10]).parse().expect("BUG: hex digits are an identifier")
}

/// What a proposal waits with, beside its intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The life of the fence that a grant mints.
    pub valid_for: DurationMs,
    /// The fence that its maker brought, and when the record was made; none where it is minted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<(Fence, Timestamp)>,
    /// What policy said instead of yes.
    pub refused: PolicyAnswer,
    /// The count that it was asked about: the approval holds only while it is this.
    pub base: Replicas,
}

/// Another person's yes to one proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The proposal.
    pub approval_id: ApprovalId,
    /// Who said yes.
    pub by: Provenance,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: Detail,
    /// The count that it was asked about.
    pub base: Replicas,
    /// What policy said of whoever said yes.
    pub decision: PolicyAnswer,
}

/// What permits an intent, where policy alone does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "consent", deny_unknown_fields)]
pub enum Consent {
    /// A colleague has agreed.
    Approval {
        /// The answer.
        approval: Box<Approval>,
    },
    /// Somebody has broken the glass.
    BreakGlass {
        /// The authorization.
        authorization_id: AuthorizationId,
    },
}

/// Where a proposal stands, for whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// Nobody has answered.
    Pending,
    /// Nobody has answered in time.
    Expired,
    /// Somebody said yes, and what was asked for is not done.
    Granted,
    /// Somebody said no.
    Denied,
    /// It was done: the approval is used up.
    Used,
    /// It ended otherwise: withdrawn, superseded, simulated, or failed for good.
    Ended,
}

impl ApprovalStatus {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Expired => "expired",
            Self::Granted => "granted",
            Self::Denied => "denied",
            Self::Used => "used",
            Self::Ended => "ended",
        }
    }
}

/// Where the proposal of an execution stands; none where it never was one. It is told by the
/// execution alone: so the transaction that records a success closes the approval, and no crash can
/// come between.
pub fn approval_status(execution: &Execution, now: Timestamp) -> Option<ApprovalStatus> {
    execution.asked.as_ref()?;
    Some(match &execution.phase {
        Phase::Proposed { until, .. } if *until <= now => ApprovalStatus::Expired,
        Phase::Proposed { .. } => ApprovalStatus::Pending,
        Phase::Rejected => ApprovalStatus::Denied,
        // Nobody was called for a simulation: what was agreed to is not done, and never will be.
        Phase::Verified { cause: None } if execution.outcome() == Some(Outcome::Simulated) => {
            ApprovalStatus::Ended
        }
        Phase::Succeeded | Phase::Observed | Phase::Verified { cause: None } => {
            ApprovalStatus::Used
        }
        Phase::Superseded { outcome: Some(_), .. } => ApprovalStatus::Used,
        Phase::Superseded { outcome: None, .. }
        | Phase::Withdrawn
        | Phase::Verified { cause: Some(_) } => ApprovalStatus::Ended,
        Phase::Accepted
        | Phase::Started { .. }
        | Phase::RecoveryPending { .. }
        | Phase::Failed { .. } => ApprovalStatus::Granted,
    })
}

/// The name of an incident: a ticket, a page. 1 to 128 characters without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Incident(String);

/// An incident that is blank, too long or has a control character in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "an incident has 1 to {INCIDENT_CHARS_MAX} characters, not all blank, and no control characters"
)]
pub struct InvalidIncident;

impl Incident {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Incident {
    type Error = InvalidIncident;
    fn try_from(text: String) -> Result<Self, InvalidIncident> {
        let is_too_long = text.chars().count() > INCIDENT_CHARS_MAX;
        if text.trim().is_empty() || is_too_long || text.chars().any(char::is_control) {
            return Err(InvalidIncident);
        }
        Ok(Self(text))
    }
}

impl std::str::FromStr for Incident {
    type Err = InvalidIncident;
    fn from_str(text: &str) -> Result<Self, InvalidIncident> {
        text.to_owned().try_into()
    }
}

impl From<Incident> for String {
    fn from(incident: Incident) -> String {
        incident.0
    }
}

impl std::fmt::Display for Incident {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A permission to break the glass. Bound to one target and one count; passes policy, approval and
/// cooldown, and nothing else (design, section 4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Authorization {
    /// Its name.
    pub authorization_id: AuthorizationId,
    /// The service.
    pub service: ServiceName,
    /// Where its target runs.
    pub cluster_id: ClusterId,
    /// Where its target runs.
    pub runtime_id: RuntimeId,
    /// What its target is called.
    pub workload_id: WorkloadId,
    /// What its target is.
    pub target_uid: TargetUid,
    /// The one count that may be wished under it.
    pub desired_replicas: Replicas,
    /// The count that whoever gave it believed to run.
    pub current: Option<Replicas>,
    /// What it is for.
    pub incident: Incident,
    /// Why.
    pub reason: Detail,
    /// Until when a wish may be put and a call be made under it.
    pub until: Timestamp,
    /// How many wishes may be carried out under it: 1 or more.
    pub max_uses: u8,
    /// Whether whoever gave it vouches that what is not drained may lose its work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attests_not_drained: bool,
    /// The upper bound that it lets register.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raises_max_to: Option<Replicas>,
    /// What policy said of whoever gave it.
    pub decision: PolicyAnswer,
}

/// One use of an authorization: one wish that was carried out, or settled, under it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GlassUse {
    /// Who wished it, where that was another person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wished_by: Option<Box<Provenance>>,
    /// Who carried it out.
    pub by: Provenance,
    /// When.
    pub at: Timestamp,
    /// Who else carried it out, in a later attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_by: Vec<Provenance>,
}

impl GlassUse {
    /// Everybody who had a hand in it.
    fn hands(&self) -> impl Iterator<Item = &Provenance> {
        self.wished_by.as_deref().into_iter().chain([&self.by]).chain(&self.also_by)
    }

    /// Whether somebody had a hand in it, as far as evidence tells persons apart.
    pub fn is_in_hands_of(&self, person: &Provenance) -> bool {
        self.hands().any(|hand| !person.is_other_person(hand))
    }
}

/// An authorization that nobody has reviewed, with what has become of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenAuthorization {
    /// What was given.
    pub authorization: Authorization,
    /// By whom.
    pub by: Provenance,
    /// When.
    pub at: Timestamp,
    /// What was carried out under it, by key.
    #[serde(default)]
    pub uses: BTreeMap<ExecutionKey, GlassUse>,
    /// When it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// Why an authorization does not permit something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unauthorized {
    /// There is none of that name that is open.
    NoSuch,
    /// It is over.
    Expired,
    /// It was taken back.
    Revoked,
    /// It was used as often as it may be.
    UsedUp,
    /// It is for another count.
    OtherCount,
    /// It is for another target.
    OtherTarget,
}

impl Unauthorized {
    /// The words for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSuch => "there is no such authorization that is open",
            Self::Expired => "it has expired",
            Self::Revoked => "it was taken back",
            Self::UsedUp => "it was used as often as it may be",
            Self::OtherCount => "it is for another count",
            Self::OtherTarget => "it is for another target",
        }
    }
}

/// A review of an authorization: the end of its story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// Who looked at it.
    pub by: Provenance,
    /// When.
    pub at: Timestamp,
    /// What they said.
    pub reason: Detail,
}

impl OpenAuthorization {
    /// As it is given.
    pub fn given(authorization: Authorization, by: Provenance, at: Timestamp) -> Self {
        Self { authorization, by, at, uses: BTreeMap::new(), revoked_at: None }
    }

    /// Everybody who has had a hand in it: who gave it, and who else wished or carried out under
    /// it. None of them looks at it afterwards. A use signs nothing; where no evidence tells its
    /// person from whoever gave it, it is theirs, with the key that they signed with.
    pub fn hands(&self) -> impl Iterator<Item = &Provenance> {
        let used = self.uses.values().flat_map(GlassUse::hands);
        std::iter::once(&self.by).chain(used.filter(|hand| hand.is_other_person(&self.by)))
    }

    /// Why nothing more may be done under it; none while something may.
    pub fn over(&self, now: Timestamp) -> Option<Unauthorized> {
        if self.revoked_at.is_some() {
            Some(Unauthorized::Revoked)
        } else if self.authorization.until <= now {
            Some(Unauthorized::Expired)
        } else if self.uses.len() >= usize::from(self.authorization.max_uses) {
            Some(Unauthorized::UsedUp)
        } else {
            None
        }
    }

    /// What an event after the grant makes of it.
    pub fn follow(&mut self, event: &Event) {
        match &event.body {
            EventBody::AuthorizationUsed { execution_key, wished_by, .. } => {
                let first = || GlassUse {
                    wished_by: wished_by.clone(),
                    by: event.by.clone(),
                    at: event.at,
                    also_by: Vec::new(),
                };
                let used = self.uses.entry(execution_key.clone()).or_insert_with(first);
                if !used.is_in_hands_of(&event.by) {
                    used.also_by.push(event.by.clone());
                }
            }
            EventBody::AuthorizationRevoked { .. } => self.revoked_at = Some(event.at),
            _ => {}
        }
    }

    /// Whether it permits one key to be carried out at `now`, by its own terms.
    pub fn permits(
        &self,
        key: &ExecutionKey,
        desired: Replicas,
        target: &super::intent::TargetBinding,
        now: Timestamp,
    ) -> Result<(), Unauthorized> {
        let it = &self.authorization;
        let is_same_target = it.cluster_id == target.cluster_id
            && it.runtime_id == target.runtime_id
            && it.workload_id == target.workload_id
            && it.target_uid == target.target_uid;
        // The same key again is the same use.
        let over = self.over(now);
        let is_own = over == Some(Unauthorized::UsedUp) && self.uses.contains_key(key);
        if let Some(why) = over.filter(|_| !is_own) {
            Err(why)
        } else if !is_same_target {
            Err(Unauthorized::OtherTarget)
        } else if it.desired_replicas != desired {
            Err(Unauthorized::OtherCount)
        } else {
            Ok(())
        }
    }
}
