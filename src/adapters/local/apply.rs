//! The effect: starting and ending replicas.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::judge::{Verdict, succeeded};
use super::process::{Deadline, Host};
use super::slot::{self, Record, Replica};
use super::state::Workload;
use super::{LocalConfig, LocalError};
use crate::actuator::protocol::{ApplyReply, ApplyRequest, Reply};
use crate::adapters::{apply_reply, command};
use crate::domain::count::{counted, number};
use crate::domain::id::Replicas;
use crate::domain::scale::result::Answer;
use crate::domain::time::DurationMs;

/// How long a killed process may take to be gone.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Why the count is not as wished. Another attempt may help.
struct Shortfall {
    code: &'static str,
    detail: String,
}

/// Carries out one `apply` on a locked workload.
pub(super) fn apply(
    config: &LocalConfig,
    host: &Host,
    mut workload: Workload,
    apply: &ApplyRequest,
) -> Reply {
    match workload.state.judge(apply) {
        Verdict::Go => {}
        Verdict::Replay(reply) => return Reply::Apply(reply),
        Verdict::Refuse(refusal) => return refusal.apply_reply(&apply.request),
    }
    match carry_out(config, host, &mut workload, apply) {
        Ok(reply) => Reply::Apply(Box::new(reply)),
        // It may have begun, and how it ended could not be recorded.
        Err(error) => {
            let reply = failure(apply, error.code(), &error.to_string(), None);
            Reply::Apply(Box::new(ApplyReply { outcome_unknown: true, ..reply }))
        }
    }
}

fn carry_out(
    config: &LocalConfig,
    host: &Host,
    workload: &mut Workload,
    apply: &ApplyRequest,
) -> Result<ApplyReply, LocalError> {
    let desired = apply.request.desired_replicas.get();
    let live = workload.live(host)?;
    let found = count(&live);
    let is_settled = live.iter().all(|replica| !replica.is_stopping());

    let mut shortfall = None;
    if found != desired || !is_settled {
        workload.state.begin(apply);
        workload.save()?;
        shortfall = change(config, host, workload, apply, live)?;
    }

    let now = count(&workload.live(host)?);
    let reply = match shortfall {
        None if now == desired => {
            let detail = format!("{} became {now}", counted(found, "replica"));
            succeeded(apply, &workload.state, &detail)
        }
        found => {
            let Shortfall { code, detail } = found.unwrap_or_else(|| Shortfall {
                code: "replica_lost",
                detail: format!("{now} of {desired} replicas are alive"),
            });
            let observed = u32::try_from(now).unwrap_or(u32::MAX).into();
            let reply = failure(apply, code, &detail, Some(observed));
            let resource_version_after = Some(workload.state.resource_version());
            ApplyReply { resource_version_after, ..reply }
        }
    };
    workload.state.finish(apply, reply.clone());
    workload.save()?;
    Ok(reply)
}

fn change(
    config: &LocalConfig,
    host: &Host,
    workload: &Workload,
    apply: &ApplyRequest,
    live: Vec<Replica>,
) -> Result<Option<Shortfall>, LocalError> {
    let desired = usize::try_from(apply.request.desired_replicas.get()).unwrap_or(usize::MAX);
    // What an earlier call decided to end is ended first: it may have been told already.
    let (mut victims, mut kept): (Vec<_>, Vec<_>) =
        live.into_iter().partition(Replica::is_stopping);
    if kept.len() > desired {
        victims.extend(kept.split_off(desired));
    }
    let half = DurationMs::from_millis(apply.deadline_ms.as_millis() / 2);
    let grace = config.grace.min(half).to_std();
    if let Some(shortfall) = stop(host, &workload.dir, &victims, grace)? {
        return Ok(Some(shortfall));
    }
    let missing = desired.saturating_sub(kept.len());
    let free = (0..).filter(|index| kept.iter().all(|replica| replica.index != *index));
    let free: Vec<u64> = free.take(missing).collect();
    start(config, host, workload, &free)
}

/// Tells replicas to end, and waits until they and all that they started are gone.
fn stop(
    host: &Host,
    dir: &Path,
    victims: &[Replica],
    grace: Duration,
) -> Result<Option<Shortfall>, LocalError> {
    for replica in victims {
        slot::mark_stopping(dir, replica)?;
    }
    for replica in victims {
        replica.identity.signal_group(host, Signal::TERM);
    }
    let gone = || victims.iter().all(|v| v.identity.session_members(host).is_empty());
    if !Deadline::after(grace).wait_until(gone) {
        let killed = Deadline::after(KILL_WAIT).wait_until(|| {
            for replica in victims {
                replica.identity.kill_session(host);
            }
            gone()
        });
        if !killed {
            let alive = victims.iter().filter(|v| v.identity.is_alive(host)).count();
            let detail = format!(
                "{} after TERM and KILL",
                number(alive, "replica is alive", "replicas are alive")
            );
            return Ok(Some(Shortfall { code: "replica_stop_failed", detail }));
        }
    }
    for replica in victims {
        slot::clear_slot(dir, replica.index, host)?;
    }
    Ok(None)
}

