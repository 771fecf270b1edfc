//! `scale --undo`: which wish takes the newest converged one back.
//!
//! The key of an undo is made of what it undoes, so the same line twice is one undo, and never the
//! undo of an undo: whoever wants that wishes a count.

use super::execution::{Outcome, Phase};
use super::state::{LastEffect, ServiceState};
use crate::domain::id::{ExecutionKey, IntentRevision, Replicas, ServiceName};

/// How much of a service's name its keys of undoing have: the rest of 256 bytes is for the number.
const NAME_BYTES_MAX: usize = 200;

/// A wish that takes another back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undo {
    /// It is recorded already, under this key: the line goes on with it.
    Known(ExecutionKey),
    /// A new one.
    Of {
        /// Its key.
        key: ExecutionKey,
        /// The change that it takes back.
        undone: LastEffect,
        /// The count that was there before that.
        back_to: Replicas,
        /// The newest number of the service: the premise.
        latest_revision: u64,
    },
}

/// Why there is nothing to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoUndo {
    /// No wish of ours has changed the target.
    Nothing,
    /// A newer wish is what is wished, and has not converged.
    InTheWay {
        /// Its number.
        revision: IntentRevision,
        /// Its key.
        key: ExecutionKey,
        /// Its state.
        state: &'static str,
        /// The count that it wishes.
        desired: Replicas,
    },
    /// It changed nothing: the count before was the same.
    Unchanged {
        /// Its number.
        revision: IntentRevision,
        /// The count.
        replicas: Replicas,
    },
    /// Nobody knows the count before it.
    UnknownBase {
        /// Its number.
        revision: IntentRevision,
        /// The count that it wished.
        desired: Replicas,
    },
}

/// The key of the undo of an intent.
fn key_of(service: &ServiceName, revision: IntentRevision) -> ExecutionKey {
    let name = service.as_str();
    let cut = name.floor_char_boundary(NAME_BYTES_MAX);
    let text = format!("undo.{}.{revision}", &name[..cut]);
    text.parse().expect("BUG: a name and a number are a key")
}

/// The key under which the newest change of a service would be undone; none where there is none.
pub fn undo_key(service: &ServiceName, state: &ServiceState) -> Option<ExecutionKey> {
    let last = state.head.last_effect.as_ref()?;
    Some(key_of(service, last.intent_revision))
}

/// Whether a key is that of an undo in this service.
fn is_undo(service: &ServiceName, key: &ExecutionKey) -> bool {
    let number = key.as_str().rsplit_once('.').and_then(|(_, number)| number.parse().ok());
    let revision = number.and_then(|number| IntentRevision::new(number).ok());
    revision.is_some_and(|revision| key_of(service, revision) == *key)
}

/// The wish that takes the newest converged one back. `state` has the execution under [`undo_key`],
/// where there is one.
pub fn undo_of(service: &ServiceName, state: &ServiceState) -> Result<Undo, NoUndo> {
    let head = &state.head;
    if let Some(wanted) = head.wanted.as_ref().filter(|it| is_undo(service, &it.execution_key)) {
        return Ok(Undo::Known(wanted.execution_key.clone()));
    }
    let key = undo_key(service, state).filter(|key| state.executions.contains_key(key));
    if let Some(key) = key {
        return Ok(Undo::Known(key));
    }
    // What waits or is under way, and what is wished and has come to another end.
    let live = state.executions.values().filter(|it| it.is_live());
    let converged = |phase: &Phase, outcome| {
        matches!(phase, Phase::Verified { .. }) && outcome == Some(Outcome::Converged)
    };
    let wanted = head.wanted.as_ref().map(|wanted| &wanted.execution_key);
    let in_the_way = live.filter(|it| {
        let is_wanted = Some(it.key()) == wanted;
        let is_well = converged(&it.phase, it.outcome());
        let is_last = head.last_effect.as_ref().is_some_and(|last| last.execution_key == *it.key());
        (!it.phase.is_finished() || is_wanted) && !(is_well && is_last)
    });
    if let Some(other) = in_the_way.max_by_key(|it| it.revision()) {
        return Err(NoUndo::InTheWay {
            revision: other.revision(),
            key: other.key().clone(),
            state: other.phase.as_str(),
            desired: other.desired(),
        });
    }
    let Some(last) = head.last_effect.clone().filter(|_| wanted.is_some()) else {
        return Err(NoUndo::Nothing);
    };
    let revision = last.intent_revision;
    match last.from {
        None => Err(NoUndo::UnknownBase { revision, desired: last.to }),
        Some(from) if from == last.to => Err(NoUndo::Unchanged { revision, replicas: from }),
        Some(back_to) => Ok(Undo::Of {
            key: key_of(service, revision),
            undone: last,
            back_to,
            latest_revision: head.latest_revision,
        }),
    }
}
