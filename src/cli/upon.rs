//! What stands upon a service beside its wishes, for whoever asks how it stands: who keeps its
//! count, holds, overrides, broken glass, the cooldown, the fence and the last tick.
//!
//! Owns the words, one for each fact, and the way on from it. Decides nothing.

use serde_json::{Value, json};

use super::escape::shell_line;
use super::problem::ProblemContext;
use crate::domain::count::number;
use crate::domain::id::{Replicas, ServiceName};
use crate::domain::scale::authority::Authority;
use crate::domain::scale::consent::{OpenAuthorization, Unauthorized};
use crate::domain::scale::cooldown::CooldownStatus;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::intent::Reason;
use crate::domain::scale::provenance::Provenance;
use crate::domain::scale::service::{RegisteredMode, Registration};
use crate::domain::scale::standing::{EndedBy, stranded};
use crate::domain::scale::state::ServiceHead;
use crate::domain::scale::tick::TickOutcome;
use crate::domain::time::Timestamp;
use crate::ops::cooldown::cooldown;
use crate::ops::{OpError, Session};

/// Where a person says why.
const WHY: &str = "TEXT";

/// One fact: a label, what is so, and a line that changes or answers it.
pub(super) struct Fact {
    pub(super) label: &'static str,
    pub(super) text: String,
    pub(super) way: Option<Vec<String>>,
}

impl Fact {
    fn new(label: &'static str, text: impl Into<String>) -> Self {
        Self { label, text: text.into(), way: None }
    }

    fn run<S: AsRef<str>>(self, c: &ProblemContext, words: &[S]) -> Self {
        Self { way: Some(c.command(words)), ..self }
    }

    /// As lines for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("  {:<13} {}", self.label, self.text)];
        if let Some(way) = &self.way {
            lines.push(format!("  {:<13} → {}", "", shell_line(way)));
        }
        lines
    }

    /// For machines.
    pub(super) fn view(&self) -> Value {
        json!({"fact": self.label, "text": self.text, "next": self.way})
    }
}

/// A line to type that begins with `scalectl`, for the ledger that was asked.
pub(super) fn on_this_ledger(line: &str, c: &ProblemContext) -> String {
    match line.strip_prefix("scalectl ") {
        Some(words) => format!("{} {words}", shell_line(&c.program)),
        None => line.to_owned(),
    }
}

/// The line that ends a wish which was made for settings that are no more; none for any other.
pub(super) fn end_of_stranded(
    execution: &Execution,
    head: &ServiceHead,
    name: &str,
) -> Option<String> {
    stranded(execution, head).map(|end| line_of_end(end, name))
}

/// The line by which a person ends a wish.
pub(super) fn line_of_end(end: EndedBy, name: &str) -> String {
    match end {
        EndedBy::Withdraw => format!("scalectl intent withdraw {name}"),
        EndedBy::Abandon => format!("scalectl intent abandon {name} --reason TEXT"),
    }
}

/// How a count is kept, in two words for a cell: `declared 4`, `signal queue_depth`, `pinned 4`,
/// `held`; none where only wishes move it.
pub(super) fn kept(
    registration: &Registration,
    authority: &Authority,
    now: Timestamp,
) -> Option<String> {
    let held = authority.hold_at(now).map(|_| "held".to_owned());
    let pinned = authority.pinned_at(now).map(|pinned| format!("pinned {}", pinned.replicas));
    let kept: Vec<String> =
        held.into_iter().chain(pinned.or_else(|| settled(registration))).collect();
    Some(kept.join(", ")).filter(|text| !text.is_empty())
}

/// The part of it that is a setting.
pub(super) fn settled(registration: &Registration) -> Option<String> {
    let signal = registration.scaling.as_ref().map(|it| format!("signal {}", it.signal.name));
    signal.or_else(|| registration.declared_replicas.map(|it| format!("declared {it}")))
}

