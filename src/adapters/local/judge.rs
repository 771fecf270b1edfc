//! What the state says to a call. Pure: reads no clock, no disk and no process.

use std::ops::RangeInclusive;

use super::state::{Entry, Mark, Outcome, Rank, State};
use super::{CLUSTER_ID, REPLICAS_MAX, RUNTIME_ID};
use crate::actuator::protocol::{
    ApplyReply, ApplyRequest, LedgerIdentity, LookupReply, LookupRequest,
};
use crate::adapters::apply_reply;
use crate::adapters::refusal::Refusal;
use crate::domain::id::{ExecutionKey, Replicas};
use crate::domain::scale::intent::TargetBinding;
use crate::domain::scale::result::{ActuationRequest, ActuationResult, Answer, Detail};

/// How the lease of a fence begins that a ledger has minted: with each acceptance, a higher token.
const MINTED: &str = "ledger:";

/// What an `apply` may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Have its effect.
    Go,
    /// Nothing: the key has ended, and this was its answer.
    Replay(Box<ApplyReply>),
    /// Nothing.
    Refuse(Refusal),
}

impl State {
    /// Whether the ledger that asks is the one whose orders are taken.
    pub(super) fn check_owner(&self, ledger: Option<&LedgerIdentity>) -> Result<(), Refusal> {
        let (Some(owner), Some(ledger)) = (&self.ledger, ledger) else { return Ok(()) };
        let refuse = |detail: String| Err(Refusal::terminal("other_ledger", detail));
        if owner.id != ledger.id {
            return refuse(format!("the target takes orders from ledger {}", owner.id));
        }
        if ledger.incarnation < owner.incarnation {
            return refuse(format!(
                "ledger {} is at incarnation {} here, the caller is a copy left behind at {}",
                owner.id, owner.incarnation, ledger.incarnation
            ));
        }
        Ok(())
    }

    /// Whether a target names the object that is here, whatever its version.
    pub(super) fn check_object(&self, target: &TargetBinding) -> Result<(), Refusal> {
        if target.cluster_id.as_str() != CLUSTER_ID || target.runtime_id.as_str() != RUNTIME_ID {
            let detail = format!("local targets are in cluster {CLUSTER_ID}, runtime {RUNTIME_ID}");
            return Err(Refusal::terminal("other_target", detail));
        }
        if target.target_uid != self.uid {
            let detail = format!("the uid of {} is {}", target.workload_id, self.uid);
            return Err(Refusal::terminal("other_target", detail));
        }
        Ok(())
    }

    /// Judges a call: whose is it, is it done already, is it too late, has the target moved.
    pub(super) fn judge(&self, apply: &ApplyRequest) -> Verdict {
        let request = &apply.request;
        let owned = self.check_owner(Some(&apply.ledger));
        if let Err(refusal) = owned.and_then(|()| self.check_object(&request.target)) {
            return Verdict::Refuse(refusal);
        }

        let entry = self.entry(&request.execution_key);
        if let Some(verdict) = entry.and_then(|entry| judge_known_key(entry, request)) {
            return verdict;
        }

        let rank = Rank::of_apply(apply);
        let mark = Mark { rank, attempt: request.lease.attempt.get() };
        if rank < self.seen || mark < self.fenced {
            let detail = format!(
                "fence {rank} attempt {} is behind {} of the newest call and {} attempt {} of the \
                 newest fence",
                mark.attempt, self.seen, self.fenced.rank, self.fenced.attempt
            );
            return Verdict::Refuse(Refusal::terminal("stale_fence", detail));
        }

        if let Some(other) = self.other_key_of(rank, apply) {
            let detail =
                format!("fence {rank} was minted for key {other}, by a copy of the ledger");
            return Verdict::Refuse(Refusal::terminal("fence_reused", detail));
        }

        if let Some(detail) = self.moved_version(apply, entry) {
            let (code, retryable) = ("precondition_moved", true);
            return Verdict::Refuse(Refusal { code, detail, retryable });
        }
        if request.desired_replicas.get() > REPLICAS_MAX {
            let detail = format!("one machine runs at most {REPLICAS_MAX} replicas of a workload");
            return Verdict::Refuse(Refusal::terminal("too_many_replicas", detail));
        }
        Verdict::Go
    }

