//! `break-glass`: who may pass policy once, and who has looked at it afterwards.

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::{Value, json};

use super::app::App;
use super::approval::known_as;
use super::args::up_to;
use super::exit::Exit;
use super::fault::Fault;
use super::hold::Why;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::problem::Problem;
use super::scale::wish_of;
use super::sign::SignArgs;
use super::table::{Cell, Column, Table, Tone};
use super::upon::over_text;
use crate::domain::count::number;
use crate::domain::id::{AuthorizationId, Replicas};
use crate::domain::scale::consent::{AUTHORIZATION_MAX, Incident, Unauthorized};
use crate::domain::time::{DurationMs, Timestamp};
use crate::ops::break_glass::{Told, all_told, authorize, review, revoke, told_of, unreviewed};
use crate::ops::breaking::GlassRequest;

pub(super) const NOUN: Noun = Noun {
    name: "break-glass",
    group: "People",
    about: "Pass policy once in an emergency, and review it afterwards",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Permit one count of one target; scale NAME=N --break-glass ID uses it
    Authorize(Box<AuthorizeArgs>),
    /// List what nobody has reviewed
    List {
        /// What was reviewed, too
        #[arg(long)]
        all: bool,
        /// Exit 26 while there is any
        #[arg(long)]
        check: bool,
    },
    /// Show an authorization and what was done under it
    Show {
        /// The authorization, as list names it
        id: AuthorizationId,
    },
    /// Take an authorization back: nothing starts under it any more
    Revoke {
        /// The authorization
        id: AuthorizationId,
        #[command(flatten)]
        why: Why,
    },
    /// Say that somebody else has looked at what was done
    Review {
        /// The authorization
        id: AuthorizationId,
        #[command(flatten)]
        why: Why,
        #[command(flatten)]
        sign: SignArgs,
    },
}

#[derive(Args)]
struct AuthorizeArgs {
    /// The service and the one count that may be wished
    #[arg(value_name = "NAME=N")]
    wish: String,
    #[command(flatten)]
    glass: GlassArgs,
    /// How many wishes may be carried out under it, 1 to 255
    #[arg(long, value_name = "N", default_value_t = 1)]
    max_uses: u8,
    #[command(flatten)]
    why: Why,
    /// Vouch that what is not drained may lose its work
    #[arg(long, value_name = "FACT", value_parser = ["not-drained"])]
    attest: Option<String>,
}

/// What breaking the glass needs beside a wish; `scale` takes the same.
#[derive(Debug, Clone, Args)]
pub(super) struct GlassArgs {
    /// The incident that it is for, 1 to 128 characters
    #[arg(long, value_name = "ID", help_heading = "Break-glass")]
    pub(super) incident: Option<Incident>,
    /// Raise the registered upper bound to the count, under the same authorization
    #[arg(long, help_heading = "Break-glass")]
    pub(super) raise_max: bool,
    /// How long the authorization lasts, at most 24h
    #[arg(long, value_name = "DURATION", value_parser = glass_life, default_value = "1h",
        help_heading = "Break-glass")]
    pub(super) authorized_for: DurationMs,
    #[command(flatten)]
    pub(super) sign: SignArgs,
}

fn glass_life(text: &str) -> Result<DurationMs, String> {
    up_to(AUTHORIZATION_MAX, text)
}

impl GlassArgs {
    /// The incident; it must be there.
    pub(super) fn incident(&self) -> Result<Incident, Fault> {
        self.incident.clone().ok_or_else(|| {
            Problem::usage("incident_missing", "a broken glass belongs to an incident")
                .hint("add --incident ID, such as INC-4711")
                .into()
        })
    }
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Authorize(args) => give(&args, app),
        Verb::List { all, check } => list(app, all, check),
        Verb::Show { id } => {
            let session = app.session()?;
            let told = told_of(session, &id)?;
            let now = session.now();
            Ok(shown(Answer::ok(), &told, now))
        }
        Verb::Revoke { id, why } => {
            let reason = why.detail(app)?;
            let changed = revoke(app.session()?, &id, &reason)?;
            let already = if changed { "" } else { " already" };
            let answer = changed_answer(&id, changed).line(format!("{id} is taken back{already}"));
            let uses = told_of(app.session()?, &id)?.glass.uses.len();
            if uses == 0 {
                return Ok(answer);
            }
            let uses = number(uses, "wish was", "wishes were");
            let text = format!("{uses} carried out under it before: that stands, and is reviewed");
            Ok(answer.line(format!("  {text}")))
        }
        Verb::Review { id, why, sign } => {
            let reason = why.detail(app)?;
            let sign_with = sign.key(app);
            super::install_signals()?;
            let changed = review(app.session()?, &id, &reason, sign_with.as_deref())?;
            let line = if changed { "is reviewed" } else { "was reviewed by you already" };
            Ok(changed_answer(&id, changed).line(format!("{id} {line}")))
        }
    }
}

fn changed_answer(id: &AuthorizationId, changed: bool) -> Answer {
    let mut answer = Answer::ok()
        .recorded(if changed { Recorded::Yes } else { Recorded::No })
        .noun("authorization_id", id)
        .name(id.as_str());
    answer.changed = changed;
    answer
}

