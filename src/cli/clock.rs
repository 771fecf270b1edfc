//! `clock`: the way out of a time mark that no clock has reached.

use clap::{ArgMatches, FromArgMatches as _, Subcommand};
use serde_json::json;

use super::app::App;
use super::intent::reason;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use crate::domain::id::ServiceName;
use crate::domain::scale::result::Detail;
use crate::ops::clock_accept::clock_accept;

pub(super) const NOUN: Noun = Noun {
    name: "clock",
    group: "Ledger",
    about: "Take this clock for right after a host with a wrong one has written",
    augment: ClockVerb::augment_subcommands,
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum ClockVerb {
    /// Take the time of a service back to now, where it is more than 300 s ahead: look at this
    /// clock first
    Accept {
        /// The service
        #[arg(required_unless_present = "all")]
        service: Option<ServiceName>,
        /// Every service of the ledger
        #[arg(long, conflicts_with = "service")]
        all: bool,
        /// Why [env: SCALECTL_REASON]
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let ClockVerb::Accept { service, all: _, reason: why } =
        ClockVerb::from_arg_matches(matches).map_err(super::parse_fault)?;
    let reason = Detail::cut(reason(why.as_deref(), app)?.as_str());
    let session = app.session()?;
    let services = match service {
        Some(service) => vec![service],
        None => session.service_names()?,
    };
    let mut rows = Vec::new();
    let mut answer = Answer::ok();
    for service in services {
        let done = clock_accept(session, &service, &reason)?;
        answer = match (done.from, done.mark) {
            (Some(from), Some(mark)) => {
                answer.changed = true;
                answer.line(format!("{service}: time goes on from {mark}, it was at {from}"))
            }
            (_, mark) => {
                let mark = mark.map_or_else(|| "nothing".to_owned(), |mark| mark.to_string());
                answer.line(format!("{service}: its newest write is of {mark}, nothing to accept"))
            }
        };
        answer = answer.name(service.as_str());
        let accepted = done.from.is_some();
        rows.push(json!({
            "service": done.service,
            "accepted": accepted,
            "was": done.from,
            "mark": done.mark,
        }));
    }
    let recorded = if answer.changed { Recorded::Yes } else { Recorded::No };
    Ok(answer.recorded(recorded).noun("clock", &rows))
}
