//! Call files: one per guarded call, locked while its guard lives, and what they prove.
//!
//! Owns `<state_home>/scalectl/calls/`. A file is created and locked by the parent before the
//! ledger records `started`; the lock passes to the guard, which writes whole lines only:
//!
//! ```text
//! session <id> <start time of the guard>      before the actuator is spawned
//! group <id> <start time of the actuator>     right after
//! ended <how> <wall clock in microseconds>    when the group is empty
//! ```
//!
//! The room for those lines is taken before anything is recorded: a disk that is full refuses the
//! call, and not the guard in its middle.
//!
//! Invariant: the lock is held exactly as long as the parent prepares or the guard lives. After
//! any crash of either, [`prove_end`] ends what is left; it means nothing on another host or boot,
//! which the caller rules out ([`super::host::whereabouts`]).

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::error::CallError;
use super::host::{Deadline, wall_now};
use super::procfs::{self, Session};
use crate::domain::id::CallId;
use crate::domain::time::{DurationMs, Timestamp};
use crate::files;

mod lines;

pub(super) use lines::{Verdict, ended_line, read};

/// What a guard may write at most, with a torn line and the longest reason; a page.
const ROOM_BYTES: u64 = 4096;
/// How long [`prove_end`] kills what is left before it says that it cannot.
const KILL_MS_MAX: u64 = 5000;
/// How long it waits for another prover of the same call.
const PROVER_MS_MAX: u64 = 250;

/// How a guarded call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEnd {
    /// The actuator exited with this code.
    Exited(i32),
    /// This signal ended the actuator.
    Signalled(i32),
    /// The guard killed it at its deadline.
    Deadline,
    /// The guard ended it, because its parent was gone.
    Orphaned,
    /// The actuator was never started.
    NotStarted(String),
    /// The guard was killed, and [`prove_end`] killed what it had left.
    Killed,
}

/// What is known about the end of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallProof {
    /// Its guard (or its parent, or another prover) holds the lock: it may be running.
    Alive,
    /// No process of it is left.
    Ended {
        /// Since when, on the wall clock of this host.
        at: Timestamp,
        /// How it ended.
        how: CallEnd,
    },
    /// There is no such file: nothing is known here.
    NoFile,
}

/// What can be seen of a call without touching it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallSight {
    /// As [`prove_end`] would answer.
    Known(CallProof),
    /// Its guard is gone and has not written an end: processes of it may be left.
    Unproved,
}

/// A call file that was created and locked for a call that is about to start.
///
/// Dropping it gives the lock up, which then proves that the call was never started.
#[derive(Debug)]
pub struct PreparedCall {
    dir: PathBuf,
    call_id: CallId,
    file: File,
}

impl PreparedCall {
    /// Creates the directory (0700) if there is none, and in it the locked file (0600) of a call.
    pub fn create(dir: &Path, call_id: &CallId) -> Result<Self, CallError> {
        let path = path_of(dir, call_id)?;
        prepare_dir(dir)?;
        let file = files::make_private_file(&path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => CallError::Exists { path: path.clone() },
            _ => failed("creating the call file", &path)(source),
        })?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| failed("locking the call file", &path)(error.into()))?;
        if let Err(error) = take_room(&file) {
            // It proves nothing yet; what cannot be removed is swept later.
            let _ = fs::remove_file(&path);
            return Err(failed("taking room in the call file", &path)(error));
        }
        Ok(Self { dir: dir.to_owned(), call_id: call_id.clone(), file })
    }

    /// The call.
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// The directory, and the file with the lock.
    pub(super) fn into_parts(self) -> (PathBuf, CallId, File) {
        (self.dir, self.call_id, self.file)
    }
}

/// Takes the room that the guard will need, or says why there is none. The file stays empty.
fn take_room(mut file: &File) -> io::Result<()> {
    // The limit is on where a file ends, and room beyond its end is not asked for it.
    if getrlimit(Resource::Fsize).current.is_some_and(|most| most < ROOM_BYTES) {
        return Err(Errno::FBIG.into());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, ROOM_BYTES) {
        // A file system that keeps no room can still say whether it takes a write now.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            file.write_all(&[b' '; 4096])?;
            file.set_len(0)
        }
        taken => Ok(taken?),
    }
}

fn prepare_dir(dir: &Path) -> Result<(), CallError> {
    files::make_private_dirs(dir).map_err(failed("creating the directory of call files", dir))?;
    let found = fs::metadata(dir).map_err(failed("inspecting the directory of call files", dir))?;
    let refuse = |why| Err(CallError::Unsafe { path: dir.to_owned(), why });
    if found.mode() & 0o022 != 0 {
        return refuse("may be written by others (chmod 700)");
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return refuse("belongs to another user");
    }
    Ok(())
}

