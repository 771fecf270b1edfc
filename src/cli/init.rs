//! `init`: a new ledger.

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::app::App;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use crate::ops::init::set_starter_policy;

pub(super) const NOUN: Noun = Noun {
    name: "init",
    group: "Set up",
    about: "Make a new ledger; nothing else makes one",
    augment: InitArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct InitArgs {
    /// Set a policy to start with; without one, whatever touches a target is denied
    #[arg(long, value_name = "NAME", value_parser = ["local"])]
    starter_policy: Option<String>,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = InitArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let (session, _) = app.create()?;
    // The ledger is there, whatever fails from here on.
    session.recorded = true;
    let mut answer = Answer::ok().recorded(Recorded::Yes);
    answer.changed = true;
    let identity = session.ledger.identity().clone();
    answer = answer.name(identity.ledger_id.as_str()).line(format!(
        "ledger {} made at {}",
        identity.ledger_id,
        identity.path.display()
    ));
    if args.starter_policy.is_some() {
        set_starter_policy(session)?;
        let user = session.by.os_user.clone();
        answer = answer.line(format!(
            "  policy     starter local: {user} may scale services on a local actuator up to 10"
        ));
    } else {
        answer = answer.line(
            "  policy     none: whatever touches a target is denied (scalectl policy template)",
        );
    }
    Ok(answer)
}
