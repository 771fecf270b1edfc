//! `actuator put` and `actuator bind`: who carries wishes out, and by which command on this host.
//!
//! The ledger keeps what the actuator declares; the command stays on the host, because whoever may
//! write the ledger must not choose what other hosts run.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::administer::{may_administer, may_administer_in};
use super::ask::{bundled_pin, describe};
use super::error::{ActuatorProblem, OpError};
use super::lock_wait::write_to;
use super::session::Session;
use super::transition::Deciding;
use crate::actuator::bindings::{self, BindSite, Binding};
use crate::actuator::protocol::{self, PartialTarget};
use crate::domain::id::{ActuatorName, ServiceName, TargetUid, WorkloadId};
use crate::domain::registry::RegistryBody;
use crate::domain::scale::event::Stamped;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::policy::PolicyAction;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::{Capabilities, RegisteredActuator};
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::{ExecutionFilter, Reach, ReadTxn};

/// The longest timeout of one call.
pub const TIMEOUT_MAX: DurationMs = DurationMs::from_secs(900 - 30);

/// A command as it was typed, and where.
pub struct TypedCommand<'a> {
    /// The words.
    pub words: &'a [OsString],
    /// The directory that relative paths are relative to.
    pub current_dir: &'a Path,
    /// The search path.
    pub search_path: Option<&'a OsStr>,
}

/// What a registration came to.
pub struct RegisteredHere {
    /// The actuator.
    pub actuator: RegisteredActuator,
    /// Whether the ledger changed.
    pub changed: bool,
    /// What another command was bound before, and whom it served; none where nobody is affected.
    pub replaced: Option<Replaced>,
}

/// A command that was bound before.
pub struct Replaced {
    /// Its words.
    pub words: Vec<String>,
    /// The services that the actuator serves.
    pub services: Vec<ServiceName>,
}

/// Registers an actuator: asks the command what it is, binds it on this host, records what it
/// declares.
pub fn actuator_put(
    session: &mut Session,
    name: &ActuatorName,
    command: &TypedCommand<'_>,
    timeout: Option<DurationMs>,
) -> Result<RegisteredHere, OpError> {
    let existing = session.ledger.read()?.actuator(name)?;
    let timeout_ms = timeout
        .or(existing.as_ref().map(|existing| existing.timeout_ms))
        .unwrap_or(DurationMs::from_secs(60));
    if timeout_ms > TIMEOUT_MAX || timeout_ms == DurationMs::ZERO {
        return Err(OpError::usage(
            "timeout_out_of_range",
            format!("a timeout is more than 0s and at most {TIMEOUT_MAX}, not {timeout_ms}"),
        ));
    }
    let binding = typed_binding(session, command)?;
    let description = introduced(session, &binding, name)?;
    let actuator = RegisteredActuator {
        name: name.clone(),
        adapter: description.name.to_string(),
        version: description.version,
        protocol: protocol::PROTOCOL.to_owned(),
        environment: description.environment,
        capabilities: description.capabilities,
        timeout_ms,
    };
    // Nobody is asked anything for a person who may not.
    may_administer(session, PolicyAction::Register, name.as_str(), None)?;
    // What promises other things is refused below, whatever it finds.
    let keeps_promises = |before: &Option<RegisteredActuator>| {
        before.as_ref().is_none_or(|before| {
            before.adapter == actuator.adapter
                && before.capabilities.promises_like(actuator.capabilities)
        })
    };
    let found = if keeps_promises(&existing) {
        found_targets(session, &actuator, &binding)?
    } else {
        Vec::new()
    };
    let bindings_file = session.place.bindings_file();
    let mut txn = write_to(&mut session.ledger, &session.lock_wait, Reach::registry())?;
    let now = session.clock.read(txn.now());
    let mut with = Deciding { by: &session.by, policy: &mut session.policy, now };
    let decision = may_administer_in(&txn, &mut with, PolicyAction::Register, name.as_str(), None)?;
    let before = txn.actuator(name)?;
    let found = if keeps_promises(&before) { found } else { Vec::new() };
    refuse_in_flight(&txn, name, &found, now)?;
    // Under the write lock: nothing can have started with the other command in between.
    let ledger_id = txn.identity().ledger_id.clone();
    let replaced = replaced(&txn, &bindings_file, name, &binding)?;
    bindings::put(&bindings_file, &ledger_id, name, &binding)?;
    if before.as_ref() == Some(&actuator) {
        drop(txn);
        session.ledger.confirm()?;
        return Ok(RegisteredHere { actuator, changed: false, replaced });
    }
    let body = RegistryBody::ActuatorRegistered { actuator: actuator.clone(), decision };
    txn.append_registry(&Stamped { at: now, by: session.by.clone(), body })?;
    let _committed = txn.commit()?;
    Ok(RegisteredHere { actuator, changed: true, replaced })
}

