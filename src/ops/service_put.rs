//! `service put`: the settings of a service, made or changed. Only what is named changes.

use std::collections::BTreeMap;

mod document;
mod merge;
mod scaling;

use super::ask::{owners_of, reading_of};
use super::error::OpError;
use super::read::{as_said, target_holders};
use super::session::Session;
use crate::actuator::protocol::PartialTarget;
use crate::domain::id::{
    ActuatorName, ClusterId, ControllerId, EnvironmentName, MaxAttempts, Replicas,
    RequiredReadings, RuntimeId, ServiceName, TargetResourceVersion, TargetUid, WorkloadId,
};
use crate::domain::scale::authority::Retirement;
use crate::domain::scale::command::{Command, RegisterService};
use crate::domain::scale::intent::TargetBinding;
use crate::domain::scale::owners::Owners;
use crate::domain::scale::service::{
    Binding, ConvergeOn, Drain, FenceSource, OnUnknown, RegisteredActuator, RegisteredMode,
    Registration, TargetMatch,
};
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::DurationMs;

pub use document::{Document, registration};
use merge::{check, merged};
pub use scaling::ScalingChange;

/// What is to change; what is none stays, or takes its default in a new registration.
#[derive(Debug, Clone, Default)]
pub struct ServiceChange {
    /// Who may change the count; `native` by default.
    pub mode: Option<RegisteredMode>,
    /// The one controller that may act; the operating system's user by default.
    pub writer: Option<ControllerId>,
    /// The least that may be wished; 0 by default, and 1 where a new service is scaled by a signal
    /// (facts/fleet-authority.md, 1B).
    pub min: Option<Replicas>,
    /// The most that may be wished; must be named in a new registration.
    pub max: Option<Replicas>,
    /// Who carries a wish out; must be named in a new registration. The inner none is nobody.
    pub actuator: Option<Option<ActuatorName>>,
    /// What the target is called; the service's name by default.
    pub workload: Option<WorkloadId>,
    /// The cluster; as inspected by default.
    pub cluster: Option<ClusterId>,
    /// The runtime; as inspected by default.
    pub runtime: Option<RuntimeId>,
    /// The identity of the target, where nobody can inspect it.
    pub target_uid: Option<TargetUid>,
    /// The version of the target, where nobody can inspect it.
    pub target_version: Option<TargetResourceVersion>,
    /// What of the target must not have moved.
    pub target_match: Option<TargetMatch>,
    /// What may happen after an unknown outcome.
    pub on_unknown: Option<OnUnknown>,
    /// How many readings must agree; 2 where the actuator can inspect, else 1.
    pub readings: Option<RequiredReadings>,
    /// How long `scale` waits between two readings.
    pub reading_interval: Option<DurationMs>,
    /// Which count must be the wished one.
    pub converge_on: Option<ConvergeOn>,
    /// Whether a reduction needs evidence.
    pub drain: Option<Drain>,
    /// Who makes the fences.
    pub fences: Option<FenceSource>,
    /// How long a late effect is waited for; 60 s, or 0 for `local`.
    pub quiet: Option<DurationMs>,
    /// How long a change cools; the inner none takes the cooldown away.
    pub cooldown: Option<Option<DurationMs>>,
    /// How often and how soon to try again.
    pub max_attempts: Option<MaxAttempts>,
    /// How long to wait between attempts.
    pub backoff: Option<DurationMs>,
    /// Labels to set; an empty value takes the label away.
    pub labels: BTreeMap<String, String>,
    /// Whether these are all labels, so that the others are taken away.
    pub are_all_labels: bool,
    /// The count of a static service; the inner none takes it away.
    pub declared: Option<Option<Replicas>>,
    /// Whether evidence must say that a quorum survives.
    pub quorum_required: Option<bool>,
    /// How it is scaled by a signal.
    pub scaling: ScalingChange,
    /// What the controller that owns the count is called; the inner none is nobody.
    pub owner: Option<Option<String>>,
    /// The environment that it is a part of; the inner none takes it out of one.
    pub environment: Option<Option<EnvironmentName>>,
}

