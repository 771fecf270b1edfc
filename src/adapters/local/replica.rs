//! The shim that becomes a replica: `scalectl actuator run local-replica -- COMMAND ARG…`.
//!
//! It is born with the locked slot file as its standard input. It leaves the call's session and
//! process group, writes who it is into the slot, syncs, and executes the command in its own place,
//! which closes the slot and so lets go of the lock. Killed before the record is whole, it leaves
//! an empty or a torn record and no replica; killed after, a record of a dead process.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use super::process::Identity;
use super::slot::{Record, write_record};
use crate::adapters::command;

/// Becomes the replica. Returns only if that failed, with the exit code: 2 if it was not called by
/// the adapter, 1 with the reason in the slot otherwise.
pub fn replica_main(args: &[OsString]) -> u8 {
    let args = if args.first().is_some_and(|arg| arg == "--") { &args[1..] } else { args };
    let Some((program, args)) = args.split_first() else { return 2 };
    // A copy that is closed by exec, and still there to write to if exec fails.
    let Ok(slot) = io::stdin().as_fd().try_clone_to_owned() else { return 2 };
    let mut slot = File::from(slot);
    if !slot.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return 2;
    }
    // Whatever else the adapter's parent left open is none of the replica's business.
    close_fds::set_fds_cloexec(3, &[]);
    let reason = become_replica(&mut slot, program, args);
    let pid = i32::try_from(std::process::id()).unwrap_or(i32::MAX);
    // If this cannot be written either, the record of a dead process stands, which is true.
    let _ = write_record(&mut slot, &Record::Failed { pid, reason });
    1
}

fn become_replica(slot: &mut File, program: &OsString, args: &[OsString]) -> String {
    if let Err(error) = rustix::process::setsid() {
        return format!("starting a session: {error}");
    }
    let identity = match Identity::own() {
        Ok(identity) => identity,
        Err(error) => return error.to_string(),
    };
    if let Err(error) = write_record(slot, &Record::Running { identity }) {
        return format!("recording the start: {error}");
    }
    let error = command(program).args(args).stdin(Stdio::null()).exec();
    format!("executing {}: {error}", program.display())
}
