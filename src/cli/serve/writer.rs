//! The thread that writes what is accepted: all that waits in one transaction, with one COMMIT.
//!
//! An operation is answered only after the COMMIT that it is in. What was handed over is carried
//! out whether or not anybody still waits for the answer.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use tokio::sync::oneshot;

use super::converger::Event;
use super::metrics::{Became, Metrics};
use super::opener::Opener;
use super::told::{Asking, Follow, Told, failed_alike, is_fatal, is_of_session};
use crate::cli::output::say_while_waiting;
use crate::ops::gateway_group::{GatewayDone, GatewayOrder, gateway_group};
use crate::ops::wait::Teller;
use crate::ops::{OpError, Pool, Session};

/// How many operations are in one transaction at most.
const GROUP_MAX: usize = 256;

/// An operation that was not accepted yet, and where its answer goes.
pub(super) struct Order {
    pub(super) order: GatewayOrder,
    pub(super) reply: oneshot::Sender<Told>,
}

/// The thread and what it works with.
pub(super) struct Writer {
    pub(super) opener: Opener,
    pub(super) pool: Option<Pool>,
    pub(super) events: Sender<Event>,
    pub(super) fatal: tokio::sync::mpsc::UnboundedSender<OpError>,
    pub(super) metrics: Arc<Metrics>,
    /// When to say again what keeps it from writing.
    pub(super) teller: Teller,
}

impl Writer {
    /// Writes until nobody can order anything any more.
    pub(super) fn write(mut self, orders: &Receiver<Order>) {
        let mut session = None;
        while let Ok(first) = orders.recv() {
            let (mut group, mut replies) = (vec![first.order], vec![first.reply]);
            while group.len() < GROUP_MAX
                && let Ok(Order { order, reply }) = orders.try_recv()
            {
                group.push(order);
                replies.push(reply);
            }
            let done = match self.opener.session(&mut session) {
                Ok(open) => gateway_group(open, &group, &mut self.pool),
                Err(error) => failed_alike(group.len(), error),
            };
            self.metrics.group(group.len());
            let is_bad = done.iter().any(|done| done.as_ref().is_err_and(is_of_session));
            for ((order, reply), done) in group.iter().zip(replies).zip(done) {
                let told = self.told(session.as_mut(), &order.operation.service, done);
                // Whoever has hung up is told nothing.
                let _ = reply.send(told);
            }
            if is_bad {
                session = None;
            }
        }
    }

    fn told(
        &mut self,
        session: Option<&mut Session>,
        raw: &str,
        done: Result<GatewayDone, OpError>,
    ) -> Told {
        match done {
            Ok(done) => {
                let became = if done.replayed { Became::Replayed } else { Became::Accepted };
                self.metrics.operation(became);
                let told = Told::of(200, &done.answer);
                if !done.is_carried_out || done.replayed {
                    return told;
                }
                let GatewayDone { service, key, .. } = done;
                let _ = self.events.send(Event::Accepted { service: service.clone() });
                Told { follow: Some(Follow { service, key }), ..told }
            }
            Err(error) => {
                self.metrics.operation(Became::of(&error));
                let told = Told::failed(session, raw, &error, Asking::Operation);
                let text = error.to_string();
                if Became::of(&error) == Became::Failed && self.teller.is_due(&text) {
                    say_while_waiting(&format!("an operation of {raw} failed: {text}"));
                }
                if is_fatal(&error) {
                    let _ = self.fatal.send(error);
                }
                told
            }
        }
    }
}