/// Starts a replica in each of the slots, and waits until each is recorded and has lasted.
fn start(
    config: &LocalConfig,
    host: &Host,
    workload: &Workload,
    free: &[u64],
) -> Result<Option<Shortfall>, LocalError> {
    let mut children = Vec::new();
    let mut shortfall = None;
    for index in free {
        slot::clear_slot(&workload.dir, *index, host)?;
        match spawn_shim(config, workload, *index) {
            Ok(child) => children.push((*index, child)),
            Err(error) => {
                shortfall = Some(start_failed(*index, &error.to_string()));
                break;
            }
        }
    }
    for (index, child) in &mut children {
        if let Some(reason) = shim_problem(&workload.dir, *index, child)? {
            shortfall = Some(start_failed(*index, &reason));
        }
    }
    if free.is_empty() || shortfall.is_some() {
        return Ok(shortfall);
    }
    let mut ended = || {
        children.iter_mut().find_map(|(index, child)| match child.try_wait() {
            Ok(Some(status)) => Some(start_failed(*index, &format!("it ended with {status}"))),
            Ok(None) => None,
            Err(error) => Some(start_failed(*index, &error.to_string())),
        })
    };
    Deadline::after(config.settle.to_std()).wait_until(|| {
        shortfall = ended();
        shortfall.is_some()
    });
    Ok(shortfall)
}

fn start_failed(index: u64, reason: &str) -> Shortfall {
    Shortfall { code: "replica_start_failed", detail: format!("replica {index}: {reason}") }
}

/// Waits until the shim has let go of its slot. Returns why it did not become the replica.
fn shim_problem(dir: &Path, index: u64, child: &mut Child) -> Result<Option<String>, LocalError> {
    let pid = i32::try_from(child.id()).unwrap_or(i32::MAX);
    Ok(match slot::read_slot(&slot::slot_path(dir, index))? {
        Some(Record::Running { identity }) if identity.pid == pid => None,
        Some(Record::Failed { pid: failed, reason }) if failed == pid => Some(reason),
        Some(_) | None => Some(match child.wait() {
            Ok(status) => format!("it ended before it was recorded, with {status}"),
            Err(error) => format!("it was not recorded: {error}"),
        }),
    })
}

fn spawn_shim(config: &LocalConfig, workload: &Workload, index: u64) -> Result<Child, LocalError> {
    let path = slot::slot_path(&workload.dir, index);
    let slot = slot::lock_slot(&path)?;
    let log_path = path.with_extension("log");
    // The log of the run before is worth keeping and no more; it may not be there.
    let _ = fs::rename(&log_path, path.with_extension("log.1"));
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&log_path)
        .map_err(LocalError::io("opening", &log_path))?;
    let log_too = log.try_clone().map_err(LocalError::io("opening", &log_path))?;
    // The running binary itself, also while its file is being replaced.
    command("/proc/self/exe")
        .arg0("scalectl")
        .args(["actuator", "run", "local-replica", "--"])
        .args(replica_command(&config.command))
        .env("SCALECTL_WORKLOAD", workload.id.as_str())
        .env("SCALECTL_SLOT", index.to_string())
        .stdin(Stdio::from(slot))
        .stdout(Stdio::from(log))
        .stderr(Stdio::from(log_too))
        .spawn()
        .map_err(LocalError::io("starting the replica of", &path))
}

/// The command as its words, or as a line of `/bin/sh` if it has anything in it that a shell reads
/// in another way than this would.
pub(super) fn replica_command(command: &str) -> Vec<String> {
    let plain = |c: char| c.is_alphanumeric() || " \t_./:,@%+-=".contains(c);
    let mut words = command.split_whitespace().map(str::to_owned).peekable();
    let assigns = words.peek().is_some_and(|program| program.contains('='));
    if command.chars().all(plain) && !assigns {
        words.collect()
    } else {
        vec!["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()]
    }
}

fn count(live: &[Replica]) -> u64 {
    u64::try_from(live.len()).unwrap_or(u64::MAX)
}

fn failure(
    apply: &ApplyRequest,
    code: &'static str,
    detail: &str,
    observed_replicas: Option<Replicas>,
) -> ApplyReply {
    let error_code = code.parse().expect("BUG: an error code of our own is an identifier");
    let answer = Answer::Failed { observed_replicas, retryable: true, error_code };
    apply_reply(&apply.request, answer, detail)
}
