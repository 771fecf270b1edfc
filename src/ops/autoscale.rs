//! `autoscale`: one tick. Samples in, at most one wish for each service out, and nobody is called.
//!
//! Owns the order of a tick: the health gate, the candidates by name, one read of all samples, and
//! then a look at each in a transaction of its own. After a crash whatever was looked at is
//! recorded, and the rest is looked at by the next tick: a sample is used once.

use std::path::PathBuf;

use super::error::OpError;
use super::health::{Asking, Health, given};
use super::ids::mint_key;
use super::read::{READING_TRIES, Read};
use super::session::Session;
use super::signals::{Said, Samples, SignalSource, Wanted};
use super::wait::refuse_after_signal;
use crate::domain::id::{ExecutionKey, Replicas, ServiceName};
use crate::domain::scale::command::{AuthorityCommand, Command, Observed, Tick};
use crate::domain::scale::decide::{Reply, decide, on_ledger_clock, ticked_count};
use crate::domain::scale::identity::next_revision;
use crate::domain::scale::intent::minted_intent_id;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::scaling::{CostCap, SampleMark};
use crate::domain::scale::service::{Binding, Registration};
use crate::domain::scale::state::ServiceState;
use crate::domain::scale::tick::{Evaluation, Skip, TickOutcome};
use crate::domain::time::DurationMs;
use crate::ledger::ReadTxn;

/// The label of a registration that says what Prometheus is asked.
pub const QUERY_LABEL: &str = "prometheus-query";

/// What a tick is asked.
pub struct AutoscaleRequest {
    /// The services; none for all that are scaled by a signal.
    pub services: Vec<ServiceName>,
    /// The document of the health gate; none for no gate.
    pub health: Option<PathBuf>,
    /// Where samples come from.
    pub source: SignalSource,
    /// How many wishes it may make.
    pub max_actions: u64,
    /// What more may cost.
    pub cost_cap: Option<CostCap>,
    /// Whether it only says what it would do.
    pub dry_run: bool,
    /// The life of the fence of a wish.
    pub valid_for: DurationMs,
    /// How long a wish may wait for a colleague; zero where it may not.
    pub approve_within: DurationMs,
}

/// One look at one service.
pub struct Looked {
    /// The service.
    pub service: ServiceName,
    /// What it came to; none where it failed.
    pub evaluation: Option<Evaluation>,
    /// What is known beside it: why nothing was observed, why there is no sample.
    pub why: Option<String>,
    /// Whether a fact could not be read: nothing follows from it.
    pub is_blind: bool,
    /// What it failed by.
    pub failure: Option<OpError>,
}

/// What a tick came to.
pub struct Autoscaled {
    /// What the health gate said.
    pub health: Health,
    /// The looks, by name.
    pub looks: Vec<Looked>,
    /// Why the source of samples could not be read as a whole.
    pub source_failure: Option<String>,
    /// What ended it before the last service.
    pub end: Option<OpError>,
}

impl Autoscaled {
    /// How many wishes it made.
    pub fn actions(&self) -> u64 {
        self.count(TickOutcome::is_action)
    }

    /// How many looks came to such an outcome.
    pub fn count(&self, is_meant: impl Fn(&TickOutcome) -> bool) -> u64 {
        let outcomes = self.looks.iter().filter_map(|look| look.evaluation.as_ref());
        outcomes.filter(|evaluation| is_meant(&evaluation.outcome)).count() as u64
    }
}

/// One tick.
pub fn autoscale(session: &mut Session, request: &AutoscaleRequest) -> Result<Autoscaled, OpError> {
    let health =
        Health::of(request.health.as_deref().map(given), Asking::Autoscaling, session.now());
    refuse_after_signal()?;
    let mut done = Autoscaled { health, looks: Vec::new(), source_failure: None, end: None };
    if done.health.closed().is_some() {
        return Ok(done);
    }
    let candidates = candidates(session, &request.services)?;
    let wanted: Vec<Wanted> = candidates.iter().filter_map(|(_, wanted)| wanted.clone()).collect();
    let samples = request.source.read(&wanted, &session.place)?;
    done.source_failure.clone_from(&samples.failure);
    for (service, _) in candidates {
        let looked = if done.actions() >= request.max_actions {
            Ok(skipped(service, Skip::Budget))
        } else {
            refuse_after_signal()
                .and_then(|()| session.look_with_samples(&service, &samples, request))
                .or_else(|error| failed(service, error))
        };
        match looked {
            Ok(looked) => done.looks.push(looked),
            Err(error) => {
                done.end = Some(error);
                break;
            }
        }
    }
    Ok(done)
}

