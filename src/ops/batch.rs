//! `batch`: keyed steps, many in one transaction, each as if it were alone in its own.
//!
//! Owns the group: a part of the transaction per line, decided by what the lines before it have
//! left, and one COMMIT. Never calls an actuator. After a crash the whole group is there or nothing
//! of it; the same lines again are answered by their keys.

use std::collections::BTreeSet;

use super::error::OpError;
use super::intent_put::with_ledger_facts;
use super::lease_acquire::acquire;
use super::report::Report;
use super::session::{Notice, Place, Session};
use super::transition::{Deciding, Undecided, decide_in};
use crate::domain::id::{
    CommandId, ControllerId, ExecutionKey, IntentRevision, LeaseInstanceId, ServiceName,
};
use crate::domain::registry::RefusalEvent;
use crate::domain::scale::command::{Command, PutIntent};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::Detail;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::DurationMs;
use crate::ledger::{LedgerError, Reach, ReadTxn, WriteTxn};

/// How a line names its key. Both names mean the same for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// By itself.
    Key(ExecutionKey),
    /// By its place in its service.
    At(ServiceName, IntentRevision),
}

/// What is asked of a key that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `intent withdraw`, and whether a wish of somebody else is meant.
    Withdraw(Option<Detail>, bool),
    /// `intent abandon`, likewise.
    Abandon(Detail, bool),
    /// `lease acquire`, for the registered writer where nobody is named.
    Acquire(Option<ControllerId>, DurationMs),
    /// `lease renew`
    Renew(LeaseInstanceId, DurationMs),
    /// `lease release`
    Release(LeaseInstanceId),
}

/// One line of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// `intent put`
    Put(Box<PutIntent>),
    /// A step on a key.
    Step(Named, Step),
}

/// What became of one line.
#[derive(Debug)]
pub struct Done {
    /// The run that its events are recorded under.
    pub command_id: CommandId,
    /// As the single command would have it.
    pub outcome: Result<Report, OpError>,
    /// What to say beside the answer.
    pub notices: Vec<Notice>,
}

/// What became of a group.
#[derive(Debug)]
pub struct Group {
    /// A line each, as far as they were carried out.
    pub lines: Vec<Done>,
    /// Whether the ledger failed as a whole, so that no other group may follow.
    pub is_over: bool,
}

/// Carries out a group. `goes_on` says of each outcome whether the next line is still wanted.
///
/// A failure of the ledger as a whole is the outcome of every line.
pub fn batch(
    session: &mut Session,
    orders: Vec<Order>,
    goes_on: &mut dyn FnMut(usize, &Result<Report, OpError>) -> bool,
) -> Result<Group, OpError> {
    let ids: Vec<CommandId> =
        orders.iter().map(|_| Session::command_id()).collect::<Result<_, _>>()?;
    let notices = match session.learn_of(&orders) {
        Ok(notices) => notices,
        Err(error) => return Ok(all_failed(&ids, |_| error.clone())),
    };
    if orders.iter().any(|order| matches!(order, Order::Put(_))) {
        // Only to parse it before the lock: whoever asks it is told what is wrong with it.
        let _ = session.load_policy();
    }
    let (mut lines, refusals) = match session.carry_out_all(orders, &ids, goes_on) {
        Ok(done) => done,
        Err((count, error)) => return Ok(all_failed(&ids[..count], |id| error.of_run(id))),
    };
    for (line, notices) in lines.iter_mut().zip(notices) {
        line.notices.extend(notices);
    }
    let (refused, rows): (Vec<usize>, Vec<_>) = refusals.into_iter().unzip();
    session.keep_refusals(&rows);
    let notices = std::mem::take(&mut session.notices);
    for at in refused {
        lines[at].notices.extend(notices.iter().cloned());
    }
    Ok(Group { lines, is_over: session.ledger.is_poisoned() })
}

