//! The effect: `kubectl scale` with the version that was just read, and what became of it.
//!
//! The checks go in the order of the rule book (facts: 6.1). Nothing is written before the last of
//! them. After the write nothing is called *not applied* unless that is proved: by the server's own
//! word that it refused, or by a version that has moved, because then a write that is still on its
//! way is refused, too.

use super::object::Object;
use super::place::Kind;
use super::read::Reader;
use super::{KubectlConfig, SERVER_REFUSES, fence, is_server_word};
use crate::actuator::host::Deadline;
use crate::actuator::protocol::{ApplyRequest, Base, Reply};
use crate::adapters::child::{Ended, RunError};
use crate::adapters::failed;
use crate::adapters::mark::Mark;
use crate::adapters::refusal::{
    Refusal, accepted, check_evidence, deadline_of, succeeded, unknown,
};
use crate::domain::id::{Replicas, TargetResourceVersion, TargetUid};
use crate::domain::scale::intent::ControllerMode;
use crate::domain::scale::observation::Evidence;

/// The most that one object may have (facts: 6.1(8)).
const REPLICAS_MAX: u64 = 1_000_000;
/// What kubectl itself says where the version has moved: it has written nothing then.
const OWN_PRECONDITION: &str = "Expected resource version to be";
/// How it says that the server did not accept who asked.
const NOT_LOGGED_IN: &str = "You must be logged in to the server";

/// What of an object tells whether somebody has written to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) uid: TargetUid,
    pub(super) version: TargetResourceVersion,
    pub(super) generation: Option<u64>,
    pub(super) replicas: Option<Replicas>,
}

impl Seen {
    fn of(object: &Object) -> Self {
        let metadata = &object.metadata;
        Self {
            uid: metadata.uid.clone(),
            version: metadata.resource_version.clone(),
            generation: metadata.generation,
            replicas: object.spec.replicas,
        }
    }
}

/// Carries out one `apply`.
pub(super) fn apply(config: &KubectlConfig, apply: &ApplyRequest) -> Reply {
    let until = deadline_of(apply);
    let checked = check(config, apply, until);
    let (reader, before) = match checked {
        Ok(checked) => checked,
        Err(refusal) => return refusal.apply_reply(&apply.request),
    };
    let desired = apply.request.desired_replicas;
    if before.replicas == Some(desired) {
        return succeeded(
            apply,
            &before.version,
            desired,
            "it was so already, and nothing was written",
        );
    }
    mutate(&reader, apply, &before)
}

/// Everything that may be refused before anything is written.
fn check<'a>(
    config: &'a KubectlConfig,
    apply: &'a ApplyRequest,
    until: Deadline,
) -> Result<(Reader<'a>, Seen), Refusal> {
    let request = &apply.request;
    let target = &request.target;
    let reader = Reader::of(config, &target.workload_id, Some(&target.runtime_id), until)?;
    if request.controller_mode != ControllerMode::Native {
        let detail = "mode delegated: no controller of Kubernetes takes orders from kubectl";
        return Err(Refusal::terminal("unsupported_mode", detail.to_owned()));
    }
    let object = reader.object()?;
    reader.client().check_cluster(Some(&target.cluster_id))?;
    reader.check_object(&object, Some(&target.target_uid))?;
    check_base(&apply.base, &object)?;
    fence::check(&Mark::of_apply(apply), &object)?;
    let desired = request.desired_replicas;
    if desired.get() > REPLICAS_MAX {
        let detail = format!("{desired} replicas; an object may have at most {REPLICAS_MAX}");
        return Err(Refusal::terminal("invalid_replicas", detail));
    }
    let current = reader.declared(&object)?;
    if desired < current {
        let (kind, evidence) = (reader.place.kind, apply.evidence.as_ref());
        check_reduction(kind, current, desired, &apply.base, evidence)?;
    }
    Ok((reader, Seen::of(&object)))
}

/// Whether the object is as the wish was judged by. Its status may have moved the version since;
/// where generations are known, only they and the count are compared.
pub(super) fn check_base(base: &Base, object: &Object) -> Result<(), Refusal> {
    let metadata = &object.metadata;
    let Some(expected) = &base.resource_version else { return Ok(()) };
    if *expected == metadata.resource_version {
        return Ok(());
    }
    let is_same_spec = base.generation.is_some() && base.generation == metadata.generation;
    let is_same_count = base.replicas.is_some() && base.replicas == object.spec.replicas;
    if is_same_spec && is_same_count {
        return Ok(());
    }
    let detail = format!("the version is {}, expected {expected}", metadata.resource_version);
    Err(Refusal::retryable("precondition_moved", detail))
}

/// What a reduction needs besides what the caller has looked at (facts: 6.3). What is drained a
/// person may vouch for; counts, versions and a quorum nobody may.
pub(super) fn check_reduction(
    kind: Kind,
    current: Replicas,
    desired: Replicas,
    base: &Base,
    evidence: Option<&Evidence>,
) -> Result<(), Refusal> {
    check_evidence(current, desired, base, evidence)?;
    let is_safe = evidence.and_then(|evidence| evidence.quorum_safe) == Some(true);
    if kind == Kind::StatefulSet && !is_safe {
        let detail = "a StatefulSet is reduced only where evidence says that a quorum survives";
        return Err(Refusal::terminal("quorum_unproved", detail.to_owned()));
    }
    Ok(())
}

