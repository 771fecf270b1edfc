//! The gates, in their one order. The first that refuses decides; `explain` shows them all.
//!
//! `decide` and `plan` run the same functions, so that a plan answers as the real thing would.

use super::command::{Context, Premise, PutForm, PutIntent, StartAttempt};
use super::cooldown::{CooldownStatus, cooldown};
use super::execution::{Execution, Phase};
use super::intent::TargetBinding;
use super::observation::{Evidence, Reading};
use super::policy::{PolicyAction, PolicyAnswer, PolicyQuery, PolicyResource};
use super::provenance::Provenance;
use super::rejection::{MissingFact, Rejection, TargetPart};
use super::service::{
    Binding, COUNT_AGE_MAX, Drain, EVIDENCE_AGE_MAX, FenceSource, Registration, TargetMatch,
};
use super::state::ServiceState;
use crate::domain::id::{ControllerId, Replicas, ServiceName};
use crate::domain::time::Timestamp;

/// How far above the mark a supplied fence may be: a typo must not burn the numbers.
const FENCE_JUMP_MAX: u64 = 1 << 32;

/// The fifteen gates of the design, section 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// 1: the document is of the right shape.
    Shape = 1,
    /// 2: the key is new, or its answer is replayed.
    Replay,
    /// 3: the service is registered, and so is what the wish was made for.
    Registration,
    /// 4: the count is ours.
    Mode,
    /// 5: the writer is the one.
    Writer,
    /// 6: the count is within its bounds.
    Bounds,
    /// 7: nobody was faster.
    Revision,
    /// 8: nothing else is under way.
    InFlight,
    /// 9: the fence permits it.
    Fence,
    /// 10: the last change has cooled.
    Cooldown,
    /// 11: there is room.
    Capacity,
    /// 12: a reduction is safe.
    Evidence,
    /// 13: policy permits it.
    Policy,
    /// 14: a colleague has agreed, where that is asked.
    Approval,
    /// 15: the lease is ours.
    Lease,
}

impl Gate {
    /// The word for people and machines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shape => "shape",
            Self::Replay => "replay",
            Self::Registration => "registration",
            Self::Mode => "mode",
            Self::Writer => "writer",
            Self::Bounds => "bounds",
            Self::Revision => "revision",
            Self::InFlight => "in_flight",
            Self::Fence => "fence",
            Self::Cooldown => "cooldown",
            Self::Capacity => "capacity",
            Self::Evidence => "evidence",
            Self::Policy => "policy",
            Self::Approval => "approval",
            Self::Lease => "lease",
        }
    }

    /// Its place in the order, from 1.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// What one gate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is open; what it saw.
    Passed(String),
    /// It does not apply; why.
    Skipped(String),
    /// It refuses.
    Refused(Box<Rejection>),
}

/// One gate with what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The gate.
    pub gate: Gate,
    /// What it says.
    pub verdict: Verdict,
}

/// The reports of a walk through the gates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reports {
    /// In the order of the gates.
    pub all: Vec<Report>,
    /// What policy said, where it was asked.
    pub decision: Option<PolicyAnswer>,
}

type Checked = Result<Verdict, Rejection>;

#[expect(clippy::unnecessary_wraps, reason = "the ending of a check, which may also refuse")]
fn passed(seen: impl Into<String>) -> Checked {
    Ok(Verdict::Passed(seen.into()))
}

#[expect(clippy::unnecessary_wraps, reason = "the ending of a check, which may also refuse")]
fn skipped(why: impl Into<String>) -> Checked {
    Ok(Verdict::Skipped(why.into()))
}

impl Reports {
    fn add(&mut self, gate: Gate, checked: Checked) {
        let verdict = checked.unwrap_or_else(|rejection| Verdict::Refused(Box::new(rejection)));
        self.all.push(Report { gate, verdict });
    }

