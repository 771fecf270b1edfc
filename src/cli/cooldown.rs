//! `cooldown`: how long a service still cools.

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::json;

use super::app::App;
use super::exit::Exit;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::view;
use crate::domain::id::ServiceName;
use crate::domain::scale::cooldown::CooldownStatus;
use crate::ops::cooldown::cooldown;

pub(super) const NOUN: Noun = Noun {
    name: "cooldown",
    group: "Every day",
    about: "How long a service still cools: 0 clear, 14 active, 25 unknown",
    augment: CooldownArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct CooldownArgs {
    /// The service
    service: ServiceName,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = CooldownArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let service = args.service;
    app.session()?.tell_standing()?;
    let (status, head, now) = cooldown(app.session()?, &service)?;
    let configured = head.registration.as_ref().and_then(|registration| registration.cooldown_ms);
    let (exit, state, last, until, line) = match status {
        CooldownStatus::Clear { last } => {
            let line = match (&last, configured) {
                (_, None) => format!("{service}: clear, it has no cooldown"),
                (None, Some(_)) => format!("{service}: clear, it was never changed"),
                (Some(last), Some(cooldown)) => format!(
                    "{service}: clear since {} (changed by {service}@{}, cools for {cooldown})",
                    last.ended_at.plus(cooldown),
                    last.intent_revision
                ),
            };
            (Exit::Ok, "clear", last, None, line)
        }
        CooldownStatus::Active { last, cooldown, until } => {
            let line = format!(
                "{service}: cooling until {until}, in {} (scaled {} by {service}@{} of {}, cools \
                 for {cooldown})",
                until.since(now),
                last.direction.as_str(),
                last.intent_revision,
                last.actor
            );
            (Exit::Cooldown, "active", Some(last), Some(until), line)
        }
        CooldownStatus::Unknown { by } => (
            Exit::FactUnknown,
            "unknown",
            head.last_effect.clone(),
            None,
            format!("{service}: unknown, because nobody knows what became of {service}@{by}"),
        ),
    };
    let mut answer = Answer::ending(exit)
        .noun(
            "cooldown",
            &json!({
                "service": service,
                "state": state,
                "cooldown_ms": configured,
                "until": until,
                "remaining_ms": until.map(|until| until.since(now)),
                "last": last,
            }),
        )
        .name(service.as_str())
        .line(line);
    answer.current = view::current(&head);
    Ok(answer)
}
