//! `actuate`: the next attempt of a key, carried out and recorded; or a simulation of it.

use super::carry::CarryOptions;
use super::error::OpError;
use super::report::Report;
use super::session::Session;
use crate::domain::id::ExecutionKey;
use crate::domain::scale::command::Command;
use crate::domain::scale::execution::Phase;

/// Carries out the next attempt of a key. Never verifies a success: `observe` does.
pub fn actuate(
    session: &mut Session,
    key: &ExecutionKey,
    options: &CarryOptions,
) -> Result<Report, OpError> {
    let (state, execution) = session.load(key)?;
    if execution.intent.dry_run {
        return simulate(session, key, options);
    }
    // A call that ended without a result is recorded first: starting over would call blindly.
    if matches!(execution.phase, Phase::Started { .. }) {
        session.record_loss(&execution)?;
        return session.carry_out(key, options);
    }
    session.carry_out_loaded(&state, &execution, options)
}

/// Records a simulation of a key: nobody is called.
pub fn simulate(
    session: &mut Session,
    key: &ExecutionKey,
    options: &CarryOptions,
) -> Result<Report, OpError> {
    let (state, execution) = session.load(key)?;
    let controller = Session::controller(&state, options.controller.as_ref())?;
    session.step(&execution, Command::Simulate { key: key.clone(), controller })
}
