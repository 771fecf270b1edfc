//! The bundled actuators: the child side of the protocol.
//!
//! Owns the one loop that every bundled actuator shares: read one bounded request, do it, write one
//! answer, exit 0. Never touches a ledger: what an actuator must remember, it remembers at its
//! target. What holds after a crash is said by each adapter; this module itself stores nothing.

mod child;
mod discovery;
pub mod docker;
mod durable;
pub mod exec;
pub mod kubectl;
pub mod local;
mod mark;
mod provider;
mod refusal;
pub mod relocator;

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::process::Command;
use std::time::SystemTime;

pub use self::mark::mark_in;
use crate::actuator::protocol::{
    ApplyReply, ApplyRequest, Description, DiscoverRequest, EvidenceRequest, FenceRequest,
    InspectRequest, LookupRequest, Reply, Request, RequestError,
};
use crate::domain::canonical::DOCUMENT_BYTES_MAX;
use crate::domain::id::{ErrorCode, Replicas};
use crate::domain::scale::result::{ActuationRequest, ActuationResult, Answer, Detail};
use crate::domain::time::Timestamp;

/// The variables that a bundled actuator asks for unless it says otherwise.
pub const ENVIRONMENT: [&str; 5] = ["HOME", "PATH", "LANG", "USER", "TMPDIR"];

/// One bundled actuator. What it does not declare, it refuses.
pub trait Adapter {
    /// Who it is and what it can do.
    fn describe(&self) -> Description;

    /// Makes the count as wished.
    fn apply(&self, apply: &ApplyRequest) -> Reply;

    /// Reads the target.
    fn inspect(&self, _request: &InspectRequest) -> Reply {
        undeclared("inspect")
    }

    /// Says what became of a key.
    fn lookup(&self, _request: &LookupRequest) -> Reply {
        undeclared("lookup")
    }

    /// Makes older calls harmless.
    fn fence(&self, _request: &FenceRequest) -> Reply {
        undeclared("fence")
    }

    /// Gathers evidence for a reduction.
    fn evidence(&self, _request: &EvidenceRequest) -> Reply {
        undeclared("evidence")
    }

    /// Lists what it could scale.
    fn discover(&self, _request: &DiscoverRequest) -> Reply {
        undeclared("discover")
    }
}

fn undeclared(op: &str) -> Reply {
    Reply::error("not_declared", &format!("this actuator does not declare {op}"), false)
}

/// Serves one call. Returns the exit code: 0 for every answer, a refusal included; 1 if the answer
/// could not be written, because then the reader must not believe that there is one.
pub fn serve(adapter: &dyn Adapter, stdin: &mut dyn Read, stdout: &mut dyn Write) -> u8 {
    let reply = match read_request(stdin) {
        Ok(request) => dispatch(adapter, &request),
        Err(reply) => reply,
    };
    let written = stdout.write_all(reply.to_json().as_bytes()).and_then(|()| stdout.flush());
    u8::from(written.is_err())
}

fn read_request(stdin: &mut dyn Read) -> Result<Request, Reply> {
    // One byte more than is allowed, so that a longer request is seen to be longer.
    let bytes_max = u64::try_from(DOCUMENT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    stdin.take(bytes_max).read_to_end(&mut bytes).map_err(|error| {
        Reply::error("bad_request", &format!("reading the request from stdin: {error}"), false)
    })?;
    Request::read(&bytes).map_err(|error| {
        let code = match error {
            RequestError::Op { .. } => "unknown_op",
            RequestError::Protocol { .. } => "unknown_protocol",
            RequestError::Document(_) => "bad_request",
        };
        Reply::error(code, &error.to_string(), false)
    })
}

fn dispatch(adapter: &dyn Adapter, request: &Request) -> Reply {
    match request {
        Request::Describe => Reply::Describe(adapter.describe()),
        // Nobody asks an actuator to simulate; carrying it out would be an effect nobody wished.
        Request::Apply(apply) if apply.request.dry_run => {
            let detail = "a dry run is never sent to an actuator";
            failed(&apply.request, "dry_run", detail, false, None)
        }
        Request::Apply(apply) => adapter.apply(apply),
        Request::Inspect(inspect) => adapter.inspect(inspect),
        Request::Lookup(lookup) => adapter.lookup(lookup),
        Request::Fence(fence) => adapter.fence(fence),
        Request::Evidence(evidence) => adapter.evidence(evidence),
        Request::Discover(discover) => adapter.discover(discover),
    }
}

/// A typed failure.
fn failed(
    request: &ActuationRequest,
    code: &'static str,
    detail: &str,
    retryable: bool,
    observed_replicas: Option<Replicas>,
) -> Reply {
    let error_code: ErrorCode = code.parse().expect("BUG: an error code of our own fits");
    let answer = Answer::Failed { observed_replicas, retryable, error_code };
    Reply::Apply(Box::new(apply_reply(request, answer, detail)))
}

fn apply_reply(request: &ActuationRequest, answer: Answer, detail: &str) -> ApplyReply {
    ApplyReply {
        result: ActuationResult {
            execution_key: request.execution_key.clone(),
            target: request.target.clone(),
            answer,
            detail: Detail::cut(detail),
            actuator_operation_id: None,
        },
        outcome_unknown: false,
        rollback_required: false,
        resource_version_after: None,
    }
}

/// The instant of a reading, on the wall clock, whole milliseconds.
fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "an actuator dates its own readings")]
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX);
    let epoch = Timestamp::from_micros(0).expect("BUG: 1970 is between the years 1 and 9999");
    Timestamp::from_micros(micros).unwrap_or(epoch).truncated_to_millis()
}

#[expect(clippy::disallowed_methods, reason = "the one place where adapters make children")]
fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Whether a text begins with a letter or digit and goes on with these and some more: it cannot be
/// read as an option or as two words.
fn is_word(text: &str, also: &[u8]) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || also.contains(&b))
}

/// Whether a text may name a variable of the environment.
fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A foreign name as an answer may carry it: short, and without anything that moves a cursor.
fn shown_name(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    if text.is_empty() { "(no name)".to_owned() } else { text }
}
