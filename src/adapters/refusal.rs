//! What an actuator says of a call: it has changed nothing, it was done, or nobody knows.

use super::child::RunError;
use super::{apply_reply, failed};
use crate::actuator::host::Deadline;
use crate::actuator::protocol::{ApplyReply, ApplyRequest, Base, Reply};
use crate::domain::id::{Replicas, TargetResourceVersion};
use crate::domain::scale::observation::Evidence;
use crate::domain::scale::result::{ActuationRequest, Answer};
use crate::domain::time::DurationMs;

/// The most of the call's time that is kept for its answer.
const ANSWER_MARGIN: DurationMs = DurationMs::from_secs(2);

/// When a call ends by itself, before it is ended, so that it can say what it does not know.
pub(super) fn deadline_of(apply: &ApplyRequest) -> Deadline {
    let whole = apply.deadline_ms.as_millis();
    let margin = ANSWER_MARGIN.as_millis().min(whole / 4);
    Deadline::after(DurationMs::from_millis(whole - margin))
}

/// Why a call has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) detail: String,
    pub(super) retryable: bool,
}

impl Refusal {
    pub(super) const fn terminal(code: &'static str, detail: String) -> Self {
        Self { code, detail, retryable: false }
    }

    pub(super) const fn retryable(code: &'static str, detail: String) -> Self {
        Self { code, detail, retryable: true }
    }

    /// A child that told nothing, before anything was written.
    pub(super) fn of_run(program: &str, error: &RunError) -> Self {
        let code = match error {
            RunError::Missing("docker") => "docker_missing",
            RunError::Missing(_) => "kubectl_missing",
            RunError::NotStarted(_) => "command_not_started",
            RunError::TimedOut { .. } | RunError::NoTime => "timeout",
            RunError::TooLong | RunError::Lost(_) => "read_failed",
        };
        let words = match error {
            RunError::TimedOut { words } => format!("; {words}"),
            RunError::Missing(_)
            | RunError::NotStarted(_)
            | RunError::NoTime
            | RunError::TooLong
            | RunError::Lost(_) => String::new(),
        };
        Self::retryable(code, format!("{program}: {error}{words}"))
    }

    pub(super) fn reply(&self) -> Reply {
        Reply::error(self.code, &self.detail, self.retryable)
    }

    pub(super) fn apply_reply(&self, request: &ActuationRequest) -> Reply {
        failed(request, self.code, &self.detail, self.retryable, None)
    }
}

/// Whether the evidence of a reduction is about exactly this one (facts: 6.3).
pub(super) fn check_evidence(
    current: Replicas,
    desired: Replicas,
    base: &Base,
    evidence: Option<&Evidence>,
) -> Result<(), Refusal> {
    let Some(evidence) = evidence else { return Ok(()) };
    let stale = |what: &str| Err(Refusal::retryable("evidence_stale", what.to_owned()));
    let version = &evidence.resource_version;
    if base.resource_version.as_ref().is_some_and(|expected| expected != version) {
        return stale(&format!("the evidence is about version {version}"));
    }
    if evidence.observed_replicas != current || evidence.remaining_replicas != desired {
        return stale(&format!(
            "the evidence is about {} → {}, this is {current} → {desired}",
            evidence.observed_replicas, evidence.remaining_replicas
        ));
    }
    Ok(())
}

/// Done, on the word of the target alone.
pub(super) fn accepted(apply: &ApplyRequest, detail: &str) -> Reply {
    let observed_replicas = apply.request.desired_replicas;
    let answer = Answer::Succeeded { observed_replicas, retryable: false, error_code: None };
    Reply::Apply(Box::new(apply_reply(&apply.request, answer, detail)))
}

/// Done, with the count and the version that were read.
pub(super) fn succeeded(
    apply: &ApplyRequest,
    version: &TargetResourceVersion,
    count: Replicas,
    detail: &str,
) -> Reply {
    let answer = Answer::Succeeded { observed_replicas: count, retryable: false, error_code: None };
    let resource_version_after = Some(version.clone());
    let reply = apply_reply(&apply.request, answer, detail);
    Reply::Apply(Box::new(ApplyReply { resource_version_after, ..reply }))
}

/// Nobody knows whether it was applied.
pub(super) fn unknown(
    apply: &ApplyRequest,
    code: &'static str,
    detail: &str,
    rollback_required: bool,
) -> Reply {
    let error_code = code.parse().expect("BUG: an error code of our own fits");
    let answer = Answer::Failed { observed_replicas: None, retryable: true, error_code };
    let reply = apply_reply(&apply.request, answer, detail);
    Reply::Apply(Box::new(ApplyReply { outcome_unknown: true, rollback_required, ..reply }))
}
