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
use crate::ops::gateway_converge::{
    Convergence, gateway_converge, gateway_tend, gateway_tended, gateway_unfinished,
    gateway_wish_again,
};
use crate::ops::{OpError, Session};
use slot::{Look, Slot};

pub(super) use slot::Pauses;

/// How many services are looked at together at most: each may be a call that takes its time.
const LOOKS_MAX: usize = 32;
/// How many of them at most to see whether a count still holds: what is accepted comes first.
const TENDS_MAX: usize = 24;
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
    /// What others have accepted or brought to be.
    Found(Result<Found, OpError>),
    /// What runs is finished, and nothing more is begun.
    Drain,
}

/// What a search has found.
pub(super) struct Found {
    /// These have something to go towards.
    unfinished: BTreeMap<ServiceName, ExecutionKey>,
    /// These are to be tended; empty where it was not looked for them.
    tended: Vec<ServiceName>,
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
    next_scan: Deadline,
    next_scan_of_all: Deadline,
    is_draining: bool,
}

impl Converger {
    /// Counts a failure, and ends the server by one that may not be gone on after.
    fn failed(&self, error: OpError) {
        self.metrics.failure(&error);
        if is_fatal(&error) {
            let _ = self.fatal.send(error);
        }
    }

    /// Works until it is drained.
    pub(super) fn converge(self, events: &Receiver<Event>) {
        let mut run = Run {
            of: self,
            slots: BTreeMap::new(),
            looking: 0,
            is_scanning: false,
            next_scan: Deadline::at_boot_ms(0),
            next_scan_of_all: Deadline::at_boot_ms(0),
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
                self.is_scanning = false;
                match found {
                    Ok(Found { unfinished, tended }) => {
                        for (service, newest) in unfinished {
                            self.slots.entry(service).or_default().go_on(&newest);
                        }
                        for service in tended {
                            let pauses = self.of.pauses;
                            self.slots.entry(service).or_insert_with(|| Slot::found(pauses));
                        }
                    }
                    Err(error) => self.of.failed(error),
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
        let slot = self.slots.entry(service.clone()).or_default();
        match &found {
            Ok(Convergence::Failed { key, why }) if !slot.has_told(key, why) => {
                say_while_waiting(&format!("{service}: {key} failed for good: {why}"));
            }
            Ok(Convergence::Drifted { key, why }) if !slot.has_told(key, why) => {
                say_while_waiting(&format!("{service}: {key} holds no longer: {why}"));
            }
            Ok(_) | Err(_) => {}
        }
        match found {
            Ok(found) => slot.looked(found, self.of.pauses),
            Err(error) => {
                slot.stumbled(error.to_string());
                self.of.failed(error);
            }
        }
        if self.is_draining {
            slot.give_up(ENDING);
        }
        if slot.is_over() {
            self.slots.remove(service);
        }
    }

    fn begin_what_is_due(&mut self) {
        for slot in self.slots.values_mut() {
            slot.tell_who_waits_no_longer();
        }
        if self.is_draining {
            return;
        }
        self.scan_when_due();
        if self.looking >= LOOKS_MAX {
            return;
        }
        let mut due: Vec<(Deadline, ServiceName)> = self
            .slots
            .iter()
            .filter_map(|(service, slot)| Some((slot.due()?, service.clone())))
            .filter(|(due, _)| due.is_past())
            .collect();
        // Who waits longest comes first, whatever it is called.
        due.sort();
        let mut tended = self.slots.values().filter(|slot| slot.is_tended_now()).count();
        for (_, service) in due {
            let slot = self.slots.get_mut(&service).expect("BUG: it was just found");
            if self.looking >= LOOKS_MAX || (slot.is_tended() && tended >= TENDS_MAX) {
                continue;
            }
            tended += usize::from(slot.is_tended());
            let (look, name) = (slot.begin(), service.clone());
            let is_begun = self.in_a_thread(move |opener| {
                let found =
                    opener.open().and_then(|mut session| look_at(&mut session, &name, look));
                Event::Looked { service: name, found }
            });
            if is_begun {
                self.looking += 1;
            } else if let Some(slot) = self.slots.get_mut(&service) {
                slot.is_put_back();
            }
        }
    }

    fn scan_when_due(&mut self) {
        if self.is_scanning || !self.next_scan.is_past() {
            return;
        }
        self.next_scan = Deadline::after(slot::jittered(SCAN_EVERY));
        let is_of_all = self.next_scan_of_all.is_past();
        if is_of_all {
            // Every service is read for what others have brought to be.
            let tend = self.of.pauses.tend;
            self.next_scan_of_all = Deadline::after(slot::jittered(tend.max(SCAN_EVERY)));
        }
        self.is_scanning = self.in_a_thread(move |opener| {
            let found = opener.open().and_then(|mut session| {
                let unfinished = gateway_unfinished(&mut session)?;
                let tended = if is_of_all { gateway_tended(&mut session)? } else { Vec::new() };
                Ok(Found { unfinished, tended })
            });
            Event::Found(found)
        });
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
        let least = Duration::from_millis(if self.looking < TENDS_MAX { 5 } else { 100 });
        next.unwrap_or(SLEEP_MAX).clamp(least, SLEEP_MAX)
    }
}

fn look_at(
    session: &mut Session,
    service: &ServiceName,
    look: Look,
) -> Result<Convergence, OpError> {
    let (key, why) = match look {
        Look::Onward => return gateway_converge(session, service),
        Look::Tend => return gateway_tend(session, service),
        Look::Again { key, why } => (key, why),
        Look::Restore => match gateway_tend(session, service)? {
            Convergence::Drifted { key, why } => (key, why),
            found => return Ok(found),
        },
    };
    gateway_wish_again(session, service, &key, &why)?;
    gateway_converge(session, service)
}

const ENDING: &str = "the server is ending: the operation is accepted, and goes on with the next";
