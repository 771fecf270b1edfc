//! Which chains a write reads for its decision or adds to, and the order in which they are locked.

use std::collections::BTreeSet;

use super::sql::Lock;
use super::stream::Stream;
use crate::domain::id::{ExecutionKey, ServiceName};

/// The chains of a write. Writes of different services do not wait for each other; a change of the
/// registry or of the policy waits for all writes and lets none in: each of them reads both.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one more lock, or not")]
pub struct Reach {
    alone: BTreeSet<Stream>,
    keys: BTreeSet<ExecutionKey>,
    reads_settings: bool,
    is_everything: bool,
    counts: bool,
    pooled: bool,
}

/// What a write locks alone that is decided on how much was changed lately: two such writes of two
/// services would each not see the other's.
const CHANGES: &str = "changes";

/// What a write locks alone that must find room in the gateway's pool.
const POOL: &str = "pool:gateway";

impl Reach {
    /// A write of one service.
    pub fn service(name: &ServiceName) -> Self {
        Self::services([name])
    }

    /// A write of several services.
    pub fn services<'a>(names: impl IntoIterator<Item = &'a ServiceName>) -> Self {
        let alone = names.into_iter().cloned().map(Stream::Service).collect();
        Self { alone, reads_settings: true, ..Self::default() }
    }

    /// A write of one service that is decided on what all others have: one at a time.
    pub fn registration(name: &ServiceName) -> Self {
        let alone = [Stream::Registry, Stream::Service(name.clone())].into();
        Self { alone, ..Self::services([]) }
    }

    /// The same write, of one service more.
    #[must_use]
    pub fn and_service(mut self, name: &ServiceName) -> Self {
        self.alone.insert(Stream::Service(name.clone()));
        self
    }

    /// A change of the ledger or of its actuators.
    pub fn registry() -> Self {
        Self { alone: [Stream::Registry].into(), ..Self::services([]) }
    }

    /// A change of the policy.
    pub fn policy() -> Self {
        Self { alone: [Stream::Policy].into(), ..Self::services([]) }
    }

    /// A change of both.
    pub fn settings() -> Self {
        Self { alone: [Stream::Registry, Stream::Policy].into(), ..Self::services([]) }
    }

    /// A change of the placement, and of the services that it moves: nobody else writes a service
    /// meanwhile, because every such write reads the placement.
    pub fn placement() -> Self {
        Self { alone: [Stream::Placement].into(), ..Self::services([]) }
    }

    /// A note of a refusal, which nobody decides on.
    pub fn refusals() -> Self {
        Self { alone: [Stream::Refusals].into(), ..Self::default() }
    }

    /// The ledger as a whole: nobody else writes anything meanwhile, because every write reads the
    /// settings or is a refusal.
    pub(super) fn everything() -> Self {
        let alone = [Stream::Registry, Stream::Policy, Stream::Refusals].into();
        Self { alone, reads_settings: true, is_everything: true, ..Self::default() }
    }

    /// The same write, decided on how much was changed lately in the whole ledger, too.
    #[must_use]
    pub fn counting(self) -> Self {
        Self { counts: true, ..self }
    }

    /// The same write, decided on what all services of the gateway's pool have together: one such
    /// write at a time.
    #[must_use]
    pub fn pooled(self) -> Self {
        Self { pooled: true, ..self }
    }

    /// The same write, which may be the first one under these keys: one of two services at a time,
    /// and whoever finds no such key can wait for whoever may be about to record it.
    #[must_use]
    pub fn about<'a>(mut self, keys: impl IntoIterator<Item = &'a ExecutionKey>) -> Self {
        self.keys.extend(keys.into_iter().cloned());
        self
    }

    /// Whether nobody else is decided on how much was changed lately meanwhile.
    pub(super) const fn counts(&self) -> bool {
        self.counts || self.is_everything
    }

    /// Whether the write may add to a chain.
    pub(super) fn holds(&self, stream: &Stream) -> bool {
        let is_of_service = matches!(stream, Stream::Service(_));
        self.is_everything
            || self.alone.contains(stream)
            || is_of_service && self.alone.contains(&Stream::Placement)
    }

    /// The services among the chains, with the names of these.
    pub(super) fn named_services(&self) -> Vec<(&ServiceName, String)> {
        let named = self.alone.iter().filter_map(|stream| match stream {
            Stream::Service(name) => Some((name, stream.to_string())),
            Stream::Registry | Stream::Policy | Stream::Placement | Stream::Refusals => None,
        });
        named.collect()
    }

    /// The locks, in their order.
    pub(super) fn locks(&self) -> Vec<Lock> {
        let lock =
            |stream: &Stream, alone| Lock { rank: rank(stream), name: stream.to_string(), alone };
        let settings = [Stream::Registry, Stream::Policy, Stream::Placement];
        let shared = settings.iter().filter(|stream| self.reads_settings && !self.holds(stream));
        let mut locks: Vec<Lock> = shared.map(|stream| lock(stream, false)).collect();
        locks.extend(self.alone.iter().map(|stream| lock(stream, true)));
        let changes = Lock { rank: CHANGES_RANK, name: CHANGES.to_owned(), alone: true };
        locks.extend(self.counts.then_some(changes));
        let pool = Lock { rank: POOL_RANK, name: POOL.to_owned(), alone: true };
        locks.extend(self.pooled.then_some(pool));
        locks.extend(self.keys.iter().map(of_key));
        locks.sort();
        locks
    }
}

