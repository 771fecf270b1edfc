//! The gates, in their one order. The first that refuses decides; `explain` shows them all.
//!
//! `decide` and `plan` run the same functions, so that a plan answers as the real thing would.
//! Nothing here reads a clock or the world, and nothing here makes an event.

mod change;
mod put;
mod start;

pub use put::of_put;
pub use start::{may_still_start, of_simulation, of_start};

pub(in crate::domain::scale) use change::authorized;
pub use change::service_resource;

use super::command::PlacedIn;
use super::execution::Execution;
use super::intent::{ControllerMode, TargetBinding};
use super::policy::PolicyAnswer;
use super::rejection::{Rejection, TargetPart};
use super::service::{Binding, CLOCK_SKEW_MAX, COUNT_AGE_MAX, Registration};
use super::state::{ServiceHead, ServiceState};
use crate::domain::id::{ControllerId, Replicas, ServiceName, TargetUid};
use crate::domain::time::Timestamp;

/// The fifteen gates of the design, section 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// 1: the document is of the right shape.
    Shape = 1,
    /// 2: the key is new, or its answer is replayed.
    Replay,
    /// 3: the service is registered, and so is what the wish was made for.
    Registration,
    /// 4: the count is ours.
    Mode,
    /// 5: the writer is the one.
    Writer,
    /// 6: the count is within its bounds.
    Bounds,
    /// 7: nobody was faster.
    Revision,
    /// 8: nothing else is under way.
    InFlight,
    /// 9: the fence permits it.
    Fence,
    /// 10: the last change has cooled.
    Cooldown,
    /// 11: there is room.
    Capacity,
    /// 12: a reduction is safe.
    Evidence,
    /// 13: policy permits it.
    Policy,
    /// 14: a colleague has agreed, where that is asked.
    Approval,
    /// 15: the lease is ours.
    Lease,
}

impl Gate {
    /// The word for people and machines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shape => "shape",
            Self::Replay => "replay",
            Self::Registration => "registration",
            Self::Mode => "mode",
            Self::Writer => "writer",
            Self::Bounds => "bounds",
            Self::Revision => "revision",
            Self::InFlight => "in_flight",
            Self::Fence => "fence",
            Self::Cooldown => "cooldown",
            Self::Capacity => "capacity",
            Self::Evidence => "evidence",
            Self::Policy => "policy",
            Self::Approval => "approval",
            Self::Lease => "lease",
        }
    }

    /// Its place in the order, from 1.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// What one gate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is open; what it saw.
    Passed(String),
    /// It would refuse, and yields to a permission; what it saw.
    Yielded(String, Box<PolicyAnswer>),
    /// It does not apply; why.
    Skipped(String),
    /// It refuses.
    Refused(Box<Rejection>),
}

/// One gate with what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The gate.
    pub gate: Gate,
    /// What it says.
    pub verdict: Verdict,
}

/// The reports of a walk through the gates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reports {
    /// In the order of the gates.
    pub all: Vec<Report>,
    /// What policy said, where it was asked.
    pub decision: Option<PolicyAnswer>,
    /// What policy said instead of yes, where a colleague may agree to it.
    pub refused: Option<PolicyAnswer>,
}

type Checked = Result<Verdict, Rejection>;

#[expect(clippy::unnecessary_wraps, reason = "the ending of a check, which may also refuse")]
fn passed(seen: impl Into<String>) -> Checked {
    Ok(Verdict::Passed(seen.into()))
}

#[expect(clippy::unnecessary_wraps, reason = "the ending of a check, which may also refuse")]
fn skipped(why: impl Into<String>) -> Checked {
    Ok(Verdict::Skipped(why.into()))
}

#[expect(clippy::unnecessary_wraps, reason = "the ending of a check, which may also refuse")]
fn yielded(seen: impl Into<String>, to: &PolicyAnswer) -> Checked {
    Ok(Verdict::Yielded(seen.into(), Box::new(to.clone())))
}

