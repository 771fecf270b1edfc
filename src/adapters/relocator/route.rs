//! Who serves: the routing file, and the requests and sessions that it has let in.
//!
//! Owns `routes/ENVIRONMENT.json`, which is replaced as a whole, and `sessions/ENVIRONMENT/`. Who
//! accepts a request takes the shared lock of `accepted.lock`, then reads the route, and keeps the
//! lock until the request has ended. So once the route says unavailable and the lock was had alone,
//! every accepted request has ended and none comes after it.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::authority;
use super::fault::{Done, Fault, io};
use super::fence::{self, FenceState, Mark};
use super::files::{lock, make_dirs, names, read_json, replace_json};
use super::place::{Root, existing, folder_of};
use super::verify;
use crate::actuator::host::Deadline;
use crate::adapters::durable::sync_dir;
use crate::adapters::now;
use crate::crash::{self, CrashPoint, RelocatorPoint};
use crate::domain::id::{CellName, EnvironmentName, OperationId, PlacementEpoch};
use crate::domain::placement::protocol::{
    Call, CopyPlace, Drained, Generation, Refusal, Routed, Undrained,
};
use crate::domain::time::Timestamp;

const ACCEPTED_LOCK: &str = "accepted.lock";
/// One file per session.
const OPEN: &str = "open";
/// What a request is told while its environment moves.
const REASON: &str = "relocating";

/// Who serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Serving {
    cell: CellName,
    pub(super) epoch: PlacementEpoch,
    generation: Generation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    routed_at: Option<Timestamp>,
}

impl Serving {
    pub(super) fn is(&self, place: &CopyPlace) -> bool {
        self.cell == place.cell && self.generation == place.generation
    }

    pub(super) fn text(&self) -> String {
        format!("a route to {} in cell {}", self.generation, self.cell)
    }
}

/// Why nobody does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Away {
    unavailable: String,
    operation: OperationId,
    was: Serving,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drained_at: Option<Timestamp>,
    #[serde(default)]
    sessions_revoked: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Route {
    Unavailable(Away),
    Serving(Serving),
}

fn file_of(environment: &EnvironmentName) -> String {
    format!("{}.json", folder_of(environment.as_str()))
}

fn read(root: &Root, environment: &EnvironmentName) -> Done<Option<Route>> {
    read_json(&root.routes().join(file_of(environment)))
}

fn replace(root: &Root, environment: &EnvironmentName, route: &Route) -> Done<()> {
    let dir = root.routes();
    make_dirs(&dir)?;
    replace_json(&dir, &file_of(environment), route)
}

/// The copy that serves, or that served before its environment was drained.
pub(super) fn owner(root: &Root, environment: &EnvironmentName) -> Done<Option<Serving>> {
    Ok(read(root, environment)?.map(|route| match route {
        Route::Serving(serving) => serving,
        Route::Unavailable(unavailable) => unavailable.was,
    }))
}

/// Refuses a copy that nobody is led to: it could not be drained, nor given its route back.
pub(super) fn check_leads_to(
    root: &Root,
    environment: &EnvironmentName,
    source: &CopyPlace,
) -> Done<()> {
    match owner(root, environment)? {
        Some(owner) if owner.is(source) => Ok(()),
        Some(owner) => Err(other(source, owner.text())),
        None => {
            let missing = vec![format!("route of environment {environment}")];
            Err(Refusal::MissingDependency { missing }.into())
        }
    }
}

fn other(expected: &CopyPlace, found: String) -> Fault {
    Refusal::OtherGeneration { expected: format!("a route to {expected}"), found }.into()
}

fn no_route(call: &Call) -> Fault {
    Refusal::NotThere { what: format!("route of environment {}", call.environment) }.into()
}

/// The route as this operation has taken it away; taken away now if it is not yet.
fn take_away(root: &Root, call: &Call, source: &CopyPlace) -> Done<Away> {
    match read(root, &call.environment)?.ok_or_else(|| no_route(call))? {
        Route::Unavailable(it) if it.operation == call.operation && it.was.is(source) => Ok(it),
        Route::Unavailable(it) => {
            let found = format!("{}, taken away by operation {}", it.was.text(), it.operation);
            Err(other(source, found))
        }
        Route::Serving(serving) if serving.is(source) => {
            let taken = Away {
                unavailable: REASON.to_owned(),
                operation: call.operation.clone(),
                was: serving,
                drained_at: None,
                sessions_revoked: 0,
            };
            replace(root, &call.environment, &Route::Unavailable(taken.clone()))?;
            Ok(taken)
        }
        Route::Serving(serving) if serving.epoch > call.epoch => {
            Err(Refusal::Committed { epoch: serving.epoch }.into())
        }
        Route::Serving(serving) => Err(other(source, serving.text())),
    }
}

