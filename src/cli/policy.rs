//! `policy`: put, show, diff, lint, test, template.

mod diff;

use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::json;

use super::app::App;
use super::args::whole_number;
use super::exit::Exit;
use super::fault::Fault;
use super::hold::Why;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::problem::Problem;
use super::record::read_bounded;
use super::scale::wish_of;
use super::table::{Cell, Column, Table, Tone};
use crate::domain::id::Replicas;
use crate::domain::near::nearest;
use crate::domain::scale::policy::PolicyAction;
use crate::ops::policy_lint::policy_lint;
use crate::ops::policy_put::policy_put;
use crate::ops::policy_test::{Question, Tested, policy_test};
use crate::policy::{PolicySource, RuleOutcome, template};

pub(super) const NOUN: Noun = Noun {
    name: "policy",
    group: "Set up",
    about: "Who may do what: put, show, diff, lint, test, template",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Check a policy and let it hold from now on
    Put(PutArgs),
    /// Show the policy that holds
    Show,
    /// What another policy would change: its rules, and answers to what was asked lately
    Diff(diff::DiffArgs),
    /// Check a policy without a ledger: 2 invalid, 26 valid and most likely not meant
    Lint(LintArgs),
    /// Ask the policy about a wish, and see every rule
    Test(TestArgs),
    /// Print a policy to start from
    Template(TemplateArgs),
}

#[derive(Args)]
struct PutArgs {
    /// The Cedar files, or - for stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The digest that you believe holds, or its beginning; empty for none
    #[arg(long, value_name = "DIGEST")]
    expect_digest: Option<String>,
    /// It does not let you replace it again, and is meant
    #[arg(long)]
    allow_lockout: bool,
    #[command(flatten)]
    why: Why,
}

#[derive(Args)]
struct LintArgs {
    /// The Cedar files, or - for stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Args)]
struct TestArgs {
    /// The service and the count that would be wished
    #[arg(value_name = "NAME=N")]
    wish: String,
    /// Another action than the ones that the change asks for
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// The count to take for the current one
    #[arg(long, value_name = "N", value_parser = whole_number)]
    current: Option<u64>,
    /// The operating system's user to ask for
    #[arg(long, value_name = "NAME")]
    os_user: Option<String>,
}

#[derive(Args)]
struct TemplateArgs {
    /// Which; all names without one
    name: Option<String>,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Put(args) => put(&args, app),
        Verb::Show => show(app),
        Verb::Diff(args) => diff::diff(&args, app),
        Verb::Lint(args) => linted(&args),
        Verb::Test(args) => test(&args, app),
        Verb::Template(args) => print_template(&args, app),
    }
}

fn put(args: &PutArgs, app: &mut App) -> Outcome {
    let reason = args.why.detail(app)?;
    let sources = sources_of(&args.files)?;
    let expected = args.expect_digest.as_deref();
    let done = policy_put(app.session()?, &sources, expected, args.allow_lockout, &reason)?;
    let mut answer = Answer::ok()
        .recorded(if done.changed { Recorded::Yes } else { Recorded::No })
        .noun("policy", &json!({"digest": done.policy.digest, "rules": done.policy.rules}))
        .name(done.policy.digest.to_string())
        .line(format!(
            "policy {}  {}{}",
            done.policy.digest,
            super::view::counted(done.policy.rules.len(), "rule"),
            if done.changed { "" } else { "  (held already)" }
        ));
    answer.changed = done.changed;
    Ok(answer)
}

/// What `policy put` would say of files, wherever they would be put.
fn linted(args: &LintArgs) -> Outcome {
    let (policy, found) = policy_lint(&sources_of(&args.files)?)?;
    let mut answer = Answer::ending(if found.is_empty() { Exit::Ok } else { Exit::Attention })
        .noun("policy", &json!({"digest": policy.digest, "rules": policy.rules}))
        .name(policy.digest.to_string())
        .line(format!(
            "policy {}  {}, {}",
            policy.digest,
            super::view::counted(policy.rules.len(), "rule"),
            super::view::counted(found.len(), "finding")
        ));
    for finding in found {
        answer = answer.warning(finding.code, finding.text);
    }
    Ok(answer)
}

/// The policy that is in files.
fn sources_of(files: &[PathBuf]) -> Result<Vec<PolicySource>, Fault> {
    let mut sources = Vec::new();
    for file in files {
        let bytes = read_bounded(file)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Fault::usage("policy_invalid", format!("{} is not UTF-8", file.display()))
        })?;
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        sources.push(PolicySource { file: name, text });
    }
    Ok(sources)
}

fn show(app: &mut App) -> Outcome {
    let Some(policy) = app.session()?.stored_policy()? else {
        return Ok(Answer::ok().noun("policy", &json!(null)).line(
            "no policy is set: whatever touches a target is denied (scalectl policy template)",
        ));
    };
    let mut answer = Answer::ok()
        .noun(
            "policy",
            &json!({
                "digest": policy.digest, "rules": policy.rules, "sources": policy.sources,
            }),
        )
        .name(policy.digest.to_string())
        .line(format!("// digest {}", policy.digest));
    for line in policy.text().trim_end().lines() {
        answer = answer.line(line);
    }
    Ok(answer)
}

