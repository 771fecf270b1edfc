//! `ledger`: copy it to another place, say whose signatures it takes, bring its tables up to date.

mod signers;

use clap::{ArgMatches, FromArgMatches as _, Subcommand};
use serde_json::json;

use super::app::App;
use super::intent::reason;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use crate::domain::scale::result::Detail;
use crate::ops::ledger_copy::{LedgerCopy, ledger_copy};
use crate::ops::ledger_migrate::ledger_migrate;

pub(super) const NOUN: Noun = Noun {
    name: "ledger",
    group: "Ledger",
    about: "Move the ledger, say whose signatures it takes, bring its tables up to this program",
    augment: LedgerVerb::augment_subcommands,
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum LedgerVerb {
    /// Move the ledger to another place or engine, and seal it where it was; the same line again
    /// goes on after a crash
    Copy {
        /// Where it is: a path, a name of config.toml, or an address [default: the chosen ledger]
        #[arg(long, value_name = "LEDGER")]
        from: Option<String>,
        /// Where it goes: the same forms
        #[arg(long, value_name = "LEDGER")]
        to: String,
        /// Why [env: SCALECTL_REASON]
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Whose signatures are taken, and whether nothing is taken without one
    #[command(subcommand, subcommand_required = true)]
    Signers(signers::SignersVerb),
    /// Bring the tables of an older ledger up to this program; older programs are refused after it
    Migrate,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    match LedgerVerb::from_arg_matches(matches).map_err(super::parse_fault)? {
        LedgerVerb::Copy { from, to, reason } => copy(app, from, &to, reason.as_deref()),
        LedgerVerb::Signers(verb) => signers::run(verb, app),
        LedgerVerb::Migrate => migrate(app),
    }
}

fn copy(app: &mut App, from: Option<String>, to: &str, why: Option<&str>) -> Outcome {
    if from.is_some() {
        app.globals.ledger = from;
    }
    let reason = Detail::cut(reason(why, app)?.as_str());
    let (to, to_shown) = app.place_of(to)?;
    let from_shown = app.session()?.identity().path.display().to_string();
    let lock_timeout = app.globals.lock_timeout;
    let order = LedgerCopy { to, from_shown, reason, lock_timeout };
    let session = app.session()?;
    let done = ledger_copy(session, &order)?;
    let id = session.identity().ledger_id.clone();
    let recorded = if done.was_there { Recorded::No } else { Recorded::Yes };
    let mut answer = Answer::ok()
        .recorded(recorded)
        .noun(
            "copied",
            &json!({
                "ledger_id": id,
                "to": to_shown,
                "incarnation": done.incarnation,
                "events": done.events,
            }),
        )
        .noun("heads", &done.heads)
        .name(to_shown.as_str())
        .line(if done.was_there {
            format!("ledger {id} had moved to {to_shown} before")
        } else {
            format!("ledger {id} goes on at {to_shown}, incarnation {}", done.incarnation)
        })
        .line(format!("  sealed     {} takes no writes any more", order.from_shown));
    answer.changed = !done.was_there;
    answer.replayed = done.was_there;
    Ok(answer)
}

fn migrate(app: &mut App) -> Outcome {
    let chosen = app.chosen()?;
    let done = ledger_migrate(&chosen.location, app.globals.lock_timeout)?;
    let changed = done.from != done.to;
    let recorded = if changed { Recorded::Yes } else { Recorded::No };
    let mut answer = Answer::ok()
        .recorded(recorded)
        .noun("migrated", &json!({"from": done.from, "to": done.to}))
        .name(done.to.to_string())
        .line(if changed {
            format!("{}: schema {} is now {}", chosen.shown, done.from, done.to)
        } else {
            format!("{}: schema {} is the newest that is known", chosen.shown, done.to)
        });
    answer.changed = changed;
    Ok(answer)
}
