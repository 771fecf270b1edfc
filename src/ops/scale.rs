//! `scale`: the whole way of one wish, from the put to the confirmation, waiting for what has a
//! known end.

mod request;
mod words;

use super::breaking::Breaking;
use super::carry::CarryOptions;
use super::error::OpError;
use super::intent_put::put_under;
use super::outwait::{Ends, ends_of, kind_of, remaining};
use super::recover::recover;
use super::report::{Effect, Report, stands};
use super::resume::{Again, Wished, is_there, may_act};
use super::session::Session;
use super::wait::{Teller, is_within, pause, refuse_after_signal};
use crate::actuator::host::Deadline;
use crate::domain::id::{ExecutionKey, Replicas};
use crate::domain::scale::command::{Premise, PutIntent};
use crate::domain::scale::decide::{Reply, waits_behind};
use crate::domain::scale::execution::{Execution, Outcome, Phase};
use crate::domain::scale::observation::ReadingVerdict;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::state::{ServiceHead, ServiceState};
use crate::domain::time::{DurationMs, Timestamp};
pub use request::{Readiness, ScaleRequest, Scaled, Wait};
use words::{accepted, named, verdict};

/// How long the first wait for a target that is not yet ready is; it doubles up to [`POLL_MAX`].
const POLL_MIN: DurationMs = DurationMs::from_millis(100);
/// How long it is between two looks for a colleague's answer.
const ANSWER_POLL: DurationMs = DurationMs::from_secs(1);
/// The longest such wait.
const POLL_MAX: DurationMs = DurationMs::from_secs(2);

/// How long to wait before looking again at what may end early.
const LOOK: DurationMs = DurationMs::from_millis(250);

/// A run of `scale`.
struct Run<'a> {
    session: &'a mut Session,
    deadline: Deadline,
    wait: Wait,
    wait_approval: bool,
    options: CarryOptions,
    effect: Effect,
    /// What the calls of the key have done, as far as this run has recorded it: also what it found
    /// out of the calls of others.
    known: Effect,
    recorded: bool,
    readiness: Readiness,
    teller: Teller,
    say: &'a mut dyn FnMut(&str),
}

/// Scales a service and waits for it. `say` is told what happens, a line at a time.
pub fn scale(
    session: &mut Session,
    request: ScaleRequest,
    say: &mut dyn FnMut(&str),
) -> Result<Scaled, OpError> {
    let service = request.wished.put.service.clone();
    let mut run = Run {
        session,
        deadline: Deadline::after(request.timeout),
        wait: request.wait,
        wait_approval: request.wait_approval,
        options: request.options,
        effect: Effect::None,
        known: Effect::None,
        recorded: false,
        readiness: Readiness::Reached,
        teller: Teller::default(),
        say,
    };
    // Without a wait each step is taken once, and the lock timeout alone bounds it.
    if request.timeout != DurationMs::ZERO {
        run.session.asks_again_until(run.deadline);
    }
    let key = match run.put(request.wished)? {
        Put::There(head) => {
            let readiness = Readiness::Reached;
            return Ok(Scaled { report: None, head: *head, changed: false, readiness });
        }
        Put::Key(key) => key,
    };
    let report = match run.follow(&key) {
        Ok(report) => report,
        Err(error) => {
            run.session.excuse(run.known, error)?;
            Report::replay(run.session, &key)?
        }
    };
    let (effect, recorded, readiness) = (run.effect, run.recorded, run.readiness);
    let reply = if recorded { Reply::Done } else { Reply::Replayed };
    let head = session.load_service(&service)?.head;
    let report = Report { reply, recorded, effect, ..report };
    Ok(Scaled { report: Some(report), head, changed: recorded, readiness })
}

enum Put {
    /// The target is already as wished.
    There(Box<ServiceHead>),
    /// The wish is recorded under this key.
    Key(ExecutionKey),
}

