//! `exec`: any command as an actuator.
//!
//! Owns the translation between the protocol and two command lines: one that sets the count and,
//! where there is one, one that reads it. Never decides anything, never remembers anything, and
//! never lets a shell see a command line unless that was asked for. After a crash nothing is left
//! here: what the command did, only the target knows, which is why this actuator declares neither
//! deduplication nor lookup.
//!
//! Without an inspect command, `succeeded` is the command's word: exit 0 is taken to mean that the
//! wished count is declared. Another exit says nothing of the target: what is there is read, and
//! where nobody can read it, nobody knows.

mod template;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};

use serde::Deserialize;

pub use template::{Template, TemplateError};

use self::template::Values;
use super::{Adapter, ENVIRONMENT, apply_reply, command, failed, now};
use crate::actuator::protocol::{
    ApplyReply, ApplyRequest, Description, InspectRequest, Inspection, PartialTarget, Reply,
};
use crate::domain::canonical::{DocumentError, from_value, parse_strict};
use crate::domain::id::{Replicas, TargetResourceVersion, TargetUid};
use crate::domain::scale::intent::TargetBinding;
use crate::domain::scale::result::{ActuationRequest, Answer};
use crate::domain::scale::service::Capabilities;

/// The cluster of a target of which nobody said where it is.
pub const CLUSTER_ID: &str = "exec";
/// The runtime of a target of which nobody said where it is.
pub const RUNTIME_ID: &str = "commands";
/// The version of a target of which the inspect command says none.
pub const UNVERSIONED: &str = "unversioned";

/// The longest output of an inspect command, in bytes.
const OUTPUT_BYTES_MAX: u64 = 64 * 1024;

/// The commands, and how their ends are understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecConfig {
    /// Sets the count.
    pub apply: Template,
    /// Prints the count, as a number or as
    /// `{"replicas":N,"ready":M,"uid":…,"resource_version":…}`.
    pub inspect: Option<Template>,
    /// Whether the lines are given to `/bin/sh -c`.
    pub shell: bool,
    /// Exit codes of the apply command after which another attempt cannot help.
    pub terminal_exits: Vec<i32>,
}

/// Serves one call of the protocol over commands. Returns the exit code.
pub fn serve(config: &ExecConfig, stdin: &mut dyn Read, stdout: &mut dyn Write) -> u8 {
    super::serve(&Exec { config }, stdin, stdout)
}

struct Exec<'config> {
    config: &'config ExecConfig,
}

/// Why an inspect command told nothing.
#[derive(Debug, thiserror::Error)]
enum InspectError {
    #[error("no inspect command is configured")]
    NotConfigured,
    #[error("the inspect command needs {0}, which the target does not say yet")]
    Missing(&'static str),
    #[error("running the inspect command: {0}")]
    Io(#[from] io::Error),
    #[error("the inspect command ended with {0}")]
    Ended(ExitStatus),
    #[error("the inspect command printed more than {OUTPUT_BYTES_MAX} bytes")]
    TooLong,
    #[error("the uid is {0} after the call")]
    OtherTarget(TargetUid),
    #[error("the inspect command printed neither a count nor an object with one: {0}")]
    Output(String),
}

/// What an inspect command prints: the count alone, or the count and what else is known.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Printed {
    /// The count.
    pub replicas: Replicas,
    /// How many of them are ready.
    #[serde(default)]
    pub ready: Option<Replicas>,
    /// The identity of the target.
    #[serde(default)]
    pub uid: Option<TargetUid>,
    /// Its version.
    #[serde(default)]
    pub resource_version: Option<TargetResourceVersion>,
}

impl Printed {
    /// Reads the whole output of the command.
    pub fn read(output: &[u8]) -> Result<Self, DocumentError> {
        let value = parse_strict(output)?;
        if value.is_object() {
            return from_value(value);
        }
        let replicas = from_value(value)?;
        Ok(Self { replicas, ready: None, uid: None, resource_version: None })
    }
}

impl Adapter for Exec<'_> {
    fn describe(&self) -> Description {
        Description {
            name: "exec".parse().expect("BUG: the name of an adapter is an identifier"),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            environment: ENVIRONMENT.map(str::to_owned).to_vec(),
            capabilities: Capabilities {
                inspect: self.config.inspect.is_some(),
                ..Capabilities::default()
            },
        }
    }

