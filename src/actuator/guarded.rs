//! A call under a guard, seen from the parent.
//!
//! Owns the hand-over of the call file's lock and the translation of what the guard wrote. Never
//! reports an end that is not proved. If this process dies at any point, the lock is either free
//! with nothing started, or the guard's.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::time::Duration;

use super::calls::{self, CallEnd, CallProof, PreparedCall, Verdict, prove_end};
use super::error::{CallError, SpawnError};
use super::host::Deadline;
use super::process::{
    Captured, ChildEnd, ChildSpec, Group, LeaderEnd, Limits, Watch, refuse_after_signal,
    spawn_piped,
};
use super::signals;
use super::supervise::{Hold, supervise};
use crate::crash::{self, CrashPoint};
use crate::domain::id::CallId;
use crate::domain::time::DurationMs;

/// A child that the guard was just starting when it was killed keeps the lock for this moment.
const LOCK_MS_MAX: u64 = 1000;

/// What came of a call under a guard.
#[derive(Debug)]
pub struct GuardedCall {
    /// The actuator's output and end.
    pub captured: Captured,
    /// Whether the call is over. Not [`CallProof::Ended`] only if the guard could not end it in
    /// time; then, or if the proof itself failed, the call counts as running.
    pub proof: Result<CallProof, CallError>,
}

/// Runs an actuator under `own_exe guard …` until its end is proved.
///
/// `limits.deadline` is the guard's: it kills the group then whether or not we are there to see it.
/// Signals and `watch` end the call as in [`super::process::run`]. [`CallError::NotStarted`] means
/// that the actuator did not run; every other outcome is in the answer.
pub fn run_guarded(
    prepared: PreparedCall,
    own_exe: &Path,
    spec: &ChildSpec,
    stdin: &[u8],
    limits: &Limits,
    watch: &mut dyn Watch,
) -> Result<GuardedCall, CallError> {
    let (dir, call_id, file) = prepared.into_parts();
    let not_started = |error: &SpawnError| CallError::NotStarted {
        call_id: call_id.clone(),
        reason: error.to_string(),
    };
    refuse_after_signal(&spec.program).map_err(|error| not_started(&error))?;
    let guard = ChildSpec {
        program: own_exe.to_owned(),
        args: guard_args(file.as_raw_fd(), limits.deadline, spec),
        env: spec.env.iter().cloned().chain(crash::environment()).collect(),
        current_dir: spec.current_dir.clone(),
    };
    let witness = witness(&dir, &call_id).map_err(|error| CallError::NotStarted {
        call_id: call_id.clone(),
        reason: error.to_string(),
    })?;
    let child = spawn_piped(&guard, Group::Ours, Some(&file));
    crash::hit(CrashPoint::AfterSpawn);
    // From here on the lock is the guard's alone.
    drop(file);
    let child = child.map_err(|error| not_started(&error))?;
    let supervised =
        supervise(child, Hold::Guard, &guard, stdin, limits, watch, signals::installed());
    let proof = await_proof(&dir, &call_id, witness);
    match (supervised, proof) {
        (supervised, Ok(CallProof::Ended { how: CallEnd::NotStarted(mut reason), .. })) => {
            // The actuator wrote nothing, so what is there is the guard's own word.
            let stderr = supervised.map(|captured| captured.stderr).unwrap_or_default();
            if !stderr.is_empty() {
                reason = format!("{reason}: {}", String::from_utf8_lossy(&stderr).trim_end());
            }
            Err(CallError::NotStarted { call_id, reason })
        }
        (Ok(captured), proof) => Ok(GuardedCall { captured: translate(captured, &proof), proof }),
        (Err(error), proof) => {
            // The guard was killed because we could not watch it: nothing of its output is known.
            let captured = Captured {
                end: ChildEnd::Stopped,
                leader: None,
                stdout: Vec::new(),
                stdout_dropped: 0,
                stderr: error.to_string().into_bytes(),
                stderr_dropped: 0,
                duration: DurationMs::ZERO,
            };
            Ok(GuardedCall { captured, proof })
        }
    }
}

fn guard_args(call_fd: i32, deadline: Deadline, spec: &ChildSpec) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec![
        "guard".into(),
        "--call-fd".into(),
        call_fd.to_string().into(),
        "--deadline-boot-ms".into(),
        deadline.boot_ms().to_string().into(),
        "--parent".into(),
        std::process::id().to_string().into(),
        "--".into(),
        spec.program.clone().into(),
    ];
    args.extend(spec.args.iter().cloned());
    args
}

/// The call file by a descriptor of its own, without the lock. Somebody else may prove the end and
/// remove the file before we have looked; what it said is still read through this.
fn witness(dir: &Path, call_id: &CallId) -> Result<File, CallError> {
    let path = calls::path_of(dir, call_id)?;
    File::open(&path).map_err(|source| CallError::Io {
        doing: "opening the call file",
        path,
        source,
    })
}

fn await_proof(dir: &Path, call_id: &CallId, mut witness: File) -> Result<CallProof, CallError> {
    let patience = Deadline::after(DurationMs::from_millis(LOCK_MS_MAX));
    loop {
        match prove_end(dir, call_id)? {
            CallProof::Alive if !patience.is_past() => {
                std::thread::sleep(Duration::from_millis(5));
            }
            CallProof::NoFile => break,
            proof @ (CallProof::Alive | CallProof::Ended { .. }) => return Ok(proof),
        }
    }
    Ok(match calls::read(&mut witness, &calls::path_of(dir, call_id)?)?.verdict() {
        Verdict::Ended(at, how) => CallProof::Ended { at, how },
        Verdict::Unproved(..) => CallProof::NoFile,
    })
}

/// The guard's own end says nothing; what it wrote about the actuator's does.
fn translate(captured: Captured, proof: &Result<CallProof, CallError>) -> Captured {
    let how = match proof {
        Ok(CallProof::Ended { how, .. }) => Some(how),
        Ok(CallProof::Alive | CallProof::NoFile) | Err(_) => None,
    };
    let (written, leader) = match how {
        Some(CallEnd::Exited(code)) => {
            (Some(ChildEnd::Exited(*code)), Some(LeaderEnd::Exited(*code)))
        }
        Some(CallEnd::Signalled(signal)) => {
            (Some(ChildEnd::Signalled(*signal)), Some(LeaderEnd::Signalled(*signal)))
        }
        Some(CallEnd::Deadline) => (Some(ChildEnd::TimedOut), None),
        Some(CallEnd::Orphaned | CallEnd::Killed | CallEnd::NotStarted(_)) | None => (None, None),
    };
    let end = match (captured.end, written) {
        (ChildEnd::Interrupted(signal), _) => ChildEnd::Interrupted(signal),
        // It had ended by itself before our order reached it.
        (ChildEnd::Stopped | ChildEnd::TimedOut, Some(ChildEnd::Exited(code))) => {
            ChildEnd::Exited(code)
        }
        (end @ (ChildEnd::Stopped | ChildEnd::TimedOut), _) => end,
        (ChildEnd::Exited(_) | ChildEnd::Signalled(_), Some(written)) => written,
        // The guard was killed by somebody, and with it what it had started.
        (ChildEnd::Exited(_) | ChildEnd::Signalled(_), None) => ChildEnd::Signalled(9),
    };
    Captured { end, leader, ..captured }
}