/// The same in a sentence, with what changes it; what a person has laid upon it comes first.
pub(super) fn keeping(
    registration: &Registration,
    authority: Option<&Authority>,
    c: &ProblemContext,
) -> Fact {
    let service = registration.service.as_str();
    let is_external =
        matches!(registration.mode, RegisteredMode::ExternalHpa | RegisteredMode::ExternalKeda);
    if is_external {
        let owner = registration.owner.as_deref().unwrap_or("another controller");
        let text = format!("by {owner} ({}): scalectl only looks", registration.mode.as_str());
        let words = ["service", "mode", service, "native", "--reason", WHY];
        return Fact::new("count kept", text).run(c, &words);
    }
    let (setting, usual) = match (&registration.scaling, registration.declared_replicas) {
        (Some(scaling), _) => (
            format!("by a signal, {} {} for each replica", scaling.target, scaling.signal.name),
            "autoscale wishes, reconcile carries out".to_owned(),
        ),
        (None, Some(declared)) => (
            format!("static, {declared} declared"),
            format!("reconcile brings it back to {declared}"),
        ),
        (None, None) => ("static, none declared".to_owned(), "only a wish moves it".to_owned()),
    };
    let held = authority.and_then(|it| it.hold_at(c.now));
    let pinned = authority.and_then(|it| it.pinned_at(c.now));
    let rule = match (held, pinned) {
        (Some(_), _) => "while it is held, nothing but a broken glass moves it".to_owned(),
        (None, Some(pinned)) => {
            format!("while it is pinned, reconcile brings it back to {}", pinned.replicas)
        }
        (None, None) => usual,
    };
    let fact = Fact::new("count kept", format!("{setting}: {rule}"));
    if registration.scaling.is_none() && registration.declared_replicas.is_some() {
        return fact.run(c, &["service", "put", service, "--replicas", "none"]);
    }
    fact
}

/// What people have laid upon a service, the newest ways to end it beside it.
/// `why` is why the count is pinned.
pub(super) fn laid(
    service: &ServiceName,
    head: &ServiceHead,
    why: Option<&Reason>,
    by: &Provenance,
    c: &ProblemContext,
) -> Vec<Fact> {
    let now = c.now;
    let name = service.as_str();
    let mut facts = Vec::new();
    if let Some(retired) = &head.authority.retired {
        let text = format!("at {} by {}: {}", retired.at, retired.actor, retired.reason);
        facts.push(Fact::new("retired", text).run(c, &["help", "service", "put"]));
    }
    if let Some(hold) = head.authority.hold_at(now) {
        let (until, left, actor) = (hold.until, hold.until.since(now), &hold.actor);
        let text = format!("until {until} (for {left}) by {actor}: {}", hold.reason);
        facts.push(Fact::new("held", text).run(c, &["hold", "lift", name, "--reason", WHY]));
    }
    if let Some(pinned) = head.authority.pinned_at(now) {
        let (until, left, actor) = (pinned.until, pinned.until.since(now), &pinned.actor);
        let why = why.map_or_else(String::new, |why| format!(": {}", why.as_str()));
        let text = format!("at {} until {until} (for {left}) by {actor}{why}", pinned.replicas);
        let words = ["override", "clear", name, "--reason", WHY];
        facts.push(Fact::new("pinned", text).run(c, &words));
    }
    facts.extend(head.authorizations.values().map(|glass| broken(glass, by, c)));
    facts
}

/// An authorization that nobody has reviewed. Whoever had a hand in it is not told to review it.
fn broken(glass: &OpenAuthorization, by: &Provenance, c: &ProblemContext) -> Fact {
    let it = &glass.authorization;
    let id = it.authorization_id.as_str();
    let is_own = glass.hands().any(|hand| !by.is_other_person(hand));
    let state = match glass.over(c.now) {
        None => format!("open until {}", it.until),
        Some(why) if is_own => {
            format!("{}, and another person must review it", over_text(glass, why))
        }
        Some(why) => format!("{}, and nobody has reviewed it", over_text(glass, why)),
    };
    let text = format!(
        "{id} for {} by {} [{}], {state}: {}",
        it.desired_replicas,
        glass.by.actor,
        it.incident,
        it.reason.as_str()
    );
    let fact = Fact::new("broken glass", text);
    match glass.over(c.now) {
        Some(_) if !is_own => fact.run(c, &["break-glass", "review", id, "--reason", WHY]),
        Some(_) | None => fact.run(c, &["break-glass", "show", id]),
    }
}