/// Takes the route away, waits until accepted requests have ended, and then revokes sessions.
pub(super) fn drain(
    root: &Root,
    call: &Call,
    source: &CopyPlace,
    until: Deadline,
) -> Done<Drained> {
    let receipt = |drained_at, sessions_revoked| Drained {
        source: source.clone(),
        drained_at,
        sessions_revoked,
    };
    let held = authority::hold(root, call, until)?;
    existing(&root.copy(&call.environment, source), source)?;
    let taken = take_away(root, call, source)?;
    if let Some(drained_at) = taken.drained_at {
        return Ok(receipt(drained_at, taken.sessions_revoked));
    }
    // A newer call is not kept waiting by what is waited for here.
    drop(held);
    crash::hit(CrashPoint::Relocator(RelocatorPoint::RouteAway));
    let sessions = root.sessions(&call.environment);
    make_dirs(&sessions.join(OPEN))?;
    let accepted = lock(&sessions.join(ACCEPTED_LOCK), until, "accepted requests to end")
        .map_err(Fault::after_effect)?;
    let held = authority::hold(root, call, until).map_err(Fault::after_effect)?;
    let taken = take_away(root, call, source)?;
    if let Some(drained_at) = taken.drained_at {
        return Ok(receipt(drained_at, taken.sessions_revoked));
    }
    let revoked = revoke(&sessions.join(OPEN)).map_err(Fault::after_effect)?;
    crash::hit(CrashPoint::Relocator(RelocatorPoint::Revoked));
    let (drained_at, revoked) = (now(), taken.sessions_revoked.saturating_add(revoked));
    let drained = Away { drained_at: Some(drained_at), sessions_revoked: revoked, ..taken };
    replace(root, &call.environment, &Route::Unavailable(drained))?;
    drop((accepted, held));
    Ok(receipt(drained_at, revoked))
}

fn revoke(open: &Path) -> Done<u64> {
    let mut revoked = 0;
    for name in names(open)? {
        let session = open.join(name);
        fs::remove_file(&session).map_err(io("revoking", &session))?;
        revoked += 1;
    }
    sync_dir(open)?;
    Ok(revoked)
}

/// Gives the route back as it was, unless the move was committed meanwhile.
pub(super) fn undrain(
    root: &Root,
    call: &Call,
    source: &CopyPlace,
    until: Deadline,
) -> Done<Undrained> {
    let _held = authority::hold(root, call, until)?;
    let copy = root.copy(&call.environment, source);
    existing(&copy, source)?;
    if let Some(fence) = fence::read(&copy)? {
        match fence.state {
            FenceState::Open => {}
            FenceState::Left => return Err(Refusal::Committed { epoch: fence.epoch }.into()),
            FenceState::Fenced => {
                let problem = "it is fenced: unfence it first".to_owned();
                return Err(Refusal::Unusable { file: source.to_string(), problem }.into());
            }
        }
    }
    match read(root, &call.environment)?.ok_or_else(|| no_route(call))? {
        Route::Serving(serving) if serving.is(source) => {
            Ok(Undrained { source: source.clone(), epoch: serving.epoch })
        }
        Route::Unavailable(it) if it.operation == call.operation && it.was.is(source) => {
            let epoch = it.was.epoch;
            replace(root, &call.environment, &Route::Serving(it.was))?;
            Ok(Undrained { source: source.clone(), epoch })
        }
        Route::Unavailable(it) => Err(other(source, it.was.text())),
        Route::Serving(serving) if serving.epoch > call.epoch => {
            Err(Refusal::Committed { epoch: serving.epoch }.into())
        }
        Route::Serving(serving) => Err(other(source, serving.text())),
    }
}

/// After the commit: the source is closed for ever, then the target is opened, then the route is
/// replaced. At no instant do both let writes in.
pub(super) fn route(
    root: &Root,
    call: &Call,
    source: &CopyPlace,
    target: &CopyPlace,
    until: Deadline,
) -> Done<Routed> {
    let epoch = target.generation.epoch;
    let held = authority::hold(root, call, until)?;
    let (from, to) = (root.copy(&call.environment, source), root.copy(&call.environment, target));
    existing(&to, target)?;
    match read(root, &call.environment)?.ok_or_else(|| no_route(call))? {
        Route::Serving(serving) if serving.is(target) => {
            let routed_at = serving.routed_at.unwrap_or_else(now);
            return Ok(Routed { target: target.clone(), epoch: serving.epoch, routed_at });
        }
        Route::Serving(serving) => return Err(other(source, serving.text())),
        Route::Unavailable(it) if it.operation != call.operation || !it.was.is(source) => {
            return Err(other(source, it.was.text()));
        }
        Route::Unavailable(it) if it.drained_at.is_none() => {
            return Err(Refusal::TimedOut { waited_for: "the drain to end".to_owned() }.into());
        }
        Route::Unavailable(_) => {}
    }
    existing(&from, source)?;
    let mark = Mark { token: call.token, operation: &call.operation, epoch };
    let fence = fence::read(&from)?;
    if fence.as_ref().is_none_or(|it| it.state != FenceState::Left) {
        fence::proved(&from, call.token)?;
        verify::proved(&to, Some(&from))?;
        fence::change(&from, &mark, FenceState::Left, until)?;
    }
    crash::hit(CrashPoint::Relocator(RelocatorPoint::SourceLeft));
    fence::change(&to, &mark, FenceState::Open, until).map_err(Fault::after_effect)?;
    crash::hit(CrashPoint::Relocator(RelocatorPoint::TargetOpen));
    let routed_at = now();
    let serving = Serving {
        cell: target.cell.clone(),
        epoch,
        generation: target.generation.clone(),
        routed_at: Some(routed_at),
    };
    replace(root, &call.environment, &Route::Serving(serving)).map_err(Fault::after_effect)?;
    drop(held);
    crash::hit(CrashPoint::Relocator(RelocatorPoint::Routed));
    Ok(Routed { target: target.clone(), epoch, routed_at })
}
