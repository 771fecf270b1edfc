//! `log`: what happened, by whom and why.

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::{Value, json};

use super::app::App;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Format, Out};
use super::problem::Problem;
use super::selection::Selection;
use super::span::{Span, SpanArgs};
use super::table::{Cell, Column, Table};
use crate::domain::count::counted;
use crate::domain::id::{CommandId, ServiceName};
use crate::ledger::{EventFilter, Order, Sought, StoredEvent, Stream};

mod follow;
mod placement;
mod seldom;
pub(super) mod wanted;
mod words;

pub(super) use placement::placement_words;
use wanted::{Wanted, refuse_unknown_words};
pub(super) use words::describe;
pub(super) use words::known_as;
use words::what;

pub(super) const NOUN: Noun = Noun {
    name: "log",
    group: "Every day",
    about: "What happened, when, by whom and why; the newest last",
    augment: LogArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct LogArgs {
    /// Only of these services
    services: Vec<ServiceName>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    span: SpanArgs,
    /// Only about this key (a key, SERVICE@REVISION or SERVICE@latest)
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Only what one run of a command wrote
    #[arg(long, value_name = "ID")]
    command: Option<CommandId>,
    /// Only these kinds of events, with commas between them
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    event: Vec<String>,
    /// Only what says that a wish came to this: converged, failed, unknown …
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<String>,
    /// Only by this actor (a claim); --actor says the same here, and --ref picks by reference
    #[arg(long = "by", value_name = "NAME")]
    by: Option<String>,
    /// Leave refusals out
    #[arg(long)]
    no_refused: bool,
    /// Only what is about a broken glass
    #[arg(long)]
    break_glass: bool,
    /// Only after this position, from the oldest on; 0 begins with the first event
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// The newest so many; with --after, the oldest
    #[arg(long, short = 'n', value_name = "N", default_value_t = 200)]
    limit: usize,
    /// Go on with what happens from now on, until the line is ended
    #[arg(long, short = 'f', conflicts_with_all = ["until", "on", "after", "command"])]
    follow: bool,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let mut args = LogArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    // Of what is retired, too: its history is what there is to see of it.
    if let Some(selected) = args.selection.services(app, |_| true)? {
        args.services = selected;
    }
    let key = args.key.as_deref().map(|word| app.key(word)).transpose()?;
    for service in &args.services {
        app.session()?.load_service(service)?;
    }
    if let Some(key) = &key {
        // An empty history would say that nothing ever happened under it.
        app.session()?.load(key)?;
    }
    refuse_unknown_words(&args)?;
    if args.follow && out.format() == Format::Json {
        return Err(Problem::usage("follow_without_end", "what is followed is no one document")
            .hint("a document for each line is what -o ndjson gives")
            .into());
    }
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let span = args.span.read(now)?;
    let mut streams: Vec<Stream> = args.services.iter().cloned().map(Stream::Service).collect();
    if !streams.is_empty() && !args.no_refused {
        streams.push(Stream::Refusals);
    }
    let filter = EventFilter {
        streams,
        execution_key: key,
        command_id: args.command.clone(),
        after: args.after.unwrap_or(0),
        since: span.since,
        until: span.until,
        // One more tells whether there are more.
        limit: Some(args.limit.saturating_add(1)),
        order: if args.after.is_some() { Order::OldestFirst } else { Order::NewestFirst },
    };
    if args.follow {
        return follow::run(&args, &filter, &span, app, out);
    }
    let page = page(&args, &filter, app)?;
    if out.format() == Format::Ndjson {
        for event in &page.events {
            out.row(&event_view(event));
        }
        return Ok(Answer::ok().streamed());
    }
    Ok(answer_of(&args, &page, &span, app))
}

/// Some of the events that are wanted, the oldest first.
struct Page {
    events: Vec<StoredEvent>,
    /// Whether there are more: older ones, or with `--after` newer ones.
    has_more: bool,
}

fn page(args: &LogArgs, filter: &EventFilter, app: &mut App) -> Result<Page, Fault> {
    let wanted = Wanted::of(args, &app.globals);
    let find = |app: &mut App| {
        app.session()?.events_where(filter, &|event| wanted.has(event)).map_err(Fault::from)
    };
    let mut events = find(app)?;
    // Nothing of a command is no news while its COMMIT may still run.
    let is_asked_of_one = args.command.is_some() && events.is_empty();
    if is_asked_of_one && app.session()?.outwait(Sought::Anything)? {
        events = find(app)?;
    }
    let has_more = events.len() > args.limit;
    events.truncate(args.limit);
    if args.after.is_none() {
        events.reverse();
    }
    Ok(Page { events, has_more })
}

fn answer_of(args: &LogArgs, page: &Page, span: &Span, app: &App) -> Answer {
    let Page { events, has_more } = page;
    let next_after = events.last().map(|event| event.position).or(args.after);
    let mut answer = Answer::ok()
        .noun("events", &events.iter().map(event_view).collect::<Vec<_>>())
        .noun("more", has_more)
        .noun("next_after", &next_after)
        .line(header(args, page, span, app));
    if !events.is_empty() {
        answer = answer.line(String::new()).table(table_of(events, span));
    }
    for event in events {
        answer = answer.name(event.position.to_string());
    }
    if *has_more {
        let line = match (args.after, next_after) {
            (Some(_), Some(next)) => format!("there are more: go on with --after {next}"),
            _ => format!(
                "older ones are left out: --limit {} shows more, --after 0 begins with the first",
                args.limit.saturating_mul(10)
            ),
        };
        answer = answer.line(String::new()).line(line);
    }
    if args.command.is_some() && events.is_empty() {
        answer = answer.warning("nothing_recorded", "no event of that command is recorded");
    }
    answer
}

/// What is shown: of whom, of when, of which ledger, and how much.
fn header(args: &LogArgs, page: &Page, span: &Span, app: &App) -> String {
    let services: Vec<&str> = args.services.iter().map(ServiceName::as_str).collect();
    let services = if services.is_empty() { "all".to_owned() } else { services.join(" ") };
    let ledger = app.chosen().map_or_else(|_| String::new(), |chosen| chosen.shown);
    let count = counted(page.events.len(), "event");
    let count = match (page.events.first(), page.events.last()) {
        (Some(first), Some(last)) if first.position < last.position => {
            format!("{count}, #{} to #{}", first.position, last.position)
        }
        (Some(only), _) => format!("{count}, #{}", only.position),
        (None, _) => "no events".to_owned(),
    };
    format!("{services}   {}   ledger {ledger}   {count}", span.said())
}

/// An event for machines.
pub(super) fn event_view(event: &StoredEvent) -> Value {
    json!({
        "position": event.position,
        "stream": event.stream,
        "sequence": event.sequence,
        "command_id": event.command_id,
        "at": event.at,
        "by": event.by,
        "event": event.kind,
        "execution_key": event.execution_key,
        "body": event.body,
        "hash": event.hash,
    })
}

fn table_of(events: &[StoredEvent], span: &Span) -> Table {
    let mut table = Table::new([
        Column::right("POS"),
        Column::left("TIME"),
        Column::left("SUBJECT"),
        Column::left("EVENT"),
        Column::left("WHO"),
        Column::left("KNOWN AS"),
        Column::left("WHAT").wraps(),
    ]);
    for event in events {
        let reference =
            event.by.reference.as_ref().map_or_else(String::new, |text| format!("  [{text}]"));
        table.row([
            Cell::new(event.position),
            Cell::new(span.stamp(event.at)),
            Cell::new(subject(event)),
            Cell::new(&event.kind),
            Cell::new(&event.by.actor),
            Cell::new(known_as(&event.by)),
            Cell::new(format!("{}{reference}", what(event))),
        ]);
    }
    table
}

/// What an event is about: a service, or a chain beside the services.
fn subject(event: &StoredEvent) -> String {
    match &event.stream {
        Stream::Service(service) => service.to_string(),
        Stream::Policy | Stream::Placement | Stream::Refusals | Stream::Registry => {
            event.body["service"].as_str().map_or_else(|| event.stream.to_string(), str::to_owned)
        }
    }
}
