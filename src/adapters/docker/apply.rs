//! The effect: the service as it was read, with another count, on condition that it is still so.
//!
//! Nothing is written before the last of the checks. After the write nothing is called *not
//! applied* unless that is proved. Each write carries a label that names the call, so a service
//! that was read afterwards tells whether this very write was made, whatever else was written.

use std::io::{self, Write as _};

use super::engine::AskError;
use super::http::Answer;
use super::read::{Reader, said, unreadable};
use super::service::{APPLIED_LABEL, Applied, FENCE_LABEL, Service};
use super::{DockerConfig, fence, is_out_of_sequence};
use crate::actuator::protocol::{ApplyRequest, Base, Reply};
use crate::adapters::failed;
use crate::adapters::refusal::{
    Refusal, accepted, check_evidence, deadline_of, succeeded, unknown,
};
use crate::domain::id::{Replicas, TargetResourceVersion};
use crate::domain::scale::intent::ControllerMode;

/// The most that one service may have (facts: 6.1(8)).
const REPLICAS_MAX: u64 = 1_000_000;

/// Carries out one `apply`.
pub(super) fn apply(config: &DockerConfig, apply: &ApplyRequest) -> Reply {
    let target = &apply.request.target;
    let until = deadline_of(apply);
    Reader::of(config, &target.workload_id, Some(&target.runtime_id), until)
        .and_then(|mut reader| {
            let (before, current) = check(&mut reader, apply)?;
            let desired = apply.request.desired_replicas;
            if current == desired {
                let detail = "it was so already, and nothing was written";
                return Ok(succeeded(apply, &before.version(), desired, detail));
            }
            reader.check_update(&before)?;
            mutate(&mut reader, apply, &before)
        })
        .unwrap_or_else(|refusal| refusal.apply_reply(&apply.request))
}

/// Everything that may be refused before anything is written.
fn check(reader: &mut Reader<'_>, apply: &ApplyRequest) -> Result<(Service, Replicas), Refusal> {
    let request = &apply.request;
    let target = &request.target;
    if request.controller_mode != ControllerMode::Native {
        let detail = "mode delegated: no controller of a swarm takes orders from docker";
        return Err(Refusal::terminal("unsupported_mode", detail.to_owned()));
    }
    let service = reader.service()?;
    reader.check_cluster(Some(&target.cluster_id))?;
    reader.check_service(&service, Some(&target.target_uid))?;
    let current = reader.declared(&service)?;
    check_base(&apply.base, &service.version(), current)?;
    fence::check(&Applied::of(apply).mark, &service)?;
    let desired = request.desired_replicas;
    if desired.get() > REPLICAS_MAX {
        let detail = format!("{desired} replicas; a service may have at most {REPLICAS_MAX}");
        return Err(Refusal::terminal("invalid_replicas", detail));
    }
    if desired < current {
        check_evidence(current, desired, &apply.base, apply.evidence.as_ref())?;
    }
    Ok((service, current))
}

/// Whether the service is as the wish was judged by. Tasks do not move its version.
pub(super) fn check_base(
    base: &Base,
    version: &TargetResourceVersion,
    count: Replicas,
) -> Result<(), Refusal> {
    let moved = |what: String| Err(Refusal::retryable("precondition_moved", what));
    if let Some(expected) = base.resource_version.as_ref().filter(|v| *v != version) {
        return moved(format!("the version is {version}, expected {expected}"));
    }
    match base.replicas.filter(|expected| *expected != count) {
        Some(expected) => moved(format!("the count is {count}, expected {expected}")),
        None => Ok(()),
    }
}

