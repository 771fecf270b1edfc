//! `kubectl`: Deployments and StatefulSets, through one context of kubectl.
//!
//! Owns the translation between the protocol and kubectl's argument lists, the order of the checks
//! before a write (facts: section 6), and one annotation of the object, which holds the newest
//! fence. Never decides who may change a count, never writes anything but the count and that
//! annotation, and never lets a shell see a word.
//!
//! After a crash at any instant: a write is one conditional request of kubectl with the version
//! that was just read. It was accepted whole or it was not, and once the version has moved it never
//! will be. What became of a key the object does not tell, so this actuator neither deduplicates
//! nor looks up; it fences and reads.

mod apply;
mod autoscaler;
mod client;
mod discover;
mod evidence;
mod fence;
mod object;
mod place;
mod read;
#[cfg(test)]
mod tests;

use std::io::{Read, Write};

use self::read::Reader;
pub use self::{autoscaler::owners_in, discover::list_in, read::object_in};
use super::{Adapter, is_variable};
use crate::actuator::host::Deadline;
use crate::actuator::protocol::{
    ApplyRequest, Description, DiscoverRequest, EvidenceRequest, FenceRequest, InspectRequest,
    LookupReply, LookupRequest, Reply,
};
use crate::domain::scale::service::Capabilities;
use crate::domain::time::DurationMs;

/// The variables that it asks for: kubectl finds its settings by them.
const ENVIRONMENT: [&str; 3] = ["HOME", "PATH", "KUBECONFIG"];

/// How long an operation that has no deadline of its own may take.
const READ_TIME: DurationMs = DurationMs::from_secs(50);

/// Reasons by which a server refuses a request that it has not carried out. Those of its own
/// trouble (a timeout, an internal error) prove nothing.
const SERVER_REFUSES: [&str; 8] = [
    "BadRequest",
    "Forbidden",
    "Gone",
    "Invalid",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "UnsupportedMediaType",
];

/// Where evidence for a reduction comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidenceSource {
    /// The status of the rollout.
    Rollout,
    /// Budgets of disruption, and the rollout.
    Budget,
    /// A command: the request on its stdin, the answer on its stdout.
    Provider(Vec<String>),
}

/// Where it may act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubectlConfig {
    context: String,
    namespace: Option<String>,
    evidence: Option<EvidenceSource>,
    environment: Vec<String>,
}

/// Why a place to act in is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not the name of a context.
    #[error(
        "{0:?} is no name of a context: A-Z a-z 0-9 . _ : / @ - that begin with a letter or digit"
    )]
    Context(String),
    /// Not the name of a namespace.
    #[error("{0:?} is no name of a namespace")]
    Namespace(String),
    /// Not the name of a variable.
    #[error("{0:?} is no name of an environment variable")]
    Variable(String),
}

impl KubectlConfig {
    /// A context, the one namespace if there is only one, a source of evidence if there is one, and
    /// the names of variables that kubectl needs besides `HOME`, `PATH` and `KUBECONFIG`.
    pub fn new(
        context: String,
        namespace: Option<String>,
        evidence: Option<EvidenceSource>,
        variables: Vec<String>,
    ) -> Result<Self, ConfigError> {
        if !place::is_context(&context) {
            return Err(ConfigError::Context(context));
        }
        if let Some(namespace) = namespace.as_ref().filter(|name| !place::is_name(name)) {
            return Err(ConfigError::Namespace(namespace.clone()));
        }
        if let Some(name) = variables.iter().find(|name| !is_variable(name)) {
            return Err(ConfigError::Variable(name.clone()));
        }
        let environment = ENVIRONMENT.map(str::to_owned).into_iter().chain(variables).collect();
        Ok(Self { context, namespace, evidence, environment })
    }

    fn context(&self) -> &str {
        &self.context
    }
}

/// Serves one call of the protocol through kubectl. Returns the exit code.
pub fn serve(config: &KubectlConfig, stdin: &mut dyn Read, stdout: &mut dyn Write) -> u8 {
    super::serve(&Kubectl { config }, stdin, stdout)
}

/// Whether kubectl says that the server has answered with one of these reasons.
fn is_server_word(words: &str, reasons: &[&str]) -> bool {
    reasons.iter().any(|reason| words.contains(&format!("Error from server ({reason})")))
}

struct Kubectl<'config> {
    config: &'config KubectlConfig,
}

impl Adapter for Kubectl<'_> {
    fn describe(&self) -> Description {
        Description {
            name: "kubectl".parse().expect("BUG: the name of an adapter is an identifier"),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            environment: self.config.environment.clone(),
            capabilities: Capabilities {
                conditional_on_version: true,
                inspect: true,
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
            .and_then(|reader| reader.inspection(target.cluster_id.as_ref()))
            .map_or_else(|refusal| refusal.reply(), |found| Reply::Inspect(Box::new(found)))
    }

    /// An object does not tell what became of a key.
    fn lookup(&self, _request: &LookupRequest) -> Reply {
        Reply::Lookup(LookupReply::Unknown)
    }

    fn fence(&self, request: &FenceRequest) -> Reply {
        let target = &request.target;
        let until = Deadline::after(READ_TIME);
        Reader::of(self.config, &target.workload_id, Some(&target.runtime_id), until)
            .and_then(|reader| fence::fence(&reader, request))
            .unwrap_or_else(|refusal| refusal.reply())
    }

    fn evidence(&self, request: &EvidenceRequest) -> Reply {
        let Some(source) = &self.config.evidence else {
            return super::undeclared("evidence");
        };
        let target = &request.target;
        let until = Deadline::after(READ_TIME);
        Reader::of(self.config, &target.workload_id, Some(&target.runtime_id), until)
            .and_then(|reader| evidence::evidence(&reader, source, request))
            .unwrap_or_else(|refusal| refusal.reply())
    }

    fn discover(&self, request: &DiscoverRequest) -> Reply {
        discover::discover(self.config, request, Deadline::after(READ_TIME))
            .map_or_else(|refusal| refusal.reply(), |found| Reply::Discover(Box::new(found)))
    }
}
