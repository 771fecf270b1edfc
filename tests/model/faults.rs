//! Faults on purpose in what asks for consent: each takes one guard away, or writes something else
//! than was decided. The model must find every one.

use std::collections::BTreeMap;

use scalectl::domain::id::{ExecutionKey, Replicas};
use scalectl::domain::scale::command::{AuthorityCommand, Command};
use scalectl::domain::scale::consent::{Approval, Consent, approval_id};
use scalectl::domain::scale::decide::{Decision, Reply};
use scalectl::domain::scale::event::{Event, EventBody};
use scalectl::domain::scale::execution::{Execution, Outcome, Phase};
use scalectl::domain::scale::provenance::Provenance;
use scalectl::domain::scale::result::Detail;
use scalectl::domain::scale::state::{ServiceHead, ServiceState};
use scalectl::domain::time::{DurationMs, Timestamp};

use super::mutants::Mutant;
use crate::rules::support::count;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Whoever answers is always another person.
    OwnAnswer,
    /// A question waits for ever.
    LateAnswer,
    /// What was answered may be answered again.
    SecondAnswer,
    /// Nobody asks policy who answers, who puts, who starts, or who breaks the glass.
    LaxAnswer,
    LaxPut,
    LaxStart,
    LaxGlass,
    /// Nobody looks whether the count has moved since it was asked about: at the grant, the start.
    MovedGrant,
    MovedStart,
    /// Nobody looks whether the settings have changed since.
    OtherSettings,
    /// A grant does not see the lease of what it ends.
    HeldGrant,
    /// An authorization lasts for ever, or is never taken back, or never used up.
    Undying,
    Unrevoked,
    Endless,
    /// It is for whatever is wished, and for whatever stands under the name.
    AnyCount,
    AnyTarget,
    /// It raises whatever bound, also when it is over.
    AnyBound,
    DeadBound,
    /// Whoever gave it, or used it, may look at it.
    GiverReviews,
    UserReviews,
    WisherReviews,
    /// It is looked at before it is over, or while something under it is not.
    EarlyReview,
    BusyReview,
    /// What is written is another thing: an approval that nobody asked for, another wish's, an old
    /// fence, a use without its mark, a mark at the put, a proposal that ends what was accepted, a
    /// replay that writes.
    Unasked,
    OtherWish,
    OldFence,
    DeadFence,
    Unmarked,
    MarkedAtPut,
    EndsAccepted,
    ReplayWrites,
    /// A simulation uses an approval.
    SimulationUses,
    /// The fold gives a proposal its fence, or forgets what was done under an authorization.
    FoldFences,
    FoldForgetsUses,
    /// Nobody sees a hold: at the put, at the start, or after a first attempt.
    HoldlessPut,
    HoldlessStart,
    /// Nobody asks for a quorum; silence is a yes, and so is a no; what was seen long ago holds; it
    /// was asked about another count; a word is one.
    Quorumless,
    QuorumBySilence,
    QuorumByNo,
    OldQuorum,
    OtherQuorum,
    QuorumByWord,
    /// No signature is asked for; one of another act, or under signers that are no more, is taken.
    Unsigned,
    OtherSigned,
    OldSigners,
    /// Whoever signs with another's key is another person.
    BorrowedKey,
}

use Fault as F;

