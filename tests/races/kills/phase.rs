//! Where a kill fell, from what it left: the events of the process, and the file of its call.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;

use super::{Round, Victim};
use crate::support::World;

/// Where a command was when it, or a child of its, was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Nobody was killed: it had ended.
    Ended,
    /// It had written nothing.
    NothingWritten,
    /// A wish, a lease, an end that another command had left open was recorded, and no call.
    StepRecorded,
    /// `started` was recorded, and no guard has said that it is there.
    Started,
    /// A guard is there, and no actuator.
    GuardOnly,
    /// The actuator runs, and has changed nothing yet.
    CallBeforeEffect,
    /// The actuator has changed the target, and nobody has recorded it.
    CallAfterEffect,
    /// The result is recorded.
    ResultRecorded,
    /// It was read, or verified, after the result or without a call.
    Observed,
    /// The guard was killed under a living command.
    GuardKilled,
    /// The actuator was killed under a living guard.
    ActuatorKilled,
    /// The command and its guard were killed together.
    BothKilled,
}

impl Phase {
    pub(super) const fn is_in_a_call(self) -> bool {
        matches!(
            self,
            Self::Started
                | Self::GuardOnly
                | Self::CallBeforeEffect
                | Self::CallAfterEffect
                | Self::GuardKilled
                | Self::ActuatorKilled
                | Self::BothKilled
        )
    }
}

/// A call file as it was at one moment.
#[derive(Debug)]
pub(super) struct CallSeen {
    text: String,
    effects: usize,
    calls: usize,
}

impl CallSeen {
    /// The newest file, if there is one. A call that is over leaves none, unless it was killed.
    pub(super) fn newest(world: &World) -> Option<Self> {
        let files = std::fs::read_dir(world.path(".local/state/scalectl/calls"));
        let newest = files
            .into_iter()
            .flatten()
            .flatten()
            .max_by_key(|file| file.metadata().and_then(|found| found.modified()).ok())?;
        let text = std::fs::read_to_string(newest.path()).ok()?;
        let (calls, effects) = (world.fake_log("calls").len(), world.fake_log("effects").len());
        Some(Self { text, effects, calls })
    }

    fn pid(&self, word: &str) -> Option<i32> {
        let line = self.text.lines().find_map(|line| line.strip_prefix(word))?;
        line.trim().split(' ').next()?.parse().ok()
    }

    /// Whether a guard has said that it is there, and not that it is done.
    pub(super) fn has_guard(&self) -> bool {
        self.pid("session ").is_some() && !self.text.contains("ended ")
    }

    /// The guard or the actuator, if it is still there.
    pub(super) fn aim(&self, world: &World, victim: Victim) -> Option<OwnedFd> {
        let word = if victim == Victim::Actuator { "group " } else { "session " };
        let pid = self.pid(word).filter(|_| !self.text.contains("ended "))?;
        of_world(world, pid)
    }
}

/// A process of this world, and none that has got its number since.
pub(super) fn of_world(world: &World, pid: i32) -> Option<OwnedFd> {
    let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    // From here on the descriptor means one process, and the look at it shows which.
    world.children().contains(&pid.to_string()).then_some(process)
}

/// Where it was, from the events that its process wrote.
pub(super) fn of(world: &World, round: &Round, own: &[&Value]) -> Phase {
    let call = match &round.killed {
        None => return Phase::Ended,
        Some((Victim::Guard, _)) => return Phase::GuardKilled,
        Some((Victim::Actuator, _)) => return Phase::ActuatorKilled,
        Some((Victim::Both, _)) => return Phase::BothKilled,
        Some((Victim::Command, call)) => call.as_ref(),
    };
    match own.last().and_then(|event| event["event"].as_str()) {
        None => Phase::NothingWritten,
        Some("attempt_started") => call.map_or(Phase::Started, |call| in_call(world, call)),
        Some("result_recorded") => Phase::ResultRecorded,
        Some("observation_recorded" | "reading_recorded") => Phase::Observed,
        Some(_) => Phase::StepRecorded,
    }
}

fn in_call(world: &World, call: &CallSeen) -> Phase {
    if call.pid("session ").is_none() {
        return Phase::Started;
    }
    if call.pid("group ").is_none() {
        return Phase::GuardOnly;
    }
    // The logs of the fake tell about this call: its line is the newest of both.
    let newest = |kind: &str, count: usize| {
        let log = world.fake_log(kind);
        log.get(count.checked_sub(1)?).cloned()
    };
    let words = |line: Option<String>| {
        line.map(|line| line.split(' ').take(2).map(str::to_owned).collect::<Vec<_>>())
    };
    let is_same = words(newest("calls", call.calls)) == words(newest("effects", call.effects));
    if is_same { Phase::CallAfterEffect } else { Phase::CallBeforeEffect }
}
