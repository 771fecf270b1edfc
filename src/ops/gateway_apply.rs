//! `gateway apply`: one operation of the contract, accepted or refused in one transaction.
//!
//! After a crash an operation is there with its receipt, or not at all; the same operation again is
//! then answered or judged.

use super::error::OpError;
use super::gateway::asked::{Asked, Seen};
use super::gateway::pool::Pool;
use super::session::Session;
use super::transition::Deciding;
use crate::domain::gateway::{ScaleAnswer, ScaleOperation};
use crate::domain::scale::decide::Reply;

/// What an operation came to.
pub struct GatewayApplied {
    /// The answer.
    pub answer: ScaleAnswer,
    /// Whether it had been accepted before.
    pub replayed: bool,
}

/// Judges an operation and accepts it. `pool` is how much all services of the gateway may have
/// together; none where nothing bounds them.
pub fn gateway_apply(
    session: &mut Session,
    operation: &ScaleOperation,
    pool: Option<u32>,
) -> Result<GatewayApplied, OpError> {
    session.act_as_gateway();
    let is_unknown = match session.gateway_seen(operation)? {
        Seen::Answered(answer) => return Ok(GatewayApplied { answer, replayed: true }),
        Seen::Fresh { is_unknown } => is_unknown,
    };
    session.load_policy()?;
    let asked = Asked::of(operation);
    let reach = asked.reach(is_unknown);
    let reach = if pool.is_some() { reach.pooled() } else { reach };
    let mut pool = pool.map(Pool::of);
    let keys = std::slice::from_ref(&asked.key);
    let done = session.decided(reach, keys, |txn, by, policy, now| {
        asked.accept_in(txn, &mut Deciding { by, policy, now }, is_unknown, &mut pool)
    })?;
    let receipt = done.execution(&asked.key)?.receipt.as_ref();
    let receipt = receipt.ok_or_else(|| OpError::Internal {
        what: format!("operation {:?} was accepted without a receipt", operation.operation_id),
    })?;
    let replayed = done.reply == Reply::Replayed;
    Ok(GatewayApplied { answer: receipt.response.clone(), replayed })
}
