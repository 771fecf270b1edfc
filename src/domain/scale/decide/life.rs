//! What befalls a ledger or an environment as a whole, as far as one service is concerned: a clock
//! that was ahead, a restore from a copy, and a move.

use super::{Decision, Draft, unchanged};
use crate::domain::id::{NUMBER_MAX, ServiceName};
use crate::domain::scale::attempt::UnknownWhy;
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::gates::registered;
use crate::domain::scale::policy::PolicyAction;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::Detail;
use crate::domain::scale::service::{Binding, CLOCK_SKEW_MAX, FenceSource, Outdated};
use crate::domain::scale::state::FenceMark;

/// Takes the time mark back to now. A mark that clocks may differ by is no reason to.
pub(super) fn accept_clock(
    draft: &Draft<'_>,
    service: &ServiceName,
    reason: &Detail,
) -> Result<Decision, Rejection> {
    registered(draft.state, service)?;

    // Already there?
    let poisoned = draft.state.head.time_mark.filter(|mark| *mark > draft.now.plus(CLOCK_SKEW_MAX));
    let Some(mark) = poisoned else {
        return Ok(unchanged());
    };

    // Allowed now?
    let decision = draft.may_administer(
        PolicyAction::Administer,
        service.as_str(),
        None,
        Some(reason.as_str()),
    )?;

    let accepted = EventBody::ClockAccepted { mark, reason: reason.clone(), decision };
    let under_way = draft.state.executions.values().filter(|it| !it.phase.is_finished());
    let brought_back =
        under_way.map(|it| EventBody::ExecutionClockAccepted { execution_key: it.key().clone() });
    Ok(draft.done(std::iter::once(accepted).chain(brought_back).collect()))
}

/// Goes on above every fence of the lost history. A call that the copy shows under way has ended
/// in that history, nobody knows how. Fences that a writer brings are ordered by whoever makes
/// them, who has lost nothing: they go up by one, which asks for a new leader.
pub(super) fn restore(draft: &Draft<'_>, incarnation: u64, lost: &FenceMark) -> Decision {
    let head = &draft.state.head;
    let is_minted = head.registration.as_ref().is_none_or(|r| r.fences == FenceSource::Minted);
    let above = head.mark.epoch.max(if is_minted { lost.epoch } else { 0 });
    let epoch = above.saturating_add(1).min(NUMBER_MAX);
    let mark = FenceMark { epoch, token: 0, lease_id: None };
    let mut events = vec![EventBody::ServiceRestored { incarnation, mark }];
    for execution in draft.state.executions.values() {
        if let Phase::Started { call } = &execution.phase {
            events.push(EventBody::AttemptLost {
                execution_key: execution.key().clone(),
                attempt: call.attempt,
                why: UnknownWhy::Lost,
                detail: Detail::cut(
                    "the ledger was restored from a copy that is older than its end",
                ),
                ended_at: None,
                rollback_required: false,
            });
        }
    }
    draft.done(events)
}

/// Goes on in another cell. What waits was wished of the object that was left; which one is the
/// service's from now on, the next reading says.
pub(super) fn relocate(draft: &Draft<'_>, why: &Detail) -> Decision {
    let waits = |it: &&Execution| {
        it.is_live() && matches!(it.phase, Phase::Proposed { .. } | Phase::Accepted)
    };
    let waiting = draft.state.executions.values().filter(waits);
    let mut events: Vec<EventBody> = waiting
        .map(|it| EventBody::IntentWithdrawn {
            execution_key: it.key().clone(),
            reason: Some(why.clone()),
        })
        .collect();
    if let Some(bound) = &draft.state.head.binding {
        let binding = Binding { outdated: Outdated::MOVED, ..bound.clone() };
        events.push(EventBody::TargetBound { binding });
    }
    draft.done(events)
}
