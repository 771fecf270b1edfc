//! Faults on purpose: each takes one guard away from `decide`, by showing it a state or a command
//! in which the guard has nothing to hold. The model must find every one.

use scalectl::domain::scale::attempt::Pending;
use scalectl::domain::scale::command::{CallEnd, Command, Context, Premise, Settlement};
use scalectl::domain::scale::decide::{Decision, decide};
use scalectl::domain::scale::execution::{Execution, Phase};
use scalectl::domain::scale::rejection::Rejection;
use scalectl::domain::scale::result::Answer;
use scalectl::domain::scale::service::{OnUnknown, RegisteredActuator, TargetMatch};
use scalectl::domain::scale::state::ServiceState;
use scalectl::domain::time::{DurationMs, Timestamp};

use super::faults::{self, Fault};
use super::forged;
use super::laid;
use crate::rules::support::{Denying, id};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// The real rules.
    None,
    /// Nobody waits for the end of a call that is unknown.
    Quiet,
    /// Nobody asks what else of the service is under way before a start.
    Turn,
    /// Nobody asks what is in flight before a put.
    InFlight,
    /// A lease that somebody holds is not seen.
    Lease,
    /// There is always an attempt left.
    Budget,
    /// A fence never ends for who starts, who takes a lease, or who keeps one.
    StartFence,
    LeaseFence,
    RenewFence,
    /// One reading is always enough.
    Readings,
    /// A reading is always fresh.
    StaleReading,
    /// What was said of an attempt holds for the one that is unknown now.
    StaleLookup,
    /// A result always belongs to the newest attempt.
    LateResult,
    /// A premise always holds.
    Premise,
    /// A key is always new.
    Key,
    /// The clock is always believed.
    Clock,
    /// An unknown attempt may always be followed by another.
    Blind,
    /// The count alone tells whether a target was touched.
    CountAlone,
    /// The count of a failure says nothing.
    FailedCount,
    /// Who starts does not see the lease that somebody holds.
    StartLease,
    /// Who repeats an unknown call waits for no end of it.
    RepeatEarly,
    /// A failure is a success.
    FailureIsSuccess,
    /// And it is verified in the same breath.
    OneBreath,
    /// What has not been loaded decides: the failures of others.
    Loading,
    /// The others bend what comes out of the rules; see `forged.rs`.
    Unheard,
    SaidByNobody,
    TwoAtOnce,
    Older,
    Unsaid,
    Oversaid,
    OtherFence,
    ShortLease,
    Unstarted,
    LateApplied,
    FoldSkips,
    Misjudged,
    OtherResult,
    NoCause,
    FoldForgets,
    FoldSerial,
    FoldRevision,
    FoldWish,
    FoldReopens,
    FoldVerifies,
    FoldLoses,
    TwiceInLog,
    Misread,
    /// A guard of consent; see `faults.rs`.
    Consent(Fault),
}

/// `decide`, with one guard taken away.
pub(super) fn decide_as(
    mutant: Mutant,
    state: &ServiceState,
    command: &Command,
    context: &Context<'_>,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    if mutant == Mutant::None {
        return decide(state, command, context, now);
    }
    let mut bent = state.clone();
    let mut bent_command = command.clone();
    let mut actuator = context.actuator.cloned();
    bend(mutant, &mut bent, &mut bent_command, &mut actuator);
    let lax = Denying::default();
    let mut policy = context.policy;
    if let Mutant::Consent(fault) = mutant {
        faults::bend(fault, &mut bent, command, now);
        laid::bend(fault, &mut bent, &mut bent_command);
        if fault.is_lax(command) {
            policy = &lax;
        }
    }
    let context = Context {
        by: context.by,
        ledger_id: context.ledger_id,
        actuator: actuator.as_ref(),
        policy,
        recent: context.recent,
        placed: None,
    };
    let mut decision = decide(&bent, &bent_command, &context, now)?;
    forged::decision(mutant, state, command, &mut decision);
    if let Mutant::Consent(fault) = mutant {
        faults::forge(fault, state, command, &mut decision);
    }
    if let (Mutant::OneBreath, Command::EndCall { key, .. }) = (mutant, command)
        && let Ok(after) = state.clone().fold(&decision.events)
    {
        let observe = Command::Observe { key: key.clone(), reading: None, bound_before: None };
        decision.events.extend(decide(&after, &observe, &context, now)?.events);
    }
    Ok(decision)
}