pub(super) fn path_of(dir: &Path, call_id: &CallId) -> Result<PathBuf, CallError> {
    // An identifier begins with a letter or digit, so without a slash it stays in its directory.
    if call_id.as_str().contains('/') {
        return Err(CallError::Unnameable(call_id.clone()));
    }
    Ok(dir.join(call_id.as_str()))
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CallError {
    let path = path.to_owned();
    move |source| CallError::Io { doing, path, source }
}

/// What can be seen of a call of this host and boot. Writes nothing and ends nothing.
pub fn look(dir: &Path, call_id: &CallId) -> Result<CallSight, CallError> {
    let path = path_of(dir, call_id)?;
    let Some(mut file) = open(&path)? else { return Ok(CallSight::Known(CallProof::NoFile)) };
    if !try_lock(&file, FlockOperation::NonBlockingLockShared, &path)? {
        return Ok(CallSight::Known(CallProof::Alive));
    }
    Ok(match read(&mut file, &path)?.verdict() {
        Verdict::Ended(at, how) => CallSight::Known(CallProof::Ended { at, how }),
        Verdict::Unproved(..) => CallSight::Unproved,
    })
}

/// Proves that a call of this host and boot has ended, by ending what its guard has left if the
/// guard is gone. It holds the lock while it does so.
///
/// What is left is the actuator's process group, or the whole session if the guard had no time to
/// write the group down. Blocks for at most about five seconds.
pub fn prove_end(dir: &Path, call_id: &CallId) -> Result<CallProof, CallError> {
    let patience = Deadline::after(DurationMs::from_millis(PROVER_MS_MAX));
    loop {
        match look(dir, call_id)? {
            CallSight::Known(proof) => return Ok(proof),
            CallSight::Unproved => {}
        }
        if let Some(proof) = end_leftovers(dir, call_id)? {
            return Ok(proof);
        }
        // Another prover, or somebody who looks, holds the lock for a moment.
        if patience.is_past() {
            return Ok(CallProof::Alive);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// None if the lock could not be had.
fn end_leftovers(dir: &Path, call_id: &CallId) -> Result<Option<CallProof>, CallError> {
    let path = path_of(dir, call_id)?;
    let Some(mut file) = open(&path)? else { return Ok(Some(CallProof::NoFile)) };
    if !try_lock(&file, FlockOperation::NonBlockingLockExclusive, &path)? {
        return Ok(None);
    }
    let content = read(&mut file, &path)?;
    let (session, group) = match content.verdict() {
        Verdict::Ended(at, how) => return Ok(Some(CallProof::Ended { at, how })),
        Verdict::Unproved(session, group) => (session, group),
    };
    kill_all(call_id, session, group)?;
    let (at, how) = (wall_now(), CallEnd::Killed);
    // A torn last line goes, or the new one would be its end.
    file.set_len(content.whole_bytes).map_err(failed("cutting the call file", &path))?;
    file.write_all(ended_line(&how, at).as_bytes())
        .map_err(failed("writing the call file", &path))?;
    Ok(Some(CallProof::Ended { at, how }))
}

fn kill_all(call_id: &CallId, session: Session, group: Option<i32>) -> Result<(), CallError> {
    let scanning = failed("scanning", Path::new("/proc"));
    let until = Deadline::after(DurationMs::from_millis(KILL_MS_MAX));
    let mut pause_ms = 1;
    loop {
        let left = match procfs::kill_living(session, group) {
            Ok(left) => left,
            Err(error) => return Err(scanning(error)),
        };
        let Some(some) = left.first() else { return Ok(()) };
        if until.is_past() {
            let (call_id, count, pid) = (call_id.clone(), left.len(), some.pid);
            return Err(CallError::Survivors { call_id, count, pid });
        }
        std::thread::sleep(Duration::from_millis(pause_ms));
        pause_ms = (pause_ms * 2).min(50);
    }
}

/// Removes the file of a call that has ended. That there is none is no error.
///
/// Only for calls whose end the ledger has recorded: afterwards nothing is known about them here.
pub fn remove_call(dir: &Path, call_id: &CallId) -> Result<(), CallError> {
    let path = path_of(dir, call_id)?;
    let Some(file) = open(&path)? else { return Ok(()) };
    if !try_lock(&file, FlockOperation::NonBlockingLockShared, &path)? {
        return Err(CallError::Alive(call_id.clone()));
    }
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("removing the call file", &path)(error))
        }
        _ => Ok(()),
    }
}

/// Removes the files of calls that ended or never began at least `age` ago, and answers how many.
///
/// A crash between the file and the commit of its call leaves one that no ledger knows of. A file
/// that may still prove something to another ledger is not told from those, so `age` must be so
/// long that no file says the same: the deadline of the call is long over by then. What is locked,
/// unproved or nonsense stays.
pub fn sweep(dir: &Path, age: DurationMs) -> Result<usize, CallError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(failed("listing the directory of call files", dir)(error)),
    };
    let until = wall_now().minus(age);
    let mut removed = 0;
    for entry in entries.flatten() {
        let modified = entry.metadata().map_or(i64::MAX, |found| found.mtime());
        let name = entry.file_name();
        let call_id = name.to_str().and_then(|name| name.parse::<CallId>().ok());
        let Some(call_id) = call_id.filter(|_| modified < until.as_micros() / 1_000_000) else {
            continue;
        };
        let sight = look(dir, &call_id);
        if matches!(sight, Ok(CallSight::Known(CallProof::Ended { .. }))) {
            remove_call(dir, &call_id)?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn open(path: &Path) -> Result<Option<File>, CallError> {
    match File::options().read(true).append(true).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("opening the call file", path)(error)),
    }
}

fn try_lock(file: &File, how: FlockOperation, path: &Path) -> Result<bool, CallError> {
    match flock(file, how) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(failed("locking the call file", path)(error.into())),
    }
}

#[cfg(test)]
mod tests;