impl ServiceChange {
    /// Whether the target is to be read or said anew: it is elsewhere, or somebody else is asked.
    fn moves(&self, old: &Registration) -> bool {
        fn differs<T: PartialEq>(named: Option<&T>, old: &T) -> bool {
            named.is_some_and(|named| named != old)
        }
        let is_asked_elsewhere =
            self.actuator.as_ref().is_some_and(|named| named.is_some() && *named != old.actuator);
        is_asked_elsewhere
            || self.target_uid.is_some()
            || differs(self.workload.as_ref(), &old.workload_id)
            || differs(self.cluster.as_ref(), &old.cluster_id)
            || differs(self.runtime.as_ref(), &old.runtime_id)
    }
}

/// What a registration came to.
pub struct Registered {
    /// The service as it now is.
    pub head: ServiceHead,
    /// What it was before, if it was there.
    pub before: Option<Registration>,
    /// Whether anything changed.
    pub changed: bool,
    /// The end of the service that this takes back.
    pub revives: Option<Retirement>,
}

/// Makes or changes the settings of a service.
pub fn service_put(
    session: &mut Session,
    service: &ServiceName,
    change: &ServiceChange,
    expected: Option<u64>,
) -> Result<Registered, OpError> {
    let before = session.ledger.read()?.service_state(service, &[])?.head;
    let actuator = wanted_actuator(session, before.registration.as_ref(), change)?;
    let target = read_target(session, service, &before, change, actuator.as_ref())?;
    let registration =
        merged(session, service, before.registration.as_ref(), change, actuator.as_ref(), &target)?;
    check(&registration, actuator.as_ref())?;
    // A premise that nobody named is what was just read: two changes at once must not mix.
    let expected = expected.unwrap_or_else(|| {
        before.registration.as_ref().map_or(0, |registration| registration.unit_revision.get())
    });
    let is_ours = registration.mode.record_mode().is_some();
    let driving = if is_ours { target.owners.drive.clone() } else { Vec::new() };
    let transition = session.registration(service, |state, txn| {
        let binding = target.binding.as_ref().or(state.head.binding.as_ref());
        let others = binding.map(|binding| target_holders(txn, &registration, &binding.target_uid));
        Ok(Command::RegisterService(Box::new(RegisterService {
            authorization: None,
            accept_uid: None,
            others: others.transpose()?.unwrap_or_default(),
            registration,
            binding: target.binding,
            owners: target.owners,
            expected: Some(expected),
        })))
    })?;
    session.tell_of_owners(service, &driving);
    if let Some(registration) = &transition.state.head.registration {
        session.tell_of_quorum(registration, actuator.as_ref());
    }
    Ok(Registered {
        changed: transition.committed.is_some(),
        head: transition.state.head,
        before: before.registration,
        revives: before.authority.retired,
    })
}

fn wanted_actuator(
    session: &mut Session,
    before: Option<&Registration>,
    change: &ServiceChange,
) -> Result<Option<RegisteredActuator>, OpError> {
    let name = match &change.actuator {
        Some(named) => named.clone(),
        None => before.and_then(|before| before.actuator.clone()),
    };
    name.map_or(Ok(None), |name| session.actuator(&name).map(Some))
}

/// What is missing where nobody reads the target.
const TARGET_HINT: &str = "name who can read it with --actuator NAME; or add --cluster, --runtime, \
                           --workload, --target-uid and --target-version";

/// Where the target is, and what it was when read just now or said.
struct Target {
    cluster: ClusterId,
    runtime: RuntimeId,
    workload: WorkloadId,
    binding: Option<Binding>,
    /// Who drives the count, by the reading.
    owners: Owners,
}

