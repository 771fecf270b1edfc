//! The rows of declared capabilities: each tries what `docs/actuator-protocol.md` says of one.

use super::super::error::OpError;
use super::probe::{
    Probe, Seen, Step, Trouble, attempt, broken, ledger_of_checks, token, unknown_text,
};
use super::rows::{Needs, ONE, Rows, TWO};
use crate::actuator::protocol::{
    self, ApplyAnswer, DiscoverRequest, EvidenceRequest, FenceRequest, LookupReply, LookupRequest,
    Request,
};
use crate::domain::count::counted;
use crate::domain::id::Replicas;
use crate::domain::scale::result::ActuationResult;
use crate::domain::scale::service::Capabilities;

/// The token of the newest call while the promises are tried, and of the fence after them.
const TOKEN: u64 = 2;
const FENCED_TOKEN: u64 = 3;

impl Rows {
    /// Every row of a capability. Begins at two replicas and ends at one, or near it.
    pub(super) fn promises(&mut self, can: Capabilities) -> Result<(), OpError> {
        let dedupes = Needs::Effect(can.deduplicates_execution_key);
        self.row("deduplicates_execution_key", dedupes, Self::deduplicates)?;
        self.row("lookup_applied", Needs::Effect(can.lookup), Self::lookup_applied)?;
        self.row("rejects_stale_lease", Needs::Effect(can.rejects_stale_lease), Self::stale)?;
        self.row("conditional_on_version", Needs::Effect(can.conditional_on_version), Self::moved)?;
        self.row("lookup_never", Needs::Effect(can.lookup), Self::lookup_never)?;
        self.row("fence", Needs::Effect(can.fence), Self::fence)?;
        self.row("evidence", Needs::Effect(can.evidence), Self::evidence)
    }

    /// The workload of the check is among what could be scaled, as `inspect` finds it.
    pub(super) fn discover(&mut self) -> Seen {
        let asked = DiscoverRequest { ledger: Some(ledger_of_checks()), ..Default::default() };
        let request = Request::Discover(asked.clone()).to_json();
        let mut lists = Vec::new();
        for request in [request.clone(), Probe::with_future_word(&request)] {
            let (bytes, exit) = self.probe.call("discover", &request)?;
            let list = protocol::read_discovery(&bytes, &asked, exit)
                .or_else(|error| broken(format!("discover: {error}")))?;
            lists.push(list);
        }
        let Some(found) = self.probe.standing()? else {
            return Ok(format!("{} listed", counted(lists[0].found.len() as u64, "target")));
        };
        for list in &lists {
            match list.found.iter().find(|one| one.target.target_uid == found.target.target_uid) {
                Some(one)
                    if one.target == found.target
                        && one.replicas.is_none_or(|count| count == found.replicas) => {}
                Some(one) => {
                    return broken(format!(
                        "it lists {:?}, inspect finds {:?}",
                        one.target, found.target
                    ));
                }
                None if list.more => {}
                None => return broken("the workload that inspect finds is not listed"),
            }
        }
        Ok(format!("{} listed", counted(lists[0].found.len() as u64, "target")))
    }

    /// The first key again, after another key has changed the count: no effect, the same answer.
    fn deduplicates(&mut self) -> Seen {
        for attempt in [1, 2] {
            let again = Step { attempt, ..ONE };
            let before = self.probe.standing()?;
            let answer = self.probe.apply(&again)?;
            let after = self.probe.standing()?;
            if let (Some(before), Some(after)) = (before, after)
                && before.replicas != after.replicas
            {
                let (from, to) = (before.replicas, after.replicas);
                return broken(format!("the same key had a second effect: {from} → {to}"));
            }
            match answer {
                ApplyAnswer::Known { result, .. }
                    if Some(&*result) == self.first_answer.as_ref() => {}
                ApplyAnswer::Known { result, .. } => {
                    return broken(format!("the same key has another answer: {}", said(&result)));
                }
                ApplyAnswer::Unknown { why, detail, .. } => {
                    return broken(unknown_text(why, detail.as_str()));
                }
            }
        }
        Ok("the same answer, and no second effect".to_owned())
    }

    fn lookup_applied(&mut self) -> Seen {
        match self.lookup(&TWO)? {
            LookupReply::Applied { result } if Some(&*result) == self.second_answer.as_ref() => {
                Ok(format!("applied: {}", said(&result)))
            }
            LookupReply::Applied { result } => {
                broken(format!("it tells another result than it answered: {}", said(&result)))
            }
            LookupReply::Never => broken("it says never of a key that had its effect"),
            LookupReply::Unknown => Ok("unknown, which a lookup may say".to_owned()),
        }
    }

    fn stale(&mut self) -> Seen {
        self.takes_effect(&Step::new("newer", TOKEN, 1, 1))?;
        self.is_refused(&Step::new("stale", TOKEN - 1, 1, 2))
    }

