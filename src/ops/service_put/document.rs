//! The document of a registration, as `service put --file` reads it.
//!
//! Owns its names: those of a registration, those of the flags, and those of the rule book
//! (facts/fleet-authority.md, 1B). One wrong member refuses the whole: what is unknown, of another
//! type, out of its bounds, or said twice in two ways is never a default.

mod members;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::members::Members;
use super::{ScalingChange, ServiceChange};
use crate::domain::canonical::{DocumentError, from_value, parse_strict};
use crate::domain::id::{ServiceName, UnitRevision};
use crate::domain::scale::intent::RetryPolicy;
use crate::domain::scale::scaling::{Aggregation, ScalingSpec, Signal, SignalWord};
use crate::domain::scale::service::{LASTS_MAX, RegisteredMode, label_problem};
use crate::domain::time::DurationMs;

/// A registration that was read: what it changes, and whose.
#[derive(Debug, Clone)]
pub struct Document {
    /// The service, where the document says it.
    pub service: Option<ServiceName>,
    /// The unit revision that it was made from, where the document says one.
    pub expected: Option<u64>,
    /// What it says. What it does not say stays, or takes its default in a new registration;
    /// `labels` and `scaling` are said whole or not at all.
    pub change: ServiceChange,
}

/// Reads a registration.
pub fn registration(bytes: &[u8]) -> Result<Document, DocumentError> {
    let mut said = Members::of(parse_strict(bytes)?)?;
    let document = taken(&mut said)?;
    said.end()?;
    Ok(document)
}

/// What the members say that are known.
fn taken(said: &mut Members) -> Result<Document, DocumentError> {
    said.open("terms")?;
    said.open("retry_policy")?;
    let scaling = said.scaling()?;
    let labels = said.labels()?;
    Ok(Document {
        service: said.take(&["service", "name"])?,
        expected: said.take(&["unit_revision"])?.map(UnitRevision::get),
        change: ServiceChange {
            mode: said.mode()?,
            writer: said.take(&["writer"])?,
            min: said.take(&["min_replicas", "min", "scaling.min_replicas", "scaling.min"])?,
            max: said.take(&["max_replicas", "max", "scaling.max_replicas", "scaling.max"])?,
            actuator: said.take(&["actuator"])?,
            workload: said.take(&["workload_id", "workload"])?,
            cluster: said.take(&["cluster_id", "cluster", "kube_cluster"])?,
            runtime: said.take(&["runtime_id", "runtime"])?,
            target_uid: said.take(&["target_uid", "uid", "resource_uid"])?,
            target_version: said.take(&[
                "target_resource_version",
                "target_version",
                "resource_version",
                "resourceVersion",
            ])?,
            target_match: said.take(&["terms.target_match", "target_match"])?,
            on_unknown: said.take(&["terms.on_unknown", "on_unknown"])?,
            readings: said.take(&["terms.required_readings", "required_readings", "readings"])?,
            reading_interval: said.lasting("terms.reading_interval_ms", "reading_interval_ms")?,
            converge_on: said.take(&["terms.converge_on", "converge_on"])?,
            drain: said.take(&["terms.drain", "drain"])?,
            fences: said.take(&["fences"])?,
            quiet: said.lasting("terms.quiet_ms", "quiet_ms")?,
            cooldown: said.cooldown()?,
            max_attempts: said.take(&["retry_policy.max_attempts", "max_attempts"])?,
            backoff: said.take_as(&["retry_policy.backoff_s", "backoff_s"], |_, value| {
                from_value(json!({ "backoff_s": value })).map(|policy: RetryPolicy| policy.backoff)
            })?,
            are_all_labels: labels.is_some(),
            labels: labels.unwrap_or_default(),
            declared: said.take(&["declared_replicas", "replicas"])?,
            quorum_required: said.take(&["quorum_required", "quorum"])?,
            scaling,
            owner: said.owner()?,
            environment: said.take(&["environment"])?,
        },
    })
}

fn wrong(path: &str, problem: impl Into<String>) -> DocumentError {
    DocumentError::Shape { path: path.to_owned(), problem: problem.into() }
}

impl Members {
    fn mode(&mut self) -> Result<Option<RegisteredMode>, DocumentError> {
        const NAMES: [&str; 6] = [
            "mode",
            "controller_mode",
            "controller",
            "scaling.mode",
            "scaling.controller_mode",
            "scaling.controller",
        ];
        self.take_as(&NAMES, |_, value| {
            let word: String = from_value(value)?;
            RegisteredMode::of_word(&word)
                .ok_or_else(|| wrong("", format!("{word:?} is no mode: {}", RegisteredMode::WORDS)))
        })
    }