fn give(args: &AuthorizeArgs, app: &mut App) -> Outcome {
    let (service, count) = wish_of(&args.wish)?;
    app.wish = Some(args.wish.clone());
    let request = GlassRequest {
        service,
        desired: Replicas::new(count)
            .map_err(|error| Fault::usage("invalid_replicas", error.to_string()))?,
        incident: args.glass.incident()?,
        reason: args.why.detail(app)?,
        valid_for: args.glass.authorized_for,
        max_uses: args.max_uses,
        attests_not_drained: args.attest.is_some(),
        raises_max: args.glass.raise_max,
        sign_with: args.glass.sign.key(app),
        key: None,
    };
    super::install_signals()?;
    let session = app.session()?;
    // The count that it is given for is what runs now, where this host can say.
    if let Err(error) = session.refresh_binding(&request.service) {
        let why = error.unread()?;
        session.notice("count_not_read", format!("the target could not be read: {why}"));
    }
    let glass = authorize(session, request)?;
    let now = session.now();
    let told = Told { glass, review: None };
    let mut answer = shown(Answer::ok().recorded(Recorded::Yes), &told, now);
    answer.changed = true;
    Ok(answer)
}

fn view_of(Told { glass, review }: &Told, now: Timestamp) -> Value {
    json!({
        "authorization": glass.authorization,
        "given_by": glass.by,
        "given_at": glass.at,
        "uses": glass.uses,
        "revoked_at": glass.revoked_at,
        "over": glass.over(now).map(Unauthorized::as_str),
        "review": review,
    })
}

fn shown(answer: Answer, told: &Told, now: Timestamp) -> Answer {
    let glass = &told.glass;
    let it = &glass.authorization;
    let from = it.current.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let over = glass.over(now);
    let state =
        over.map_or_else(|| format!("open until {}", it.until), |why| over_text(glass, why));
    let mut answer = answer
        .whole_noun("authorization", view_of(told, now))
        .name(it.authorization_id.as_str())
        .line(format!(
            "{}   {}   {from} → {}   {state}",
            it.authorization_id, it.service, it.desired_replicas
        ))
        .line(format!("  incident      {}", it.incident))
        .line(format!("  reason        {}", it.reason.as_str()))
        .line(format!("  given by      {} (claim) · {}", glass.by.actor, known_as(&glass.by)))
        .line("  passes        policy, approval, cooldown, hold".to_owned())
        .line("  never passes  target uid, bounds, mode, lease, revision, readings".to_owned());
    if let Some(max) = it.raises_max_to {
        answer = answer.line(format!("  raises        max of {} to {max}", it.service));
    }
    if it.attests_not_drained {
        answer = answer.line("  attests       what is not drained may lose its work".to_owned());
    }
    if glass.by.signed_by.is_none() {
        answer = answer.line("  signed        no".to_owned());
    }
    for (key, used) in &glass.uses {
        let by = known_as(&used.by);
        answer = answer.line(format!(
            "  used for      {key} at {} by {} (claim) · {by}",
            used.at, used.by.actor
        ));
        for also in &used.also_by {
            let (actor, known) = (&also.actor, known_as(also));
            answer = answer.line(format!("    also by     {actor} (claim) · {known}"));
        }
        if let Some(wished_by) = &used.wished_by {
            let (actor, known) = (&wished_by.actor, known_as(wished_by));
            answer = answer.line(format!("    wished by   {actor} (claim) · {known}"));
        }
    }
    if let Some(review) = &told.review {
        return answer.line(format!(
            "  reviewed by   {} (claim) · {} at {}: {}",
            review.by.actor,
            known_as(&review.by),
            review.at,
            review.reason.as_str()
        ));
    }
    answer.line(format!(
        "  afterwards    break-glass review {} (by somebody else)",
        it.authorization_id
    ))
}

/// What a check says while a use waits for somebody who looks at it.
fn waits(count: usize, app: &App) -> Problem {
    let (one, many) =
        ("use of break-glass waits for a review", "uses of break-glass wait for a review");
    Problem::new("unreviewed", Exit::Attention, number(count, one, many))
        .hint("look at each, and say so, with")
        .run(app.problem_context().command(&["break-glass", "review", "ID", "--reason", "TEXT"]))
}

fn list(app: &mut App, all: bool, check: bool) -> Outcome {
    let session = app.session()?;
    let found = if all {
        all_told(session)?
    } else {
        let open = unreviewed(session)?;
        open.into_iter().map(|glass| Told { glass, review: None }).collect()
    };
    let waiting = found.iter().filter(|told| told.review.is_none()).count();
    let now = session.now();
    let mut table = Table::new([
        Column::left("AUTHORIZATION"),
        Column::left("SERVICE"),
        Column::right("TO"),
        Column::right("USES"),
        Column::left("STATE"),
        Column::left("BY"),
        Column::left("INCIDENT"),
        Column::left("WHY").wraps(),
    ]);
    let mut answer = match (check, waiting) {
        (false, _) | (true, 0) => Answer::ok(),
        (true, _) => Answer::failed(waits(waiting, app)),
    };
    let mut rows = Vec::new();
    for told in &found {
        let glass = &told.glass;
        let it = &glass.authorization;
        let state = match glass.over(now) {
            _ if told.review.is_some() => "reviewed",
            None => "open",
            Some(_) if !glass.uses.is_empty() => "used",
            Some(Unauthorized::Revoked) => "revoked",
            Some(_) => "expired",
        };
        table.row([
            Cell::new(&it.authorization_id),
            Cell::new(&it.service),
            Cell::new(it.desired_replicas),
            Cell::new(format!("{}/{}", glass.uses.len(), it.max_uses)),
            Cell::new(state).tone(if told.review.is_some() { Tone::Plain } else { Tone::Warn }),
            Cell::new(&glass.by.actor),
            Cell::new(&it.incident),
            Cell::new(it.reason.as_str()),
        ]);
        rows.push(view_of(told, now));
        answer = answer.name(it.authorization_id.as_str());
    }
    let answer = answer.noun("authorizations", &rows);
    let none = if all { "no glass was ever broken" } else { "no broken glass waits for a review" };
    Ok(answer.table_or(table, none))
}
