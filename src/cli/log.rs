//! `log`: what happened, by whom and why.

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::{Value, json};

use super::app::App;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Format, Out};
use super::problem::Problem;
use super::table::{Cell, Column, Table};
use crate::domain::id::{CommandId, ServiceName};
use crate::domain::near::nearest;
use crate::domain::scale::provenance::Provenance;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::{EventFilter, Order, Sought, StoredEvent, Stream};

mod placement;
mod seldom;

pub(super) use placement::placement_words;
use seldom::{text, what_seldom};

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
    /// Only about this key (a key, SERVICE@REVISION or SERVICE@latest)
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Only what one run of a command wrote
    #[arg(long, value_name = "ID")]
    command: Option<CommandId>,
    /// Only from this instant on: RFC 3339, or a duration ago such as 3h
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only before this instant
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only this kind of event
    #[arg(long, value_name = "KIND")]
    event: Option<String>,
    /// Only by this actor (a claim)
    #[arg(long = "by", value_name = "NAME")]
    by: Option<String>,
    /// Leave refusals out
    #[arg(long)]
    no_refused: bool,
    /// Only after this position; the last position of a page begins the next
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,
    /// The newest so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 200)]
    limit: usize,
}

/// Every kind of event. A word that is none would find nothing, and say so as if nothing had been.
const KINDS: [&str; 42] = [
    "ledger_created",
    "actuator_registered",
    "signers_set",
    "policy_set",
    "refused",
    "service_registered",
    "service_handed_over",
    "service_retired",
    "hold_set",
    "hold_lifted",
    "override_set",
    "override_cleared",
    "authorization_granted",
    "authorization_used",
    "authorization_revoked",
    "authorization_reviewed",
    "autoscale_evaluated",
    "target_bound",
    "intent_proposed",
    "intent_rejected",
    "intent_accepted",
    "gateway_finalized",
    "gateway_imported",
    "intent_superseded",
    "intent_withdrawn",
    "lease_acquired",
    "lease_renewed",
    "lease_released",
    "attempt_started",
    "result_recorded",
    "attempt_lost",
    "call_ended",
    "target_fenced",
    "reading_recorded",
    "observation_recorded",
    "late_result_kept",
    "service_restored",
    "clock_accepted",
    "execution_clock_accepted",
    "ledger_restored",
    "ledger_sealed",
    "ledger_opened",
];

fn instant(word: Option<&str>, now: Timestamp) -> Result<Option<Timestamp>, Fault> {
    let Some(word) = word else {
        return Ok(None);
    };
    if let Ok(ago) = word.parse::<DurationMs>() {
        return Ok(Some(now.minus(ago)));
    }
    word.parse().map(Some).map_err(|_| {
        Fault::from(
            Problem::usage(
                "invalid_time",
                format!("{word:?} is neither an RFC 3339 instant nor a duration such as 3h"),
            )
            .hint("write an instant such as 2026-01-05T10:00:00Z, or how long ago, such as 3h"),
        )
    })
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let args = LogArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let key = args.key.as_deref().map(|word| app.key(word)).transpose()?;
    for service in &args.services {
        app.session()?.load_service(service)?;
    }
    if let Some(key) = &key {
        // An empty history would say that nothing ever happened under it.
        app.session()?.load(key)?;
    }
    let kinds: Vec<&str> = KINDS.into_iter().chain(placement::KINDS).collect();
    if let Some(kind) = args.event.as_deref().filter(|kind| !kinds.contains(kind)) {
        let problem = Problem::usage("invalid_kind", format!("{kind:?} is no kind of event"));
        let problem = match nearest(kind, kinds.iter().copied()) {
            Some(near) => problem.fact("did you mean", near),
            None => problem,
        };
        return Err(problem.fact("kinds", kinds.join(" ")).into());
    }
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let mut streams: Vec<Stream> = args.services.iter().cloned().map(Stream::Service).collect();
    if !streams.is_empty() && !args.no_refused {
        streams.push(Stream::Refusals);
    }
    let filter = EventFilter {
        streams,
        execution_key: key,
        command_id: args.command.clone(),
        after: args.after,
        since: instant(args.since.as_deref(), now)?,
        until: instant(args.until.as_deref(), now)?,
        limit: Some(args.limit),
        order: if args.after > 0 { Order::OldestFirst } else { Order::NewestFirst },
    };
    let find = |app: &mut App| {
        app.session()?.events_where(&filter, &|event| is_wanted(&args, event)).map_err(Fault::from)
    };
    let mut events = find(app)?;
    // Nothing of a command is no news while its COMMIT may still run.
    let is_asked_of_one = args.command.is_some() && events.is_empty();
    if is_asked_of_one && app.session()?.outwait(Sought::Anything)? {
        events = find(app)?;
    }
    if args.after == 0 {
        events.reverse();
    }
    if out.format() == Format::Ndjson {
        for event in &events {
            out.row(&event_view(event));
        }
        return Ok(Answer::ok().streamed());
    }
    let mut answer = Answer::ok()
        .noun("events", &events.iter().map(event_view).collect::<Vec<_>>())
        .table(table_of(&events));
    for event in &events {
        answer = answer.name(event.position.to_string());
    }
    if is_asked_of_one && events.is_empty() {
        answer = answer.warning("nothing_recorded", "no event of that command is recorded");
    }
    Ok(answer)
}

