//! `autoscale`: one tick of the autoscaler.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, ArgMatches, Args, FromArgMatches as _};
use serde_json::{Value, json};

use super::app::App;
use super::args::up_to;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::problem::Problem;
use super::table::{Cell, Column, Table, Tone};
use super::ticks::{TickArgs, answer_of_rows, closed, recorded};
use crate::domain::id::ServiceName;
use crate::domain::measure::Measure;
use crate::domain::scale::scaling::{CostCap, REPLICA_COST_DEFAULT};
use crate::domain::scale::tick::{Evaluation, Skip, TickOutcome};
use crate::domain::time::DurationMs;
use crate::ops::autoscale::{AutoscaleRequest, Autoscaled, Looked, autoscale};
use crate::ops::signals::{Prometheus, Provider, ServerAddress, SignalSource};

pub(super) const NOUN: Noun = Noun {
    name: "autoscale",
    group: "Fleet",
    about: "One tick: wish what follows from the newest samples, and call nobody",
    augment: AutoscaleArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
#[group(skip)]
#[command(group = ArgGroup::new("source").args(["signals", "provider", "prometheus"])
    .required(true))]
struct AutoscaleArgs {
    /// The services [default: all that are scaled by a signal]
    #[arg(value_name = "SERVICE")]
    services: Vec<ServiceName>,
    /// The samples, as a document; - is stdin
    #[arg(long, value_name = "FILE|-")]
    signals: Option<PathBuf>,
    /// The samples, as printed by the command after --
    #[arg(long, requires = "command")]
    provider: bool,
    /// The samples, as Prometheus says them: http://HOST:PORT
    #[arg(long, value_name = "URL")]
    prometheus: Option<String>,
    /// What Prometheus is asked about a service [default: its label prometheus-query]; may be
    /// repeated
    #[arg(long = "query", value_name = "SERVICE=PROMQL", requires = "prometheus")]
    queries: Vec<String>,
    /// How long the command or Prometheus may take, at most 5m
    #[arg(long, value_name = "DURATION", value_parser = source_timeout, default_value = "10s")]
    timeout: DurationMs,
    /// How much a service may cost an hour; only more replicas are capped
    #[arg(long, value_name = "USD_PER_HOUR")]
    budget: Option<String>,
    /// What one replica costs an hour [default: 0.05]
    #[arg(long, value_name = "USD_PER_HOUR", requires = "budget")]
    replica_cost: Option<String>,
    /// Walk every step, write nothing, say what would come of it
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    tick: TickArgs,
    /// The command of --provider
    #[arg(last = true, value_name = "COMMAND", requires = "provider")]
    command: Vec<OsString>,
}

fn source_timeout(text: &str) -> Result<DurationMs, String> {
    up_to(DurationMs::from_secs(300), text)
}

fn price(flag: &str, text: &str, may_be_zero: bool) -> Result<Measure, Fault> {
    let measure: Option<Measure> = text.parse().ok();
    let is_good = |it: &Measure| it.get() > 0.0 || may_be_zero && it.get() >= 0.0;
    measure.filter(is_good).ok_or_else(|| {
        let bounds = if may_be_zero { "0 or more" } else { "above 0" };
        Fault::usage("invalid_number", format!("{flag} {text}: a number, {bounds}"))
    })
}

impl AutoscaleArgs {
    fn cost_cap(&self) -> Result<Option<CostCap>, Fault> {
        let Some(budget) = &self.budget else {
            return Ok(None);
        };
        let replica_cost = match &self.replica_cost {
            Some(text) => price("--replica-cost", text, false)?,
            None => Measure::try_from(REPLICA_COST_DEFAULT)
                .map_err(|error| Fault::internal(error.to_string()))?,
        };
        Ok(Some(CostCap { budget_per_hour: price("--budget", budget, true)?, replica_cost }))
    }

