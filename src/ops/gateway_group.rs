//! Many operations of the contract in one transaction, each as if it were alone in its own.
//!
//! Owns the group: a part of the transaction per operation, decided by what the ones before it have
//! left, and one COMMIT. After a crash the whole group is there or nothing of it; the same
//! operations again are answered or judged.

use super::error::OpError;
use super::gateway::asked::Asked;
use super::gateway::pool::Pool;
use super::session::Session;
use super::transition::{Decided, Deciding, Undecided};
use crate::domain::gateway::{ScaleAnswer, ScaleOperation};
use crate::domain::id::{CommandId, ExecutionKey, ServiceName};
use crate::domain::registry::RefusalEvent;
use crate::domain::scale::decide::Reply;
use crate::ledger::{LedgerError, Reach, WriteTxn};

/// An operation that was not accepted when somebody looked.
pub struct GatewayOrder {
    /// The operation.
    pub operation: ScaleOperation,
    /// Whether nobody had registered its service.
    pub is_unknown: bool,
}

/// What became of one of them.
pub struct GatewayDone {
    /// Its service here.
    pub service: ServiceName,
    /// Its key.
    pub key: ExecutionKey,
    /// The answer.
    pub answer: ScaleAnswer,
    /// Whether it had been accepted before, after all.
    pub replayed: bool,
    /// Whether somebody has to carry it out: the service has an actuator.
    pub is_carried_out: bool,
}

/// Accepts what may be accepted of a group, in the order of its operations. A failure of the ledger
/// as a whole is the outcome of each of them.
pub fn gateway_group(
    session: &mut Session,
    orders: &[GatewayOrder],
    pool: &mut Option<Pool>,
) -> Vec<Result<GatewayDone, OpError>> {
    session.act_as_gateway();
    let mut done = session.accept_all(orders, Each::Together, pool);
    if matches!(done, Err(Failed::Torn)) {
        done = session.accept_all(orders, Each::Alone, pool);
    }
    let (outcomes, refusals) = match done {
        Ok(done) => done,
        Err(Failed::Whole(error)) => {
            let all = orders.iter().map(|_| Err(error.clone().into()));
            return all.collect();
        }
        Err(Failed::Of(ids, error)) => {
            return ids.iter().map(|id| Err(error.of_run(id).into())).collect();
        }
        Err(Failed::Torn) => {
            let what = "an operation that fails alone has failed the others, too".to_owned();
            return failed_alike(orders.len(), &OpError::Internal { what });
        }
    };
    session.keep_refusals(&refusals);
    session.notices.clear();
    outcomes
}

fn failed_alike<T>(count: usize, error: &OpError) -> Vec<Result<T, OpError>> {
    let what = error.to_string();
    (0..count).map(|_| Err(OpError::Internal { what: what.clone() })).collect()
}

type Accepted = (Vec<Result<GatewayDone, OpError>>, Vec<Box<RefusalEvent>>);

/// What has failed as a whole: before the COMMIT, or in it, with the run of each operation.
enum Failed {
    /// One has failed after it had written something. Nothing of the whole is recorded.
    Torn,
    Whole(LedgerError),
    Of(Vec<CommandId>, LedgerError),
}

/// Whether an operation may fail when it has written something, and leave the rest as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Each {
    /// It may not. Hardly any does: a refusal is known before anything is written.
    Together,
    /// It may, and every operation pays for it.
    Alone,
}

impl From<LedgerError> for Failed {
    fn from(error: LedgerError) -> Self {
        Self::Whole(error)
    }
}

impl Session {
    fn accept_all(
        &mut self,
        orders: &[GatewayOrder],
        each: Each,
        pool: &mut Option<Pool>,
    ) -> Result<Accepted, Failed> {
        if let Some(pool) = pool {
            pool.begin();
        }
        let done = self.accept_each(orders, each, pool);
        if let (Err(_), Some(pool)) = (&done, pool) {
            pool.forget();
        }
        done
    }

