//! Which chains a write reads for its decision or adds to, and the order in which they are locked.

use std::collections::BTreeSet;

use super::sql::Lock;
use super::stream::Stream;
use crate::domain::id::ServiceName;

/// The chains of a write. Writes of different services do not wait for each other; a change of the
/// registry or of the policy waits for all writes and lets none in: each of them reads both.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    alone: BTreeSet<Stream>,
    reads_settings: bool,
    is_everything: bool,
}

impl Reach {
    /// A write of one service.
    pub fn service(name: &ServiceName) -> Self {
        Self::services([name])
    }

    /// A write of several services.
    pub fn services<'a>(names: impl IntoIterator<Item = &'a ServiceName>) -> Self {
        let alone = names.into_iter().cloned().map(Stream::Service).collect();
        Self { alone, reads_settings: true, is_everything: false }
    }

    /// A write of one service that is decided on what all others have: one at a time.
    pub fn registration(name: &ServiceName) -> Self {
        let alone = [Stream::Registry, Stream::Service(name.clone())].into();
        Self { alone, ..Self::services([]) }
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

    /// A note of a refusal, which nobody decides on.
    pub fn refusals() -> Self {
        Self { alone: [Stream::Refusals].into(), ..Self::default() }
    }

    /// The ledger as a whole: nobody else writes anything meanwhile, because every write reads the
    /// settings or is a refusal.
    pub(super) fn everything() -> Self {
        let alone = [Stream::Registry, Stream::Policy, Stream::Refusals].into();
        Self { alone, reads_settings: true, is_everything: true }
    }

    /// Whether the write may add to a chain.
    pub(super) fn holds(&self, stream: &Stream) -> bool {
        self.is_everything || self.alone.contains(stream)
    }

    /// The services among the chains, with the names of these.
    pub(super) fn named_services(&self) -> Vec<(&ServiceName, String)> {
        let named = self.alone.iter().filter_map(|stream| match stream {
            Stream::Service(name) => Some((name, stream.to_string())),
            Stream::Registry | Stream::Policy | Stream::Refusals => None,
        });
        named.collect()
    }

    /// The locks, in their order.
    pub(super) fn locks(&self) -> Vec<Lock> {
        let lock =
            |stream: &Stream, alone| Lock { rank: rank(stream), stream: stream.clone(), alone };
        let settings = [Stream::Registry, Stream::Policy];
        let shared = settings.iter().filter(|stream| self.reads_settings && !self.holds(stream));
        let mut locks: Vec<Lock> = shared.map(|stream| lock(stream, false)).collect();
        locks.extend(self.alone.iter().map(|stream| lock(stream, true)));
        locks.sort();
        locks
    }
}

const fn rank(stream: &Stream) -> u8 {
    match stream {
        Stream::Registry => 0,
        Stream::Policy => 1,
        Stream::Service(_) => 5,
        Stream::Refusals => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(reach: &Reach) -> Vec<String> {
        let mode = |lock: &Lock| if lock.alone { "alone" } else { "shared" };
        reach.locks().iter().map(|lock| format!("{} {}", lock.stream, mode(lock))).collect()
    }

    #[test]
    fn locks_are_taken_in_one_order() {
        let (a, b): (ServiceName, ServiceName) = ("a".parse().unwrap(), "b".parse().unwrap());
        let both = ["registry shared", "policy shared", "service:a alone", "service:b alone"];
        assert_eq!(shown(&Reach::services([&b, &a])), both);
        assert_eq!(shown(&Reach::registry()), ["registry alone", "policy shared"]);
        assert_eq!(shown(&Reach::policy()), ["registry shared", "policy alone"]);
        assert_eq!(shown(&Reach::refusals()), ["refusals alone"]);
        let registers = ["registry alone", "policy shared", "service:a alone"];
        assert_eq!(shown(&Reach::registration(&a)), registers);
        let everything = ["registry alone", "policy alone", "refusals alone"];
        assert_eq!(shown(&Reach::everything()), everything);
    }
}
