//! Whether a deployment may go on: what `gate` says of a service, from its records and from what is
//! known of its target.
//!
//! Owns the order in which that is asked. What a person must look at comes before what time will
//! bring, and what is recorded before what was read: a count that happens to be right proves
//! nothing of a call that nobody knows the end of. Pure: reads nothing, records nothing.

use super::execution::{Execution, FailureCause, Phase};
use super::observation::Reading;
use super::rejection::Class;
use super::service::{Binding, RegisteredMode, Registration};
use super::state::ServiceHead;
use crate::domain::id::{IntentRevision, Replicas};
use crate::domain::time::{DurationMs, Timestamp};

/// What whoever would go on asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// The count that must be wished; whatever is wished where none is named.
    pub count: Option<Replicas>,
    /// Whether all of it must be ready.
    pub ready: bool,
    /// Whether every broken glass must have been reviewed.
    pub reviewed: bool,
}

/// What is known of a target's count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// It was seen so.
    Seen(Seen),
    /// What was seen of it is older than asked.
    TooOld {
        /// How old.
        age: DurationMs,
        /// How old it may be.
        age_max: DurationMs,
    },
    /// It was not seen.
    Unseen {
        /// Why.
        why: String,
    },
}

/// A count that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The count.
    pub replicas: Replicas,
    /// How many were ready, where the target says so.
    pub ready: Option<Replicas>,
    /// When.
    pub at: Timestamp,
}

/// The newest that a head says of the target: a reading, or what a command saw before it, or after
/// a call of ours by its result.
pub fn newest_reading(head: &ServiceHead) -> Option<Reading> {
    let bound = head.binding.as_ref().and_then(|binding| {
        Some(Reading {
            began_at: binding.read_at,
            read_at: binding.read_at,
            target_uid: binding.target_uid.clone(),
            target_resource_version: binding.target_resource_version.clone(),
            generation: binding.generation,
            replicas: binding.replicas?,
            ready_replicas: binding.ready_replicas,
        })
    });
    // Of the same instant the reading says more.
    match (head.newest_reading.clone(), bound) {
        (Some(reading), Some(bound)) => {
            Some(if bound.read_at > reading.read_at { bound } else { reading })
        }
        (reading, bound) => reading.or(bound),
    }
}

impl Seen {
    /// What the newest reading says.
    pub fn of(head: &ServiceHead) -> Option<Self> {
        newest_reading(head).map(|reading| Self {
            replicas: reading.replicas,
            ready: reading.ready_replicas,
            at: reading.read_at,
        })
    }
}

impl Sight {
    /// What a head says of its target, if that is not older than asked.
    pub fn recorded(head: &ServiceHead, age_max: DurationMs, now: Timestamp) -> Self {
        let is_outdated = |binding: &Binding| binding.outdated.count;
        if head.binding.as_ref().is_some_and(is_outdated) {
            let why = "what was read is from before a call that may have changed it".to_owned();
            return Self::Unseen { why };
        }
        match Seen::of(head) {
            Some(seen) if now.since(seen.at) > age_max => {
                Self::TooOld { age: now.since(seen.at), age_max }
            }
            Some(seen) => Self::Seen(seen),
            None => Self::Unseen { why: "nobody has read it".to_owned() },
        }
    }
}

