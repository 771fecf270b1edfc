//! `capacity location|cell|profile|policy|pool|usage put` and `cell cordon`: what is registered
//! beforehand, made or changed. Only what is named changes.
//!
//! A premise that nobody named is what was just read: two changes at once do not mix.

use std::collections::{BTreeMap, BTreeSet};

use super::error::OpError;
use super::placing::Placed;
use super::session::Session;
use crate::domain::id::{
    CellName, Cost, LocationName, PlacementPolicyName, PoolName, ProfileName, Replicas,
    SettingRevision,
};
use crate::domain::placement::capacity::Amounts;
use crate::domain::placement::command::{Command, Put};
use crate::domain::placement::registry::{
    Cell, PlaceLocation, PlacementPolicy, Profile, ReplicaPool, USAGE_FRESH_FOR_DEFAULT, Usage,
};
use crate::domain::placement::state::PlacementState;
use crate::domain::scale::intent::Reason;
use crate::domain::scale::result::Detail;
use crate::domain::time::{DurationMs, InvalidDuration, Timestamp};

/// What is to change of a cell.
#[derive(Debug, Clone, Default)]
pub struct CellChange {
    /// Its location; must be named of a new one.
    pub location: Option<LocationName>,
    /// What environments may have of it; must be named of a new one.
    pub allocatable: Option<Amounts>,
    /// When that was measured; now by default, where it is named.
    pub measured_at: Option<Timestamp>,
    /// How long it counts.
    pub fresh_for: Option<FreshFor>,
}

/// How long a measurement counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreshFor {
    /// For ever.
    Ever,
    /// So long.
    For(DurationMs),
}

impl std::str::FromStr for FreshFor {
    type Err = InvalidDuration;
    fn from_str(text: &str) -> Result<Self, InvalidDuration> {
        if text == "ever" { Ok(Self::Ever) } else { text.parse().map(Self::For) }
    }
}

/// What is to change of a placement policy.
#[derive(Debug, Clone, Default)]
pub struct PolicyChange {
    /// All profiles that it offers, with their costs.
    pub offers: Option<BTreeMap<ProfileName, Cost>>,
    /// All cells that it lets an environment into.
    pub cells: Option<BTreeSet<CellName>>,
    /// All locations that it restricts these to; empty for none.
    pub locations: Option<BTreeSet<LocationName>>,
    /// The most that an environment may cost; must be named of a new one.
    pub budget: Option<Cost>,
    /// How old usage may be that lets a profile shrink.
    pub usage_fresh_for: Option<DurationMs>,
}

fn missing(flag: &'static str, noun: &'static str) -> OpError {
    let message = format!("a new {noun} needs {flag}");
    OpError::Usage { code: "setting_incomplete", message, hint: None }
}

/// The revision of something that is there, and what is expected of it.
fn premise(expected: Option<u64>, known: Option<SettingRevision>) -> u64 {
    expected.unwrap_or_else(|| known.map_or(0, SettingRevision::get))
}

impl Session {
    fn put(
        &mut self,
        build: impl Fn(&PlacementState, Timestamp) -> Result<Command, OpError>,
    ) -> Result<Placed, OpError> {
        let seen = self.placement()?;
        let command = build(&seen, self.now())?;
        self.place(&[], None, |_, _| Ok(command))
    }
}

/// `capacity location put`.
pub fn location_put(
    session: &mut Session,
    name: &LocationName,
    about: Option<&Detail>,
    expected: Option<u64>,
) -> Result<Placed, OpError> {
    session.put(|state, _| {
        let before = state.locations.get(name);
        let kept = before.map(|before| before.about.clone()).unwrap_or_default();
        let setting = PlaceLocation {
            name: name.clone(),
            revision: SettingRevision::MIN,
            about: about.cloned().unwrap_or(kept),
        };
        let expected = Some(premise(expected, before.map(|before| before.revision)));
        Ok(Command::PutLocation(Put { setting, expected }))
    })
}