    fn moved(&mut self) -> Seen {
        let Some(older) = self.older_version() else {
            return broken("the version does not move with the count, so nothing depends on it");
        };
        let count = self.count_or(1)?;
        let moved = Step { base: Some(older), ..Step::new("moved", TOKEN, 1, other(count)) };
        self.is_refused(&moved)
    }

    /// `never` speaks of the attempt that was asked, for all time; the next one is still allowed.
    fn lookup_never(&mut self) -> Seen {
        let count = self.count_or(1)?;
        let late = Step::new("late", TOKEN, 1, other(count));
        match self.lookup(&late)? {
            LookupReply::Never => {}
            LookupReply::Unknown => return Ok("unknown, which a lookup may say".to_owned()),
            LookupReply::Applied { .. } => {
                return broken("it says applied of a key that it never saw");
            }
        }
        let refused = self.is_refused(&late).map_err(|trouble| of("after never", trouble))?;
        let next = Step { attempt: 2, ..late };
        self.takes_effect(&next).map_err(|trouble| of("the next attempt after never", trouble))?;
        Ok(format!("never: {refused}; the next attempt works"))
    }

    fn fence(&mut self) -> Seen {
        let count = self.count_or(1)?;
        let below = Step::new("fenced", FENCED_TOKEN, 1, other(count));
        let request = Request::Fence(Box::new(FenceRequest {
            ledger: Some(ledger_of_checks()),
            target: self.probe.target.clone(),
            epoch: self.probe.epoch(),
            token: token(FENCED_TOKEN),
            attempt: attempt(2),
        }));
        let (bytes, exit) = self.probe.call("fence", &request.to_json())?;
        let reply = protocol::read_fence(&bytes, &self.probe.target, exit)
            .or_else(|error| broken(format!("fence: {error}")))?;
        if !reply.fenced {
            return broken("it declares fence, and answers fenced false");
        }
        if let Some(reading) = reply.reading.filter(|reading| reading.replicas != count) {
            return broken(format!("its reading says {}, inspect {count}", reading.replicas));
        }
        let refused = self.is_refused(&below).map_err(|trouble| of("below the mark", trouble))?;
        let at_mark = Step { attempt: 2, ..below };
        self.takes_effect(&at_mark).map_err(|trouble| of("at the mark", trouble))?;
        Ok(format!("below the mark {refused}; at the mark it works"))
    }

    fn evidence(&mut self) -> Seen {
        let found = self.probe.standing()?;
        let current = found.as_ref().map(|found| found.replicas);
        let target = found.map_or_else(|| self.probe.target.clone(), |found| found.target);
        let version = target.target_resource_version.clone();
        let desired = Replicas::MIN;
        let request = Request::Evidence(Box::new(EvidenceRequest { target, current, desired }));
        let (bytes, exit) = self.probe.call("evidence", &request.to_json())?;
        let evidence = protocol::read_evidence(&bytes, exit)
            .or_else(|error| broken(format!("evidence: {error}")))?;
        if current.is_some_and(|current| current != evidence.observed_replicas) {
            return broken(format!("it observed {}", evidence.observed_replicas));
        }
        if evidence.remaining_replicas != desired || evidence.resource_version != version {
            return broken(format!(
                "it speaks of {} remaining at version {}, asked was {desired} at {version}",
                evidence.remaining_replicas, evidence.resource_version
            ));
        }
        let (drained, stabilized) = (evidence.drained, evidence.stabilized);
        Ok(format!("drained {drained}, stabilized {stabilized}"))
    }

    fn lookup(&mut self, step: &Step) -> Result<LookupReply, Trouble> {
        let key = self.probe.key(step);
        let target = self.probe.target.clone();
        let request = Request::Lookup(Box::new(LookupRequest {
            ledger: Some(ledger_of_checks()),
            execution_key: key.clone(),
            target: target.clone(),
            epoch: self.probe.epoch(),
            token: token(step.token),
            attempt: attempt(step.attempt),
        }));
        let (bytes, exit) = self.probe.call("lookup", &request.to_json())?;
        protocol::read_lookup(&bytes, &key, &target, exit)
            .or_else(|error| broken(format!("lookup: {error}")))
    }

    /// The count that is there; the given one where nobody can read it.
    fn count_or(&mut self, believed: u32) -> Result<Replicas, Trouble> {
        let found = self.probe.standing()?;
        Ok(found.map_or_else(|| Replicas::from(believed), |found| found.replicas))
    }
}

/// A count that is another one, so that an effect would be seen.
fn other(count: Replicas) -> u32 {
    if count == Replicas::from(1) { 2 } else { 1 }
}

fn said(result: &ActuationResult) -> String {
    match (result.observed_replicas(), result.error_code()) {
        (_, Some(code)) if !result.scaled() => format!("failed {code}"),
        (Some(count), _) => format!("succeeded with {count}"),
        (None, _) => "failed".to_owned(),
    }
}

fn of(when: &str, trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Broken(seen) => Trouble::Broken(format!("{when}: {seen}")),
        Trouble::Ends(error) => Trouble::Ends(error),
    }
}