/// One bad service does not stop the rest; what ends this process does.
fn failed(service: ServiceName, error: OpError) -> Result<Looked, OpError> {
    if error.ends_all() {
        return Err(error);
    }
    let failure = Some(error);
    Ok(Looked { service, evaluation: None, why: None, is_blind: false, failure })
}

fn skipped(service: ServiceName, because: Skip) -> Looked {
    let evaluation = Evaluation {
        outcome: TickOutcome::Skipped { because },
        current: None,
        desired: None,
        value: None,
        samples: SampleMark::default(),
        execution_key: None,
    };
    let evaluation = Some(evaluation);
    Looked { service, evaluation, why: None, is_blind: false, failure: None }
}

/// The services to look at, by name, and what of each is to be measured.
fn candidates(
    session: &mut Session,
    named: &[ServiceName],
) -> Result<Vec<(ServiceName, Option<Wanted>)>, OpError> {
    let mut heads = session.ledger.read()?.service_heads()?;
    heads.sort_by(|(one, _), (two, _)| one.cmp(two));
    if let Some(stranger) = named.iter().find(|name| heads.iter().all(|(known, _)| known != *name))
    {
        return Err(Rejection::NoSuchService { service: stranger.clone() }.into());
    }
    let is_meant = |name: &ServiceName, registration: &Registration, is_retired: bool| {
        named.contains(name) || named.is_empty() && registration.scaling.is_some() && !is_retired
    };
    Ok(heads
        .into_iter()
        .filter_map(|(name, head)| {
            let is_retired = head.authority.retired.is_some();
            let registration = head.registration?;
            is_meant(&name, &registration, is_retired).then(|| {
                let query = registration.labels.get(QUERY_LABEL).cloned();
                let signal = registration.scaling.map(|spec| spec.signal);
                let service = name.clone();
                (name, signal.map(|signal| Wanted { service, signal, query }))
            })
        })
        .collect())
}

/// What was observed of a target, and why nothing was.
struct Seen {
    observed: Option<Observed>,
    why: Option<String>,
}

impl Seen {
    fn nothing(why: impl Into<String>) -> Self {
        Self { observed: None, why: Some(why.into()) }
    }

    fn counted(replicas: Replicas, ready: Option<Replicas>, state: &ServiceState) -> Self {
        let head = &state.head;
        let observed = head.binding.as_ref().map(|_| Observed {
            replicas,
            // Some are declared, and none of them is there.
            is_down: replicas > Replicas::MIN && ready == Some(Replicas::MIN),
            began_after_serial: head.reading_serial,
        });
        Self { observed, why: None }
    }
}

impl Session {
    /// Looks at one service until nothing was recorded of its target between the reading and the
    /// decision.
    fn look_with_samples(
        &mut self,
        service: &ServiceName,
        samples: &Samples,
        request: &AutoscaleRequest,
    ) -> Result<Looked, OpError> {
        let (sample, no_sample, is_unreadable) = match samples.of(service) {
            Said::Sample(sample) => (Some(sample), None, false),
            Said::Nothing(why) => (None, Some(why), false),
            Said::Unreadable(why) => (None, Some(why), true),
        };
        let key: ExecutionKey = mint_key(service, "scaled")?;
        for attempt in 0..=READING_TRIES {
            let (state, seen) = if attempt == READING_TRIES {
                let why = format!("{READING_TRIES} readings were overtaken by newer ones");
                (self.load_service(service)?, Seen::nothing(why))
            } else if request.dry_run {
                self.see_unrecorded(service)?
            } else {
                self.see(service)?
            };
            let tick = Tick {
                service: service.clone(),
                observed: seen.observed,
                sample: sample.clone(),
                cost_cap: request.cost_cap,
                key: key.clone(),
                valid_for: request.valid_for,
                approve_within: request.approve_within,
                id_owner: None,
            };
            let evaluated = if request.dry_run {
                self.tick_unrecorded(&state, tick)?
            } else {
                self.tick(tick)?
            };
            let Some(evaluation) = evaluated else { continue };
            let because = match &evaluation.outcome {
                TickOutcome::Skipped { because } => Some(because),
                TickOutcome::Accepted | TickOutcome::Proposed | TickOutcome::Reported => None,
            };
            let (why, is_blind) = match because {
                Some(Skip::Unobserved) => (seen.why, true),
                Some(Skip::NoData { .. }) => (no_sample, is_unreadable),
                Some(_) | None => (None, false),
            };
            let (service, evaluation) = (service.clone(), Some(evaluation));
            return Ok(Looked { service, evaluation, why, is_blind, failure: None });
        }
        Err(OpError::Internal { what: format!("a tick of {service} has no end") })
    }

