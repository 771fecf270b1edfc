//! `scale`: one wish, from the put to the confirmation.

mod glass;
mod in_the_way;
mod many;
mod undo;

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::app::App;
use super::args::{wait, whole_number};
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::problem::Problem;
use super::wish::WishArgs;
use super::{plan, view};
use crate::domain::id::{ControllerId, ExecutionKey, InvalidIdentifier, ServiceName};
use crate::domain::scale::execution::Phase;
use crate::domain::scale::passage::newest_reading;
use crate::domain::scale::standing;
use crate::domain::time::DurationMs;
use crate::ops::OpError;
use crate::ops::carry::CarryOptions;
use crate::ops::report::{Effect, Report};
use crate::ops::scale::{Readiness, ScaleRequest, Scaled, Wait, scale};

pub(super) const NOUN: Noun = Noun {
    name: "scale",
    group: "Every day",
    about: "Scale a service and wait until it is verified",
    augment: ScaleArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is one flag")]
struct ScaleArgs {
    /// The service and the count that is wished; of several, all are planned before one is made
    #[arg(value_name = "NAME=N", required = true)]
    wishes: Vec<String>,
    /// Take the newest converged wish of NAME back, to the count before it
    #[arg(long, conflicts_with_all = ["key", "expect_revision", "queue", "rolls_back", "fence"])]
    undo: bool,
    #[command(flatten)]
    put: WishArgs,
    /// Until when to go on: applied, verified or ready
    #[arg(
        long,
        value_name = "POINT",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_value = "verified",
        default_missing_value = "verified"
    )]
    wait: WaitWord,
    /// Take each step once and wait for nothing
    #[arg(long, conflicts_with_all = ["timeout"])]
    no_wait: bool,
    /// How long to wait for all of it
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "10m")]
    timeout: DurationMs,
    /// Who acts; the registered writer by default
    #[arg(long, value_name = "NAME")]
    controller: Option<ControllerId>,
    /// Walk every gate, write nothing, exit as the real one would
    #[arg(long)]
    dry_run: bool,
    /// Wait for a colleague, too, where policy leaves it to one
    #[arg(long)]
    wait_approval: bool,
    #[command(flatten)]
    glass: glass::ScaleGlass,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum WaitWord {
    Applied,
    Verified,
    Ready,
}

/// `NAME=N`: the only form of a wish.
pub(super) fn wish_of(word: &str) -> Result<(ServiceName, u64), Fault> {
    let refuse = || {
        Fault::from(
            Problem::usage("invalid_wish", format!("{word:?} is no wish")).hint(how_to_wish(word)),
        )
    };
    let (name, count) = word.split_once('=').ok_or_else(refuse)?;
    let service = name
        .parse()
        .map_err(|error: InvalidIdentifier| Fault::usage("invalid_wish", error.to_string()))?;
    let count = whole_number(count).map_err(|_| refuse())?;
    Ok((service, count))
}

fn how_to_wish(word: &str) -> String {
    let name = word.split('=').next().filter(|name| name.parse::<ServiceName>().is_ok());
    let name = name.unwrap_or("web");
    format!("write NAME=N with a whole number, such as {name}=3; no relative counts")
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let args = ScaleArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    if let Some(problem) = misshapen(&args, app) {
        return Err(problem.into());
    }
    if args.wishes.len() > 1 {
        return many::run(&args, app, out);
    }
    if args.dry_run { foreseen(&args, app, out) } else { made(&args, app, out) }
}

/// What is wrong with the first wish that is none, with the line in its right form where that can
/// be told.
fn misshapen(args: &ScaleArgs, app: &App) -> Option<Problem> {
    if args.undo {
        return undo::misshapen(&args.wishes, &app.problem_context());
    }
    let fault = args.wishes.iter().find_map(|word| wish_of(word).err())?;
    let problem = app.problem(fault);
    if args.wishes.len() == 1 {
        return Some(problem);
    }
    let line = super::mistyped::in_right_form(&app.line);
    Some(match line {
        Some(line) => Problem { hint: None, ..problem }.hint("it is written like this").run(line),
        None => problem,
    })
}

/// The plan of a line with one wish.
fn foreseen(args: &ScaleArgs, app: &mut App, out: &mut Out) -> Outcome {
    let undone = undo::resolved(args, app)?;
    undo::tell(undone.as_ref(), out);
    let args = undone.as_ref().map_or(args, |undone| &undone.args);
    let (wish, put) = (&args.wishes[0], args.put.clone());
    let answer = plan::of_wish(app, wish, put, args.controller.as_ref(), |app, put| {
        glass::supposed(args, put, app)
    })?;
    Ok(undo::shown(answer, undone.as_ref()))
}

/// What a line with one wish comes to.
fn made(args: &ScaleArgs, app: &mut App, out: &mut Out) -> Outcome {
    let undone = begun(args, app)?;
    undo::tell(undone.as_ref(), out);
    ended(args, undone.as_ref(), app, out)
}

/// The same of a line whose plan has told what it takes back.
fn made_as_planned(args: &ScaleArgs, app: &mut App, out: &mut Out) -> Outcome {
    let undone = begun(args, app)?;
    ended(args, undone.as_ref(), app, out)
}

fn begun(args: &ScaleArgs, app: &mut App) -> Result<Option<undo::Undone>, Fault> {
    if !args.no_wait {
        app.waits_at_most(args.timeout);
    }
    undo::resolved(args, app)
}