    /// The refusal that decides.
    pub fn first_refusal(&self) -> Option<&Rejection> {
        self.all.iter().find_map(|report| match &report.verdict {
            Verdict::Refused(rejection) => Some(rejection.as_ref()),
            Verdict::Passed(_) | Verdict::Skipped(_) => None,
        })
    }
}

/// The service's settings and binding, or the refusal that it is not registered.
pub(super) fn registered<'s>(
    state: &'s ServiceState,
    service: &ServiceName,
) -> Result<(&'s Registration, &'s Binding), Rejection> {
    match (&state.head.registration, &state.head.binding) {
        (Some(registration), Some(binding)) => Ok((registration, binding)),
        _ => Err(Rejection::NoSuchService { service: service.clone() }),
    }
}

/// The count that is believed at put: the binding's, while it is fresh.
pub fn fresh_count(binding: &Binding, now: Timestamp) -> Option<Replicas> {
    binding.replicas.filter(|_| now.since(binding.read_at) < COUNT_AGE_MAX)
}

/// Walks the gates of a put. `replay` is what gate 2 has found already.
pub fn of_put(
    state: &ServiceState,
    put: &PutIntent,
    context: &Context<'_>,
    now: Timestamp,
) -> Reports {
    let mut reports = Reports::default();
    reports.add(Gate::Shape, passed("well formed"));
    reports.add(Gate::Replay, passed("the key is new"));
    let (registration, binding) = match registered(state, &put.service) {
        Ok(registered) => registered,
        Err(rejection) => {
            reports.add(Gate::Registration, Err(rejection));
            return reports;
        }
    };
    let current = fresh_count(binding, now);
    let desired = desired_of(put);
    reports.add(Gate::Registration, check_registration(registration, binding, put));
    reports.add(Gate::Mode, check_mode(registration, put));
    reports.add(Gate::Writer, check_writer(registration, record_writer(put)));
    reports.add(Gate::Bounds, check_bounds(registration, desired));
    reports.add(Gate::Revision, check_revision(state, put, context, current));
    reports.add(Gate::InFlight, check_in_flight(state, put, now));
    reports.add(Gate::Fence, check_fence(state, put, now));
    let ask = Ask {
        registration,
        context,
        proposer: context.by,
        current,
        desired,
        reason: Some(reason_of(put)),
        controller: &registration.writer,
        now,
    };
    reports.add(Gate::Cooldown, ask.cooldown(state, put.override_cooldown, None));
    reports.add(Gate::Capacity, skipped("no pool"));
    reports.add(Gate::Evidence, ask.evidence_source(put.attest_not_drained));
    ask.policy(&mut reports);
    reports.add(Gate::Approval, skipped("not asked for"));
    reports.add(Gate::Lease, skipped("taken when it starts"));
    reports
}

/// Walks the gates that are asked again right before a call.
pub fn of_start(
    state: &ServiceState,
    execution: &Execution,
    start: &StartAttempt,
    context: &Context<'_>,
    now: Timestamp,
) -> Reports {
    let mut reports = Reports::default();
    let (registration, binding) = match registered(state, &execution.intent.service) {
        Ok(registered) => registered,
        Err(rejection) => {
            reports.add(Gate::Registration, Err(rejection));
            return reports;
        }
    };
    let wish = &execution.intent.wish;
    let count = current_at_start(start, binding, &execution.intent.service);
    let current = count.clone().unwrap_or(None);
    reports.add(
        Gate::Registration,
        check_unit(registration, wish.expected_unit_revision.get())
            .and_then(|()| check_found(registration, binding, execution, start)),
    );
    reports.add(Gate::Mode, check_mode_of(registration, wish.controller_mode));
    reports.add(Gate::Writer, check_writer(registration, Some(&start.controller)));
    reports.add(Gate::Fence, check_fence_alive(state, execution, start, now));
    let ask = Ask {
        registration,
        context,
        proposer: &execution.put_by,
        current,
        desired: wish.desired_replicas,
        reason: Some(wish.reason.as_str()),
        controller: &start.controller,
        now,
    };
    reports.add(Gate::Cooldown, ask.cooldown(state, start.override_cooldown, Some(execution)));
    reports.add(Gate::Capacity, skipped("no pool"));
    reports.add(Gate::Evidence, count.and_then(|_| ask.evidence(start)));
    ask.policy(&mut reports);
    reports.add(Gate::Lease, check_lease(execution, start, now));
    reports
}

