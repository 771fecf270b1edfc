//! What must hold of one transition, and of the log that it leaves behind.

use std::collections::BTreeMap;

use scalectl::domain::scale::attempt::ResultSource;
use scalectl::domain::scale::event::{Event, EventBody};
use scalectl::domain::scale::execution::Phase;
use scalectl::domain::scale::observation::{ObservationStatus, ReadingVerdict};
use scalectl::domain::scale::state::ServiceState;

use super::orders::{Order, Word};

type Checked = Result<(), &'static str>;

/// What must hold of the events of one order. `reread` is what a ledger does to their text.
pub(super) fn check_events(
    before: &ServiceState,
    order: &Order,
    events: &[Event],
    reread: &dyn Fn(String) -> String,
) -> Checked {
    let mut mark = before.head.time_mark;
    let mut state = before.clone();
    for event in events {
        if Some(event.at) < mark {
            return Err("an event is older than the one before it");
        }
        mark = Some(event.at);
        let text = reread(serde_json::to_string(event).unwrap_or_default());
        if serde_json::from_str::<Event>(&text).ok().as_ref() != Some(event) {
            return Err("an event is not read back");
        }
        permission(&state, event)?;
        attribution(&state, order, event)?;
        state = state.apply(event).map_err(|_| "an event was decided that cannot follow")?;
    }
    Ok(())
}

/// What must hold of a log and the state that it folds to.
pub(super) fn check_log(after: &ServiceState, log: &[Event]) -> Checked {
    observations(after, log)?;
    if ServiceState::default().fold(log).as_ref() != Ok(after) {
        return Err("the fold of all events is another state");
    }
    Ok(())
}

/// Nothing is recorded under a lease or a fence that does not permit it.
fn permission(state: &ServiceState, event: &Event) -> Checked {
    let Some(execution) = event.body.execution_key().and_then(|key| state.executions.get(key))
    else {
        return Ok(());
    };
    let fence = execution.fence();
    let is_fenced_out = fence.is_some_and(|fence| {
        let is_same_leader = state.head.mark.lease_id.as_ref() == Some(&fence.lease_id);
        fence.rank() < (state.head.mark.epoch, state.head.mark.token) && !is_same_leader
    });
    match &event.body {
        EventBody::AttemptStarted { held, call, .. } => {
            if fence != Some(&held.lease.fence) {
                return Err("a start under another fence");
            }
            if is_fenced_out || held.lease.fence.expires_at < call.deadline_at {
                return Err("a start under a stale fence");
            }
            if !held.is_alive(event.at) || held.lease.expires_at < call.deadline_at {
                return Err("a start under a stale lease");
            }
            let other = execution.live_lease(event.at).filter(|live| {
                live.lease.attempt == call.attempt
                    && live.lease.lease_instance_id != held.lease.lease_instance_id
            });
            if other.is_some() {
                return Err("a start beside a live lease");
            }
        }
        EventBody::LeaseAcquired { held, .. } => {
            if fence != Some(&held.lease.fence) || !held.lease.fence.is_alive(event.at) {
                return Err("a lease under a stale fence");
            }
            let is_live = execution
                .live_lease(event.at)
                .is_some_and(|l| l.lease.attempt == held.lease.attempt);
            if is_live {
                return Err("a second lease beside a live one");
            }
        }
        EventBody::LeaseRenewed { lease_instance_id, expires_at, .. } => {
            let is_own = execution
                .live_lease(event.at)
                .is_some_and(|live| live.lease.lease_instance_id == *lease_instance_id);
            if !is_own || fence.is_none_or(|fence| *expires_at > fence.expires_at) {
                return Err("a stale lease was renewed");
            }
        }
        _ => {}
    }
    Ok(())
}

