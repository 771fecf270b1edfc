//! `local`: replicas are processes of this machine.
//!
//! Owns one folder per workload under the state directory:
//!
//! ```text
//! WORKLOAD/lock        flock'ed by every call while it reads or changes anything here
//! WORKLOAD/state.json  uid, version, owning ledger, fences, journal by execution key
//! WORKLOAD/name        the workload, where its name is none of a folder
//! WORKLOAD/slot-N      the identity of replica N; flock'ed by a shim that is about to start it
//! WORKLOAD/slot-N.log  what replica N printed; slot-N.log.1 is the run before
//! ```
//!
//! Never keeps a count: the count *is* the number of live replicas, and a replica is alive exactly
//! while /proc shows its pid with its recorded start time in this boot and it is no zombie. Linux
//! only, because of /proc.
//!
//! After a crash at any instant: `state.json` is the old or the new one, whole. A started shim has
//! either recorded itself and become the replica, or died; whoever takes the slot's lock knows
//! which. So no replica is lost from the count and none is started twice. A call that died leaves a
//! `begun` entry in the journal, which says that its effect may be partial.

mod apply;
mod discover;
mod judge;
mod process;
mod replica;
mod slot;
mod state;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};
use std::path::PathBuf;

pub use process::Stat;
pub use replica::replica_main;

use self::process::Host;
use self::state::{Mark, Rank, Workload};
use super::durable::Failed;
use super::{Adapter, ENVIRONMENT, failed, now};
use crate::actuator::protocol::{
    ApplyRequest, Description, DiscoverRequest, FenceReply, FenceRequest, InspectRequest,
    Inspection, LedgerIdentity, LookupRequest, Reply,
};
use crate::domain::id::{ClusterId, Replicas, RuntimeId, WorkloadId};
use crate::domain::scale::intent::TargetBinding;
use crate::domain::scale::service::Capabilities;
use crate::domain::time::DurationMs;

/// The cluster of every local target.
pub const CLUSTER_ID: &str = "local";
/// The runtime of every local target.
pub const RUNTIME_ID: &str = "processes";
/// How long a replica has between TERM and KILL unless told otherwise.
pub const GRACE_DEFAULT: DurationMs = DurationMs::from_secs(5);
/// How long after its start a replica must still be alive unless told otherwise.
pub const SETTLE_DEFAULT: DurationMs = DurationMs::from_millis(100);
/// The most replicas of one workload on one machine.
pub const REPLICAS_MAX: u64 = 512;

/// How long a call that only reads waits for a call that works on the same workload.
const LOCK_WAIT: DurationMs = DurationMs::from_secs(10);

/// How a local target is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalConfig {
    /// Where the state of all local targets is kept. Made if missing, private to the user.
    pub state_dir: PathBuf,
    /// What a replica runs. With characters that mean something to a shell it is run by `/bin/sh`,
    /// otherwise it is split at white space.
    pub command: String,
    /// How long a replica has between TERM and KILL.
    pub grace: DurationMs,
    /// How long after its start a replica must still be alive for the start to count.
    pub settle: DurationMs,
}

/// What whoever may not touch a state is told.
const ONE_USER: &str = "what local runs belongs to one user, who alone scales it";

/// Why the state of a workload cannot be used.
#[derive(Debug, thiserror::Error)]
enum LocalError {
    #[error("{doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{doing} {}: {source}; {ONE_USER}", path.display())]
    AnotherUsers { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("reading {}: {problem}", path.display())]
    State { path: PathBuf, problem: String },
    #[error("another call works on {}", path.display())]
    Busy { path: PathBuf },
    #[error(
        "the replica in {} runs in another process namespace of this boot; remove the file if that \
         namespace is gone",
        path.display()
    )]
    Elsewhere { path: PathBuf },
}

impl From<Failed> for LocalError {
    fn from(Failed { doing, path, source }: Failed) -> Self {
        Self::io(doing, path)(source)
    }
}

impl LocalError {
    fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied => Self::AnotherUsers { doing, path, source },
            _ => Self::Io { doing, path, source },
        }
    }

    const fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "state_unavailable",
            Self::AnotherUsers { .. } => "state_of_another_user",
            Self::State { .. } => "state_unusable",
            Self::Busy { .. } => "busy",
            Self::Elsewhere { .. } => "other_namespace",
        }
    }

    const fn is_retryable(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::AnotherUsers { .. } | Self::Busy { .. })
    }

    fn reply(&self) -> Reply {
        Reply::error(self.code(), &self.to_string(), self.is_retryable())
    }
}

/// Serves one call of the protocol over local processes. Returns the exit code.
pub fn serve(config: &LocalConfig, stdin: &mut dyn Read, stdout: &mut dyn Write) -> u8 {
    super::serve(&Local { config }, stdin, stdout)
}

struct Local<'config> {
    config: &'config LocalConfig,
}