/// Each fault, the world that finds it, and what it says.
pub(super) const FAULTS: &[(Fault, &str, &str)] = &[
    (F::OwnAnswer, "asked", "somebody answered themselves"),
    (F::LateAnswer, "asked", "somebody answered too late"),
    (F::SecondAnswer, "asked", "a question was answered twice"),
    (F::LaxAnswer, "ruled", "somebody answered who may not"),
    (F::LaxPut, "asked", "accepted, and policy refuses it"),
    (F::LaxStart, "ruled", "a call that policy refuses"),
    (F::LaxStart, "two uses", "a call that policy refuses"),
    (F::LaxGlass, "two uses", "the glass was broken by who may not"),
    (F::MovedGrant, "moved", "a yes to what has moved"),
    (F::MovedStart, "moved", "a call from what nobody agreed to"),
    (F::OtherSettings, "ruled", "a yes under other settings"),
    (F::HeldGrant, "asked after", "a yes ended what was about to start"),
    (F::Undying, "glass ends", "something under a dead authorization"),
    (F::Undying, "word", "something under a dead authorization"),
    (F::Unrevoked, "glass", "something under a dead authorization"),
    (F::Endless, "glass", "an authorization was used too often"),
    (F::Endless, "two uses", "an authorization was used too often"),
    (F::AnyCount, "other count", "something under another's authorization"),
    (F::AnyTarget, "other count", "something under another's authorization"),
    (F::AnyBound, "raised", "a bound was raised without leave"),
    (F::DeadBound, "raised", "a bound was raised without leave"),
    (F::GiverReviews, "glass", "a hand looked at itself"),
    (F::UserReviews, "glass", "a hand looked at itself"),
    (F::WisherReviews, "glass ends", "a hand looked at itself"),
    (F::EarlyReview, "glass", "a review of what may still be used"),
    (F::BusyReview, "glass", "a review of what is not over"),
    (F::Unasked, "asked after", "an answer to what nobody asked"),
    (F::OtherWish, "asked", "a yes to another wish"),
    (F::OldFence, "asked", "a yes under a fence of before"),
    (F::DeadFence, "own fence", "a yes under a fence of before"),
    (F::Unmarked, "glass", "a call without its mark"),
    (F::Unmarked, "word", "a word without its mark"),
    (F::MarkedAtPut, "glass", "a mark without its use"),
    (F::EndsAccepted, "asked after", "a question ended what was accepted"),
    (F::ReplayWrites, "asked", "a replay changed something"),
    (F::SimulationUses, "rehearsed", "an approval says otherwise than its log"),
    (F::FoldFences, "two asked", "a fence before its grant"),
    (F::FoldForgetsUses, "glass", "an authorization forgets what was done under it"),
    (F::HoldlessPut, "held", "accepted under a hold"),
    (F::HoldlessStart, "held", "a call under a hold"),
    (F::HoldlessStart, "held glass", "a call under a hold"),
    (F::Quorumless, "quorum", "a reduction without a proved quorum"),
    (F::QuorumBySilence, "quorum", "a reduction without a proved quorum"),
    (F::QuorumByNo, "quorum", "a reduction without a proved quorum"),
    (F::OldQuorum, "quorum", "a reduction without a proved quorum"),
    (F::OtherQuorum, "quorum", "a reduction without a proved quorum"),
    (F::QuorumByWord, "quorum", "a reduction without a proved quorum"),
    (F::Quorumless, "quorum glass", "a reduction without a proved quorum"),
    (F::Unsigned, "signed", "unsigned, where a signature is asked for"),
    (F::OtherSigned, "signed", "something else was signed"),
    (F::OldSigners, "signed", "signed for a list that is no more"),
    (F::Unsigned, "signed glass", "unsigned, where a signature is asked for"),
    (F::OtherSigned, "signed glass", "something else was signed"),
    (F::OldSigners, "signed glass", "signed for a list that is no more"),
    (F::BorrowedKey, "signed glass", "a hand looked at itself"),
];

impl Fault {
    /// Whether policy permits everything to this command.
    pub(super) fn is_lax(self, command: &Command) -> bool {
        match command {
            Command::Authority(what) => match what.as_ref() {
                AuthorityCommand::Answer { .. } => matches!(self, F::LaxAnswer),
                AuthorityCommand::Authorize(_) => matches!(self, F::LaxGlass),
                _ => false,
            },
            Command::Put(_) => matches!(self, F::LaxPut),
            Command::Start(_) => matches!(self, F::LaxStart),
            _ => false,
        }
    }
}