/// Walks the gates that a recorded simulation is asked.
pub fn of_simulation(
    state: &ServiceState,
    execution: &Execution,
    controller: &ControllerId,
    context: &Context<'_>,
    now: Timestamp,
) -> Reports {
    let mut reports = Reports::default();
    let (registration, binding) = match registered(state, &execution.intent.service) {
        Ok(registered) => registered,
        Err(rejection) => {
            reports.add(Gate::Registration, Err(rejection));
            return reports;
        }
    };
    let wish = &execution.intent.wish;
    let unit = check_unit(registration, wish.expected_unit_revision.get());
    reports.add(Gate::Registration, unit.and_then(|()| passed("unchanged")));
    reports.add(Gate::Mode, check_mode_of(registration, wish.controller_mode));
    reports.add(Gate::Writer, check_writer(registration, Some(controller)));
    reports.add(Gate::Fence, check_own_fence(execution, now));
    let ask = Ask {
        registration,
        context,
        proposer: &execution.put_by,
        current: fresh_count(binding, now),
        desired: wish.desired_replicas,
        reason: Some(wish.reason.as_str()),
        controller,
        now,
    };
    ask.policy(&mut reports);
    reports
}

/// The count right before a call: as read, else the last recorded one.
pub(super) fn current_at_start(
    start: &StartAttempt,
    binding: &Binding,
    service: &ServiceName,
) -> Result<Option<Replicas>, Rejection> {
    match &start.found {
        Some(Ok(reading)) => Ok(Some(reading.replicas)),
        Some(Err(why)) => Err(Rejection::FactUnknown {
            service: service.clone(),
            fact: MissingFact::Count { why: why.clone() },
        }),
        None => Ok(binding.replicas),
    }
}

pub(super) fn desired_of(put: &PutIntent) -> Replicas {
    match &put.form {
        PutForm::Flags { replicas, .. } => *replicas,
        PutForm::Record(record) => record.wish().desired_replicas,
    }
}

fn reason_of(put: &PutIntent) -> &str {
    match &put.form {
        PutForm::Flags { reason, .. } => reason.as_str(),
        PutForm::Record(record) => record.wish().reason.as_str(),
    }
}

fn record_writer(put: &PutIntent) -> Option<&ControllerId> {
    match &put.form {
        PutForm::Flags { .. } => None,
        PutForm::Record(record) => Some(&record.wish().replica_writer_id),
    }
}

fn check_unit(registration: &Registration, expected: u64) -> Result<(), Rejection> {
    let actual = registration.unit_revision.get();
    if expected == actual {
        Ok(())
    } else {
        let service = registration.service.clone();
        Err(Rejection::StaleUnitRevision { service, expected, actual })
    }
}

fn check_registration(registration: &Registration, binding: &Binding, put: &PutIntent) -> Checked {
    let seen = format!("registration {}", registration.unit_revision);
    let PutForm::Record(record) = &put.form else {
        return passed(seen);
    };
    let wish = record.wish();
    check_unit(registration, wish.expected_unit_revision.get())?;
    let bound = registration.target(binding);
    check_same_object(registration, &bound, &wish.target, "registered")?;
    if registration.terms.target_match == TargetMatch::Version {
        moved(
            registration,
            TargetPart::Version,
            "last read",
            &binding.target_resource_version.as_str(),
            &wish.target.target_resource_version.as_str(),
        )?;
    }
    passed(seen)
}

