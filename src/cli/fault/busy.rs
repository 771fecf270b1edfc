//! A ledger that somebody else had to themselves: who, where that is known.

use std::path::Path;

use crate::actuator::host;
use crate::cli::problem::{HeldBy, Problem, ProblemContext};
use crate::ledger::LedgerError;
use crate::ops::holder_of;

/// Adds who is in the way.
pub(super) fn of(
    error: &LedgerError,
    path: &Path,
    problem: Problem,
    context: &ProblemContext,
) -> Problem {
    let (holder, held_by) = match (error.holder(), holder_of(path)) {
        (Some(holder), _) => {
            let held_by = holder.own().map(|own| HeldBy {
                controller: Some(own.actor.to_owned()),
                host: Some(own.host.to_owned()),
                pid: Some(own.pid),
                until: None,
            });
            (holder.to_string(), held_by)
        }
        (None, Some(holder)) => {
            let (host, pid) = (host::host_name().ok(), u32::try_from(holder.pid).ok());
            let held_by = HeldBy { controller: None, host, pid, until: None };
            (holder.to_string(), Some(held_by))
        }
        (None, None) => return problem.again(context),
    };
    Problem { held_by, ..problem }.fact("holder", holder).again(context)
}
