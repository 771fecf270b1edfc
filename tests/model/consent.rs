//! What must hold of consent: whoever needs it has it, for exactly that; it comes from another
//! person; and it is used no more often than it may be. Told by the log alone.

use std::collections::BTreeSet;

use scalectl::domain::id::{AuthorizationId, ExecutionKey, Replicas};
use scalectl::domain::scale::attempt::ResultSource;
use scalectl::domain::scale::command::Command;
use scalectl::domain::scale::consent::{Approval, Consent, approval_id, approval_status};
use scalectl::domain::scale::event::{Event, EventBody};
use scalectl::domain::scale::execution::{Acceptance, NewIntent};
use scalectl::domain::scale::policy::PolicyAction;
use scalectl::domain::scale::provenance::Provenance;
use scalectl::domain::scale::service::COUNT_AGE_MAX;
use scalectl::domain::scale::state::ServiceState;
use scalectl::domain::time::Timestamp;

use super::faults;
use super::mutants::Mutant;
use super::papers::{Papers, Question, is_same};
use super::people::may;

type Checked = Result<(), &'static str>;

/// Where a command was given.
pub(super) struct Scene<'s> {
    pub(super) before: &'s ServiceState,
    pub(super) log: &'s [Event],
    pub(super) command: &'s Command,
    pub(super) policy: &'s BTreeSet<(String, PolicyAction)>,
}

/// What must hold of the events of one command.
pub(super) fn check(scene: &Scene<'_>, events: &[Event]) -> Checked {
    let mut papers = Papers::of(scene.log);
    raise(scene, &papers, events)?;
    word(scene, events)?;
    for (index, event) in events.iter().enumerate() {
        let (done, rest) = events.split_at(index);
        scene.event(&papers, event, done, &rest[1..])?;
        papers.note(event);
    }
    Ok(())
}

/// A bound is raised under an authorization that says so, or by who may.
fn raise(scene: &Scene<'_>, papers: &Papers<'_>, events: &[Event]) -> Checked {
    let Command::RegisterService(ask) = scene.command else { return Ok(()) };
    let (Some(id), [event, ..]) = (&ask.authorization, events) else { return Ok(()) };
    let is_permitted = papers.given.get(id).is_some_and(|given| {
        given.is_open(event.at) && given.it.raises_max_to == Some(ask.registration.max_replicas)
    });
    if is_permitted { Ok(()) } else { Err("a bound was raised without leave") }
}

/// A person's word under an authorization is marked with what it settles.
fn word(scene: &Scene<'_>, events: &[Event]) -> Checked {
    let Command::Settle { key, authorization: Some(id), .. } = scene.command else {
        return Ok(());
    };
    let is_mark = |event: &Event| {
        matches!(&event.body, EventBody::AuthorizationUsed { authorization_id, execution_key, .. }
            if authorization_id == id && execution_key == key)
    };
    let settles = events.iter().any(|event| is_use_of(&event.body, key));
    if settles && !events.iter().any(is_mark) {
        return Err("a word without its mark");
    }
    Ok(())
}