impl Reports {
    fn add(&mut self, gate: Gate, checked: Checked) {
        let verdict = checked.unwrap_or_else(|rejection| Verdict::Refused(Box::new(rejection)));
        self.all.push(Report { gate, verdict });
    }

    /// The refusal that decides.
    pub fn first_refusal(&self) -> Option<&Rejection> {
        self.refusals().next()
    }

    /// All refusals, in the order of the gates.
    pub fn refusals(&self) -> impl Iterator<Item = &Rejection> {
        self.all.iter().filter_map(|report| match &report.verdict {
            Verdict::Refused(rejection) => Some(rejection.as_ref()),
            Verdict::Passed(_) | Verdict::Yielded(..) | Verdict::Skipped(_) => None,
        })
    }

    /// What made gates yield: recorded beside the decision.
    pub fn permissions(&self) -> Vec<PolicyAnswer> {
        let yielded = self.all.iter().filter_map(|report| match &report.verdict {
            Verdict::Yielded(_, permission) => Some(permission.as_ref().clone()),
            Verdict::Passed(_) | Verdict::Skipped(_) | Verdict::Refused(_) => None,
        });
        yielded.collect()
    }
}

/// Gate 11: the environment of a service serves, and one that never sleeps keeps one replica
/// (facts/placement.md, section 1).
fn check_capacity(service: &ServiceName, placed: Option<&PlacedIn>, desired: Replicas) -> Checked {
    let Some(placed) = placed else { return skipped("no environment and no pool") };
    let (service, environment) = (service.clone(), placed.environment.clone());
    match &placed.away {
        Some(operation_id) => {
            let operation_id = operation_id.clone();
            Err(Rejection::Relocating { service, environment, operation_id })
        }
        None if placed.keeps_one && desired == Replicas::MIN => {
            Err(Rejection::AlwaysOn { service, environment })
        }
        None => passed(format!("{environment} serves in cell {}", placed.cell)),
    }
}

/// The service's settings and binding, or the refusal that it is not registered.
pub(in crate::domain::scale) fn registered<'s>(
    state: &'s ServiceState,
    service: &ServiceName,
) -> Result<(&'s Registration, &'s Binding), Rejection> {
    if let Some(retired) = &state.head.authority.retired {
        return Err(Rejection::Retired { service: service.clone(), at: retired.at });
    }
    match (&state.head.registration, &state.head.binding) {
        (Some(registration), Some(binding)) => Ok((registration, binding)),
        _ => Err(Rejection::NoSuchService { service: service.clone() }),
    }
}

/// The settings of a service, retired or not: what was done to it may be looked at for ever.
pub(in crate::domain::scale) fn once_registered<'s>(
    state: &'s ServiceState,
    service: &ServiceName,
) -> Result<&'s Registration, Rejection> {
    let registration = state.head.registration.as_ref();
    registration.ok_or_else(|| Rejection::NoSuchService { service: service.clone() })
}

/// The count that is believed at put: the binding's, while it is fresh. One that was read in the
/// future, by a clock that is wrong, is not. The clock of the target has no say in it. Where the
/// desired count is all there is, that is the count.
pub fn fresh_count(head: &ServiceHead, now: Timestamp) -> Option<Replicas> {
    if head.registration.as_ref().is_some_and(Registration::is_desired_state) {
        return Some(head.gateway_replicas());
    }
    let binding = head.binding.as_ref()?;
    let newest = head.newest_reading.as_ref().filter(|reading| {
        reading.read_at == binding.read_at
            && reading.target_resource_version == binding.target_resource_version
    });
    let read_at = newest.map_or(binding.read_at, |reading| reading.began_at);
    let is_fresh = now.since(read_at) < COUNT_AGE_MAX && read_at <= now.plus(CLOCK_SKEW_MAX);
    binding.known_replicas().filter(|_| is_fresh)
}

