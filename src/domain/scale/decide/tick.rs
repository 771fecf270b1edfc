//! One look of the autoscaler at one service: a sample in, at most one wish out.
//!
//! Owns the order of the steps (facts/fleet-authority.md, 4.3). The sample, the streak and the wish
//! are one transaction; nobody is called. What the gates of a put refuse, a tick skips, with their
//! word: it never passes one.

use super::put::put;
use super::{Decision, Draft, Reply, nothing};
use crate::domain::id::Replicas;
use crate::domain::measure::Measure;
use crate::domain::scale::command::{Observed, PutForm, PutIntent, Tick};
use crate::domain::scale::event::EventBody;
use crate::domain::scale::gates::registered;
use crate::domain::scale::intent::{Reason, RetryAsked};
use crate::domain::scale::provenance::WishSource;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::scaling::{Sample, SampleMark, ScalingSpec, Streak, usable};
use crate::domain::scale::service::Registration;
use crate::domain::scale::state::{Direction, ServiceState};
use crate::domain::scale::tick::{Evaluation, Skip, TickOutcome};
use crate::domain::time::DurationMs;

/// Looks at one service. Refused only where there is no such service; everything else is an answer.
pub(super) fn tick(draft: &Draft<'_>, tick: &Tick) -> Result<Decision, Rejection> {
    let (registration, _) = registered(draft.state, &tick.service)?;
    // What was read before a call has ended, or another reading was recorded, says nothing of now.
    let serial = draft.state.head.reading_serial;
    if tick.observed.is_some_and(|observed| observed.began_after_serial != serial) {
        return Ok(nothing(Reply::StaleReading));
    }
    let (evaluation, wished) = evaluate(draft, tick, registration);
    let mut events: Vec<EventBody> = wished;
    let has_changed = evaluation.samples != draft.state.head.authority.samples;
    let is_told = !matches!(evaluation.outcome, TickOutcome::Skipped { .. });
    if has_changed || is_told {
        events.insert(0, EventBody::AutoscaleEvaluated { evaluation: evaluation.clone() });
    }
    let mut decision = draft.done(events);
    decision.reply = Reply::Evaluated;
    decision.evaluation = Some(Box::new(evaluation));
    Ok(decision)
}

/// The count that a tick would wish, before any gate: what the id of its intent is made of.
pub fn ticked_count(state: &ServiceState, tick: &Tick) -> Option<Replicas> {
    let registration = state.head.registration.as_ref()?;
    let spec = registration.scaling.as_ref()?;
    let (current, sample) = (tick.observed?.replicas, tick.sample.as_ref()?);
    let tracked = tracked(registration, spec, current, sample.value);
    Some(tick.cost_cap.map_or(tracked, |cap| cap.capped(current, tracked)))
}

/// The count that a value asks for, within the bounds of the registration.
fn tracked(
    registration: &Registration,
    spec: &ScalingSpec,
    current: Replicas,
    value: Measure,
) -> Replicas {
    spec.wanted(bounds_of(registration), current, value)
}

const fn bounds_of(registration: &Registration) -> (Replicas, Replicas) {
    (registration.min_replicas, registration.max_replicas)
}

/// What one look knows so far.
struct Look<'a> {
    draft: &'a Draft<'a>,
    tick: &'a Tick,
    /// What the next tick remembers: a valid sample is used up whatever comes after.
    samples: SampleMark,
    current: Option<Replicas>,
    desired: Option<Replicas>,
    sample: Option<&'a Sample>,
}

impl Look<'_> {
    fn comes_to(&self, outcome: TickOutcome, streak: Option<Streak>) -> Evaluation {
        Evaluation {
            execution_key: outcome.is_action().then(|| self.tick.key.clone()),
            outcome,
            current: self.current,
            desired: self.desired,
            value: self.sample.map(|sample| sample.value),
            samples: SampleMark { streak, ..self.samples },
        }
    }

    /// Nothing is wished, and the streak ends.
    fn ends(&self, because: Skip) -> (Evaluation, Vec<EventBody>) {
        (self.comes_to(TickOutcome::Skipped { because }, None), Vec::new())
    }

    /// Nothing is wished, and the streak stays as it is.
    fn waits(&self, because: Skip) -> (Evaluation, Vec<EventBody>) {
        let streak = self.samples.streak;
        (self.comes_to(TickOutcome::Skipped { because }, streak), Vec::new())
    }
}