fn bend(
    mutant: Mutant,
    state: &mut ServiceState,
    command: &mut Command,
    actuator: &mut Option<RegisteredActuator>,
) {
    match mutant {
        Mutant::Turn => {
            if let Command::Start(start) = command {
                state.executions.retain(|key, _| *key == start.key);
            }
        }
        Mutant::InFlight => {
            if matches!(command, Command::Put(_)) {
                state
                    .executions
                    .retain(|_, e| !e.is_in_flight(Timestamp::from_micros(0).expect("0")));
            }
        }
        Mutant::StaleReading => believe_the_reading(state.head.reading_serial, command),
        Mutant::StaleLookup => ask_of_the_newest(state, command),
        Mutant::LateResult => attribute_to_the_newest(state, command),
        Mutant::Premise => {
            if let Command::Put(put) = command {
                put.premise = Premise::Latest;
            }
        }
        Mutant::Key => {
            if let Command::Put(put) = command
                && let scalectl::domain::scale::command::PutForm::Flags { key, .. } = &put.form
            {
                state.executions.remove(key);
            }
        }
        Mutant::Clock => state.head.time_mark = None,
        Mutant::FailedCount => forget_the_count(command),
        Mutant::FailureIsSuccess | Mutant::OneBreath => praise(command, state),
        Mutant::StartFence
        | Mutant::LeaseFence
        | Mutant::RenewFence
        | Mutant::StartLease
        | Mutant::RepeatEarly
            if is_of(mutant, command) =>
        {
            state.executions.values_mut().for_each(|execution| bend_one(mutant, execution));
        }
        Mutant::Quiet
        | Mutant::Lease
        | Mutant::Budget
        | Mutant::Readings
        | Mutant::CountAlone
        | Mutant::Blind => {
            state.executions.values_mut().for_each(|execution| bend_one(mutant, execution));
            if mutant == Mutant::Blind
                && let Some(actuator) = actuator
            {
                actuator.capabilities.deduplicates_execution_key = true;
            }
        }
        _ => {}
    }
}

/// Whether a guard is taken away from this command.
fn is_of(mutant: Mutant, command: &Command) -> bool {
    match command {
        Command::Start(_) => {
            matches!(mutant, Mutant::StartFence | Mutant::StartLease | Mutant::RepeatEarly)
        }
        Command::AcquireLease { .. } => mutant == Mutant::LeaseFence,
        Command::RenewLease { .. } => mutant == Mutant::RenewFence,
        _ => false,
    }
}

fn bend_one(mutant: Mutant, execution: &mut Execution) {
    match mutant {
        Mutant::Quiet | Mutant::RepeatEarly => {
            execution.intent.terms.quiet_ms = DurationMs::ZERO;
            if let Phase::RecoveryPending { pending: Pending { ended_at, call, .. } } =
                &mut execution.phase
            {
                *ended_at = Some(call.started_at);
            }
        }
        Mutant::Lease | Mutant::StartLease => execution.lease = None,
        Mutant::Budget => {
            execution.intent.wish.retry_policy.max_attempts =
                serde_json::from_value(8.into()).expect("8 attempts");
        }
        Mutant::StartFence | Mutant::LeaseFence | Mutant::RenewFence => {
            if let Some(acceptance) = &mut execution.acceptance {
                acceptance.fence.expires_at =
                    acceptance.fence.expires_at.plus(DurationMs::from_secs(1_000_000));
            }
        }
        Mutant::Readings => {
            execution.intent.terms.required_readings =
                serde_json::from_value(1.into()).expect("1 reading");
        }
        Mutant::Blind => execution.intent.terms.on_unknown = OnUnknown::RetrySameKey,
        Mutant::CountAlone => execution.intent.terms.target_match = TargetMatch::Replicas,
        _ => {}
    }
}

fn believe_the_reading(serial: u64, command: &mut Command) {
    match command {
        Command::Observe { reading: Some((_, began_after_serial)), .. } => {
            *began_after_serial = serial;
        }
        Command::Settle { settlement, .. } => {
            if let Settlement::Reading { began_after_serial, .. } = settlement.as_mut() {
                *began_after_serial = serial;
            }
        }
        _ => {}
    }
}

fn praise(command: &mut Command, state: &ServiceState) {
    if let Command::EndCall { key, end: CallEnd::Answered { result, .. }, .. } = command
        && let Answer::Failed { .. } = &result.answer
    {
        let observed_replicas = state.executions[key].desired();
        result.answer = Answer::Succeeded { observed_replicas, retryable: false, error_code: None };
    }
}

fn ask_of_the_newest(state: &ServiceState, command: &mut Command) {
    if let Command::Settle { key, settlement, .. } = command
        && let Phase::RecoveryPending { pending } = &state.executions[key].phase
        && let Settlement::LookupApplied(attempt, _) | Settlement::LookupNever(attempt) =
            settlement.as_mut()
    {
        *attempt = pending.call.attempt;
    }
}

fn forget_the_count(command: &mut Command) {
    if let Command::EndCall { end: CallEnd::Answered { result, .. }, .. } = command
        && let Answer::Failed { observed_replicas, .. } = &mut result.answer
    {
        *observed_replicas = None;
    }
}

fn attribute_to_the_newest(state: &ServiceState, command: &mut Command) {
    if let Command::EndCall {
        key, attempt, lease_instance_id, end: CallEnd::Answered { .. }, ..
    } = command
        && let Some(Execution { phase: Phase::Started { call }, .. }) =
            state.executions.get(&id(key.as_str()))
    {
        *attempt = call.attempt;
        *lease_instance_id = call.lease_instance_id.clone();
    }
}