/// What other command was bound, if a service is served by it.
fn replaced(
    read: &ReadTxn<'_>,
    bindings_file: &Path,
    name: &ActuatorName,
    binding: &Binding,
) -> Result<Option<Replaced>, OpError> {
    let Ok(bound) = bindings::find(bindings_file, &read.identity().ledger_id, name) else {
        return Ok(None);
    };
    if bound.has_words_of(binding) {
        return Ok(None);
    }
    let is_served = |head: &ServiceHead| {
        head.registration.as_ref().is_some_and(|it| it.actuator.as_ref() == Some(name))
    };
    let heads = read.service_heads()?.into_iter().filter(|(_, head)| is_served(head));
    let services: Vec<ServiceName> = heads.map(|(service, _)| service).collect();
    Ok((!services.is_empty()).then(|| Replaced { words: bound.words(), services }))
}

/// What is in flight of the services that an actuator serves.
fn in_flight(
    read: &ReadTxn<'_>,
    name: &ActuatorName,
    now: Timestamp,
) -> Result<Vec<Execution>, OpError> {
    let filter = ExecutionFilter { unfinished: true, ..ExecutionFilter::default() };
    let mut found = Vec::new();
    for execution in read.executions(&filter)? {
        let head = read.service_state(&execution.intent.service, &[])?.head;
        let is_served = head.registration.is_some_and(|it| it.actuator.as_ref() == Some(name));
        if is_served && execution.is_in_flight(now) {
            found.push(execution);
        }
    }
    Ok(found)
}

fn refused_in_flight(execution: &Execution, now: Timestamp) -> OpError {
    Rejection::in_flight(execution, now).into()
}

/// The object that a wish in flight was made on, as a command was seen to find it.
struct FoundTarget {
    workload: WorkloadId,
    uid: TargetUid,
}

/// Refuses while anything is in flight on an object that was not found.
fn refuse_in_flight(
    read: &ReadTxn<'_>,
    name: &ActuatorName,
    found: &[FoundTarget],
    now: Timestamp,
) -> Result<(), OpError> {
    let is_found = |execution: &Execution| {
        let target = &execution.intent.wish.target;
        found.iter().any(|it| it.workload == target.workload_id && it.uid == target.target_uid)
    };
    match in_flight(read, name, now)?.iter().find(|execution| !is_found(execution)) {
        Some(execution) => Err(refused_in_flight(execution, now)),
        None => Ok(()),
    }
}

/// Who carries a wish out does not become another under a call, nor does where: it would be asked
/// what became of what it has never heard of, and would say "never" in good faith. So a command
/// must find the very objects that are in flight. One that can read nothing must be the one that
/// was bound, unless it is never asked what became of a call.
fn found_targets(
    session: &mut Session,
    actuator: &RegisteredActuator,
    binding: &Binding,
) -> Result<Vec<FoundTarget>, OpError> {
    let now = session.now();
    let in_flight = in_flight(&session.ledger.read()?, &actuator.name, now)?;
    let can = actuator.capabilities;
    let mut found = Vec::new();
    for execution in &in_flight {
        let target = &execution.intent.wish.target;
        if can.inspect {
            let asker = session.asker_by(actuator, binding)?;
            let uid = asker.inspect(&PartialTarget::from(target))?.target.target_uid;
            if uid != target.target_uid {
                return Err(other_target(execution, &uid));
            }
        } else if (can.lookup || can.fence || can.deduplicates_execution_key)
            && !session.is_bound_alike(&actuator.name, binding)
        {
            return Err(refused_in_flight(execution, now));
        }
        let (workload, uid) = (target.workload_id.clone(), target.target_uid.clone());
        found.push(FoundTarget { workload, uid });
    }
    Ok(found)
}

fn other_target(execution: &Execution, found: &TargetUid) -> OpError {
    let (service, revision) = (&execution.intent.service, execution.revision());
    let target = &execution.intent.wish.target;
    OpError::Usage {
        code: "other_target",
        message: format!(
            "the command finds {} as {found}; {service}@{revision}, which is in flight, is for {}",
            target.workload_id, target.target_uid
        ),
        hint: Some(format!(
            "bind the command that serves {}, or end {service}@{revision} first",
            target.target_uid
        )),
    }
}