    fn lasting(
        &mut self,
        name: &'static str,
        other: &'static str,
    ) -> Result<Option<DurationMs>, DocumentError> {
        self.take_as(&[name, other], |_, value| bounded(from_value(value)?))
    }

    #[expect(clippy::option_option, reason = "not said, taken away, or a duration")]
    fn cooldown(&mut self) -> Result<Option<Option<DurationMs>>, DocumentError> {
        const NAMES: [&str; 4] =
            ["cooldown_ms", "cooldown_s", "scaling.cooldown_ms", "scaling.cooldown_s"];
        self.take_as(&NAMES, |name, value| match value {
            Value::Null => Ok(None),
            value if name.ends_with("_ms") => bounded(from_value(value)?).map(Some),
            value => whole_ms(from_value(value)?).and_then(bounded).map(Some),
        })
    }

    #[expect(clippy::option_option, reason = "not said, nobody, or a name")]
    fn owner(&mut self) -> Result<Option<Option<String>>, DocumentError> {
        self.take_as(&["owner"], |_, value| {
            let owner: Option<String> = from_value(value)?;
            match &owner {
                Some(text) if text.trim().is_empty() || text.chars().any(char::is_control) => {
                    Err(wrong("", "a name of an owner is not blank, and has no control characters"))
                }
                Some(_) | None => Ok(owner),
            }
        })
    }

    fn labels(&mut self) -> Result<Option<BTreeMap<String, String>>, DocumentError> {
        self.take_as(&["labels"], |_, value| {
            let labels: BTreeMap<String, String> = from_value(value)?;
            for (name, value) in &labels {
                if let Some(problem) = label_problem(name, value) {
                    return Err(wrong(name, problem));
                }
                if value.is_empty() {
                    return Err(wrong(name, "a label without a value is left away"));
                }
            }
            Ok(labels)
        })
    }

    /// The scaling, whole. Its bounds, mode and cooldown are the registration's.
    fn scaling(&mut self) -> Result<ScalingChange, DocumentError> {
        if self.take_null("scaling") {
            return Ok(ScalingChange { is_none: true, ..ScalingChange::default() });
        }
        let is_said = self.open("scaling")?;
        // The rule book's signal is a name alone.
        if !self.is_text("scaling.signal") {
            self.open("scaling.signal")?;
        }
        let name: Option<SignalWord> = self.take(&["scaling.signal", "scaling.signal.name"])?;
        let aggregation = self.take(&["scaling.signal.aggregation"])?;
        let unit: Option<Option<SignalWord>> = self.take(&["scaling.signal.unit"])?;
        let scope: Option<Option<SignalWord>> = self.take(&["scaling.signal.scope"])?;
        let signal = name.map(|name| Signal {
            name,
            aggregation: Aggregation::default(),
            unit: None,
            scope: None,
        });
        let change = ScalingChange {
            is_none: false,
            is_whole: is_said,
            signal,
            aggregation,
            unit: unit.flatten(),
            scope: scope.flatten(),
            target: self.take(&["scaling.target"])?,
            scale_up_step: self.take(&["scaling.scale_up_step"])?,
            scale_down_step: self.take(&["scaling.scale_down_step"])?,
            deadband: self.take(&["scaling.deadband"])?,
            scale_up_samples: self
                .take(&["scaling.scale_up_samples", "scaling.scale_up_stabilization_samples"])?,
            scale_down_samples: self.take(&[
                "scaling.scale_down_samples",
                "scaling.scale_down_stabilization_samples",
            ])?,
        };
        if !is_said {
            return Ok(change);
        }
        if change.signal.is_none() {
            return Err(wrong("scaling.signal", "no signal is named"));
        }
        let spec =
            change.merged(None).map_err(|_| wrong("scaling.target", "no target is named"))?;
        match spec.as_ref().map(ScalingSpec::check_own) {
            Some(Err(error)) => Err(wrong("scaling", error.to_string())),
            Some(Ok(())) | None => Ok(change),
        }
    }
}

/// A duration of the registration: a day at most, as by the flags.
fn bounded(duration: DurationMs) -> Result<DurationMs, DocumentError> {
    if duration > LASTS_MAX {
        return Err(wrong("", format!("{duration} is over {LASTS_MAX}")));
    }
    Ok(duration)
}

/// Seconds, of which the thousandth part is the smallest.
fn whole_ms(seconds: f64) -> Result<DurationMs, DocumentError> {
    let millis = seconds * 1000.0;
    let is_whole = (0.0..1e15).contains(&millis) && (millis - millis.round()).abs() < 1e-6;
    if !is_whole {
        return Err(wrong("", format!("{seconds} is no whole number of milliseconds, 0 or more")));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    Ok(DurationMs::from_millis(millis.round() as u64))
}

#[cfg(test)]
mod tests;
