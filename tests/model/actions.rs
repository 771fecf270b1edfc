//! What may happen next: in the world, in a process, by a person.

use scalectl::domain::scale::execution::Phase;
use scalectl::domain::scale::service::OnUnknown;

use super::guarded::Proof;
use super::machine::{Act, Machine, REPLICAS};
use super::orders::{Answer, Look, Order, Word};
use super::setup::Setup;
use super::snapshot::{Call, Effect, Process, Snapshot};
use super::torn::Torn;
use crate::rules::support::id;

impl Machine {
    pub(super) fn time(&self, snapshot: &Snapshot, acts: &mut Vec<Act>) {
        if snapshot.real < self.setup.ticks {
            acts.push(Act::Tick);
        }
        if snapshot.steps > 0 {
            let other = (-1..=1).filter(|skew| *skew != snapshot.skew);
            acts.extend(other.map(Act::Step));
        }
        if self.setup.may("outsider") && snapshot.replicas != REPLICAS {
            acts.push(Act::Reset);
        }
        if self.setup.may("mistakes") {
            acts.push(Act::FromThePast(Order::Withdraw { key: 0 }));
        }
    }

    pub(super) fn children(&self, snapshot: &Snapshot, acts: &mut Vec<Act>) {
        for (index, call) in snapshot.calls.iter().enumerate() {
            let index = u8::try_from(index).expect("few calls");
            let may_change = call.spawned && call.effect == Effect::Pending && !call.powerless;
            if may_change {
                acts.push(Act::Effect { call: index, effect: Effect::Whole });
                if self.setup.may("partial") && call.is_alive() {
                    acts.push(Act::Effect { call: index, effect: Effect::Partial });
                }
            }
            if !call.is_alive() {
                continue;
            }
            let mut end = |answer| acts.push(Act::End { call: index, answer });
            // Who deduplicates answers for all calls of the key.
            let is_repeat = self.setup.has("dedupes")
                && snapshot.calls.iter().any(|c| {
                    c.key == call.key && matches!(c.effect, Effect::Whole | Effect::Partial)
                });
            match call.effect {
                Effect::Whole => end(Answer::Success),
                Effect::Partial => {
                    end(Answer::Other(4));
                    end(Answer::Stopped(4));
                }
                Effect::Pending | Effect::Never if is_repeat => {}
                Effect::Pending | Effect::Never => {
                    end(Answer::Refused);
                    if self.setup.may("terminal") {
                        end(Answer::RefusedForGood);
                    }
                }
            }
            if snapshot.mishaps > 0 {
                end(Answer::Nothing);
            }
        }
    }

    pub(super) fn process(&self, snapshot: &Snapshot, host: u8, acts: &mut Vec<Act>) {
        let ask = |order| Act::Ask { host: Some(host), order };
        match snapshot.processes[usize::from(host)] {
            Process::Idle => self.idle(snapshot, host, acts),
            Process::Gathered { key, look } => {
                let (real, proof) = (snapshot.real, Proof::Nothing);
                acts.push(ask(Order::Start { key, host, real, look, proof }));
            }
            Process::Committed { call } => {
                acts.push(Act::Spawn(host));
                if self.setup.may("unspawned") && snapshot.calls[usize::from(call)].ended.is_none()
                {
                    acts.push(Act::SpawnFails(host));
                }
                if snapshot.mishaps > 0 {
                    acts.push(Act::Crash(host));
                }
            }
            Process::Waiting { call } => {
                let call = &snapshot.calls[usize::from(call)];
                if call.ended.is_some() {
                    acts.push(Act::Deliver(host));
                }
                if snapshot.mishaps > 0 {
                    acts.push(Act::Crash(host));
                }
                if self.setup.may("leases") {
                    let order = Order::Renew { key: call.key };
                    acts.push(Act::Ask { host: None, order });
                }
            }
            process @ (Process::Fencing { .. } | Process::Told { .. }) => {
                Self::settling(snapshot, host, process, acts);
            }
            Process::Read { key, look } => {
                let state = self.book.state(snapshot.page);
                let phase = state.executions.get(&id(&Setup::key(key))).map(|e| &e.phase);
                acts.push(ask(match phase {
                    Some(Phase::RecoveryPending { .. }) => {
                        Order::Settle { key, word: Word::Read(look) }
                    }
                    _ => Order::Observe { key, look: Some(look) },
                }));
            }
        }
    }

    pub(super) fn look(&self, snapshot: &Snapshot) -> Look {
        let serial = self.book.state(snapshot.page).head.reading_serial;
        let (replicas, version) = (snapshot.replicas, snapshot.version);
        Look { replicas, version, serial, began: snapshot.wall() }
    }

