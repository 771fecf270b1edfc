//! Cooldown: how long after one change of the target the next one waits.
//!
//! Source of the rules: facts/fleet-authority.md, 4.4, and the design, section 4. The latest change
//! by time counts, in both directions; an instant up to 300 s in the future is taken for now; the
//! instant of the end is clear; a change that may or may not have happened makes it unknown.

use super::service::CLOCK_SKEW_MAX;
use super::state::{LastEffect, ServiceState};
use crate::domain::id::IntentRevision;
use crate::domain::time::{DurationMs, Timestamp};

/// Whether a service is cooling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CooldownStatus {
    /// Nothing to wait for.
    Clear {
        /// The last change, where there was one.
        last: Option<LastEffect>,
    },
    /// Too soon.
    Active {
        /// The last change.
        last: LastEffect,
        /// How long a change cools.
        cooldown: DurationMs,
        /// When it is clear.
        until: Timestamp,
    },
    /// Nobody can say.
    Unknown {
        /// The change that may or may not have happened, or whose time is absurd.
        by: IntentRevision,
    },
}

/// The cooldown of a service at `now`. A service without one is always clear.
pub fn cooldown(state: &ServiceState, now: Timestamp) -> CooldownStatus {
    let last = state.head.last_effect.clone();
    let Some(cooldown) = state.head.registration.as_ref().and_then(|r| r.cooldown_ms) else {
        return CooldownStatus::Clear { last };
    };
    let unknown = state.executions.values().find(|execution| {
        use super::execution::Phase;
        execution.is_live()
            && matches!(execution.phase, Phase::Started { .. } | Phase::RecoveryPending { .. })
    });
    if let Some(execution) = unknown {
        return CooldownStatus::Unknown { by: execution.revision() };
    }
    let Some(last) = last else {
        return CooldownStatus::Clear { last: None };
    };
    if last.ended_at > now.plus(CLOCK_SKEW_MAX) {
        return CooldownStatus::Unknown { by: last.intent_revision };
    }
    let until = last.ended_at.min(now).plus(cooldown);
    if now < until {
        CooldownStatus::Active { last, cooldown, until }
    } else {
        CooldownStatus::Clear { last: Some(last) }
    }
}
