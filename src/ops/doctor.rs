//! `doctor`: everything that can be looked at, whatever does not work.

use std::collections::BTreeSet;

use super::error::OpError;
use super::session::Session;
use crate::actuator::calls::look;
use crate::domain::count::counted;
use crate::domain::scale::execution::Phase;
use crate::domain::scale::service::CLOCK_SKEW_MAX;
use crate::ledger::life::examine::{self, Check};
use crate::ledger::{ExecutionFilter, Location, OpenOptions};

type Look = fn(&mut Session) -> Result<Check, OpError>;

/// How many names one line tells.
const NAMES_MAX: usize = 5;

/// The place of the ledger, whether or not there is one.
pub fn place(location: &Location, open: OpenOptions) -> Vec<Check> {
    examine::place(location, open)
}

/// What an open ledger tells, and what of this host belongs to it.
pub fn ledger(session: &mut Session) -> Vec<Check> {
    let mut checks = examine::storage(&mut session.ledger);
    let looks: [(&'static str, Look); 6] = [
        ("clock", clock),
        ("unfinished", unfinished),
        ("drift", drifted),
        ("moves", moves),
        ("bindings", bindings),
        ("calls", call_files),
    ];
    for (name, look) in looks {
        let advice = "scalectl verify says how far the damage goes";
        let made = look(session);
        checks.push(made.unwrap_or_else(|error| Check::fail(name, error.to_string(), advice)));
    }
    checks
}

fn named(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let first = names[..names.len() - more].join(" ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

fn clock(session: &mut Session) -> Result<Check, OpError> {
    let now = session.now();
    let heads = session.ledger.read()?.service_heads()?;
    let ahead = |mark| mark > now.plus(CLOCK_SKEW_MAX);
    let poisoned: Vec<String> = heads
        .iter()
        .filter(|(_, head)| head.time_mark.is_some_and(ahead))
        .map(|(service, _)| service.to_string())
        .collect();
    Ok(if poisoned.is_empty() {
        Check::ok("clock", now.to_string())
    } else {
        let found = format!("{now}, but written in the future: {}", named(&poisoned));
        // One line that can be pasted; where many are ahead, all of them.
        let which = if poisoned.len() == 1 { poisoned[0].as_str() } else { "--all" };
        let advice = format!(
            "set the clock, or if it is right: scalectl clock accept {which} --reason 'the clock \
             is right'"
        );
        Check::warn("clock", found, advice)
    })
}

fn unfinished(session: &mut Session) -> Result<Check, OpError> {
    let filter = ExecutionFilter { unfinished: true, ..ExecutionFilter::default() };
    let found = session.ledger.read()?.executions(&filter)?;
    let unknown: Vec<String> = found
        .iter()
        .filter(|it| matches!(it.phase, Phase::Started { .. } | Phase::RecoveryPending { .. }))
        .map(|it| it.key().to_string())
        .collect();
    Ok(if unknown.is_empty() {
        Check::ok(
            "unfinished",
            format!("{} under way, none under a call", counted(found.len(), "key")),
        )
    } else {
        let found = format!("a call under way or unknown: {}", named(&unknown));
        Check::warn("unfinished", found, "scalectl replay --all")
    })
}

fn drifted(session: &mut Session) -> Result<Check, OpError> {
    let read = session.ledger.read()?;
    let mut drifted = Vec::new();
    for (service, head) in read.service_heads()? {
        let key = head.current.map(|current| current.execution_key);
        let current = key.map_or(Ok(None), |key| read.find_execution(&key))?;
        if current.is_some_and(|it| it.drift || it.rollback_required) {
            drifted.push(service.to_string());
        }
    }
    Ok(if drifted.is_empty() {
        Check::ok("drift", "none is recorded")
    } else {
        let found = format!("unreviewed: {}", named(&drifted));
        Check::warn(
            "drift",
            found,
            format!("look, then wish anew: scalectl explain {}", drifted[0]),
        )
    })
}

/// An environment that serves nobody, or that waits for a person.
fn moves(session: &mut Session) -> Result<Check, OpError> {
    let state = session.placement()?;
    let Some(first) = state.stuck().next() else {
        let going = state.operations.values().filter(|it| !it.course.is_over()).count();
        let environments = counted(state.environments.len(), "environment");
        return Ok(Check::ok("moves", format!("{going} under way, {environments}")));
    };
    let names: Vec<String> = state.stuck().map(|it| it.environment.to_string()).collect();
    let found = format!("stuck: {}", named(&names));
    let advice =
        format!("see why, mend it, then retry: scalectl operation show {}", first.operation_id);
    Ok(Check::warn("moves", found, advice))
}

fn bindings(session: &mut Session) -> Result<Check, OpError> {
    let actuators = session.ledger.read()?.actuators()?;
    let unbound: Vec<String> = actuators
        .iter()
        .filter(|actuator| !session.is_bound_here(&actuator.name))
        .map(|actuator| actuator.name.to_string())
        .collect();
    Ok(if unbound.is_empty() {
        Check::ok("bindings", format!("{}, all bound here", counted(actuators.len(), "actuator")))
    } else {
        let found = format!("not bound on this host: {}", named(&unbound));
        let advice =
            format!("bind it where this host is to act: scalectl actuator show {}", unbound[0]);
        Check::warn("bindings", found, advice)
    })
}

/// A call's file that no row under way names is another ledger's, or was left over. What ends by
/// itself, because its call lives or `replay` sweeps it, needs nobody.
fn call_files(session: &mut Session) -> Result<Check, OpError> {
    let filter = ExecutionFilter { unfinished: true, ..ExecutionFilter::default() };
    let found = session.ledger.read()?.executions(&filter)?;
    let known: BTreeSet<String> =
        found.iter().filter_map(|it| it.open_call().map(|call| call.call_id.to_string())).collect();
    let dir = session.place.calls_dir();
    let files = std::fs::read_dir(&dir).into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let strange: Vec<String> = names.filter(|name| !known.contains(name)).collect();
    let unreadable: Vec<String> = strange
        .iter()
        .filter(|name| name.parse().map_or(true, |call_id| look(&dir, &call_id).is_err()))
        .cloned()
        .collect();
    let rows = format!("{}, each of a row under way", counted(known.len(), "file"));
    Ok(if !unreadable.is_empty() {
        let found = format!("without sense: {}", named(&unreadable));
        Check::warn("calls", found, format!("look at them, then remove them: {}", dir.display()))
    } else if strange.is_empty() {
        Check::ok("calls", rows)
    } else {
        let others = counted(strange.len(), "other");
        Check::ok("calls", format!("{rows}; {others}: another ledger's, or swept by replay later"))
    })
}