fn nobody(person: &mut Provenance) {
    (person.uid, person.os_user) = (7, "nobody".to_owned());
}

/// Shows the rules a state in which the guard has nothing to hold.
pub(super) fn bend(fault: Fault, state: &mut ServiceState, command: &Command, now: Timestamp) {
    let far = now.plus(DurationMs::from_secs(1_000_000));
    for open in state.head.authorizations.values_mut() {
        let it = &mut open.authorization;
        match fault {
            F::Undying => it.until = far,
            F::Unrevoked => open.revoked_at = None,
            F::Endless => it.max_uses = u8::MAX,
            F::AnyTarget => {
                if let Some(bound) = &state.head.binding {
                    it.target_uid = bound.target_uid.clone();
                }
            }
            F::AnyCount => {
                if let Some(desired) = desired(&state.executions, command) {
                    it.desired_replicas = desired;
                }
            }
            _ => {}
        }
        if let Command::RegisterService(ask) = command {
            match fault {
                F::AnyBound => it.raises_max_to = Some(ask.registration.max_replicas),
                F::DeadBound => (it.until, open.revoked_at) = (far, None),
                _ => {}
            }
        }
    }
    match command {
        Command::Authority(what) => match what.as_ref() {
            AuthorityCommand::Answer { key, .. } => {
                if let Some(question) = state.executions.get_mut(key) {
                    ask_again(fault, question, &mut state.head, far);
                }
                if fault == F::HeldGrant {
                    state.executions.values_mut().for_each(|other| other.lease = None);
                }
            }
            AuthorityCommand::ReviewAuthorization { .. } => look_away(fault, state, now),
            _ => {}
        },
        Command::Start(start) if fault == F::MovedStart => {
            let found = start.found.as_ref().and_then(|found| found.as_ref().ok());
            let acceptance =
                state.executions.get_mut(&start.key).and_then(|it| it.acceptance.as_mut());
            if let (Some(acceptance), Some(found)) = (acceptance, found)
                && let Some(Consent::Approval { approval }) = &mut acceptance.consent
            {
                approval.base = found.replicas;
            }
        }
        _ => {}
    }
}

fn desired(executions: &BTreeMap<ExecutionKey, Execution>, command: &Command) -> Option<Replicas> {
    match command {
        Command::Put(put) => Some(put.desired()),
        other => executions.get(other.execution_key()?).map(Execution::desired),
    }
}

/// A question that anybody may answer, for ever, again, or whatever has moved since.
fn ask_again(fault: Fault, question: &mut Execution, head: &mut ServiceHead, far: Timestamp) {
    match (fault, &mut question.phase) {
        (F::OwnAnswer, _) => nobody(&mut question.put_by),
        (F::LateAnswer, Phase::Proposed { until }) => *until = far,
        (F::SecondAnswer, Phase::Proposed { .. }) => {}
        (F::SecondAnswer, phase) => {
            *phase = Phase::Proposed { until: far };
            question.acceptance = None;
        }
        (F::DeadFence, _) => {
            let given = question.asked.as_mut().and_then(|asked| asked.given.as_mut());
            if let Some((fence, _)) = given {
                fence.expires_at = far;
            }
        }
        (F::MovedGrant, _) => {
            if let Some(bound) = &mut head.binding {
                bound.outdated.count = true;
            }
        }
        (F::OtherSettings, _) => {
            let wished = question.intent.wish.expected_unit_revision;
            if let Some(registration) = &mut head.registration {
                registration.unit_revision = wished;
            }
        }
        _ => {}
    }
}

fn look_away(fault: Fault, state: &mut ServiceState, now: Timestamp) {
    if fault == F::BusyReview {
        state.executions.clear();
    }
    for open in state.head.authorizations.values_mut() {
        let uses = open.uses.values_mut();
        match fault {
            F::EarlyReview => open.revoked_at = Some(now),
            F::GiverReviews => nobody(&mut open.by),
            F::UserReviews => uses.for_each(|used| {
                nobody(&mut used.by);
                used.also_by.clear();
            }),
            F::WisherReviews => uses.for_each(|used| used.wished_by = None),
            _ => {}
        }
    }
}

