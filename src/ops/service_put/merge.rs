//! What a registration is after a change, and what it asks of its actuator.

use std::collections::BTreeMap;

use super::{ServiceChange, Target};
use crate::domain::id::{EnvironmentName, Replicas, RequiredReadings, ServiceName, UnitRevision};
use crate::domain::scale::intent::{BACKOFF_MAX, RetryPolicy};
use crate::domain::scale::scaling::SCALED_COOLDOWN_DEFAULT;
use crate::domain::scale::service::{
    Capabilities, ConvergeOn, Drain, OnUnknown, QUIET_DEFAULT, RegisteredActuator, RegisteredMode,
    Registration, TargetMatch, Terms,
};
use crate::domain::time::DurationMs;
use crate::ops::error::OpError;
use crate::ops::session::Session;

pub(super) fn merged(
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
    let scaling = change.scaling.merged(before.and_then(|before| before.scaling.as_ref()))?;
    let cooldown = merged_cooldown(before, change, scaling.is_some());
    let retry = before.map_or_else(RetryPolicy::default, |before| before.retry_policy);
    let mode = change.mode.or(before.map(|before| before.mode)).unwrap_or(RegisteredMode::Native);
    // Whoever drives the count is named as found where nobody says it; a hand-over names it anew.
    let is_as_before = before.is_some_and(|before| before.mode == mode);
    let kept_owner = || match before.filter(|_| is_as_before) {
        Some(before) => before.owner.clone(),
        None => target.owners.drive.first().cloned(),
    };
    Ok(Registration {
        service: service.clone(),
        unit_revision: before.map_or(UnitRevision::MIN, |before| before.unit_revision),
        mode,
        writer,
        min_replicas: change
            .min
            .or(before.map(|before| before.min_replicas))
            .unwrap_or(if scaling.is_some() { Replicas::from(1) } else { Replicas::MIN }),
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
        labels: merged_labels(before, change),
        declared_replicas: change
            .declared
            .unwrap_or(before.and_then(|before| before.declared_replicas)),
        quorum_required: change
            .quorum_required
            .unwrap_or(before.is_some_and(|before| before.quorum_required)),
        scaling,
        owner: match &change.owner {
            Some(owner) => owner.clone(),
            None => kept_owner().filter(|_| mode.record_mode().is_none()),
        },
        environment: merged_environment(before, change),
    })
}

fn merged_environment(
    before: Option<&Registration>,
    change: &ServiceChange,
) -> Option<EnvironmentName> {
    let kept = || before.and_then(|before| before.environment.clone());
    change.environment.clone().unwrap_or_else(kept)
}

fn merged_labels(
    before: Option<&Registration>,
    change: &ServiceChange,
) -> BTreeMap<String, String> {
    let kept = before.filter(|_| !change.are_all_labels);
    let mut labels = kept.map(|before| before.labels.clone()).unwrap_or_default();
    for (name, value) in &change.labels {
        if value.is_empty() {
            labels.remove(name);
        } else {
            labels.insert(name.clone(), value.clone());
        }
    }
    labels
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
pub(super) fn check(
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
    if registration.retry_policy.backoff > BACKOFF_MAX {
        return Err(OpError::usage("backoff_too_long", "a backoff is at most 1h"));
    }
    Ok(())
}