/// Why nothing more may be done under an authorization, and whether something was before that.
pub(super) fn over_text(glass: &OpenAuthorization, why: Unauthorized) -> String {
    let uses = glass.uses.len();
    if uses > 0 && matches!(why, Unauthorized::Revoked | Unauthorized::Expired) {
        return format!("{}, after {}", why.as_str(), number(uses, "use", "uses"));
    }
    why.as_str().to_owned()
}

/// How long the last change still cools; none where it does not.
pub(super) fn cooling(
    session: &mut Session,
    service: &ServiceName,
    c: &ProblemContext,
) -> Result<Option<Fact>, OpError> {
    let text = match cooldown(session, service) {
        // Whoever looks is told what is so, also where nothing could be written.
        Err(OpError::Rejected { rejection, .. }) => format!("unknown: {rejection}"),
        Err(error) => return Err(error),
        Ok((CooldownStatus::Clear { .. }, ..)) => return Ok(None),
        Ok((CooldownStatus::Active { last, until, .. }, ..)) => format!(
            "until {until} (for {}), since {service}@{} of {}",
            until.since(c.now),
            last.intent_revision,
            last.actor
        ),
        Ok((CooldownStatus::Unknown { by }, ..)) => {
            format!("unknown, because nobody knows what became of {service}@{by}")
        }
    };
    Ok(Some(Fact::new("cools", text).run(c, &["cooldown", service.as_str()])))
}

/// The newest tick that used a sample of a service; none where none has.
pub(super) fn last_tick(
    session: &mut Session,
    service: &ServiceName,
    head: &ServiceHead,
    c: &ProblemContext,
) -> Result<Option<Fact>, OpError> {
    let is_scaled = head.registration.as_ref().is_some_and(|it| it.scaling.is_some());
    if !is_scaled {
        return Ok(None);
    }
    let none = || Fact::new("last tick", "none has used a sample yet");
    if head.authority.samples.is_empty() {
        return Ok(Some(none()));
    }
    let fact = session.last_tick(service)?.map_or_else(none, |(at, evaluation)| {
        let count = |it: Option<Replicas>| it.map_or_else(|| "?".to_owned(), |it| it.to_string());
        let what = match &evaluation.outcome {
            TickOutcome::Skipped { because } => format!("nothing: {}", because.plain()),
            outcome => outcome.as_str().to_owned(),
        };
        let value = evaluation.value.map_or_else(|| "?".to_owned(), |value| value.to_string());
        Fact::new(
            "last tick",
            format!(
                "{} ago, {value} read: {} → {}, {what}",
                c.now.since(at),
                count(evaluation.current),
                count(evaluation.desired)
            ),
        )
    });
    let words = ["log", service.as_str(), "--event", "autoscale_evaluated"];
    Ok(Some(fact.run(c, &words)))
}

/// All of it, for whoever asks about one service.
pub(super) fn all(
    session: &mut Session,
    service: &ServiceName,
    head: &ServiceHead,
    c: &ProblemContext,
) -> Result<Vec<Fact>, OpError> {
    let mut facts: Vec<Fact> =
        head.registration.iter().map(|it| keeping(it, Some(&head.authority), c)).collect();
    let why = session.why_pinned(head)?;
    facts.extend(laid(service, head, why.as_ref(), &session.by, c));
    facts.extend(cooling(session, service, c)?);
    facts.extend(last_tick(session, service, head, c)?);
    Ok(facts)
}
