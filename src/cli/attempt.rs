//! `attempt`: what the last call of a key was and said.

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::json;

use super::app::App;
use super::intent::KeyArg;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::view;
use crate::domain::scale::event::EventBody;
use crate::ledger::StoredEvent;

pub(super) const NOUN: Noun = Noun {
    name: "attempt",
    group: "Step by step",
    about: "What the calls of a wish were, and what they said",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Show the attempts of a key
    Show(ShowArgs),
}

#[derive(Args)]
struct ShowArgs {
    #[command(flatten)]
    key: KeyArg,
    /// Print what the last call wrote to stderr; kept on the host that made the call
    #[arg(long)]
    stderr: bool,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Show(args) => show(&args, app, out),
    }
}

fn show(args: &ShowArgs, app: &mut App, _out: &mut Out) -> Outcome {
    let key = args.key.resolve(app)?;
    let session = app.session()?;
    let (_, execution) = session.load(&key)?;
    let events = session.events_of(&key)?;
    let calls: Vec<_> = events.iter().filter_map(call_of).collect();
    let attempts: Vec<_> = calls
        .iter()
        .map(|(call, at)| {
            let stderr = session.kept_stderr(call.call_id.as_str());
            json!({
                "attempt": call.attempt,
                "call_id": call.call_id,
                "started_at": at,
                "deadline_at": call.deadline_at,
                "holder": call.holder,
                "base": call.base,
                "stderr": stderr,
            })
        })
        .collect();
    let mut answer = Answer::ok()
        .whole_noun("execution", view::execution(&execution))
        .noun("attempts", &attempts)
        .name(key.as_str());
    if args.stderr {
        let last = calls.last().and_then(|(call, _)| session.kept_stderr(call.call_id.as_str()));
        let Some(text) = last else {
            return Ok(answer.warning("no_stderr", "no stderr of this key is kept on this host"));
        };
        // Each line is a line of the answer, which escapes what else is in it.
        return Ok(text.lines().fold(answer, Answer::line));
    }
    answer = answer.line(view::headline(&execution));
    for (call, at) in &calls {
        answer = answer.line(format!(
            "  attempt {}  started {at} on {} (pid {})",
            call.attempt, call.holder.host, call.holder.pid
        ));
    }
    if let Some(recorded) = &execution.result {
        answer = answer.line(format!(
            "  result     {} of attempt {}: {}",
            format!("{:?}", recorded.result.state()).to_lowercase(),
            recorded.attempt,
            recorded.result.detail.as_str()
        ));
    }
    Ok(answer)
}

fn call_of(
    event: &StoredEvent,
) -> Option<(crate::domain::scale::attempt::Call, crate::domain::time::Timestamp)> {
    let body: EventBody = serde_json::from_value(event.body.clone()).ok()?;
    match body {
        EventBody::AttemptStarted { call, .. } => Some((call, event.at)),
        _ => None,
    }
}
