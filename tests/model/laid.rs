//! What must hold under a hold, of a quorum that is asked for, and of what is signed: told by the
//! log and by what was known, a second time. And the faults that take each of it away.

use scalectl::domain::id::Replicas;
use scalectl::domain::scale::command::{AuthorityCommand, Command};
use scalectl::domain::scale::consent::Consent;
use scalectl::domain::scale::event::{Event, EventBody};
use scalectl::domain::scale::execution::{Execution, Phase};
use scalectl::domain::scale::observation::Evidence;
use scalectl::domain::scale::service::EVIDENCE_AGE_MAX;
use scalectl::domain::scale::signed::Signing;
use scalectl::domain::scale::state::ServiceState;
use serde_json::{Value, json};

use super::consent::Scene;
use super::faults::Fault;
use super::papers::Papers;

type Checked = Result<(), &'static str>;

/// What must hold of the events of one command.
pub(super) fn check(scene: &Scene<'_>, events: &[Event]) -> Checked {
    let mut papers = Papers::of(scene.log);
    for event in events {
        under_a_hold(&papers, event)?;
        a_quorum(scene, &papers, event)?;
        a_signature(scene, &papers, event)?;
        papers.note(event);
    }
    Ok(())
}

/// Nothing but a broken glass is wished, or called, while somebody holds the count. A colleague may
/// agree meanwhile: what was agreed to is not called before the hold is over.
fn under_a_hold(papers: &Papers<'_>, event: &Event) -> Checked {
    if papers.held.is_none_or(|until| until <= event.at) {
        return Ok(());
    }
    match &event.body {
        EventBody::IntentAccepted { acceptance, .. } if acceptance.consent.is_none() => {
            Err("accepted under a hold")
        }
        EventBody::AttemptStarted { execution_key, .. } => {
            let consent = papers.accepted.get(execution_key).copied().flatten();
            let is_broken = matches!(consent, Some(Consent::BreakGlass { .. }));
            if is_broken { Ok(()) } else { Err("a call under a hold") }
        }
        _ => Ok(()),
    }
}

/// A count is never made less, where a quorum is asked for, without a proof of exactly this: what
/// was known when it was asked, and not what was written of it.
fn a_quorum(scene: &Scene<'_>, papers: &Papers<'_>, event: &Event) -> Checked {
    let EventBody::AttemptStarted { execution_key, call, .. } = &event.body else {
        return Ok(());
    };
    let Command::Start(start) = scene.command else { return Ok(()) };
    let registration = scene.before.head.registration.as_ref();
    let Some((_, intent)) = papers.wished.get(execution_key) else { return Ok(()) };
    let (from, to) = (call.base.replicas, intent.wish.desired_replicas);
    let is_asked = registration.is_some_and(|it| it.quorum_required);
    if !is_asked || from.is_some_and(|from| from <= to) {
        return Ok(());
    }
    let is_proof = |it: &Evidence| {
        it.quorum_safe == Some(true)
            && Some(it.observed_replicas) == from
            && it.remaining_replicas == to
            && event.at.since(it.read_at) <= EVIDENCE_AGE_MAX
    };
    if start.evidence.as_ref().is_some_and(is_proof) {
        Ok(())
    } else {
        Err("a reduction without a proved quorum")
    }
}

/// Of an act that can be signed, what is known of its signature.
fn signing_of(command: &Command) -> Option<&Signing> {
    let Command::Authority(what) = command else { return None };
    match what.as_ref() {
        AuthorityCommand::Answer { signing, .. }
        | AuthorityCommand::ReviewAuthorization { signing, .. } => Some(signing),
        AuthorityCommand::Authorize(ask) => Some(&ask.signing),
        _ => None,
    }
}

/// An act counts as signed only where this was signed, for the signers that there are; and where a
/// signature is asked for, no other counts.
fn a_signature(scene: &Scene<'_>, papers: &Papers<'_>, event: &Event) -> Checked {
    let (Some(signing), Some(act)) = (signing_of(scene.command), act_of(papers, event)) else {
        return Ok(());
    };
    let Some((content, list)) = &signing.signed else {
        let is_enough = !signing.is_required;
        return if is_enough { Ok(()) } else { Err("unsigned, where a signature is asked for") };
    };
    if signing.list != Some(*list) {
        return Err("signed for a list that is no more");
    }
    let said: Value = serde_json::from_str(content).unwrap_or_default();
    let is_this = act.as_object().expect("an object").iter().all(|(name, it)| said[name] == *it);
    if is_this { Ok(()) } else { Err("something else was signed") }
}

