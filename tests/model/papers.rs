//! What a log says about consent, read a second way: who asked, who agreed to what, what was
//! permitted, and whose hands it went through. Shares nothing with the fold.

use std::collections::BTreeMap;

use scalectl::domain::id::{AuthorizationId, ExecutionKey, Replicas};
use scalectl::domain::scale::consent::{Authorization, Consent};
use scalectl::domain::scale::event::{Event, EventBody};
use scalectl::domain::scale::execution::NewIntent;
use scalectl::domain::scale::intent::Fence;
use scalectl::domain::scale::provenance::Provenance;
use scalectl::domain::time::Timestamp;

/// Whether two are one: by the keys that both have signed with, else by the name or the number that
/// the system knows.
pub(super) fn is_same(one: &Provenance, other: &Provenance) -> bool {
    if let (Some(one), Some(other)) = (&one.signed_by, &other.signed_by) {
        return one.fingerprint == other.fingerprint;
    }
    one.os_user == other.os_user || one.uid == other.uid
}

/// A question to a colleague, and what has become of it.
pub(super) struct Question<'l> {
    pub(super) by: &'l Provenance,
    pub(super) intent: &'l NewIntent,
    pub(super) base: Replicas,
    /// The fence that its maker brought.
    pub(super) given: Option<&'l Fence>,
    pub(super) until: Timestamp,
    pub(super) granted_by: Option<&'l Provenance>,
    pub(super) is_denied: bool,
    /// Whether it was taken back, replaced, simulated, or failed for good.
    pub(super) is_ended: bool,
    pub(super) is_done: bool,
}

impl Question<'_> {
    pub(super) const fn is_answered(&self) -> bool {
        self.granted_by.is_some() || self.is_denied || self.is_ended
    }

    /// Where it stands, in the words of the wire.
    pub(super) fn status(&self, now: Timestamp) -> &'static str {
        match () {
            () if self.is_denied => "denied",
            () if self.is_done => "used",
            () if self.is_ended => "ended",
            () if self.granted_by.is_some() => "granted",
            () if self.until <= now => "expired",
            () => "pending",
        }
    }
}

/// An authorization, and what has become of it.
pub(super) struct Given<'l> {
    pub(super) it: &'l Authorization,
    pub(super) by: &'l Provenance,
    /// The keys that it was used for.
    pub(super) marks: BTreeMap<&'l ExecutionKey, Vec<&'l Provenance>>,
    pub(super) is_revoked: bool,
    pub(super) is_reviewed: bool,
}

impl Given<'_> {
    /// Whether something may still be done under it that was not begun under it yet.
    pub(super) fn is_open(&self, now: Timestamp) -> bool {
        let is_left = self.marks.len() < usize::from(self.it.max_uses);
        self.is_alive(now) && is_left
    }

    pub(super) fn is_alive(&self, now: Timestamp) -> bool {
        !self.is_revoked && !self.is_reviewed && now < self.it.until
    }
}

/// What is known of the calls of a key.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) starts: u64,
    /// Whether the last of them is lost, and nobody knows more.
    pub(super) is_lost: bool,
    /// The count that the last of them has left in part.
    pub(super) left: Option<Replicas>,
}

#[derive(Default)]
pub(super) struct Papers<'l> {
    pub(super) asked: BTreeMap<&'l ExecutionKey, Question<'l>>,
    pub(super) given: BTreeMap<&'l AuthorizationId, Given<'l>>,
    pub(super) wished: BTreeMap<&'l ExecutionKey, (&'l Provenance, &'l NewIntent)>,
    /// What each key was accepted with.
    pub(super) accepted: BTreeMap<&'l ExecutionKey, Option<&'l Consent>>,
    pub(super) calls: BTreeMap<&'l ExecutionKey, Calls>,
    /// Until when somebody holds the count.
    pub(super) held: Option<Timestamp>,
}

impl<'l> Papers<'l> {
    pub(super) fn of(log: impl IntoIterator<Item = &'l Event>) -> Self {
        let mut papers = Self::default();
        log.into_iter().for_each(|event| papers.note(event));
        papers
    }

    pub(super) fn note(&mut self, event: &'l Event) {
        match &event.body {
            EventBody::IntentProposed { intent, until, asked } => {
                let key = &intent.wish.execution_key;
                let question = Question {
                    by: &event.by,
                    intent,
                    base: asked.base,
                    given: asked.given.as_ref().map(|(fence, _)| fence),
                    until: *until,
                    granted_by: None,
                    is_denied: false,
                    is_ended: false,
                    is_done: false,
                };
                self.asked.insert(key, question);
                self.wished.insert(key, (&event.by, intent));
            }
            EventBody::IntentAccepted { intent, acceptance, .. } => {
                let key = &intent.wish.execution_key;
                self.wished.entry(key).or_insert((&event.by, intent));
                self.accepted.insert(key, acceptance.consent.as_ref());
                if let Some(question) = self.asked.get_mut(key) {
                    question.granted_by = Some(&event.by);
                }
            }
            EventBody::IntentRejected { execution_key, .. } => {
                self.of_question(execution_key, |it| it.is_denied = true);
            }
            EventBody::IntentWithdrawn { execution_key, .. }
            | EventBody::IntentSuperseded { execution_key, .. } => {
                self.of_question(execution_key, |it| it.is_ended = true);
            }
            EventBody::ObservationRecorded { execution_key, observation, .. } => {
                let is_end = !observation.scaled;
                self.of_question(execution_key, |it| it.is_ended |= is_end);
            }
            EventBody::AttemptStarted { execution_key, .. } => {
                let calls = self.calls.entry(execution_key).or_default();
                (calls.starts, calls.is_lost) = (calls.starts + 1, false);
            }
            EventBody::HoldSet { until, .. } => self.held = Some(*until),
            EventBody::HoldLifted { .. } => self.held = None,
            EventBody::AttemptLost { execution_key, .. } => {
                self.calls.entry(execution_key).or_default().is_lost = true;
            }
            EventBody::ResultRecorded { execution_key, result, partly_applied, .. } => {
                let calls = self.calls.entry(execution_key).or_default();
                calls.is_lost = false;
                calls.left = result.observed_replicas().filter(|_| *partly_applied);
                if result.scaled() {
                    self.of_question(execution_key, |it| it.is_done = true);
                }
            }
            _ => self.note_glass(event),
        }
    }

    fn note_glass(&mut self, event: &'l Event) {
        match &event.body {
            EventBody::AuthorizationGranted { authorization } => {
                let given = Given {
                    it: authorization,
                    by: &event.by,
                    marks: BTreeMap::new(),
                    is_revoked: false,
                    is_reviewed: false,
                };
                self.given.insert(&authorization.authorization_id, given);
            }
            EventBody::AuthorizationUsed { authorization_id, execution_key, .. } => {
                if let Some(given) = self.given.get_mut(authorization_id) {
                    given.marks.entry(execution_key).or_default().push(&event.by);
                }
            }
            EventBody::AuthorizationRevoked { authorization_id, .. } => {
                if let Some(given) = self.given.get_mut(authorization_id) {
                    given.is_revoked = true;
                }
            }
            EventBody::AuthorizationReviewed { authorization_id, .. } => {
                if let Some(given) = self.given.get_mut(authorization_id) {
                    given.is_reviewed = true;
                }
            }
            _ => {}
        }
    }

    fn of_question(&mut self, key: &ExecutionKey, change: impl FnOnce(&mut Question<'l>)) {
        if let Some(question) = self.asked.get_mut(key) {
            change(question);
        }
    }
}
