//! `service`: put, show, list, bind.

use std::collections::BTreeMap;

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::{Value, json};

use super::app::App;
use super::args::{day, whole_number};
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::view;
use crate::domain::id::{
    ActuatorName, ClusterId, ControllerId, MaxAttempts, OutOfRange, Replicas, RequiredReadings,
    RuntimeId, ServiceName, TargetResourceVersion, TargetUid, WorkloadId,
};
use crate::domain::scale::execution::Phase;
use crate::domain::scale::service::{
    ConvergeOn, Drain, FenceSource, OnUnknown, RegisteredMode, TargetMatch,
};
use crate::domain::time::DurationMs;
use crate::ledger::ExecutionFilter;
use crate::ops::service_bind::service_bind;
use crate::ops::service_put::{ServiceChange, service_put};

pub(super) const NOUN: Noun = Noun {
    name: "service",
    group: "Set up",
    about: "Things with replicas and one writer: put, show, list, bind",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Register a service, or change what is named; the rest stays
    Put(Box<PutArgs>),
    /// Show one service
    Show(NameArgs),
    /// List the services
    List,
    /// Read the target of a service and record what it is
    Bind(BindArgs),
}

#[derive(Args)]
struct PutArgs {
    /// The service
    name: ServiceName,
    /// The unit revision that you know of; 0 for none
    #[arg(long, value_name = "N", value_parser = whole_number)]
    expect_revision: Option<u64>,
    /// Who carries a wish out
    #[arg(long, value_name = "NAME")]
    actuator: Option<ActuatorName>,
    /// Who may change the count: native, delegated, external_hpa (hpa), external_keda (keda)
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// The one controller that may act [default: the OS user]
    #[arg(long, value_name = "NAME")]
    writer: Option<ControllerId>,
    /// The least that may be wished [default: 0]
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
    /// A label NAME=VALUE; an empty value takes it away; may be repeated
    #[arg(long = "label", value_name = "NAME=VALUE")]
    labels: Vec<String>,
}

#[derive(Args)]
struct NameArgs {
    /// The service
    name: ServiceName,
}

#[derive(Args)]
struct BindArgs {
    /// The service
    name: ServiceName,
    /// The identity of the new object, where it was recreated and the new one is meant
    #[arg(long, value_name = "UID")]
    accept_uid: Option<TargetUid>,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Put(args) => put(&args, app),
        Verb::Show(args) => show(&args.name, app),
        Verb::List => list(app),
        Verb::Bind(args) => bind(&args, app),
    }
}

fn bounded<T>(
    number: Option<u64>,
    new: impl Fn(u64) -> Result<T, OutOfRange>,
) -> Result<Option<T>, Fault> {
    number.map(new).transpose().map_err(|error| Fault::usage("out_of_range", error.to_string()))
}

/// A word that clap has checked, as the domain's type.
fn word<T: serde::de::DeserializeOwned>(text: Option<&String>) -> Result<Option<T>, Fault> {
    text.map(|text| serde_json::from_value(Value::String(text.clone())))
        .transpose()
        .map_err(|error| Fault::usage("invalid_word", error.to_string()))
}

fn mode(text: &str) -> Result<RegisteredMode, Fault> {
    match text.trim().to_lowercase().as_str() {
        "native" => Ok(RegisteredMode::Native),
        "delegated" => Ok(RegisteredMode::Delegated),
        "external_hpa" | "hpa" => Ok(RegisteredMode::ExternalHpa),
        "external_keda" | "keda" => Ok(RegisteredMode::ExternalKeda),
        _ => Err(Fault::usage(
            "invalid_mode",
            format!(
                "{text:?} is no mode: native, delegated, external_hpa (hpa), external_keda (keda)"
            ),
        )),
    }
}

fn change_of(args: &PutArgs) -> Result<ServiceChange, Fault> {
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
    let cooldown = match args.cooldown.as_deref() {
        None => None,
        Some("none") => Some(None),
        Some(text) => Some(Some(day(text).map_err(|error| {
            Fault::usage("invalid_duration", format!("--cooldown {text}: {error}"))
        })?)),
    };
    let mut labels = BTreeMap::new();
    for label in &args.labels {
        let (name, value) =
            label.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
                Fault::usage("invalid_label", format!("{label:?}: a label is NAME=VALUE"))
            })?;
        if label.len() > 256 || label.chars().any(char::is_control) {
            return Err(Fault::usage(
                "invalid_label",
                "a label has at most 256 bytes and no control characters",
            ));
        }
        labels.insert(name.to_owned(), value.to_owned());
    }
    Ok(ServiceChange {
        mode: args.mode.as_deref().map(mode).transpose()?,
        writer: args.writer.clone(),
        min: bounded(args.min, Replicas::new)?,
        max: bounded(args.max, Replicas::new)?,
        actuator: args.actuator.clone(),
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
    })
}