/// What an event says, in the words of what is signed.
fn act_of(papers: &Papers<'_>, event: &Event) -> Option<Value> {
    match &event.body {
        EventBody::IntentAccepted { intent, .. } => Some(json!({
            "act": "approval_grant",
            "execution_key": intent.wish.execution_key,
            "desired_replicas": intent.wish.desired_replicas,
            "base_replicas": papers.asked.get(&intent.wish.execution_key)?.base,
            "wish_digest": intent.wish.digest(),
        })),
        EventBody::IntentRejected { execution_key, .. } => {
            let question = papers.asked.get(execution_key)?;
            Some(json!({
                "act": "approval_deny",
                "execution_key": execution_key,
                "desired_replicas": question.intent.wish.desired_replicas,
                "base_replicas": question.base,
            }))
        }
        EventBody::AuthorizationGranted { authorization: it } => Some(json!({
            "act": "break_glass_authorize",
            "authorization_id": it.authorization_id,
            "desired_replicas": it.desired_replicas,
            "target_uid": it.target_uid,
            "max_uses": it.max_uses,
        })),
        EventBody::AuthorizationReviewed { authorization_id, reason, .. } => Some(json!({
            "act": "break_glass_review",
            "authorization_id": authorization_id,
            "reason": reason,
        })),
        _ => None,
    }
}

/// What is laid upon a state, and what has passed it, to be counted.
pub(super) fn met(state: &ServiceState) -> Vec<String> {
    let head = &state.head;
    let Some(now) = head.time_mark else { return Vec::new() };
    let mut met = Vec::new();
    let hold = head.authority.hold.as_ref();
    let is_held = head.authority.hold_at(now).is_some();
    met.extend(hold.map(|_| if is_held { "hold: in force" } else { "hold: over" }));
    let asks_quorum = head.registration.as_ref().is_some_and(|it| it.quorum_required);
    for execution in state.executions.values() {
        let Phase::Started { call } = &execution.phase else { continue };
        let is_glass = execution.authorization_id().is_some();
        met.extend(hold.map(|hold| match (is_held, is_glass) {
            (true, true) => "hold: a call under a broken glass",
            (true, false) if call.started_at <= hold.set_at => "hold: set under a call",
            (true, false) => "hold: passed",
            (false, _) => "hold: a call after it",
        }));
        let is_less = call.base.replicas.is_some_and(|from: Replicas| execution.desired() < from);
        if asks_quorum && is_less {
            met.push("quorum: a reduction that is proved");
        }
    }
    let yes = state.executions.values().filter_map(Execution::approval);
    let glasses = head.authorizations.values().map(|open| ("glass", &open.by));
    for (what, by) in yes.map(|approval| ("yes", &approval.by)).chain(glasses) {
        met.push(match (what, by.signed_by.is_some()) {
            ("yes", true) => "signed: a yes",
            (_, true) => "signed: a glass",
            (_, false) => continue,
        });
    }
    met.into_iter().map(str::to_owned).collect()
}

/// Shows the rules a state, or a command, in which the guard has nothing to hold.
pub(super) fn bend(fault: Fault, state: &mut ServiceState, command: &mut Command) {
    match command {
        Command::Put(_) if fault == Fault::HoldlessPut => state.head.authority.hold = None,
        Command::Start(start) => {
            if fault == Fault::HoldlessStart {
                state.head.authority.hold = None;
            }
            let desired = state.executions.get(&start.key).map(Execution::desired);
            let found = start.found.as_ref().and_then(|found| found.as_ref().ok());
            if let (Some(evidence), Some(desired), Some(found)) =
                (&mut start.evidence, desired, found)
            {
                match (fault, evidence.quorum_safe) {
                    (Fault::QuorumBySilence, None) | (Fault::QuorumByNo, Some(false)) => {
                        evidence.quorum_safe = Some(true);
                    }
                    (Fault::OldQuorum, _) => evidence.read_at = found.read_at,
                    (Fault::OtherQuorum, _) => evidence.remaining_replicas = desired,
                    _ => {}
                }
            }
            let is_unasked = fault == Fault::Quorumless
                || fault == Fault::QuorumByWord && start.attest_not_drained;
            if let Some(registration) = state.head.registration.as_mut().filter(|_| is_unasked) {
                registration.quorum_required = false;
            }
        }
        Command::Authority(what) => match what.as_mut() {
            AuthorityCommand::Answer { signing, .. } => look_past(fault, signing),
            AuthorityCommand::Authorize(ask) => look_past(fault, &mut ask.signing),
            AuthorityCommand::ReviewAuthorization { signing, .. } => {
                look_past(fault, signing);
                if fault == Fault::BorrowedKey {
                    state.head.authorizations.values_mut().for_each(|it| it.by.signed_by = None);
                }
            }
            _ => {}
        },
        _ => {}
    }
}

fn look_past(fault: Fault, signing: &mut Signing) {
    match fault {
        Fault::Unsigned => signing.is_required = false,
        Fault::OtherSigned if signing.signed.is_some() => {
            (signing.signed, signing.is_required) = (None, false);
        }
        Fault::OldSigners => {
            signing.list = signing.signed.as_ref().map(|(_, list)| *list).or(signing.list);
        }
        _ => {}
    }
}
