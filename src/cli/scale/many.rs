//! `scale web=3 api=4`: several wishes in one line. Each is an intent of its own; all are planned
//! first, and where one plan refuses nothing is done.

use serde_json::{Value, json};

use super::{ScaleArgs, foreseen, made_as_planned};
use crate::actuator::host::Deadline;
use crate::cli::app::{App, Globals, OutputFormat};
use crate::cli::exit::Exit;
use crate::cli::fault::Fault;
use crate::cli::gate::{named_twice, rank};
use crate::cli::noun::Outcome;
use crate::cli::output::{Answer, Out};
use crate::cli::problem::Problem;
use crate::cli::table::{Cell, Column, Table, Tone};
use crate::domain::time::DurationMs;

/// One wish of the line and what it came to; none where it was not begun.
struct Row {
    service: String,
    answer: Option<Answer>,
}

pub(super) fn run(args: &ScaleArgs, app: &mut App, out: &mut Out) -> Outcome {
    check(args)?;
    let until = Deadline::after(args.timeout);
    app.session()?.refuse_unwritable()?;
    let mut plans = Vec::new();
    for word in &args.wishes {
        plans.push(row(args, word, app, out, foreseen));
    }
    let refused = plans.iter().filter(|row| row.exit() != Exit::Ok).count();
    if args.dry_run || refused > 0 {
        return Ok(planned(args, &plans, refused));
    }
    let mut rows: Vec<Row> = Vec::new();
    for word in &args.wishes {
        // What comes after a wish that needs somebody is left to them.
        let goes_on = rows.iter().all(|row| matches!(row.exit(), Exit::Ok | Exit::NotYet));
        if !goes_on {
            rows.push(Row { service: name_of(word), answer: None });
            continue;
        }
        out.progress(&format!("{}:", name_of(word)));
        let left = u64::try_from(until.remaining().as_millis()).unwrap_or(u64::MAX);
        let own = ScaleArgs { timeout: DurationMs::from_millis(left.max(1)), ..args.clone() };
        rows.push(row(&own, word, app, out, made_as_planned));
    }
    Ok(told(&rows, "scale", None))
}

/// What is about one service alone cannot be said of several; and each is named once.
fn check(args: &ScaleArgs) -> Result<(), Fault> {
    let put = &args.put;
    let alone = [
        (put.expect_revision.is_some(), "--expect-revision"),
        (put.current_replicas.is_some(), "--current-replicas"),
        (put.fence.is_some(), "--fence"),
        (put.rolls_back.is_some(), "--rolls-back"),
        (args.glass.is_named(), "--break-glass"),
    ];
    if let Some((_, flag)) = alone.iter().find(|(is_said, _)| *is_said) {
        let what = format!("{flag} is about one service, and the line names several");
        return Err(Problem::usage("one_service_only", what)
            .hint("write a line for each service, or leave it away")
            .into());
    }
    let mut names: Vec<String> = args.wishes.iter().map(|word| name_of(word)).collect();
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(named_twice(&pair[0]).into()),
        None => Ok(()),
    }
}

fn name_of(word: &str) -> String {
    word.split('=').next().unwrap_or(word).to_owned()
}

/// One wish as a line of its own, with a session of its own: what one has done is not told of
/// another. A key that is given for several is `KEY.SERVICE` for each, so that the same line again
/// is the same wishes.
fn row(
    args: &ScaleArgs,
    word: &str,
    app: &App,
    out: &mut Out,
    run: impl FnOnce(&ScaleArgs, &mut App, &mut Out) -> Outcome,
) -> Row {
    let service = name_of(word);
    let mut own = ScaleArgs { wishes: vec![word.to_owned()], ..args.clone() };
    own.put.key = own.put.key.map(|key| format!("{key}.{service}"));
    // The whole document of each is asked for: what the table shows is taken from it.
    let globals = Globals { output: OutputFormat::Json, ..app.globals.clone() };
    let (verb, line) = (app.verb.clone(), app.line.clone());
    let mut sub = App::new(globals, app.environment.clone(), verb, line);
    let mut answer = match run(&own, &mut sub, out) {
        Ok(answer) => answer,
        Err(fault) => {
            let problem = sub.problem(fault);
            Answer::failed(sub.meant(problem))
        }
    };
    for notice in sub.opened().map(|session| session.notices.clone()).unwrap_or_default() {
        answer = answer.warning(notice.code, notice.text);
    }
    Row { service, answer: Some(answer) }
}

