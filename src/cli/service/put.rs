//! `service put`: by flags or by a document, and the difference that it made.

use std::fmt::Display;
use std::path::Path;

use clap::ArgMatches;
use serde_json::json;

use super::change::{PutArgs, change_of, said_beside};
use super::differences::differences;
use crate::cli::app::App;
use crate::cli::fault::Fault;
use crate::cli::noun::Outcome;
use crate::cli::output::{Answer, Recorded};
use crate::cli::problem::Problem;
use crate::cli::record::read_bounded;
use crate::cli::{upon, view};
use crate::domain::id::{Replicas, ServiceName};
use crate::domain::scale::authority::Retirement;
use crate::domain::scale::service::{Binding, Registration};
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::Timestamp;
use crate::ledger::ExecutionFilter;
use crate::ops::OpError;
use crate::ops::service_put::{Document, Registered, ServiceChange, registration, service_put};

pub(super) fn put(args: &PutArgs, matches: &ArgMatches, app: &mut App) -> Outcome {
    let (name, change, expected) = if let Some(file) = &args.file {
        if let Some(flag) = matches.subcommand_matches("put").and_then(said_beside) {
            let text = format!("a document says all settings itself, and {flag} is said beside it");
            let hint = format!("leave {flag} away, or change the document");
            return Err(Problem::usage("contradiction", text).hint(hint).into());
        }
        told_by(file, args)?
    } else {
        let name = args.name.clone().expect("BUG: clap requires it without --file");
        (name, change_of(&args.settings)?, args.expect_revision)
    };
    let done = service_put(app.session()?, &name, &change, expected)?;
    answer(&name, &done, app)
}

/// What a document says, with the name and the premise of the line.
fn told_by(
    file: &Path,
    args: &PutArgs,
) -> Result<(ServiceName, ServiceChange, Option<u64>), Fault> {
    let bytes = read_bounded(file)?;
    let Document { service, expected, change } = registration(&bytes).map_err(|source| {
        OpError::Document { what: format!("the registration in {}", file.display()), source }
    })?;
    let twice = |what: &str, line: &dyn Display, document: &dyn Display| {
        let problem = Problem::usage(
            "contradiction",
            format!("the line says {what} {line}, and the document {document}"),
        );
        Fault::from(problem.hint("say it once, or say the same"))
    };
    let name = match (&args.name, service) {
        (Some(line), Some(own)) if *line != own => return Err(twice("service", line, &own)),
        (Some(name), _) => name.clone(),
        (None, Some(name)) => name,
        (None, None) => {
            let text = "the document names no service, and neither does the line";
            return Err(Fault::usage("service_unclear", text));
        }
    };
    match (args.expect_revision, expected) {
        (Some(line), Some(own)) if line != own => Err(twice("unit revision", &line, &own)),
        (line, own) => Ok((name, change, line.or(own))),
    }
}

fn answer(name: &ServiceName, done: &Registered, app: &mut App) -> Outcome {
    let mut answer = Answer::ok()
        .recorded(if done.changed { Recorded::Yes } else { Recorded::No })
        .whole_noun("service", view::service(&done.head))
        .name(name.as_str());
    answer.changed = done.changed;
    answer.current = view::current(&done.head);
    if done.changed && done.before.is_some() {
        for (code, text) in stranded(name, &done.head, app)? {
            answer = answer.warning(code, text);
        }
    }
    let Some(registration) = &done.head.registration else {
        return Ok(answer);
    };
    let bounds = |it: &Registration| (it.min_replicas, it.max_replicas);
    if done.before.as_ref().map(bounds) != Some(bounds(registration)) {
        for text in outside(registration, &done.head, app.session()?.now()) {
            answer = answer.warning("outside_bounds", text);
        }
    }
    let after = json!(registration);
    answer = match &done.before {
        None => answer.line(format!(
            "{} registered ({}, {} to {} replicas, writer {})",
            name,
            registration.mode.as_str(),
            registration.min_replicas,
            registration.max_replicas,
            registration.writer
        )),
        Some(_) if !done.changed => answer.line(format!("{name} is registered so already")),
        Some(before) => {
            let mut answer =
                answer.line(format!("{}  registration {}", name, registration.unit_revision));
            for line in differences(&json!(before), &after) {
                answer = answer.line(format!("  {line}"));
            }
            answer
        }
    };
    if let Some(retired) = done.revives.as_ref().filter(|_| done.changed) {
        let Retirement { at, actor, reason } = retired;
        let text = format!("  it lives again: {actor} had retired it at {at}: {reason}");
        answer = answer.line(text).noun("revives", retired);
    }
    let before = done.before.as_ref().and_then(upon::settled);
    if done.changed && before != upon::settled(registration) {
        let keeping = upon::keeping(registration, None, &app.problem_context());
        answer = keeping.lines().into_iter().fold(answer, Answer::line);
    }
    Ok(answer)
}

/// What the bounds no longer allow: they refuse wishes, and move no count.
fn outside(registration: &Registration, head: &ServiceHead, now: Timestamp) -> Vec<String> {
    let (service, min, max) =
        (&registration.service, registration.min_replicas, registration.max_replicas);
    let beyond = |count: Replicas| match count {
        _ if count > max => Some(format!("above its max {max}")),
        _ if count < min => Some(format!("below its min {min}")),
        _ => None,
    };
    let is_ours = registration.mode.record_mode().is_some();
    let runs = head.binding.as_ref().and_then(Binding::known_replicas).filter(|_| is_ours);
    let runs = runs.and_then(|count| Some((count, beyond(count)?))).map(|(count, beyond)| {
        let way = if registration.scaling.is_some() {
            "the next tick that sees a sample brings it back"
        } else {
            "it stays there until somebody wishes another"
        };
        format!("the count of {service} was last read as {count}, {beyond}: {way}")
    });
    let pinned = head.authority.pinned_at(now).map(|pinned| pinned.replicas);
    let pinned = pinned.and_then(|count| Some((count, beyond(count)?))).map(|(count, beyond)| {
        format!("{service} is pinned to {count}, {beyond}: no pass can bring it back to that")
    });
    runs.into_iter().chain(pinned).collect()
}

/// The wishes that were made for the settings before and can never start any more.
fn stranded(
    service: &ServiceName,
    head: &ServiceHead,
    app: &mut App,
) -> Result<Vec<(&'static str, String)>, Fault> {
    let filter =
        ExecutionFilter { service: Some(service.clone()), unfinished: true, limit: Some(20) };
    let found = app.session()?.wishes(&filter)?;
    let said = found.iter().filter(|execution| execution.is_live()).filter_map(|execution| {
        let name = format!("{service}@{}", execution.revision());
        let end = upon::end_of_stranded(execution, head, &name)?;
        Some((
            "wish_stranded",
            format!("{name} was made for the settings before and cannot start any more: {end}"),
        ))
    });
    Ok(said.collect())
}
