//! The thread that sees to it that what was accepted comes to be, where somebody carries it out.
//!
//! Owns when a service is looked at, and who waits for it. A look runs in a thread of its own, one
//! per service and a bounded number of them, so that a slow service keeps nobody else waiting. What
//! it remembers is lost with the process: the next one finds what is unfinished in the ledger.

mod slot;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use tokio::sync::oneshot;

use super::metrics::{Metrics, Went};
use super::opener::Opener;
use super::told::is_fatal;
use crate::actuator::host::Deadline;
use crate::cli::output::say_while_waiting;
use crate::domain::gateway::ScaleAnswer;
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::time::DurationMs;
use crate::ops::OpError;
use crate::ops::gateway_converge::{
    Convergence, gateway_converge, gateway_tend, gateway_tended, gateway_unfinished,
    gateway_wish_again,
};
use slot::{Look, Slot};

pub(super) use slot::Pauses;

/// How many services are looked at together at most: each may be a call that takes its time.
const LOOKS_MAX: usize = 32;
/// How often it is looked for what others have accepted.
const SCAN_EVERY: DurationMs = DurationMs::from_secs(10);
/// How long a sleep is at most.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// What whoever waits for a service is told.
pub(super) enum Followed {
    /// It came to be.
    Converged(Option<ScaleAnswer>),
    /// It did not, or not yet.
    Failed(String),
}

/// Who waits for a wish.
pub(super) struct Waiter {
    pub(super) key: ExecutionKey,
    pub(super) until: Deadline,
    pub(super) reply: oneshot::Sender<Followed>,
}

/// What happens.
pub(super) enum Event {
    /// An operation of this service was accepted.
    Accepted { service: ServiceName },
    /// Somebody waits for it.
    Wait { service: ServiceName, waiter: Waiter },
    /// A look at it has ended.
    Looked { service: ServiceName, found: Result<Convergence, OpError> },
    /// These have something to go towards.
    Found(Result<Vec<ServiceName>, OpError>),
    /// These are to be tended: they were there before this server.
    Known(Result<Vec<ServiceName>, OpError>),
    /// What runs is finished, and nothing more is begun.
    Drain,
}

/// The thread and what it works with.
pub(super) struct Converger {
    pub(super) opener: Opener,
    /// For the looks, to tell what they found.
    pub(super) events: Sender<Event>,
    pub(super) fatal: tokio::sync::mpsc::UnboundedSender<OpError>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) pauses: Pauses,
}

struct Run {
    of: Converger,
    slots: BTreeMap<ServiceName, Slot>,
    looking: usize,
    is_scanning: bool,
    /// Whether it is known who was there before.
    is_acquainted: bool,
    next_scan: Deadline,
    is_draining: bool,
}