    /// What a process that begins may do: `actuate`, `observe`, `replay` and the lease commands.
    fn idle(&self, snapshot: &Snapshot, host: u8, acts: &mut Vec<Act>) {
        let (setup, look) = (&self.setup, self.look(snapshot));
        let state = self.book.state(snapshot.page);
        let can_read = !setup.has("blind") && snapshot.looks > 0;
        for key in self.known(snapshot) {
            let execution = &state.executions[&id(&Setup::key(key))];
            let ask = |order| Act::Ask { host: Some(host), order };
            let real = snapshot.real;
            let start = |proof| Order::Start { key, host, real, look, proof };
            let is_startable = matches!(
                execution.phase,
                Phase::Accepted | Phase::Failed { .. } | Phase::RecoveryPending { .. }
            );
            if setup.may("slow") && is_startable {
                acts.push(Act::Gather { host, key });
            } else {
                acts.extend(setup.consent.proofs.iter().map(|proof| ask(start(*proof))));
            }
            if snapshot.mishaps > 0 && is_startable {
                acts.push(Act::StartUnknown { host, order: start(Proof::Nothing) });
            }
            if setup.may("leases") {
                acts.push(ask(Order::Acquire { key, host, real: snapshot.real }));
                acts.push(ask(Order::Release { key }));
            }
            let is_over = execution.phase.is_finished();
            match &execution.phase {
                Phase::Started { .. } => acts.extend(self.loss(snapshot, host, key).map(ask)),
                Phase::RecoveryPending { pending } => {
                    let attempt = u8::try_from(pending.call.attempt.get()).expect("few attempts");
                    acts.extend(proof(snapshot, host, key, attempt).map(ask));
                    let is_asked = execution.intent.terms.on_unknown != OnUnknown::Halt;
                    let is_torn = setup.may("torn");
                    if setup.fence && is_asked && !pending.fenced {
                        let step = Torn::Look { key, attempt };
                        let torn = Act::Torn { host, step };
                        acts.push(if is_torn { torn } else { Act::FenceTarget { key, attempt } });
                    }
                    if setup.lookup && is_asked {
                        let step = Torn::LookUp { key, attempt };
                        let torn = Act::Torn { host, step };
                        acts.push(if is_torn { torn } else { Act::Lookup { key, attempt } });
                    }
                    let word = Word::Read(look);
                    match (can_read, setup.may("slow")) {
                        (false, _) => {}
                        (true, true) => acts.push(Act::Read { host, key }),
                        (true, false) => acts.push(ask(Order::Settle { key, word })),
                    }
                }
                _ if can_read && setup.may("slow") && !is_over => {
                    acts.push(Act::Read { host, key });
                }
                // Looking again at what is over changes nothing but its newest reading.
                _ if is_over => acts.push(ask(Order::Observe { key, look: None })),
                _ => {
                    let look = can_read.then_some(look);
                    acts.push(ask(Order::Observe { key, look }));
                }
            }
        }
    }

    /// What `record_loss` sees from a host: an end that its files prove, or, elsewhere, a lease
    /// without a sign of life.
    fn loss(&self, snapshot: &Snapshot, host: u8, key: u8) -> Option<Order> {
        let state = self.book.state(snapshot.page);
        let execution = &state.executions[&id(&Setup::key(key))];
        let call = snapshot.calls.iter().rfind(|call| call.key == key)?;
        let (answer, ended) = match call.ended {
            _ if call.host != host => {
                let now = super::orders::at(snapshot.wall());
                if execution.live_lease(now).is_some() {
                    return None;
                }
                (Answer::Nothing, None)
            }
            Some((_, ended)) if !call.spawned => (Answer::NotStarted, Some(ended)),
            Some((_, ended)) => (Answer::Nothing, Some(ended)),
            None => return None,
        };
        Some(end_of(call, answer, ended, snapshot.version))
    }

    pub(super) fn operator(&self, snapshot: &Snapshot, acts: &mut Vec<Act>) {
        let setup = &self.setup;
        let known = self.known(snapshot);
        let mut ask = |order| acts.push(Act::Ask { host: None, order });
        if let Some(wish) =
            (0..).zip(setup.wishes).map(|(wish, _)| wish).find(|w| !known.contains(w))
        {
            ask(Order::Put { wish });
            if setup.may("mistakes") {
                ask(Order::Outdated { wish });
            }
        }
        let state = self.book.state(snapshot.page);
        let look = self.look(snapshot);
        let revision = state.head.registration.as_ref().map_or(0, |r| r.unit_revision.get());
        if setup.may("rivals") && revision < 3 {
            (0..setup.hosts).for_each(|to| ask(Order::Handover { to }));
        }
        if setup.has_people() {
            self.people(snapshot, acts);
        }
        let mut ask = |order| acts.push(Act::Ask { host: None, order });
        for key in known {
            let phase = &state.executions[&id(&Setup::key(key))].phase;
            if setup.may("mistakes") {
                ask(Order::Put { wish: key });
                ask(Order::Rewish { wish: key });
            }
            if setup.may("withdraw") {
                ask(Order::Withdraw { key });
            }
            if setup.may("abandon") {
                ask(Order::Abandon { key });
            }
            if setup.may("simulate") {
                ask(Order::Simulate { key });
            }
            if setup.may("settle") && matches!(phase, Phase::RecoveryPending { .. }) {
                if snapshot.looks > 0 {
                    ask(Order::Settle { key, word: Word::Applied(look) });
                }
                // An honest person looks first.
                let is_untouched = snapshot
                    .calls
                    .iter()
                    .filter(|call| call.key == key)
                    .all(|call| matches!(call.effect, Effect::Pending | Effect::Never));
                if is_untouched || setup.may("lie") {
                    ask(Order::Settle { key, word: Word::NotApplied });
                }
            }
        }
    }

    pub(super) fn known(&self, snapshot: &Snapshot) -> Vec<u8> {
        let state = self.book.state(snapshot.page);
        let wishes = (0..).zip(self.setup.wishes).map(|(wish, _)| wish);
        wishes.filter(|wish| state.executions.contains_key(&id(&Setup::key(*wish)))).collect()
    }
}

pub(super) fn end_of(call: &Call, answer: Answer, ended: Option<i8>, version: u8) -> Order {
    let (key, attempt, lease) = (call.key, call.attempt, call.lease.clone());
    Order::End { key, attempt, lease, answer, ended, version }
}

/// The end of a lost call, as the files of its host prove it.
fn proof(snapshot: &Snapshot, host: u8, key: u8, attempt: u8) -> Option<Order> {
    let call = snapshot.calls.iter().find(|call| call.key == key && call.attempt == attempt)?;
    let (_, ended) = call.ended.filter(|_| call.host == host)?;
    Some(Order::Prove { key, attempt, ended })
}