    /// The other key that has used a fence which a ledger mints for one key only. A fence of a
    /// writer's own may stand for many keys.
    fn other_key_of(&self, rank: Rank, apply: &ApplyRequest) -> Option<&ExecutionKey> {
        let is_minted = apply.request.lease.fence.lease_id.as_str().starts_with(MINTED);
        let mut others = self.journal.iter().map(|entry| (&entry.key, entry.rank));
        let other = others.find(|(key, its)| *its == rank && **key != apply.request.execution_key);
        other.filter(|_| is_minted).map(|(key, _)| key)
    }

    fn moved_version(&self, apply: &ApplyRequest, entry: Option<&Entry>) -> Option<String> {
        let target_version = &apply.request.target.target_resource_version;
        let expected = apply.base.resource_version.as_ref().unwrap_or(target_version);
        if *expected == self.resource_version() {
            return None;
        }
        // The key's own attempts have moved it since, and nobody else.
        let own_move = entry.and_then(|entry| self.own_moves(entry)).is_some_and(|own| {
            expected.as_str().parse().is_ok_and(|version: u64| own.contains(&version))
        });
        let moved = || format!("the version is {}, expected was {expected}", self.version);
        (!own_move).then(moved)
    }

    /// The versions between the first attempt of a key and now, if only the key has moved them.
    fn own_moves(&self, entry: &Entry) -> Option<RangeInclusive<u64>> {
        match &entry.outcome {
            Outcome::Begun { version_before, version_after, .. }
            | Outcome::Finished { version_before, version_after, .. }
                if *version_after == self.version =>
            {
                Some(*version_before..=*version_after)
            }
            Outcome::Refused | Outcome::Begun { .. } | Outcome::Finished { .. } => None,
        }
    }

    /// Records that a call begins: from here on it may have had an effect.
    pub(super) fn begin(&mut self, apply: &ApplyRequest) {
        let entry = self.entry(&apply.request.execution_key);
        let own = entry.and_then(|entry| self.own_moves(entry));
        let version_before = own.map_or(self.version, |own| *own.start());
        self.version += 1;
        let (desired, version_after) = (apply.request.desired_replicas, self.version);
        let outcome = Outcome::Begun { desired, version_before, version_after };
        self.record(apply, outcome);
    }

    /// Records how a call ended.
    pub(super) fn finish(&mut self, apply: &ApplyRequest, reply: ApplyReply) {
        let desired = apply.request.desired_replicas;
        let begun = self.entry(&apply.request.execution_key).and_then(|entry| {
            let is_same = entry.attempt == apply.request.lease.attempt.get();
            match entry.outcome {
                Outcome::Begun { version_before, version_after, .. } if is_same => {
                    Some((version_before, version_after))
                }
                _ => None,
            }
        });
        let (version_before, version_after) = begun.unwrap_or((self.version, self.version));
        let reply = Box::new(reply);
        self.record(apply, Outcome::Finished { desired, version_before, version_after, reply });
    }

    fn record(&mut self, apply: &ApplyRequest, outcome: Outcome) {
        let rank = Rank::of_apply(apply);
        self.ledger = Some(apply.ledger.clone());
        self.seen = self.seen.max(rank);
        let key = apply.request.execution_key.clone();
        self.remember(Entry { key, rank, attempt: apply.request.lease.attempt.get(), outcome });
    }

    /// Raises the mark below which calls have no effect. Returns whether that changed anything.
    pub(super) fn raise_mark(&mut self, mark: Mark) -> bool {
        if mark <= self.fenced {
            return false;
        }
        self.fenced = mark;
        self.version += 1;
        true
    }

