//! `service put`: the settings of a service, made or changed. Only what is named changes.

use std::collections::BTreeMap;

mod scaling;

use super::ask::reading_of;
use super::error::OpError;
use super::read::target_holder;
use super::session::Session;
use crate::actuator::protocol::PartialTarget;
use crate::domain::id::{
    ActuatorName, ClusterId, ControllerId, Replicas, RequiredReadings, RuntimeId, ServiceName,
    TargetResourceVersion, TargetUid, UnitRevision, WorkloadId,
};
use crate::domain::scale::command::{Command, RegisterService};
use crate::domain::scale::intent::RetryPolicy;
use crate::domain::scale::scaling::SCALED_COOLDOWN_DEFAULT;
use crate::domain::scale::service::{
    Binding, Capabilities, ConvergeOn, Drain, FenceSource, OnUnknown, Outdated, QUIET_DEFAULT,
    RegisteredActuator, RegisteredMode, Registration, TargetMatch, Terms,
};
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::DurationMs;

pub use scaling::ScalingChange;

/// What is to change; what is none stays, or takes its default in a new registration.
#[derive(Debug, Clone, Default)]
pub struct ServiceChange {
    /// Who may change the count; `native` by default.
    pub mode: Option<RegisteredMode>,
    /// The one controller that may act; the operating system's user by default.
    pub writer: Option<ControllerId>,
    /// The least that may be wished; 0 by default.
    pub min: Option<Replicas>,
    /// The most that may be wished; must be named in a new registration.
    pub max: Option<Replicas>,
    /// Who carries a wish out; must be named in a new registration.
    pub actuator: Option<ActuatorName>,
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
    pub max_attempts: Option<crate::domain::id::MaxAttempts>,
    /// How long to wait between attempts.
    pub backoff: Option<DurationMs>,
    /// Labels to set; an empty value takes the label away.
    pub labels: BTreeMap<String, String>,
    /// The count of a static service; the inner none takes it away.
    pub declared: Option<Option<Replicas>>,
    /// Whether evidence must say that a quorum survives.
    pub quorum_required: Option<bool>,
    /// How it is scaled by a signal.
    pub scaling: ScalingChange,
}

/// What a registration came to.
pub struct Registered {
    /// The service as it now is.
    pub head: ServiceHead,
    /// What it was before, if it was there.
    pub before: Option<Registration>,
    /// Whether anything changed.
    pub changed: bool,
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
    let transition = session.registration(service, |state, txn| {
        let binding = target.binding.as_ref().or(state.head.binding.as_ref());
        let holder = binding.map(|binding| target_holder(txn, &registration, &binding.target_uid));
        Ok(Command::RegisterService(Box::new(RegisterService {
            authorization: None,
            target_holder: holder.transpose()?.flatten(),
            registration,
            binding: target.binding,
            expected: Some(expected),
        })))
    })?;
    Ok(Registered {
        changed: transition.committed.is_some(),
        head: transition.state.head,
        before: before.registration,
    })
}

fn wanted_actuator(
    session: &mut Session,
    before: Option<&Registration>,
    change: &ServiceChange,
) -> Result<Option<RegisteredActuator>, OpError> {
    let name =
        change.actuator.clone().or_else(|| before.and_then(|before| before.actuator.clone()));
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
}