fn check_same_object(
    registration: &Registration,
    expected: &TargetBinding,
    actual: &TargetBinding,
    basis: &'static str,
) -> Result<(), Rejection> {
    let parts = [
        (TargetPart::Cluster, expected.cluster_id.as_str(), actual.cluster_id.as_str()),
        (TargetPart::Runtime, expected.runtime_id.as_str(), actual.runtime_id.as_str()),
        (TargetPart::Workload, expected.workload_id.as_str(), actual.workload_id.as_str()),
        (TargetPart::Uid, expected.target_uid.as_str(), actual.target_uid.as_str()),
    ];
    parts.iter().try_for_each(|(part, expected, actual)| {
        moved(registration, *part, basis, expected, actual)
    })
}

/// Refuses if a part of the target is not what it was.
pub(super) fn moved<T: PartialEq + std::fmt::Display>(
    registration: &Registration,
    part: TargetPart,
    basis: &'static str,
    expected: &T,
    actual: &T,
) -> Result<(), Rejection> {
    if expected == actual {
        return Ok(());
    }
    Err(Rejection::TargetChanged {
        service: registration.service.clone(),
        part,
        basis,
        expected: expected.to_string(),
        actual: actual.to_string(),
    })
}

/// Holds the target as just read against what the wish was made from. The first attempt answers to
/// the reading at put; a later one to what our own results and readings have made of it since.
fn check_found(
    registration: &Registration,
    binding: &Binding,
    execution: &Execution,
    start: &StartAttempt,
) -> Checked {
    let wish = &execution.intent.wish;
    let bound = registration.target(binding);
    check_same_object(registration, &wish.target, &bound, "put for")?;
    let Some(Ok(found)) = &start.found else {
        return passed("not read again");
    };
    moved(
        registration,
        TargetPart::Uid,
        "registered",
        &wish.target.target_uid.as_str(),
        &found.target_uid.as_str(),
    )?;
    let base = &execution.intent.base;
    let retried = execution.attempts > 0;
    let basis = if retried { "last read" } else { "put for" };
    let (version, generation, replicas) = if retried {
        (&binding.target_resource_version, binding.generation, binding.replicas)
    } else {
        (&base.target_resource_version, base.generation, base.replicas)
    };
    match (execution.intent.terms.target_match, generation, found.generation, replicas) {
        (TargetMatch::Generation, Some(expected), Some(actual), _) => {
            moved(registration, TargetPart::Generation, basis, &expected, &actual)?;
        }
        (TargetMatch::Replicas, _, _, Some(expected)) => {
            moved(registration, TargetPart::Replicas, basis, &expected, &found.replicas)?;
        }
        (TargetMatch::Version | TargetMatch::Generation | TargetMatch::Replicas, ..) => moved(
            registration,
            TargetPart::Version,
            basis,
            &version.as_str(),
            &found.target_resource_version.as_str(),
        )?,
    }
    passed(format!("uid {}, count {}", found.target_uid, found.replicas))
}

fn check_mode(registration: &Registration, put: &PutIntent) -> Checked {
    match &put.form {
        PutForm::Record(record) => check_mode_of(registration, record.wish().controller_mode),
        PutForm::Flags { .. } => match registration.mode.record_mode() {
            Some(_) => passed(registration.mode.as_str()),
            None => Err(external(registration)),
        },
    }
}

fn check_mode_of(registration: &Registration, submitted: super::intent::ControllerMode) -> Checked {
    use super::intent::ControllerMode;
    let word = |mode| match mode {
        ControllerMode::Native => "native",
        ControllerMode::Delegated => "delegated",
    };
    match registration.mode.record_mode() {
        None => Err(external(registration)),
        Some(mode) if mode == submitted => passed(word(mode)),
        Some(mode) => Err(Rejection::ModeMismatch {
            service: registration.service.clone(),
            registered: word(mode),
            submitted: word(submitted),
        }),
    }
}