fn test(args: &TestArgs, app: &mut App) -> Outcome {
    let (service, count) = wish_of(&args.wish)?;
    let number = |count| {
        Replicas::new(count).map_err(|error| Fault::usage("invalid_replicas", error.to_string()))
    };
    let action = match args.action.as_deref() {
        None => None,
        Some(word) => {
            Some(PolicyAction::ALL.into_iter().find(|action| action.as_str() == word).ok_or_else(
                || Fault::usage("invalid_action", format!("{word:?} is no action of a policy")),
            )?)
        }
    };
    let question = Question {
        service,
        desired: number(count)?,
        current: args.current.map(number).transpose()?,
        action,
        os_user: args.os_user.clone(),
    };
    let Tested { current, explained } = policy_test(app.session()?, &question)?;
    let mut table = Table::new([
        Column::left("ACTION"),
        Column::left("RULE"),
        Column::left("EFFECT"),
        Column::left("APPLIES"),
        Column::left("WHERE").shrinks(),
    ]);
    let mut views = Vec::new();
    for explanation in &explained {
        let action = explanation.answer.action.as_str();
        for trace in &explanation.rules {
            let (applies, error) = match &trace.outcome {
                RuleOutcome::Applies => ("yes", None),
                RuleOutcome::DoesNotApply => ("no", None),
                RuleOutcome::Fails { error } => ("fails", Some(error)),
            };
            table.row([
                Cell::new(action),
                Cell::new(&trace.rule.id),
                Cell::new(&trace.rule.effect),
                Cell::new(applies),
                Cell::new(format!(
                    "{}:{}{}",
                    trace.rule.file,
                    trace.rule.line,
                    error.map_or_else(String::new, |error| format!("  {error}"))
                )),
            ]);
            views.push(json!({
                "action": action, "rule": trace.rule, "applies": applies, "error": error,
            }));
        }
    }
    let refused = explained.iter().find(|explanation| !explanation.answer.allowed);
    let answer = match refused {
        None => Answer::ok(),
        Some(refused) => Answer::failed(
            Problem::new(
                "denied",
                Exit::Denied,
                format!(
                    "policy would not let {} {} {}",
                    app.provenance()?.actor,
                    refused.answer.action.as_str(),
                    args.wish
                ),
            )
            .fact(
                "rules",
                if refused.answer.rules.is_empty() {
                    "none permits it".to_owned()
                } else {
                    let names: Vec<String> = refused
                        .answer
                        .rules
                        .iter()
                        .map(|rule| format!("{} ({}:{})", rule.id, rule.file, rule.line))
                        .collect();
                    names.join(", ")
                },
            ),
        ),
    };
    let decisions: Vec<_> = explained.iter().map(|explanation| &explanation.answer).collect();
    let answer = with_question(answer.noun("decisions", &decisions), &question, current);
    let answer = answer.noun("rules", &views);
    Ok(if table.is_empty() {
        answer.line("no policy is set")
    } else {
        answer.table(table).line(if refused.is_none() { "allowed" } else { "denied" })
    })
}

/// What was asked, and whether it is a change at all.
fn with_question(answer: Answer, question: &Question, current: Option<Replicas>) -> Answer {
    let answer = answer
        .noun("asked", &json!({"current": current, "desired": question.desired}))
        .line(asked_about(question, current));
    if current == Some(question.desired) && question.action.is_none() {
        let text = "nothing would change: ask about another count with --current";
        return answer.warning("no_change", text);
    }
    answer
}

/// What was asked, for people: from which count to which.
fn asked_about(question: &Question, current: Option<Replicas>) -> String {
    let from = current.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let whence = match (question.current, current) {
        (Some(_), _) => "current as said",
        (None, Some(_)) => "current as last read; another: --current N",
        (None, None) => "current not known; say it: --current N",
    };
    format!("{} {from} → {} ({whence})", question.service, question.desired)
}

fn print_template(args: &TemplateArgs, app: &App) -> Outcome {
    let templates = template::templates(&app.provenance()?.os_user);
    let Some(name) = &args.name else {
        let mut table = Table::new([Column::left("NAME"), Column::left("FOR").wraps()]);
        let mut answer = Answer::ok();
        for template in &templates {
            table.row([Cell::new(template.name).tone(Tone::Plain), Cell::new(template.summary)]);
            answer = answer.name(template.name);
        }
        return Ok(answer.table(table));
    };
    let found = templates.iter().find(|template| template.name == name.as_str());
    let found = found.ok_or_else(|| {
        let what = format!("there is no template {name:?}");
        let problem = Problem::new("template_not_found", Exit::NotFound, what);
        let names = templates.iter().map(|template| template.name);
        let problem = match nearest(name, names) {
            Some(near) => problem.fact("did you mean", near),
            None => problem,
        };
        let list = app.problem_context().command(&["policy", "template"]);
        Fault::from(problem.hint("those that there are are listed by").run(list))
    })?;
    let mut answer = Answer::ok()
        .noun("template", &json!({"name": found.name, "text": found.text}))
        .name(found.name);
    for line in found.text.lines() {
        answer = answer.line(line);
    }
    Ok(answer)
}