fn read_target(
    session: &mut Session,
    service: &ServiceName,
    before: &ServiceHead,
    change: &ServiceChange,
    actuator: Option<&RegisteredActuator>,
) -> Result<Target, OpError> {
    let old = before.registration.as_ref();
    let workload = match (&change.workload, old) {
        (Some(workload), _) => workload.clone(),
        (None, Some(old)) => old.workload_id.clone(),
        (None, None) => service.as_str().parse().map_err(|error| OpError::Internal {
            what: format!("{service} names no workload: {error}"),
        })?,
    };
    let moves = change.workload.is_some()
        || change.cluster.is_some()
        || change.runtime.is_some()
        || change.actuator.is_some();
    if let (Some(old), false) = (old, moves || change.target_uid.is_some()) {
        return Ok(Target {
            cluster: old.cluster_id.clone(),
            runtime: old.runtime_id.clone(),
            workload,
            binding: None,
        });
    }
    let given = (&change.cluster, &change.runtime, &change.target_uid, &change.target_version);
    if let (Some(cluster), Some(runtime), Some(uid), Some(version)) = given {
        return Ok(Target {
            cluster: cluster.clone(),
            runtime: runtime.clone(),
            workload,
            binding: Some(Binding {
                target_uid: uid.clone(),
                target_resource_version: version.clone(),
                generation: None,
                replicas: None,
                ready_replicas: None,
                read_at: session.now(),
                outdated: Outdated::default(),
            }),
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
    let target = found.target.clone();
    // The same place: an update keeps the binding's identity, and another object must be accepted
    // with `service bind`.
    Ok(Target {
        cluster: target.cluster_id,
        runtime: target.runtime_id,
        workload: target.workload_id,
        binding: Some(Binding::from(&reading_of(found, began_at))),
    })
}

fn merged(
    session: &Session,
    service: &ServiceName,
    before: Option<&Registration>,
    change: &ServiceChange,
    actuator: Option<&RegisteredActuator>,
    target: &Target,
) -> Result<Registration, OpError> {
    let writer = match (&change.writer, before) {
        (Some(writer), _) => writer.clone(),
        (None, Some(before)) => before.writer.clone(),
        (None, None) => session.by.os_user.parse().map_err(|_| OpError::Usage {
            code: "writer_missing",
            message: format!("the user {:?} is no controller id", session.by.os_user),
            hint: Some("name the writer with --writer".into()),
        })?,
    };
    let max_replicas =
        change.max.or(before.map(|before| before.max_replicas)).ok_or_else(|| OpError::Usage {
            code: "max_missing",
            message: format!("{service} is new, and nobody says how many replicas it may have"),
            hint: Some("name the most with --max, and who acts with --actuator".into()),
        })?;
    let mut labels = before.map(|before| before.labels.clone()).unwrap_or_default();
    for (name, value) in &change.labels {
        if value.is_empty() {
            labels.remove(name);
        } else {
            labels.insert(name.clone(), value.clone());
        }
    }
    let scaling = change.scaling.merged(before.and_then(|before| before.scaling.as_ref()))?;
    let cooldown = merged_cooldown(before, change, scaling.is_some());
    let retry = before.map_or_else(RetryPolicy::default, |before| before.retry_policy);
    Ok(Registration {
        service: service.clone(),
        unit_revision: before.map_or(UnitRevision::MIN, |before| before.unit_revision),
        mode: change.mode.or(before.map(|before| before.mode)).unwrap_or(RegisteredMode::Native),
        writer,
        min_replicas: change
            .min
            .or(before.map(|before| before.min_replicas))
            .unwrap_or(Replicas::MIN),
        max_replicas,
        actuator: actuator.map(|actuator| actuator.name.clone()),
        cluster_id: target.cluster.clone(),
        runtime_id: target.runtime.clone(),
        workload_id: target.workload.clone(),
        terms: merged_terms(before, change, actuator),
        cooldown_ms: cooldown,
        fences: change.fences.or(before.map(|before| before.fences)).unwrap_or_default(),
        retry_policy: RetryPolicy {
            max_attempts: change.max_attempts.unwrap_or(retry.max_attempts),
            backoff: change.backoff.unwrap_or(retry.backoff),
        },
        labels,
        declared_replicas: change
            .declared
            .unwrap_or(before.and_then(|before| before.declared_replicas)),
        quorum_required: change
            .quorum_required
            .unwrap_or(before.is_some_and(|before| before.quorum_required)),
        scaling,
        owner: before.and_then(|before| before.owner.clone()),
    })
}

/// What is newly scaled by a signal cools, unless somebody says otherwise.
fn merged_cooldown(
    before: Option<&Registration>,
    change: &ServiceChange,
    is_scaled: bool,
) -> Option<DurationMs> {
    let was_scaled = before.is_some_and(|before| before.scaling.is_some());
    let kept = before.and_then(|before| before.cooldown_ms);
    match change.cooldown {
        Some(cooldown) => cooldown,
        None if is_scaled && !was_scaled => kept.or(Some(SCALED_COOLDOWN_DEFAULT)),
        None => kept,
    }
}

fn merged_terms(
    before: Option<&Registration>,
    change: &ServiceChange,
    actuator: Option<&RegisteredActuator>,
) -> Terms {
    let capabilities = actuator.map_or_else(Capabilities::default, |a| a.capabilities);
    let is_local = actuator.is_some_and(|actuator| actuator.adapter == "local");
    let two = RequiredReadings::new(2).expect("BUG: 2 is within 1..=10");
    let base = before.map_or_else(
        || Terms {
            target_match: actuator
                .map_or_else(TargetMatch::default, |a| TargetMatch::default_of(&a.adapter)),
            on_unknown: OnUnknown::default(),
            required_readings: if capabilities.inspect { two } else { RequiredReadings::MIN },
            reading_interval_ms: DurationMs::ZERO,
            converge_on: ConvergeOn::default(),
            drain: Drain::default(),
            quiet_ms: if is_local { DurationMs::ZERO } else { QUIET_DEFAULT },
        },
        |before| before.terms.clone(),
    );
    Terms {
        target_match: change.target_match.unwrap_or(base.target_match),
        on_unknown: change.on_unknown.unwrap_or(base.on_unknown),
        required_readings: change.readings.unwrap_or(base.required_readings),
        reading_interval_ms: change.reading_interval.unwrap_or(base.reading_interval_ms),
        converge_on: change.converge_on.unwrap_or(base.converge_on),
        drain: change.drain.unwrap_or(base.drain),
        quiet_ms: change.quiet.unwrap_or(base.quiet_ms),
    }
}

/// What the settings ask of the actuator it must be able to do.
fn check(
    registration: &Registration,
    actuator: Option<&RegisteredActuator>,
) -> Result<(), OpError> {
    let Some(actuator) = actuator else {
        return Ok(());
    };
    let name = &actuator.name;
    let terms = &registration.terms;
    if terms.on_unknown == OnUnknown::RetrySameKey
        && !actuator.capabilities.deduplicates_execution_key
    {
        return Err(OpError::usage(
            "capability_missing",
            format!("on_unknown retry_same_key: actuator {name} does not deduplicate keys"),
        ));
    }
    if terms.required_readings > RequiredReadings::MIN && !actuator.capabilities.inspect {
        return Err(OpError::usage(
            "capability_missing",
            format!(
                "actuator {name} cannot inspect, so --readings is at most 1, not {}",
                terms.required_readings
            ),
        ));
    }
    if registration.retry_policy.backoff > crate::domain::scale::intent::BACKOFF_MAX {
        return Err(OpError::usage("backoff_too_long", "a backoff is at most 1h"));
    }
    Ok(())
}
