//! `init`: a new ledger.

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::app::App;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::passwd::{number_of_group, os_user};
use super::problem::Problem;
use crate::ledger::Location;
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
    /// Share the file with a group of the operating system: files 0660, directory 2770
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = InitArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let group = args.group.as_deref().map(|name| group_named(name, app)).transpose()?;
    let (session, _) = app.create(group)?;
    // The ledger is there, whatever fails from here on.
    session.note_recorded();
    let mut answer = Answer::ok().recorded(Recorded::Yes);
    answer.changed = true;
    let identity = session.identity().clone();
    answer = answer.name(identity.ledger_id.as_str()).line(format!(
        "ledger {} made at {}",
        identity.ledger_id,
        identity.path.display()
    ));
    if let Some(name) = &args.group {
        answer = answer.line(format!("  group      {name}: its members share the file"));
    }
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

/// The number of a group that is there, and that this user is in.
fn group_named(name: &str, app: &App) -> Result<u32, Fault> {
    if matches!(app.chosen()?.location, Location::Server(_)) {
        let what = "a ledger on a server is shared by the roles of the server, not by a group";
        return Err(Problem::usage("group_on_server", what)
            .hint("leave --group away; the roles are made as docs/recipes/postgres.md says")
            .into());
    }
    let found = name.parse().ok().or_else(|| number_of_group(name)).ok_or_else(|| {
        Problem::new("group_not_found", Exit::NotFound, format!("there is no group {name}"))
            .hint("make it with groupadd, or name one of /etc/group, or its number")
    })?;
    // The superuser may give a file to any group.
    let mut own = rustix::process::getgroups().unwrap_or_default();
    own.push(rustix::process::getegid());
    let is_member = own.iter().any(|group| group.as_raw() == found);
    if is_member || rustix::process::geteuid().is_root() {
        return Ok(found);
    }
    let what = format!("{} is not in group {name}", os_user(rustix::process::getuid().as_raw()));
    Err(Problem::usage("group_not_member", what)
        .hint("be added to it (usermod -aG), and log in anew: a session keeps its groups")
        .into())
}
