//! The thread that answers from the ledger: observations, and operations that were accepted before.
//!
//! Never writes. What was not accepted yet it hands to the writer.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};

use serde_json::json;
use tokio::sync::oneshot::Sender;

use super::metrics::{Became, Metrics};
use super::opener::Opener;
use super::told::{Asking, Told, is_of_session};
use super::writer::Order;
use crate::domain::gateway::{Code, ScaleOperation};
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

/// Answers until nobody can ask any more.
pub(super) fn answer(
    opener: &Opener,
    asks: &Receiver<Ask>,
    orders: &SyncSender<Order>,
    metrics: &Arc<Metrics>,
) {
    let mut session = None;
    while let Ok(Ask { what, reply }) = asks.recv() {
        let told = match what {
            What::Apply { operation } => match seen(opener, &mut session, &operation) {
                Ok(Seen::Answered(answer)) => {
                    metrics.operation(Became::Replayed);
                    Told::of(200, &answer)
                }
                Ok(Seen::Fresh { is_unknown }) => {
                    let order = GatewayOrder { operation, is_unknown };
                    match orders.try_send(Order { order, reply }) {
                        Ok(()) => continue,
                        Err(
                            TrySendError::Full(Order { reply, .. })
                            | TrySendError::Disconnected(Order { reply, .. }),
                        ) => {
                            metrics.operation(Became::Failed);
                            let _ = reply.send(Told::busy());
                            continue;
                        }
                    }
                }
                Err(error) => {
                    metrics.operation(Became::of(&error));
                    let open = session.as_mut();
                    Told::failed(open, &operation.service, &error, Asking::Operation)
                }
            },
            What::Observe { raw } => observed(opener, &mut session, &raw),
            What::Refuse { raw, code, message } => {
                let open = opener.session(&mut session).ok();
                Told::refused(open, &raw, code, message)
            }
            What::Health => match observe(opener, &mut session, "health") {
                Ok(_) => Told::of(200, &json!({"status": "ok"})),
                Err(error) => Told::plain(503, "unhealthy", &error.to_string()),
            },
        };
        // Whoever has hung up is told nothing.
        let _ = reply.send(told);
    }
}

/// Lets go of a session that may be at fault.
fn kept<T>(session: &mut Option<Session>, done: Result<T, OpError>) -> Result<T, OpError> {
    if done.as_ref().is_err_and(is_of_session) {
        *session = None;
    }
    done
}

fn seen(
    opener: &Opener,
    session: &mut Option<Session>,
    operation: &ScaleOperation,
) -> Result<Seen, OpError> {
    let seen = opener.session(session).and_then(|open| open.gateway_seen(operation));
    kept(session, seen)
}

fn observe(
    opener: &Opener,
    session: &mut Option<Session>,
    raw: &str,
) -> Result<crate::domain::gateway::ScaleObservation, OpError> {
    let seen = opener.session(session).and_then(|open| gateway_observe(open, raw));
    kept(session, seen)
}

fn observed(opener: &Opener, session: &mut Option<Session>, raw: &str) -> Told {
    match observe(opener, session, raw) {
        Ok(observation) => Told::of(200, &observation),
        Err(error) => Told::failed(session.as_mut(), raw, &error, Asking::Observation),
    }
}