/// What was carried out, and what refusals leave: each with the place of its line.
type CarriedOut = (Vec<Done>, Vec<(usize, Box<RefusalEvent>)>);

/// One line, in the transaction of its group.
fn carry_out(
    order: Order,
    txn: &mut WriteTxn<'_>,
    with: &mut Deciding<'_>,
    place: &Place,
) -> Result<(Report, Vec<Notice>), Undecided> {
    let (key, decided) = match order {
        Order::Put(put) => {
            let (key, service) = (put.key().clone(), put.service.clone());
            let keys = std::slice::from_ref(&key);
            let decided = decide_in(txn, with, &service, keys, |state, txn| {
                Ok(Command::Put(Box::new(with_ledger_facts(*put, state, txn)?)))
            })?;
            (key, decided)
        }
        Order::Step(named, step) => {
            let key = named.resolve(txn)?;
            let missing = || Rejection::NoSuchKey { key: key.to_string() };
            let service = txn.find_execution(&key)?.ok_or_else(missing)?.intent.service;
            if !txn.reaches(&service) {
                // It came after this group had begun.
                return Err(missing().into());
            }
            let keys = std::slice::from_ref(&key);
            let decided = decide_in(txn, with, &service, keys, |state, _| {
                step.command(key.clone(), state, place)
            })?;
            (key, decided)
        }
    };
    let notices = decided.told.clone();
    Ok((Report::of_decided(decided, &key)?, notices))
}

impl Named {
    fn resolve(self, read: &ReadTxn<'_>) -> Result<ExecutionKey, OpError> {
        match self {
            Self::Key(key) => Ok(key),
            Self::At(service, revision) => {
                let key = format!("{service}@{revision}");
                let found = read.key_at(&service, revision)?;
                found.ok_or_else(|| Rejection::NoSuchKey { key }.into())
            }
        }
    }
}

impl Step {
    fn command(
        self,
        key: ExecutionKey,
        state: &ServiceState,
        place: &Place,
    ) -> Result<Command, OpError> {
        Ok(match self {
            Self::Withdraw(reason, supersede) => Command::Withdraw { key, reason, supersede },
            Self::Abandon(reason, supersede) => Command::Abandon { key, reason, supersede },
            Self::Acquire(controller, ttl) => {
                return acquire(state, place, key, controller.as_ref(), ttl);
            }
            Self::Renew(lease_instance_id, ttl) => {
                Command::RenewLease { key, lease_instance_id, ttl }
            }
            Self::Release(lease_instance_id) => Command::ReleaseLease { key, lease_instance_id },
        })
    }

    /// Whether the single command first records that a call has ended.
    const fn looks_at_the_call(&self) -> bool {
        match self {
            Self::Withdraw(..) | Self::Abandon(..) | Self::Acquire(..) => true,
            Self::Renew(..) | Self::Release(_) => false,
        }
    }
}

