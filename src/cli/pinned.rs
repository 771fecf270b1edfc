//! `override`: a count that a person pins for a time; the autoscaler leaves the service alone.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, FromArgMatches as _, Subcommand};

use super::app::App;
use super::args::{until, wait};
use super::hold::{Why, told};
use super::noun::{Noun, Outcome};
use super::output::Out;
use super::problem::Problem;
use super::scale::{answer_of, wish_of};
use super::wish::WishArgs;
use crate::domain::id::ServiceName;
use crate::domain::scale::command::PutIntent;
use crate::domain::scale::provenance::WishSource;
use crate::domain::time::DurationMs;
use crate::ops::carry::CarryOptions;
use crate::ops::lay::override_clear;
use crate::ops::scale::{ScaleRequest, Wait, scale};

pub(super) const NOUN: Noun = Noun {
    name: "override",
    group: "People",
    about: "Pin the count of a service for a time: set, clear",
    augment: |command| {
        // What waits for a colleague pins nothing meanwhile.
        let unsaid = |set: Command| set.mut_arg(WAITS, |arg| arg.hide(true));
        Verb::augment_subcommands(command).subcommand_required(true).mut_subcommand("set", unsaid)
    },
    run,
    hidden: false,
};

/// The flag of a wish that an override has no use for.
const WAITS: &str = "approve_within";

#[derive(Subcommand)]
enum Verb {
    /// Scale a service, and let no tick move it until then
    Set(Box<SetArgs>),
    /// End an override before its time; the count stays as it is
    Clear {
        /// The service
        name: ServiceName,
        #[command(flatten)]
        why: Why,
    },
}

#[derive(clap::Args)]
struct SetArgs {
    /// The service and the count that is pinned
    #[arg(value_name = "NAME=N")]
    wish: String,
    /// When it ends by itself: an instant, or how long from now; at most a month
    #[arg(long, value_name = "T")]
    until: String,
    #[command(flatten)]
    put: WishArgs,
    /// How long to wait for all of it
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "10m")]
    timeout: DurationMs,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Set(args) => {
            let set_matches = matches.subcommand_matches("set");
            let source = set_matches.and_then(|set| set.value_source(WAITS));
            let is_said = source == Some(ValueSource::CommandLine);
            if is_said && args.put.approve_within > DurationMs::ZERO {
                let text = "--approve-within: an override waits for no colleague, because what \
                            waits pins nothing meanwhile";
                return Err(Problem::usage("contradiction", text)
                    .hint("wish the count and ask for it, then pin it; or pin it without the flag")
                    .into());
            }
            set(&args, app, out)
        }
        Verb::Clear { name, why } => {
            let reason = why.detail(app)?;
            let laid = override_clear(app.session()?, &name, &reason)?;
            let so = "no longer pinned; the count stays as it is";
            Ok(told(&name, &laid, so, "is not pinned: there is nothing to clear"))
        }
    }
}

fn set(args: &SetArgs, app: &mut App, out: &mut Out) -> Outcome {
    let wish = wish_of(&args.wish)?;
    app.wish = Some(args.wish.clone());
    let wished = args.put.wished(&wish, app, |app, put| {
        let pinned = PutIntent {
            source: WishSource::Override,
            pin_until: Some(until(&args.until, app.session()?.now())?),
            // What waits for a colleague pins nothing meanwhile.
            approve_within: None,
            ..put
        };
        Ok((pinned, None))
    })?;
    let request = ScaleRequest {
        wished,
        wait: Wait::Verified,
        timeout: args.timeout,
        wait_approval: false,
        options: CarryOptions {
            controller: None,
            lease: None,
            ttl: None,
            attest_not_drained: args.put.attest.is_some(),
            override_cooldown: args.put.override_cooldown,
        },
    };
    let scaled = scale(app.session()?, request, &mut |line| out.progress(&format!("  {line}")))?;
    let now = app.session()?.now();
    // The same line again finds what its first run has pinned, and that may be over.
    let key = scaled.report.as_ref().map(|report| report.execution.key());
    let pinned = scaled.head.authority.pinned_at(now).filter(|it| Some(&it.execution_key) == key);
    let answer = answer_of(app, &scaled, Wait::Verified, &args.wish).noun("pinned", &pinned);
    Ok(match pinned {
        Some(pinned) => answer.line(format!("  {} is pinned until {}", wish.0, pinned.until)),
        None => answer.warning(
            "not_pinned",
            format!("{} is not pinned: this override is over, another key sets it anew", wish.0),
        ),
    })
}
