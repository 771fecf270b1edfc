//! `docker`: replicated services of a Swarm, through one context of the Docker CLI.
//!
//! Owns the translation between the protocol and the API of the engine, the order of the checks
//! before a write (facts: section 6), and two labels of the service: the newest fence, and which
//! call set the count. Never decides who may change a count, and never writes anything else: every
//! other member of a service goes back byte by byte as it came.
//!
//! After a crash at any instant: a write is one request with the version that was just read. The
//! swarm took it whole or did not, and once the version has moved it never will. A label says which
//! call was the newest that it took; so this actuator looks up what was applied, and never says
//! that something never was.

mod apply;
mod discover;
mod engine;
mod evidence;
mod fence;
mod http;
mod members;
mod read;
mod service;
#[cfg(test)]
mod tests;

use std::io::{Read, Write};

use self::read::{Reader, unreadable};
pub use self::{
    discover::services_in,
    http::{Answer, Decoder, HttpError},
    read::{running_in, swarm_in},
    service::{applied_in, rewritten},
};
use super::{Adapter, is_variable, is_word};
use crate::actuator::host::Deadline;
use crate::actuator::protocol::{
    ApplyRequest, Description, DiscoverRequest, EvidenceRequest, FenceRequest, InspectRequest,
    LookupReply, LookupRequest, Reply,
};
use crate::adapters::refusal::Refusal;
use crate::domain::scale::result::{ActuationResult, Answer as Outcome, Detail};
use crate::domain::scale::service::Capabilities;
use crate::domain::time::DurationMs;

/// The variables that it asks for: the CLI finds its contexts by them.
const ENVIRONMENT: [&str; 3] = ["HOME", "PATH", "DOCKER_CONFIG"];
/// The variables that lead the CLI elsewhere than its context: it never sees them.
const HOSTS: [&str; 5] =
    ["DOCKER_CERT_PATH", "DOCKER_CONTEXT", "DOCKER_HOST", "DOCKER_TLS", "DOCKER_TLS_VERIFY"];
/// How long an operation that has no deadline of its own may take.
const READ_TIME: DurationMs = DurationMs::from_secs(50);
/// How a swarm says that the version of a write is not the newest.
const OUT_OF_SEQUENCE: &str = "update out of sequence";

/// Where evidence for a reduction comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidenceSource {
    /// The tasks, and the update of the service.
    Tasks,
    /// A command: the request on its stdin, the answer on its stdout.
    Provider(Vec<String>),
}

/// Where it may act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DockerConfig {
    context: String,
    evidence: Option<EvidenceSource>,
    environment: Vec<String>,
}

/// Why a place to act in is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not the name of a context.
    #[error("{0:?} is no name of a context: A-Z a-z 0-9 . _ + - that begin with a letter or digit")]
    Context(String),
    /// Not the name of a variable.
    #[error("{0:?} is no name of an environment variable")]
    Variable(String),
    /// A variable that would lead elsewhere.
    #[error(
        "{0} would lead elsewhere than the context: make a context of it (docker context create)"
    )]
    Host(String),
}

impl DockerConfig {
    /// A context, a source of evidence if there is one, and the names of variables that docker
    /// needs besides `HOME`, `PATH` and `DOCKER_CONFIG`.
    pub fn new(
        context: String,
        evidence: Option<EvidenceSource>,
        variables: Vec<String>,
    ) -> Result<Self, ConfigError> {
        if !is_word(&context, b"._+-") || context.len() > 256 {
            return Err(ConfigError::Context(context));
        }
        if let Some(name) = variables.iter().find(|name| !is_variable(name)) {
            return Err(ConfigError::Variable(name.clone()));
        }
        if let Some(name) = variables.iter().find(|name| HOSTS.contains(&name.as_str())) {
            return Err(ConfigError::Host(name.clone()));
        }
        let environment = ENVIRONMENT.map(str::to_owned).into_iter().chain(variables).collect();
        Ok(Self { context, evidence, environment })
    }
}

