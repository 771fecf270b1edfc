//! A command that is asked for the samples of one tick: what is wanted on its stdin, the document
//! on its stdout.
//!
//! It gets this process's environment without what is scalectl's and the database's own, within the
//! bounds of an actuator. It is no call: it may be killed at any time, and nothing of it is kept.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::json;

use super::document::{FORMAT_VERSION, samples};
use super::{Samples, Wanted};
use crate::actuator::error::SpawnError;
use crate::actuator::process::{self, Captured, ChildEnd, ChildSpec, Limits, Unwatched};
use crate::domain::time::DurationMs;
use crate::ops::error::OpError;
use crate::ops::session::Place;

/// The command, and how long it may take.
#[derive(Debug, Clone)]
pub struct Provider {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// When it is killed.
    pub timeout: DurationMs,
}

impl Provider {
    pub(super) fn read(&self, wanted: &[Wanted], place: &Place) -> Result<Samples, OpError> {
        let Some((program, args)) = self.command.split_first() else {
            return Ok(Samples::failed("no command was named"));
        };
        let spec = ChildSpec {
            program: PathBuf::from(program),
            args: args.to_vec(),
            env: handed_on(place),
            current_dir: None,
        };
        let question = json!({"format_version": FORMAT_VERSION, "signals": wanted}).to_string();
        let limits = Limits::within(self.timeout);
        let captured = match process::run(&spec, question.as_bytes(), &limits, &mut Unwatched) {
            Ok(captured) => captured,
            Err(SpawnError::Interrupted { signal, .. }) => {
                return Err(OpError::Interrupted { signal, key: None });
            }
            Err(error) => return Ok(Samples::failed(format!("the provider: {error}"))),
        };
        match captured.end {
            ChildEnd::Interrupted(signal) => Err(OpError::Interrupted { signal, key: None }),
            ChildEnd::Exited(0) if captured.stdout_dropped > 0 => {
                Ok(Samples::failed("the provider: it prints over 1 MiB"))
            }
            ChildEnd::Exited(0) => Ok(samples(&captured.stdout, wanted)),
            ChildEnd::Exited(code) => Ok(blamed(&format!("it ended with exit {code}"), &captured)),
            ChildEnd::Signalled(signal) => {
                Ok(blamed(&format!("it ended by signal {signal}"), &captured))
            }
            ChildEnd::TimedOut | ChildEnd::Stopped => {
                Ok(blamed(&format!("no answer within {}", self.timeout), &captured))
            }
        }
    }
}

/// A failure, with the first line that the command wrote for people.
fn blamed(what: &str, captured: &Captured) -> Samples {
    let stderr = String::from_utf8_lossy(&captured.stderr);
    let first = stderr.lines().find(|line| !line.trim().is_empty());
    let first: String = first.unwrap_or_default().chars().take(200).collect();
    let told = if first.is_empty() { String::new() } else { format!(" ({first:?})") };
    Samples::failed(format!("the provider: {what}{told}"))
}

/// The environment but for what is ours or the database's: there may be a password in it.
pub(in crate::ops) fn handed_on(place: &Place) -> Vec<(OsString, OsString)> {
    let is_ours = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("SCALECTL_") || name.starts_with("PG")
    };
    let handed = place.environment.iter().filter(|(name, _)| !is_ours(name));
    handed.map(|(name, value)| (name.clone(), value.clone())).collect()
}
