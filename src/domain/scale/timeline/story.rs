//! The story of one intent, of one refusal, of one broken glass.

use serde::Serialize;

use crate::domain::id::{ApprovalId, AuthorizationId, ExecutionKey, IntentRevision, Replicas};
use crate::domain::registry::RefusalBody;
use crate::domain::scale::consent::{Approval, Authorization, Consent};
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{NewIntent, Outcome};
use crate::domain::scale::observation::ObservationStatus;
use crate::domain::scale::policy::PolicyAnswer;
use crate::domain::scale::provenance::{Provenance, WishSource};
use crate::domain::scale::result::ResultState;
use crate::domain::time::Timestamp;

/// One intent: what was wished, by whom, why, under which rule, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Story {
    /// Its place in its service.
    pub intent_revision: IntentRevision,
    /// Its key.
    pub execution_key: ExecutionKey,
    /// When it was put.
    pub at: Timestamp,
    /// By whom.
    pub by: Provenance,
    /// By which way.
    pub source: WishSource,
    /// The count that it was decided on.
    pub current_replicas: Option<Replicas>,
    /// The count that it wishes.
    pub desired_replicas: Replicas,
    /// Why.
    pub reason: String,
    /// What policy said of it.
    pub decision: PolicyAnswer,
    /// Whether it is a simulation.
    pub dry_run: bool,
    /// When it was accepted, if it was.
    pub accepted_at: Option<Timestamp>,
    /// The colleague's answer that it rests on.
    pub approval: Option<Approved>,
    /// The broken glass that it rests on.
    pub authorization_id: Option<AuthorizationId>,
    /// What became of it, the oldest first.
    pub turns: Vec<Turn>,
}

/// Another person's yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approved {
    /// Its name.
    pub approval_id: ApprovalId,
    /// By whom.
    pub by: Provenance,
    /// Why.
    pub reason: String,
    /// What policy said of them.
    pub decision: PolicyAnswer,
}

impl From<&Approval> for Approved {
    fn from(approval: &Approval) -> Self {
        Self {
            approval_id: approval.approval_id.clone(),
            by: approval.by.clone(),
            reason: approval.reason.as_str().to_owned(),
            decision: approval.decision.clone(),
        }
    }
}

/// One thing that became of an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Turn {
    /// When.
    pub at: Timestamp,
    /// By whom: a claim.
    pub actor: String,
    /// The word.
    pub word: &'static str,
    /// What more there is to say.
    pub detail: String,
    /// What the intent came to by this.
    pub outcome: Option<Outcome>,
}

impl Turn {
    /// Of an event; none where it says nothing of how an intent goes.
    pub(super) fn of(at: Timestamp, by: &Provenance, body: &EventBody) -> Option<Self> {
        let (word, detail, outcome) = match body {
            EventBody::IntentProposed { until, .. } => {
                ("proposed", format!("waits for a colleague until {until}"), None)
            }
            EventBody::IntentRejected { reason, .. } => {
                ("rejected", reason.as_str().to_owned(), None)
            }
            EventBody::IntentSuperseded { by, outcome, .. } => {
                ("superseded", format!("by @{by}"), *outcome)
            }
            EventBody::IntentWithdrawn { reason, .. } => {
                let reason = reason.as_ref().map(|reason| reason.as_str().to_owned());
                ("withdrawn", reason.unwrap_or_default(), None)
            }
            EventBody::AttemptStarted { call, .. } => {
                ("started", format!("attempt {}", call.attempt), None)
            }
            EventBody::ResultRecorded { result, attempt, .. } => {
                let word = match result.state() {
                    ResultState::Succeeded => "succeeded",
                    ResultState::Failed => "failed",
                    ResultState::Simulated => "simulated",
                };
                let read = result.observed_replicas();
                let read = read.map(|count| format!("{count} read, "));
                (word, format!("{}attempt {attempt}", read.unwrap_or_default()), None)
            }
            EventBody::AttemptLost { why, detail, .. } => {
                ("unknown", [why.as_str(), detail.as_str()].join(": "), Some(Outcome::Unknown))
            }
            EventBody::ObservationRecorded { observation, .. } => {
                let outcome = match observation.status {
                    ObservationStatus::Converged => Outcome::Converged,
                    ObservationStatus::Failed => Outcome::Failed,
                    ObservationStatus::Simulated => Outcome::Simulated,
                };
                ("verified", observation.detail.as_str().to_owned(), Some(outcome))
            }
            EventBody::OverrideSet { until, .. } => ("pinned", format!("until {until}"), None),
            EventBody::ServiceRegistered { .. }
            | EventBody::ServiceHandedOver { .. }
            | EventBody::ServiceRetired { .. }
            | EventBody::HoldSet { .. }
            | EventBody::HoldLifted { .. }
            | EventBody::OverrideCleared { .. }
            | EventBody::AuthorizationGranted { .. }
            | EventBody::AuthorizationUsed { .. }
            | EventBody::AuthorizationRevoked { .. }
            | EventBody::AuthorizationReviewed { .. }
            | EventBody::AutoscaleEvaluated { .. }
            | EventBody::TargetBound { .. }
            | EventBody::IntentAccepted { .. }
            | EventBody::GatewayFinalized { .. }
            | EventBody::GatewayImported { .. }
            | EventBody::LeaseAcquired { .. }
            | EventBody::LeaseRenewed { .. }
            | EventBody::LeaseReleased { .. }
            | EventBody::CallEnded { .. }
            | EventBody::TargetFenced { .. }
            | EventBody::ReadingRecorded { .. }
            | EventBody::LateResultKept { .. }
            | EventBody::ServiceRestored { .. }
            | EventBody::ClockAccepted { .. }
            | EventBody::ExecutionClockAccepted { .. } => return None,
        };
        Some(Self { at, actor: by.actor.to_string(), word, detail, outcome })
    }
}

