//! `policy diff`: what another policy would change, before it holds.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::sources_of;
use crate::cli::app::App;
use crate::cli::exit::Exit;
use crate::cli::noun::Outcome;
use crate::cli::output::Answer;
use crate::cli::problem::Problem;
use crate::cli::table::{Cell, Column, Table, Tone};
use crate::domain::count::{counted, number};
use crate::ops::policy_diff::{Otherwise, PolicyDiff, RuleChange, policy_diff};

#[derive(Args)]
pub(super) struct DiffArgs {
    /// The Cedar files, or - for stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How many of the newest recorded decisions are asked again
    #[arg(long, value_name = "N", default_value_t = 100)]
    last: usize,
}

/// Exits 0 where the policy holds already, and 26 where it would change anything.
pub(super) fn diff(args: &DiffArgs, app: &mut App) -> Outcome {
    let sources = sources_of(&args.files)?;
    let found = policy_diff(app.session()?, &sources, args.last)?;
    let answer = if found.is_same() {
        Answer::ok().line(format!("policy {} holds already", found.after))
    } else {
        let mut put = vec!["policy".to_owned(), "put".to_owned()];
        put.extend(args.files.iter().map(|file| file.display().to_string()));
        let before = found.before.map_or_else(String::new, |digest| digest.to_string());
        put.extend([
            "--expect-digest".to_owned(),
            before,
            "--reason".to_owned(),
            "TEXT".to_owned(),
        ]);
        let words: Vec<&str> = put.iter().map(String::as_str).collect();
        let what = format!(
            "it is not the policy that holds: {}, and {} of the last {}",
            number(found.rules.len(), "rule differs", "rules differ"),
            found.otherwise.len(),
            counted(found.asked, "decision")
        );
        let problem = Problem::new("policy_differs", Exit::Attention, what)
            .hint("read what would change; what makes it hold is")
            .run(app.problem_context().command(&words));
        Answer::failed(problem)
    };
    Ok(shown(answer, &found))
}

fn shown(answer: Answer, found: &PolicyDiff) -> Answer {
    let rules: Vec<Value> = found.rules.iter().map(rule_view).collect();
    let decisions: Vec<Value> = found.otherwise.iter().map(otherwise_view).collect();
    let answer = answer
        .noun("digests", &json!({"before": found.before, "after": found.after}))
        .noun("rules", &rules)
        .noun("decisions", &decisions)
        .noun("asked", &found.asked)
        .name(found.after.to_string());
    let answer = if found.rules.is_empty() { answer } else { answer.table(rules_table(found)) };
    if found.otherwise.is_empty() { answer } else { answer.table(decisions_table(found)) }
}

fn rule_view(change: &RuleChange) -> Value {
    let (word, before, after) = change.parts();
    json!({
        "change": word,
        "id": before.or(after).map(|rule| &rule.id),
        "before": before.map(|rule| &rule.text),
        "after": after.map(|rule| &rule.text),
    })
}

fn rules_table(found: &PolicyDiff) -> Table {
    let mut table = Table::new([
        Column::left("RULE"),
        Column::left("CHANGE"),
        Column::left("EFFECT"),
        Column::left("WHERE").shrinks(),
    ]);
    for change in &found.rules {
        let (word, before, after) = change.parts();
        let shown = after.or(before).expect("BUG: a change has one of them");
        table.row([
            Cell::new(&shown.id),
            Cell::new(word).tone(Tone::Warn),
            Cell::new(&shown.effect),
            Cell::new(format!("{}:{}", shown.file, shown.line)),
        ]);
    }
    table
}

fn otherwise_view(one: &Otherwise) -> Value {
    json!({
        "position": one.position,
        "at": one.at,
        "service": one.service,
        "execution_key": one.key,
        "current": one.current,
        "desired": one.desired,
        "actor": one.actor,
        "before": one.before.as_str(),
        "after": one.after.as_str(),
        "rules": one.rules,
    })
}

fn decisions_table(found: &PolicyDiff) -> Table {
    let mut table = Table::new([
        Column::right("POS"),
        Column::left("WISH"),
        Column::left("BY"),
        Column::left("NOW"),
        Column::left("THEN"),
        Column::left("RULES").shrinks(),
    ]);
    for one in &found.otherwise {
        let from = one.current.map_or_else(|| "?".to_owned(), |count| count.to_string());
        let rules: Vec<&str> = one.rules.iter().map(|rule| rule.id.as_str()).collect();
        table.row([
            Cell::new(one.position),
            Cell::new(format!("{} {from} → {}", one.service, one.desired)),
            Cell::new(&one.actor),
            Cell::new(one.before.as_str()),
            Cell::new(one.after.as_str()).tone(Tone::Warn),
            Cell::new(if rules.is_empty() {
                "none permits it".to_owned()
            } else {
                rules.join(", ")
            }),
        ]);
    }
    table
}
