//! The course of one service's count: what was wished and read, from when on, by whom and why.
//!
//! Owns how events become steps. Reads nothing and draws nothing. It is told each moment in the
//! order of the ledger, all from the first on, and keeps of those before its span only what still
//! holds when that begins: memory goes with what is shown.

mod story;

use std::collections::BTreeMap;

use serde::Serialize;

pub use story::{Glass, Refused, Story, Turn};

use super::event::EventBody;
use super::observation::ReadingVerdict;
use super::provenance::Provenance;
use super::result::ResultState;
use super::service::Binding;
use crate::domain::id::{ExecutionKey, IntentRevision, Replicas};
use crate::domain::registry::RefusalBody;
use crate::domain::time::Timestamp;

/// From when on a count was so; none where no count was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Level {
    /// From this instant on.
    pub at: Timestamp,
    /// The count.
    pub replicas: Option<Replicas>,
}

/// A time in which something was so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// From this instant on.
    pub from: Timestamp,
    /// Before this instant; none where it still is.
    pub until: Option<Timestamp>,
    /// The count that was read, where it is about one.
    pub replicas: Option<Replicas>,
}

/// What happened to a service in a span of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// What was wished; the first may be from before the span.
    pub wished: Vec<Level>,
    /// What was read; the first may be from before the span.
    pub read: Vec<Level>,
    /// When another count was read than the wished one, which had been carried out.
    pub differs: Vec<Stretch>,
    /// When nobody knew what had become of a call.
    pub unknown: Vec<Stretch>,
    /// Every intent of which something happened in the span, by number.
    pub intents: Vec<Story>,
    /// Every refusal in the span.
    pub refusals: Vec<Refused>,
    /// Every broken glass of which something happened in the span, by age.
    pub broken_glass: Vec<Glass>,
}

/// What happened at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Something to the service.
    Happened(Box<EventBody>),
    /// A command about it changed nothing.
    Refused(Box<RefusalBody>),
}

/// One event with its time and its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: Provenance,
    /// What.
    pub what: What,
}

/// What is kept of an intent to say which count is wished.
#[derive(Debug, Clone, Copy)]
struct Wish {
    revision: IntentRevision,
    desired: Replicas,
    /// Whether its call has succeeded, so that a reading may contradict it.
    is_done: bool,
    has_started: bool,
}

/// Makes a timeline of moments.
#[derive(Debug)]
pub struct Course {
    since: Timestamp,
    /// What may still be wished: accepted, not simulated, and not ended before its start.
    wishes: BTreeMap<ExecutionKey, Wish>,
    stories: BTreeMap<ExecutionKey, Story>,
    unknown: BTreeMap<ExecutionKey, Stretch>,
    timeline: Timeline,
}

impl Course {
    /// Of the moments from here on.
    pub fn new(since: Timestamp) -> Self {
        Self {
            since,
            wishes: BTreeMap::new(),
            stories: BTreeMap::new(),
            unknown: BTreeMap::new(),
            timeline: Timeline::default(),
        }
    }

    /// The next moment.
    pub fn take(&mut self, moment: Moment) {
        let Moment { at, by, what } = moment;
        match what {
            What::Refused(body) => {
                if at >= self.since {
                    self.timeline.refusals.push(Refused::of(at, by, *body));
                }
            }
            What::Happened(body) => {
                self.tell(at, &by, &body);
                self.follow(at, &body);
                self.level(at);
            }
        }
    }

    /// The timeline up to here.
    pub fn end(mut self) -> Timeline {
        let open = self.unknown.into_values();
        self.timeline.unknown.extend(open);
        self.timeline.unknown.sort_by_key(|stretch| stretch.from);
        let mut intents: Vec<Story> =
            self.stories.into_values().filter(|story| story.last_at() >= self.since).collect();
        intents.sort_by_key(|story| (story.at, story.intent_revision));
        self.timeline.intents = intents;
        let since = self.since;
        self.timeline.broken_glass.retain(|glass| glass.last_at() >= since);
        let is_over = |stretch: &Stretch| stretch.until.is_some_and(|until| until <= since);
        self.timeline.differs.retain(|stretch| !is_over(stretch));
        self.timeline.unknown.retain(|stretch| !is_over(stretch));
        self.timeline
    }

    /// What an intent, or a broken glass, came to.
    fn tell(&mut self, at: Timestamp, by: &Provenance, body: &EventBody) {
        if let Some(story) = Story::begun(at, by, body) {
            let key = story.execution_key.clone();
            match self.stories.get_mut(&key) {
                Some(known) => known.accepted(story),
                None => {
                    self.stories.insert(key, story);
                }
            }
        }
        if let (Some(key), Some(turn)) = (body.execution_key(), Turn::of(at, by, body))
            && let Some(story) = self.stories.get_mut(key)
        {
            story.turn(turn);
            if story.is_over() && at < self.since {
                self.stories.remove(key);
            }
        }
        if let Some(glass) = Glass::granted(at, by, body) {
            self.timeline.broken_glass.push(glass);
        } else if let Some(id) = body.authorization_id() {
            let mut known = self.timeline.broken_glass.iter_mut();
            if let Some(glass) = known.find(|glass| glass.authorization_id == *id) {
                glass.turn(at, by, body);
            }
        }
    }