    fn queries(&self) -> Result<BTreeMap<ServiceName, String>, Fault> {
        let mut queries = BTreeMap::new();
        for text in &self.queries {
            let refuse =
                |why: &str| Fault::usage("invalid_query", format!("--query {text:?}: {why}"));
            let (service, query) = text
                .split_once('=')
                .filter(|(_, query)| !query.trim().is_empty())
                .ok_or_else(|| refuse("write SERVICE=PROMQL"))?;
            let service: ServiceName =
                service.parse().map_err(|_| refuse("the word before = is no service"))?;
            if queries.insert(service, query.to_owned()).is_some() {
                return Err(refuse("the service has two"));
            }
        }
        Ok(queries)
    }

    fn source(&self) -> Result<SignalSource, Fault> {
        if let Some(text) = &self.prometheus {
            let address: ServerAddress = text.parse().map_err(|error| {
                Fault::usage("invalid_address", format!("--prometheus {text:?}: {error}"))
            })?;
            let queries = self.queries()?;
            return Ok(SignalSource::Prometheus(Prometheus {
                address,
                queries,
                timeout: self.timeout,
            }));
        }
        if self.provider {
            let command = self.command.clone();
            return Ok(SignalSource::Provider(Provider { command, timeout: self.timeout }));
        }
        let file = self.signals.as_ref().expect("BUG: clap requires one of the three");
        if file.as_os_str() == "-" && self.tick.health_is_stdin() {
            let text = "--signals and --health cannot both be stdin";
            return Err(Fault::usage("stdin_twice", text));
        }
        Ok(SignalSource::Document(file.clone()))
    }
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = AutoscaleArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    super::install_signals()?;
    let cost_cap = args.cost_cap()?;
    let source = args.source()?;
    let request = AutoscaleRequest {
        services: args.services,
        health: args.tick.gate(),
        source,
        max_actions: args.tick.max_actions,
        cost_cap,
        dry_run: args.dry_run,
        valid_for: args.tick.valid_for,
        approve_within: args.tick.approve_within,
    };
    let done = autoscale(app.session()?, &request)?;
    Ok(answer_of(done, &request, app))
}

fn answer_of(done: Autoscaled, request: &AutoscaleRequest, app: &App) -> Answer {
    let actions = done.actions();
    let accepted = done.count(|outcome| *outcome == TickOutcome::Accepted);
    let proposed = done.count(|outcome| *outcome == TickOutcome::Proposed);
    let views: Vec<Value> = done.looks.iter().map(view).collect();
    let keys: Vec<String> = done
        .looks
        .iter()
        .filter_map(|look| look.evaluation.as_ref()?.execution_key.as_ref())
        .map(ToString::to_string)
        .collect();
    let gate = closed(&done.health);
    let table = table_of(&done.looks);
    let health = done.health.as_str();
    let mut answer = match gate {
        Some(answer) => answer,
        None => answer_of_rows(
            problems(done.looks, done.source_failure, &request.source, app),
            done.end,
            app,
        ),
    };
    let is_recorded = recorded(app);
    answer.changed = is_recorded == super::output::Recorded::Yes;
    answer = answer
        .recorded(is_recorded)
        .noun("evaluated", &views.len())
        .noun("actions", &actions)
        .noun("intents_accepted", &accepted)
        .noun("intents_proposed", &proposed)
        .noun("evaluations", &views)
        .noun("signal_provider", &request.source.as_str())
        .noun("health", &health)
        .noun("dry_run", &request.dry_run);
    for key in keys {
        answer = answer.name(key);
    }
    if views.is_empty() {
        return answer.line("no service was looked at");
    }
    let said = if request.dry_run { "would be " } else { "" };
    answer.table(table).line(format!(
        "{} evaluated, {accepted} {said}accepted, {proposed} {said}proposed",
        views.len()
    ))
}