/// Serves one call of the protocol through docker. Returns the exit code.
pub fn serve(config: &DockerConfig, stdin: &mut dyn Read, stdout: &mut dyn Write) -> u8 {
    super::serve(&Docker { config }, stdin, stdout)
}

/// Whether the swarm says that the version has moved.
fn is_out_of_sequence(answer: &Answer) -> bool {
    answer.status >= 400 && read::said(answer).contains(OUT_OF_SEQUENCE)
}

struct Docker<'config> {
    config: &'config DockerConfig,
}

impl Adapter for Docker<'_> {
    fn describe(&self) -> Description {
        Description {
            name: "docker".parse().expect("BUG: the name of an adapter is an identifier"),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            environment: self.config.environment.clone(),
            capabilities: Capabilities {
                conditional_on_version: true,
                inspect: true,
                lookup: true,
                evidence: self.config.evidence.is_some(),
                fence: true,
                discover: true,
                ..Capabilities::default()
            },
        }
    }

    fn apply(&self, apply: &ApplyRequest) -> Reply {
        apply::apply(self.config, apply)
    }

    fn inspect(&self, request: &InspectRequest) -> Reply {
        let target = &request.target;
        let until = Deadline::after(READ_TIME);
        Reader::of(self.config, &target.workload_id, target.runtime_id.as_ref(), until)
            .and_then(|mut reader| reader.inspection(target.cluster_id.as_ref()))
            .map_or_else(|refusal| refusal.reply(), |found| Reply::Inspect(Box::new(found)))
    }

    fn lookup(&self, request: &LookupRequest) -> Reply {
        self.looked_up(request).map_or_else(|refusal| refusal.reply(), Reply::Lookup)
    }

    fn fence(&self, request: &FenceRequest) -> Reply {
        let target = &request.target;
        let until = Deadline::after(READ_TIME);
        Reader::of(self.config, &target.workload_id, Some(&target.runtime_id), until)
            .and_then(|mut reader| fence::fence(&mut reader, request))
            .unwrap_or_else(|refusal| refusal.reply())
    }

    fn evidence(&self, request: &EvidenceRequest) -> Reply {
        let Some(source) = &self.config.evidence else {
            return super::undeclared("evidence");
        };
        let target = &request.target;
        let until = Deadline::after(READ_TIME);
        Reader::of(self.config, &target.workload_id, Some(&target.runtime_id), until)
            .and_then(|mut reader| evidence::evidence(&mut reader, source, request))
            .unwrap_or_else(|refusal| refusal.reply())
    }

    fn discover(&self, request: &DiscoverRequest) -> Reply {
        discover::discover(self.config, request, Deadline::after(READ_TIME))
            .map_or_else(|refusal| refusal.reply(), |found| Reply::Discover(Box::new(found)))
    }
}

impl Docker<'_> {
    /// Whether the newest write of ours was that of a key. That a key is not there proves nothing:
    /// a later write takes its place, and a write may still be on its way.
    fn looked_up(&self, request: &LookupRequest) -> Result<LookupReply, Refusal> {
        let target = &request.target;
        let until = Deadline::after(READ_TIME);
        let runtime = Some(&target.runtime_id);
        let mut reader = Reader::of(self.config, &target.workload_id, runtime, until)?;
        let service = reader.service()?;
        reader.check_cluster(Some(&target.cluster_id))?;
        reader.check_service(&service, Some(&target.target_uid))?;
        let applied = service.applied().map_err(|error| unreadable("its labels", &error))?;
        let Some(ledger) = &request.ledger else { return Ok(LookupReply::Unknown) };
        let found = applied.iter().find(|one| one.is_of(&ledger.id, &request.execution_key));
        let Some(found) = found else { return Ok(LookupReply::Unknown) };
        let answer = Outcome::Succeeded {
            observed_replicas: found.replicas,
            retryable: false,
            error_code: None,
        };
        let result = Box::new(ActuationResult {
            execution_key: request.execution_key.clone(),
            target: target.clone(),
            answer,
            detail: Detail::cut(&found.told()),
            actuator_operation_id: None,
        });
        Ok(LookupReply::Applied { result })
    }
}