    /// Which wishes there are, and what was read.
    fn follow(&mut self, at: Timestamp, body: &EventBody) {
        match body {
            EventBody::IntentAccepted { intent, .. } if !intent.dry_run => {
                let wish = Wish {
                    revision: intent.wish.intent_revision,
                    desired: intent.wish.desired_replicas,
                    is_done: false,
                    has_started: false,
                };
                self.wishes.insert(intent.wish.execution_key.clone(), wish);
            }
            EventBody::AttemptStarted { execution_key, .. } => self.started(execution_key),
            EventBody::ResultRecorded { execution_key, result, .. } => {
                self.known(at, execution_key);
                self.done(execution_key, result.state() == ResultState::Succeeded);
                if result.state() != ResultState::Simulated {
                    self.read(at, result.observed_replicas());
                }
            }
            EventBody::AttemptLost { execution_key, .. } => self.lost(at, execution_key),
            EventBody::ObservationRecorded { execution_key, .. }
            | EventBody::IntentSuperseded { execution_key, .. }
            | EventBody::IntentWithdrawn { execution_key, .. } => {
                self.known(at, execution_key);
                self.ended_unstarted(execution_key);
            }
            EventBody::ReadingRecorded { reading, execution_key, verdict } => {
                if *verdict == ReadingVerdict::Matches {
                    self.done(execution_key, true);
                }
                self.read(at, Some(reading.replicas));
            }
            EventBody::ServiceRegistered { binding, .. } | EventBody::TargetBound { binding } => {
                self.bound(at, binding);
            }
            EventBody::ServiceHandedOver { registration, binding, .. } => {
                if registration.mode.record_mode().is_none() {
                    self.wishes.clear();
                }
                self.bound(at, binding);
            }
            EventBody::ServiceRetired { .. } => self.wishes.clear(),
            EventBody::IntentAccepted { .. }
            | EventBody::HoldSet { .. }
            | EventBody::HoldLifted { .. }
            | EventBody::OverrideSet { .. }
            | EventBody::OverrideCleared { .. }
            | EventBody::AuthorizationGranted { .. }
            | EventBody::AuthorizationUsed { .. }
            | EventBody::AuthorizationRevoked { .. }
            | EventBody::AuthorizationReviewed { .. }
            | EventBody::AutoscaleEvaluated { .. }
            | EventBody::IntentProposed { .. }
            | EventBody::IntentRejected { .. }
            | EventBody::GatewayFinalized { .. }
            | EventBody::GatewayImported { .. }
            | EventBody::LeaseAcquired { .. }
            | EventBody::LeaseRenewed { .. }
            | EventBody::LeaseReleased { .. }
            | EventBody::CallEnded { .. }
            | EventBody::TargetFenced { .. }
            | EventBody::LateResultKept { .. }
            | EventBody::ServiceRestored { .. }
            | EventBody::ClockAccepted { .. }
            | EventBody::ExecutionClockAccepted { .. } => {}
        }
    }

    fn started(&mut self, key: &ExecutionKey) {
        if let Some(wish) = self.wishes.get_mut(key) {
            (wish.has_started, wish.is_done) = (true, false);
        }
    }

    fn lost(&mut self, at: Timestamp, key: &ExecutionKey) {
        let stretch = Stretch { from: at, until: None, replicas: None };
        self.unknown.entry(key.clone()).or_insert(stretch);
    }

    fn bound(&mut self, at: Timestamp, binding: &Binding) {
        // What a call may have changed since is no reading of now.
        if !binding.outdated.count {
            self.read(at, binding.replicas);
        }
    }

    fn done(&mut self, key: &ExecutionKey, is_done: bool) {
        if let Some(wish) = self.wishes.get_mut(key) {
            wish.is_done = is_done;
        }
    }

    /// What has not started wishes nothing any more; what has, was carried out in part at least.
    fn ended_unstarted(&mut self, key: &ExecutionKey) {
        if self.wishes.get(key).is_some_and(|wish| !wish.has_started) {
            self.wishes.remove(key);
        }
    }

    fn known(&mut self, at: Timestamp, key: &ExecutionKey) {
        if let Some(stretch) = self.unknown.remove(key) {
            self.timeline.unknown.push(Stretch { until: Some(at), ..stretch });
        }
    }

    fn read(&mut self, at: Timestamp, replicas: Option<Replicas>) {
        if replicas.is_some() {
            push(&mut self.timeline.read, Level { at, replicas }, self.since);
        }
    }

    /// What is wished after a moment, and whether what was read differs from it.
    fn level(&mut self, at: Timestamp) {
        let newest = self.wishes.values().max_by_key(|wish| wish.revision).copied();
        if let Some(newest) = newest {
            // Older ones that have started are never wished again.
            self.wishes.retain(|_, wish| {
                wish.revision == newest.revision || !wish.has_started || !newest.has_started
            });
        }
        let replicas = newest.map(|wish| wish.desired);
        let is_new = self.timeline.wished.last().is_none_or(|last| last.replicas != replicas);
        if is_new && (replicas.is_some() || !self.timeline.wished.is_empty()) {
            push(&mut self.timeline.wished, Level { at, replicas }, self.since);
        }
        let read = self.timeline.read.last().and_then(|level| level.replicas);
        let differs = match (newest, read) {
            (Some(wish), Some(read)) if wish.is_done && read != wish.desired => Some(read),
            _ => None,
        };
        let open = self.timeline.differs.last_mut().filter(|stretch| stretch.until.is_none());
        match (open, differs) {
            (Some(open), differs) if open.replicas != differs => {
                open.until = Some(at);
                if differs.is_some() {
                    let stretch = Stretch { from: at, until: None, replicas: differs };
                    self.timeline.differs.push(stretch);
                }
            }
            (None, Some(_)) => {
                let stretch = Stretch { from: at, until: None, replicas: differs };
                self.timeline.differs.push(stretch);
            }
            (Some(_) | None, _) => {}
        }
    }
}

/// Adds a level. Of those from before the span only the last is kept.
fn push(levels: &mut Vec<Level>, level: Level, since: Timestamp) {
    if level.at < since {
        levels.clear();
    }
    levels.push(level);
}