/// Bends what was decided.
pub(super) fn forge(fault: Fault, state: &ServiceState, command: &Command, made: &mut Decision) {
    let write = |made: &mut Decision, body| {
        let like = made.events.last().cloned();
        made.events.extend(like.map(|event| Event { body, ..event }));
    };
    match (fault, command) {
        (F::Unmarked, Command::Start(_) | Command::Settle { .. }) => {
            made.events.retain(|event| !matches!(event.body, EventBody::AuthorizationUsed { .. }));
        }
        (F::MarkedAtPut, Command::Put(put)) if !made.events.is_empty() => {
            if let Some(authorization_id) = put.authorization.clone() {
                let execution_key = put.key().clone();
                let wished_by = None;
                write(
                    made,
                    EventBody::AuthorizationUsed { authorization_id, execution_key, wished_by },
                );
            }
        }
        (F::EndsAccepted, Command::Put(put)) => {
            let is_question =
                |event: &Event| matches!(event.body, EventBody::IntentProposed { .. });
            let accepted = state.executions.values().find(|it| matches!(it.phase, Phase::Accepted));
            if let (true, Some(other)) = (made.events.iter().any(is_question), accepted) {
                let mut event = made.events[0].clone();
                event.body = EventBody::IntentSuperseded {
                    execution_key: other.key().clone(),
                    by: other.revision(),
                    outcome: None,
                };
                debug_assert!(other.key() != put.key());
                made.events.insert(0, event);
            }
        }
        (F::ReplayWrites, Command::Start(start)) if made.reply == Reply::Replayed => {
            let like = state.executions.get(&start.key);
            made.events.extend(like.map(|it| Event {
                at: it.updated_at,
                by: it.put_by.clone(),
                body: EventBody::IntentWithdrawn { execution_key: it.key().clone(), reason: None },
            }));
        }
        _ => made.events.iter_mut().for_each(|event| one(fault, event)),
    }
}

fn one(fault: Fault, event: &mut Event) {
    let (at, by) = (event.at, event.by.clone());
    let EventBody::IntentAccepted { intent, acceptance, .. } = &mut event.body else { return };
    match (fault, &mut acceptance.consent) {
        (F::Unasked, consent @ None) => {
            *consent = Some(Consent::Approval {
                approval: Box::new(Approval {
                    approval_id: approval_id(&intent.wish.execution_key),
                    by,
                    at,
                    reason: Detail::cut("nobody asked"),
                    base: intent.wish.desired_replicas,
                    decision: intent.decision.clone(),
                }),
            });
        }
        (F::OtherWish, Some(Consent::Approval { approval })) => approval.base = count(7),
        (F::OldFence, Some(Consent::Approval { .. })) => {
            acceptance.created_at = at.minus(DurationMs::from_secs(1));
        }
        _ => {}
    }
}

/// Bends the state that the events have led to.
pub(super) fn fold(fault: Fault, after: &mut ServiceState) {
    if fault == F::FoldForgetsUses {
        after.head.authorizations.values_mut().for_each(|open| open.uses.clear());
    }
    if fault == F::FoldFences {
        let accepted = after.executions.values().find_map(|it| it.acceptance.clone());
        for execution in after.executions.values_mut() {
            if matches!(execution.phase, Phase::Rejected) {
                execution.acceptance.clone_from(&accepted);
            }
        }
    }
}

/// How an execution is shown.
pub(super) fn shown(mutant: Mutant, execution: &Execution) -> Execution {
    let mut shown = execution.clone();
    if mutant == Mutant::Consent(F::SimulationUses)
        && execution.outcome() == Some(Outcome::Simulated)
    {
        shown.phase = Phase::Succeeded;
    }
    shown
}