    fn apply(&self, apply: &ApplyRequest) -> Reply {
        let request = &apply.request;
        let values = Values::of_apply(request);
        let started = match self.config.apply.filled(&values) {
            Ok(words) => self.run(&words),
            Err(missing) => {
                let detail = format!("the apply command needs {missing}");
                return failed(request, "incomplete_target", &detail, false, None);
            }
        };
        let mut child = match started {
            Ok(child) => child,
            Err(error) => {
                let detail = format!("starting the apply command: {error}");
                return failed(request, "command_not_started", &detail, true, None);
            }
        };
        let status = match child.wait() {
            Ok(status) => status,
            Err(error) => {
                let detail = format!("waiting for the apply command: {error}");
                return unknown(apply, "command_lost", &detail);
            }
        };
        let detail = format!("the apply command ended with {status}");
        match status.code() {
            Some(0) => self.confirmed(apply),
            Some(code) => {
                let retryable = !self.config.terminal_exits.contains(&code);
                self.failed(apply, &detail, retryable)
            }
            // What a killed command has done, nobody knows.
            None => unknown(apply, "command_killed", &detail),
        }
    }

    fn inspect(&self, request: &InspectRequest) -> Reply {
        match self.read_target(&request.target) {
            Ok(found) => Reply::Inspect(Box::new(found)),
            Err(InspectError::NotConfigured) => super::undeclared("inspect"),
            Err(error @ InspectError::Missing(_)) => {
                Reply::error("incomplete_target", &error.to_string(), false)
            }
            Err(error) => Reply::error("inspect_failed", &error.to_string(), true),
        }
    }
}