impl Story {
    /// Of the event that begins it.
    pub(super) fn begun(at: Timestamp, by: &Provenance, body: &EventBody) -> Option<Self> {
        if let EventBody::IntentProposed { intent, .. } = body {
            return Some(Self::of(at, by, intent));
        }
        let EventBody::IntentAccepted { intent, acceptance, .. } = body else { return None };
        let mut story = Self::of(at, by, intent);
        story.accepted_at = Some(at);
        match &acceptance.consent {
            Some(Consent::Approval { approval }) => story.approval = Some((&**approval).into()),
            Some(Consent::BreakGlass { authorization_id }) => {
                story.authorization_id = Some(authorization_id.clone());
            }
            None => {}
        }
        Some(story)
    }

    fn of(at: Timestamp, by: &Provenance, intent: &NewIntent) -> Self {
        Self {
            intent_revision: intent.wish.intent_revision,
            execution_key: intent.wish.execution_key.clone(),
            at,
            by: by.clone(),
            source: intent.source,
            current_replicas: intent.current,
            desired_replicas: intent.wish.desired_replicas,
            reason: intent.wish.reason.as_str().to_owned(),
            decision: intent.decision.clone(),
            dry_run: intent.dry_run,
            accepted_at: None,
            approval: None,
            authorization_id: None,
            turns: Vec::new(),
        }
    }

    /// Goes on with the acceptance of what was proposed: whoever proposed it wished it.
    pub(super) fn accepted(&mut self, accepted: Self) {
        self.accepted_at = accepted.accepted_at;
        self.approval = accepted.approval;
        self.authorization_id = accepted.authorization_id;
        self.current_replicas = accepted.current_replicas;
    }

    pub(super) fn turn(&mut self, turn: Turn) {
        self.turns.push(turn);
    }

    /// What it came to, by the last turn that says so.
    pub fn outcome(&self) -> Option<Outcome> {
        let last = self.turns.iter().rev().find(|turn| turn.word != "proposed")?;
        last.outcome
    }

    /// The word for where it stands.
    pub fn stands(&self) -> &'static str {
        match self.turns.last() {
            Some(turn) if turn.word == "proposed" && self.accepted_at.is_some() => "accepted",
            Some(turn) => turn.word,
            None => "accepted",
        }
    }

    /// Whether nothing more can become of it.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.stands(), "verified" | "rejected" | "withdrawn" | "superseded")
    }

    /// When the newest of it happened.
    pub fn last_at(&self) -> Timestamp {
        let turn = self.turns.last().map_or(self.at, |turn| turn.at);
        turn.max(self.accepted_at.unwrap_or(self.at))
    }
}

/// One refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// When.
    pub at: Timestamp,
    /// Who was refused.
    pub by: Provenance,
    /// The word for machines.
    pub code: String,
    /// The text for people.
    pub message: String,
    /// What policy said, where it was asked.
    pub answer: Option<PolicyAnswer>,
}

impl Refused {
    pub(super) fn of(at: Timestamp, by: Provenance, body: RefusalBody) -> Self {
        let RefusalBody::Refused { code, message, answer, .. } = body;
        Self { at, by, code, message, answer }
    }
}

/// One broken glass: who may do what, why, and what was made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Glass {
    /// Its name.
    pub authorization_id: AuthorizationId,
    /// When it was broken.
    pub at: Timestamp,
    /// By whom.
    pub by: Provenance,
    /// The count that it is for.
    pub desired_replicas: Replicas,
    /// What it is for.
    pub incident: String,
    /// Why.
    pub reason: String,
    /// What policy said.
    pub decision: PolicyAnswer,
    /// What was done under it.
    pub uses: Vec<ExecutionKey>,
    /// When it was taken back.
    pub revoked_at: Option<Timestamp>,
    /// Who has looked at what was done, and what they say.
    pub review: Option<Review>,
    /// When the newest of it happened.
    #[serde(skip)]
    last: Timestamp,
}

/// What somebody says of what was done under a broken glass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Review {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Provenance,
    /// What they say.
    pub reason: String,
}

impl Glass {
    pub(super) fn granted(at: Timestamp, by: &Provenance, body: &EventBody) -> Option<Self> {
        let EventBody::AuthorizationGranted { authorization } = body else { return None };
        let Authorization {
            authorization_id, desired_replicas, incident, reason, decision, ..
        } = &**authorization;
        Some(Self {
            authorization_id: authorization_id.clone(),
            at,
            by: by.clone(),
            desired_replicas: *desired_replicas,
            incident: incident.to_string(),
            reason: reason.as_str().to_owned(),
            decision: decision.clone(),
            uses: Vec::new(),
            revoked_at: None,
            review: None,
            last: at,
        })
    }

    pub(super) fn turn(&mut self, at: Timestamp, by: &Provenance, body: &EventBody) {
        self.last = at;
        if let EventBody::AuthorizationUsed { execution_key, .. } = body {
            self.uses.push(execution_key.clone());
        } else if let EventBody::AuthorizationRevoked { .. } = body {
            self.revoked_at = Some(at);
        } else if let EventBody::AuthorizationReviewed { reason, .. } = body {
            let reason = reason.as_str().to_owned();
            self.review = Some(Review { at, by: by.clone(), reason });
        }
    }

    /// When the newest of it happened.
    pub const fn last_at(&self) -> Timestamp {
        self.last
    }
}
