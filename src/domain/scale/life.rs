//! What a restore, an accepted clock and a move of its environment change in the state of a
//! service.
//!
//! Each ends a history that this ledger does not own: after a restore what was recorded after the
//! copy, after an accepted clock the instants that no clock has reached, after a move the objects
//! of the cell that was left.

use super::attempt::Call;
use super::execution::{Execution, Phase};
use super::lease::LEASE_TTL_MAX;
use super::service::{Binding, Outdated};
use super::state::{FenceMark, ServiceHead};
use crate::domain::time::Timestamp;

impl ServiceHead {
    /// What the lost history has done to the target is not known, and no reading that began in it
    /// counts.
    pub(super) fn restore(&mut self, mark: &FenceMark) {
        self.mark = mark.clone();
        self.reading_serial += 1;
        if let Some(binding) = &mut self.binding {
            binding.outdated = Outdated::ALL;
        }
    }

    /// After a move no reading counts that began before it.
    pub(super) fn bind(&mut self, binding: &Binding) {
        self.reading_serial += u64::from(binding.outdated.target);
        self.binding = Some(binding.clone());
    }

    /// What has happened in the future has happened now, and what was read there is not believed:
    /// its age would be nothing until then.
    pub(super) fn accept_clock(&mut self, now: Timestamp) {
        self.time_mark = Some(now);
        if let Some(last) = &mut self.last_effect {
            last.ended_at = last.ended_at.min(now);
        }
        if let Some(binding) = &mut self.binding
            && binding.read_at > now
        {
            binding.read_at = now;
            binding.outdated = Outdated::ALL;
        }
        if let Some(reading) = &mut self.newest_reading {
            reading.began_at = reading.began_at.min(now);
            reading.read_at = reading.read_at.min(now);
        }
    }
}

impl Execution {
    /// A call lasts as long as it may, from now on; a lease is never longer than the longest. The
    /// fence stays as it is: it is a part of the identity of the intent.
    pub(super) fn accept_clock(&mut self, now: Timestamp) {
        if let Some(held) = &mut self.lease {
            let lease = &mut held.lease;
            lease.acquired_at = lease.acquired_at.min(now);
            lease.expires_at = lease.expires_at.min(now.plus(LEASE_TTL_MAX));
        }
        match &mut self.phase {
            Phase::Started { call } => bring_back(call, now),
            Phase::RecoveryPending { pending } => {
                bring_back(&mut pending.call, now);
                pending.ended_at = pending.ended_at.map(|ended_at| ended_at.min(now));
            }
            Phase::Failed { retry_at } => *retry_at = (*retry_at).min(now),
            Phase::Proposed { .. }
            | Phase::Accepted
            | Phase::Succeeded
            | Phase::Observed
            | Phase::Verified { .. }
            | Phase::Rejected
            | Phase::Withdrawn
            | Phase::Superseded { .. } => {}
        }
    }
}

fn bring_back(call: &mut Call, now: Timestamp) {
    let lasts = call.deadline_at.since(call.started_at);
    call.started_at = call.started_at.min(now);
    call.deadline_at = call.deadline_at.min(now.plus(lasts));
}