/// Whether a service lets a deployment go on, and what keeps it from that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passage {
    /// It does.
    Open,
    /// Somebody else owns the count: nothing here says what it should be.
    External {
        /// Who, where that is known.
        owner: Option<String>,
    },
    /// Nobody knows what became of a call.
    Unknown {
        /// Of which wish.
        revision: IntentRevision,
    },
    /// Nobody has wished a count.
    NoWish,
    /// Another count is wished.
    OtherWish {
        /// Which.
        wanted: Replicas,
    },
    /// The wish waits for a colleague.
    Proposed {
        /// Which wish.
        revision: IntentRevision,
        /// Until when somebody may answer.
        until: Timestamp,
    },
    /// The wish is recorded, and not carried out yet.
    Waiting {
        /// Which wish.
        revision: IntentRevision,
        /// Where it stands.
        state: &'static str,
    },
    /// The wish has failed, and may be tried again.
    Retrying {
        /// Which wish.
        revision: IntentRevision,
        /// When, at the earliest.
        retry_at: Timestamp,
    },
    /// The wish was carried out, and nobody has confirmed it yet.
    Unconfirmed {
        /// Which wish.
        revision: IntentRevision,
    },
    /// The wish has failed for good.
    Failed {
        /// Which wish.
        revision: IntentRevision,
        /// Whether it has left the target another than it was.
        changed: bool,
    },
    /// The target could not be seen, or too long ago.
    Unseen {
        /// Why.
        why: String,
    },
    /// The target has another count than is wished.
    Differs {
        /// What was seen.
        replicas: Replicas,
        /// What is wished.
        wanted: Replicas,
    },
    /// The count is right, and not all of it is ready.
    NotReady {
        /// How many are.
        ready: Replicas,
        /// How many are wished.
        wanted: Replicas,
    },
    /// The count is right, and the target does not say how many are ready.
    ReadyUnknown,
    /// Broken glass that nobody has reviewed.
    Unreviewed {
        /// How many.
        count: usize,
    },
}

impl Passage {
    /// The word for machines.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::External { .. } => "external_owner",
            Self::Unknown { .. } => "unknown",
            Self::NoWish => "no_wish",
            Self::OtherWish { .. } => "other_wish",
            Self::Proposed { .. } => "proposed",
            Self::Waiting { .. } => "waiting",
            Self::Retrying { .. } => "retrying",
            Self::Unconfirmed { .. } => "unconfirmed",
            Self::Failed { .. } => "failed",
            Self::Unseen { .. } => "unseen",
            Self::Differs { .. } => "differs",
            Self::NotReady { .. } => "not_ready",
            Self::ReadyUnknown => "ready_unknown",
            Self::Unreviewed { .. } => "unreviewed",
        }
    }

    /// The class of the answer; none where it is open, and where a person must look at it.
    pub const fn class(&self) -> Option<Class> {
        match self {
            Self::Open | Self::Unreviewed { .. } => None,
            Self::External { .. } => Some(Class::ExternalOwner),
            Self::Unknown { .. } => Some(Class::Unknown),
            Self::NoWish | Self::OtherWish { .. } => Some(Class::Conflict),
            Self::Proposed { .. } => Some(Class::ApprovalRequired),
            Self::Waiting { .. }
            | Self::Retrying { .. }
            | Self::Unconfirmed { .. }
            | Self::NotReady { .. } => Some(Class::NotYet),
            Self::Failed { changed: false, .. } => Some(Class::Failed),
            Self::Failed { changed: true, .. } | Self::Differs { .. } => Some(Class::Diverged),
            Self::Unseen { .. } | Self::ReadyUnknown => Some(Class::FactUnknown),
        }
    }

    /// Whether time alone may open it: whoever waits looks again.
    pub fn may_open(&self) -> bool {
        self.class() == Some(Class::NotYet)
    }
}

/// The count that is wished of a service: by the newest wish that was not taken back, else by the
/// setting of a static service that nobody has wished otherwise.
pub fn wanted(head: &ServiceHead) -> Option<Replicas> {
    let declared = head.registration.as_ref().and_then(|it| it.declared_replicas);
    head.wanted.as_ref().map(|wanted| wanted.desired_replicas).or(declared)
}

