//! `reconcile`: the other tick. What was decided is carried out, confirmed, or found out about; a
//! static service is brought back to its declared count.
//!
//! Owns the one step that each service takes in a pass. A pass that calls never confirms: whatever
//! is verified was seen in two passes at least. What was lost is looked up, fenced and read, and
//! never called again in that pass. One bad service never stops the rest. After a crash the next
//! pass goes on from what is recorded; nothing is remembered beside the ledger.

mod choice;

use std::path::PathBuf;

use super::carry::CarryOptions;
use super::error::OpError;
use super::health::{Asking, Health, given};
use super::ids::mint_key;
use super::intent_put::intent_put;
use super::recover::find_out;
use super::report::{Effect, Report};
use super::session::Session;
use super::tally::Turn;
use super::wait::refuse_after_signal;
use crate::domain::count::runs;
use crate::domain::id::{ExecutionKey, Replicas, ServiceName};
use crate::domain::scale::command::{Premise, PutForm, PutIntent};
use crate::domain::scale::decide::verdict_of;
use crate::domain::scale::execution::Phase;
use crate::domain::scale::intent::{Reason, RetryAsked};
use crate::domain::scale::left::Left;
use crate::domain::scale::observation::ReadingVerdict;
use crate::domain::scale::provenance::WishSource;
use crate::domain::scale::rejection::Rejection;
use crate::domain::time::DurationMs;
use choice::{Choice, choice_of, may_have_drifted, named, under_way};

/// What a pass is asked.
pub struct ReconcileRequest {
    /// The services; none for all.
    pub services: Vec<ServiceName>,
    /// The document of the health gate; none for no gate.
    pub health: Option<PathBuf>,
    /// How many calls and wishes it may make.
    pub max_actions: u64,
    /// Whether it only brings declared and pinned counts back.
    pub only_static: bool,
    /// The life of the fence of a wish of its own.
    pub valid_for: DurationMs,
    /// How long a wish of its own may wait for a colleague; zero where it may not.
    pub approve_within: DurationMs,
}

/// What a pass does with a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// It would act, and the pass has acted often enough.
    Deferred,
    /// It carries an accepted wish out.
    Actuate,
    /// It starts the next attempt of what has failed.
    Retry,
    /// It reads whether a result holds.
    Observe,
    /// It finds out what became of a lost call.
    Recover,
    /// It wishes the count that is declared or pinned, and carries that out where it may.
    BringBack,
}

impl Action {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Deferred => "deferred",
            Self::Actuate => "actuate",
            Self::Retry => "retry",
            Self::Observe => "observe",
            Self::Recover => "recover",
            Self::BringBack => "bring_back",
        }
    }

    /// Whether it counts against the budget of its pass.
    const fn is_counted(self) -> bool {
        match self {
            Self::Actuate | Self::Retry | Self::BringBack => true,
            Self::Nothing | Self::Deferred | Self::Observe | Self::Recover => false,
        }
    }
}

/// What became of one service.
pub struct Converged {
    /// The service.
    pub service: ServiceName,
    /// What was done.
    pub action: Action,
    /// Why, or what was found out.
    pub why: String,
    /// Where its wish stands; none where there is none.
    pub report: Option<Report>,
    /// What this pass has done to the target.
    pub effect: Effect,
    /// What the calls of its key have left, where the step on it failed.
    pub left: Left,
    /// Whether a fact could not be read: nothing follows from it.
    pub is_blind: bool,
    /// What it failed by.
    pub failure: Option<OpError>,
}

/// What a pass came to.
pub struct Reconciled {
    /// What the health gate said.
    pub health: Health,
    /// The services, by name.
    pub rows: Vec<Converged>,
    /// What ended it before the last service.
    pub end: Option<OpError>,
}

impl Reconciled {
    /// How many calls and wishes it made or tried to make.
    pub fn actions(&self) -> u64 {
        self.rows.iter().filter(|row| row.action.is_counted()).count() as u64
    }
}

