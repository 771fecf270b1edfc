//! `scale --break-glass`: an authorization of one's own, confirmed and durable before the wish.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use clap::Args;
use rustix::event::{PollFd, PollFlags, poll};

use super::ScaleArgs;
use super::in_the_way::in_the_way;
use crate::cli::app::App;
use crate::cli::approval::known_as;
use crate::cli::break_glass::GlassArgs;
use crate::cli::exit::Exit;
use crate::cli::fault::Fault;
use crate::cli::output::Out;
use crate::cli::problem::Problem;
use crate::cli::wish::Glazed;
use crate::domain::count::runs;
use crate::domain::id::{AuthorizationId, ExecutionKey, InvalidIdentifier, ServiceName};
use crate::domain::scale::command::PutIntent;
use crate::domain::scale::consent::Consent;
use crate::domain::scale::decide::answer_of_key;
use crate::domain::scale::glass::{OtherStep, above_max, check_belief, check_step, known_count};
use crate::domain::scale::result::Detail;
use crate::domain::scale::state::ServiceHead;
use crate::ops::breaking::{Breaking, GlassRequest, unbroken};
use crate::ops::wait::refuse_after_signal;

#[derive(Debug, Clone, Args)]
pub(super) struct ScaleGlass {
    /// Pass policy, approval, cooldown, hold: under an authorization of that name, or a new one
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "",
        help_heading = "Break-glass")]
    break_glass: Option<String>,
    #[command(flatten)]
    pub(super) glass: GlassArgs,
    /// Do not ask; needs --current-replicas
    #[arg(long, requires = "current_replicas", help_heading = "Break-glass")]
    yes: bool,
}

/// The wish under the authorization that its line names or gives; as it is where it names none.
/// Nothing is written yet: the glass breaks with the wish.
pub(super) fn broken(
    args: &ScaleArgs,
    put: PutIntent,
    app: &mut App,
    out: &mut Out,
) -> Result<Glazed, Fault> {
    check_own_wish(args, &put, app)?;
    let Some(request) = named(args, &put, app)? else {
        return under_given(args, put, app);
    };
    let session = app.session()?;
    let head = session.load_service(&put.service)?.head;
    // Before anything is read: who cannot answer is asked nothing, and nothing is written.
    check_bounds(&request, &head, app)?;
    check_answerable(args, &head, app)?;
    let confirmed = as_it_stands(&put.service, app)
        .and_then(|head| confirm(args, &request, &put, &head, app, out));
    // The same line may run twice at once: what the other has put and carried out is no premise
    // that has moved.
    if confirmed.is_err() && is_known(request.key.as_ref(), app)? {
        return under_given(args, put, app);
    }
    confirmed?;
    glazed(request, put, app)
}

/// The same for a plan, which confirms nothing.
pub(super) fn supposed(args: &ScaleArgs, put: PutIntent, app: &mut App) -> Result<Glazed, Fault> {
    check_own_wish(args, &put, app)?;
    let Some(request) = named(args, &put, app)? else {
        let Some(id) = args.glass.given()? else { return Ok((put, None)) };
        let head = app.session()?.peek(&put.service)?;
        return under(id, &head, put, app);
    };
    let head = app.session()?.load_service(&put.service)?.head;
    check_bounds(&request, &head, app)?;
    glazed(request, put, app)
}

/// The service with its target just read, where this host can.
fn as_it_stands(service: &ServiceName, app: &mut App) -> Result<ServiceHead, Fault> {
    let session = app.session()?;
    let read = session.refresh_binding(service)?;
    Ok(match read {
        Some((_, state)) => state.head,
        None => session.load_service(service)?.head,
    })
}

fn glazed(request: GlassRequest, put: PutIntent, app: &mut App) -> Result<Glazed, Fault> {
    let breaking = Breaking::prepare(app.session()?, request)?;
    let authorization = Some(breaking.id().clone());
    Ok((PutIntent { authorization, ..put }, Some(breaking)))
}

impl ScaleGlass {
    /// Whether the line breaks a glass.
    pub(super) const fn is_named(&self) -> bool {
        self.break_glass.is_some()
    }

    /// The authorization that the line names.
    fn given(&self) -> Result<Option<AuthorizationId>, Fault> {
        let word = self.break_glass.as_deref().filter(|word| !word.is_empty());
        word.map(str::parse).transpose().map_err(|error: InvalidIdentifier| {
            Fault::usage("invalid_authorization", error.to_string())
        })
    }
}

