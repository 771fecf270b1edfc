//! The settings of a service as flags of `service put`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};

use super::scaling::ScalingArgs;
use super::{bounded, mode, word};
use crate::cli::args::{day, whole_number};
use crate::cli::fault::Fault;
use crate::domain::id::{
    ActuatorName, ClusterId, ControllerId, EnvironmentName, InvalidIdentifier, MaxAttempts,
    Replicas, RequiredReadings, RuntimeId, ServiceName, TargetResourceVersion, TargetUid,
    WorkloadId,
};
use crate::domain::scale::service::{
    ConvergeOn, Drain, FenceSource, OnUnknown, TargetMatch, label_problem,
};
use crate::domain::time::DurationMs;
use crate::ops::service_put::ServiceChange;

#[derive(Args)]
pub(super) struct PutArgs {
    /// The service
    #[arg(required_unless_present = "file")]
    pub(super) name: Option<ServiceName>,
    /// The unit revision that you know of; 0 for none
    #[arg(long, value_name = "N", value_parser = whole_number)]
    pub(super) expect_revision: Option<u64>,
    /// All settings as JSON, from a file or from - (stdin); other settings cannot be said beside it
    #[arg(long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) settings: Box<SettingsArgs>,
}

#[derive(Args)]
pub(super) struct SettingsArgs {
    /// Who carries a wish out
    #[arg(long, value_name = "NAME")]
    actuator: Option<ActuatorName>,
    /// Who may change the count: native, delegated, external_hpa (hpa), external_keda (keda)
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// The one controller that may act [default: the OS user]
    #[arg(long, value_name = "NAME")]
    writer: Option<ControllerId>,
    /// The least that may be wished [default: 0; of a new service that a signal scales: 1]
    #[arg(long, value_name = "N", value_parser = whole_number)]
    min: Option<u64>,
    /// The most that may be wished
    #[arg(long, value_name = "N", value_parser = whole_number)]
    max: Option<u64>,
    /// What the target is called [default: the service's name]
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    workload: Option<WorkloadId>,
    /// The cluster [default: as inspected]
    #[arg(long, value_name = "ID", help_heading = "Target")]
    cluster: Option<ClusterId>,
    /// The runtime [default: as inspected]
    #[arg(long, value_name = "ID", help_heading = "Target")]
    runtime: Option<RuntimeId>,
    /// The identity of the object, where nobody can inspect it
    #[arg(long, value_name = "UID", help_heading = "Target")]
    target_uid: Option<TargetUid>,
    /// The version of the object, where nobody can inspect it
    #[arg(long, value_name = "VERSION", help_heading = "Target")]
    target_version: Option<TargetResourceVersion>,
    /// What of the target must not have moved since the put
    #[arg(long, value_name = "WHAT", value_parser = ["version", "generation", "replicas"],
        help_heading = "Target")]
    target_match: Option<String>,
    /// How many readings must agree, as N or N/INTERVAL [default: 2 where the actuator can inspect]
    #[arg(long, value_name = "N[/INTERVAL]", help_heading = "Confirmation")]
    readings: Option<String>,
    /// Which count must be the wished one
    #[arg(long, value_name = "COUNT", value_parser = ["ready", "declared"],
        help_heading = "Confirmation")]
    converge_on: Option<String>,
    /// What may happen after an unknown outcome
    #[arg(long, value_name = "WHAT",
        value_parser = ["retry_same_key", "observe_first", "halt"], help_heading = "Confirmation")]
    on_unknown: Option<String>,
    /// How long a late effect is waited for after an unknown call [default: 60s; local: 0s]
    #[arg(long, value_name = "DURATION", value_parser = day, help_heading = "Confirmation")]
    quiet: Option<DurationMs>,
    /// Whether a reduction needs evidence
    #[arg(long, value_name = "WHAT", value_parser = ["required", "none"],
        help_heading = "Safety")]
    drain: Option<String>,
    /// How long a change cools, or none
    #[arg(long, value_name = "DURATION|none", help_heading = "Safety")]
    cooldown: Option<String>,
    /// Who makes the fences
    #[arg(long, value_name = "WHO", value_parser = ["minted", "external"],
        help_heading = "Safety")]
    fences: Option<String>,
    /// How many attempts a wish may use, 1 to 8 [default: 3]
    #[arg(long, value_name = "N", value_parser = whole_number, help_heading = "Safety")]
    max_attempts: Option<u64>,
    /// How long to wait between attempts, up to 1h [default: 5s]
    #[arg(long, value_name = "DURATION", help_heading = "Safety")]
    backoff: Option<DurationMs>,
    /// Declare the count of a static service, one that no signal scales: reconcile brings it back
    /// to that; none: only wishes move it
    #[arg(long, value_name = "N|none")]
    replicas: Option<String>,
    /// Whether evidence for a reduction must say that a quorum survives
    #[arg(long, value_name = "WHETHER", value_parser = ["required", "none"],
        help_heading = "Safety")]
    quorum: Option<String>,
    #[command(flatten)]
    scaling: ScalingArgs,
    /// The environment that it is a part of, or none: it does not start while that is moved
    #[arg(long, value_name = "NAME|none")]
    environment: Option<String>,
    /// A label NAME=VALUE; an empty value takes it away; may be repeated
    #[arg(long = "label", value_name = "NAME=VALUE")]
    labels: Vec<String>,
}