/// One pass.
pub fn reconcile(session: &mut Session, request: &ReconcileRequest) -> Result<Reconciled, OpError> {
    let health =
        Health::of(request.health.as_deref().map(given), Asking::Convergence, session.now());
    refuse_after_signal()?;
    let mut done = Reconciled { health, rows: Vec::new(), end: None };
    if done.health.closed().is_some() {
        return Ok(done);
    }
    for service in services(session, &request.services)? {
        let may_act = done.actions() < request.max_actions;
        // Each row answers for what it did itself.
        session.begin(Turn::Row { effect: Effect::None });
        let row = refuse_after_signal()
            .map_err(while_choosing)
            .and_then(|()| Pass { request, may_act }.converge(session, &service))
            .or_else(|(action, error)| failed(session, &service, action, error));
        match row {
            Ok(row) => done.rows.push(row),
            Err(error) => {
                done.end = Some(error);
                break;
            }
        }
    }
    if done.end.is_none() {
        session.sweep_calls();
    }
    Ok(done)
}

/// The services to look at, by name.
fn services(session: &mut Session, named: &[ServiceName]) -> Result<Vec<ServiceName>, OpError> {
    let heads = session.ledger.read()?.service_heads()?;
    let mut known: Vec<ServiceName> = heads.into_iter().map(|(name, _)| name).collect();
    known.sort();
    if let Some(stranger) = named.iter().find(|name| !known.contains(name)) {
        return Err(Rejection::NoSuchService { service: stranger.clone() }.into());
    }
    known.retain(|name| named.is_empty() || named.contains(name));
    Ok(known)
}

/// What failed, and in which step.
type Failed = (Action, OpError);

fn while_choosing(error: OpError) -> Failed {
    (Action::Nothing, error)
}

struct Pass<'r> {
    request: &'r ReconcileRequest,
    may_act: bool,
}

impl Pass<'_> {
    fn converge(&self, session: &mut Session, service: &ServiceName) -> Result<Converged, Failed> {
        let choice = self.choose(session, service).map_err(while_choosing)?;
        let row = |action, why| Converged {
            service: service.clone(),
            action,
            why,
            report: None,
            effect: Effect::None,
            left: Left::Nothing,
            is_blind: false,
            failure: None,
        };
        match choice {
            Choice::Nothing(why) => Ok(row(Action::Nothing, why)),
            Choice::Blind(why) => Ok(Converged { is_blind: true, ..row(Action::Nothing, why) }),
            Choice::Step(action, _) if action.is_counted() && !self.may_act => {
                Ok(row(Action::Deferred, format!("{}: {BUDGET}", action.as_str())))
            }
            Choice::BringBack { from, to, word, .. } if !self.may_act => {
                Ok(row(Action::Deferred, format!("{word} {to}, {}: {BUDGET}", runs(from.get()))))
            }
            Choice::Step(action, key) => {
                let (report, why) = step(session, action, &key).map_err(|error| (action, error))?;
                let effect = report.effect;
                Ok(Converged { report: Some(report), effect, ..row(action, why) })
            }
            Choice::BringBack { from, to, revision, word } => {
                let action = Action::BringBack;
                let why = format!("{word} {to}, {}", runs(from.get()));
                let report = self
                    .bring_back(session, service, (from, to, revision), &why)
                    .map_err(|error| (action, error))?;
                let effect = report.effect;
                Ok(Converged { report: Some(report), effect, ..row(action, why) })
            }
        }
    }

    fn choose(&self, session: &mut Session, service: &ServiceName) -> Result<Choice, OpError> {
        let state = session.load_service(service)?;
        let now = session.now();
        if state.head.authority.retired.is_some() {
            return Ok(Choice::Nothing("it is retired".to_owned()));
        }
        if let Some(registration) = &state.head.registration {
            if registration.mode.record_mode().is_none() {
                let owner = registration.owner.as_deref().unwrap_or(registration.mode.as_str());
                return Ok(Choice::Nothing(format!("{owner} owns the count")));
            }
            if registration.actuator.is_none() {
                let why = "it has no actuator: who carries it out reads it";
                return Ok(Choice::Nothing(why.to_owned()));
            }
        }
        let Some(execution) = under_way(&state, now) else {
            return session.choose_static(service, &state, now);
        };
        let only_static = self.request.only_static;
        if may_have_drifted(execution, only_static)
            && let brings @ Choice::BringBack { to, .. } =
                session.choose_static(service, &state, now)?
            && (execution.drift || execution.desired() == to)
        {
            return Ok(brings);
        }
        Ok(if only_static {
            Choice::Nothing(format!("{} is {}", named(execution), execution.phase.as_str()))
        } else {
            choice_of(&state, execution, now)
        })
    }

    /// Wishes a count, and carries it out where nobody else must agree first.
    fn bring_back(
        &self,
        session: &mut Session,
        service: &ServiceName,
        (from, to, revision): (Replicas, Replicas, u64),
        why: &str,
    ) -> Result<Report, OpError> {
        let key = mint_key(service, "brought-back")?;
        let form = PutForm::Flags {
            replicas: to,
            reason: Reason::cut(why),
            retry: RetryAsked::default(),
            key: key.clone(),
            fence: None,
            valid_for: self.request.valid_for,
        };
        let approve_within = Some(self.request.approve_within);
        let put = PutIntent {
            premise: Premise::Revision(revision),
            expect_count: Some(from),
            source: WishSource::Reconciler,
            approve_within: approve_within.filter(|it| *it > DurationMs::ZERO),
            ..PutIntent::new(service.clone(), form)
        };
        let report = intent_put(session, put)?;
        if matches!(report.execution.phase, Phase::Accepted) {
            let carried = session.carry_out(&key, &CarryOptions::default())?;
            return Ok(Report { recorded: true, ..carried });
        }
        Ok(report)
    }
}