/// Whether a service lets a deployment go on. `live` are its wishes that are under way and the
/// wanted one; `is_lost` says of one under a call whether that has ended and nobody knows how.
pub fn passage(
    head: &ServiceHead,
    live: &[Execution],
    is_lost: impl Fn(&Execution) -> bool,
    sight: &Sight,
    demand: Demand,
) -> Passage {
    let Some(registration) = &head.registration else { return Passage::NoWish };
    if matches!(registration.mode, RegisteredMode::ExternalHpa | RegisteredMode::ExternalKeda) {
        return Passage::External { owner: registration.owner.clone() };
    }
    let is_unknown = |execution: &&Execution| {
        matches!(execution.phase, Phase::RecoveryPending { .. })
            || matches!(execution.phase, Phase::Started { .. }) && is_lost(execution)
    };
    if let Some(unknown) = live.iter().find(is_unknown) {
        return Passage::Unknown { revision: unknown.revision() };
    }
    let wanted = match (wanted(head), demand.count) {
        (Some(wanted), None) => wanted,
        (Some(wanted), Some(count)) if wanted == count => wanted,
        (found, _) => return proposed(live, demand).unwrap_or_else(|| unwished(found)),
    };
    let of_wish = head.wanted.as_ref().and_then(|wanted| {
        let own = live.iter().find(|execution| *execution.key() == wanted.execution_key)?;
        on_the_way(own, registration)
    });
    if let Some(closed) = of_wish {
        return closed;
    }
    if let Some(closed) = seen(sight, wanted, registration, demand) {
        return closed;
    }
    match head.authorizations.len() {
        count @ 1.. if demand.reviewed => Passage::Unreviewed { count },
        _ => Passage::Open,
    }
}

const fn unwished(found: Option<Replicas>) -> Passage {
    match found {
        Some(wanted) => Passage::OtherWish { wanted },
        None => Passage::NoWish,
    }
}

/// The wish of that count that waits for a colleague.
fn proposed(live: &[Execution], demand: Demand) -> Option<Passage> {
    let asked =
        |execution: &&Execution| demand.count.is_none_or(|count| count == execution.desired());
    live.iter().rev().filter(asked).find_map(|execution| {
        let Phase::Proposed { until } = execution.phase else { return None };
        Some(Passage::Proposed { revision: execution.revision(), until })
    })
}

/// What keeps the wanted wish from being done; none where it is.
fn on_the_way(execution: &Execution, registration: &Registration) -> Option<Passage> {
    let revision = execution.revision();
    match &execution.phase {
        // The count that is wished is all there is of it.
        Phase::Accepted if registration.is_desired_state() => None,
        Phase::Accepted | Phase::Started { .. } => {
            Some(Passage::Waiting { revision, state: execution.phase.as_str() })
        }
        Phase::Failed { retry_at } => Some(Passage::Retrying { revision, retry_at: *retry_at }),
        Phase::Succeeded | Phase::Observed => match &execution.last_reading {
            // Waiting for its confirmation helps nothing: somebody has changed the count since.
            Some(reading) if execution.drift && reading.replicas != execution.desired() => {
                let wanted = execution.desired();
                Some(Passage::Differs { replicas: reading.replicas, wanted })
            }
            Some(_) | None => Some(Passage::Unconfirmed { revision }),
        },
        Phase::Verified { cause: Some(FailureCause::Mismatch) } => {
            Some(Passage::Failed { revision, changed: true })
        }
        Phase::Verified { cause: Some(_) } => {
            Some(Passage::Failed { revision, changed: execution.failed_and_changed() })
        }
        Phase::Verified { cause: None }
        | Phase::Proposed { .. }
        | Phase::RecoveryPending { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => None,
    }
}

/// What keeps a target that was seen from being as wished; none where it is.
fn seen(
    sight: &Sight,
    wanted: Replicas,
    registration: &Registration,
    demand: Demand,
) -> Option<Passage> {
    if registration.is_desired_state() && !demand.ready {
        return None;
    }
    let seen = match sight {
        Sight::Seen(seen) => seen,
        Sight::TooOld { age, age_max } => {
            let why = format!("it was read {age} ago, and {age_max} is asked");
            return Some(Passage::Unseen { why });
        }
        Sight::Unseen { why } => return Some(Passage::Unseen { why: why.clone() }),
    };
    if seen.replicas != wanted {
        return Some(Passage::Differs { replicas: seen.replicas, wanted });
    }
    match seen.ready {
        _ if !demand.ready => None,
        None => Some(Passage::ReadyUnknown),
        Some(ready) if ready < wanted => Some(Passage::NotReady { ready, wanted }),
        Some(_) => None,
    }
}
