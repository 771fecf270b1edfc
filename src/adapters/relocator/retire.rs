//! A copy goes: an older one that has a proved successor, or one that never served.
//!
//! What goes is renamed away first, in one step, and then removed: no half copy keeps its name.

use std::fs;
use std::path::Path;

use super::authority;
use super::fault::{Done, Fault, io};
use super::fence::{self, FenceState};
use super::files::{names, remove, replace_json};
use super::inventory::workspace_of;
use super::manifest::{self, Made, hold_files};
use super::place::{DATABASE, FENCE, MANIFEST, Root, existing, partials_of, trash_of};
use super::progress::Progress;
use super::route;
use super::tree::{self, APPLICATION, ARTIFACTS, WORKSPACE, WORKSPACE_STATE};
use super::verify;
use crate::actuator::host::Deadline;
use crate::adapters::durable::sync_dir;
use crate::crash::{self, CrashPoint, RelocatorPoint};
use crate::domain::placement::protocol::{
    Call, CopyPlace, Discarded, Refusal, Retired, WorkspaceLeft, WorkspaceState,
};

/// Says in a copy that only its workspace is left.
const RETIRED: &str = "retired.json";

/// Removes an older copy whose successor serves, or protects in its place, and verifies.
pub(super) fn retire(
    root: &Root,
    call: &Call,
    (source, target): (&CopyPlace, &CopyPlace),
    with_workspace: bool,
    until: Deadline,
) -> Done<Retired> {
    if source == target {
        let problem = "source and target are one copy".to_owned();
        return Err(Refusal::BadRequest { problem }.into());
    }
    drop(authority::hold(root, call, until)?);
    hold_successor(root, call, source, target, until)?;
    let held = authority::hold(root, call, until)?;
    let copy = root.copy(&call.environment, source);
    let trash = trash_of(&copy);
    let receipt = |workspace| Ok(Retired { source: source.clone(), workspace });
    if fs::symlink_metadata(&copy).is_err() {
        drop(held);
        remove(&trash)?;
        return receipt(WorkspaceLeft::None);
    }
    existing(&copy, source)?;
    if with_workspace && matches!(workspace_of(&copy), Ok(WorkspaceState::Running)) {
        return Err(Refusal::WorkspaceRunning.into());
    }
    let has_workspace = copy.join(WORKSPACE).is_dir() && !with_workspace;
    if has_workspace {
        keep_workspace(&copy, call)?;
        return receipt(WorkspaceLeft::Kept);
    }
    throw_away(&copy, &trash)?;
    drop(held);
    crash::hit(CrashPoint::Relocator(RelocatorPoint::Thrown));
    remove(&trash).map_err(Fault::after_effect)?;
    receipt(WorkspaceLeft::None)
}

/// The successor is the one that serves, or both are packages; and it is whole.
fn hold_successor(
    root: &Root,
    call: &Call,
    source: &CopyPlace,
    target: &CopyPlace,
    until: Deadline,
) -> Done<()> {
    let owner = route::owner(root, &call.environment)?;
    if let Some(owner) = owner.as_ref().filter(|owner| owner.is(source)) {
        let found = format!("a route to it, of epoch {}", owner.epoch);
        return Err(Refusal::OtherGeneration { expected: "an older copy".into(), found }.into());
    }
    let copy = root.copy(&call.environment, target);
    existing(&copy, target)?;
    let (manifest, _) = verify::proved(&copy, None)?;
    let serves = owner.is_some_and(|owner| owner.is(target));
    let older = manifest::read(&root.copy(&call.environment, source))?;
    let is_package = |made| made == Made::Snapshot;
    let both = is_package(manifest.made) && older.is_none_or(|(it, _)| is_package(it.made));
    if !serves && !both {
        let expected = format!("{target} as the one that serves");
        let found = "another route".to_owned();
        return Err(Refusal::OtherGeneration { expected, found }.into());
    }
    // What nobody edits is still what was verified; what is in use is at least sound.
    let progress = Progress::new("retire", manifest.bytes());
    let is_fixed = |path: &str| path.starts_with(APPLICATION) || path.starts_with(ARTIFACTS);
    hold_files(&copy, &manifest, until, &progress, is_fixed)?;
    if both && !serves {
        manifest::read_back(&copy, &manifest, until)?;
        return Ok(());
    }
    super::database::sound(&copy.join(DATABASE), until)
}

/// Removes all but the workspace, and what of that is a cache.
fn keep_workspace(copy: &Path, call: &Call) -> Done<()> {
    replace_json(copy, RETIRED, &serde_json::json!({"operation": call.operation}))?;
    let kept = [WORKSPACE, WORKSPACE_STATE, RETIRED, MANIFEST, FENCE];
    for cache in tree::walk(copy)?.left_out {
        remove(&copy.join(cache))?;
    }
    for name in names(copy)? {
        if !kept.iter().any(|kept| name == **kept) {
            remove(&copy.join(name)).map_err(Fault::after_effect)?;
        }
    }
    Ok(sync_dir(copy)?)
}

fn throw_away(copy: &Path, trash: &Path) -> Done<()> {
    // Of an earlier call that was killed while it removed it.
    remove(trash)?;
    fs::rename(copy, trash).map_err(io("putting away", copy))?;
    Ok(sync_dir(copy.parent().unwrap_or(copy))?)
}

/// Removes a copy that never served, finished or not.
pub(super) fn discard(
    root: &Root,
    call: &Call,
    target: &CopyPlace,
    until: Deadline,
) -> Done<Discarded> {
    let held = authority::hold(root, call, until)?;
    let copy = root.copy(&call.environment, target);
    if let Some(owner) = route::owner(root, &call.environment)?.filter(|owner| owner.is(target)) {
        return Err(Refusal::Committed { epoch: owner.epoch }.into());
    }
    let made = manifest::read(&copy)?.map(|(manifest, _)| manifest.made);
    let is_there = fs::symlink_metadata(&copy).is_ok();
    let fence = if is_there { fence::read(&copy)? } else { None };
    if let Some(fence) = fence.filter(|fence| fence.state != FenceState::Fenced) {
        return Err(Refusal::Committed { epoch: fence.epoch }.into());
    }
    if is_there && made.is_none() {
        // It was not made by a transfer, so it is nobody's to discard.
        let expected = "a copy that was made by a relocator".to_owned();
        let found = format!("{target} without a manifest");
        return Err(Refusal::OtherGeneration { expected, found }.into());
    }
    let trash = trash_of(&copy);
    for partial in partials_of(&copy)? {
        throw_away(&partial, &trash)?;
        remove(&trash)?;
    }
    if is_there {
        throw_away(&copy, &trash)?;
    }
    drop(held);
    crash::hit(CrashPoint::Relocator(RelocatorPoint::Thrown));
    remove(&trash).map_err(Fault::after_effect)?;
    Ok(Discarded { target: target.clone() })
}
