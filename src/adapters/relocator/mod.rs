//! The bundled relocator `local`: cells are folders of this host.
//!
//! Owns what is below its root: copies of environments in cells, routes, sessions, fences. Never
//! touches a ledger. Every operation is idempotent and works on durable traces only: killed at any
//! point, the same request comes to the same end. `docs/relocator-protocol.md` is the page.

mod authority;
mod contents;
mod copying;
mod database;
mod fault;
mod fence;
mod files;
mod inventory;
mod manifest;
mod place;
mod progress;
mod reading;
pub mod recovery;
mod retire;
mod route;
mod seal;
mod transfer;
mod tree;
mod verify;

use std::io::{Read, Write};

use self::fault::Done;
pub use self::fault::Fault;
use self::fence::{FenceState, Mark};
pub use self::place::Root;
use self::place::{DATABASE, existing};
use crate::actuator::host::Deadline;
use crate::domain::canonical::DOCUMENT_BYTES_MAX;
use crate::domain::placement::protocol::{
    BUNDLED_VERSION, Call, CopyPlace, Described, Fenced, OPS, Order, Receipt, Refusal, Reply,
    Request, Unfenced, WorkspaceState,
};
use crate::domain::time::DurationMs;

/// The most of a call's time that is kept for its answer.
const ANSWER_MARGIN: DurationMs = DurationMs::from_secs(2);

/// Longer than any call is given, and than any package takes: who waits at a terminal ends it.
const TIME_MAX: DurationMs = DurationMs::from_secs(7 * 24 * 60 * 60);

/// Serves one call. Returns the exit code: 0 for every answer, a refusal included; 1 if the answer
/// could not be written, because then the reader must not believe that there is one.
pub fn serve(root: &Root, stdin: &mut dyn Read, stdout: &mut dyn Write) -> u8 {
    let reply = match read_request(stdin) {
        Ok(Request::Describe) => Reply::Done(Box::new(Receipt::Describe(described()))),
        Ok(Request::Call(call)) => match perform(root, &call) {
            Ok(receipt) => Reply::Done(Box::new(receipt)),
            // Who only looks is overtaken by nobody.
            Err(fault) if matches!(call.order, Order::Inventory { .. }) => fault.into_reply(),
            Err(fault) => authority::or_overtaken(root, &call, fault).into_reply(),
        },
        Err(fault) => fault.into_reply(),
    };
    let written = stdout.write_all(reply.to_json().as_bytes()).and_then(|()| stdout.flush());
    u8::from(written.is_err())
}

fn read_request(stdin: &mut dyn Read) -> Done<Request> {
    let bad = |problem: String| Fault::from(Refusal::BadRequest { problem });
    // One byte more than is allowed, so that a longer request is seen to be longer.
    let bytes_max = u64::try_from(DOCUMENT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let read = stdin.take(bytes_max).read_to_end(&mut bytes);
    read.map_err(|error| bad(format!("reading the request from stdin: {error}")))?;
    Request::read(&bytes).map_err(|error| bad(error.to_string()))
}

fn described() -> Described {
    Described {
        name: "local".to_owned(),
        version: BUNDLED_VERSION.to_owned(),
        ops: OPS.map(str::to_owned).to_vec(),
    }
}

/// When a call ends by itself, before it is ended.
fn deadline_of(call: &Call) -> Deadline {
    let whole = call.deadline_ms.min(TIME_MAX).as_millis();
    let margin = ANSWER_MARGIN.as_millis().min(whole / 4);
    Deadline::after(DurationMs::from_millis(whole - margin))
}

fn perform(root: &Root, call: &Call) -> Done<Receipt> {
    let until = deadline_of(call);
    Ok(match &call.order {
        Order::Inventory { source } => {
            let found = inventory::take(root, &call.environment, source, until)?;
            route::check_leads_to(root, &call.environment, source)?;
            // While it still serves: what is not sound is found before anything stands still.
            database::sound(&root.copy(&call.environment, source).join(DATABASE), until)?;
            Receipt::Inventory(found.inventory)
        }
        Order::Drain { source } => Receipt::Drain(route::drain(root, call, source, until)?),
        Order::Undrain { source } => Receipt::Undrain(route::undrain(root, call, source, until)?),
        Order::Fence { source } => Receipt::Fence(fenced(root, call, source, until)?),
        Order::Unfence { source } => Receipt::Unfence(unfenced(root, call, source, until)?),
        Order::Transfer { source, target } => {
            Receipt::Transfer(transfer::transfer(root, call, source, target, until)?)
        }
        Order::Verify { target } => Receipt::Verify(verify::verify(root, call, target, until)?),
        Order::Route { source, target } => {
            Receipt::Route(route::route(root, call, source, target, until)?)
        }
        Order::Retire { source, target, workspace } => {
            Receipt::Retire(retire::retire(root, call, (source, target), *workspace, until)?)
        }
        Order::Discard { target } => Receipt::Discard(retire::discard(root, call, target, until)?),
        Order::Snapshot { source, target } => {
            Receipt::Snapshot(transfer::snapshot(root, call, source, target, until)?)
        }
    })
}

/// Lets no write into a copy any more.
fn fenced(root: &Root, call: &Call, source: &CopyPlace, until: Deadline) -> Done<Fenced> {
    let _held = authority::hold(root, call, until)?;
    let copy = root.copy(&call.environment, source);
    existing(&copy, source)?;
    if !copy.join(DATABASE).is_file() {
        return Err(Refusal::NotThere { what: format!("database of copy {source}") }.into());
    }
    database::hold_one_name(&copy.join(DATABASE))?;
    if inventory::workspace_of(&copy)? == WorkspaceState::Running {
        return Err(Refusal::WorkspaceRunning.into());
    }
    let mark = Mark { token: call.token, operation: &call.operation, epoch: call.epoch };
    let fence = fence::close(&copy, &mark, until)?;
    Ok(Fenced {
        source: source.clone(),
        token: fence.token,
        fenced_at: fence.since,
        tables: fence.tables,
    })
}

/// Lets writes into a copy again, unless another one was committed.
fn unfenced(root: &Root, call: &Call, source: &CopyPlace, until: Deadline) -> Done<Unfenced> {
    let _held = authority::hold(root, call, until)?;
    let copy = root.copy(&call.environment, source);
    existing(&copy, source)?;
    let fence = fence::read(&copy)?;
    if let Some(fence) = fence.filter(|fence| fence.state == FenceState::Left) {
        return Err(Refusal::Committed { epoch: fence.epoch }.into());
    }
    match route::owner(root, &call.environment)? {
        Some(owner) if owner.epoch > call.epoch => {
            return Err(Refusal::Committed { epoch: owner.epoch }.into());
        }
        // A copy that never served is opened by `route` alone.
        owner => {
            let is_owner = owner.as_ref().is_some_and(|owner| owner.is(source));
            if !is_owner {
                let (expected, found) = (format!("a route to {source}"), "none".to_owned());
                let found = owner.map_or(found, |owner| owner.text());
                return Err(Refusal::OtherGeneration { expected, found }.into());
            }
        }
    }
    let mark = Mark { token: call.token, operation: &call.operation, epoch: call.epoch };
    let fence = fence::change(&copy, &mark, FenceState::Open, until)?;
    Ok(Unfenced { source: source.clone(), token: fence.token })
}
