//! What a relocator of the tests says.

use scalectl::domain::digest::Digest;
use scalectl::domain::id::{FenceToken, PlacementEpoch};
use scalectl::domain::placement::command::StepEnd;
use scalectl::domain::placement::protocol::{
    Applied, CopyPlace, Discarded, Drained, Fenced, Inventory, Order, PROTOCOL, Receipt, Refusal,
    RelocatorError, Retired, Routed, Transferred, Undrained, Unfenced, Verified, WorkspaceLeft,
    WorkspaceState,
};
use scalectl::domain::placement::registry::{RegisteredRelocator, Usage};
use scalectl::domain::time::{DurationMs, Timestamp};

use super::world::amounts;
use crate::rules::support::id;

/// What a test's copy has in bytes.
const BYTES: u64 = 1 << 20;

/// What a relocator answers that has done what it was asked.
pub(super) fn receipt_of(
    order: Order,
    token: FenceToken,
    epoch: PlacementEpoch,
    now: Timestamp,
) -> Receipt {
    let manifest_sha256 = Digest::of(b"manifest");
    let copied = |source, target| Transferred {
        source,
        target,
        bytes: BYTES,
        files: 3,
        sent_bytes: BYTES,
        reused_bytes: 0,
        manifest_sha256,
        captured_at: now,
    };
    match order {
        Order::Inventory { source } => Receipt::Inventory(inventory(source)),
        Order::Drain { source } => {
            Receipt::Drain(Drained { source, drained_at: now, sessions_revoked: 2 })
        }
        Order::Fence { source } => {
            Receipt::Fence(Fenced { source, token, fenced_at: now, tables: 4 })
        }
        Order::Transfer { source, target } => Receipt::Transfer(copied(source, target)),
        Order::Snapshot { source, target } => Receipt::Snapshot(copied(source, target)),
        Order::Verify { target } => Receipt::Verify(Verified {
            target,
            bytes: BYTES,
            files: 3,
            rows: 9,
            manifest_sha256,
            verified_at: now,
        }),
        Order::Route { target, .. } => Receipt::Route(Routed { target, epoch, routed_at: now }),
        Order::Retire { source, .. } => {
            Receipt::Retire(Retired { source, workspace: WorkspaceLeft::Kept })
        }
        Order::Unfence { source } => Receipt::Unfence(Unfenced { source, token }),
        Order::Undrain { source } => Receipt::Undrain(Undrained { source, epoch }),
        Order::Discard { target } => Receipt::Discard(Discarded { target }),
    }
}

pub(super) fn inventory(source: CopyPlace) -> Inventory {
    Inventory {
        source,
        bytes: BYTES,
        files: 3,
        database_bytes: 4096,
        tables: 4,
        rules: 1,
        credentials: 1,
        subjects: 1,
        workspace: WorkspaceState::Stopped,
        left_out: Vec::new(),
    }
}

pub(super) fn relocator(ops: &[&str]) -> RegisteredRelocator {
    RegisteredRelocator {
        name: id("mover"),
        adapter: "local".to_owned(),
        version: "1".to_owned(),
        protocol: PROTOCOL.to_owned(),
        ops: ops.iter().map(|op| (*op).to_owned()).collect(),
        timeout_ms: DurationMs::from_secs(60),
    }
}

pub(super) fn refused_with(refusal: Refusal) -> StepEnd {
    StepEnd::Refused(Box::new(RelocatorError {
        message: refusal.to_string(),
        retryable: refusal.is_retryable(),
        refusal,
        applied: Applied::No,
    }))
}

pub(super) fn usage(environment: &str, used: &str, at: Timestamp) -> Usage {
    Usage {
        environment: id(environment),
        used: amounts(used),
        workspace: WorkspaceState::Stopped,
        workspace_used: None,
        measured_at: at,
    }
}