    /// What runs, read and recorded; nothing where nobody can say.
    fn see(&mut self, service: &ServiceName) -> Result<(ServiceState, Seen), OpError> {
        match self.refresh_binding(service) {
            Ok(Some((reading, state))) => {
                let seen = Seen::counted(reading.replicas, reading.ready_replicas, &state);
                Ok((state, seen))
            }
            Ok(None) => {
                Ok((self.load_service(service)?, Seen::nothing("its actuator cannot read")))
            }
            Err(error) => Ok((self.load_service(service)?, Seen::nothing(error.unread()?))),
        }
    }

    /// The same without recording it.
    fn see_unrecorded(&mut self, service: &ServiceName) -> Result<(ServiceState, Seen), OpError> {
        let state = self.load_service(service)?;
        Ok(match self.as_read(state)? {
            Read::Fresh(state) => {
                let binding = state.head.binding.as_ref();
                let ready = binding.and_then(|binding| binding.ready_replicas);
                let count = binding.and_then(Binding::known_replicas);
                let seen = count.map_or_else(
                    || Seen::nothing("its count is unknown"),
                    |count| Seen::counted(count, ready, &state),
                );
                (state, seen)
            }
            Read::Stored(state) => (state, Seen::nothing("it could not be read")),
            Read::Refused(state, rejection) => (state, Seen::nothing(rejection.to_string())),
        })
    }

    /// One look, in one transaction; none where what was read is out of date.
    fn tick(&mut self, tick: Tick) -> Result<Option<Evaluation>, OpError> {
        let service = tick.service.clone();
        let done = self.transition(&service, &[], |state, txn| {
            let id_owner = id_owner(state, txn, &tick)?;
            Ok(Command::Authority(Box::new(AuthorityCommand::Tick(Tick { id_owner, ..tick }))))
        })?;
        Ok(done.evaluation.filter(|_| done.reply != Reply::StaleReading).map(|it| *it))
    }

    /// The same without recording it.
    fn tick_unrecorded(
        &mut self,
        state: &ServiceState,
        tick: Tick,
    ) -> Result<Option<Evaluation>, OpError> {
        let id_owner = id_owner(state, &self.ledger.read()?, &tick)?;
        let tick = AuthorityCommand::Tick(Tick { id_owner, ..tick });
        let command = Command::Authority(Box::new(tick));
        let now = on_ledger_clock(state, self.now())?;
        let decided =
            self.with_context(state, None, |context| decide(state, &command, context, now))?;
        Ok(decided?.evaluation.map(|it| *it))
    }
}

/// Whose the id already is that an intent of this tick would get.
fn id_owner(
    state: &ServiceState,
    read: &ReadTxn<'_>,
    tick: &Tick,
) -> Result<Option<ExecutionKey>, OpError> {
    let mode = state.head.registration.as_ref().and_then(|it| it.mode.record_mode());
    let (Some(mode), Some(count)) = (mode, ticked_count(state, tick)) else {
        return Ok(None);
    };
    let minted = minted_intent_id(&tick.service, mode, count, state.head.latest_revision);
    Ok(read.intent_owner(&minted, next_revision(state))?)
}