fn ended(args: &ScaleArgs, undone: Option<&undo::Undone>, app: &mut App, out: &mut Out) -> Outcome {
    let answer = followed(undone.map_or(args, |undone| &undone.args), app, out)?;
    Ok(undo::shown(answer, undone))
}

fn followed(args: &ScaleArgs, app: &mut App, out: &mut Out) -> Outcome {
    let word = &args.wishes[0];
    let wish = wish_of(word)?;
    app.wish = Some(word.clone());
    let wished = args.put.wished(&wish, app, |app, put| glass::broken(args, put, app, out))?;
    let request = ScaleRequest {
        wished,
        wait: match args.wait {
            WaitWord::Applied => Wait::Applied,
            WaitWord::Verified => Wait::Verified,
            WaitWord::Ready => Wait::Ready,
        },
        timeout: if args.no_wait { DurationMs::ZERO } else { args.timeout },
        wait_approval: args.wait_approval,
        options: CarryOptions {
            controller: args.controller.clone(),
            lease: None,
            ttl: None,
            attest_not_drained: args.put.attest.is_some(),
            override_cooldown: args.put.override_cooldown,
        },
    };
    let wait = request.wait;
    let key = request.wished.put.key().clone();
    let session = app.session()?;
    match scale(session, request, &mut |line| out.progress(&format!("  {line}"))) {
        Ok(scaled) => Ok(answer_of(app, &scaled, wait, word)),
        Err(error) => Err(with_waiting_wish(app, error.into(), &key)),
    }
}

/// A fault of a line whose wish is recorded and has not started: it waits, and a later line would
/// carry it out.
fn with_waiting_wish(app: &mut App, fault: Fault, key: &ExecutionKey) -> Fault {
    let was_interrupted = matches!(fault, Fault::Op(OpError::Interrupted { .. }));
    let key = match &fault {
        // A line without a key may have gone on with an earlier wish of its own.
        Fault::Op(OpError::Interrupted { key: Some(own), .. }) => &own.clone(),
        Fault::Op(_) | Fault::Problem(_) => key,
    };
    let has_put = app.opened().is_some_and(crate::ops::Session::has_recorded);
    let waiting = app.session().ok().filter(|_| has_put || was_interrupted);
    let waiting = waiting.and_then(|session| session.load(key).ok());
    let problem = app.problem(fault);
    let Some((_, execution)) = waiting.filter(|(_, own)| own.phase == Phase::Accepted) else {
        return problem.into();
    };
    let name = format!("{}@{}", execution.intent.service, execution.revision());
    let context = app.problem_context();
    let withdraw = context.command(&["intent", "withdraw", &name]);
    let problem = if was_interrupted {
        // Nothing has started, so there is nothing for a replay to find out.
        Problem { next: Vec::new(), ..problem }
            .hint("nothing has started: run this same line again")
            .again(&context)
    } else {
        problem
    };
    problem
        .fact("waits", format!("{name} is recorded and waits; the last line below takes it back"))
        .run(withdraw)
        .into()
}

fn ready_exit(report: &Report, readiness: Readiness) -> Exit {
    match readiness {
        _ if !standing::holds_now(&report.execution, &report.head) => Exit::Diverged,
        Readiness::Reached => Exit::Ok,
        Readiness::NotYet | Readiness::Unknown => Exit::NotYet,
    }
}

pub(super) fn answer_of(app: &App, scaled: &Scaled, wait: Wait, wish: &str) -> Answer {
    let Some(report) = &scaled.report else {
        // The reading itself may have been news.
        let has_recorded = app.opened().is_some_and(crate::ops::Session::has_recorded);
        let mut answer = Answer::ok()
            .recorded(if has_recorded { Recorded::Yes } else { Recorded::No })
            .whole_noun("service", view::service(&scaled.head))
            .line(format!("{wish}: already so by a fresh reading, nothing was changed"));
        if let Some(registration) = &scaled.head.registration {
            answer = answer.name(registration.service.as_str());
        }
        answer.current = view::current(&scaled.head);
        return answer;
    };
    let applied_only = wait == Wait::Applied
        && matches!(report.execution.phase, Phase::Succeeded | Phase::Observed);
    let exit = if applied_only { Exit::Ok } else { view::confirmed_exit(report) };
    let exit = match (exit, report.effect) {
        // What has started is never reported as untouched.
        (Exit::NotYet | Exit::Ok, Effect::Unknown) => Exit::Unknown,
        // Whoever waits for ready replicas is not served by a success that is not what holds.
        (Exit::Ok, _) if wait == Wait::Ready => ready_exit(report, scaled.readiness),
        (exit, _) => exit,
    };
    let mut answer = view::answer(app, report, exit);
    if scaled.readiness == Readiness::Unknown {
        let text = "the target does not say how many replicas are ready";
        answer = answer.warning("readiness_unknown", text);
    }
    if exit == Exit::NotYet && scaled.readiness == Readiness::NotYet {
        let ready = newest_reading(&report.head).and_then(|reading| reading.ready_replicas);
        let ready = ready.map_or_else(|| "not all".to_owned(), |ready| ready.to_string());
        let text = format!(
            "{ready} of {} are ready: the same line waits on; how it stands is told by scalectl \
             status {}",
            report.execution.desired(),
            report.execution.intent.service
        );
        answer = answer.warning("not_ready", text);
    }
    if report.head.newest_reading.is_some()
        && let Some(reading) = newest_reading(&report.head)
    {
        answer = answer.line(format!("  read       {}", view::reading_text(&reading)));
    }
    answer.changed = scaled.changed;
    answer
}
