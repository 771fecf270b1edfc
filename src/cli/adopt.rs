//! `adopt`: what runs becomes what is wished.

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::app::App;
use super::exit::Exit;
use super::fault::Fault;
use super::intent::reason;
use super::noun::{Noun, Outcome};
use super::output::Out;
use super::view;
use crate::domain::id::{ExecutionKey, InvalidIdentifier, ServiceName};
use crate::ops::adopt::adopt;
use crate::ops::mint;

pub(super) const NOUN: Noun = Noun {
    name: "adopt",
    group: "People",
    about: "Take what runs for what is wished: by a reading, and nobody is called",
    augment: AdoptArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct AdoptArgs {
    /// The service
    name: ServiceName,
    /// Why: 1 to 512 characters [env: SCALECTL_REASON]
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The key that names this adoption for ever; minted where none is given
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// End a waiting wish of somebody else
    #[arg(long)]
    supersede: bool,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = AdoptArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let reason = reason(args.reason.as_deref(), app)?;
    let key: ExecutionKey = match &args.key {
        Some(key) => key
            .parse()
            .map_err(|error: InvalidIdentifier| Fault::usage("invalid_key", error.to_string()))?,
        None => mint(&format!("{}-adopted-", super::intent::cut(args.name.as_str())))?,
    };
    super::install_signals()?;
    let report = adopt(app.session()?, &args.name, &key, &reason, args.supersede)?;
    Ok(view::answer(app, &report, Exit::Ok))
}