impl Exec<'_> {
    /// The answer after the apply command has ended well.
    fn confirmed(&self, apply: &ApplyRequest) -> Reply {
        let request = &apply.request;
        let (observed_replicas, resource_version_after, detail) = match self.read_same(request) {
            Err((_, InspectError::NotConfigured)) => {
                (request.desired_replicas, None, "the command's word: exit 0")
            }
            Err((code, error)) => return unknown(apply, code, &error.to_string()),
            Ok(found) => {
                let version = found.target.target_resource_version;
                (found.replicas, Some(version), "read after the command ended")
            }
        };
        let answer = Answer::Succeeded { observed_replicas, retryable: false, error_code: None };
        let reply = apply_reply(request, answer, detail);
        Reply::Apply(Box::new(ApplyReply { resource_version_after, ..reply }))
    }

    /// The answer after the apply command has ended badly, which it may do after its effect: the
    /// count that is there tells, and without one nobody knows.
    fn failed(&self, apply: &ApplyRequest, detail: &str, retryable: bool) -> Reply {
        let found = match self.read_same(&apply.request) {
            Ok(found) => found,
            Err((code, error)) => return unknown(apply, code, &format!("{detail}; {error}")),
        };
        let detail = format!("{detail}; {} replicas were read afterwards", found.replicas);
        let error_code = "command_failed".parse().expect("BUG: an error code of our own fits");
        let observed_replicas = Some(found.replicas);
        let answer = Answer::Failed { observed_replicas, retryable, error_code };
        Reply::Apply(Box::new(ApplyReply {
            resource_version_after: Some(found.target.target_resource_version),
            ..apply_reply(&apply.request, answer, &detail)
        }))
    }

    /// The target after a call, if it is still the same object; else why nothing is known of it.
    fn read_same(
        &self,
        request: &ActuationRequest,
    ) -> Result<Inspection, (&'static str, InspectError)> {
        let found = self
            .read_target(&PartialTarget::from(&request.target))
            .map_err(|error| ("inspect_failed", error))?;
        let uid = found.target.target_uid.clone();
        if uid == request.target.target_uid {
            return Ok(found);
        }
        Err(("other_target", InspectError::OtherTarget(uid)))
    }

    fn read_target(&self, target: &PartialTarget) -> Result<Inspection, InspectError> {
        let template = self.config.inspect.as_ref().ok_or(InspectError::NotConfigured)?;
        let words = template.filled(&Values::of_target(target)).map_err(InspectError::Missing)?;
        let read_at = now();
        let output = self.output(&words)?;
        let text = String::from_utf8_lossy(&output);
        let Printed { replicas, ready: ready_replicas, uid, resource_version } =
            Printed::read(&output)
                .map_err(|_| InspectError::Output(text.trim().chars().take(80).collect()))?;
        Ok(Inspection {
            target: found_target(target, uid, resource_version),
            generation: None,
            replicas,
            ready_replicas,
            read_at,
            owners: Vec::new(),
            managers: Vec::new(),
            owners_unread: Vec::new(),
            take_away: Vec::new(),
        })
    }

    /// The output of a command that ended with exit 0.
    fn output(&self, words: &[String]) -> Result<Vec<u8>, InspectError> {
        let mut child = self.line(words).stdout(Stdio::piped()).spawn()?;
        let mut output = Vec::new();
        // The pipe is closed behind the bound: a command that goes on printing gets a broken pipe.
        if let Some(stdout) = child.stdout.take() {
            stdout.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut output)?;
        }
        let status = child.wait()?;
        if !status.success() {
            return Err(InspectError::Ended(status));
        }
        // The first part of it may look like a whole count.
        if output.len() as u64 > OUTPUT_BYTES_MAX {
            return Err(InspectError::TooLong);
        }
        Ok(output)
    }

    /// Starts a command whose output is for people.
    fn run(&self, words: &[String]) -> io::Result<Child> {
        // Our own standard output carries the answer and nothing else.
        let stderr = io::stderr().as_fd().try_clone_to_owned()?;
        self.line(words).stdout(Stdio::from(stderr)).spawn()
    }

    fn line(&self, words: &[String]) -> Command {
        let mut line = if self.config.shell {
            let mut line = command("/bin/sh");
            line.arg("-c").args(words);
            line
        } else {
            let (program, args) = words.split_first().expect("BUG: a template has a first word");
            let mut line = command(program);
            line.args(args);
            line
        };
        line.stdin(Stdio::null());
        line
    }
}

fn unknown(apply: &ApplyRequest, code: &'static str, detail: &str) -> Reply {
    match failed(&apply.request, code, detail, true, None) {
        Reply::Apply(reply) => {
            Reply::Apply(Box::new(ApplyReply { outcome_unknown: true, ..*reply }))
        }
        other => other,
    }
}

fn found_target(
    asked: &PartialTarget,
    uid: Option<TargetUid>,
    version: Option<TargetResourceVersion>,
) -> TargetBinding {
    let workload_id = asked.workload_id.clone();
    let cluster = || CLUSTER_ID.parse().expect("BUG: the cluster is an identifier");
    let runtime = || RUNTIME_ID.parse().expect("BUG: the runtime is an identifier");
    let unversioned = || UNVERSIONED.parse().expect("BUG: the version is an identifier");
    // A command that says no uid cannot tell one object from the next of the same name.
    let same = || TargetUid::derived("exec", workload_id.as_str());
    TargetBinding {
        cluster_id: asked.cluster_id.clone().unwrap_or_else(cluster),
        runtime_id: asked.runtime_id.clone().unwrap_or_else(runtime),
        target_uid: uid.or_else(|| asked.target_uid.clone()).unwrap_or_else(same),
        target_resource_version: version
            .or_else(|| asked.target_resource_version.clone())
            .unwrap_or_else(unversioned),
        workload_id,
    }
}
