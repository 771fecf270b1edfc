//! `approval`: what waits for a person, and the answers.

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::{Value, json};

use super::app::App;
use super::exit::Exit;
use super::fault::Fault;
use super::hold::Why;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::problem::Problem;
use super::sign::SignArgs;
use super::table::{Cell, Column, Table, Tone};
use super::view;
use crate::domain::id::ExecutionKey;
use crate::domain::scale::consent::{ApprovalStatus, approval_id, approval_status};
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::passage::newest_reading;
use crate::domain::scale::provenance::Provenance;
use crate::domain::time::Timestamp;
use crate::ops::approval::{approval_answer, approval_key, approvals, read_for_answer};

pub(super) const NOUN: Noun = Noun {
    name: "approval",
    group: "People",
    about: "Wishes that wait for a colleague: list, show, grant, deny",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// List what waits for an answer
    List {
        /// Those that were answered or are over, too
        #[arg(long)]
        all: bool,
        /// Exit 26 while one waits that may still be answered
        #[arg(long)]
        check: bool,
    },
    /// Show what is asked, what runs now, and what would be agreed to
    Show(NameArgs),
    /// Agree: it may be carried out, while the count is what it was asked about
    Grant(AnswerArgs),
    /// Refuse, for good: that key never runs. A wish under another key asks anew
    Deny(AnswerArgs),
}

#[derive(Args)]
struct NameArgs {
    /// The approval (a-…), or the key or SERVICE@REVISION of its wish
    #[arg(value_name = "APPROVAL|KEY")]
    name: String,
}

#[derive(Args)]
struct AnswerArgs {
    #[command(flatten)]
    what: NameArgs,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    sign: SignArgs,
}

impl NameArgs {
    fn key(&self, app: &mut App) -> Result<ExecutionKey, Fault> {
        match self.name.strip_prefix("a-") {
            Some(rest) if rest.len() == 10 && rest.bytes().all(|b| b.is_ascii_hexdigit()) => {
                Ok(approval_key(app.session()?, &self.name)?)
            }
            Some(_) | None => app.key(&self.name),
        }
    }
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::List { all, check } => list(app, all, check),
        Verb::Show(args) => show(&args, app),
        Verb::Grant(args) => answer(&args, app, true),
        Verb::Deny(args) => answer(&args, app, false),
    }
}

/// What is known of somebody beside the claim.
pub(super) fn known_as(by: &Provenance) -> String {
    let mut known = format!("os {}@{}", by.os_user, by.host);
    if let Some(role) = &by.db_role {
        known.extend([", db role ", role]);
    }
    if let Some(signer) = &by.signed_by {
        known.extend([", signature ", &signer.principal, " (", &signer.fingerprint, ")"]);
    }
    if let Some(url) = &by.run_url {
        known.extend([", ", url]);
    }
    known
}

fn until_of(execution: &Execution) -> Option<Timestamp> {
    match &execution.phase {
        Phase::Proposed { until } => Some(*until),
        _ => None,
    }
}

fn view_of(execution: &Execution, now: Timestamp) -> Value {
    json!({
        "approval_id": approval_id(execution.key()),
        "status": approval_status(execution, now).map(ApprovalStatus::as_str),
        "service": execution.intent.service,
        "intent_revision": execution.revision(),
        "execution_key": execution.key(),
        "wish_digest": execution.intent.wish.digest(),
        "base_replicas": execution.asked.as_ref().map(|asked| asked.base),
        "desired_replicas": execution.desired(),
        "reason": execution.intent.wish.reason,
        "proposed_by": execution.put_by,
        "asked_at": execution.put_at,
        "until": until_of(execution),
        "refused": execution.asked.as_ref().map(|asked| &asked.refused),
        "approval": execution.approval(),
    })
}

fn list(app: &mut App, all: bool, check: bool) -> Outcome {
    let session = app.session()?;
    let now = session.now();
    let found = approvals(session, all)?;
    let mut table = Table::new([
        Column::left("APPROVAL"),
        Column::left("STATUS"),
        Column::left("SERVICE"),
        Column::right("REV"),
        Column::right("FROM"),
        Column::right("TO"),
        Column::left("BY"),
        Column::left("UNTIL"),
        Column::left("WHY").wraps(),
    ]);
    let pending =
        |execution: &&Execution| approval_status(execution, now) == Some(ApprovalStatus::Pending);
    let waiting = found.iter().filter(pending).count();
    let mut answer =
        if check && waiting > 0 { Answer::failed(waits(waiting, app)) } else { Answer::ok() };
    let mut rows = Vec::new();
    for execution in &found {
        let status = approval_status(execution, now);
        let tone = match status {
            Some(ApprovalStatus::Pending) => Tone::Warn,
            _ => Tone::Plain,
        };
        let id = approval_id(execution.key());
        table.row([
            Cell::new(&id),
            Cell::maybe(status.map(ApprovalStatus::as_str)).tone(tone),
            Cell::new(&execution.intent.service),
            Cell::new(execution.revision()),
            Cell::maybe(execution.asked.as_ref().map(|asked| asked.base)),
            Cell::new(execution.desired()),
            Cell::new(&execution.put_by.actor),
            Cell::maybe(until_of(execution)),
            Cell::new(execution.intent.wish.reason.as_str()),
        ]);
        rows.push(view_of(execution, now));
        answer = answer.name(id.as_str());
    }
    let answer = answer.noun("approvals", &rows);
    let none = if all { "no approval was ever asked for" } else { "no approval is asked for" };
    Ok(answer.table_or(table, none))
}

