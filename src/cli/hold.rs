//! `hold`: nothing changes the count of a service for a time.

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::json;

use super::app::App;
use super::args::until;
use super::fault::Fault;
use super::intent::reason;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::table::{Cell, Column, Table};
use super::view;
use crate::domain::id::ServiceName;
use crate::domain::scale::intent::Reason;
use crate::domain::scale::result::Detail;
use crate::ops::lay::{Laid, hold};

pub(super) const NOUN: Noun = Noun {
    name: "hold",
    group: "People",
    about: "Let nothing but a broken glass change the count of a service for a time",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Hold the count of a service
    Set {
        /// The service
        name: ServiceName,
        /// When it ends by itself: an instant, or how long from now; at most a month
        #[arg(long, value_name = "T")]
        until: String,
        #[command(flatten)]
        why: Why,
    },
    /// End a hold before its time
    Lift {
        /// The service
        name: ServiceName,
        #[command(flatten)]
        why: Why,
    },
    /// List the holds and the overrides that are in force
    List,
}

/// Why somebody does something to a service.
#[derive(Debug, Clone, Args)]
pub(super) struct Why {
    /// Why [env: SCALECTL_REASON]
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

impl Why {
    /// The text; it must be there.
    pub(super) fn detail(&self, app: &App) -> Result<Detail, Fault> {
        Ok(Detail::cut(reason(self.reason.as_deref(), app)?.as_str()))
    }
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Set { name, until: word, why } => {
            let reason = why.detail(app)?;
            let session = app.session()?;
            let until = until(&word, session.now())?;
            let laid = hold(session, &name, Some(until), &reason)?;
            Ok(told(&name, &laid, &format!("held until {until}"), "is held so already"))
        }
        Verb::Lift { name, why } => {
            let reason = why.detail(app)?;
            let laid = hold(app.session()?, &name, None, &reason)?;
            Ok(told(&name, &laid, "no longer held", "is not held: there is nothing to lift"))
        }
        Verb::List => list(app),
    }
}

/// What came of something that is laid upon a service. `already` is said where nothing changed.
pub(super) fn told(name: &ServiceName, laid: &Laid, so: &str, already: &str) -> Answer {
    let mut answer = Answer::ok()
        .recorded(if laid.changed { Recorded::Yes } else { Recorded::No })
        .whole_noun("service", view::service(&laid.head))
        .name(name.as_str());
    answer.changed = laid.changed;
    answer.current = view::current(&laid.head);
    let line = if laid.changed { format!("{name}  {so}") } else { format!("{name} {already}") };
    answer.line(line)
}

fn list(app: &mut App) -> Outcome {
    let session = app.session()?;
    let now = session.now();
    let heads = session.heads()?;
    let mut table = Table::new([
        Column::left("SERVICE"),
        Column::left("WHAT"),
        Column::right("COUNT"),
        Column::left("UNTIL"),
        Column::left("BY"),
        Column::left("WHY").wraps(),
    ]);
    let mut rows = Vec::new();
    let mut answer = Answer::ok();
    for (name, head) in &heads {
        if let Some(hold) = head.authority.hold_at(now) {
            table.row([
                Cell::new(name),
                Cell::new("hold"),
                Cell::none(),
                Cell::new(hold.until),
                Cell::new(&hold.actor),
                Cell::new(&hold.reason),
            ]);
            rows.push(json!({"service": name, "kind": "hold", "hold": hold}));
            answer = answer.name(name.as_str());
        }
        if let Some(pinned) = head.authority.pinned_at(now) {
            let why = session.why_pinned(head)?;
            table.row([
                Cell::new(name),
                Cell::new("override"),
                Cell::new(pinned.replicas),
                Cell::new(pinned.until),
                Cell::new(&pinned.actor),
                Cell::maybe(why.as_ref().map(Reason::as_str)),
            ]);
            rows.push(json!({
                "service": name, "kind": "override", "override": pinned, "reason": why,
            }));
            answer = answer.name(name.as_str());
        }
    }
    let answer = answer.noun("holds", &rows);
    Ok(answer.table_or(table, "no count is held or pinned"))
}