/// A result is recorded for the attempt that made it, under the lease that permitted it.
fn attribution(state: &ServiceState, order: &Order, event: &Event) -> Checked {
    match (&event.body, order) {
        (
            EventBody::ResultRecorded {
                execution_key,
                attempt,
                source: ResultSource::Call | ResultSource::NotStarted,
                ..
            },
            Order::End { attempt: made, lease, .. },
        ) => {
            let execution = &state.executions[execution_key];
            let call = match &execution.phase {
                Phase::Started { call } => call,
                Phase::RecoveryPending { pending } => &pending.call,
                _ => return Err("a result of nothing"),
            };
            let is_replaced = execution
                .lease
                .as_ref()
                .is_some_and(|held| held.lease.lease_instance_id != call.lease_instance_id);
            if attempt.get() != u64::from(*made) || call.lease_instance_id != *lease || is_replaced
            {
                return Err("a late result was applied");
            }
            Ok(())
        }
        (EventBody::ResultRecorded { source: ResultSource::Call, .. }, _) => {
            Err("a result that nobody gave")
        }
        // What was read before something that matters was recorded proves nothing after it.
        (EventBody::ReadingRecorded { .. }, order) => {
            let serial = match order {
                Order::Observe { look: Some(look), .. }
                | Order::Settle { word: Word::Read(look), .. } => Some(look.serial),
                _ => None,
            };
            match serial {
                Some(serial) if serial != state.head.reading_serial => {
                    Err("a stale reading was recorded")
                }
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// What is over stays as it is; a key keeps its wish; revisions go up by one.
pub(super) fn history(before: &ServiceState, after: &ServiceState) -> Checked {
    if before.executions.keys().any(|key| !after.executions.contains_key(key)) {
        return Err("a key is gone");
    }
    let new = after.executions.len() - before.executions.len();
    let live = after
        .executions
        .iter()
        .filter(|(key, e)| !e.intent.dry_run && !before.executions.contains_key(*key));
    for (_, execution) in live.clone() {
        if execution.revision().get() != before.head.latest_revision + 1 {
            return Err("a revision was skipped");
        }
    }
    if new > 1 || after.head.latest_revision != before.head.latest_revision + live.count() as u64 {
        return Err("the revision does not count the wishes");
    }
    for (key, old) in &before.executions {
        let execution = &after.executions[key];
        // A grant gives a proposal its acceptance, and changes nothing else of it.
        let is_kept =
            matches!(old.phase, Phase::Proposed { .. }) || execution.acceptance == old.acceptance;
        if execution.intent != old.intent || execution.put_by != old.put_by || !is_kept {
            return Err("a used key changed its intent");
        }
        let is_same = execution.phase == old.phase
            && execution.observation == old.observation
            && execution.result == old.result
            && (execution.attempts, execution.calls) == (old.attempts, old.calls);
        if old.phase.is_finished() && !is_same {
            return Err("a terminal state changed");
        }
    }
    Ok(())
}

/// A verified key has one observation, which says what its result and its readings say.
fn observations(after: &ServiceState, log: &[Event]) -> Checked {
    let (mut seen, mut agreed) = (BTreeMap::new(), BTreeMap::new());
    for event in log {
        match &event.body {
            EventBody::ResultRecorded { execution_key, result, .. } => {
                agreed.insert(execution_key, u64::from(result.scaled()));
            }
            EventBody::ReadingRecorded { execution_key, reading, verdict } => {
                let execution = &after.executions[execution_key];
                let is_as_wished = reading.replicas == execution.desired()
                    && reading.target_uid == execution.intent.wish.target.target_uid;
                if is_as_wished != (*verdict != ReadingVerdict::Differs) {
                    return Err("a reading was misread");
                }
                let so_far = agreed.entry(execution_key).or_default();
                *so_far = if is_as_wished { *so_far + 1 } else { 0 };
            }
            EventBody::ObservationRecorded { execution_key, observation, .. } => {
                let execution = &after.executions[execution_key];
                if seen.insert(execution_key, observation).is_some() {
                    return Err("two observations of one key");
                }
                let recorded = execution.result.as_ref().ok_or("an observation of no result")?;
                if observation.outcome_digest != recorded.result.outcome_digest() {
                    return Err("an observation of another result");
                }
                let required = execution.intent.terms.required_readings.get();
                let so_far = agreed.get(execution_key).copied().unwrap_or(0);
                if observation.status == ObservationStatus::Converged
                    && (so_far < required || !recorded.result.scaled())
                {
                    return Err("converged with too few readings");
                }
            }
            _ => {}
        }
    }
    for (key, execution) in &after.executions {
        let is_verified = matches!(execution.phase, Phase::Verified { .. });
        if is_verified != seen.contains_key(key)
            || execution.observation.as_ref() != seen.get(key).copied()
        {
            return Err("verified without its observation");
        }
    }
    Ok(())
}