impl Scene<'_> {
    fn may(&self, who: &Provenance, what: PolicyAction) -> bool {
        may(self.policy, who.actor.as_str(), what)
    }

    /// Whether policy lets somebody change the count by themselves.
    fn permits(&self, who: &Provenance, from: Option<Replicas>, to: Replicas) -> bool {
        let up = from.is_none_or(|from| from <= to);
        let down = from.is_none_or(|from| to < from);
        (!up || self.may(who, PolicyAction::ScaleUp))
            && (!down || self.may(who, PolicyAction::ScaleDown))
    }

    fn event(&self, papers: &Papers<'_>, event: &Event, done: &[Event], rest: &[Event]) -> Checked {
        match &event.body {
            EventBody::IntentProposed { .. } => ends_proposals_only(papers, done),
            EventBody::IntentAccepted { intent, acceptance, .. } => {
                self.acceptance(papers, event, intent, acceptance)
            }
            EventBody::IntentRejected { execution_key, .. } => {
                self.answer(papers, event, execution_key).map(drop)
            }
            EventBody::AttemptStarted { execution_key, call, .. } => {
                self.start(papers, event, execution_key, call.base.replicas)
            }
            EventBody::AuthorizationGranted { .. } => {
                let is_permitted = self.may(&event.by, PolicyAction::BreakGlass);
                if is_permitted { Ok(()) } else { Err("the glass was broken by who may not") }
            }
            EventBody::AuthorizationUsed { authorization_id, execution_key, .. } => {
                let is_use = |later: &Event| is_use_of(&later.body, execution_key);
                if !rest.iter().any(is_use) {
                    return Err("a mark without its use");
                }
                under(papers, authorization_id, execution_key, event.at)
            }
            EventBody::AuthorizationReviewed { authorization_id, .. } => {
                self.review(papers, event, authorization_id)
            }
            _ => Ok(()),
        }
    }

    /// What a key is accepted with.
    fn acceptance(
        &self,
        papers: &Papers<'_>,
        event: &Event,
        intent: &NewIntent,
        acceptance: &Acceptance,
    ) -> Checked {
        let (key, desired) = (&intent.wish.execution_key, intent.wish.desired_replicas);
        match &acceptance.consent {
            None if self.permits(&event.by, intent.current, desired) => Ok(()),
            None => Err("accepted, and policy refuses it"),
            Some(Consent::BreakGlass { authorization_id }) => {
                let given = papers.given.get(authorization_id);
                permitted(papers, authorization_id, key, intent, event.at)?;
                let is_left = given.is_some_and(|given| given.is_open(event.at));
                if is_left { Ok(()) } else { Err("an authorization was used too often") }
            }
            Some(Consent::Approval { approval }) => {
                let question = self.answer(papers, event, key)?;
                self.grant(question, event, intent, acceptance, approval)
            }
        }
    }

    /// An answer is another person's, to what still waits.
    fn answer<'p, 'l>(
        &self,
        papers: &'p Papers<'l>,
        event: &Event,
        key: &ExecutionKey,
    ) -> Result<&'p Question<'l>, &'static str> {
        let question = papers.asked.get(key).ok_or("an answer to what nobody asked")?;
        if question.is_answered() {
            return Err("a question was answered twice");
        }
        if question.until <= event.at {
            return Err("somebody answered too late");
        }
        if is_same(&event.by, question.by) {
            return Err("somebody answered themselves");
        }
        if !self.may(&event.by, PolicyAction::Approve) {
            return Err("somebody answered who may not");
        }
        Ok(question)
    }

    /// A yes is to that wish, from that count, and mints its fence.
    fn grant(
        &self,
        question: &Question<'_>,
        event: &Event,
        intent: &NewIntent,
        acceptance: &Acceptance,
        approval: &Approval,
    ) -> Checked {
        let head = &self.before.head;
        let is_named = approval.approval_id == approval_id(&intent.wish.execution_key)
            && approval.by == event.by;
        if !is_named || approval.base != question.base || intent != question.intent {
            return Err("a yes to another wish");
        }
        let fence = &acceptance.fence;
        let is_new = match question.given {
            Some(given) => fence == given,
            None => {
                acceptance.created_at == event.at
                    && fence.rank() == (head.mark.epoch, head.mark.token + 1)
            }
        };
        if !is_new || !fence.is_alive(event.at) || acceptance.accepted_at != event.at {
            return Err("a yes under a fence of before");
        }
        let moved = head.binding.as_ref().filter(|bound| {
            !bound.outdated.count
                && event.at.since(bound.read_at) < COUNT_AGE_MAX
                && bound.replicas != Some(question.base)
        });
        if moved.is_some() {
            return Err("a yes to what has moved");
        }
        let unit = head.registration.as_ref().map(|registration| registration.unit_revision);
        if unit != Some(intent.wish.expected_unit_revision) {
            return Err("a yes under other settings");
        }
        let others = self.before.executions.values().filter(|other| other.waits());
        if others.into_iter().any(|other| other.live_lease(event.at).is_some()) {
            return Err("a yes ended what was about to start");
        }
        Ok(())
    }

    /// A call needs what policy asks for, now.
    fn start(
        &self,
        papers: &Papers<'_>,
        event: &Event,
        key: &ExecutionKey,
        from: Option<Replicas>,
    ) -> Checked {
        let Some((wisher, intent)) = papers.wished.get(key) else { return Ok(()) };
        let may_alone = self.permits(wisher, from, intent.wish.desired_replicas);
        let refused = Err("a call that policy refuses");
        match papers.accepted.get(key).copied().flatten() {
            None if may_alone => Ok(()),
            None => refused,
            Some(Consent::BreakGlass { authorization_id }) => {
                if !self.may(wisher, PolicyAction::BreakGlass) {
                    return refused;
                }
                under(papers, authorization_id, key, event.at)?;
                let marks = papers.given.get(authorization_id).and_then(|it| it.marks.get(key));
                let is_marked = marks.is_some_and(|marks| {
                    marks.iter().chain([wisher]).any(|hand| is_same(hand, &event.by))
                });
                if is_marked { Ok(()) } else { Err("a call without its mark") }
            }
            Some(Consent::Approval { approval }) => {
                let question = papers.asked.get(key).ok_or("an answer to what nobody asked")?;
                let is_left = self.may(wisher, PolicyAction::Propose)
                    && self.may(&approval.by, PolicyAction::Approve);
                if !may_alone && !is_left {
                    return refused;
                }
                let is_agreed = match papers.calls.get(key) {
                    None => from == Some(question.base),
                    Some(calls) => {
                        calls.is_lost || from == Some(question.base) || from == calls.left
                    }
                };
                if is_agreed { Ok(()) } else { Err("a call from what nobody agreed to") }
            }
        }
    }

    /// Who looks has had no hand in it, and it is over.
    fn review(&self, papers: &Papers<'_>, event: &Event, id: &AuthorizationId) -> Checked {
        let Some(given) = papers.given.get(id) else { return Ok(()) };
        let wishers = given.marks.keys().filter_map(|key| papers.wished.get(*key));
        let carriers = given.marks.values().flatten().copied();
        let mut hands = carriers.chain(wishers.map(|(by, _)| *by)).chain([given.by]);
        if hands.any(|hand| is_same(hand, &event.by)) {
            return Err("a hand looked at itself");
        }
        if given.is_open(event.at) {
            return Err("a review of what may still be used");
        }
        let mut used = given.marks.keys().filter_map(|key| self.before.executions.get(*key));
        if used.any(|execution| execution.is_in_flight(event.at)) {
            return Err("a review of what is not over");
        }
        Ok(())
    }
}

