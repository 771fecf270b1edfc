//! What must hold of a service at every instant, checked after every write before it is committed.

use super::attempt::ResultSource;
use super::execution::{Execution, Phase};
use super::observation::ObservationStatus;
use super::state::ServiceState;

/// A rule that a state breaks: a bug or a damaged ledger, never a user's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {rule}")]
pub struct Violation {
    /// The key or service.
    pub subject: String,
    /// The rule.
    pub rule: &'static str,
}

/// Checks every rule. A partial state (see [`ServiceState`]) is checked as far as it goes.
pub fn check(state: &ServiceState) -> Result<(), Violation> {
    for execution in state.executions.values() {
        check_execution(state, execution)
            .map_err(|rule| Violation { subject: execution.key().to_string(), rule })?;
    }
    let service = || {
        let registration = state.head.registration.as_ref();
        registration.map_or_else(|| "an unregistered service".to_owned(), |r| r.service.to_string())
    };
    let live = || state.executions.values().filter(|execution| execution.is_live());
    let may_be_called = |execution: &&Execution| {
        matches!(execution.phase, Phase::Started { .. } | Phase::RecoveryPending { .. })
    };
    if live().filter(may_be_called).count() > 1 {
        return Err(Violation { subject: service(), rule: "two calls at a time" });
    }
    let waiting = live().filter(|execution| matches!(execution.phase, Phase::Accepted)).count();
    if waiting > 1 {
        return Err(Violation { subject: service(), rule: "two intents wait" });
    }
    Ok(())
}

fn check_execution(state: &ServiceState, execution: &Execution) -> Result<(), &'static str> {
    let max_attempts = execution.intent.wish.retry_policy.max_attempts.get();
    if execution.attempts > max_attempts || execution.calls > execution.attempts {
        return Err("more attempts than the budget");
    }
    if !execution.intent.dry_run && execution.revision().get() > state.head.latest_revision {
        return Err("a revision that was never taken");
    }
    let needs_acceptance = !matches!(
        execution.phase,
        Phase::Proposed { .. } | Phase::Rejected | Phase::Withdrawn | Phase::Superseded { .. }
    );
    if needs_acceptance && execution.acceptance.is_none() {
        return Err("carried out without acceptance");
    }
    match (&execution.phase, &execution.observation, &execution.result) {
        (Phase::Verified { cause }, Some(observation), Some(recorded)) => {
            let result = &recorded.result;
            if observation.outcome_digest != result.outcome_digest()
                || observation.status != ObservationStatus::of(result)
                || observation.scaled != result.scaled()
            {
                return Err("an observation that does not match its result");
            }
            let failed = observation.status == ObservationStatus::Failed;
            if failed != cause.is_some() {
                return Err("a failure without a cause, or a cause without a failure");
            }
            let required = execution.intent.terms.required_readings.get();
            let converged = observation.status == ObservationStatus::Converged;
            // Nobody was called for an adoption: its one reading is what it takes for wished.
            let is_adopted = recorded.source == ResultSource::Adopted;
            if converged && !is_adopted && execution.readings_matched < required {
                return Err("verified with too few readings");
            }
            Ok(())
        }
        (Phase::Verified { .. }, ..) => Err("verified without an observation and a result"),
        (_, Some(_), _) => Err("an observation of something that is not verified"),
        (Phase::Succeeded | Phase::Observed, None, Some(recorded)) if recorded.result.scaled() => {
            Ok(())
        }
        (Phase::Succeeded | Phase::Observed, None, _) => Err("a success without a result"),
        (Phase::Started { call }, None, _) => match &execution.lease {
            Some(held)
                if held.lease.lease_instance_id == call.lease_instance_id
                    && held.lease.attempt == call.attempt
                    && call.attempt.get() == execution.attempts =>
            {
                Ok(())
            }
            _ => Err("a call without its lease"),
        },
        (
            Phase::Proposed { .. }
            | Phase::Accepted
            | Phase::RecoveryPending { .. }
            | Phase::Failed { .. }
            | Phase::Rejected
            | Phase::Withdrawn
            | Phase::Superseded { .. },
            None,
            _,
        ) => Ok(()),
    }
}