fn mutate(reader: &Reader<'_>, apply: &ApplyRequest, before: &Seen) -> Reply {
    let argument = reader.place.argument();
    let replicas = format!("--replicas={}", apply.request.desired_replicas);
    let version = format!("--resource-version={}", before.version);
    let tail = ["scale", argument.as_str(), replicas.as_str(), version.as_str()];
    match reader.client().run(&tail) {
        Ok(ended) => after(reader, apply, before, &ended),
        // A child that was never started has written nothing.
        Err(error) if error.is_before_start() => {
            Refusal::retryable("command_not_started", error.to_string()).apply_reply(&apply.request)
        }
        Err(RunError::TimedOut { words }) => {
            let mut detail = "kubectl scale gave no answer in time".to_owned();
            if !words.is_empty() {
                detail.extend([": ", &words]);
            }
            unknown(apply, "timeout", &detail, true)
        }
        Err(error) => unknown(apply, "command_lost", &error.to_string(), false),
    }
}

/// What became of a write, by how kubectl ended and by what is there now.
fn after(reader: &Reader<'_>, apply: &ApplyRequest, before: &Seen, ended: &Ended) -> Reply {
    let desired = apply.request.desired_replicas;
    let words = format!("kubectl scale ended with {}: {}", ended.status, ended.words);
    let now = reader.object().and_then(|object| {
        reader.check_object(&object, Some(&before.uid))?;
        Ok(Seen::of(&object))
    });
    if ended.status.success() {
        return match now {
            Ok(now) => match now.replicas {
                Some(count) => {
                    succeeded(apply, &now.version, count, "read after kubectl had ended")
                }
                None => unknown(apply, "count_unknown", "it declares no count any more", false),
            },
            Err(refusal) if refusal.code == "other_target" => {
                unknown(apply, refusal.code, &refusal.detail, false)
            }
            // The server has accepted it, whoever cannot read it now.
            Err(refusal) => accepted(apply, &format!("kubectl's word; {}", refusal.detail)),
        };
    }
    if ended.status.code().is_none() {
        return unknown(apply, "command_killed", &words, false);
    }
    let server = server_refusal(&ended.words);
    match (now, server) {
        (Err(refusal), None) => {
            unknown(apply, refusal.code, &format!("{words}; then {}", refusal.detail), false)
        }
        (Err(_), Some(refused)) => refused_by_server(apply, refused.is_retryable(), &words),
        (Ok(now), refused) => match judge(before, &now, desired, refused) {
            Judged::Applied => {
                succeeded(apply, &now.version, desired, &format!("{words}; it is as wished"))
            }
            Judged::Moved => {
                let (code, count) = ("precondition_moved", now.replicas);
                failed(&apply.request, code, &format!("{words}; it had moved"), true, count)
            }
            Judged::Refused { retryable } => refused_by_server(apply, retryable, &words),
            Judged::Unknown => unknown(apply, "outcome_unknown", &words, false),
        },
    }
}

/// Why a write was refused that was therefore never made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The version had moved.
    Premise,
    /// For a reason that may pass: too many requests, or a login that ran out.
    Later,
    /// For one that does not pass by itself: it is forbidden, invalid, gone.
    ForGood,
}

impl Refused {
    const fn is_retryable(self) -> bool {
        match self {
            Self::Premise | Self::Later => true,
            Self::ForGood => false,
        }
    }
}

/// What a write that failed has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// The count is as wished, in a version that is newer than the write's premise.
    Applied,
    /// The version had moved: nothing was written and nothing comes late.
    Moved,
    /// The server refused it for another reason.
    Refused {
        /// Whether another attempt may help.
        retryable: bool,
    },
    /// It may have been, or may still be, written.
    Unknown,
}

/// Tells a moved version from a lost answer by what is there now. Each change of what is declared
/// raises the generation by one, so a single change that is not ours leaves no room for ours.
/// What a server refuses for another reason than the version it has not looked at, so it stays that
/// refusal wherever the version is by now.
pub(super) fn judge(
    before: &Seen,
    now: &Seen,
    desired: Replicas,
    refused: Option<Refused>,
) -> Judged {
    if let Some(refused @ (Refused::Later | Refused::ForGood)) = refused {
        return Judged::Refused { retryable: refused.is_retryable() };
    }
    if now.uid != before.uid {
        return Judged::Unknown;
    }
    let has_moved = now.version != before.version;
    if refused.is_some() {
        return if has_moved { Judged::Moved } else { Judged::Refused { retryable: true } };
    }
    if !has_moved {
        return Judged::Unknown;
    }
    let is_as_wished = now.replicas == Some(desired);
    match (before.generation, now.generation) {
        _ if is_as_wished => Judged::Applied,
        (Some(then), Some(now)) if now == then || now == then + 1 => Judged::Moved,
        (Some(_) | None, Some(_) | None) => Judged::Unknown,
    }
}

/// Whether the words of kubectl prove that the server has refused the write, or that kubectl never
/// sent one; and then why. None proves nothing: not a timeout of the server (500, 504), not a
/// connection that was lost, and not one that was refused either, because kubectl may have sent the
/// write before over another one.
pub(super) fn server_refusal(words: &str) -> Option<Refused> {
    let refuses = |reasons: &[&str]| is_server_word(words, reasons);
    if words.contains(OWN_PRECONDITION) || refuses(&["Conflict"]) {
        return Some(Refused::Premise);
    }
    if words.contains(NOT_LOGGED_IN) || refuses(&["TooManyRequests", "Unauthorized"]) {
        return Some(Refused::Later);
    }
    // Of what is invalid kubectl speaks in a sentence of its own.
    let is_invalid = words.starts_with("The ") && words.contains(" is invalid");
    (is_invalid || refuses(&SERVER_REFUSES)).then_some(Refused::ForGood)
}

fn refused_by_server(apply: &ApplyRequest, retryable: bool, words: &str) -> Reply {
    failed(&apply.request, "server_refused", words, retryable, None)
}
