//! A provider of evidence: the command of somebody else, held to the protocol.

use super::child::run_provider;
use super::refusal::Refusal;
use crate::actuator::host::Deadline;
use crate::actuator::protocol::{EvidenceRequest, Exit, Request, read_evidence};
use crate::domain::scale::observation::Evidence;

/// What a provider answers to the request as it came.
pub(super) fn evidence(
    words: &[String],
    request: &EvidenceRequest,
    until: Deadline,
) -> Result<Evidence, Refusal> {
    let failed = |what: String| Refusal::retryable("evidence_failed", what);
    let line = Request::Evidence(Box::new(request.clone())).to_json();
    let ended = run_provider(words, line.as_bytes(), until)
        .map_err(|error| failed(format!("the provider {}: {error}", words[0])))?;
    let exit = Exit::Code(ended.status.code().unwrap_or(-1));
    read_evidence(&ended.stdout, exit)
        .map_err(|error| failed(format!("the provider {}: {error}; {}", words[0], ended.words)))
}
