//! The fold of one execution: the pair match of state and event.
//!
//! Owns which event may follow which state, and what it changes in the execution and in the head of
//! its service. Decides nothing: what is refused here is a damaged ledger or a bug.

use super::attempt::{Pending, RecordedResult, ResultSource};
use super::event::{Event, EventBody};
use super::execution::{Execution, FailureCause, Outcome, Phase};
use super::observation::{ObservationStatus, Reading, ReadingVerdict};
use super::service::{Binding, Outdated};
use super::state::{Direction, IllegalEvent, LastEffect, ServiceHead, illegal};
use crate::domain::gateway::ScaleAnswer;
use crate::domain::id::{Replicas, TargetResourceVersion};
use crate::domain::time::Timestamp;

impl Execution {
    /// The pair match of (state, event). Whatever is not listed cannot happen.
    pub(super) fn apply(
        &mut self,
        head: &mut ServiceHead,
        event: &Event,
    ) -> Result<(), IllegalEvent> {
        match (&self.phase, &event.body) {
            (
                Phase::Proposed { .. } | Phase::Accepted | Phase::Succeeded | Phase::Observed,
                EventBody::IntentSuperseded { by, outcome, .. },
            ) => {
                if matches!(self.phase, Phase::Accepted) {
                    head.end_unstarted(self.key());
                }
                self.phase = Phase::Superseded { by: *by, outcome: *outcome };
                self.lease = None;
            }
            (Phase::Proposed { .. }, EventBody::IntentRejected { .. }) => self.end_as_rejected(),
            (Phase::Proposed { .. } | Phase::Accepted, EventBody::IntentWithdrawn { .. }) => {
                head.end_unstarted(self.key());
                self.phase = Phase::Withdrawn;
                self.lease = None;
            }
            (
                Phase::Accepted | Phase::Failed { .. } | Phase::RecoveryPending { .. },
                EventBody::LeaseAcquired { held, .. },
            ) => self.lease = Some(held.clone()),
            (_, EventBody::LeaseRenewed { lease_instance_id, expires_at, .. }) => {
                match &mut self.lease {
                    Some(held) if held.lease.lease_instance_id == *lease_instance_id => {
                        held.lease.expires_at = *expires_at;
                    }
                    _ => return Err(self.illegal(event)),
                }
            }
            (
                Phase::Accepted | Phase::Failed { .. } | Phase::RecoveryPending { .. },
                EventBody::LeaseReleased { .. },
            ) => self.lease = None,
            (
                Phase::Accepted | Phase::Failed { .. } | Phase::RecoveryPending { .. },
                EventBody::AttemptStarted { held, call, .. },
            ) => {
                if call.attempt.get() != self.attempts + 1 {
                    return Err(self.illegal(event));
                }
                self.attempts = call.attempt.get();
                self.calls += 1;
                self.lease = Some(held.clone());
                self.readings_matched = 0;
                head.reading_serial += 1;
                self.phase = Phase::Started { call: call.clone() };
            }
            (
                Phase::Accepted | Phase::Started { .. } | Phase::RecoveryPending { .. },
                EventBody::ResultRecorded { .. },
            ) => self.apply_result(head, event)?,
            (Phase::Started { call }, EventBody::AttemptLost { attempt, .. })
                if call.attempt == *attempt =>
            {
                self.apply_loss(head, event);
                head.reading_serial += 1;
            }
            (
                Phase::RecoveryPending { .. },
                EventBody::CallEnded { ended_at, rollback_required, .. },
            ) => {
                head.reading_serial += 1;
                self.update_pending(event, |pending| pending.ended_at = Some(*ended_at))?;
                self.rollback_required |= rollback_required;
            }
            (Phase::RecoveryPending { .. }, EventBody::TargetFenced { touched, .. }) => {
                head.reading_serial += 1;
                self.update_pending(event, |p| (p.fenced, p.touched) = (true, *touched))?;
                // A fence may be kept in the object itself.
                if let Some(binding) = &mut head.binding {
                    binding.outdated.version = true;
                }
            }
            (_, EventBody::ReadingRecorded { reading, verdict, .. }) => {
                self.apply_reading(head, reading, *verdict);
            }
            (
                Phase::Failed { .. } | Phase::Succeeded | Phase::Observed,
                EventBody::ObservationRecorded { observation, cause, .. },
            ) => {
                self.observation = Some(observation.clone());
                // A count that the actuator reports and nobody wished is drift.
                self.drift |= *cause == Some(FailureCause::Mismatch);
                self.phase = Phase::Verified { cause: *cause };
                self.lease = None;
            }
            (_, EventBody::LateResultKept { contradicts, result, .. }) => {
                self.drift |= contradicts;
                // What was taken for not applied has happened after all: at the latest now.
                if *contradicts && result.scaled() {
                    self.count_effect(head, None, event.at);
                }
            }
            (_, EventBody::ExecutionClockAccepted { .. }) => self.accept_clock(event.at),
            (_, EventBody::GatewayFinalized { response, .. }) => self.finalize(event, response)?,
            _ => return Err(self.illegal(event)),
        }
        Ok(())
    }

