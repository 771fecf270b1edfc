//! Scaling specs and signals: what the autoscaler is told about a service, and the count that
//! follows from a sample.
//!
//! Owns the bounds of facts/fleet-authority.md, 1B, and the formula of 4.2. Decides nothing about
//! whether the count may be wished.

mod signal;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use signal::{Aggregation, InvalidSignalWord, SIGNAL_CHARS_MAX, Signal, SignalWord};

use super::service::Registration;
use super::state::Direction;
use crate::domain::id::{Replicas, ServiceName};
use crate::domain::measure::Measure;
use crate::domain::time::{DurationMs, Timestamp};

/// The largest bound of a service that is scaled by a signal.
pub const SCALED_REPLICAS_MAX: u64 = 100_000;
/// The longest cooldown of a service that is scaled by a signal: a day.
pub const SCALED_COOLDOWN_MAX: DurationMs = DurationMs::from_secs(86_400);
/// The cooldown of a service that is scaled by a signal, where none is named.
pub const SCALED_COOLDOWN_DEFAULT: DurationMs = DurationMs::from_secs(300);
/// How old a sample may be.
pub const SAMPLE_AGE_MAX: DurationMs = DurationMs::from_secs(120);
/// How far a sample may lie in the future.
pub const SAMPLE_SKEW_MAX: DurationMs = DurationMs::from_secs(30);

/// How a service is scaled by a signal. Its bounds, mode and cooldown are the registration's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalingSpec {
    /// The signal.
    pub signal: Signal,
    /// What its value per replica should be: above 0, at most 10^12.
    pub target: Measure,
    /// How many more one step may make: 1 to 100000.
    pub scale_up_step: Replicas,
    /// How many fewer one step may make: 1 to 100000.
    pub scale_down_step: Replicas,
    /// How far from the target nothing is done, as a part of it: 0 to 1.
    pub deadband: Measure,
    /// How many samples in a row must ask for more: 1 to 60.
    pub scale_up_samples: u8,
    /// How many samples in a row must ask for less: 1 to 60.
    pub scale_down_samples: u8,
}

/// The step of a spec that names none.
pub const STEP_DEFAULT: u32 = 1;
/// The deadband of a spec that names none.
pub const DEADBAND_DEFAULT: f64 = 0.05;
/// How many samples in a row must ask for more, where a spec does not say.
pub const UP_SAMPLES_DEFAULT: u8 = 1;
/// How many samples in a row must ask for less, where a spec does not say.
pub const DOWN_SAMPLES_DEFAULT: u8 = 3;

/// A registration whose scaling does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{member} {value} is outside {bounds}")]
pub struct InvalidScaling {
    /// The member.
    pub member: &'static str,
    /// What was given.
    pub value: String,
    /// What is allowed.
    pub bounds: &'static str,
}

impl ScalingSpec {
    /// Checks the bounds of its own members.
    pub fn check_own(&self) -> Result<(), InvalidScaling> {
        let step = |count: Replicas| (1..=SCALED_REPLICAS_MAX).contains(&count.get());
        let samples = |count: u8| (1..=60).contains(&count);
        let (up, down) = (self.scale_up_step, self.scale_down_step);
        let (more, less) = (self.scale_up_samples, self.scale_down_samples);
        let (target, part) = (self.target.get(), self.deadband.get());
        first_broken([
            ("target", target > 0.0 && target <= 1e12, &self.target, "above 0 to 1e12"),
            ("scale_up_step", step(up), &up, "1..=100000"),
            ("scale_down_step", step(down), &down, "1..=100000"),
            ("deadband", (0.0..=1.0).contains(&part), &self.deadband, "0 to 1"),
            ("scale_up_samples", samples(more), &more, "1..=60"),
            ("scale_down_samples", samples(less), &less, "1..=60"),
        ])
    }

