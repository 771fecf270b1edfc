//! `actuator put` and `actuator bind`: who carries wishes out, and by which command on this host.
//!
//! The ledger keeps what the actuator declares; the command stays on the host, because whoever may
//! write the ledger must not choose what other hosts run.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::ask::{bundled_pin, describe};
use super::error::OpError;
use super::session::Session;
use crate::actuator::bindings::{self, BindSite, Binding};
use crate::actuator::protocol;
use crate::domain::id::ActuatorName;
use crate::domain::registry::RegistryBody;
use crate::domain::scale::event::Stamped;
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer, PolicyQuery, PolicyResource};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::RegisteredActuator;
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
    let decision = may_administer(session, PolicyAction::Register, name.as_str())?;
    let ledger_id = session.ledger.identity().ledger_id.clone();
    let bindings_file = session.place.bindings_file();
    if existing.as_ref() == Some(&actuator) {
        bindings::put(&bindings_file, &ledger_id, name, &binding)?;
        return Ok(RegisteredHere { actuator, changed: false });
    }
    let mut txn = session.ledger.write(Session::command_id()?, Reach::registry())?;
    let now = session.clock.read(txn.now());
    if let Some(before) = txn.actuator(name)?
        && (before.adapter != actuator.adapter || before.capabilities != actuator.capabilities)
    {
        refuse_in_flight(&txn, name, now)?;
    }
    // Under the write lock: nothing can have started with the other command in between.
    bindings::put(&bindings_file, &ledger_id, name, &binding)?;
    let body = RegistryBody::ActuatorRegistered { actuator: actuator.clone(), decision };
    txn.append_registry(&Stamped { at: now, by: session.by.clone(), body })?;
    let _committed = txn.commit()?;
    Ok(RegisteredHere { actuator, changed: true })
}

/// Who carries a wish out does not become another under a call: it would be asked what became of
/// what it has never heard of, and would say "never" in good faith.
fn refuse_in_flight(
    read: &ReadTxn<'_>,
    name: &ActuatorName,
    now: Timestamp,
) -> Result<(), OpError> {
    let filter = ExecutionFilter { unfinished: true, ..ExecutionFilter::default() };
    let in_flight: Vec<_> =
        read.executions(&filter)?.into_iter().filter(|it| it.is_in_flight(now)).collect();
    for execution in in_flight {
        let service = &execution.intent.service;
        let head = read.service_state(service, &[])?.head;
        if head.registration.is_some_and(|it| it.actuator.as_ref() == Some(name)) {
            return Err(Rejection::InFlight {
                service: service.clone(),
                revision: execution.revision(),
                key: execution.key().clone(),
                state: execution.phase.as_str(),
                held: execution.live_lease(now).cloned(),
            }
            .into());
        }
    }
    Ok(())
}

/// Binds a registered actuator to a command of this host. The command must be that actuator.
pub fn actuator_bind(
    session: &mut Session,
    name: &ActuatorName,
    command: &TypedCommand<'_>,
) -> Result<RegisteredActuator, OpError> {
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
    if description.capabilities != actuator.capabilities {
        return Err(OpError::Usage {
            code: "other_capabilities",
            message: format!(
                "the command declares other capabilities than {name} is registered with"
            ),
            hint: Some("actuator put registers what a command declares, and binds it".to_owned()),
        });
    }
    let ledger_id = session.ledger.identity().ledger_id.clone();
    bindings::put(&session.place.bindings_file(), &ledger_id, name, &binding)?;
    Ok(actuator)
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
    let first = describe(&session.child_spec(binding, &first_environment())?, name)?;
    if first.environment.iter().all(|name| first_environment().contains(name)) {
        return Ok(first);
    }
    describe(&session.child_spec(binding, &first.environment)?, name)
}

/// What a command may see before it has said what it needs: enough to be started at all.
fn first_environment() -> Vec<String> {
    ["HOME", "PATH", "LANG", "TMPDIR"].map(str::to_owned).to_vec()
}

/// The question whether this person may change the ledger itself.
pub(crate) fn ledger_query(session: &Session, action: PolicyAction) -> PolicyQuery {
    PolicyQuery {
        actor: session.by.actor.to_string(),
        action,
        resource: PolicyResource::Ledger { id: session.ledger.identity().ledger_id.to_string() },
        desired: None,
        current: None,
        source: "cli".to_owned(),
        reason: None,
        controller: None,
        os_user: Some(session.by.os_user.clone()),
        at: session.now(),
    }
}

/// Whether policy lets this person change the ledger itself.
pub(crate) fn may_administer(
    session: &mut Session,
    action: PolicyAction,
    subject: &str,
) -> Result<PolicyAnswer, OpError> {
    let query = ledger_query(session, action);
    let answer = session.ask_policy(&query)?;
    if answer.allowed {
        return Ok(answer);
    }
    Err(Rejection::Denied {
        actor: session.by.actor.to_string(),
        subject: subject.to_owned(),
        answer: Box::new(answer),
    }
    .into())
}