/// The authorization that the line gives itself; none where it breaks no glass, names one that was
/// given before, or is the same line again.
fn named(line: &ScaleArgs, put: &PutIntent, app: &mut App) -> Result<Option<GlassRequest>, Fault> {
    let args = &line.glass;
    let Some(word) = &args.break_glass else {
        let is_meant =
            args.glass.incident.is_some() || args.glass.raise_max || args.glass.sign.is_named();
        if is_meant || args.yes {
            let what = "no glass is broken";
            let hint = "add --break-glass, or leave --incident, --raise-max, --sign-with and \
                        --yes away";
            return Err(Problem::usage("contradiction", what).hint(hint).into());
        }
        return Ok(None);
    };
    if !word.is_empty() {
        return Ok(None);
    }
    // The same line again, with a key that is known, is no second broken glass.
    let key = line.put.own_key(put);
    if is_known(key.as_ref(), app)? {
        return Ok(None);
    }
    Ok(Some(GlassRequest {
        service: put.service.clone(),
        desired: put.desired(),
        incident: args.glass.incident()?,
        reason: Detail::cut(put.reason().as_str()),
        valid_for: args.glass.authorized_for,
        max_uses: 1,
        attests_not_drained: put.attest_not_drained,
        raises_max: args.glass.raise_max,
        sign_with: args.glass.sign.key(app),
        key,
    }))
}

/// A glass is broken for a wish of its own. Under the key of one that was made without, and has not
/// started, it would pass nothing, and the answer would name the very flag again.
fn check_own_wish(line: &ScaleArgs, put: &PutIntent, app: &mut App) -> Result<(), Fault> {
    let key = line.put.own_key(put).filter(|_| line.glass.break_glass.is_some());
    let Some(key) = key else { return Ok(()) };
    let c = app.problem_context();
    let Some((state, stored)) = app.session()?.find(&key)? else { return Ok(()) };
    let is_under_one = matches!(stored.consent(), Some(Consent::BreakGlass { .. }));
    let is_said_again = answer_of_key(&state, put).is_some_and(|answer| answer.is_ok());
    if !stored.waits() || is_under_one || !is_said_again {
        return Ok(());
    }
    let (name, word) = (format!("{}@{}", put.service, stored.revision()), stored.phase.as_str());
    let what = format!("key {key} belongs to {name}, which is {word} and breaks no glass");
    let mut line = without_key(&c.line);
    let is_others = app.opened().is_some_and(|session| session.by.actor != stored.put_by.actor);
    if is_others && !line.iter().any(|word| word == "--supersede") {
        line.push("--supersede".to_owned());
    }
    Err(Problem::new("key_conflict", Exit::Conflict, what)
        .hint("a glass is broken for a wish of its own, which ends that one")
        .run(line)
        .run(c.command(&["intent", "show", key.as_str()]))
        .into())
}

/// The line without the key that it names.
fn without_key(line: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.iter();
    while let Some(word) = rest.next() {
        if word == "--key" {
            rest.next();
        } else if !word.starts_with("--key=") {
            words.push(word.clone());
        }
    }
    words
}

/// Whether the key that the caller has named is known.
fn is_known(key: Option<&ExecutionKey>, app: &mut App) -> Result<bool, Fault> {
    match key {
        Some(key) => Ok(app.session()?.recorded_under(key)?.is_some()),
        None => Ok(false),
    }
}

/// A wish under an authorization that was given before. Whoever gave it confirmed a step from one
/// count to another: from a third one it is another step, which this line confirms itself.
fn under_given(args: &ScaleArgs, put: PutIntent, app: &mut App) -> Result<Glazed, Fault> {
    let Some(id) = args.glass.given()? else { return Ok((put, None)) };
    let head = as_it_stands(&put.service, app)?;
    under(id, &head, put, app)
}

fn under(
    id: AuthorizationId,
    head: &ServiceHead,
    put: PutIntent,
    app: &mut App,
) -> Result<Glazed, Fault> {
    // A wish that is recorded already has taken its step.
    let now = app.session()?.now();
    if app.session()?.recorded_under(put.key())?.is_none()
        && let Err(OtherStep { confirmed, actual }) = check_step(head, &id, &put, now)
    {
        let mut line = app.problem_context().line;
        line.extend(["--current-replicas".to_owned(), actual.to_string()]);
        let desired = put.desired();
        let now_runs = runs(actual.get());
        let what = format!("{id} was confirmed for {confirmed} → {desired}, and {now_runs} now");
        return Err(Problem::new("premise_moved", Exit::Conflict, what)
            .values(confirmed.get(), actual.get())
            .hint("if the step from there is meant as well, say so")
            .run(line)
            .into());
    }
    Ok((PutIntent { authorization: Some(id), ..put }, None))
}

