//! `plan`: every gate of a wish, and nothing written.

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::{Value, json};

use super::app::App;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::problem::Problem;
use super::scale::wish_of;
use super::table::{Cell, Column, Table, Tone};
use super::wish::{Glazed, WishArgs};
use super::{ending, view};
use crate::domain::id::ControllerId;
use crate::domain::scale::command::PutIntent;
use crate::domain::scale::decide::verdict_of;
use crate::domain::scale::execution::Phase;
use crate::domain::scale::gates::{Reports, Verdict, fresh_count};
use crate::domain::scale::observation::ReadingVerdict;
use crate::domain::time::Timestamp;
use crate::ops::foretell::{Foretold, Next};
use crate::ops::plan::{Before, Plan, plan};
use crate::ops::report::Report;

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
    /// Who would act; the registered writer by default
    #[arg(long, value_name = "NAME")]
    controller: Option<ControllerId>,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = PlanArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    of_plain_wish(app, &args.wish, args.put, args.controller.as_ref())
}

/// The plan of a wish that breaks no glass: `plan web=5` and `explain web=5`.
pub(super) fn of_plain_wish(
    app: &mut App,
    wish: &str,
    put: WishArgs,
    controller: Option<&ControllerId>,
) -> Outcome {
    of_wish(app, wish, put, controller, |_, put| Ok((put, None)))
}

/// The plan of a wish. It needs no reason; `glaze` says what is broken for it.
pub(super) fn of_wish(
    app: &mut App,
    wish: &str,
    mut put: WishArgs,
    controller: Option<&ControllerId>,
    glaze: impl FnOnce(&mut App, PutIntent) -> Result<Glazed, Fault>,
) -> Outcome {
    let wish = wish_of(wish)?;
    if put.reason.is_none() && app.environment.text("SCALECTL_REASON").is_none() {
        // Of a wish that is recorded already, the plan is about that one.
        let known = put.key.as_deref().and_then(|word| word.parse().ok());
        let known = match &known {
            Some(key) => app.session()?.recorded_under(key)?,
            None => None,
        };
        let reason = known.map(|known| known.intent.wish.reason.as_str().to_owned());
        put.reason = Some(reason.unwrap_or_else(|| "plan".to_owned()));
    }
    let wished = put.wished(&wish, app, glaze)?;
    let now = app.session()?.now();
    let plan = plan(app.session()?, wished, controller)?;
    let (service, replicas) = wish;
    Ok(answer(app, &format!("{service}={replicas}"), &plan, now))
}

/// The answer of a plan: what stands before the gates, else what each gate says and the exit of the
/// first that refuses.
fn answer(app: &App, wish: &str, plan: &Plan, now: Timestamp) -> Answer {
    let from = fresh_count(&plan.state.head, now);
    let from = from.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let refused = |rejection| {
        let mut context = app.problem_context();
        context.wish = Some(wish.to_owned());
        context.is_supposed = true;
        let mut problem = Problem::from_rejection(rejection, &context);
        // The way around the first leads nowhere where a later one refuses as well.
        let also = plan.reports.refusals().filter(|other| other.code() != rejection.code());
        let also: Vec<String> = also.map(|other| format!("{}: {other}", other.code())).collect();
        if plan.before.is_none() && !also.is_empty() {
            problem = problem.fact("also", also.join("; "));
        }
        Answer::failed(problem)
    };
    let mut answer = match &plan.before {
        Some(Before::Known(existing)) => {
            stored(existing, "the key is known: what is recorded would be gone on with", app)
        }
        Some(Before::Resumed(own)) => {
            stored(own, "unfinished: the same line would go on with it", app)
        }
        Some(Before::There) => Answer::ok()
            .whole_noun("service", view::service(&plan.state.head))
            .line(format!("{wish}: already so by a fresh reading, nothing would be changed")),
        Some(Before::Refused(rejection)) => refused(rejection),
        None => {
            let refusal = plan.reports.first_refusal().or(plan.start.as_deref());
            refusal.map_or_else(Answer::ok, refused)
        }
    };
    let (service, desired) = wish.split_once('=').unwrap_or((wish, "?"));
    answer = answer
        .line(format!("{service}  {from} → {desired}  (a plan: nothing was written)"))
        .name(service);
    if plan.before.is_none() && plan.start.is_some() {
        answer = answer.line("  the wish would be recorded, and its first attempt would not start");
    }
    // What stands before the gates answers before any of them is asked.
    if plan.before.is_none() {
        answer = answer.table(gates_table(&plan.reports)).noun("gates", &gates(&plan.reports));
    }
    if let Some(decision) = &plan.reports.decision {
        answer = answer.noun("decision", decision);
    }
    answer.current = view::current(&plan.state.head);
    answer
}

/// What the same line would come to with a wish that is recorded.
fn stored(foretold: &Foretold, line: &str, app: &App) -> Answer {
    let Foretold { report, next } = foretold;
    let execution = &report.execution;
    let left = execution.left();
    let answer = match next {
        Next::Refused(rejection) => {
            Answer::failed(app.problem_of((**rejection).clone().into(), left))
        }
        Next::FindsOut => {
            let name = format!("{}@{}", execution.intent.service, execution.revision());
            let text = format!("the call of {name} has ended, and nobody has recorded how");
            let problem = Problem::new("outcome_unknown", Exit::Unknown, text)
                .hint("what became of it is found out by the same line, or by")
                .run(app.problem_context().command(&["replay", execution.key().as_str()]));
            Answer::failed(problem).applied(ending::applied_of_left(left))
        }
        Next::Starts => Answer::ok(),
        Next::Stands => ending::of(app, report, exit_of(report)),
    };
    let answer = answer
        .whole_noun("execution", view::execution(execution))
        .line(view::headline(execution))
        .line(format!("  {line}"));
    match next {
        Next::Starts => answer.line(format!(
            "  attempt {} of {} would start",
            execution.attempts + 1,
            execution.intent.wish.retry_policy.max_attempts
        )),
        Next::Refused(_) | Next::FindsOut | Next::Stands => answer,
    }
}

/// How `scale` would end with what stands: a success is read until enough readings agree.
fn exit_of(report: &Report) -> Exit {
    let execution = &report.execution;
    let agrees = execution
        .last_reading
        .as_ref()
        .is_none_or(|reading| verdict_of(execution, reading) == ReadingVerdict::Matches);
    match execution.phase {
        Phase::Succeeded | Phase::Observed if agrees && !execution.drift => Exit::Ok,
        _ => view::confirmed_exit(report),
    }
}

/// The gates for machines.
pub(super) fn gates(reports: &Reports) -> Vec<Value> {
    reports
        .all
        .iter()
        .map(|report| {
            let (verdict, detail, code) = match &report.verdict {
                Verdict::Passed(seen) => ("passed", seen.clone(), None),
                Verdict::Yielded(seen, _) => ("yielded", seen.clone(), None),
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
        Column::left("SEEN").wraps(),
    ]);
    for report in &reports.all {
        let (says, seen) = match &report.verdict {
            Verdict::Passed(seen) => (Cell::new("ok").tone(Tone::Good), seen.clone()),
            Verdict::Yielded(seen, _) => (Cell::new("yields").tone(Tone::Warn), seen.clone()),
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
