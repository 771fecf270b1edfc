//! `actuator`: put, bind, list, show, run, check.

mod run;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::json;

use super::app::App;
use super::escape::shell_line;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::table::{Cell, Column, Table, Tone};
use crate::domain::id::{ActuatorName, ServiceName, WorkloadId};
use crate::domain::scale::service::{Capabilities, RegisteredActuator};
use crate::domain::time::DurationMs;
use crate::ops::actuator_check::{Check, CheckPlan, Checked, LEDGER_OF_CHECKS};
use crate::ops::actuator_put::{TypedCommand, actuator_bind, actuator_put};

pub(super) const NOUN: Noun = Noun {
    name: "actuator",
    group: "Set up",
    about: "Who carries wishes out: put, bind, list, show, run, check",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Register an actuator and bind its command on this host
    Put(PutArgs),
    /// Bind a registered actuator to a command of this host
    Bind(BindArgs),
    /// List the registered actuators
    List,
    /// Show one actuator
    Show(NameArgs),
    /// Be a bundled actuator: reads one request from stdin, writes one answer to stdout
    #[command(subcommand)]
    Run(run::Bundled),
    /// Hold an actuator against the protocol, on a workload that is for checks only
    Check(CheckArgs),
}

#[derive(Args)]
struct PutArgs {
    /// Its name in the ledger
    name: ActuatorName,
    /// How long one call may take, up to 870s [default: 60s]
    #[arg(long, value_name = "DURATION")]
    timeout: Option<DurationMs>,
    /// The command; scalectl as its first word means this very binary
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Args)]
struct BindArgs {
    /// Its name in the ledger
    name: ActuatorName,
    /// The command of this host
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Args)]
struct NameArgs {
    /// Its name in the ledger
    name: ActuatorName,
}

#[derive(Args)]
struct CheckArgs {
    /// Its name in the ledger
    name: ActuatorName,
    /// A workload that the check may scale up, down and to nothing, and that no service will use
    /// [default: scalectl-check]
    #[arg(long, value_name = "NAME")]
    workload: Option<WorkloadId>,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Put(args) => put(&args, app),
        Verb::Bind(args) => bind(&args, app),
        Verb::List => list(app),
        Verb::Show(args) => show(&args, app),
        Verb::Run(bundled) => run::run(bundled, app),
        Verb::Check(args) => check(&args, app, out),
    }
}

fn current_dir() -> Result<PathBuf, Fault> {
    std::env::current_dir().map_err(|error| {
        Fault::usage("no_directory", format!("the working directory cannot be told: {error}"))
    })
}

fn put(args: &PutArgs, app: &mut App) -> Outcome {
    let current_dir = current_dir()?;
    let search_path = app.environment.get("PATH").map(ToOwned::to_owned);
    let command = TypedCommand {
        words: &args.command,
        current_dir: &current_dir,
        search_path: search_path.as_deref(),
    };
    let registered = actuator_put(app.session()?, &args.name, &command, args.timeout)?;
    let recorded = if registered.changed { Recorded::Yes } else { Recorded::No };
    let mut answer = shown(&registered.actuator).recorded(recorded);
    answer.changed = registered.changed;
    if let Some(before) = &registered.replaced {
        let services: Vec<&str> = before.services.iter().map(ServiceName::as_str).collect();
        let mut back = vec!["actuator".to_owned(), "put".to_owned(), args.name.to_string()];
        back.push("--".to_owned());
        back.extend(before.words.iter().cloned());
        answer = answer.warning(
            "command_replaced",
            format!(
                "{} serves {} by another command from now on, and what the former one runs \
                 stays as it is; back to that one: {}",
                args.name,
                services.join(", "),
                shell_line(&app.problem_context().command(&back))
            ),
        );
    }
    Ok(answer)
}

fn bind(args: &BindArgs, app: &mut App) -> Outcome {
    let current_dir = current_dir()?;
    let search_path = app.environment.get("PATH").map(ToOwned::to_owned);
    let command = TypedCommand {
        words: &args.command,
        current_dir: &current_dir,
        search_path: search_path.as_deref(),
    };
    let bound = actuator_bind(app.session()?, &args.name, &command)?;
    let mut answer = shown(&bound.actuator).line("  bound on this host".to_owned());
    answer.changed = true;
    if bound.unused.is_empty() {
        return Ok(answer);
    }
    let mut put = ["actuator", "put", args.name.as_str(), "--"].map(str::to_owned).to_vec();
    put.extend(args.command.iter().map(|word| word.to_string_lossy().into_owned()));
    let text = format!(
        "the command declares {}, and {} is not registered with that: nobody asks it for it \
         until it is: {}",
        bound.unused.join(", "),
        args.name,
        shell_line(&app.problem_context().command(&put))
    );
    Ok(answer.warning("more_capabilities", text))
}