    /// Checks them, and those of the registration that it belongs to.
    pub fn check(&self, registration: &Registration) -> Result<(), InvalidScaling> {
        const COUNTS: &str = "0..=100000 (the service is scaled by a signal)";
        const COOLDOWNS: &str = "0 to 24h (the service is scaled by a signal)";
        self.check_own()?;
        let count = |count: Replicas| count.get() <= SCALED_REPLICAS_MAX;
        let (min, max) = (registration.min_replicas, registration.max_replicas);
        let cooldown = registration.cooldown_ms.unwrap_or_default();
        first_broken([
            ("min_replicas", count(min), &min, COUNTS),
            ("max_replicas", count(max), &max, COUNTS),
            ("cooldown", cooldown <= SCALED_COOLDOWN_MAX, &cooldown, COOLDOWNS),
        ])
    }

    /// How many samples in a row must ask for this direction.
    pub const fn samples_for(&self, direction: Direction) -> u8 {
        match direction {
            Direction::Up => self.scale_up_samples,
            Direction::Down | Direction::Unknown => self.scale_down_samples,
        }
    }

    /// The value that one replica has.
    pub fn per_replica(&self, current: Replicas, value: Measure) -> f64 {
        match self.signal.aggregation {
            Aggregation::FleetTotal => value.get() / as_float(effective(current)),
            Aggregation::PerReplica => value.get(),
        }
    }

    /// Whether the value is so near to the target that nothing is done. Never at 0 replicas, and
    /// never outside the bounds: no value makes those right.
    pub fn is_within_deadband(
        &self,
        (min, max): (Replicas, Replicas),
        current: Replicas,
        value: Measure,
    ) -> bool {
        let target = self.target.get();
        let apart = (self.per_replica(current, value) - target).abs();
        let is_bounded = (min..=max).contains(&current);
        is_bounded && current > Replicas::MIN && apart <= target * self.deadband.get()
    }

    /// The count that a value asks for: tracked, then at most one step from the current count, then
    /// within the bounds. A record says nothing outside its bounds, so a service that is outside
    /// them comes back to the nearest in one step, however long.
    ///
    /// The rule's `effective · per_replica / target`, with the quotient first: a value that is just
    /// the target then asks for just what is there, whatever the rounding of floats.
    pub fn wanted(
        &self,
        bounds: (Replicas, Replicas),
        current: Replicas,
        value: Measure,
    ) -> Replicas {
        let ratio = value.get() / self.target.get();
        let raw = match self.signal.aggregation {
            Aggregation::FleetTotal => ratio,
            Aggregation::PerReplica => ratio * as_float(effective(current)),
        };
        let lowest = current.get().saturating_sub(self.scale_down_step.get());
        let highest = current.get().saturating_add(self.scale_up_step.get());
        let stepped = rounded(raw.ceil()).get().clamp(lowest, highest);
        let (min, max) = bounds;
        Replicas::new(stepped).unwrap_or(Replicas::MAX).clamp(min.min(max), max)
    }
}

/// A member, whether it holds, its value, and its bounds.
type Bound<'a> = (&'static str, bool, &'a dyn fmt::Display, &'static str);

fn first_broken<const N: usize>(checks: [Bound<'_>; N]) -> Result<(), InvalidScaling> {
    match checks.into_iter().find(|(_, holds, ..)| !holds) {
        Some((member, _, value, bounds)) => {
            Err(InvalidScaling { member, value: value.to_string(), bounds })
        }
        None => Ok(()),
    }
}

/// A count of nothing is tracked as one.
fn effective(current: Replicas) -> Replicas {
    current.max(Replicas::from(1))
}

#[expect(clippy::cast_precision_loss, reason = "a count is at most 2^53 - 1")]
const fn as_float(count: Replicas) -> f64 {
    count.get() as f64
}

/// What is not a count is the nearest one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates, and nothing is below 0"
)]
fn rounded(raw: f64) -> Replicas {
    Replicas::new(raw.max(0.0) as u64).unwrap_or(Replicas::MAX)
}