/// The steps 1 to 7: what was observed, what the sample asks for, and who may act on it.
fn evaluate(
    draft: &Draft<'_>,
    tick: &Tick,
    registration: &Registration,
) -> (Evaluation, Vec<EventBody>) {
    let head = &draft.state.head;
    let samples = head.authority.samples;
    let mut look = Look { draft, tick, samples, current: None, desired: None, sample: None };
    let Some(spec) = &registration.scaling else {
        return look.waits(Skip::Static);
    };
    let Some(Observed { replicas: current, is_down, .. }) = tick.observed else {
        return look.ends(Skip::Unobserved);
    };
    look.current = Some(current);
    if is_down {
        return look.ends(Skip::Down);
    }
    let service = &registration.service;
    let consumed_at = samples.consumed_at;
    let sample = usable(service, &spec.signal, tick.sample.as_ref(), consumed_at, draft.now);
    let sample = match sample {
        Ok(sample) => sample,
        Err(what) => return look.ends(Skip::NoData { what }),
    };
    look.samples.consumed_at = Some(sample.observed_at);
    look.sample = Some(sample);
    let desired = tracked(registration, spec, current, sample.value);
    look.desired = Some(desired);
    if registration.mode.record_mode().is_none() {
        let streak = look.samples.streak;
        return (look.comes_to(TickOutcome::Reported, streak), Vec::new());
    }
    if head.authority.pinned_at(draft.now).is_some() {
        return look.waits(Skip::Overridden);
    }
    if spec.is_within_deadband(bounds_of(registration), current, sample.value) {
        look.desired = Some(current);
        return look.ends(Skip::WithinDeadband);
    }
    wish(look, spec, current, desired)
}

/// The steps 8 to 15: what is under way, what it may cost, how long it has been asked for, and the
/// gates.
fn wish(
    mut look: Look<'_>,
    spec: &ScalingSpec,
    current: Replicas,
    tracked: Replicas,
) -> (Evaluation, Vec<EventBody>) {
    let draft = look.draft;
    if let Some(state) = under_way(draft) {
        return look.waits(Skip::Awaiting { state: state.to_owned() });
    }
    if draft.state.head.authority.simulated == Some(tracked) {
        return look.waits(Skip::Simulated);
    }
    let cap = look.tick.cost_cap;
    let desired = cap.map_or(tracked, |cap| cap.capped(current, tracked));
    look.desired = Some(desired);
    if desired == current {
        let is_capped = desired != tracked;
        return look.ends(if is_capped { Skip::CostCap } else { Skip::AtTarget });
    }
    let direction = Direction::of(Some(current), desired);
    let streak = look.samples.extended(direction);
    let needed = spec.samples_for(direction);
    if streak.samples < needed {
        let samples = streak.samples;
        let because = Skip::Stabilizing { direction, samples, needed };
        let outcome = TickOutcome::Skipped { because };
        return (look.comes_to(outcome, Some(streak)), Vec::new());
    }
    match put(draft, &put_of(&look, spec, current, desired)) {
        Ok(decision) => {
            let bodies: Vec<EventBody> = decision.events.into_iter().map(|it| it.body).collect();
            let is_proposed =
                bodies.iter().any(|body| matches!(body, EventBody::IntentProposed { .. }));
            // A proposal may be refused: what the samples agree on is kept until it is answered.
            let (outcome, streak) = if is_proposed {
                (TickOutcome::Proposed, Some(streak))
            } else {
                (TickOutcome::Accepted, None)
            };
            (look.comes_to(outcome, streak), bodies)
        }
        Err(rejection) => {
            let because = match &rejection {
                Rejection::OnHold { .. } => Skip::Held,
                other => {
                    Skip::Refused { code: other.code().to_owned(), message: other.to_string() }
                }
            };
            (look.comes_to(TickOutcome::Skipped { because }, Some(streak)), Vec::new())
        }
    }
}

/// The state of whatever of the service is not over. What nobody can carry on any more has only
/// waited to be written down, and the next wish ends it.
fn under_way(draft: &Draft<'_>) -> Option<&'static str> {
    let newest = draft
        .state
        .executions
        .values()
        .filter(|it| it.is_live() && !it.phase.is_finished() && !it.is_spent(draft.now))
        .max_by_key(|it| it.revision());
    newest.map(|execution| execution.phase.as_str())
}

fn put_of(look: &Look<'_>, spec: &ScalingSpec, current: Replicas, desired: Replicas) -> PutIntent {
    let tick = look.tick;
    let value = look.sample.map_or_else(String::new, |sample| sample.value.to_string());
    let text =
        format!("{} {value}, target {}: {current} → {desired}", spec.signal.name, spec.target);
    let form = PutForm::Flags {
        replicas: desired,
        reason: Reason::cut(&text),
        retry: RetryAsked::default(),
        key: tick.key.clone(),
        fence: None,
        valid_for: tick.valid_for,
    };
    let mut put = PutIntent::new(tick.service.clone(), form);
    put.source = WishSource::Autoscaler;
    put.approve_within = Some(tick.approve_within).filter(|it| *it > DurationMs::ZERO);
    put.id_owner.clone_from(&tick.id_owner);
    put
}