fn shown(actuator: &RegisteredActuator) -> Answer {
    Answer::ok()
        .noun("actuator", actuator)
        .name(actuator.name.as_str())
        .line(format!(
            "actuator {}  {} {}  {}",
            actuator.name, actuator.adapter, actuator.version, actuator.protocol
        ))
        .line(format!("  can        {}", words(actuator.capabilities)))
        .line(format!("  timeout    {}", actuator.timeout_ms))
}

fn words(capabilities: Capabilities) -> String {
    let can = capabilities.words();
    if can.is_empty() { "nothing beyond apply".to_owned() } else { can.join(", ") }
}

fn list(app: &mut App) -> Outcome {
    let session = app.session()?;
    let found = session.actuators()?;
    let mut table = Table::new([
        Column::left("NAME"),
        Column::left("ADAPTER"),
        Column::left("VERSION"),
        Column::left("HERE"),
        Column::right("TIMEOUT"),
        Column::left("CAN").shrinks(),
    ]);
    let mut views = Vec::new();
    for actuator in &found {
        let here = session.is_bound_here(&actuator.name);
        table.row([
            Cell::new(&actuator.name),
            Cell::new(&actuator.adapter),
            Cell::new(&actuator.version),
            if here { Cell::new("yes") } else { Cell::new("no").tone(Tone::Warn) },
            Cell::new(actuator.timeout_ms),
            Cell::new(words(actuator.capabilities)),
        ]);
        views.push(json!({"actuator": actuator, "bound_here": here}));
    }
    let mut answer = Answer::ok().noun("actuators", &views);
    for actuator in &found {
        answer = answer.name(actuator.name.as_str());
    }
    Ok(answer.table_or(table, "no actuator is registered"))
}

fn show(args: &NameArgs, app: &mut App) -> Outcome {
    let session = app.session()?;
    let actuator = session.actuator_named(&args.name)?;
    let words = session.bound_words(&actuator.name);
    let is_set = |name: &&String| app.environment.get(name).is_some();
    let (set, unset): (Vec<&String>, Vec<&String>) = actuator.environment.iter().partition(is_set);
    let named = |names: &[&String]| {
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ")
        }
    };
    let mut answer = shown(&actuator)
        .noun("bound_here", &words.is_some())
        .noun("command", &words)
        .noun("unset_here", &unset);
    answer = match &words {
        Some(words) => answer
            .line("  bound      on this host")
            .line(format!("  command    {}", shell_line(words))),
        None => answer.line("  bound      not on this host"),
    };
    Ok(answer
        .line(format!("  sees       {}", named(&set)))
        .line(format!("  unset here {}", named(&unset))))
}

fn check(args: &CheckArgs, app: &mut App, out: &mut Out) -> Outcome {
    super::install_signals()?;
    let plan = CheckPlan::of(app.session()?, &args.name, args.workload.as_ref())?;
    out.progress(&announced(&plan));
    let report = plan.run(app.session()?)?;
    let mut table =
        Table::new([Column::left("CHECK"), Column::left("SAYS"), Column::left("SEEN").wraps()]);
    for check in &report.checks {
        let says = match check.says {
            Checked::Passed => Cell::new("ok").tone(Tone::Good),
            Checked::NotDeclared | Checked::NotTried => Cell::none(),
            Checked::Failed => Cell::new("FAILED").tone(Tone::Bad),
        };
        table.row([Cell::new(check.check), says, Cell::new(&check.seen)]);
    }
    let failed = report.failed();
    let exit = if failed == 0 { Exit::Ok } else { Exit::Failed };
    let is_broken = |check: &&Check| check.says == Checked::Failed;
    let mut answer = Answer::ending(exit)
        .applied(super::ending::applied(report.effect))
        .noun("checks", &report.checks)
        .table(table)
        .line(format!("{} checks, {failed} failed", report.checks.len()));
    for check in report.checks.iter().filter(is_broken) {
        answer = answer.name(check.check);
    }
    Ok(answer)
}

/// What a check will do, before it does it.
fn announced(plan: &CheckPlan) -> String {
    let left = match plan.first_count() {
        Some(count) => format!("and left at {count}"),
        None => "and left at 0, because its count cannot be read".to_owned(),
    };
    format!(
        "checking {}: workload {} is scaled to 1, 2 and 0 {left}, under the ledger identity \
         {LEDGER_OF_CHECKS}; do not register a service on it afterwards",
        plan.actuator.name, plan.workload
    )
}
