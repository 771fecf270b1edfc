//! `service discover`: what an actuator could scale, and the line that registers each of it.

use clap::Args;
use serde_json::{Value, json};

use crate::cli::app::App;
use crate::cli::escape::shell_line;
use crate::cli::noun::Outcome;
use crate::cli::output::Answer;
use crate::cli::problem::{Problem, ProblemContext};
use crate::cli::table::{Cell, Column, Table, Tone};
use crate::domain::id::{ActuatorName, Replicas, RuntimeId};
use crate::ops::OpError;
use crate::ops::service_discover::{Discoverable, Discovered, Proposed, service_discover};

#[derive(Args)]
pub(super) struct DiscoverArgs {
    /// Who is asked what it could scale
    #[arg(value_name = "ACTUATOR")]
    actuator: ActuatorName,
    /// Only in this runtime: a namespace of Kubernetes
    #[arg(long, value_name = "ID")]
    runtime: Option<RuntimeId>,
}

pub(super) fn discover(args: &DiscoverArgs, app: &mut App) -> Outcome {
    crate::cli::install_signals()?;
    let c = app.problem_context();
    let session = app.session()?;
    session.tell_standing()?;
    match service_discover(session, &args.actuator, args.runtime.as_ref()) {
        Err(OpError::Usage { code: code @ "cannot_discover", message, .. }) => {
            let bound = session.bound_words(&args.actuator);
            Err(cannot(Problem::usage(code, message), &c, &args.actuator, bound).into())
        }
        found => Ok(answer(&args.actuator, &found?, &c)),
    }
}

/// What was registered by an older program may be able to by now.
fn cannot(
    p: Problem,
    c: &ProblemContext,
    actuator: &ActuatorName,
    bound: Option<Vec<String>>,
) -> Problem {
    let by_hand = "name what is to be scaled yourself: service put NAME --workload NAME";
    let Some(bound) = bound else { return p.hint(by_hand) };
    let words = ["actuator", "put", actuator.as_str(), "--"].map(str::to_owned);
    p.hint(format!("{by_hand}. If its command can list by now, this registers what it declares"))
        .run(c.command(&[&words[..], &bound].concat()))
}

fn answer(actuator: &ActuatorName, found: &Discovered, c: &ProblemContext) -> Answer {
    let lines: Vec<Option<Vec<String>>> =
        found.targets.iter().map(|target| next(actuator, target, c)).collect();
    let views: Vec<Value> = found
        .targets
        .iter()
        .zip(&lines)
        .map(|(target, line)| view(target, line.as_ref()))
        .collect();
    let mut answer = Answer::ok().whole_noun(
        "discovery",
        json!({
            "actuator": actuator, "read_at": found.read_at, "found": views, "more": found.more,
            "unread": found.unread,
        }),
    );
    for target in &found.targets {
        answer = answer.name(target.found.target.workload_id.as_str());
    }
    answer = warned(answer, found);
    if found.targets.is_empty() {
        return answer.line(format!("{actuator} has found nothing that it could scale"));
    }
    answer = answer.table(table(found));
    let lines: Vec<String> = lines.iter().flatten().map(|words| shell_line(words)).collect();
    if lines.is_empty() {
        return answer;
    }
    let said = "  --max is what runs now, and at least 1: say what it may become, before or after";
    let is_put = |target: &Discoverable| target.proposed.is_some();
    answer = lines.into_iter().fold(answer.line(""), Answer::line);
    if found.targets.iter().any(is_put) { answer.line("").line(said) } else { answer }
}

fn warned(mut answer: Answer, found: &Discovered) -> Answer {
    for name in &found.unread {
        let text = format!("{name} is not listed: it may not be read, or cannot be understood");
        answer = answer.warning("not_listed", text);
    }
    if found.more {
        let text = "there is more than is listed here: look at one runtime with --runtime";
        answer = answer.warning("more", text);
    }
    let unread = found.targets.iter().flat_map(|target| &target.found.owners_unread);
    for name in unread.collect::<std::collections::BTreeSet<_>>() {
        let text = format!("{name} could not be read: whether it drives a count nobody knows");
        answer = answer.warning("owners_unread", text);
    }
    answer
}

fn table(found: &Discovered) -> Table {
    let mut table = Table::new([
        Column::left("TARGET"),
        Column::right("COUNT"),
        Column::right("READY"),
        Column::left("UID").shrinks(),
        Column::left("SERVICE"),
        Column::left("OWNERS").shrinks(),
    ]);
    for Discoverable { found, service, .. } in &found.targets {
        let service = service.as_ref().map_or_else(Cell::none, |known| {
            match (known.is_retired, known.is_same_object) {
                (true, _) => Cell::new(format!("{} (retired)", known.name)),
                (false, true) => Cell::new(&known.name),
                (false, false) => {
                    Cell::new(format!("{} (another object)", known.name)).tone(Tone::Bad)
                }
            }
        });
        table.row([
            Cell::new(format!("{}/{}", found.target.runtime_id, found.target.workload_id)),
            Cell::maybe(found.replicas),
            Cell::maybe(found.ready_replicas),
            Cell::new(&found.target.target_uid),
            service,
            Cell::new(found.owners.join(", ")),
        ]);
    }
    table
}

/// The line that registers it, or accepts the object that has taken the place of another one.
fn next(actuator: &ActuatorName, target: &Discoverable, c: &ProblemContext) -> Option<Vec<String>> {
    let of = &target.found.target;
    let words = match (&target.proposed, &target.service) {
        (Some(Proposed { service, max }), _) => {
            let max = max.as_ref().map_or_else(|| "N".to_owned(), Replicas::to_string);
            let mut words = vec!["service", "put", service.as_str()];
            words.extend(["--actuator", actuator.as_str(), "--runtime", of.runtime_id.as_str()]);
            words.extend(["--workload", of.workload_id.as_str(), "--max", &max]);
            words.extend(target.found.mode.iter().flat_map(|mode| ["--mode", mode.as_str()]));
            c.command(&words)
        }
        (None, Some(known)) if !known.is_same_object => {
            let (name, uid) = (known.name.as_str(), of.target_uid.as_str());
            c.command(&["service", "bind", name, "--accept-uid", uid])
        }
        (None, _) => return None,
    };
    Some(words)
}

fn view(target: &Discoverable, next: Option<&Vec<String>>) -> Value {
    let Discoverable { found, service, .. } = target;
    json!({
        "target": found.target, "replicas": found.replicas,
        "ready_replicas": found.ready_replicas, "owners": found.owners,
        "managers": found.managers, "owners_unread": found.owners_unread, "mode": found.mode,
        "service": service.as_ref().map(|known| &known.name),
        "retired": service.as_ref().is_some_and(|known| known.is_retired),
        "same_object": service.as_ref().map(|known| known.is_same_object),
        "next": next,
    })
}
