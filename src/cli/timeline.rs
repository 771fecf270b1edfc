//! `timeline`: how the count of one service went, drawn; who moved it, why, and under which rule.

mod axis;
mod chart;
mod list;
mod page;
mod svg;
mod words;

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::json;

use super::app::App;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Format, Out};
use super::problem::Problem;
use super::span::{Span, SpanArgs};
use super::table::Look;
use crate::domain::id::ServiceName;
use crate::domain::time::{DurationMs, Timestamp};
use crate::files;
use crate::ops::timeline::Told;
use axis::Axis;

pub(super) const NOUN: Noun = Noun {
    name: "timeline",
    group: "Every day",
    about: "How a count went, drawn: at the terminal, or as one page for a browser",
    augment: TimelineArgs::augment_args,
    run,
    hidden: false,
};

/// What is drawn where nobody says from when on.
const USUAL: DurationMs = DurationMs::from_secs(86_400);
/// The width where nobody says it and no terminal does.
const WIDTH: usize = 80;

#[derive(Args)]
struct TimelineArgs {
    /// The service
    service: ServiceName,
    #[command(flatten)]
    span: SpanArgs,
    /// Draw with ASCII letters alone (so does TERM=dumb at a terminal)
    #[arg(long)]
    ascii: bool,
    /// How many columns wide [default: the terminal's, else 80]
    #[arg(long, value_name = "N", value_parser = width)]
    width: Option<usize>,
    /// Write one page for a browser, complete in itself, to FILE (- for stdout)
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn width(text: &str) -> Result<usize, String> {
    let number = super::args::whole_number(text)?;
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    if (chart::WIDTH_MIN..=chart::WIDTH_MAX).contains(&number) {
        Ok(number)
    } else {
        Err(format!("from {} to {}", chart::WIDTH_MIN, chart::WIDTH_MAX))
    }
}

/// What is drawn, and of what.
struct Drawn {
    service: ServiceName,
    ledger: String,
    span: Span,
    axis: Axis,
    told: Told,
    now: Timestamp,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let args = TimelineArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    if let Some(file) = &args.html {
        App::file_named("--html", file)?;
    }
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let mut span = args.span.read(now)?;
    let until = span.until.unwrap_or(now);
    let since = span.since.unwrap_or_else(|| until.minus(USUAL));
    (span.since, span.until) = (Some(since), Some(until));
    let told = app.session()?.timeline(&args.service, since, until)?;
    let axis = Axis::of(&span, since, until, now);
    let ledger = app.chosen()?.shown;
    let drawn = Drawn { service: args.service.clone(), ledger, span, axis, told, now };
    let answer = answer_of(&drawn, &args, app, out);
    match &args.html {
        Some(file) => write_page(&drawn, file, answer, out),
        None => Ok(answer),
    }
}

fn answer_of(drawn: &Drawn, args: &TimelineArgs, app: &App, out: &Out) -> Answer {
    let Drawn { service, span, axis, told, .. } = drawn;
    let timeline = &told.timeline;
    let is_terminal = out.look().width().is_some();
    let is_dumb = is_terminal && app.environment.text("TERM").is_none_or(|term| term == "dumb");
    let ascii = args.ascii || is_dumb;
    let asked = args.width.or(out.look().width());
    let columns = asked.unwrap_or(WIDTH);
    let mut document = serde_json::to_value(timeline).expect("BUG: a timeline is a JSON value");
    document["service"] = json!(service);
    document["since"] = json!(axis.since);
    document["until"] = json!(axis.until);
    document["zone"] = json!(span.zone.name());
    document["heads"] = json!(told.heads);
    let mut answer = Answer::ok().whole_noun("timeline", document);
    for story in &timeline.intents {
        answer = answer.name(format!("{service}@{}", story.intent_revision));
    }
    let look = asked.map_or(Look::PLAIN, |columns| Look::new(true, Some(columns), Some("1"), None));
    let head = format!("{service}   {}", span.said());
    let mut lines = vec![head];
    lines.extend(chart::legend(columns, ascii));
    lines.push(String::new());
    lines.extend(chart::lines(timeline, axis, columns, ascii));
    let list = list::table(timeline, axis, asked, ascii);
    if list.is_empty() {
        lines.extend([String::new(), "nothing happened".to_owned()]);
    } else {
        lines.push(String::new());
        lines.extend(list.render(&look).lines().map(str::to_owned));
    }
    for line in lines {
        answer = answer.line(if ascii { words::ascii(&line) } else { line });
    }
    answer
}

/// Writes the page, whole or not at all.
fn write_page(drawn: &Drawn, file: &Path, answer: Answer, out: &mut Out) -> Outcome {
    let page = page::page(drawn);
    if file.as_os_str() == "-" {
        if out.format() != Format::Table {
            return Err(Problem::usage("two_documents", "stdout cannot carry a page and JSON")
                .hint("write the page to a file, as in --html timeline.html")
                .into());
        }
        out.data(&page);
        return Ok(answer.streamed());
    }
    // It is made to be shown to others.
    files::replace(file, page.as_bytes(), 0o644).map_err(|error| {
        Fault::from(
            Problem::usage("page_not_written", format!("writing {}: {error}", file.display()))
                .hint("name a file in a directory that is there and that you may write"),
        )
    })?;
    let line = format!("{}: {} bytes, complete in itself", file.display(), page.len());
    Ok(answer.without_lines().noun("html", &file.display().to_string()).line(line))
}