/// What a check says while somebody waits for an answer.
fn waits(count: usize, app: &App) -> Problem {
    let context = app.problem_context();
    let what = view::number(count, "wish waits for a colleague", "wishes wait for a colleague");
    Problem::new("unanswered", Exit::Attention, what)
        .hint("look at each, and answer it, with")
        .run(context.command(&["approval", "show", "APPROVAL"]))
        .run(context.command(&["approval", "grant", "APPROVAL", "--reason", "TEXT"]))
}

fn show(args: &NameArgs, app: &mut App) -> Outcome {
    let key = args.key(app)?;
    let session = app.session()?;
    let (_, execution) = session.load(&key)?;
    let status = approval_status(&execution, session.now())
        .ok_or_else(|| Fault::usage("not_a_proposal", format!("{key} never waited for anybody")))?;
    if status == ApprovalStatus::Pending {
        read_for_answer(session, &key)?;
    }
    let (state, execution) = session.load(&key)?;
    let now = session.now();
    let by = session.by.clone();
    let id = approval_id(&key);
    let base = execution.asked.as_ref().map_or_else(|| "?".to_owned(), |it| it.base.to_string());
    let name = format!("{}@{}", execution.intent.service, execution.revision());
    let mut answer = Answer::ok()
        .whole_noun("approval", view_of(&execution, now))
        .name(id.as_str())
        .line(format!("{id}   {name}   {base} → {}   {}", execution.desired(), status.as_str()))
        .line(format!(
            "  proposed by   {} (claim) · {}",
            execution.put_by.actor,
            known_as(&execution.put_by)
        ))
        .line(format!("  reason        {}", execution.intent.wish.reason.as_str()));
    answer.current = view::current(&state.head);
    if let Some(reading) = newest_reading(&state.head) {
        answer = answer.line(format!(
            "  read          {}, {} ago",
            view::reading_text(&reading),
            now.since(reading.read_at)
        ));
    }
    if let Some(asked) = &execution.asked {
        let rules: Vec<&str> = asked.refused.rules.iter().map(|rule| rule.id.as_str()).collect();
        let rules =
            if rules.is_empty() { "no rule permits it".to_owned() } else { rules.join(", ") };
        answer = answer
            .line(format!("  rule          {rules}  ({})", asked.refused.action.as_str()))
            .line(format!("  holds         only while the count is {}", asked.base));
    }
    if let Some(until) = until_of(&execution) {
        answer = answer.line(format!("  open until    {until}"));
    }
    if let Some(approval) = execution.approval() {
        answer = answer.line(format!(
            "  approved by   {} (claim) · {}: {}",
            approval.by.actor,
            known_as(&approval.by),
            approval.reason.as_str()
        ));
    }
    let (evidence, ..) = by.compared(&execution.put_by);
    let may =
        if by.is_other_person(&execution.put_by) { "another person than" } else { "the same as" };
    Ok(answer.line(format!(
        "  you are       {}: {may} the proposer, by {}",
        known_as(&by),
        evidence.as_str()
    )))
}

fn answer(args: &AnswerArgs, app: &mut App, grants: bool) -> Outcome {
    let reason = args.why.detail(app)?;
    let key = args.what.key(app)?;
    super::install_signals()?;
    let sign_with = args.sign.key(app);
    let (report, by) =
        approval_answer(app.session()?, &key, grants, &reason, sign_with.as_deref())?;
    let mut answer = view::answer(app, &report, Exit::Ok);
    let name = format!("{}@{}", report.execution.intent.service, report.execution.revision());
    let now = app.session()?.now();
    answer = answer.noun("approval", &view_of(&report.execution, now));
    // What was not answered by this line was answered by somebody else.
    if report.recorded {
        let word = if grants { "agreed to by" } else { "refused by" };
        let signed = if by.signed_by.is_some() { "" } else { " · not signed" };
        let known = known_as(&by);
        answer = answer.line(format!("  {word:<13} {} (claim) · {known}{signed}", by.actor));
    }
    Ok(if grants {
        answer.line(format!(
            "  {name} is accepted; it runs when its command is run again, or by reconcile"
        ))
    } else {
        answer
            .line(format!("  {name} is refused, for good: its key never runs"))
            .line("  the same wish under another key, or without one, asks anew".to_owned())
    })
}
