//! A settlement in the steps in which a process does it, and between which it may die: look, fence
//! the target, record the fence; ask the target, record what it said.

use super::machine::{Act, Machine, disarm};
use super::orders::{Order, Word};
use super::snapshot::{Effect, Process, Snapshot};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Torn {
    /// It reads the target, before it fences it.
    Look { key: u8, attempt: u8 },
    /// It fences the target.
    Fence,
    /// It asks the target.
    LookUp { key: u8, attempt: u8 },
}

impl Machine {
    pub(super) fn torn(&self, next: &mut Snapshot, host: u8, step: Torn) {
        let at = usize::from(host);
        next.processes[at] = match (step, next.processes[at]) {
            (Torn::Look { key, attempt }, _) => {
                Process::Fencing { key, attempt, look: self.look(next), is_done: false }
            }
            (Torn::Fence, Process::Fencing { key, attempt, look, .. }) => {
                disarm(next, key, attempt);
                next.version += 1;
                Process::Fencing { key, attempt, look, is_done: true }
            }
            (Torn::Fence, other) => other,
            (Torn::LookUp { key, attempt }, _) => {
                Process::Told { key, word: self.look_up(next, key, attempt) }
            }
        };
    }

    /// What the target says of an attempt, which has no effect any more from then on.
    pub(super) fn look_up(&self, next: &mut Snapshot, key: u8, attempt: u8) -> Word {
        let has = |effect| next.calls.iter().any(|c| c.key == key && c.effect == effect);
        let word = match (has(Effect::Whole), has(Effect::Partial)) {
            (true, _) => Word::LookupApplied(attempt, self.setup.wishes[usize::from(key)].replicas),
            (false, true) => Word::LookupApplied(attempt, 4),
            (false, false) => Word::LookupNever(attempt),
        };
        disarm(next, key, attempt);
        word
    }

    /// How a process that settles goes on.
    pub(super) fn settling(snapshot: &Snapshot, host: u8, process: Process, acts: &mut Vec<Act>) {
        acts.push(match process {
            Process::Fencing { key, attempt, look, is_done: true } => {
                let order = Order::Fenced { key, attempt, look: Some(look) };
                Act::Ask { host: Some(host), order }
            }
            Process::Told { key, word } => {
                Act::Ask { host: Some(host), order: Order::Settle { key, word } }
            }
            _ => Act::Torn { host, step: Torn::Fence },
        });
        if snapshot.mishaps > 0 {
            acts.push(Act::Crash(host));
        }
    }
}