impl Session {
    /// One transaction for all of them. An error comes with the number of lines that it is for.
    fn carry_out_all(
        &mut self,
        orders: Vec<Order>,
        ids: &[CommandId],
        goes_on: &mut dyn FnMut(usize, &Result<Report, OpError>) -> bool,
    ) -> Result<CarriedOut, (usize, LedgerError)> {
        let (mut lines, mut refusals) = (Vec::with_capacity(ids.len()), Vec::new());
        let Some(whole) = ids.first() else {
            return Ok((lines, refusals));
        };
        let of_all = |error| (ids.len(), error);
        let puts = orders.iter().filter_map(|order| match order {
            Order::Put(put) => Some(put.key()),
            Order::Step(..) => None,
        });
        let reach = self.reach_of(&orders).map_err(of_all)?.about(puts);
        let counting = self.counting(reach.clone());
        let mut txn = self.ledger.write(whole.clone(), counting).map_err(of_all)?;
        // A policy that cannot be read is told by the line that asks it.
        if self.policy.lacks_a_lock(&txn).unwrap_or(false) {
            drop(txn);
            txn = self.ledger.write(whole.clone(), reach.counting()).map_err(of_all)?;
        }
        let now = self.clock.read(txn.now());
        let mut with = Deciding { by: &self.by, policy: &mut self.policy, now };
        let mut is_written = false;
        for (at, order) in orders.into_iter().enumerate() {
            let command_id = ids[at].clone();
            let place = &self.place;
            let done = txn.part(command_id.clone(), |txn| carry_out(order, txn, &mut with, place));
            let mut notices = Vec::new();
            let outcome = match done {
                Ok((report, ends)) => {
                    notices = ends;
                    Ok(report)
                }
                Err(Undecided::Failed(OpError::Ledger(error)))
                    if error.is_of_all() || txn.has_failed() =>
                {
                    return Err((ids.len(), error));
                }
                Err(Undecided::Failed(error)) => Err(error),
                Err(Undecided::Refused(mut refused)) => {
                    refusals.extend(refused.kept.take().map(|kept| (at, kept)));
                    Err(refused.into_error())
                }
            };
            is_written |= outcome.as_ref().is_ok_and(|report| report.recorded);
            let is_last = !goes_on(at, &outcome);
            lines.push(Done { command_id, outcome, notices });
            if is_last {
                break;
            }
        }
        if is_written {
            let _committed = txn.commit().map_err(|error| (lines.len(), error))?;
            self.note_recorded();
            for report in lines.iter().filter_map(|line| line.outcome.as_ref().ok()) {
                if report.recorded {
                    self.notify_of_put(&report.execution);
                }
            }
        } else if lines.iter().any(|line| line.outcome.is_ok()) {
            drop(txn);
            self.ledger.confirm().map_err(|error| (lines.len(), error))?;
        }
        Ok((lines, refusals))
    }

    /// The services of a group. A key names one for ever, so it may be looked up before the locks.
    fn reach_of(&mut self, orders: &[Order]) -> Result<Reach, LedgerError> {
        let mut services = BTreeSet::new();
        let read = self.ledger.read()?;
        for order in orders {
            match order {
                Order::Put(put) => services.insert(put.service.clone()),
                Order::Step(Named::At(service, _), _) => services.insert(service.clone()),
                Order::Step(Named::Key(key), _) => match read.find_execution(key) {
                    Ok(found) => found.is_some_and(|it| services.insert(it.intent.service)),
                    Err(error) if error.is_of_all() => return Err(error),
                    // Its line reads it again, and says what is wrong with it.
                    Err(_) => false,
                },
            };
        }
        Ok(Reach::services(&services))
    }

    /// Records the calls that have ended unseen, of keys that steps name, in transactions of their
    /// own: they are facts whatever becomes of the group. Only a failure of the ledger as a whole
    /// is an error: what else is wrong with a key, its own line says.
    fn learn_of(&mut self, orders: &[Order]) -> Result<Vec<Vec<Notice>>, LedgerError> {
        let mut notices = Vec::with_capacity(orders.len());
        for order in orders {
            if let Order::Step(named, step) = order
                && step.looks_at_the_call()
                && let Err(OpError::Ledger(error)) = self.learn_of_one(named)
                && error.is_of_all()
            {
                return Err(error);
            }
            notices.push(std::mem::take(&mut self.notices));
        }
        Ok(notices)
    }

    fn learn_of_one(&mut self, named: &Named) -> Result<(), OpError> {
        let key = named.clone().resolve(&self.ledger.read()?)?;
        self.load_known(&key).map(|_| ())
    }
}

fn all_failed(ids: &[CommandId], error: impl Fn(&CommandId) -> LedgerError) -> Group {
    let lines = ids.iter().map(|id| Done {
        command_id: id.clone(),
        outcome: Err(error(id).into()),
        notices: Vec::new(),
    });
    Group { lines: lines.collect(), is_over: true }
}