/// What could not be known or done, as errors.
fn problems(
    looks: Vec<Looked>,
    source_failure: Option<String>,
    source: &SignalSource,
    app: &App,
) -> Vec<Problem> {
    let blind = |code: &str, text: String| {
        let hint = "nothing was wished from what nobody knows; the next tick looks again";
        Problem::new(code, Exit::FactUnknown, text).hint(hint)
    };
    let mut problems: Vec<Problem> = Vec::new();
    let is_source_told = source_failure.is_some();
    for look in looks {
        if let Some(error) = look.failure {
            problems.push(app.problem(error.into()));
        } else if look.is_blind && !is_source_told {
            let why = look.why.unwrap_or_default();
            let text = match &look.evaluation {
                Some(evaluation) => {
                    let why = reason(evaluation, Some(&why), Skip::plain);
                    format!("{}: {why}", look.service)
                }
                None => why,
            };
            problems.push(blind("fact_unknown", text));
        }
    }
    problems.extend(source_failure.map(|why| {
        let c = app.problem_context();
        let hint = match source {
            SignalSource::Document(_) => "write the samples there",
            SignalSource::Provider(_) => "run the command after -- by hand and mend it",
            SignalSource::Prometheus(_) => "look whether the server answers there",
        };
        Problem::new("signals_unreadable", Exit::FactUnknown, why)
            .hint(format!("nothing was wished from it; {hint}, then run this same line again"))
            .again(&c)
    }));
    problems
}

/// Why, in the rule's words for machines or in plain ones for people, and what is known beside it.
fn reason(evaluation: &Evaluation, why: Option<&str>, text: fn(&Skip) -> String) -> String {
    let own = match &evaluation.outcome {
        TickOutcome::Skipped { because } => text(because),
        TickOutcome::Accepted | TickOutcome::Proposed | TickOutcome::Reported => String::new(),
    };
    match why {
        Some(why) if own.is_empty() => why.to_owned(),
        Some(why) => format!("{own} ({why})"),
        None => own,
    }
}

/// The value of a sample with three decimals.
fn rounded(value: Measure) -> f64 {
    let thousandths = (value.get() * 1000.0).round() / 1000.0;
    if thousandths.is_finite() { thousandths } else { value.get() }
}

fn view(look: &Looked) -> Value {
    let Some(evaluation) = &look.evaluation else {
        let reason = look.failure.as_ref().map(ToString::to_string);
        return json!({"service": look.service, "outcome": "failed", "reason": reason});
    };
    let reason =
        Some(reason(evaluation, look.why.as_deref(), Skip::text)).filter(|text| !text.is_empty());
    let skip = match &evaluation.outcome {
        TickOutcome::Skipped { because } => Some(because),
        TickOutcome::Accepted | TickOutcome::Proposed | TickOutcome::Reported => None,
    };
    json!({
        "service": look.service,
        "outcome": evaluation.outcome.as_str(),
        "reason": reason,
        "skip": skip,
        "current": evaluation.current,
        "desired": evaluation.desired,
        "value": evaluation.value.map(rounded),
        "execution_key": evaluation.execution_key,
    })
}

fn table_of(looks: &[Looked]) -> Table {
    let mut table = Table::new([
        Column::left("SERVICE"),
        Column::left("OUTCOME"),
        Column::right("NOW"),
        Column::right("WANT"),
        Column::right("VALUE"),
        Column::left("WHY").wraps(),
    ]);
    for look in looks {
        let Some(evaluation) = &look.evaluation else {
            let why = look.failure.as_ref().map(ToString::to_string);
            let failed = Cell::new("failed").tone(Tone::Bad);
            let none = Cell::none;
            table.row([Cell::new(&look.service), failed, none(), none(), none(), Cell::maybe(why)]);
            continue;
        };
        let tone = if evaluation.outcome.is_action() {
            Tone::Good
        } else if look.is_blind {
            Tone::Warn
        } else {
            Tone::Plain
        };
        table.row([
            Cell::new(&look.service),
            Cell::new(evaluation.outcome.as_str()).tone(tone),
            Cell::maybe(evaluation.current),
            Cell::maybe(evaluation.desired),
            Cell::maybe(evaluation.value.map(rounded)),
            Cell::new(reason(evaluation, look.why.as_deref(), Skip::plain)),
        ]);
    }
    table
}
