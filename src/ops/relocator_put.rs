//! `relocator put` and `relocator bind`: who moves copies, and by which command on this host.
//!
//! The ledger keeps what the relocator can do; the command stays on the host, because whoever may
//! write the ledger must not choose what other hosts run.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::administer::may_administer;
use super::error::OpError;
use super::placing::not_found;
use super::relocating::{bound_as, bundled_pin, describe};
use super::session::Session;
use crate::actuator::bindings::{self, BindSite, Binding};
use crate::domain::id::RelocatorName;
use crate::domain::placement::command::Command;
use crate::domain::placement::protocol::PROTOCOL;
use crate::domain::placement::registry::RegisteredRelocator;
use crate::domain::scale::policy::PolicyAction;
use crate::domain::time::DurationMs;

/// How long one call may take unless told otherwise: a copy takes its time.
const TIMEOUT_DEFAULT: DurationMs = DurationMs::from_secs(3600);
/// The longest timeout of one call.
const TIMEOUT_MAX: DurationMs = DurationMs::from_secs(86_400);

/// A command as it was typed, and where.
pub struct TypedRelocator<'a> {
    /// The words.
    pub words: &'a [OsString],
    /// The directory that relative paths are relative to.
    pub current_dir: &'a Path,
    /// The search path.
    pub search_path: Option<&'a OsStr>,
}

/// What a registration came to.
pub struct RelocatorHere {
    /// The relocator.
    pub relocator: RegisteredRelocator,
    /// Whether the ledger changed.
    pub changed: bool,
}

/// Registers a relocator: asks the command what it can do, records that, and binds it on this host.
pub fn relocator_put(
    session: &mut Session,
    name: &RelocatorName,
    command: &TypedRelocator<'_>,
    timeout: Option<DurationMs>,
) -> Result<RelocatorHere, OpError> {
    let known = session.placement()?.relocators.remove(name);
    let timeout_ms = timeout.or(known.map(|known| known.timeout_ms)).unwrap_or(TIMEOUT_DEFAULT);
    if timeout_ms > TIMEOUT_MAX || timeout_ms == DurationMs::ZERO {
        return Err(OpError::usage(
            "timeout_out_of_range",
            format!("a timeout is more than 0s and at most {TIMEOUT_MAX}, not {timeout_ms}"),
        ));
    }
    // Nobody is asked anything for a person who may not.
    may_administer(session, PolicyAction::Register, name.as_str(), None)?;
    let binding = typed_binding(session, command)?;
    let described = describe(&session.relocator_spec(&binding)?, name)?;
    let relocator = RegisteredRelocator {
        name: name.clone(),
        adapter: described.name,
        version: described.version,
        protocol: PROTOCOL.to_owned(),
        ops: described.ops.into_iter().collect(),
        timeout_ms,
    };
    let asked = relocator.clone();
    let placed =
        session.place(&[], None, |_, _| Ok(Command::RegisterRelocator(Box::new(asked))))?;
    bind(session, name, &binding)?;
    Ok(RelocatorHere { relocator, changed: placed.committed.is_some() })
}

/// Binds a registered relocator to a command of this host, which must be able to do as much.
pub fn relocator_bind(
    session: &mut Session,
    name: &RelocatorName,
    command: &TypedRelocator<'_>,
) -> Result<RegisteredRelocator, OpError> {
    let known = session.placement()?.relocators.remove(name);
    let known = known.ok_or_else(|| not_found("relocator", name))?;
    let binding = typed_binding(session, command)?;
    let described = describe(&session.relocator_spec(&binding)?, name)?;
    let missing: Vec<String> =
        known.ops.iter().filter(|op| !described.ops.contains(op)).cloned().collect();
    if described.name != known.adapter || !missing.is_empty() {
        let message = format!(
            "the command is {}, and {name} is registered as {}{}",
            described.name,
            known.adapter,
            if missing.is_empty() {
                String::new()
            } else {
                format!(", which can {}", missing.join(", "))
            }
        );
        return Err(OpError::usage("other_relocator", message));
    }
    bind(session, name, &binding)?;
    Ok(known)
}

fn bind(session: &Session, name: &RelocatorName, binding: &Binding) -> Result<(), OpError> {
    let ledger_id = session.ledger.identity().ledger_id.clone();
    let file = session.place.relocators_file();
    Ok(bindings::put(&file, &ledger_id, &bound_as(name)?, binding)?)
}

fn typed_binding(session: &Session, command: &TypedRelocator<'_>) -> Result<Binding, OpError> {
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
