//! What of the scaling of a service is to change.

use crate::domain::id::Replicas;
use crate::domain::measure::Measure;
use crate::domain::scale::scaling::{
    Aggregation, DEADBAND_DEFAULT, DOWN_SAMPLES_DEFAULT, STEP_DEFAULT, ScalingSpec, Signal,
    SignalWord, UP_SAMPLES_DEFAULT,
};
use crate::ops::error::OpError;

/// What is to change; what is none stays, or takes its default in a new spec.
#[derive(Debug, Clone, Default)]
pub struct ScalingChange {
    /// Whether the scaling is taken away.
    pub is_none: bool,
    /// Whether it says all of the scaling, so that what is none takes its default.
    pub is_whole: bool,
    /// The signal; must be named in a new spec.
    pub signal: Option<Signal>,
    /// What its value is about.
    pub aggregation: Option<Aggregation>,
    /// What its value is counted in.
    pub unit: Option<SignalWord>,
    /// What part of the service it is measured over.
    pub scope: Option<SignalWord>,
    /// What its value per replica should be; must be named in a new spec.
    pub target: Option<Measure>,
    /// How many more one step may make.
    pub scale_up_step: Option<Replicas>,
    /// How many fewer one step may make.
    pub scale_down_step: Option<Replicas>,
    /// How far from the target nothing is done.
    pub deadband: Option<Measure>,
    /// How many samples in a row must ask for more.
    pub scale_up_samples: Option<u8>,
    /// How many samples in a row must ask for less.
    pub scale_down_samples: Option<u8>,
}

impl ScalingChange {
    fn is_nothing(&self) -> bool {
        self.signal.is_none()
            && self.aggregation.is_none()
            && self.unit.is_none()
            && self.scope.is_none()
            && self.target.is_none()
            && self.scale_up_step.is_none()
            && self.scale_down_step.is_none()
            && self.deadband.is_none()
            && self.scale_up_samples.is_none()
            && self.scale_down_samples.is_none()
    }

    /// The spec afterwards.
    pub(super) fn merged(
        &self,
        before: Option<&ScalingSpec>,
    ) -> Result<Option<ScalingSpec>, OpError> {
        if self.is_none {
            if !self.is_nothing() {
                return Err(OpError::usage(
                    "contradiction",
                    "--signal none takes the scaling away, and another flag changes it".to_owned(),
                ));
            }
            return Ok(None);
        }
        if self.is_nothing() && !self.is_whole {
            return Ok(before.cloned());
        }
        let before = before.filter(|_| !self.is_whole);
        let missing = |what: &str, flag: &str| OpError::Usage {
            code: "scaling_incomplete",
            message: format!("a service that is scaled by a signal needs {what}"),
            hint: Some(format!("name it with {flag}")),
        };
        let default = |number: f64| Measure::try_from(number).expect("BUG: a finite default");
        let mut signal = self
            .signal
            .clone()
            .or_else(|| before.map(|before| before.signal.clone()))
            .ok_or_else(|| missing("a signal", "--signal"))?;
        if let (Some(before), Some(_)) = (before, &self.signal) {
            let name = signal.name.clone();
            signal = Signal { name, ..before.signal.clone() };
        }
        signal.aggregation = self.aggregation.unwrap_or(signal.aggregation);
        signal.unit = self.unit.clone().or(signal.unit);
        signal.scope = self.scope.clone().or(signal.scope);
        let step = Replicas::from(STEP_DEFAULT);
        Ok(Some(ScalingSpec {
            signal,
            target: self
                .target
                .or(before.map(|before| before.target))
                .ok_or_else(|| missing("a target", "--signal-target"))?,
            scale_up_step: self
                .scale_up_step
                .or(before.map(|before| before.scale_up_step))
                .unwrap_or(step),
            scale_down_step: self
                .scale_down_step
                .or(before.map(|before| before.scale_down_step))
                .unwrap_or(step),
            deadband: self
                .deadband
                .or(before.map(|before| before.deadband))
                .unwrap_or_else(|| default(DEADBAND_DEFAULT)),
            scale_up_samples: self
                .scale_up_samples
                .or(before.map(|before| before.scale_up_samples))
                .unwrap_or(UP_SAMPLES_DEFAULT),
            scale_down_samples: self
                .scale_down_samples
                .or(before.map(|before| before.scale_down_samples))
                .unwrap_or(DOWN_SAMPLES_DEFAULT),
        }))
    }
}
