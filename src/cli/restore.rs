//! `restore`: a ledger out of its backup.

use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::json;

use super::app::App;
use super::fault::Fault;
use super::intent::reason;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::problem::Problem;
use crate::domain::scale::result::Detail;
use crate::ledger::Location;
use crate::ops::restore::{Report, Restore, restore, restore_in_place};

pub(super) const NOUN: Noun = Noun {
    name: "restore",
    group: "Ledger",
    about: "Put a backup in place: another incarnation, higher fences, open calls unknown",
    augment: RestoreArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct RestoreArgs {
    /// The backup
    #[arg(long, value_name = "FILE", required_unless_present = "in_place")]
    from: Option<PathBuf>,
    /// Put the ledger that is there aside, under a dated name
    #[arg(long, conflicts_with = "in_place")]
    replace: bool,
    /// The ledger was put back already, by its server or with its disk: go on from there
    #[arg(long, conflicts_with = "from")]
    in_place: bool,
    /// Open a ledger that has moved to another place, because that place is lost
    #[arg(long)]
    unseal: bool,
    /// Why [env: SCALECTL_REASON]
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = RestoreArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let reason = Detail::cut(reason(args.reason.as_deref(), app)?.as_str());
    let Some(from) = &args.from else {
        let report = restore_in_place(app.session()?, args.unseal, &reason)?;
        return Ok(answer(&report, None));
    };
    App::file_named("--from", from)?;
    let chosen = app.chosen()?;
    let Location::File(to) = &chosen.location else {
        let problem = Problem::usage(
            "restore_needs_a_file",
            format!("{} is on a server, and a backup is restored to a file", chosen.shown),
        );
        return Err(Fault::from(
            problem.hint("restore it to a file with --ledger FILE, then move it with").run(vec![
                "scalectl".to_owned(),
                "ledger".to_owned(),
                "copy".to_owned(),
                "--from".to_owned(),
                "FILE".to_owned(),
                "--to".to_owned(),
                chosen.shown,
                "--reason".to_owned(),
                "moved".to_owned(),
            ]),
        ));
    };
    let order = Restore {
        from,
        to,
        replace: args.replace,
        unseal: args.unseal,
        reason,
        lock_timeout: app.globals.lock_timeout,
    };
    let report = restore(&order, app.clock(), app.provenance()?, app.place()?)?;
    let shown = from.display().to_string();
    Ok(answer(&report, Some(&shown)))
}

fn answer(report: &Report, from: Option<&str>) -> Answer {
    let path = report.identity.path.display().to_string();
    let aside = report.aside.as_ref().map(|path| path.display().to_string());
    let mut answer = Answer::ok()
        .recorded(Recorded::Yes)
        .noun(
            "restored",
            &json!({
                "ledger_id": report.identity.ledger_id,
                "incarnation": report.incarnation,
                "path": path,
                "from": from,
                "aside": aside,
                "services": report.services,
                "unknown": report.unknown,
                "running": report.running,
            }),
        )
        .noun("heads", &report.heads)
        .name(report.identity.ledger_id.as_str())
        .line(format!(
            "ledger {} is restored at {path}, incarnation {}",
            report.identity.ledger_id, report.incarnation
        ))
        .line(format!(
            "  fences     lifted for {}",
            super::view::counted(report.services.len(), "service")
        ));
    answer.changed = true;
    answer = answer.line("  next       scalectl status: what needs a person");
    if !report.unknown.is_empty() {
        answer = answer.line("  next       scalectl replay --all: what became of open calls");
    }
    for service in &report.services {
        answer = answer.line(format!(
            "  next       scalectl service bind {service}: its count is from before the restore"
        ));
    }
    for key in &report.unknown {
        answer = answer.line(format!("  unknown    {key}: scalectl replay {key}"));
    }
    if let Some(aside) = &aside {
        answer = answer.line(format!("  replaced   the old one is {aside}"));
    }
    for key in &report.running {
        let text = format!(
            "under {key} of the old ledger a call may still run, and nothing here knows of it: \
             wait for its end, then bind its service and look before anything is scaled"
        );
        answer = answer.warning("call_of_the_old_ledger", text);
    }
    for orphan in &report.orphans {
        let text = format!(
            "there was no ledger with {}: it is kept, and belongs to whatever was lost there",
            orphan.display()
        );
        answer = answer.warning("orphan_put_aside", text);
    }
    match &report.unreadable {
        Some(problem) => {
            let text = format!("the old ledger could not be asked or sealed: {problem}");
            answer.warning("old_ledger_unsealed", text)
        }
        None => answer,
    }
}