fn is_use_of(body: &EventBody, key: &ExecutionKey) -> bool {
    match body {
        EventBody::AttemptStarted { execution_key, .. } => execution_key == key,
        EventBody::ResultRecorded { execution_key, source, .. } => {
            execution_key == key && *source == ResultSource::Attested
        }
        _ => false,
    }
}

/// A proposal ends older proposals, and nothing that was accepted.
fn ends_proposals_only(papers: &Papers<'_>, done: &[Event]) -> Checked {
    let ended = done.iter().filter_map(|event| match &event.body {
        EventBody::IntentSuperseded { execution_key, .. } => Some(execution_key),
        _ => None,
    });
    if ended.into_iter().any(|key| papers.accepted.contains_key(key)) {
        return Err("a question ended what was accepted");
    }
    Ok(())
}

/// Something of a key is done under an authorization: it is alive, for that, and not used up.
fn under(papers: &Papers<'_>, id: &AuthorizationId, key: &ExecutionKey, at: Timestamp) -> Checked {
    let Some((_, intent)) = papers.wished.get(key) else { return Ok(()) };
    permitted(papers, id, key, intent, at)?;
    let given = &papers.given[id];
    let others = given.marks.keys().filter(|marked| **marked != key).count();
    if others >= usize::from(given.it.max_uses) {
        return Err("an authorization was used too often");
    }
    Ok(())
}

/// An authorization is alive, and for that count of that target.
fn permitted(
    papers: &Papers<'_>,
    id: &AuthorizationId,
    key: &ExecutionKey,
    intent: &NewIntent,
    at: Timestamp,
) -> Checked {
    let given = papers.given.get(id).filter(|given| given.is_alive(at));
    let it = given.ok_or("something under a dead authorization")?.it;
    let target = &intent.wish.target;
    let is_its = it.target_uid == target.target_uid
        && it.workload_id == target.workload_id
        && it.runtime_id == target.runtime_id
        && it.cluster_id == target.cluster_id
        && it.service == intent.service
        && intent.wish.execution_key == *key;
    if !is_its || it.desired_replicas != intent.wish.desired_replicas {
        return Err("something under another's authorization");
    }
    Ok(())
}

/// What must hold of a state and its log.
pub(super) fn check_page(mutant: Mutant, state: &ServiceState, log: &[Event]) -> Checked {
    let Some(now) = state.head.time_mark else { return Ok(()) };
    let papers = Papers::of(log);
    for (key, execution) in &state.executions {
        let told = papers.asked.get(key).map(|question| question.status(now));
        let said = approval_status(&faults::shown(mutant, execution), now);
        if said.map(scalectl::domain::scale::consent::ApprovalStatus::as_str) != told {
            return Err("an approval says otherwise than its log");
        }
        let is_granted = papers.accepted.contains_key(key);
        if execution.fence().is_some() != is_granted {
            return Err("a fence before its grant");
        }
    }
    let open = papers.given.iter().filter(|(_, given)| !given.is_reviewed);
    for (id, given) in open {
        let marked: Vec<_> = given.marks.keys().copied().collect();
        let kept = state.head.authorizations.get(*id);
        let is_kept = kept.is_some_and(|kept| {
            kept.uses.keys().eq(marked.iter().copied())
                && kept.revoked_at.is_some() == given.is_revoked
        });
        if !is_kept {
            return Err("an authorization forgets what was done under it");
        }
    }
    Ok(())
}

/// Where the questions and authorizations of a state stand, to be counted.
pub(super) fn met(state: &ServiceState) -> Vec<String> {
    let Some(now) = state.head.time_mark else { return Vec::new() };
    let asked = state.executions.values().filter_map(|execution| approval_status(execution, now));
    let glasses = state.head.authorizations.values().map(|open| match open.over(now) {
        None if open.uses.is_empty() => "glass: new".to_owned(),
        None => "glass: used, and open".to_owned(),
        Some(why) => format!("glass: {}", why.as_str()),
    });
    asked.map(|status| format!("approval: {}", status.as_str())).chain(glasses).collect()
}