/// The first setting that is said on a line as a flag: beside a document it would be dropped, or
/// make the document say what does not hold.
pub(super) fn said_beside(matches: &ArgMatches) -> Option<String> {
    let command = SettingsArgs::augment_args(Command::new("put"));
    let is_said = |arg: &&Arg| {
        let source = matches.value_source(arg.get_id().as_str());
        source == Some(ValueSource::CommandLine)
    };
    let said = command.get_arguments().find(is_said)?;
    said.get_long().map(|flag| format!("--{flag}"))
}

/// A cooldown as it is written; `none` is none.
fn cooldown_of(text: &str) -> Result<Option<DurationMs>, Fault> {
    if text == "none" {
        return Ok(None);
    }
    let refuse = |error| Fault::usage("invalid_duration", format!("--cooldown {text}: {error}"));
    day(text).map(Some).map_err(refuse)
}

/// What is to change.
pub(super) fn change_of(args: &SettingsArgs) -> Result<ServiceChange, Fault> {
    let (readings, reading_interval) = match &args.readings {
        None => (None, None),
        Some(text) => {
            let (number, interval) = text.split_once('/').unwrap_or((text, "0s"));
            let refuse = || {
                Fault::usage(
                    "invalid_readings",
                    format!("{text:?}: readings are N or N/INTERVAL, such as 2 or 2/10s"),
                )
            };
            let number = number.parse().map_err(|_| refuse())?;
            let readings = bounded(Some(number), RequiredReadings::new)?;
            (readings, Some(day(interval).map_err(|_| refuse())?))
        }
    };
    let cooldown = args.cooldown.as_deref().map(cooldown_of).transpose()?;
    let mut labels = BTreeMap::new();
    for label in &args.labels {
        let (name, value) =
            label.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
                Fault::usage("invalid_label", format!("{label:?}: a label is NAME=VALUE"))
            })?;
        if let Some(problem) = label_problem(name, value) {
            return Err(Fault::usage("invalid_label", problem));
        }
        labels.insert(name.to_owned(), value.to_owned());
    }
    Ok(ServiceChange {
        mode: args.mode.as_deref().map(mode).transpose()?,
        writer: args.writer.clone(),
        min: bounded(args.min, Replicas::new)?,
        max: bounded(args.max, Replicas::new)?,
        actuator: args.actuator.clone().map(Some),
        workload: args.workload.clone(),
        cluster: args.cluster.clone(),
        runtime: args.runtime.clone(),
        target_uid: args.target_uid.clone(),
        target_version: args.target_version.clone(),
        target_match: word::<TargetMatch>(args.target_match.as_ref())?,
        on_unknown: word::<OnUnknown>(args.on_unknown.as_ref())?,
        readings,
        reading_interval,
        converge_on: word::<ConvergeOn>(args.converge_on.as_ref())?,
        drain: word::<Drain>(args.drain.as_ref())?,
        fences: word::<FenceSource>(args.fences.as_ref())?,
        quiet: args.quiet,
        cooldown,
        max_attempts: bounded(args.max_attempts, MaxAttempts::new)?,
        backoff: args.backoff,
        labels,
        are_all_labels: false,
        declared: declared(args.replicas.as_deref())?,
        quorum_required: args.quorum.as_deref().map(|word| word == "required"),
        scaling: args.scaling.change()?,
        owner: None,
        environment: environment(args.environment.as_deref())?,
    })
}

/// The inner none takes it out of one.
#[expect(clippy::option_option, reason = "not said, none, or a name")]
fn environment(text: Option<&str>) -> Result<Option<Option<EnvironmentName>>, Fault> {
    match text {
        None => Ok(None),
        Some("none") => Ok(Some(None)),
        Some(text) => text
            .parse()
            .map(|name| Some(Some(name)))
            .map_err(|error: InvalidIdentifier| Fault::usage("invalid_word", error.to_string())),
    }
}

/// The inner none takes the declared count away.
#[expect(clippy::option_option, reason = "not said, taken away, or a count")]
fn declared(text: Option<&str>) -> Result<Option<Option<Replicas>>, Fault> {
    match text {
        None => Ok(None),
        Some("none") => Ok(Some(None)),
        Some(text) => {
            let number = whole_number(text).map_err(|error| {
                Fault::usage("invalid_replicas", format!("--replicas {text}: {error}"))
            })?;
            bounded(Some(number), Replicas::new).map(Some)
        }
    }
}