impl Converger {
    /// Works until it is drained.
    pub(super) fn converge(self, events: &Receiver<Event>) {
        let mut run = Run {
            of: self,
            slots: BTreeMap::new(),
            looking: 0,
            is_scanning: false,
            is_acquainted: false,
            next_scan: Deadline::at_boot_ms(0),
            is_draining: false,
        };
        loop {
            run.begin_what_is_due();
            if run.is_draining && run.looking == 0 && !run.is_scanning {
                return;
            }
            match events.recv_timeout(run.sleep()) {
                Ok(event) => run.take(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

impl Run {
    fn take(&mut self, event: Event) {
        match event {
            Event::Accepted { service } => self.slots.entry(service).or_default().wake(),
            Event::Wait { service, waiter } => {
                let slot = self.slots.entry(service).or_default();
                slot.wait(waiter);
                if self.is_draining && !slot.is_looked_at() {
                    slot.give_up(ENDING);
                }
            }
            Event::Looked { service, found } => self.looked(&service, found),
            Event::Found(found) => {
                for service in self.scanned(found) {
                    self.slots.entry(service).or_default().go_on();
                }
            }
            Event::Known(found) => {
                self.is_acquainted = found.is_ok();
                for service in self.scanned(found) {
                    self.slots.entry(service).or_insert_with(Slot::found);
                }
            }
            Event::Drain => {
                self.is_draining = true;
                for slot in self.slots.values_mut().filter(|slot| !slot.is_looked_at()) {
                    slot.give_up(ENDING);
                }
            }
        }
    }

    fn scanned(&mut self, found: Result<Vec<ServiceName>, OpError>) -> Vec<ServiceName> {
        self.is_scanning = false;
        found.unwrap_or_else(|error| {
            self.failed(error);
            Vec::new()
        })
    }

    fn looked(&mut self, service: &ServiceName, found: Result<Convergence, OpError>) {
        self.looking -= 1;
        let went = match &found {
            Ok(Convergence::Idle | Convergence::Holds { .. }) => None,
            Ok(Convergence::Converged { .. }) => Some(Went::Converged),
            Ok(Convergence::Drifted { .. }) => Some(Went::Drifted),
            Ok(Convergence::Failed { .. }) => Some(Went::Failed),
            Ok(Convergence::Later { .. }) | Err(_) => Some(Went::Later),
        };
        if let Some(went) = went {
            self.of.metrics.look(went);
        }
        let found = found.unwrap_or_else(|error| {
            let why = error.to_string();
            self.failed(error);
            Convergence::Later { why, after: None }
        });
        match &found {
            Convergence::Failed { key, why } => {
                say_while_waiting(&format!("{service}: {key} failed for good: {why}"));
            }
            Convergence::Drifted { key, why } => {
                say_while_waiting(&format!("{service}: {key} holds no longer: {why}"));
            }
            _ => {}
        }
        let slot = self.slots.entry(service.clone()).or_default();
        slot.looked(found, self.of.pauses);
        if self.is_draining {
            slot.give_up(ENDING);
        }
        if slot.is_over() {
            self.slots.remove(service);
        }
    }

    fn failed(&self, error: OpError) {
        self.of.metrics.failure(&error);
        if is_fatal(&error) {
            let _ = self.of.fatal.send(error);
        }
    }

    fn begin_what_is_due(&mut self) {
        for slot in self.slots.values_mut() {
            slot.tell_who_waits_no_longer();
        }
        if self.is_draining {
            return;
        }
        if !self.is_scanning && self.next_scan.is_past() {
            self.next_scan = Deadline::after(slot::jittered(SCAN_EVERY));
            let is_acquainted = self.is_acquainted;
            self.is_scanning = self.in_a_thread(move |opener| {
                let session = opener.open();
                if is_acquainted {
                    Event::Found(session.and_then(|mut session| gateway_unfinished(&mut session)))
                } else {
                    Event::Known(session.and_then(|mut session| gateway_tended(&mut session)))
                }
            });
        }
        let mut due: Vec<(Deadline, ServiceName)> = self
            .slots
            .iter()
            .filter_map(|(service, slot)| Some((slot.due()?, service.clone())))
            .filter(|(due, _)| due.is_past())
            .collect();
        // Who waits longest comes first, whatever it is called.
        due.sort();
        for (_, service) in due.into_iter().take(LOOKS_MAX.saturating_sub(self.looking)) {
            let slot = self.slots.get_mut(&service).expect("BUG: it was just found");
            let look = slot.begin();
            let is_begun = self.in_a_thread(move |opener| {
                let found = opener.open().and_then(|mut session| match &look {
                    Look::Onward => gateway_converge(&mut session, &service),
                    Look::Tend => gateway_tend(&mut session, &service),
                    Look::Again { key, why } => {
                        gateway_wish_again(&mut session, &service, key, why)?;
                        gateway_converge(&mut session, &service)
                    }
                });
                Event::Looked { service, found }
            });
            self.looking += usize::from(is_begun);
        }
    }

    /// Whether a thread could be begun. Where none could, whoever is due is due again.
    fn in_a_thread(&self, work: impl FnOnce(&Opener) -> Event + Send + 'static) -> bool {
        let (opener, events) = (self.of.opener.clone(), self.of.events.clone());
        let body = move || {
            let _ = events.send(work(&opener));
        };
        std::thread::Builder::new().name("converge".to_owned()).spawn(body).is_ok()
    }

    fn sleep(&self) -> Duration {
        let wakes = self.slots.values().filter_map(Slot::wakes);
        let next = wakes.chain([self.next_scan]).map(Deadline::remaining).min();
        // Not at once: what is due and finds no thread would be tried without a pause.
        next.unwrap_or(SLEEP_MAX).clamp(Duration::from_millis(5), SLEEP_MAX)
    }
}

const ENDING: &str = "the server is ending: the operation is accepted, and goes on with the next";