/// Says how a count above the upper bound is meant, where its line has not said so.
fn check_bounds(request: &GlassRequest, head: &ServiceHead, app: &App) -> Result<(), Fault> {
    let Some(registration) = above_max(head, request.desired).filter(|_| !request.raises_max)
    else {
        return Ok(());
    };
    let text = format!(
        "{} is above max {} of {} (registration {})",
        request.desired, registration.max_replicas, request.service, registration.unit_revision
    );
    let mut line = app.problem_context().line;
    line.push("--raise-max".to_owned());
    Err(Problem::usage("out_of_bounds", text)
        .values(registration.max_replicas.get(), request.desired.get())
        .hint("--raise-max registers it under the same authorization, and the review lists it")
        .run(line)
        .into())
}

/// Shows what is passed, and lets a person type the name of the service. Without a terminal the
/// line itself says what it believes.
fn confirm(
    args: &ScaleArgs,
    request: &GlassRequest,
    put: &PutIntent,
    head: &ServiceHead,
    app: &mut App,
    out: &mut Out,
) -> Result<(), Fault> {
    if args.glass.yes {
        return Ok(check_belief(head, &request.service, put.expect_count)?);
    }
    let ways = in_the_way(&unbroken(app.session()?, put)?);
    for line in told(request, head, &ways, app) {
        out.progress(&line);
    }
    let mut stderr = std::io::stderr();
    let name = request.service.as_str();
    // A prompt that cannot be written is answered by nobody.
    let _ = write!(stderr, "Type {name} to go on: ").and_then(|()| stderr.flush());
    let typed = typed_line()?;
    if typed.trim() == name {
        return Ok(());
    }
    Err(Problem::usage(
        "not_confirmed",
        format!("{:?} is not {name}: nothing was done", typed.trim()),
    )
    .hint("run the same line again, and type the name of the service")
    .into())
}

/// A line from the terminal, or the end of this process where a signal asks for it.
fn typed_line() -> Result<String, Fault> {
    let stdin = std::io::stdin();
    let slice = rustix::event::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    loop {
        refuse_after_signal()?;
        let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut waited, Some(&slice)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // What cannot be waited for is read, and its end is no name.
            Ok(_) | Err(_) => break,
        }
    }
    let mut typed = String::new();
    let read = stdin.lock().read_line(&mut typed);
    refuse_after_signal()?;
    Ok(read.map_or_else(|_| String::new(), |_| typed))
}

/// Whoever is not at a terminal says in the line itself what they believe.
fn check_answerable(args: &ScaleArgs, head: &ServiceHead, app: &App) -> Result<(), Fault> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if args.glass.yes || is_terminal {
        return Ok(());
    }
    let believed = known_count(head).map_or_else(|| "N".to_owned(), |count| count.to_string());
    let mut line = app.problem_context().line;
    line.extend(["--yes".to_owned(), "--current-replicas".to_owned(), believed]);
    let what = "a broken glass asks for a confirmation, and there is no terminal";
    Err(Problem::usage("confirmation_needed", what)
        .hint("say what you believe runs now (or use ssh -t)")
        .run(line)
        .into())
}

/// What a person is shown before the glass breaks.
fn told(request: &GlassRequest, head: &ServiceHead, ways: &[String], app: &App) -> Vec<String> {
    let ledger = app.problem_context().ledger.unwrap_or_default();
    let mut lines = vec![format!("BREAK GLASS on ledger {ledger}")];
    let from = known_count(head).map_or_else(|| "?".to_owned(), |count| count.to_string());
    if let (Some(registration), Some(binding)) = (&head.registration, &head.binding) {
        lines.push(format!(
            "  {} ({}/{}, uid {})   {from} → {}",
            request.service,
            registration.runtime_id,
            registration.workload_id,
            binding.target_uid,
            request.desired
        ));
        if request.raises_max && above_max(head, request.desired).is_some() {
            lines.push(format!(
                "  registers     max {} → {} (stays until changed)",
                registration.max_replicas, request.desired
            ));
        }
    }
    lines.push("  passes        policy, approval, cooldown, hold".to_owned());
    if ways.is_empty() {
        lines.push("  in the way    nothing: the wish needs no broken glass".to_owned());
    }
    lines.extend(ways.iter().map(|way| format!("  in the way    {way}")));
    lines.push("  never passes  target uid, bounds, mode, lease, revision, readings".to_owned());
    if let Some(session) = app.opened() {
        let by = &session.by;
        let signed = match &request.sign_with {
            Some(key) => format!("signed with {}", key.display()),
            None => "unsigned".to_owned(),
        };
        lines.push(format!("  recorded as   {} · {} · {signed}", by.actor, known_as(by)));
    }
    lines.push("  afterwards    break-glass review, by somebody else".to_owned());
    lines
}