fn put(args: &PutArgs, app: &mut App) -> Outcome {
    let change = change_of(args)?;
    let done = service_put(app.session()?, &args.name, &change, args.expect_revision)?;
    let mut answer = Answer::ok()
        .recorded(if done.changed { Recorded::Yes } else { Recorded::No })
        .whole_noun("service", view::service(&done.head))
        .name(args.name.as_str());
    answer.changed = done.changed;
    answer.current = view::current(&done.head);
    if done.changed && done.before.is_some() {
        for (code, text) in stranded(&args.name, app)? {
            answer = answer.warning(code, text);
        }
    }
    let Some(registration) = &done.head.registration else {
        return Ok(answer);
    };
    let after = json!(registration);
    answer = match &done.before {
        None => answer.line(format!(
            "{} registered ({}, {} to {} replicas, writer {})",
            args.name,
            registration.mode.as_str(),
            registration.min_replicas,
            registration.max_replicas,
            registration.writer
        )),
        Some(_) if !done.changed => answer.line(format!("{} is so already", args.name)),
        Some(before) => {
            let mut answer =
                answer.line(format!("{}  registration {}", args.name, registration.unit_revision));
            for line in differences("", &json!(before), &after) {
                answer = answer.line(format!("  {line}"));
            }
            answer
        }
    };
    Ok(answer)
}

/// The wishes that were made for the settings before and can never start any more.
fn stranded(service: &ServiceName, app: &mut App) -> Result<Vec<(&'static str, String)>, Fault> {
    let filter =
        ExecutionFilter { service: Some(service.clone()), unfinished: true, limit: Some(20) };
    let found = app.session()?.ledger.read()?.executions(&filter)?;
    let said = found.iter().filter(|execution| execution.is_live()).filter_map(|execution| {
        let way = match execution.phase {
            Phase::Accepted => "withdraw",
            Phase::Failed { .. } => "abandon",
            _ => return None,
        };
        let name = format!("{service}@{}", execution.revision());
        Some(("wish_stranded", format!(
            "{name} was made for the settings before and cannot start any more: scalectl intent \
             {way} {name}{}",
            if way == "abandon" { " --reason TEXT" } else { "" }
        )))
    });
    Ok(said.collect())
}

/// The members in which two documents differ, one line each.
fn differences(prefix: &str, before: &Value, after: &Value) -> Vec<String> {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            names
                .into_iter()
                .flat_map(|name| {
                    let path =
                        if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                    let null = Value::Null;
                    let (old, new) =
                        (old.get(name).unwrap_or(&null), new.get(name).unwrap_or(&null));
                    differences(&path, old, new)
                })
                .collect()
        }
        (old, new) if old == new => Vec::new(),
        (old, new) => {
            let text = |value: &Value| match value {
                Value::Null => "-".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            vec![format!("{prefix:<28} {} → {}", text(old), text(new))]
        }
    }
}

fn show(service: &ServiceName, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let head = app.session()?.load_service(service)?.head;
    let mut answer =
        Answer::ok().whole_noun("service", view::service(&head)).name(service.as_str());
    answer.current = view::current(&head);
    answer = answer.table(view::services_table(std::slice::from_ref(&head)));
    if let (Some(registration), Some(binding)) = (&head.registration, &head.binding) {
        let target = registration.target(binding);
        answer = answer
            .line(String::new())
            .line(format!("  uid        {}", target.target_uid))
            .line(format!("  version    {}", target.target_resource_version))
            .line(format!("  read       {}", binding.read_at))
            .line(format!(
                "  count      {}",
                binding.replicas.map_or_else(|| "-".to_owned(), |count| count.to_string())
            ))
            .line(format!("  intents    {} put so far", head.latest_revision));
    }
    Ok(answer)
}

fn list(app: &mut App) -> Outcome {
    let heads: Vec<_> =
        app.session()?.ledger.read()?.service_heads()?.into_iter().map(|(_, head)| head).collect();
    let views: Vec<Value> = heads.iter().map(view::service).collect();
    let mut answer = Answer::ok().noun("services", &views);
    for registration in heads.iter().filter_map(|head| head.registration.as_ref()) {
        answer = answer.name(registration.service.as_str());
    }
    Ok(if heads.is_empty() {
        answer.line("no service is registered")
    } else {
        answer.table(view::services_table(&heads))
    })
}

fn bind(args: &BindArgs, app: &mut App) -> Outcome {
    let bound = service_bind(app.session()?, &args.name, args.accept_uid.as_ref())?;
    let mut answer = Answer::ok()
        .recorded(if bound.changed { Recorded::Yes } else { Recorded::No })
        .whole_noun("service", view::service(&bound.head))
        .noun("reading", &bound.reading)
        .name(args.name.as_str())
        .line(format!(
            "{}  uid {}  version {}  {}",
            args.name,
            bound.reading.target_uid,
            bound.reading.target_resource_version,
            view::reading_text(&bound.reading)
        ));
    answer.changed = bound.changed;
    answer.current = view::current(&bound.head);
    Ok(answer)
}