/// One measured value, as a signal source says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The service that it is about.
    pub service: ServiceName,
    /// Its signal.
    pub signal: Signal,
    /// Its value.
    pub value: Measure,
    /// When it was measured.
    pub observed_at: Timestamp,
}

/// Samples in a row that ask for the same direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streak {
    /// More or less.
    pub direction: Direction,
    /// How many: 1 to 60, and no more are counted.
    pub samples: u8,
}

/// What the autoscaler remembers of a service from tick to tick: durable, so that a restart changes
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleMark {
    /// When the newest sample that was used had been measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed_at: Option<Timestamp>,
    /// What the samples before agree on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streak: Option<Streak>,
}

impl SampleMark {
    /// For members that are left out where they say nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The streak after one more sample.
    pub fn extended(&self, direction: Direction) -> Streak {
        match self.streak {
            Some(streak) if streak.direction == direction => {
                Streak { direction, samples: streak.samples.saturating_add(1).min(60) }
            }
            Some(_) | None => Streak { direction, samples: 1 },
        }
    }
}

/// Why a sample says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoData {
    /// There is none.
    Missing,
    /// It is about another service, signal, aggregation, unit or scope.
    Mismatched,
    /// It is over 120 s old.
    Stale,
    /// It lies over 30 s in the future.
    Future,
    /// It is not newer than the last one that was used.
    Consumed,
    /// It is below 0: nothing that is counted or measured here is.
    Negative,
}

impl NoData {
    /// The words for people.
    pub const fn plain(self) -> &'static str {
        match self {
            Self::Missing => "there is no sample of it",
            Self::Mismatched => "the sample is of another signal, aggregation, unit or scope",
            Self::Stale => "the sample is over 2m old",
            Self::Future => "the sample lies over 30s in the future",
            Self::Consumed => "the sample is no newer than the last one that was used",
            Self::Negative => "the sample is below 0",
        }
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Mismatched => "mismatched",
            Self::Stale => "stale",
            Self::Future => "future",
            Self::Consumed => "consumed",
            Self::Negative => "negative",
        }
    }
}

/// What of a sample may be used, if anything: facts/fleet-authority.md, 4.3, step 3.
pub fn usable<'s>(
    service: &ServiceName,
    signal: &Signal,
    sample: Option<&'s Sample>,
    consumed_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<&'s Sample, NoData> {
    let sample = sample.ok_or(NoData::Missing)?;
    if sample.service != *service || sample.signal != *signal {
        return Err(NoData::Mismatched);
    }
    if sample.value.get() < 0.0 {
        return Err(NoData::Negative);
    }
    if sample.observed_at.plus(SAMPLE_AGE_MAX) < now {
        return Err(NoData::Stale);
    }
    if sample.observed_at > now.plus(SAMPLE_SKEW_MAX) {
        return Err(NoData::Future);
    }
    if consumed_at.is_some_and(|consumed_at| sample.observed_at <= consumed_at) {
        return Err(NoData::Consumed);
    }
    Ok(sample)
}

/// What a replica may cost. Only more replicas are capped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostCap {
    /// How much an hour of the service may cost, in the currency of `replica_cost`.
    pub budget_per_hour: Measure,
    /// What an hour of one replica costs: above 0.
    pub replica_cost: Measure,
}

/// What an hour of one replica costs, where nobody says.
pub const REPLICA_COST_DEFAULT: f64 = 0.05;

impl CostCap {
    /// The most that may be wished: never less than what is there.
    pub fn capped(&self, current: Replicas, desired: Replicas) -> Replicas {
        if desired <= current {
            return desired;
        }
        let affordable = rounded((self.budget_per_hour.get() / self.replica_cost.get()).floor());
        if affordable < desired { current.max(affordable) } else { desired }
    }
}

#[cfg(test)]
mod tests;
