//! `service`: put, show, list, discover, bind, mode, retire.

mod change;
mod differences;
mod discover;
mod mode;
mod put;
mod scaling;

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::Value;

use super::app::App;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::problem::ProblemContext;
use super::{upon, view};
use crate::domain::id::{OutOfRange, ServiceName, TargetUid};
use crate::domain::scale::service::RegisteredMode;
use crate::ops::service_bind::service_bind;
use change::PutArgs;

pub(super) const NOUN: Noun = Noun {
    name: "service",
    group: "Set up",
    about: "Things with replicas and one writer: put, show, list, discover, bind, mode, retire",
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
    /// List what an actuator could scale, with the line that registers each of it
    Discover(discover::DiscoverArgs),
    /// Read the target of a service and record what it is
    Bind(BindArgs),
    /// Give the count another owner, from what it is read as now
    Mode(Box<mode::ModeArgs>),
    /// End a service; its history stays
    Retire(mode::RetireArgs),
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
        Verb::Put(args) => put::put(&args, matches, app),
        Verb::Show(args) => show(&args.name, app),
        Verb::List => list(app),
        Verb::Discover(args) => discover::discover(&args, app),
        Verb::Bind(args) => bind(&args, app),
        Verb::Mode(args) => mode::mode(&args, app),
        Verb::Retire(args) => mode::retire(&args, app),
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
    RegisteredMode::of_word(text).ok_or_else(|| {
        Fault::usage("invalid_mode", format!("{text:?} is no mode: {}", RegisteredMode::WORDS))
    })
}

fn show(service: &ServiceName, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let head = app.session()?.load_service(service)?.head;
    let mut answer =
        Answer::ok().whole_noun("service", view::service(&head)).name(service.as_str());
    if let Some(registration) = &head.registration {
        answer = answer.noun("registration", registration);
    }
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
            .line(format!("  intents    {} put so far", head.latest_revision))
            .line(String::new());
    }
    let c = ProblemContext { now: app.session()?.now(), ..app.problem_context() };
    let facts = upon::all(app.session()?, service, &head, &c)?;
    answer = answer.noun("facts", &facts.iter().map(upon::Fact::view).collect::<Vec<_>>());
    Ok(facts.iter().flat_map(upon::Fact::lines).fold(answer, Answer::line))
}

fn list(app: &mut App) -> Outcome {
    let heads: Vec<_> = app.session()?.heads()?.into_iter().map(|(_, head)| head).collect();
    let views: Vec<Value> = heads.iter().map(view::service).collect();
    let mut answer = Answer::ok().noun("services", &views);
    for registration in heads.iter().filter_map(|head| head.registration.as_ref()) {
        answer = answer.name(registration.service.as_str());
    }
    Ok(answer.table_or(view::services_table(&heads), "no service is registered"))
}

fn bind(args: &BindArgs, app: &mut App) -> Outcome {
    let bound = service_bind(app.session()?, &args.name, args.accept_uid.as_ref())?;
    let answer = Answer::ok()
        .recorded(if bound.changed { Recorded::Yes } else { Recorded::No })
        .whole_noun("service", view::service(&bound.head))
        .name(args.name.as_str());
    let name = &args.name;
    let mut answer = match (&bound.reading, &bound.head.binding) {
        (Some(reading), _) => answer.noun("reading", reading).line(format!(
            "{name}  uid {}  version {}  {}",
            reading.target_uid,
            reading.target_resource_version,
            view::reading_text(reading)
        )),
        (None, Some(said)) => answer.line(format!(
            "{name}  uid {}  version {}  as said: nobody can read it",
            said.target_uid, said.target_resource_version
        )),
        (None, None) => answer,
    };
    answer.changed = bound.changed;
    answer.current = view::current(&bound.head);
    Ok(answer)
}