impl Run<'_> {
    /// Puts the wish and waits for the known end of what refuses it. The premise is fixed before
    /// anything is read: whatever moves after that is a conflict.
    fn put(&mut self, request: Wished) -> Result<Put, OpError> {
        let Wished { mut put, breaking, again } = request;
        let premise = put.premise;
        if !self.session.is_said_again(&put, again)? {
            let state = self.session.load_service(&put.service)?;
            may_act(&state, self.options.controller.as_ref())?;
            if again == Again::GoesOn
                && let Some(own) = self.session.resumable(&state, &put)?
            {
                return Ok(Put::Key(own));
            }
            if put.premise == Premise::Latest {
                put.premise = Premise::Revision(state.head.latest_revision);
            }
        }
        let mut first = None;
        loop {
            refuse_after_signal()?;
            match self.put_once((&put, premise), breaking.as_ref(), again, &mut first) {
                Ok(put) => return Ok(put),
                Err(error) => self.outwait(error)?,
            }
        }
    }

    /// One try, from a reading of its own, of a wish and the premise that its line has given.
    /// `first` is the count of the first.
    fn put_once(
        &mut self,
        (put, premise): (&PutIntent, Premise),
        breaking: Option<&Breaking>,
        again: Again,
        first: &mut Option<Replicas>,
    ) -> Result<Put, OpError> {
        // The same line may run twice at once, and the other one has put it by now.
        let known = self.session.is_said_again(put, again)?;
        if !known && let Some((reading, state)) = self.session.refresh_binding(&put.service)? {
            let expected = *first.get_or_insert(reading.replicas);
            // What a queued wish waits behind may move the count.
            let has_moved = expected != reading.replicas && !put.queue;
            if has_moved && !self.session.is_said_again(put, again)? {
                let (service, actual) = (put.service.clone(), reading.replicas);
                return Err(Rejection::PremiseMoved { service, expected, actual }.into());
            }
            if again.needs_a_change() && is_there(&state, put, premise) {
                return Ok(Put::There(Box::new(state.head)));
            }
        }
        let report = put_under(self.session, breaking, put.clone())?;
        self.recorded |= report.recorded;
        if report.recorded {
            for line in accepted(&report.execution) {
                (self.say)(&line);
            }
        }
        Ok(Put::Key(put.key().clone()))
    }

    /// Follows a key to where the caller wants it.
    fn follow(&mut self, key: &ExecutionKey) -> Result<Report, OpError> {
        let mut poll = POLL_MIN;
        loop {
            refuse_after_signal().map_err(|error| named(error, key))?;
            let (state, execution) = self.session.load(key)?;
            let step = match &execution.phase {
                // Whoever waits for another key asks the target only once it is its turn.
                Phase::Accepted if let Some(behind) = waits_behind(&state, &execution) => {
                    Err(behind.into())
                }
                Phase::Accepted | Phase::Failed { .. } => self.attempt(&state, &execution),
                Phase::Started { .. } => self.session.record_loss(&execution).map(Some),
                // What another run has left unknown is found out; what this run has just made
                // unknown is left to `replay`, which a person decides on.
                Phase::RecoveryPending { .. } if self.effect == Effect::Unknown => Ok(None),
                Phase::RecoveryPending { .. } => {
                    let replayed = recover(self.session, key)?;
                    for line in &replayed.steps {
                        (self.say)(line);
                    }
                    let settled =
                        !matches!(replayed.report.execution.phase, Phase::RecoveryPending { .. });
                    Ok(settled.then_some(replayed.report))
                }
                Phase::Succeeded | Phase::Observed if self.wait == Wait::Applied => Ok(None),
                Phase::Succeeded | Phase::Observed => {
                    return self.confirm(key, &mut poll);
                }
                Phase::Proposed { until } if self.may_wait_for_answer(*until) => {
                    pause(ANSWER_POLL, self.deadline)?;
                    continue;
                }
                // Whoever waits for an answer is told that none can come any more.
                Phase::Proposed { until } if self.wait_approval && *until <= self.session.now() => {
                    return Err(Rejection::ApprovalExpired {
                        service: execution.intent.service.clone(),
                        revision: execution.revision(),
                        until: *until,
                    }
                    .into());
                }
                Phase::Proposed { .. }
                | Phase::Verified { .. }
                | Phase::Rejected
                | Phase::Withdrawn
                | Phase::Superseded { .. } => {
                    return self.finished(key);
                }
            };
            match step {
                Ok(Some(report)) => self.note(&report),
                Ok(None) => return Report::replay(self.session, key),
                Err(error) => match self.outwait(error) {
                    Ok(()) => {}
                    // What is to be tried again later is no refusal: how it stands is the answer.
                    Err(OpError::Rejected { rejection, .. })
                        if matches!(*rejection, Rejection::RetryLater { .. }) =>
                    {
                        return Report::replay(self.session, key);
                    }
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// Whether a colleague may still answer while this line waits.
    fn may_wait_for_answer(&self, until: Timestamp) -> bool {
        self.wait_approval && !self.deadline.is_past() && self.session.now() < until
    }

    fn attempt(
        &mut self,
        state: &ServiceState,
        execution: &Execution,
    ) -> Result<Option<Report>, OpError> {
        let next = execution.attempts + 1;
        let report = self.session.carry_out_loaded(state, execution, &self.options)?;
        (self.say)(&format!(
            "attempt {next} of {}: {}",
            report.execution.intent.wish.retry_policy.max_attempts,
            stands(&report.execution)
        ));
        Ok(Some(report))
    }

    fn note(&mut self, report: &Report) {
        self.recorded |= report.recorded;
        if report.recorded {
            self.known = Effect::recorded_of(&report.execution).unwrap_or(Effect::Unknown);
        }
        if report.effect != Effect::None {
            self.effect = report.effect;
        }
    }

    /// A finished key is read afresh where it can be, so that an old success is not taken for what
    /// holds now.
    fn finished(&mut self, key: &ExecutionKey) -> Result<Report, OpError> {
        let (_, execution) = self.session.load(key)?;
        let is_success = execution.outcome() == Some(Outcome::Converged);
        let report = if !self.recorded && execution.is_live() && execution.calls > 0 {
            self.session.confirm(key)?
        } else {
            Report::replay(self.session, key)?
        };
        if self.wait == Wait::Ready && is_success { self.until_ready(key) } else { Ok(report) }
    }

    /// Reads until enough readings agree, one differs, or the time is over.
    fn confirm(&mut self, key: &ExecutionKey, poll: &mut DurationMs) -> Result<Report, OpError> {
        loop {
            refuse_after_signal().map_err(|error| named(error, key))?;
            let report = self.session.confirm(key)?;
            self.note(&report);
            let execution = &report.execution;
            if !matches!(execution.phase, Phase::Succeeded | Phase::Observed) {
                self.say_verified(&report);
                return self.finished(key);
            }
            // Somebody else changes the count: waiting longer would only hide it.
            if execution.drift || self.deadline.is_past() {
                return Ok(report);
            }
            let interval = execution.intent.terms.reading_interval_ms;
            let not_yet = execution
                .last_reading
                .as_ref()
                .is_some_and(|reading| verdict(execution, reading) == ReadingVerdict::NotYet);
            let wait = if not_yet { interval.max(*poll) } else { interval };
            pause(wait, self.deadline)?;
            if not_yet {
                *poll = DurationMs::from_millis(poll.as_millis() * 2).min(POLL_MAX);
            }
        }
    }

    /// Reads until all wished replicas are ready, the count is another, or the time is over.
    fn until_ready(&mut self, key: &ExecutionKey) -> Result<Report, OpError> {
        let mut poll = POLL_MIN;
        loop {
            refuse_after_signal().map_err(|error| named(error, key))?;
            let report = Report::replay(self.session, key)?;
            let ready = report.execution.last_reading.as_ref().and_then(|r| r.ready_replicas);
            self.readiness = match ready {
                None => Readiness::Unknown,
                Some(ready) if ready >= report.execution.desired() => Readiness::Reached,
                Some(_) => Readiness::NotYet,
            };
            let goes_on = self.readiness == Readiness::NotYet && !report.execution.drift;
            if !goes_on || self.deadline.is_past() {
                return Ok(report);
            }
            pause(poll, self.deadline)?;
            poll = DurationMs::from_millis(poll.as_millis() * 2).min(POLL_MAX);
            self.session.confirm(key)?;
        }
    }

    fn say_verified(&mut self, report: &Report) {
        (self.say)(&stands(&report.execution));
    }

    /// Waits for the known end of what stands in the way, or gives the refusal back.
    fn outwait(&mut self, error: OpError) -> Result<(), OpError> {
        let now = self.session.now();
        let Some(ends) = ends_of(&error, now) else {
            return Err(error);
        };
        // What may end early is worth all of the caller's time.
        let is_in_time = match ends {
            Ends::At(until) => is_within(until, now, self.deadline),
            Ends::Before(_) | Ends::WithAnother => true,
        };
        if self.deadline.is_past() || !is_in_time {
            return Err(error);
        }
        if matches!(&error, OpError::Ledger(ledger) if ledger.is_busy()) {
            self.session.waits_anew();
        }
        let (left, slice) = match ends {
            Ends::At(until) => (until.since(now), until.since(now)),
            Ends::Before(until) => {
                let left = until.since(now).min(remaining(self.deadline));
                (left, left.min(LOOK))
            }
            Ends::WithAnother => (remaining(self.deadline), LOOK),
        };
        if left >= DurationMs::from_millis(500) && self.teller.is_due(&kind_of(&error)) {
            let at_most = if matches!(ends, Ends::At(_)) { "" } else { "at most " };
            (self.say)(&format!("waiting {at_most}{left}: {error}"));
        }
        pause(slice.max(DurationMs::from_millis(5)), self.deadline)
    }
}