/// What a person names beside what is read is a premise: another object is not taken in silence.
fn refuse_other(
    service: &ServiceName,
    change: &ServiceChange,
    found: &TargetBinding,
) -> Result<(), OpError> {
    let uid = change.target_uid.as_ref().filter(|named| **named != found.target_uid);
    let version =
        change.target_version.as_ref().filter(|named| **named != found.target_resource_version);
    let (flag, named, found) = match (uid, version) {
        (None, None) => return Ok(()),
        (Some(uid), _) => ("--target-uid", uid.as_str(), found.target_uid.as_str()),
        (None, Some(version)) => {
            ("--target-version", version.as_str(), found.target_resource_version.as_str())
        }
    };
    Err(OpError::Usage {
        code: "other_target",
        message: format!("{flag} names {named}, and the target of {service} is read as {found}"),
        hint: Some(format!("if what is there is meant, say it without {flag}")),
    })
}

/// What the target is called: as named, as before, or as the service.
fn workload_of(
    service: &ServiceName,
    change: &ServiceChange,
    old: Option<&Registration>,
) -> Result<WorkloadId, OpError> {
    match (&change.workload, old) {
        (Some(workload), _) => Ok(workload.clone()),
        (None, Some(old)) => Ok(old.workload_id.clone()),
        (None, None) => service.as_str().parse().map_err(|error| OpError::Internal {
            what: format!("{service} names no workload: {error}"),
        }),
    }
}

fn read_target(
    session: &mut Session,
    service: &ServiceName,
    before: &ServiceHead,
    change: &ServiceChange,
    actuator: Option<&RegisteredActuator>,
) -> Result<Target, OpError> {
    let old = before.registration.as_ref();
    let workload = workload_of(service, change, old)?;
    if let Some(old) = old.filter(|old| !change.moves(old)) {
        return Ok(Target {
            cluster: old.cluster_id.clone(),
            runtime: old.runtime_id.clone(),
            workload,
            binding: None,
            owners: Owners::default(),
        });
    }
    let given = (&change.cluster, &change.runtime, &change.target_uid, &change.target_version);
    if let (Some(cluster), Some(runtime), Some(uid), Some(version)) = given {
        return Ok(Target {
            cluster: cluster.clone(),
            runtime: runtime.clone(),
            workload,
            binding: Some(as_said(uid.clone(), version.clone(), session.now())),
            owners: Owners::default(),
        });
    }
    let Some(actuator) = actuator.filter(|actuator| actuator.capabilities.inspect) else {
        return Err(OpError::Usage {
            code: "target_incomplete",
            message: format!(
                "nobody can inspect the target of {service}, so its five members must be named"
            ),
            hint: Some(TARGET_HINT.into()),
        });
    };
    let partial = PartialTarget {
        cluster_id: change.cluster.clone(),
        runtime_id: change.runtime.clone(),
        workload_id: workload.clone(),
        target_uid: None,
        target_resource_version: None,
    };
    let began_at = session.now();
    let found = session.asker(actuator)?.inspect_now(&partial, began_at)?;
    let (target, owners) = (found.target.clone(), owners_of(&found));
    refuse_other(service, change, &target)?;
    // The same place: an update keeps the binding's identity, and another object must be accepted
    // with `service bind`.
    Ok(Target {
        cluster: target.cluster_id,
        runtime: target.runtime_id,
        workload: target.workload_id,
        binding: Some(Binding::from(&reading_of(found, began_at))),
        owners,
    })
}

impl Session {
    /// Says that no reduction will ever pass: nobody can vouch for the quorum that is required.
    pub(super) fn tell_of_quorum(
        &mut self,
        registration: &Registration,
        actuator: Option<&RegisteredActuator>,
    ) {
        let capabilities = actuator.map(|actuator| actuator.capabilities).unwrap_or_default();
        if registration.quorum_is_unvouched(capabilities) {
            let service = &registration.service;
            let name = actuator.map_or_else(|| "nobody".to_owned(), |it| it.name.to_string());
            let text = format!(
                "{service} is never reduced: its quorum is vouched for by evidence alone, and \
                 {name} gives none. Name an actuator that does with --actuator, or ask for none \
                 with --quorum none"
            );
            self.notice("quorum_unvouched", text);
        }
    }
}