    /// Only the answer of an operation changes, and not the revision that it has made.
    fn finalize(&mut self, event: &Event, response: &ScaleAnswer) -> Result<(), IllegalEvent> {
        match &mut self.receipt {
            Some(receipt) if receipt.response.revision == response.revision => {
                receipt.response = response.clone();
                Ok(())
            }
            Some(_) | None => Err(self.illegal(event)),
        }
    }

    fn end_as_rejected(&mut self) {
        self.phase = Phase::Rejected;
    }

    fn illegal(&self, event: &Event) -> IllegalEvent {
        illegal(event, self.phase.as_str(), self.key().as_str())
    }

    fn apply_loss(&mut self, head: &mut ServiceHead, event: &Event) {
        let EventBody::AttemptLost { why, detail, ended_at, rollback_required, .. } = &event.body
        else {
            return;
        };
        let Phase::Started { call } = &self.phase else {
            return;
        };
        let pending = Pending {
            call: call.clone(),
            why: *why,
            detail: detail.clone(),
            ended_at: *ended_at,
            fenced: false,
            touched: false,
        };
        self.rollback_required |= rollback_required;
        self.phase = Phase::RecoveryPending { pending };
        if let Some(binding) = &mut head.binding {
            binding.outdated = Outdated::ALL;
        }
    }

    fn update_pending(
        &mut self,
        event: &Event,
        update: impl FnOnce(&mut Pending),
    ) -> Result<(), IllegalEvent> {
        let refuse = self.illegal(event);
        let (EventBody::CallEnded { attempt, .. } | EventBody::TargetFenced { attempt, .. }) =
            &event.body
        else {
            return Err(refuse);
        };
        match &mut self.phase {
            Phase::RecoveryPending { pending } if pending.call.attempt == *attempt => {
                update(pending);
                Ok(())
            }
            _ => Err(refuse),
        }
    }

    fn apply_result(&mut self, head: &mut ServiceHead, event: &Event) -> Result<(), IllegalEvent> {
        let EventBody::ResultRecorded {
            attempt,
            result,
            source,
            ended_at,
            retry_at,
            partly_applied,
            rollback_required,
            resource_version_after,
            ..
        } = &event.body
        else {
            return Err(self.illegal(event));
        };
        let (call_attempt, base) = match &self.phase {
            Phase::Accepted
                if matches!(source, ResultSource::Simulation | ResultSource::Adopted) =>
            {
                (*attempt, None)
            }
            Phase::Started { call } => (call.attempt, Some(call.base.clone())),
            Phase::RecoveryPending { pending } => {
                (pending.call.attempt, Some(pending.call.base.clone()))
            }
            _ => return Err(self.illegal(event)),
        };
        if call_attempt != *attempt {
            return Err(self.illegal(event));
        }
        if *source == ResultSource::NotStarted {
            self.calls = self.calls.saturating_sub(1);
        }
        self.result = Some(RecordedResult {
            attempt: *attempt,
            result: result.clone(),
            source: *source,
            recorded_at: event.at,
            partly_applied: *partly_applied,
        });
        self.rollback_required |= rollback_required;
        // A success is newer than whatever had differed before it.
        self.drift = !result.scaled() && (self.drift || *partly_applied);
        self.lease = None;
        self.readings_matched = u64::from(result.scaled());
        self.phase = match retry_at {
            _ if result.scaled() => Phase::Succeeded,
            Some(retry_at) => Phase::Failed { retry_at: *retry_at },
            // The observation follows in the same transaction.
            None => Phase::Failed { retry_at: event.at },
        };
        let is_effect = result.scaled()
            || *partly_applied
            || result.observed_replicas().is_some_and(|count| {
                // An unknown count before may have been another one.
                base.as_ref().is_some_and(|base| base.replicas != Some(count))
            });
        if *source == ResultSource::Simulation {
            head.end_simulated(self.key());
            head.authority.simulated = Some(self.desired());
        } else if *source != ResultSource::Adopted {
            head.reading_serial += 1;
            self.refresh_binding(head, event.at, resource_version_after.as_ref());
            if is_effect {
                self.count_effect(head, base.and_then(|base| base.replicas), *ended_at);
            }
        }
        Ok(())
    }