fn external(registration: &Registration) -> Rejection {
    Rejection::ExternalOwner { service: registration.service.clone(), mode: registration.mode }
}

pub(super) fn check_writer(registration: &Registration, given: Option<&ControllerId>) -> Checked {
    match given {
        Some(given) if *given != registration.writer => Err(Rejection::NotWriter {
            service: registration.service.clone(),
            given: given.clone(),
            writer: registration.writer.clone(),
        }),
        Some(_) | None => passed(registration.writer.as_str()),
    }
}

fn check_bounds(registration: &Registration, desired: Replicas) -> Checked {
    let (min, max) = (registration.min_replicas, registration.max_replicas);
    if min <= desired && desired <= max {
        return passed(format!("{min} ≤ {desired} ≤ {max}"));
    }
    Err(Rejection::OutOfBounds {
        service: registration.service.clone(),
        desired,
        min,
        max,
        unit_revision: registration.unit_revision,
    })
}

fn check_revision(
    state: &ServiceState,
    put: &PutIntent,
    context: &Context<'_>,
    current: Option<Replicas>,
) -> Checked {
    let actual = state.head.latest_revision;
    let expected = match (&put.form, put.premise) {
        (PutForm::Record(record), _) => record.wish().intent_revision.get() - 1,
        (PutForm::Flags { .. }, Premise::Revision(expected)) => expected,
        (PutForm::Flags { .. }, Premise::Latest) => actual,
    };
    if expected != actual {
        return Err(Rejection::StaleRevision {
            service: put.service.clone(),
            expected,
            actual,
            current: state.head.current.clone(),
        });
    }
    if let (Some(expected), Some(actual)) = (put.expect_count, current)
        && expected != actual
    {
        return Err(Rejection::PremiseMoved { service: put.service.clone(), expected, actual });
    }
    if let (Some(key), Some((intent_id, revision))) =
        (&put.id_owner, super::decide::intended_identity(state, put))
    {
        return Err(Rejection::IntentIdConflict { intent_id, revision, key: key.clone() });
    }
    if !put.supersede
        && !put.dry_run
        && let Some(other) = waiting(state).find(|other| other.put_by.actor != context.by.actor)
    {
        return Err(Rejection::OthersIntent {
            service: put.service.clone(),
            revision: other.revision(),
            actor: other.put_by.actor.to_string(),
        });
    }
    passed(format!("{actual} → {}", actual + 1))
}

/// The live intents that have not started and that an acceptance would end.
pub(super) fn waiting(state: &ServiceState) -> impl Iterator<Item = &Execution> {
    state.executions.values().filter(|execution| {
        execution.is_live() && matches!(execution.phase, Phase::Proposed { .. } | Phase::Accepted)
    })
}

fn check_in_flight(state: &ServiceState, put: &PutIntent, now: Timestamp) -> Checked {
    let blocking = state.executions.values().find(|e| e.is_live() && e.is_in_flight(now));
    match blocking {
        None => passed("nothing"),
        Some(_) if put.dry_run => skipped("a simulation starts nothing"),
        Some(execution) if put.queue => {
            passed(format!("queued behind {}@{}", put.service, execution.revision()))
        }
        Some(execution) => Err(Rejection::InFlight {
            service: put.service.clone(),
            revision: execution.revision(),
            key: execution.key().clone(),
            state: execution.phase.as_str(),
            held: execution.live_lease(now).cloned(),
        }),
    }
}