/// What keeps other intents of the service from starting, if anything does.
pub(in crate::domain::scale) fn in_flight(
    state: &ServiceState,
    now: Timestamp,
) -> Option<&Execution> {
    state.executions.values().find(|e| e.is_live() && e.is_in_flight(now))
}

pub(in crate::domain::scale) fn check_unit(
    registration: &Registration,
    expected: u64,
) -> Result<(), Rejection> {
    let actual = registration.unit_revision.get();
    if expected == actual {
        Ok(())
    } else {
        let service = registration.service.clone();
        Err(Rejection::StaleUnitRevision { service, expected, actual })
    }
}

fn check_same_object(
    registration: &Registration,
    expected: &TargetBinding,
    actual: &TargetBinding,
    basis: &'static str,
) -> Result<(), Rejection> {
    let parts = [
        (TargetPart::Cluster, expected.cluster_id.as_str(), actual.cluster_id.as_str()),
        (TargetPart::Runtime, expected.runtime_id.as_str(), actual.runtime_id.as_str()),
        (TargetPart::Workload, expected.workload_id.as_str(), actual.workload_id.as_str()),
        (TargetPart::Uid, expected.target_uid.as_str(), actual.target_uid.as_str()),
    ];
    parts.iter().try_for_each(|(part, expected, actual)| {
        moved(registration, *part, basis, expected, actual)
    })
}

/// Refuses if a part of the target is not what it was.
pub(in crate::domain::scale) fn moved<T: PartialEq + std::fmt::Display>(
    registration: &Registration,
    part: TargetPart,
    basis: &'static str,
    expected: &T,
    actual: &T,
) -> Result<(), Rejection> {
    if expected == actual {
        return Ok(());
    }
    Err(Rejection::TargetChanged {
        service: registration.service.clone(),
        part,
        basis,
        expected: expected.to_string(),
        actual: actual.to_string(),
    })
}

/// Refuses an object that is not the registered one. After a move nobody knows which one it is.
pub(in crate::domain::scale) fn check_uid(
    registration: &Registration,
    bound: &Binding,
    found: &TargetUid,
) -> Result<(), Rejection> {
    if bound.outdated.target {
        return Ok(());
    }
    moved(registration, TargetPart::Uid, "registered", &bound.target_uid.as_str(), &found.as_str())
}

pub(in crate::domain::scale) fn check_mode_of(
    registration: &Registration,
    submitted: ControllerMode,
) -> Checked {
    let word = |mode| match mode {
        ControllerMode::Native => "native",
        ControllerMode::Delegated => "delegated",
    };
    match registration.mode.record_mode() {
        None => Err(external(registration)),
        Some(mode) if mode == submitted => passed(word(mode)),
        Some(mode) => Err(Rejection::ModeMismatch {
            service: registration.service.clone(),
            registered: word(mode),
            submitted: word(submitted),
            is_retired: false,
        }),
    }
}

/// The refusal that somebody else owns the count.
pub fn external(registration: &Registration) -> Rejection {
    Rejection::ExternalOwner {
        service: registration.service.clone(),
        mode: registration.mode,
        owner: registration.owner.clone(),
        is_retired: false,
    }
}

pub(in crate::domain::scale) fn check_writer(
    registration: &Registration,
    given: Option<&ControllerId>,
) -> Checked {
    match given {
        Some(given) if *given != registration.writer => Err(Rejection::NotWriter {
            service: registration.service.clone(),
            given: given.clone(),
            writer: registration.writer.clone(),
        }),
        Some(_) | None => passed(registration.writer.as_str()),
    }
}

fn check_own_fence(execution: &Execution, now: Timestamp) -> Checked {
    match execution.fence() {
        Some(fence) if fence.is_alive(now) => passed(format!("until {}", fence.expires_at)),
        Some(fence) => Err(Rejection::FenceExpired {
            service: execution.intent.service.clone(),
            revision: execution.revision(),
            expires_at: fence.expires_at,
        }),
        None => skipped("not accepted yet"),
    }
}
