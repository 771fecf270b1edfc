//! `actuate`: carry out the next attempt of a key.

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::app::App;
use super::intent::KeyArg;
use super::noun::{Noun, Outcome};
use super::output::Out;
use super::view;
use crate::domain::id::{ControllerId, LeaseInstanceId};
use crate::domain::time::DurationMs;
use crate::ops::actuate::{actuate, simulate};
use crate::ops::carry::CarryOptions;

pub(super) const NOUN: Noun = Noun {
    name: "actuate",
    group: "Step by step",
    about: "Carry out the next attempt of a wish",
    augment: ActuateArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct ActuateArgs {
    #[command(flatten)]
    key: KeyArg,
    /// Who acts; the registered writer by default
    #[arg(long, value_name = "NAME")]
    controller: Option<ControllerId>,
    /// The lease that is yours; one is taken where none is held
    #[arg(long, value_name = "ID")]
    lease: Option<LeaseInstanceId>,
    /// How long a lease lasts, 1s to 900s
    #[arg(long, value_name = "DURATION")]
    ttl: Option<DurationMs>,
    /// Record a simulation instead: nobody is called, and the key never calls anybody
    #[arg(long)]
    simulate: bool,
    /// Ask policy to pass the cooldown (action override_cooldown)
    #[arg(long)]
    override_cooldown: bool,
    /// Vouch that what is not drained may go
    #[arg(long, value_name = "FACT", value_parser = ["not-drained"])]
    attest: Option<String>,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = ActuateArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    super::install_signals()?;
    let key = args.key.resolve(app)?;
    let options = CarryOptions {
        controller: args.controller,
        lease: args.lease,
        ttl: args.ttl,
        attest_not_drained: args.attest.is_some(),
        override_cooldown: args.override_cooldown,
    };
    let session = app.session()?;
    let report = if args.simulate {
        simulate(session, &key, &options)?
    } else {
        actuate(session, &key, &options)?
    };
    Ok(view::answer(app, &report, view::step_exit(&report)))
}