impl Row {
    fn exit(&self) -> Exit {
        self.answer.as_ref().map_or(Exit::NotYet, Answer::exit)
    }

    fn problem(&self) -> Option<&Problem> {
        self.answer.as_ref().and_then(Answer::problem)
    }
}

fn planned(args: &ScaleArgs, plans: &[Row], refused: usize) -> Answer {
    let all = plans.len();
    let why = (refused > 0).then(|| {
        if args.dry_run {
            format!("{refused} of {all} would be refused")
        } else {
            format!("nothing was done: {refused} of {all} would be refused")
        }
    });
    told(plans, "plan", why.as_deref())
}

/// A line for each service, and the problem of the worst.
fn told(rows: &[Row], verb: &str, why: Option<&str>) -> Answer {
    let mut table = Table::new([
        Column::left("SERVICE"),
        Column::right("EXIT"),
        Column::left(if verb == "plan" { "PLAN" } else { "STATE" }),
        Column::left("WHY").wraps(),
    ]);
    let views: Vec<Value> = rows.iter().map(view_of).collect();
    for (row, view) in rows.iter().zip(&views) {
        let tone = match (row.exit(), &row.answer) {
            (_, None) => Tone::Plain,
            (Exit::Ok, _) => Tone::Good,
            (Exit::NotYet, _) => Tone::Warn,
            _ => Tone::Bad,
        };
        let exit = row.answer.as_ref().map(|answer| answer.exit().code());
        table.row([
            Cell::new(&row.service),
            Cell::maybe(exit),
            Cell::new(state_of(row, view, verb)).tone(tone),
            Cell::maybe(row.problem().map(|problem| problem.message.clone())),
        ]);
    }
    let answers = || rows.iter().filter_map(|row| row.answer.as_ref());
    let applied = answers().map(Answer::is_applied).max().unwrap_or_default();
    let recorded = answers().map(Answer::is_recorded).max().unwrap_or_default();
    let worst = rows.iter().filter(|row| row.exit() != Exit::Ok);
    let worst = worst.max_by_key(|row| rank(row.exit()));
    let mut answer = match worst {
        None => Answer::ok(),
        Some(row) => match row.problem() {
            Some(problem) => {
                let service = row.service.clone();
                let problem = problem.clone().fact("service", service);
                Answer::failed(why.iter().fold(problem, |problem, why| problem.fact("line", *why)))
            }
            None => Answer::ending(row.exit()),
        },
    };
    answer.changed = rows.iter().flat_map(|row| &row.answer).any(|answer| answer.changed);
    for row in rows {
        let warnings = row.answer.iter().flat_map(|answer| &answer.warnings);
        for warning in warnings {
            answer = answer.warning(warning.code, format!("{}: {}", row.service, warning.message));
        }
        answer = answer.name(&row.service);
    }
    answer.recorded(recorded).applied(applied).noun("services", &views).table(table)
}

fn state_of(row: &Row, view: &Value, verb: &str) -> String {
    let Some(answer) = &row.answer else { return "not begun".to_owned() };
    if let Some(problem) = answer.problem() {
        return problem.code.clone();
    }
    if verb == "plan" {
        return "goes on".to_owned();
    }
    let state = view["execution"]["state"].as_str().unwrap_or("already so");
    match view["execution"]["outcome"].as_str() {
        Some(outcome) => format!("{state}, {outcome}"),
        None => state.to_owned(),
    }
}

/// A row for machines: the document of its own line, and the name.
fn view_of(row: &Row) -> Value {
    let mut view = match &row.answer {
        Some(answer) => json!(answer),
        None => json!({"begun": false}),
    };
    if let Value::Object(members) = &mut view {
        members.insert("service".to_owned(), json!(row.service));
    }
    view
}
