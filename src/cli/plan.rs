//! `plan`: every gate of a wish, and nothing written.

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::{Value, json};

use super::app::App;
use super::exit::Exit;
use super::intent::{WishArgs, put_of_flags};
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::problem::Problem;
use super::scale::wish_of;
use super::table::{Cell, Column, Table, Tone};
use super::view;
use crate::domain::scale::command::{PutForm, PutIntent};
use crate::domain::scale::gates::{Reports, Verdict, fresh_count};
use crate::domain::scale::standing;
use crate::ops::plan::plan;

pub(super) const NOUN: Noun = Noun {
    name: "plan",
    group: "Every day",
    about: "Walk every gate of a wish; write nothing, exit as the real one would",
    augment: PlanArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct PlanArgs {
    /// The service and the count that is wished
    #[arg(value_name = "NAME=N")]
    wish: String,
    #[command(flatten)]
    put: WishArgs,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = PlanArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    of_wish(app, &args.wish, args.put)
}

/// The plan of a wish: `plan web=5` and `explain web=5`. A plan needs no reason.
pub(super) fn of_wish(app: &mut App, wish: &str, mut put: WishArgs) -> Outcome {
    let (service, replicas) = wish_of(wish)?;
    if put.reason.is_none() && app.environment.text("SCALECTL_REASON").is_none() {
        put.reason = Some("plan".to_owned());
    }
    let (put, _) = put_of_flags(&service, replicas, &put, app, false)?;
    answer(app, put)
}

/// The answer of a plan: what each gate says, and the exit of the first that refuses.
pub(super) fn answer(app: &mut App, put: PutIntent) -> Outcome {
    let desired = match &put.form {
        PutForm::Flags { replicas, .. } => *replicas,
        PutForm::Record(record) => record.wish().desired_replicas,
    };
    let service = put.service.clone();
    let now = app.session()?.now();
    let found = plan(app.session()?, put)?;
    let from = fresh_count(&found.state.head, now);
    let from = from.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let is_known = found.existing.is_some();
    let refusal = match &found.existing {
        Some(Err(rejection)) => Some(rejection.as_ref()),
        _ => found.reports.first_refusal(),
    };
    let mut answer = match (&found.existing, refusal) {
        (Some(Ok(existing)), _) => Answer::ending(view::exit_of(standing::of_put(existing)))
            .noun("execution", &view::execution(existing))
            .line(view::headline(existing))
            .line("  the key is known: the stored answer would be replayed".to_owned()),
        (_, Some(rejection)) => {
            let mut context = app.problem_context();
            context.wish = Some(format!("{service}={desired}"));
            Answer::failed(Problem::from_rejection(rejection, &context))
        }
        (_, None) => Answer::ending(Exit::Ok),
    };
    answer = answer
        .line(format!("{service}  {from} → {desired}  (a plan: nothing was written)"))
        .name(service.as_str());
    // A known key answers before any gate is asked.
    if !is_known {
        answer = answer.table(gates_table(&found.reports)).noun("gates", &gates(&found.reports));
    }
    if let Some(decision) = &found.reports.decision {
        answer = answer.noun("decision", decision);
    }
    answer.current = view::current(&found.state.head);
    Ok(answer)
}

/// The gates for machines.
pub(super) fn gates(reports: &Reports) -> Vec<Value> {
    reports
        .all
        .iter()
        .map(|report| {
            let (verdict, detail, code) = match &report.verdict {
                Verdict::Passed(seen) => ("passed", seen.clone(), None),
                Verdict::Skipped(why) => ("skipped", why.clone(), None),
                Verdict::Refused(rejection) => {
                    ("refused", rejection.to_string(), Some(rejection.code()))
                }
            };
            json!({
                "number": report.gate.number(),
                "gate": report.gate.as_str(),
                "verdict": verdict,
                "detail": detail,
                "code": code,
            })
        })
        .collect()
}

/// The gates for people.
pub(super) fn gates_table(reports: &Reports) -> Table {
    let mut table = Table::new([
        Column::right("GATE"),
        Column::left("NAME"),
        Column::left("SAYS"),
        Column::left("SEEN").shrinks(),
    ]);
    for report in &reports.all {
        let (says, seen) = match &report.verdict {
            Verdict::Passed(seen) => (Cell::new("ok").tone(Tone::Good), seen.clone()),
            Verdict::Skipped(why) => (Cell::none(), why.clone()),
            Verdict::Refused(rejection) => {
                (Cell::new(rejection.code()).tone(Tone::Bad), rejection.to_string())
            }
        };
        table.row([
            Cell::new(report.gate.number()),
            Cell::new(report.gate.as_str()),
            says,
            if seen.is_empty() { Cell::none() } else { Cell::new(seen) },
        ]);
    }
    table
}
