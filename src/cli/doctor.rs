//! `doctor`: what is well and what is not, with what to do.

use std::path::Path;

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::json;

use super::app::App;
use super::escape::shell_line;
use super::exit::Exit;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::problem::Problem;
use super::table::{Cell, Column, Table};
use crate::domain::count::counted;
use crate::ledger::OpenOptions;
use crate::ledger::life::examine::{Check, Health};
use crate::ops::doctor;
use crate::ops::notify::NotifySettings;

pub(super) const NOUN: Noun = Noun {
    name: "doctor",
    group: "Ledger",
    about: "Look at everything that a ledger rests on: 0 well, 26 a person, 21 unusable",
    augment: DoctorArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct DoctorArgs {}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let DoctorArgs {} = DoctorArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let chosen = app.chosen()?;
    let open = OpenOptions { lock_timeout: app.globals.lock_timeout, ..OpenOptions::default() };
    let mut checks = vec![Check::ok("chosen", format!("{}, {}", chosen.shown, chosen.why))];
    checks.extend(settings(app));
    checks.extend(doctor::place(&chosen.location, open));
    match app.session() {
        Ok(session) => {
            checks.push(Check::ok("open", "it opens"));
            checks.extend(doctor::ledger(session));
        }
        Err(fault) => {
            let problem = app.problem(fault);
            checks.push(Check::fail("open", problem.message, "what is above says why"));
        }
    }
    let worst = checks.iter().map(|check| check.health).max().unwrap_or(Health::Ok);
    let shown = &chosen.shown;
    // What is to be pasted asks the ledger that was asked here.
    let program = app.problem_context().command::<&str>(&[]);
    for check in &mut checks {
        check.advice =
            check.advice.replace("scalectl ", &format!("{} ", shell_line(&program))).into();
    }
    let mut answer = match worst {
        Health::Ok => Answer::ok(),
        Health::Warn => Answer::failed(
            problem(&checks, worst, "doctor_warns", Exit::Attention)
                .hint("what to do is in the last column"),
        ),
        Health::Fail => Answer::failed(
            problem(&checks, worst, "ledger_unhealthy", Exit::LedgerUnusable)
                .hint("what to do is in the last column"),
        ),
    };
    let mut table = Table::new([
        Column::left("CHECK"),
        Column::left("STATE"),
        Column::left("FOUND").wraps(),
        Column::left("DO"),
    ]);
    for check in &checks {
        table.row([
            Cell::new(check.name),
            Cell::new(check.health.as_str()),
            Cell::new(&check.found),
            Cell::new(&check.advice),
        ]);
    }
    let rows: Vec<_> = checks
        .iter()
        .map(|check| {
            json!({
                "check": check.name,
                "state": check.health.as_str(),
                "found": check.found,
                "advice": check.advice,
            })
        })
        .collect();
    answer = answer.noun("checks", &rows).line(format!("ledger {shown}")).table(table);
    for check in checks.iter().filter(|check| check.health != Health::Ok) {
        answer = answer.name(check.name);
    }
    Ok(answer)
}

/// Which files of this host say how things are done here.
fn settings(app: &App) -> Vec<Check> {
    let Ok(folder) = app.config_dir() else {
        let found = "no settings of this host: neither HOME nor XDG_CONFIG_HOME is set";
        return vec![Check::ok("config", found)];
    };
    let seen = |name: &str| {
        let file = folder.join(name);
        let shown = file.display().to_string();
        if file.exists() { shown } else { format!("{shown}: not there") }
    };
    let config = match app.ledger_names() {
        Ok(names) if names.is_empty() => Check::ok("config", seen("config.toml")),
        Ok(names) => {
            let found = format!("{}: {}", seen("config.toml"), counted(names.len(), "name"));
            Check::ok("config", found)
        }
        Err(fault) => {
            let advice = "mend the file; it has [ledgers], and under it NAME = \"PATH or address\"";
            Check::warn("config", app.problem(fault).message, advice)
        }
    };
    let mut checks = vec![config, Check::ok("actuators", seen("actuators.toml"))];
    checks.extend(told(&folder.join("config.toml")));
    checks
}

/// Who is told of what on this host; none where nobody is.
fn told(file: &Path) -> Option<Check> {
    match NotifySettings::read(file) {
        Ok(None) => None,
        Ok(Some(settings)) => {
            let (program, topics) = (settings.program().display(), settings.topics().join(", "));
            Some(Check::ok("notify", format!("{program} is told of {topics}")))
        }
        Err(error) => {
            let advice = "mend [notify] in the file; until then nobody is told";
            Some(Check::warn("notify", error.to_string(), advice))
        }
    }
}

fn problem(checks: &[Check], worst: Health, code: &'static str, exit: Exit) -> Problem {
    let ill: Vec<&Check> = checks.iter().filter(|check| check.health != Health::Ok).collect();
    let are = if ill.len() == 1 { "is" } else { "are" };
    let text = format!("{} of {} checks {are} not well", ill.len(), checks.len());
    ill.iter()
        .filter(|check| check.health == worst)
        .take(10)
        .fold(Problem::new(code, exit, text), |problem, check| {
            problem.fact(check.name, check.found.clone())
        })
}