/// After the policy, which says whether anybody counts, and before every service.
const CHANGES_RANK: u8 = 3;

/// What is locked for a key.
fn of_key(key: &ExecutionKey) -> Lock {
    Lock { rank: KEY_RANK, name: format!("key:{key}"), alone: true }
}

/// Cells and environments come before the pool and the services that are in them.
const PLACEMENT_RANK: u8 = 4;

/// The pool comes right before the services that share it.
const POOL_RANK: u8 = 4;

/// After the services, which are told by name and not by what is found under a key.
const KEY_RANK: u8 = 7;

const fn rank(stream: &Stream) -> u8 {
    match stream {
        Stream::Registry => 0,
        Stream::Policy => 1,
        Stream::Placement => PLACEMENT_RANK,
        Stream::Service(_) => 5,
        Stream::Refusals => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(reach: &Reach) -> Vec<String> {
        let mode = |lock: &Lock| if lock.alone { "alone" } else { "shared" };
        reach.locks().iter().map(|lock| format!("{} {}", lock.name, mode(lock))).collect()
    }

    #[test]
    fn locks_are_taken_in_one_order() {
        let (a, b): (ServiceName, ServiceName) = ("a".parse().unwrap(), "b".parse().unwrap());
        let both = [
            "registry shared",
            "policy shared",
            "placement shared",
            "service:a alone",
            "service:b alone",
        ];
        assert_eq!(shown(&Reach::services([&b, &a])), both);
        assert_eq!(
            shown(&Reach::registry()),
            ["registry alone", "policy shared", "placement shared"]
        );
        assert_eq!(
            shown(&Reach::policy()),
            ["registry shared", "policy alone", "placement shared"]
        );
        assert_eq!(shown(&Reach::refusals()), ["refusals alone"]);
        let placed = ["registry shared", "policy shared", "placement alone"];
        assert_eq!(shown(&Reach::placement()), placed);
        let service = Stream::Service(a.clone());
        assert!(Reach::placement().holds(&service), "whoever writes it reads the placement");
        assert!(!Reach::settings().holds(&service) && !Reach::service(&b).holds(&service));
        let counting = [
            "registry shared",
            "policy shared",
            "changes alone",
            "placement shared",
            "service:a alone",
        ];
        assert_eq!(shown(&Reach::service(&a).counting()), counting);
        let (first, second): (ExecutionKey, ExecutionKey) =
            ("k1".parse().unwrap(), "k2".parse().unwrap());
        let pooled = [
            "registry shared",
            "policy shared",
            "placement shared",
            "pool:gateway alone",
            "service:a alone",
        ];
        assert_eq!(shown(&Reach::service(&a).pooled()), pooled);
        let keyed = [
            "registry shared",
            "policy shared",
            "placement shared",
            "service:a alone",
            "key:k1 alone",
            "key:k2 alone",
        ];
        assert_eq!(shown(&Reach::service(&a).about([&second, &first])), keyed);
        let registers = ["registry alone", "policy shared", "placement shared", "service:a alone"];
        assert_eq!(shown(&Reach::registration(&a)), registers);
        let everything = ["registry alone", "policy alone", "refusals alone"];
        assert_eq!(shown(&Reach::everything()), everything);
    }
}
