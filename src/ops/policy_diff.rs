//! `policy diff`: what another policy would change. Nothing is written.
//!
//! Both policies are asked the same questions: those that recorded wishes have asked, with the
//! service as it is registered now. So a difference is one of the rules and of nothing else.

use std::collections::BTreeMap;

use super::error::OpError;
use super::session::Session;
use crate::domain::digest::Digest;
use crate::domain::id::{ExecutionKey, Replicas, ServiceName};
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{Acceptance, NewIntent};
use crate::domain::scale::gates::service_resource;
use crate::domain::scale::policy::{
    CHANGES_WINDOW, Counted, PolicyAction, PolicyGate, PolicyQuery, PolicyRule, RecentChanges,
};
use crate::domain::scale::provenance::{Provenance, WishSource};
use crate::domain::time::Timestamp;
use crate::ledger::{EventFilter, Order, StoredEvent};
use crate::policy::{CheckedPolicy, CheckedRule, NoPolicy, PolicyEngine, PolicySource, check};

/// What another policy would change.
pub struct PolicyDiff {
    /// The policy that holds; none where none is set.
    pub before: Option<Digest>,
    /// The other one.
    pub after: Digest,
    /// The rules that differ, by their ids.
    pub rules: Vec<RuleChange>,
    /// How many decisions were asked again.
    pub asked: usize,
    /// Those of them that would be answered otherwise, the newest first.
    pub otherwise: Vec<Otherwise>,
}

impl PolicyDiff {
    /// Whether it is the policy that holds.
    pub fn is_same(&self) -> bool {
        self.before == Some(self.after)
    }
}

/// A rule that differs.
pub enum RuleChange {
    /// Only the other policy has it.
    Added(CheckedRule),
    /// Only the policy that holds has it.
    Removed(CheckedRule),
    /// Both have it, with another text.
    Changed {
        /// As it holds.
        before: Box<CheckedRule>,
        /// As it would.
        after: Box<CheckedRule>,
    },
}

impl RuleChange {
    /// The word for it, the rule as it holds, and as it would.
    pub fn parts(&self) -> (&'static str, Option<&CheckedRule>, Option<&CheckedRule>) {
        match self {
            Self::Added(after) => ("added", None, Some(after)),
            Self::Removed(before) => ("removed", Some(before), None),
            Self::Changed { before, after } => ("changed", Some(before), Some(after)),
        }
    }
}

/// What a policy says of a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Yes.
    Allowed,
    /// A colleague may say yes.
    Proposed,
    /// No.
    Denied,
}

impl Said {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Proposed => "proposed",
            Self::Denied => "denied",
        }
    }
}

/// A recorded decision that would be another one.
pub struct Otherwise {
    /// Where it is in the log.
    pub position: u64,
    /// When it was made.
    pub at: Timestamp,
    /// Of which service.
    pub service: ServiceName,
    /// Of which wish.
    pub key: ExecutionKey,
    /// The count that it began with; none where it was not known.
    pub current: Option<Replicas>,
    /// The count that was wished.
    pub desired: Replicas,
    /// Who wished it, by claim.
    pub actor: String,
    /// What the policy that holds says of it.
    pub before: Said,
    /// What the other one says.
    pub after: Said,
    /// The rules by which the other one says so.
    pub rules: Vec<PolicyRule>,
}

/// A wish that was decided by policy.
struct Decided {
    position: u64,
    at: Timestamp,
    by: Provenance,
    intent: NewIntent,
}

/// Holds another policy against the one that holds, and asks both about the last `last` wishes
/// that policy has decided.
pub fn policy_diff(
    session: &mut Session,
    sources: &[PolicySource],
    last: usize,
) -> Result<PolicyDiff, OpError> {
    let after = check(sources)?;
    session.note_findings(&after)?;
    let before = session.stored_policy()?;
    let new = PolicyEngine::load(&after.compiled)
        .map_err(|error| OpError::Internal { what: error.to_string() })?;
    let old = before.as_ref().map(|policy| PolicyEngine::derive(&policy.sources)).transpose()?;
    let counted = old.as_ref().map_or(Counted::Nothing, PolicyEngine::counted).max(new.counted());
    let old_gate: &dyn PolicyGate = match &old {
        Some(engine) => engine,
        None => &NoPolicy,
    };
    let decided = decided(session, last)?;
    let oldest = decided.iter().map(|one| one.at).min();
    let changes = match oldest.filter(|_| counted != Counted::Nothing) {
        Some(oldest) => accepted(session, oldest.minus(CHANGES_WINDOW))?,
        None => Vec::new(),
    };
    let mut otherwise = Vec::new();
    let mut asked = 0;
    for one in decided {
        let Some(query) = question(session, &one, &changes, counted)? else { continue };
        asked += 1;
        let mut actions =
            PolicyAction::for_change(one.intent.current, one.intent.wish.desired_replicas);
        if one.intent.source == WishSource::Override {
            actions.push(PolicyAction::Override);
        }
        let (before, _) = said(old_gate, &query, &actions);
        let (after, rules) = said(&new, &query, &actions);
        if before != after {
            otherwise.push(Otherwise {
                position: one.position,
                at: one.at,
                service: one.intent.service.clone(),
                key: one.intent.wish.execution_key.clone(),
                current: one.intent.current,
                desired: one.intent.wish.desired_replicas,
                actor: one.by.actor.to_string(),
                before,
                after,
                rules,
            });
        }
    }
    Ok(PolicyDiff {
        before: before.as_ref().map(|policy| policy.digest),
        after: after.digest,
        rules: changed_rules(before.as_ref(), &after),
        asked,
        otherwise,
    })
}

