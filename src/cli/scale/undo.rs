//! `scale NAME --undo`: the wish that takes the newest converged one back, as the flags would say
//! it, and what is told of it before anything happens.

use serde_json::{Value, json};

use super::ScaleArgs;
use crate::cli::app::App;
use crate::cli::exit::Exit;
use crate::cli::fault::Fault;
use crate::cli::output::{Answer, Out};
use crate::cli::problem::{Problem, ProblemContext};
use crate::cli::wish::WishArgs;
use crate::domain::id::{InvalidIdentifier, ServiceName};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::state::LastEffect;
use crate::domain::scale::undo::{NoUndo, Undo};
use crate::ops::undo::undo;

/// A line that undoes, as the same line with a wish.
pub(super) struct Undone {
    /// The line.
    pub(super) args: ScaleArgs,
    /// What it takes back, for machines.
    view: Value,
    /// The same for people; none where it is recorded already.
    told: Option<String>,
}

/// With `--undo` a word is a name, and the count is found.
pub(super) fn misshapen(words: &[String], c: &ProblemContext) -> Option<Problem> {
    words.iter().find_map(|word| {
        let name = word.split('=').next().unwrap_or_default();
        let problem = match (word.parse::<ServiceName>(), name.parse::<ServiceName>()) {
            (Ok(_), _) => return None,
            (Err(_), Ok(name)) => Problem::usage(
                "invalid_undo",
                format!("{word:?} names a count, and --undo finds it"),
            )
            .hint("leave the count away, or --undo")
            .run(named_alone(&c.line, word, name.as_str())),
            (Err(error), Err(_)) => Problem::usage("invalid_service", error.to_string()),
        };
        Some(problem)
    })
}

/// The line with a name in the place of a wish.
fn named_alone(line: &[String], wish: &str, name: &str) -> Vec<String> {
    line.iter().map(|own| if own == wish { name } else { own }.to_owned()).collect()
}

/// The line with the wish that it comes to; none where it does not undo.
pub(super) fn resolved(args: &ScaleArgs, app: &mut App) -> Result<Option<Undone>, Fault> {
    if !args.undo {
        return Ok(None);
    }
    let service: ServiceName = args.wishes[0]
        .parse()
        .map_err(|error: InvalidIdentifier| Fault::usage("invalid_service", error.to_string()))?;
    let found = match undo(app.session()?, &service)? {
        Ok(found) => found,
        Err(refusal) => return Err(refused(&service, refusal, &app.problem_context()).into()),
    };
    let undone = match found {
        (Undo::Known(key), known) => again(args, &service, key.as_str(), known.as_ref()),
        (Undo::Of { key, undone, back_to, latest_revision }, _) => {
            let put = WishArgs {
                key: Some(key.to_string()),
                expect_revision: Some(latest_revision.to_string()),
                current_replicas: Some(believed(args, &undone)?),
                ..args.put.clone()
            };
            let wishes = vec![format!("{service}={back_to}")];
            Undone {
                args: ScaleArgs { wishes, put, ..args.clone() },
                view: view(&undone),
                told: Some(told(&service, &undone)),
            }
        }
    };
    Ok(Some(undone))
}

/// The count that must run: what the undone wish has made. Whoever says another one is told.
fn believed(args: &ScaleArgs, undone: &LastEffect) -> Result<u64, Fault> {
    let made = undone.to.get();
    match args.put.current_replicas {
        Some(believed) if believed != made => {
            let what = format!("what would be undone made it {made}, and you believe {believed}");
            Err(Problem::new("premise_moved", Exit::Conflict, what)
                .values(believed, made)
                .hint(
                    "wish the count that is meant by its number, or leave --current-replicas away",
                )
                .into())
        }
        Some(_) | None => Ok(made),
    }
}

/// The undo is recorded: the line goes on with it, for the reason that was given then.
fn again(args: &ScaleArgs, service: &ServiceName, key: &str, known: Option<&Execution>) -> Undone {
    let mut put = WishArgs { key: Some(key.to_owned()), ..args.put.clone() };
    let mut wishes = args.wishes.clone();
    if let Some(known) = known {
        put.reason = Some(known.intent.wish.reason.as_str().to_owned());
        wishes = vec![format!("{service}={}", known.desired())];
    }
    Undone { args: ScaleArgs { wishes, put, ..args.clone() }, view: Value::Null, told: None }
}

fn told(service: &ServiceName, undone: &LastEffect) -> String {
    let LastEffect { intent_revision, from, to, actor, ended_at, .. } = undone;
    let from = from.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let at = ended_at.truncated_to_seconds();
    format!("undo of {service}@{intent_revision}  {from} → {to}, by {actor}, {at}: back to {from}")
}

fn view(undone: &LastEffect) -> Value {
    json!({
        "execution_key": undone.execution_key,
        "intent_revision": undone.intent_revision,
        "from": undone.from,
        "to": undone.to,
    })
}

/// Says what is taken back, before anything happens.
pub(super) fn tell(undone: Option<&Undone>, out: &mut Out) {
    if let Some(told) = undone.and_then(|undone| undone.told.as_deref()) {
        out.progress(told);
    }
}

/// The answer with what it takes back.
pub(super) fn shown(answer: Answer, undone: Option<&Undone>) -> Answer {
    match undone {
        Some(undone) => answer.whole_noun("undoes", undone.view.clone()),
        None => answer,
    }
}

fn refused(service: &ServiceName, refusal: NoUndo, c: &ProblemContext) -> Problem {
    let counts = c.command(&["log", service.as_str(), "--event", "intent_accepted"]);
    let by_number = "wish the count that is meant by its number; what was wished is told by";
    match refusal {
        NoUndo::Nothing => {
            let what = format!("no wish has changed {service} so far");
            Problem::new("nothing_to_undo", Exit::NotFound, what).hint(by_number).run(counts)
        }
        NoUndo::Unchanged { revision, replicas } => {
            let what = format!("{service}@{revision} changed nothing: {replicas} → {replicas}");
            Problem::new("nothing_to_undo", Exit::NotFound, what).hint(by_number).run(counts)
        }
        NoUndo::UnknownBase { revision, desired } => {
            let what = format!("{service}@{revision} made it {desired}, from a count nobody knows");
            Problem::new("undo_unknown", Exit::FactUnknown, what).hint(by_number).run(counts)
        }
        NoUndo::InTheWay { revision, key, state, desired } => {
            let what = format!(
                "{service}@{revision} = {desired} is what is wished; it is {state}, and only what \
                 has converged is undone"
            );
            Problem::new("undo_in_the_way", Exit::Conflict, what)
                .fact("key", key.as_str())
                .hint("see what becomes of it, or wish the count that is meant by its number")
                .run(c.command(&["explain", &format!("{service}@{revision}")]))
        }
    }
}