const BUDGET: &str = "per-pass action budget exhausted";

/// One step on a key: the same as the verb of that name takes.
fn step(
    session: &mut Session,
    action: Action,
    key: &ExecutionKey,
) -> Result<(Report, String), OpError> {
    match action {
        Action::Actuate | Action::Retry => {
            let report = session.carry_out(key, &CarryOptions::default())?;
            Ok((report, "carried out".to_owned()))
        }
        Action::Observe => {
            let report = session.confirm(key)?;
            let read = report.execution.last_reading.as_ref();
            let why = read.map_or_else(
                || "confirmed by the actuator's own word".to_owned(),
                |reading| match verdict_of(&report.execution, reading) {
                    ReadingVerdict::Differs if reading.replicas == report.execution.desired() => {
                        "another object was read".to_owned()
                    }
                    ReadingVerdict::Differs => format!(
                        "read {}, not {}: wish it anew, or adopt it",
                        reading.replicas,
                        report.execution.desired()
                    ),
                    ReadingVerdict::Matches | ReadingVerdict::NotYet => {
                        format!("read {}", reading.replicas)
                    }
                },
            );
            Ok((report, why))
        }
        Action::Recover | Action::Nothing | Action::Deferred | Action::BringBack => {
            let found = find_out(session, key)?;
            let why = found.steps.last().cloned().unwrap_or_default();
            Ok((found.report, why))
        }
    }
}

/// One bad service does not stop the rest; what ends this process does. Who was faster is no fault:
/// the next pass looks again.
fn failed(
    session: &mut Session,
    service: &ServiceName,
    action: Action,
    error: OpError,
) -> Result<Converged, OpError> {
    if error.ends_all() {
        return Err(error);
    }
    let row = Converged {
        service: service.clone(),
        action,
        why: error.to_string(),
        report: None,
        effect: session.effect(),
        left: session.left(),
        is_blind: false,
        failure: None,
    };
    let is_overtaken = match &error {
        OpError::Rejected { rejection, .. } => matches!(
            **rejection,
            Rejection::StaleRevision { .. }
                | Rejection::PremiseMoved { .. }
                | Rejection::InFlight { .. }
                | Rejection::InProgress { .. }
                | Rejection::LeaseHeld { .. }
                | Rejection::WaitsBehind { .. }
                | Rejection::WrongState { .. }
                | Rejection::OnHold { .. }
                | Rejection::RetryLater { .. }
        ),
        _ => false,
    };
    if is_overtaken {
        let why = format!("stale: {}", row.why);
        return Ok(Converged { action: Action::Nothing, why, ..row });
    }
    Ok(Converged { failure: Some(error), ..row })
}
