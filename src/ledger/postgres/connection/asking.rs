//! Questions and their waits: looked after by whoever asked, and ended by them.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;

use super::{ANSWERS, GIVEN_UP, Server, no_answer_within, now};
use crate::domain::time::DurationMs;
use crate::ledger::WaitOn;
use crate::ledger::error::{LedgerError, LockedBy};
use crate::ledger::in_the_way::InTheWay;
use crate::ledger::sql::MayWait;

/// How often whoever waits for an answer is asked whether to go on.
const SLICE: Duration = Duration::from_millis(100);

/// How long it may take to tell a server to give up.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// What became of a question.
enum Asked<T> {
    /// It was answered.
    Answered(T),
    /// Whoever waits has ended the wait; the connection is there still, and what was asked goes on.
    GivenUp,
}

/// Waits for an answer, and looks who is in the way whenever whoever waits wants to know.
pub(super) async fn sliced<T>(
    answer: impl Future<Output = T>,
    may_wait: MayWait<'_>,
    look: impl AsyncFn() -> InTheWay,
    seen: &mut Option<InTheWay>,
) -> Option<T> {
    let mut answer = pin!(answer);
    loop {
        if let Ok(answer) = timeout(SLICE, &mut answer).await {
            return Some(answer);
        }
        match may_wait(None) {
            WaitOn::Go => continue,
            WaitOn::Over => return None,
            WaitOn::Look => {}
        }
        let mut looking = pin!(look());
        let found = loop {
            let slice = pin!(sleep(SLICE));
            match select(&mut answer, select(&mut looking, slice)).await {
                Either::Left((answer, _)) => return Some(answer),
                Either::Right((Either::Left((found, _)), _)) => break found,
                Either::Right((Either::Right(_), _)) if may_wait(None) == WaitOn::Over => {
                    return None;
                }
                Either::Right((Either::Right(_), _)) => {}
            }
        };
        let said = may_wait(Some(&found));
        *seen = Some(found);
        if said == WaitOn::Over {
            return None;
        }
    }
}

impl Server {
    /// Asks the server, with an end. After a lost connection or an answer that did not come there
    /// is no connection any more, and so nothing of an open transaction.
    pub(in super::super) fn ask<T>(
        &self,
        doing: &'static str,
        question: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, LedgerError> {
        let answer = self.watched(doing, question)?;
        answer.ok_or_else(|| {
            self.give_up();
            self.unreachable(doing, GIVEN_UP)
        })
    }

    /// The same; none where whoever looks after the wait has ended it. The connection is there
    /// still, and what was asked goes on.
    pub(super) fn watched<T>(
        &self,
        doing: &'static str,
        question: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Option<T>, LedgerError> {
        let asked = self.while_watched(|may_wait| self.looked_after(doing, may_wait, question));
        Ok(match asked?.0 {
            Asked::Answered(answer) => Some(answer),
            Asked::GivenUp => None,
        })
    }

    /// Asks for locks: what others are in the way of is told as busy. Without `may_wait` whoever
    /// looks after answers looks after this, too. Where the wait was ended the server is told, and
    /// the connection is given up with it, because nobody knows which statement that will meet.
    pub(in super::super) fn ask_for_locks<T>(
        &self,
        doing: &'static str,
        may_wait: Option<MayWait<'_>>,
        question: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, LedgerError> {
        let (asked, seen) = match may_wait {
            Some(may_wait) => self.looked_after(doing, may_wait, question)?,
            None => self.while_watched(|may_wait| self.looked_after(doing, may_wait, question))?,
        };
        let Asked::Answered(answer) = asked else {
            self.give_up();
            let by = match seen {
                Some(InTheWay::Holder(holder)) => LockedBy::Known(holder),
                Some(InTheWay::Standby | InTheWay::Nobody | InTheWay::Silence) => LockedBy::Nobody,
                Some(InTheWay::Unknown) | None => LockedBy::Perhaps,
            };
            return Err(LedgerError::Busy {
                doing,
                path: self.path(),
                waited: DurationMs::ZERO,
                by,
            });
        };
        Ok(answer)
    }

    /// Waits, looked after by whoever looks after answers.
    pub(super) fn while_watched<T>(&self, wait: impl FnOnce(MayWait<'_>) -> T) -> T {
        let mut watch = self.watch.borrow_mut();
        let began = now();
        let mut go_on = |found: Option<&InTheWay>| match watch.as_mut() {
            Some(watch) => {
                let waited = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                watch(DurationMs::from_millis(waited), found)
            }
            None => WaitOn::Go,
        };
        wait(&mut go_on)
    }

    /// The answer, and what was seen to be in its way meanwhile.
    fn looked_after<T>(
        &self,
        doing: &'static str,
        may_wait: MayWait<'_>,
        question: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<(Asked<T>, Option<InTheWay>), LedgerError> {
        let patience = self.in_time(self.patience());
        let link = self.link.borrow();
        let Some(connected) = link.as_ref().filter(|link| !link.client.is_closed()) else {
            return Err(self.unreachable(doing, "the connection was lost"));
        };
        let question = question(&connected.client);
        let mut seen = None;
        let look = async || self.who_is_in_the_way(self.backend.get()).await;
        let answer = self.within(patience, sliced(question, may_wait, look, &mut seen));
        // Of a lost transaction only the way back to a savepoint succeeds.
        self.is_aborted.set(false);
        drop(link);
        match answer {
            Ok(Some(Ok(answer))) => Ok((Asked::Answered(answer), seen)),
            Ok(Some(Err(error))) => Err(self.failed(doing, &error).locked_by(seen)),
            Ok(None) => Ok((Asked::GivenUp, seen)),
            Err(_) => {
                drop(self.link.take());
                Err(self.unreachable(doing, &no_answer_within(patience)))
            }
        }
    }

    /// Leaves a question unanswered: the server is asked to end what it does, and the connection is
    /// not used any more. A server that waits for a lock does not see that its client has gone, and
    /// keeps its place in the queue until it has waited enough.
    fn give_up(&self) {
        let Some(link) = self.link.take() else { return };
        let token = link.client.cancel_token();
        // Whether it was heard is not told; without it the lock timeout ends the wait.
        let _ = self.within(CANCEL_TIMEOUT, async {
            match self.address.tls() {
                Some(tls) => token.cancel_query(tls).await,
                None => token.cancel_query(tokio_postgres::NoTls).await,
            }
        });
    }

    /// How long somebody may take to say what is in the way.
    pub(super) fn look_patience(&self) -> Duration {
        self.in_time(ANSWERS).min(Duration::from_secs(1))
    }
}