    fn accept_each(
        &mut self,
        orders: &[GatewayOrder],
        each: Each,
        pool: &mut Option<Pool>,
    ) -> Result<Accepted, Failed> {
        let (mut outcomes, mut refusals) = (Vec::with_capacity(orders.len()), Vec::new());
        let ids: Result<Vec<_>, OpError> = orders.iter().map(|_| Self::command_id()).collect();
        let ids = match ids {
            Ok(ids) if !ids.is_empty() => ids,
            Ok(_) => return Ok((outcomes, refusals)),
            Err(error) => return Ok((failed_alike(orders.len(), &error), refusals)),
        };
        self.ledger.writes_often()?;
        // Only to parse it before the lock: whoever asks it is told what is wrong with it.
        let _ = self.load_policy();
        let asked: Vec<Asked<'_>> = orders.iter().map(|it| Asked::of(&it.operation)).collect();
        let may_register = orders.iter().any(|order| order.is_unknown);
        let reach = reach_of(&asked, may_register, pool.is_some());
        let counting = self.counting(reach.clone());
        let mut txn = self.ledger.write(ids[0].clone(), counting)?;
        // A policy that cannot be read is told by the operation that asks it.
        if self.policy.lacks_a_lock(&txn).unwrap_or(false) {
            drop(txn);
            txn = self.ledger.write(ids[0].clone(), reach.counting())?;
        }
        let now = self.clock.read(txn.now());
        let mut with = Deciding { by: &self.by, policy: &mut self.policy, now };
        let mut is_written = false;
        for (asked, id) in asked.iter().zip(&ids) {
            let accept = |txn: &mut WriteTxn<'_>| {
                let done = asked.accept_in(txn, &mut with, may_register, pool)?;
                is_written |= !done.events.is_empty();
                Ok(asked.done(&done)?)
            };
            // Who is registered first may still be refused.
            let is_alone =
                each == Each::Alone || may_register && !txn.is_registered(&asked.service)?;
            let done =
                if is_alone { txn.part(id.clone(), accept) } else { txn.run(id.clone(), accept) };
            match &done {
                Err(Undecided::Failed(OpError::Ledger(error))) if error.is_of_all() => {
                    return Err(error.clone().into());
                }
                Err(_) if txn.has_failed() => return Err(Failed::Torn),
                Ok(_) | Err(_) => {}
            }
            outcomes.push(done.map_err(|why| match why {
                Undecided::Failed(error) => error,
                Undecided::Refused(mut refused) => {
                    refusals.extend(refused.kept.take());
                    refused.into_error()
                }
            }));
        }
        if is_written {
            if let Some(pool) = pool {
                pool.written(&txn)?;
            }
            let _committed = txn.commit().map_err(|error| Failed::Of(ids, error))?;
            self.note_recorded();
        } else {
            drop(txn);
            if outcomes.iter().any(Result::is_ok) {
                self.ledger.confirm()?;
            }
        }
        Ok((outcomes, refusals))
    }
}

fn reach_of(asked: &[Asked<'_>], may_register: bool, is_pooled: bool) -> Reach {
    let begin = if may_register { Reach::registry() } else { Reach::services([]) };
    let reach = asked.iter().fold(begin, |reach, asked| reach.and_service(&asked.service));
    let reach = reach.about(asked.iter().map(|asked| &asked.key));
    if is_pooled { reach.pooled() } else { reach }
}

impl Asked<'_> {
    fn done(&self, done: &Decided) -> Result<GatewayDone, OpError> {
        let execution = done.state.executions.get(&self.key);
        let receipt = execution.and_then(|execution| execution.receipt.as_ref());
        let receipt = receipt.ok_or_else(|| OpError::Internal {
            what: format!("{} was accepted without a receipt", self.key),
        })?;
        let registration = done.state.head.registration.as_ref();
        Ok(GatewayDone {
            service: self.service.clone(),
            key: self.key.clone(),
            answer: receipt.response.clone(),
            replayed: done.reply == Reply::Replayed,
            is_carried_out: registration.is_some_and(|it| it.actuator.is_some()),
        })
    }
}
