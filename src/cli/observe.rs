//! `observe`: read the target and confirm the result of a key.

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::app::App;
use super::args::wait;
use super::exit::Exit;
use super::intent::KeyArg;
use super::noun::{Noun, Outcome};
use super::output::Out;
use super::view;
use crate::domain::time::DurationMs;
use crate::ops::observe::{observe, observe_until};

pub(super) const NOUN: Noun = Noun {
    name: "observe",
    group: "Step by step",
    about: "Read the target and confirm what became of a wish",
    augment: ObserveArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct ObserveArgs {
    #[command(flatten)]
    key: KeyArg,
    /// Read again until enough readings agree
    #[arg(long)]
    wait: bool,
    /// How long to wait for that
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "10m")]
    timeout: DurationMs,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let args = ObserveArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    super::install_signals()?;
    if args.wait {
        app.waits_at_most(args.timeout);
    }
    let key = args.key.resolve(app)?;
    let session = app.session()?;
    let report = if args.wait {
        observe_until(session, &key, args.timeout, &mut |line| out.progress(line))?
    } else {
        observe(session, &key)?
    };
    let exit = view::confirmed_exit(&report);
    let mut answer = view::answer(app, &report, exit);
    if let Some(reading) = &report.execution.last_reading {
        answer = answer.line(format!(
            "  read       {} ({})",
            view::reading_text(reading),
            view::agreement(&report.execution, "readings ")
        ));
    }
    if exit == Exit::NotYet {
        answer = answer.line("  not yet    run this line again, or add --wait".to_owned());
    }
    Ok(answer)
}