    /// What became of a key, given the count, or none while replicas are being ended. Returns
    /// whether the answer had to be recorded to stay true, too.
    pub(super) fn look_up(
        &mut self,
        request: &LookupRequest,
        settled_count: Option<u64>,
    ) -> (bool, LookupReply) {
        let key = &request.execution_key;
        let rank = Rank::of(request.epoch, request.token);
        let attempt = request.attempt.get();
        let refused = Entry { key: key.clone(), rank, attempt, outcome: Outcome::Refused };
        let Some(entry) = self.entry(key).cloned() else {
            if rank <= self.forgotten {
                return (false, LookupReply::Unknown);
            }
            self.remember(refused);
            return (true, LookupReply::Never);
        };
        match entry.outcome {
            Outcome::Refused if entry.attempt >= attempt => (false, LookupReply::Never),
            Outcome::Refused => {
                self.remember(refused);
                (true, LookupReply::Never)
            }
            Outcome::Finished { reply, .. } if reply.result.target == request.target => {
                let result = Box::new(reply.result);
                let said = result.scaled() || entry.attempt == attempt;
                (false, if said { LookupReply::Applied { result } } else { LookupReply::Unknown })
            }
            Outcome::Begun { desired, version_before, version_after }
                if entry.attempt <= attempt && settled_count == Some(desired.get()) =>
            {
                let result = found_as_wished(key, &request.target, desired);
                let reply = Box::new(ApplyReply {
                    result: result.clone(),
                    outcome_unknown: false,
                    rollback_required: false,
                    resource_version_after: None,
                });
                let outcome = Outcome::Finished { desired, version_before, version_after, reply };
                self.remember(Entry { outcome, ..entry });
                (true, LookupReply::Applied { result: Box::new(result) })
            }
            Outcome::Finished { .. } | Outcome::Begun { .. } => (false, LookupReply::Unknown),
        }
    }
}

fn judge_known_key(entry: &Entry, request: &ActuationRequest) -> Option<Verdict> {
    let attempt = request.lease.attempt.get();
    let conflict = |what: &str| {
        let detail = format!("key {} was used before with {what}", request.execution_key);
        Some(Verdict::Refuse(Refusal::terminal("key_conflict", detail)))
    };
    let late = || {
        let detail = format!(
            "attempt {attempt} of key {} is behind attempt {}",
            request.execution_key, entry.attempt
        );
        Some(Verdict::Refuse(Refusal::terminal("stale_fence", detail)))
    };
    match &entry.outcome {
        Outcome::Refused if attempt <= entry.attempt => late(),
        Outcome::Begun { desired, .. } | Outcome::Finished { desired, .. }
            if *desired != request.desired_replicas =>
        {
            conflict("another count")
        }
        Outcome::Begun { .. } if attempt < entry.attempt => late(),
        Outcome::Refused | Outcome::Begun { .. } => None,
        Outcome::Finished { reply, .. } if reply.result.target != request.target => {
            conflict("another target")
        }
        Outcome::Finished { reply, .. } => {
            let may_try_again = reply.result.is_retryable_failure();
            if may_try_again && attempt > entry.attempt {
                None
            } else if may_try_again && attempt < entry.attempt {
                late()
            } else {
                Some(Verdict::Replay(reply.clone()))
            }
        }
    }
}

fn found_as_wished(
    key: &ExecutionKey,
    target: &TargetBinding,
    desired: Replicas,
) -> ActuationResult {
    ActuationResult {
        execution_key: key.clone(),
        target: target.clone(),
        answer: Answer::Succeeded {
            observed_replicas: desired,
            retryable: false,
            error_code: None,
        },
        detail: Detail::cut("the call died; its count was found as wished"),
        actuator_operation_id: None,
    }
}

/// The answer of a call that ended with the wished count.
pub(super) fn succeeded(apply: &ApplyRequest, state: &State, detail: &str) -> ApplyReply {
    let observed_replicas = apply.request.desired_replicas;
    let answer = Answer::Succeeded { observed_replicas, retryable: false, error_code: None };
    let reply = apply_reply(&apply.request, answer, detail);
    ApplyReply { resource_version_after: Some(state.resource_version()), ..reply }
}