/// `capacity cell put`.
pub fn cell_put(
    session: &mut Session,
    name: &CellName,
    change: &CellChange,
    expected: Option<u64>,
) -> Result<Placed, OpError> {
    session.put(|state, now| {
        let before = state.cells.get(name);
        let location = change.location.clone().or(before.map(|before| before.location.clone()));
        let allocatable = change.allocatable.or(before.map(|before| before.allocatable));
        let measured_at = match (change.measured_at, change.allocatable, before) {
            (Some(at), _, _) => at,
            (None, None, Some(before)) => before.measured_at,
            (None, Some(_), _) | (None, None, None) => now,
        };
        let fresh_for_ms = match change.fresh_for {
            Some(FreshFor::Ever) => None,
            Some(FreshFor::For(duration)) => Some(duration),
            None => before.and_then(|before| before.fresh_for_ms),
        };
        let setting = Cell {
            name: name.clone(),
            revision: SettingRevision::MIN,
            location: location.ok_or_else(|| missing("--location", "cell"))?,
            allocatable: allocatable.ok_or_else(|| missing("--allocatable", "cell"))?,
            measured_at,
            fresh_for_ms,
            cordon: None,
        };
        let expected = Some(premise(expected, before.map(|before| before.revision)));
        Ok(Command::PutCell(Box::new(Put { setting, expected })))
    })
}

/// `capacity cell cordon` and `uncordon`.
pub fn cell_cordon(
    session: &mut Session,
    cell: &CellName,
    reason: Option<Reason>,
) -> Result<Placed, OpError> {
    let cell = cell.clone();
    session.place(&[], None, |_, _| Ok(Command::CordonCell { cell, reason }))
}

/// `capacity profile put`.
pub fn profile_put(session: &mut Session, profile: Profile) -> Result<Placed, OpError> {
    session.place(&[], None, |_, _| Ok(Command::PutProfile(Box::new(profile))))
}

/// `capacity policy put`.
pub fn placement_policy_put(
    session: &mut Session,
    name: &PlacementPolicyName,
    change: &PolicyChange,
    expected: Option<u64>,
) -> Result<Placed, OpError> {
    session.put(|state, _| {
        let before = state.policies.get(name);
        let offers = change.offers.clone().or(before.map(|before| before.offers.clone()));
        let cells = change.cells.clone().or(before.map(|before| before.cells.clone()));
        let locations = change.locations.clone().or(before.map(|before| before.locations.clone()));
        let budget = change.budget.or(before.map(|before| before.budget));
        let kept = before.map(|before| before.usage_fresh_for_ms);
        let setting = PlacementPolicy {
            name: name.clone(),
            revision: SettingRevision::MIN,
            offers: offers.ok_or_else(|| missing("--offer", "placement policy"))?,
            cells: cells.ok_or_else(|| missing("--cell", "placement policy"))?,
            locations: locations.unwrap_or_default(),
            budget: budget.ok_or_else(|| missing("--budget", "placement policy"))?,
            usage_fresh_for_ms: change.usage_fresh_for.or(kept).unwrap_or(USAGE_FRESH_FOR_DEFAULT),
        };
        let expected = Some(premise(expected, before.map(|before| before.revision)));
        Ok(Command::PutPolicy(Box::new(Put { setting, expected })))
    })
}

/// `capacity pool put`.
pub fn pool_put(
    session: &mut Session,
    name: &PoolName,
    max_replicas: Replicas,
    expected: Option<u64>,
) -> Result<Placed, OpError> {
    session.put(|state, _| {
        let known = state.pools.get(name).map(|before| before.revision);
        let revision = SettingRevision::MIN;
        let setting = ReplicaPool { name: name.clone(), revision, max_replicas };
        Ok(Command::PutPool(Put { setting, expected: Some(premise(expected, known)) }))
    })
}

/// `capacity usage put`.
pub fn usage_put(session: &mut Session, usage: Usage) -> Result<Placed, OpError> {
    session.place(&[], None, |_, _| Ok(Command::RecordUsage(Box::new(usage))))
}
