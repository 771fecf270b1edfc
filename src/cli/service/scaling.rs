//! How a service is scaled by a signal, as flags of `service put`.

use clap::Args;

use super::bounded;
use crate::cli::args::whole_number;
use crate::cli::fault::Fault;
use crate::domain::id::Replicas;
use crate::domain::measure::Measure;
use crate::domain::scale::scaling::{Aggregation, Signal, SignalWord};
use crate::ops::service_put::ScalingChange;

#[derive(Args)]
#[command(next_help_heading = "Scaling by a signal (autoscale)")]
pub(super) struct ScalingArgs {
    /// The signal, 1 to 128 characters; none takes the scaling away
    #[arg(long, value_name = "NAME|none")]
    signal: Option<String>,
    /// What its value per replica should be: above 0, at most 1e12
    #[arg(long, value_name = "NUMBER")]
    signal_target: Option<String>,
    /// What the value is about: fleet_total or per_replica [default: fleet_total]
    #[arg(long, value_name = "WHAT", value_parser = ["fleet_total", "per_replica"])]
    signal_aggregation: Option<String>,
    /// What the value is counted in; a sample must say the same
    #[arg(long, value_name = "UNIT")]
    signal_unit: Option<String>,
    /// What part of the service it is measured over; a sample must say the same
    #[arg(long, value_name = "SCOPE")]
    signal_scope: Option<String>,
    /// How many more one step may make, 1 to 100000 [default: 1]
    #[arg(long, value_name = "N", value_parser = whole_number)]
    scale_up_step: Option<u64>,
    /// How many fewer one step may make, 1 to 100000 [default: 1]
    #[arg(long, value_name = "N", value_parser = whole_number)]
    scale_down_step: Option<u64>,
    /// How far from the target nothing is done, as a part of it, 0 to 1 [default: 0.05]
    #[arg(long, value_name = "PART")]
    deadband: Option<String>,
    /// How many samples in a row must ask for more, 1 to 60 [default: 1]
    #[arg(long, value_name = "N", value_parser = whole_number)]
    scale_up_samples: Option<u64>,
    /// How many samples in a row must ask for less, 1 to 60 [default: 3]
    #[arg(long, value_name = "N", value_parser = whole_number)]
    scale_down_samples: Option<u64>,
}

fn measure(name: &str, text: Option<&String>) -> Result<Option<Measure>, Fault> {
    text.map(|text| {
        text.parse().map_err(|_| {
            Fault::usage("invalid_number", format!("--{name} {text}: not a finite number"))
        })
    })
    .transpose()
}

fn signal_word(name: &str, text: Option<&String>) -> Result<Option<SignalWord>, Fault> {
    text.map(|text| {
        text.parse()
            .map_err(|error| Fault::usage("invalid_signal", format!("--{name} {text:?}: {error}")))
    })
    .transpose()
}

fn samples(name: &str, number: Option<u64>) -> Result<Option<u8>, Fault> {
    number
        .map(|number| {
            u8::try_from(number).map_err(|_| {
                Fault::usage("out_of_range", format!("--{name} {number} is outside 1..=60"))
            })
        })
        .transpose()
}

impl ScalingArgs {
    /// What is to change.
    pub(super) fn change(&self) -> Result<ScalingChange, Fault> {
        let is_none = self.signal.as_deref() == Some("none");
        let name = self.signal.as_ref().filter(|_| !is_none);
        let aggregation = self.signal_aggregation.as_deref().map(|word| match word {
            "per_replica" => Aggregation::PerReplica,
            _ => Aggregation::FleetTotal,
        });
        let name = signal_word("signal", name)?;
        Ok(ScalingChange {
            is_none,
            is_whole: false,
            signal: name.map(|name| Signal {
                name,
                aggregation: Aggregation::default(),
                unit: None,
                scope: None,
            }),
            aggregation,
            unit: signal_word("signal-unit", self.signal_unit.as_ref())?,
            scope: signal_word("signal-scope", self.signal_scope.as_ref())?,
            target: measure("signal-target", self.signal_target.as_ref())?,
            scale_up_step: bounded(self.scale_up_step, Replicas::new)?,
            scale_down_step: bounded(self.scale_down_step, Replicas::new)?,
            deadband: measure("deadband", self.deadband.as_ref())?,
            scale_up_samples: samples("scale-up-samples", self.scale_up_samples)?,
            scale_down_samples: samples("scale-down-samples", self.scale_down_samples)?,
        })
    }
}
