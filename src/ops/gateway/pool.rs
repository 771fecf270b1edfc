//! How much all services have together that the gateway has ever scaled and that are not retired.
//!
//! Owns the sum. It is kept from one transaction to the next, and brought up to what each of them
//! sees by what was written since, so that it costs the same however many services there are. What
//! an undone transaction has added is forgotten with everything else.

use std::collections::BTreeMap;

use crate::actuator::host::Deadline;
use crate::domain::gateway::Room;
use crate::domain::id::ServiceName;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::DurationMs;
use crate::ledger::{LedgerError, ReadTxn};

/// How long a server's ledger is looked at by what was written since: there a write that began
/// earlier may be seen later. Whoever takes of the pool holds its lock and is always seen, so only
/// what others have done to the services of the pool may be seen so late.
const TRUSTED_FOR: DurationMs = DurationMs::from_secs(30);

/// The pool of one line, or of one server.
pub struct Pool {
    max: u32,
    kept: Option<Kept>,
    /// Whether `kept` is what the transaction under way sees.
    is_current: bool,
}

struct Kept {
    counts: BTreeMap<ServiceName, u64>,
    /// Wide enough for every count of every service.
    sum: u128,
    /// The newest event that is in it.
    position: u64,
    until: Deadline,
}

impl Pool {
    /// A pool of so many.
    pub const fn of(max: u32) -> Self {
        Self { max, kept: None, is_current: false }
    }

    /// A transaction has begun, which may see more than the last one.
    pub(in crate::ops) const fn begin(&mut self) {
        self.is_current = false;
    }

    /// The transaction under way is about to be committed, and everything that it has written was
    /// noted. In a file nobody else has written meanwhile, so it need not be looked at again.
    pub(in crate::ops) fn written(&mut self, read: &ReadTxn<'_>) -> Result<(), LedgerError> {
        if let Some(kept) = self.kept.as_mut().filter(|_| self.is_current && is_of_a_file(read)) {
            kept.position = read.newest_position()?;
        }
        Ok(())
    }

    /// What was noted since the last begin was undone, or nobody knows.
    pub(in crate::ops) fn forget(&mut self) {
        *self = Self::of(self.max);
    }

    /// How much room is left for a service. In a write of its own: nobody else takes of it.
    pub(in crate::ops) fn room(
        &mut self,
        read: &ReadTxn<'_>,
        service: &ServiceName,
    ) -> Result<Room, LedgerError> {
        let kept = match self.kept.take() {
            Some(kept) if self.is_current => kept,
            Some(mut kept) if !kept.is_stale(read) => {
                let newest = read.newest_position()?;
                for name in read.services_after(kept.position)? {
                    kept.note(&name, &read.service_head(&name)?);
                }
                kept.position = newest;
                kept
            }
            Some(_) | None => Kept::all(read)?,
        };
        self.is_current = true;
        let kept = self.kept.insert(kept);
        let own = kept.counts.get(service).copied().unwrap_or(0);
        // A sum that would not fit leaves no room either.
        let others = u64::try_from(kept.sum - u128::from(own)).unwrap_or(u64::MAX);
        Ok(Room { max: self.max, others })
    }

    /// A service is like this in the transaction under way.
    pub(in crate::ops) fn note(&mut self, service: &ServiceName, head: &ServiceHead) {
        if let Some(kept) = &mut self.kept {
            kept.note(service, head);
        }
    }
}

fn is_of_a_file(read: &ReadTxn<'_>) -> bool {
    read.identity().engine == "sqlite"
}

impl Kept {
    fn all(read: &ReadTxn<'_>) -> Result<Self, LedgerError> {
        let position = read.newest_position()?;
        let until = Deadline::after(TRUSTED_FOR);
        let mut kept = Self { counts: BTreeMap::new(), sum: 0, position, until };
        for (name, head) in read.service_heads()? {
            kept.note(&name, &head);
        }
        Ok(kept)
    }

    fn is_stale(&self, read: &ReadTxn<'_>) -> bool {
        !is_of_a_file(read) && self.until.is_past()
    }

    fn note(&mut self, service: &ServiceName, head: &ServiceHead) {
        let is_in = head.gateway.is_some() && head.authority.retired.is_none();
        let count = if is_in { head.gateway_replicas().get() } else { 0 };
        let before = match count {
            0 => self.counts.remove(service),
            count => self.counts.insert(service.clone(), count),
        };
        self.sum = self.sum - u128::from(before.unwrap_or(0)) + u128::from(count);
    }
}