impl Adapter for Local<'_> {
    fn describe(&self) -> Description {
        Description {
            name: "local".parse().expect("BUG: the name of an adapter is an identifier"),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            environment: ENVIRONMENT.map(str::to_owned).to_vec(),
            capabilities: Capabilities {
                deduplicates_execution_key: true,
                rejects_stale_lease: true,
                conditional_on_version: true,
                inspect: true,
                lookup: true,
                evidence: false,
                fence: true,
                drains_itself: true,
                discover: true,
            },
        }
    }

    fn apply(&self, apply: &ApplyRequest) -> Reply {
        let request = &apply.request;
        let workload_id = &request.target.workload_id;
        // The rest of the call's time is for the effect itself.
        let wait = DurationMs::from_millis(apply.deadline_ms.as_millis() / 4);
        let found = Host::read().and_then(|host| {
            Ok(Workload::open_existing(self.config, workload_id, wait)?.map(|open| (host, open)))
        });
        match found {
            Ok(Some((host, workload))) => apply::apply(self.config, &host, workload, apply),
            Ok(None) => {
                let detail = format!("there is no local workload {workload_id}; inspect it first");
                failed(request, "unknown_workload", &detail, false, None)
            }
            // Nothing was begun, so a typed failure is the truth.
            Err(error) => {
                failed(request, error.code(), &error.to_string(), error.is_retryable(), None)
            }
        }
    }

    fn inspect(&self, request: &InspectRequest) -> Reply {
        let target = &request.target;
        if let Err(reply) = check_place(target.cluster_id.as_ref(), target.runtime_id.as_ref()) {
            return reply;
        }
        let read = || {
            let host = Host::read()?;
            let workload_id = &target.workload_id;
            inspection(&host, &Workload::open(self.config, workload_id, LOCK_WAIT)?)
        };
        read().map_or_else(|error| error.reply(), |found| Reply::Inspect(Box::new(found)))
    }

    fn discover(&self, request: &DiscoverRequest) -> Reply {
        if let Err(reply) = check_place(request.cluster_id.as_ref(), request.runtime_id.as_ref()) {
            return reply;
        }
        discover::discover(self.config, request)
            .map_or_else(|error| error.reply(), |found| Reply::Discover(Box::new(found)))
    }

    fn lookup(&self, request: &LookupRequest) -> Reply {
        self.on_existing(&request.target, request.ledger.as_ref(), |host, workload| {
            let live = workload.live(host)?;
            let is_settled = live.iter().all(|replica| !replica.is_stopping());
            let count = u64::try_from(live.len()).unwrap_or(u64::MAX);
            let (changed, reply) = workload.state.look_up(request, is_settled.then_some(count));
            if changed {
                workload.save()?;
            }
            Ok(Reply::Lookup(reply))
        })
    }

    fn fence(&self, request: &FenceRequest) -> Reply {
        self.on_existing(&request.target, request.ledger.as_ref(), |host, workload| {
            let rank = Rank::of(request.epoch, request.token);
            let mark = Mark { rank, attempt: request.attempt.get() };
            if workload.state.raise_mark(mark) {
                workload.save()?;
            }
            let reading = Some(inspection(host, workload)?);
            Ok(Reply::Fence(Box::new(FenceReply { fenced: true, reading })))
        })
    }
}

impl Local<'_> {
    /// Runs `work` on the workload of a target that must be the one that is here.
    fn on_existing(
        &self,
        target: &TargetBinding,
        ledger: Option<&LedgerIdentity>,
        work: impl FnOnce(&Host, &mut Workload) -> Result<Reply, LocalError>,
    ) -> Reply {
        let run = || {
            let host = Host::read()?;
            let open = Workload::open_existing(self.config, &target.workload_id, LOCK_WAIT)?;
            let Some(mut workload) = open else {
                let detail = format!("there is no local workload {}", target.workload_id);
                return Ok(Reply::error("unknown_workload", &detail, false));
            };
            if let Err(refusal) = workload.state.check_owner(ledger) {
                return Ok(refusal.reply());
            }
            if let Err(refusal) = workload.state.check_object(target) {
                return Ok(refusal.reply());
            }
            work(&host, &mut workload)
        };
        run().unwrap_or_else(|error: LocalError| error.reply())
    }
}

fn check_place(cluster: Option<&ClusterId>, runtime: Option<&RuntimeId>) -> Result<(), Reply> {
    let is_cluster = cluster.is_none_or(|id| id.as_str() == CLUSTER_ID);
    let is_runtime = runtime.is_none_or(|id| id.as_str() == RUNTIME_ID);
    if is_cluster && is_runtime {
        return Ok(());
    }
    let detail = format!("local targets are in cluster {CLUSTER_ID}, runtime {RUNTIME_ID}");
    Err(Reply::error("unknown_workload", &detail, false))
}

fn inspection(host: &Host, workload: &Workload) -> Result<Inspection, LocalError> {
    let count = u32::try_from(workload.live(host)?.len()).unwrap_or(u32::MAX);
    Ok(Inspection {
        target: binding(workload),
        generation: None,
        replicas: Replicas::from(count),
        ready_replicas: Some(Replicas::from(count)),
        read_at: now(),
        owners: Vec::new(),
        managers: Vec::new(),
        owners_unread: Vec::new(),
        take_away: Vec::new(),
    })
}

fn binding(workload: &Workload) -> TargetBinding {
    let workload_id: WorkloadId = workload.id.clone();
    TargetBinding {
        cluster_id: CLUSTER_ID.parse().expect("BUG: the local cluster is an identifier"),
        runtime_id: RUNTIME_ID.parse().expect("BUG: the local runtime is an identifier"),
        workload_id,
        target_uid: workload.state.uid.clone(),
        target_resource_version: workload.state.resource_version(),
    }
}