fn mutate(
    reader: &mut Reader<'_>,
    apply: &ApplyRequest,
    before: &Service,
) -> Result<Reply, Refusal> {
    let ours = Applied::of(apply);
    let (mark, said_applied) = (ours.mark.to_string(), ours.to_string());
    let labels = [(FENCE_LABEL, mark.as_str()), (APPLIED_LABEL, said_applied.as_str())];
    let body = before
        .written(&labels, Some(ours.replicas))
        .map_err(|error| unreadable("the service", &error))?;
    let (told, words) = match reader.write(before, &body) {
        Ok(answer) => (Told::of(&answer), said(&answer)),
        Err(error) if error.is_before_sent() => {
            return Err(Refusal::retryable("command_not_started", error.to_string()));
        }
        Err(error @ AskError::Late { .. }) => {
            return Ok(unknown(apply, "timeout", &error.to_string(), true));
        }
        Err(error) => (Told::Nothing, error.to_string()),
    };
    let words = format!("the write: {words}");
    if let Told::Refused { retryable } = told {
        return Ok(failed(&apply.request, "server_refused", &words, retryable, None));
    }
    Ok(after(reader, apply, before, &ours, told, &words))
}

/// What the engine said of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// It was made.
    Done,
    /// The version had moved.
    Premise,
    /// It was refused for another reason, before it reached the swarm.
    Refused {
        /// Whether another attempt may help.
        retryable: bool,
    },
    /// Nothing that proves anything.
    Nothing,
}

impl Told {
    /// A 4xx is the engine's own refusal; its trouble (408, 429, 5xx) proves nothing. A lost race
    /// is a 500, and is told from other trouble by its words and by reading again.
    pub(super) fn of(answer: &Answer) -> Self {
        match answer.status {
            200..=299 => Self::Done,
            _ if is_out_of_sequence(answer) => Self::Premise,
            401 => Self::Refused { retryable: true },
            408 | 429 => Self::Nothing,
            400..=499 => Self::Refused { retryable: false },
            _ => Self::Nothing,
        }
    }
}

/// What became of a write, by what the engine said and by what is there now.
fn after(
    reader: &mut Reader<'_>,
    apply: &ApplyRequest,
    before: &Service,
    ours: &Applied,
    told: Told,
    words: &str,
) -> Reply {
    let now = reader.service().and_then(|service| {
        reader.check_service(&service, Some(&before.id))?;
        let count = reader.declared(&service)?;
        let applied = service.applied().map_err(|error| unreadable("its labels", &error))?;
        Ok((service.version(), count, applied.contains(ours)))
    });
    let (version, count, is_ours) = match now {
        Ok(now) => now,
        Err(refusal) if told == Told::Done && refusal.retryable => {
            return accepted(apply, &format!("{words}; {}", refusal.detail));
        }
        Err(refusal) => {
            let detail = format!("{words}; then {}", refusal.detail);
            return unknown(apply, refusal.code, &detail, false);
        }
    };
    match judge(told, is_ours, version != before.version()) {
        Judged::Applied => {
            if told != Told::Done {
                // For people; if it cannot be written that is no reason to say less.
                let _ = writeln!(io::stderr(), "{words}; the label says that it was made");
            }
            succeeded(apply, &version, count, &ours.told())
        }
        Judged::Moved => {
            let detail = format!("{words}; it had moved");
            failed(&apply.request, "precondition_moved", &detail, true, Some(count))
        }
        Judged::Unknown => unknown(apply, "outcome_unknown", words, false),
    }
}

/// What a write has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// It was made.
    Applied,
    /// It was refused, because the version had moved.
    Moved,
    /// It may have been, or may still be, made.
    Unknown,
}

/// A manager that passes a write on to a leader that goes away sends it again, and then hears that
/// the version has moved: by the write itself. So the label is asked before the words are believed.
pub(super) const fn judge(told: Told, is_ours: bool, has_moved: bool) -> Judged {
    match (told, is_ours, has_moved) {
        (Told::Done, _, _) | (_, true, _) => Judged::Applied,
        (Told::Premise, false, true) => Judged::Moved,
        (Told::Premise | Told::Refused { .. } | Told::Nothing, false, _) => Judged::Unknown,
    }
}