/// What a binding came to.
pub struct BoundHere {
    /// The actuator.
    pub actuator: RegisteredActuator,
    /// What the command can do that the actuator is not registered with, so that nobody asks it.
    pub unused: Vec<String>,
}

/// Binds a registered actuator to a command of this host. The command must be that actuator, and
/// do all that the rules may rest on; what it can do besides is not used.
pub fn actuator_bind(
    session: &mut Session,
    name: &ActuatorName,
    command: &TypedCommand<'_>,
) -> Result<BoundHere, OpError> {
    let actuator = session.actuator(name)?;
    let binding = typed_binding(session, command)?;
    let description = introduced(session, &binding, name)?;
    if description.name.as_str() != actuator.adapter {
        return Err(OpError::usage(
            "other_actuator",
            format!(
                "the command is {}, and {name} is registered as {}",
                description.name, actuator.adapter
            ),
        ));
    }
    // What the rules may rest on is in the ledger; here it must not be less.
    let missing = beyond(actuator.capabilities, description.capabilities);
    if !missing.is_empty() {
        return Err(OpError::Usage {
            code: "other_capabilities",
            message: format!(
                "{name} is registered with {}, which the command does not declare",
                missing.join(", ")
            ),
            hint: Some(
                "bind the program that can, or a newer one; actuator put registers what a command \
                 declares, for every host"
                    .to_owned(),
            ),
        });
    }
    let found = found_targets(session, &actuator, &binding)?;
    let bindings_file = session.place.bindings_file();
    let txn = write_to(&mut session.ledger, &session.lock_wait, Reach::registry())?;
    let now = session.clock.read(txn.now());
    refuse_in_flight(&txn, name, &found, now)?;
    // Under the write lock: nothing can have started with the other command in between.
    bindings::put(&bindings_file, &txn.identity().ledger_id.clone(), name, &binding)?;
    let unused = beyond(description.capabilities, actuator.capabilities);
    Ok(BoundHere { actuator, unused })
}

/// What one can do that the other cannot, in the words of the protocol.
fn beyond(one: Capabilities, other: Capabilities) -> Vec<String> {
    let known = other.words();
    one.words().into_iter().filter(|word| !known.contains(word)).collect()
}

fn typed_binding(session: &Session, command: &TypedCommand<'_>) -> Result<Binding, OpError> {
    Ok(Binding::of(
        command.words,
        BTreeMap::new(),
        &BindSite {
            current_dir: command.current_dir,
            search_path: command.search_path,
            own_exe: &session.place.own_exe,
            bundled: bundled_pin(),
        },
    )?)
}

/// Asks a command who it is. It first sees just enough to be started at all; what it then asks for
/// it is given, and is asked again, because what it can do may depend on that.
fn introduced(
    session: &Session,
    binding: &Binding,
    name: &ActuatorName,
) -> Result<protocol::Description, OpError> {
    let first = describe(&session.child_spec(binding, &first_environment())?, name)
        .map_err(|error| no_actuator(binding, error))?;
    if first.environment.iter().all(|name| first_environment().contains(name)) {
        return Ok(first);
    }
    describe(&session.child_spec(binding, &first.environment)?, name)
}

/// A command that has run and does not answer as an actuator is none: the same line later would be
/// refused in the same way.
fn no_actuator(binding: &Binding, error: OpError) -> OpError {
    let OpError::Actuator { problem: ActuatorProblem::Answer(problem), stderr, .. } = error else {
        return error;
    };
    let said = stderr.lines().find(|line| !line.trim().is_empty());
    let said = said.map_or_else(String::new, |line| {
        format!("; it wrote {:?}", line.chars().take(200).collect::<String>())
    });
    OpError::Usage {
        code: "not_an_actuator",
        message: format!(
            "{:?} does not answer describe: {problem}{said}",
            binding.words().join(" ")
        ),
        hint: Some(
            "an actuator reads one JSON object from stdin and answers one on stdout \
             (docs/actuator-protocol.md); commands of yours become one with \
             scalectl actuator run exec"
                .to_owned(),
        ),
    }
}

/// What a command may see before it has said what it needs: enough to be started at all.
fn first_environment() -> Vec<String> {
    ["HOME", "PATH", "LANG", "TMPDIR"].map(str::to_owned).to_vec()
}