fn is_wanted(args: &LogArgs, event: &StoredEvent) -> bool {
    let of_service = |event: &StoredEvent| {
        let named = event.body["service"].as_str();
        args.services.is_empty() || args.services.iter().any(|s| Some(s.as_str()) == named)
    };
    let is_refusal = event.stream == Stream::Refusals;
    args.event.as_ref().is_none_or(|kind| event.kind == *kind)
        && args.by.as_ref().is_none_or(|by| event.by.actor.as_str() == by)
        && !(args.no_refused && is_refusal)
        && (!is_refusal || of_service(event))
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

fn table_of(events: &[StoredEvent]) -> Table {
    let mut table = Table::new([
        Column::right("POS"),
        Column::left("TIME"),
        Column::left("SUBJECT"),
        Column::left("EVENT"),
        Column::left("WHO"),
        Column::left("KNOWN AS"),
        Column::left("WHAT").shrinks(),
    ]);
    for event in events {
        let subject = match &event.stream {
            Stream::Service(service) => service.to_string(),
            Stream::Policy | Stream::Placement | Stream::Refusals | Stream::Registry => event.body
                ["service"]
                .as_str()
                .map_or_else(|| event.stream.to_string(), str::to_owned),
        };
        let reference =
            event.by.reference.as_ref().map_or_else(String::new, |text| format!("  [{text}]"));
        table.row([
            Cell::new(event.position),
            Cell::new(event.at),
            Cell::new(subject),
            Cell::new(&event.kind),
            Cell::new(&event.by.actor),
            Cell::new(known_as(&event.by)),
            Cell::new(format!("{}{reference}", what(event))),
        ]);
    }
    table
}

/// What is known of whoever wrote an event, without what they claim.
fn known_as(by: &Provenance) -> String {
    let mut known = format!("{}@{}", by.os_user, by.host);
    if let Some(role) = &by.db_role {
        known.extend([", db ", role]);
    }
    if let Some(signer) = &by.signed_by {
        known.extend([", key of ", &signer.principal]);
    }
    known
}

/// One event in words, with its kind.
pub(super) fn describe(event: &StoredEvent) -> String {
    let what = what(event);
    let who = &event.by.actor;
    if what.is_empty() {
        format!("{:<22} by {who}", event.kind)
    } else {
        format!("{:<22} by {who}: {what}", event.kind)
    }
}

/// What of an event a person asks for first.
fn what(event: &StoredEvent) -> String {
    let body = &event.body;
    match event.kind.as_str() {
        "intent_accepted" | "intent_proposed" => {
            let intent = &body["intent"];
            let wish = &intent["wish"];
            format!(
                "@{} {} → {} {:?}{}",
                text(&wish["intent_revision"]),
                text(&intent["current"]),
                text(&wish["desired_replicas"]),
                text(&wish["reason"]),
                if intent["dry_run"] == true { " (simulation)" } else { "" }
            )
        }
        "attempt_started" => format!(
            "attempt {}, fence {}/{}, base {}",
            text(&body["call"]["attempt"]),
            text(&body["held"]["lease"]["fence"]["lease_epoch"]),
            text(&body["held"]["lease"]["fence"]["fence_token"]),
            text(&body["call"]["base"]["replicas"])
        ),
        "result_recorded" => format!(
            "{} of attempt {}, {} read, {}",
            text(&body["result"]["state"]),
            text(&body["attempt"]),
            text(&body["result"]["observed_replicas"]),
            text(&body["source"])
        ),
        "attempt_lost" => format!("{}: {}", text(&body["why"]), text(&body["detail"])),
        "reading_recorded" => {
            format!("{} {}", text(&body["reading"]["replicas"]), text(&body["verdict"]))
        }
        "observation_recorded" => {
            let observation = &body["observation"];
            format!(
                "{} by {}: {}",
                text(&observation["status"]),
                text(&observation["source"]),
                text(&observation["detail"])
            )
        }
        "intent_superseded" => format!("by @{}", text(&body["by"])),
        "service_registered" => {
            format!("registration {}", text(&body["registration"]["unit_revision"]))
        }
        "target_bound" => format!("{} declared", text(&body["binding"]["replicas"])),
        "actuator_registered" => text(&body["actuator"]["name"]),
        "policy_set" => text(&body["policy"]["digest"]),
        "refused" => format!("{}: {}", text(&body["code"]), text(&body["message"])),
        "lease_acquired" => {
            format!("until {}", text(&body["held"]["lease"]["expires_at"]))
        }
        "lease_renewed" => format!("until {}", text(&body["expires_at"])),
        other => what_seldom(other, body),
    }
}
