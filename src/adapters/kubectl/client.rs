//! Running kubectl: the context and the namespace come first, always; only a list of all namespaces
//! has none.

use serde::de::DeserializeOwned;

use super::{KubectlConfig, is_server_word};
use crate::actuator::host::Deadline;
use crate::adapters::child::{Ended, RunError, run};
use crate::adapters::command;
use crate::adapters::refusal::Refusal;
use crate::domain::canonical::read_document_of_others;
use crate::domain::id::ClusterId;

/// The program.
pub(super) const KUBECTL: &str = "kubectl";
/// Begins a cluster id that is only what the settings of kubectl call the cluster, because its own
/// identity may not be read.
const BY_NAME: &str = "context-cluster";

/// Where kubectl is told to act, until a deadline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client<'a> {
    context: &'a str,
    /// None for all of them, which only a list can mean.
    namespace: Option<&'a str>,
    until: Deadline,
}

/// What a list of a kind came to.
pub(super) enum Listed {
    /// What kubectl printed.
    Printed(Vec<u8>),
    /// It may not be read.
    Forbidden,
    /// The API has no such kind.
    Absent,
}

impl<'a> Client<'a> {
    pub(super) fn of(
        config: &'a KubectlConfig,
        namespace: Option<&'a str>,
        until: Deadline,
    ) -> Self {
        Self { context: &config.context, namespace, until }
    }

    /// Runs kubectl.
    pub(super) fn run(&self, tail: &[&str]) -> Result<Ended, RunError> {
        let mut line = command(KUBECTL);
        line.args(["--context", self.context]);
        line.args(self.namespace.iter().flat_map(|namespace| ["-n", namespace])).args(tail);
        // Its words are read by a machine, so they are not to be translated; and what the settings
        // of a person make of a command is not what was written here.
        line.env("LC_ALL", "C").env("KUBECTL_KUBERC", "false").env("KUBERC", "off");
        run(line, &[], self.until)
    }

    fn ended(&self, tail: &[&str]) -> Result<Ended, Refusal> {
        self.run(tail).map_err(|error| Refusal::of_run(KUBECTL, &error))
    }

    /// What kubectl printed, if it ended well.
    pub(super) fn output(&self, tail: &[&str]) -> Result<Ended, Refusal> {
        let ended = self.ended(tail)?;
        if ended.status.success() {
            return Ok(ended);
        }
        let code = if is_server_word(&ended.words, &["NotFound"]) {
            "no_such_object"
        } else {
            "read_failed"
        };
        let detail = format!("kubectl {} ended with {}: {}", tail[0], ended.status, ended.words);
        Err(Refusal { code, detail, retryable: code == "read_failed" })
    }

    pub(super) fn document<T: DeserializeOwned>(&self, tail: &[&str]) -> Result<T, Refusal> {
        let ended = self.output(tail)?;
        read_document_of_others(&ended.stdout).map_err(|error| {
            let detail = format!("what kubectl {} printed cannot be read: {error}", tail[0]);
            Refusal::retryable("read_failed", detail)
        })
    }

    /// All of a kind, if they may be read and there is such a kind.
    pub(super) fn list(&self, resource: &str, more: &[&str]) -> Result<Listed, Refusal> {
        let all: &[&str] = if self.namespace.is_none() { &["--all-namespaces"] } else { &[] };
        let ended = self.ended(&[&["get", resource, "-o", "json"], all, more].concat())?;
        if ended.status.success() {
            return Ok(Listed::Printed(ended.stdout));
        }
        if has_no_such_kind(&ended.words) {
            return Ok(Listed::Absent);
        }
        if is_server_word(&ended.words, &["Forbidden"]) {
            return Ok(Listed::Forbidden);
        }
        let detail = format!("kubectl get {resource}: {}", ended.words);
        Err(Refusal::retryable("read_failed", detail))
    }

    /// Whether the context leads to the cluster that is asked for; which one it leads to where none
    /// was named. A cluster is known by the uid of its namespace kube-system. Only where that may
    /// not be read it is known by its name in the settings, and then the id says so.
    pub(super) fn check_cluster(&self, asked: Option<&ClusterId>) -> Result<ClusterId, Refusal> {
        let by_name = asked.is_some_and(|asked| asked.as_str().starts_with(&format!("{BY_NAME}:")));
        let found = if by_name { None } else { self.cluster_uid()? };
        let found = match (found, asked) {
            (Some(found), _) => found,
            (None, Some(asked)) if !by_name => {
                let detail = format!(
                    "namespace kube-system may not be read, so nobody can say whether context {} \
                     leads to cluster {asked}",
                    self.context
                );
                return Err(Refusal::retryable("cluster_unproved", detail));
            }
            (None, _) => self.cluster_name()?,
        };
        if let Some(asked) = asked.filter(|asked| **asked != found) {
            let context = self.context;
            let detail = format!("context {context} leads to cluster {found}, not to {asked}");
            return Err(Refusal::terminal("other_cluster", detail));
        }
        Ok(found)
    }

    /// None where it may not be read.
    fn cluster_uid(&self) -> Result<Option<ClusterId>, Refusal> {
        let tail = ["get", "namespace/kube-system", "-o", "jsonpath={.metadata.uid}"];
        let ended = self.ended(&tail)?;
        if !ended.status.success() {
            if is_server_word(&ended.words, &["Forbidden", "NotFound"]) {
                return Ok(None);
            }
            let detail = format!("reading namespace kube-system: {}", ended.words);
            return Err(Refusal::retryable("read_failed", detail));
        }
        let uid = String::from_utf8_lossy(&ended.stdout).into_owned();
        uid.parse().map(Some).map_err(|_| {
            let detail = format!("the uid of namespace kube-system is {uid:?}");
            Refusal::retryable("read_failed", detail)
        })
    }

    fn cluster_name(&self) -> Result<ClusterId, Refusal> {
        let path = "jsonpath={.contexts[0].context.cluster}";
        let ended = self.output(&["config", "view", "--minify", "-o", path])?;
        let name = String::from_utf8_lossy(&ended.stdout).into_owned();
        if name.is_empty() {
            let detail = format!("context {} names no cluster", self.context);
            return Err(Refusal::terminal("other_cluster", detail));
        }
        Ok(ClusterId::derived(BY_NAME, &name))
    }
}

/// Whether the API has no such kind at all: then nobody of that kind drives anything.
fn has_no_such_kind(words: &str) -> bool {
    words.contains("the server doesn't have a resource type")
        || words.contains("the server could not find the requested resource")
}