fn changed_rules(before: Option<&CheckedPolicy>, after: &CheckedPolicy) -> Vec<RuleChange> {
    let of = |policy: &CheckedPolicy| -> BTreeMap<String, CheckedRule> {
        policy.rules.iter().map(|rule| (rule.id.clone(), rule.clone())).collect()
    };
    let (mut old, new) = (before.map(of).unwrap_or_default(), of(after));
    let mut changes = Vec::new();
    for (id, after) in new {
        match old.remove(&id) {
            None => changes.push(RuleChange::Added(after)),
            Some(before) if before.text != after.text => {
                let (before, after) = (Box::new(before), Box::new(after));
                changes.push(RuleChange::Changed { before, after });
            }
            Some(_) => {}
        }
    }
    changes.extend(old.into_values().map(RuleChange::Removed));
    changes
}

/// What a policy says of a wish, and by which rules.
fn said(
    gate: &dyn PolicyGate,
    query: &PolicyQuery,
    actions: &[PolicyAction],
) -> (Said, Vec<PolicyRule>) {
    let answer = gate.answer_all(query, actions);
    if answer.allowed {
        return (Said::Allowed, answer.rules);
    }
    if !answer.leaves_to_a_colleague() {
        return (Said::Denied, answer.rules);
    }
    let asked = gate.answer(&PolicyQuery { action: PolicyAction::Propose, ..query.clone() });
    if asked.allowed { (Said::Proposed, asked.rules) } else { (Said::Denied, answer.rules) }
}

/// The newest wishes that policy alone has decided: what a person has agreed to says nothing of it.
fn decided(session: &mut Session, last: usize) -> Result<Vec<Decided>, OpError> {
    let filter =
        EventFilter { limit: Some(last), order: Order::NewestFirst, ..EventFilter::default() };
    let is_wanted = |event: &StoredEvent| decided_of(event).is_some();
    let events = session.ledger.read()?.events_where(&filter, &is_wanted)?;
    Ok(events.iter().filter_map(decided_of).collect())
}

fn decided_of(event: &StoredEvent) -> Option<Decided> {
    let is_wish = matches!(event.kind.as_str(), "intent_accepted" | "intent_proposed");
    let body = is_wish.then(|| serde_json::from_value(event.body.clone()).ok())??;
    let (EventBody::IntentAccepted {
        intent, acceptance: Acceptance { consent: None, .. }, ..
    }
    | EventBody::IntentProposed { intent, .. }) = body
    else {
        return None;
    };
    let decided = Decided { position: event.position, at: event.at, by: event.by.clone(), intent };
    Some(decided).filter(|decided| !decided.intent.dry_run)
}

/// When live intents were accepted from an instant on, and of which services: no more of the log is
/// kept than the oldest question can count.
fn accepted(
    session: &mut Session,
    since: Timestamp,
) -> Result<Vec<(Timestamp, u64, String)>, OpError> {
    let is_wanted = |event: &StoredEvent| {
        event.kind == "intent_accepted" && event.body["intent"]["dry_run"] != true
    };
    let filter = EventFilter { since: Some(since), ..EventFilter::default() };
    let events = session.ledger.read()?.events_where(&filter, &is_wanted)?;
    let of = |event: StoredEvent| (event.at, event.position, event.stream.to_string());
    Ok(events.into_iter().map(of).collect())
}

/// The question that a wish has asked; none where its service is not registered any more.
fn question(
    session: &mut Session,
    one: &Decided,
    changes: &[(Timestamp, u64, String)],
    counted: Counted,
) -> Result<Option<PolicyQuery>, OpError> {
    let (intent, by, at) = (&one.intent, &one.by, one.at);
    let state = session.ledger.read()?.service_state(&intent.service, &[])?;
    let Some(registration) = state.head.registration.clone() else { return Ok(None) };
    let resource =
        session.with_context(&state, None, |context| service_resource(&registration, context))?;
    let query = PolicyQuery::of(by, PolicyAction::ScaleUp, resource, intent.source, at);
    let recent = (counted != Counted::Nothing).then(|| recent_at(one, changes, counted));
    Ok(Some(PolicyQuery {
        desired: Some(intent.wish.desired_replicas),
        current: intent.current,
        reason: Some(intent.wish.reason.as_str().to_owned()),
        controller: Some(intent.wish.replica_writer_id.clone()),
        recent,
        ..query
    }))
}

/// How much had been changed within the hour before a wish.
fn recent_at(
    one: &Decided,
    changes: &[(Timestamp, u64, String)],
    counted: Counted,
) -> RecentChanges {
    let own = crate::ledger::Stream::Service(one.intent.service.clone()).to_string();
    let mut of: BTreeMap<&str, u32> = BTreeMap::from([(own.as_str(), 0)]);
    let since = one.at.minus(CHANGES_WINDOW);
    for (at, position, stream) in changes {
        if *position < one.position && *at > since {
            *of.entry(stream).or_default() += 1;
        }
    }
    let of_ledger = counted == Counted::OfLedger;
    RecentChanges {
        of_service: of[own.as_str()],
        of_ledger: of_ledger.then(|| of.values().sum()),
        services: of_ledger.then(|| u32::try_from(of.len()).unwrap_or(u32::MAX)),
    }
}
