//! The thread that answers from the ledger: observations, and operations that were accepted before.
//!
//! Never writes. What was not accepted yet it hands to the writer.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};

use serde_json::json;
use tokio::sync::oneshot::Sender;

use super::metrics::{Became, Metrics};
use super::opener::Opener;
use super::told::{Asking, Told, failed_alike, is_of_session};
use super::writer::Order;
use crate::domain::gateway::{Code, ScaleObservation, ScaleOperation};
use crate::ops::gateway_group::GatewayOrder;
use crate::ops::gateway_observe::gateway_observe;
use crate::ops::{OpError, Seen, Session};

/// A question, and where its answer goes. Whoever does not wait any more loses nothing but the
/// answer.
pub(super) struct Ask {
    pub(super) what: What,
    pub(super) reply: Sender<Told>,
}

/// What is asked.
pub(super) enum What {
    /// Where a service stands.
    Observe { raw: String },
    /// To accept an operation.
    Apply { operation: ScaleOperation },
    /// To refuse something, with where the service stands.
    Refuse { raw: String, code: Code, message: String },
    /// Whether the ledger can be read.
    Health,
}

/// How many operations are looked for at once.
const LOOKED_FOR_MAX: usize = 64;

/// Answers until nobody can ask any more.
pub(super) fn answer(
    opener: &Opener,
    asks: &Receiver<Ask>,
    orders: &SyncSender<Order>,
    metrics: &Arc<Metrics>,
) {
    let mut reader = Reader { opener, orders, metrics, session: None };
    while let Ok(first) = asks.recv() {
        let mut applied = Vec::new();
        reader.take(first, &mut applied);
        // What is looked for was asked for before the look, all of it.
        while applied.len() < LOOKED_FOR_MAX
            && let Ok(ask) = asks.try_recv()
        {
            reader.take(ask, &mut applied);
        }
        if !applied.is_empty() {
            reader.look_for(applied);
        }
    }
}

struct Reader<'r> {
    opener: &'r Opener,
    orders: &'r SyncSender<Order>,
    metrics: &'r Arc<Metrics>,
    session: Option<Session>,
}

impl Reader<'_> {
    /// Answers a question, or puts an operation aside to be looked for with others.
    fn take(
        &mut self,
        Ask { what, reply }: Ask,
        applied: &mut Vec<(ScaleOperation, Sender<Told>)>,
    ) {
        let told = match what {
            What::Apply { operation } => return applied.push((operation, reply)),
            What::Observe { raw } => self.observed(&raw),
            What::Refuse { raw, code, message } => {
                let open = self.opener.session(&mut self.session).ok();
                Told::refused(open, &raw, code, message)
            }
            What::Health => match self.observe("health") {
                Ok(_) => Told::of(200, &json!({"status": "ok"})),
                Err(error) => Told::plain(503, "unhealthy", &error.to_string()),
            },
        };
        // Whoever has hung up is told nothing.
        let _ = reply.send(told);
    }

    /// Answers what was accepted before, and hands the rest to the writer.
    fn look_for(&mut self, applied: Vec<(ScaleOperation, Sender<Told>)>) {
        let operations = applied.iter().map(|(operation, _)| operation);
        let seen = self.opener.session(&mut self.session);
        let seen = match seen.and_then(|open| open.gateway_seen_all(operations)) {
            Ok(seen) => seen,
            Err(error) => failed_alike(applied.len(), error),
        };
        if seen.iter().any(|seen| seen.as_ref().is_err_and(is_of_session)) {
            self.session = None;
        }
        for ((operation, reply), seen) in applied.into_iter().zip(seen) {
            match seen {
                Ok(Seen::Answered(answer)) => {
                    self.metrics.operation(Became::Replayed);
                    let _ = reply.send(Told::of(200, &answer));
                }
                Ok(Seen::Fresh { is_unknown }) => {
                    let order = GatewayOrder { operation, is_unknown };
                    self.hand_over(Order { order, reply });
                }
                Err(error) => {
                    self.metrics.operation(Became::of(&error));
                    let open = self.session.as_mut();
                    let told = Told::failed(open, &operation.service, &error, Asking::Operation);
                    let _ = reply.send(told);
                }
            }
        }
    }

    fn hand_over(&self, order: Order) {
        if let Err(TrySendError::Full(order) | TrySendError::Disconnected(order)) =
            self.orders.try_send(order)
        {
            self.metrics.operation(Became::Failed);
            let _ = order.reply.send(Told::busy());
        }
    }

    fn observe(&mut self, raw: &str) -> Result<ScaleObservation, OpError> {
        let session = self.opener.session(&mut self.session);
        let seen = session.and_then(|open| gateway_observe(open, raw));
        // Lets go of a session that may be at fault.
        if seen.as_ref().is_err_and(is_of_session) {
            self.session = None;
        }
        seen
    }

    fn observed(&mut self, raw: &str) -> Told {
        match self.observe(raw) {
            Ok(observation) => Told::of(200, &observation),
            Err(error) => Told::failed(self.session.as_mut(), raw, &error, Asking::Observation),
        }
    }
}