fn check_fence(state: &ServiceState, put: &PutIntent, now: Timestamp) -> Checked {
    let (registration, _) = registered(state, &put.service)?;
    let mark = &state.head.mark;
    let (epoch, token, same_lease, expires_at) = match &put.form {
        PutForm::Record(record) => {
            let fence = record.fence();
            let (epoch, token) = fence.rank();
            let same_lease = mark.lease_id.as_ref() == Some(&fence.lease_id);
            (epoch, token, same_lease, Some(fence.expires_at))
        }
        PutForm::Flags { fence: Some((epoch, token)), .. } => {
            // A fence from flags carries the writer's own lease; see `decide::draft`.
            let own = super::decide::external_lease_id(registration);
            (epoch.get(), token.get(), mark.lease_id.as_ref() == Some(&own), None)
        }
        PutForm::Flags { fence: None, .. } => {
            return match registration.fences {
                FenceSource::External => {
                    Err(Rejection::FenceMissing { service: put.service.clone() })
                }
                FenceSource::Minted => passed(format!("{}/{}", mark.epoch, mark.token + 1)),
            };
        }
    };
    let service = put.service.clone();
    let (mark_epoch, mark_token) = (mark.epoch, mark.token);
    if epoch > mark_epoch + FENCE_JUMP_MAX || token > mark_token.saturating_add(FENCE_JUMP_MAX) {
        return Err(Rejection::FenceTooFar { service, epoch, token, mark_epoch, mark_token });
    }
    let rank = (epoch, token);
    let at_mark = (mark_epoch, mark_token);
    if rank < at_mark || (rank == at_mark && !same_lease) {
        return Err(Rejection::FenceLost { service, epoch, token, mark_epoch, mark_token });
    }
    if let Some(expires_at) = expires_at.filter(|expires_at| now >= *expires_at) {
        let revision = super::decide::next_revision(state);
        return Err(Rejection::FenceExpired { service, revision, expires_at });
    }
    passed(format!("{epoch}/{token}"))
}

fn check_own_fence(execution: &Execution, now: Timestamp) -> Checked {
    match execution.fence() {
        Some(fence) if fence.is_alive(now) => passed(format!("until {}", fence.expires_at)),
        Some(fence) => Err(Rejection::FenceExpired {
            service: execution.intent.service.clone(),
            revision: execution.revision(),
            expires_at: fence.expires_at,
        }),
        None => skipped("not accepted yet"),
    }
}

fn check_fence_alive(
    state: &ServiceState,
    execution: &Execution,
    start: &StartAttempt,
    now: Timestamp,
) -> Checked {
    check_own_fence(execution, now)?;
    let Some(fence) = execution.fence() else {
        return skipped("not accepted yet");
    };
    let (epoch, token) = fence.rank();
    let mark = &state.head.mark;
    if (epoch, token) < (mark.epoch, mark.token) {
        return Err(Rejection::FenceLost {
            service: execution.intent.service.clone(),
            epoch,
            token,
            mark_epoch: mark.epoch,
            mark_token: mark.token,
        });
    }
    if fence.expires_at < now.plus(start.call.timeout) {
        return Err(Rejection::FenceTooShort {
            service: execution.intent.service.clone(),
            revision: execution.revision(),
            expires_at: fence.expires_at,
            needed: start.call.timeout,
        });
    }
    passed(format!("{epoch}/{token} until {}", fence.expires_at))
}

fn check_lease(execution: &Execution, start: &StartAttempt, now: Timestamp) -> Checked {
    let held = execution.live_lease(now);
    let lost = |given: &crate::domain::id::LeaseInstanceId| Rejection::LeaseLost {
        key: execution.key().clone(),
        given: given.clone(),
        held: held.cloned().map(Box::new),
    };
    match (held, &start.lease) {
        (Some(held), Some(given)) if held.lease.lease_instance_id != *given => Err(lost(given)),
        (None, Some(given)) => Err(lost(given)),
        (Some(held), _) if held.lease.controller_id != start.controller => {
            Err(Rejection::LeaseHeld {
                service: execution.intent.service.clone(),
                revision: execution.revision(),
                held: Box::new(held.clone()),
            })
        }
        (Some(held), _) => passed(format!("{} on {}", held.lease.controller_id, held.holder.host)),
        (None, None) => passed("free"),
    }
}