    /// The version and the count of a result are what the target was last known to be.
    fn refresh_binding(
        &self,
        head: &mut ServiceHead,
        at: Timestamp,
        version_after: Option<&TargetResourceVersion>,
    ) {
        let Some(binding) = &mut head.binding else {
            return;
        };
        let Some(recorded) = &self.result else {
            return;
        };
        if let Some(version) = version_after {
            binding.target_resource_version = version.clone();
            binding.generation = None;
            binding.outdated.version = false;
        } else if recorded.source == ResultSource::Call {
            binding.outdated.version = true;
        }
        if let Some(count) = recorded.result.observed_replicas() {
            binding.replicas = Some(count);
            binding.ready_replicas = None;
            binding.read_at = at;
            binding.outdated.count = false;
        } else if recorded.partly_applied {
            binding.outdated.count = true;
        } else if matches!(recorded.source, ResultSource::Lookup | ResultSource::Attested) {
            // No call of the key has had or will have an effect, so the count is as it was.
            binding.outdated.count = false;
        }
    }

    fn count_effect(&self, head: &mut ServiceHead, from: Option<Replicas>, ended_at: Timestamp) {
        // Latest by time, not by the order of rows (facts/fleet-authority.md, 4.4).
        if head.last_effect.as_ref().is_some_and(|last| last.ended_at > ended_at) {
            return;
        }
        head.last_effect = Some(LastEffect {
            execution_key: self.key().clone(),
            intent_revision: self.revision(),
            from,
            to: self.desired(),
            direction: Direction::of(from, self.desired()),
            actor: self.put_by.actor.to_string(),
            ended_at,
        });
    }

    fn apply_reading(
        &mut self,
        head: &mut ServiceHead,
        reading: &Reading,
        verdict: ReadingVerdict,
    ) {
        self.last_reading = Some(reading.clone());
        head.newest_reading = Some(reading.clone());
        head.reading_serial += 1;
        if let Some(binding) = &mut head.binding
            && binding.target_uid == reading.target_uid
        {
            *binding = Binding {
                target_uid: reading.target_uid.clone(),
                target_resource_version: reading.target_resource_version.clone(),
                generation: reading.generation,
                replicas: Some(reading.replicas),
                ready_replicas: reading.ready_replicas,
                read_at: reading.read_at,
                outdated: Outdated::default(),
            };
        }
        let confirms = matches!(self.phase, Phase::Succeeded | Phase::Observed);
        match verdict {
            ReadingVerdict::Matches if confirms => {
                self.readings_matched += 1;
                self.drift = false;
                self.phase = Phase::Observed;
            }
            ReadingVerdict::Differs if confirms => {
                self.readings_matched = 0;
                self.drift = true;
                self.phase = Phase::Succeeded;
            }
            // A finished key that is no longer as it was observed has drifted; what became of it
            // is not rewritten. Under a newer wish a difference is what was asked for.
            ReadingVerdict::Differs if self.is_converged() && self.is_current(head) => {
                self.drift = true;
            }
            ReadingVerdict::Matches if self.is_converged() => self.drift = false,
            ReadingVerdict::Matches | ReadingVerdict::NotYet | ReadingVerdict::Differs => {}
        }
    }

    fn is_current(&self, head: &ServiceHead) -> bool {
        head.current.as_ref().is_some_and(|current| current.execution_key == *self.key())
    }

    fn is_converged(&self) -> bool {
        self.observation.as_ref().is_some_and(|o| o.status == ObservationStatus::Converged)
    }

    /// What a success comes to when a newer intent ends it before it is confirmed.
    pub fn unconfirmed_outcome(&self) -> Option<Outcome> {
        match self.phase {
            Phase::Succeeded | Phase::Observed if self.drift => Some(Outcome::Drifted),
            Phase::Succeeded | Phase::Observed => Some(Outcome::Unconfirmed),
            Phase::Proposed { .. }
            | Phase::Accepted
            | Phase::Started { .. }
            | Phase::RecoveryPending { .. }
            | Phase::Failed { .. }
            | Phase::Verified { .. }
            | Phase::Rejected
            | Phase::Withdrawn
            | Phase::Superseded { .. } => None,
        }
    }
}