/// What the gates that look at the change itself need.
struct Ask<'a> {
    registration: &'a Registration,
    context: &'a Context<'a>,
    proposer: &'a Provenance,
    current: Option<Replicas>,
    desired: Replicas,
    reason: Option<&'a str>,
    controller: &'a ControllerId,
    now: Timestamp,
}

impl Ask<'_> {
    fn cooldown(
        &self,
        state: &ServiceState,
        override_asked: bool,
        own: Option<&Execution>,
    ) -> Checked {
        let service = self.registration.service.clone();
        let status = cooldown(state, self.now);
        match status {
            CooldownStatus::Clear { last: None } => passed("clear"),
            CooldownStatus::Clear { last: Some(last) } => {
                passed(format!("clear, last change {}", last.ended_at))
            }
            // A retry finishes its own change; it does not make another.
            CooldownStatus::Active { last, .. }
                if own.is_some_and(|own| *own.key() == last.execution_key) =>
            {
                passed("its own change")
            }
            CooldownStatus::Unknown { by } if own.is_some_and(|own| own.revision() == by) => {
                passed("its own change")
            }
            CooldownStatus::Active { .. } | CooldownStatus::Unknown { .. }
                if override_asked && self.may(PolicyAction::OverrideCooldown).allowed =>
            {
                passed("overridden")
            }
            CooldownStatus::Active { last, cooldown, until } => Err(Rejection::Cooldown {
                service,
                last: Box::new(last),
                cooldown,
                until,
                now: self.now,
            }),
            CooldownStatus::Unknown { by } => {
                Err(Rejection::FactUnknown { service, fact: MissingFact::Cooldown { by } })
            }
        }
    }

    fn is_reduction(&self) -> bool {
        self.current.is_none_or(|current| self.desired < current)
    }

    fn drains_without_evidence(&self) -> bool {
        self.registration.terms.drain == Drain::None
            || self.context.actuator.is_some_and(|actuator| actuator.capabilities.drains_itself)
    }

    /// At put, a reduction only needs somebody who can vouch for it later.
    fn evidence_source(&self, attested: bool) -> Checked {
        if !self.is_reduction() {
            return skipped("no reduction");
        }
        if self.drains_without_evidence() {
            return passed("not needed");
        }
        let can = self.context.actuator.is_some_and(|actuator| actuator.capabilities.evidence);
        if can {
            return passed("gathered when it starts");
        }
        if attested {
            return self.attested();
        }
        let service = self.registration.service.clone();
        Err(Rejection::FactUnknown { service, fact: MissingFact::Evidence })
    }

    /// A person's word needs the permission to give it.
    fn attested(&self) -> Checked {
        let answer = self.may(PolicyAction::Attest);
        if answer.allowed {
            return passed("attested");
        }
        Err(Rejection::Denied {
            actor: self.proposer.actor.to_string(),
            subject: format!("that {} may lose its work", self.registration.service),
            answer: Box::new(answer),
        })
    }

    fn evidence(&self, start: &StartAttempt) -> Checked {
        if !self.is_reduction() {
            return skipped("no reduction");
        }
        if self.drains_without_evidence() {
            return passed("not needed");
        }
        let service = self.registration.service.clone();
        let missing = |fact| Err(Rejection::FactUnknown { service: service.clone(), fact });
        let found = start.found.as_ref().and_then(|found| found.as_ref().ok());
        match &start.evidence {
            Some(evidence) => match self.contradiction(evidence, found, start.attest_not_drained) {
                Some((part, expected, actual)) => {
                    missing(MissingFact::EvidenceSays { part, expected, actual })
                }
                None if start.attest_not_drained => self.attested(),
                None => passed(format!("read {}", evidence.read_at)),
            },
            // A person's word replaces what is drained and stabilized, and nothing else: without
            // evidence the counts are those that were just read.
            None if start.attest_not_drained && found.is_some() => self.attested(),
            None => missing(MissingFact::Evidence),
        }
    }

    /// The order of the checks is that of facts/fleet-authority.md, 6.3.
    fn contradiction(
        &self,
        evidence: &Evidence,
        found: Option<&Reading>,
        attested: bool,
    ) -> Option<(&'static str, String, String)> {
        let age = self.now.since(evidence.read_at);
        let text = |value: &dyn std::fmt::Display| value.to_string();
        let version = found.map(|found| &found.target_resource_version);
        let mut checks = vec![
            ("drained", attested || evidence.drained, "true".to_owned(), text(&evidence.drained)),
            (
                "stabilized",
                attested || evidence.stabilized,
                "true".to_owned(),
                text(&evidence.stabilized),
            ),
            (
                "resource_version",
                version.is_none_or(|version| *version == evidence.resource_version),
                version.map_or_else(String::new, |version| text(version)),
                text(&evidence.resource_version),
            ),
            (
                "observed_replicas",
                self.current == Some(evidence.observed_replicas),
                self.current.map_or_else(|| "a known count".to_owned(), |count| text(&count)),
                text(&evidence.observed_replicas),
            ),
            (
                "remaining_replicas",
                evidence.remaining_replicas == self.desired,
                text(&self.desired),
                text(&evidence.remaining_replicas),
            ),
            (
                "quorum_safe",
                evidence.quorum_safe != Some(false),
                "true".to_owned(),
                "false".to_owned(),
            ),
        ];
        checks.push((
            "read_at",
            age <= EVIDENCE_AGE_MAX,
            format!("at most {EVIDENCE_AGE_MAX} old"),
            format!("{age} old"),
        ));
        checks
            .into_iter()
            .find(|(_, holds, ..)| !holds)
            .map(|(part, _, expected, actual)| (part, expected, actual))
    }

    fn query(&self, action: PolicyAction) -> PolicyQuery {
        let registration = self.registration;
        PolicyQuery {
            actor: self.proposer.actor.to_string(),
            action,
            resource: service_resource(registration, self.context),
            desired: Some(self.desired),
            current: self.current,
            source: self.context.source.to_owned(),
            reason: self.reason.map(str::to_owned),
            controller: Some(self.controller.clone()),
            os_user: Some(self.proposer.os_user.clone()),
            at: self.now,
        }
    }

    fn may(&self, action: PolicyAction) -> PolicyAnswer {
        self.context.policy.answer(&self.query(action))
    }

    fn policy(&self, reports: &mut Reports) {
        let actions = PolicyAction::for_change(self.current, self.desired);
        let answer = self.context.policy.answer_all(&self.query(PolicyAction::ScaleUp), &actions);
        let checked = if answer.allowed {
            let rules: Vec<&str> = answer.rules.iter().map(|rule| rule.id.as_str()).collect();
            passed(rules.join(", "))
        } else {
            let from = self.current.map_or_else(|| "?".to_owned(), |count| count.to_string());
            Err(Rejection::Denied {
                actor: self.proposer.actor.to_string(),
                subject: format!("{} from {from} to {}", self.registration.service, self.desired),
                answer: Box::new(answer.clone()),
            })
        };
        reports.decision = Some(answer);
        reports.add(Gate::Policy, checked);
    }
}

/// The resource that policy sees for a service.
pub(super) fn service_resource(
    registration: &Registration,
    context: &Context<'_>,
) -> PolicyResource {
    PolicyResource::Service {
        name: registration.service.clone(),
        actuator: registration.actuator.clone(),
        adapter: context.actuator.map(|actuator| actuator.adapter.clone()),
        mode: registration.mode.as_str().to_owned(),
        writer: registration.writer.clone(),
        min: registration.min_replicas,
        max: registration.max_replicas,
        labels: registration.labels.clone(),
    }
}
