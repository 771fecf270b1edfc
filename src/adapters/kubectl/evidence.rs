//! Evidence for a reduction: from the rollout, from budgets of disruption, or from a command.
//!
//! Says true only for what was measured. A boolean is `true`, never `1` or `"true"`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::EvidenceSource;
use super::object::Object;
use super::place::Kind;
use super::read::Reader;
use crate::actuator::protocol::{EvidenceRequest, Reply};
use crate::adapters::refusal::Refusal;
use crate::adapters::{now, provider};
use crate::domain::id::Replicas;
use crate::domain::scale::observation::Evidence;

/// A budget of disruption, of policy/v1.
#[derive(Debug, Deserialize)]
pub(super) struct Budget {
    metadata: BudgetMetadata,
    spec: BudgetSpec,
    #[serde(default)]
    status: BudgetStatus,
}

#[derive(Debug, Deserialize)]
struct BudgetMetadata {
    generation: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct BudgetSpec {
    selector: Option<Selector>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BudgetStatus {
    observed_generation: Option<u64>,
    disruptions_allowed: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Selector {
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
    #[serde(default)]
    match_expressions: Vec<Expression>,
}

#[derive(Debug, Deserialize)]
struct Expression {
    key: String,
    operator: Operator,
    #[serde(default)]
    values: Vec<String>,
}

/// An operator that is not known here makes the list unreadable: nothing is guessed.
#[derive(Debug, Clone, Copy, Deserialize)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl Budget {
    /// Whether it is about pods with these labels. An empty selector is about all, none about none.
    pub(super) fn is_about(&self, labels: &BTreeMap<String, String>) -> bool {
        let Some(selector) = &self.spec.selector else { return false };
        let has = |(key, value): (&String, &String)| labels.get(key) == Some(value);
        selector.match_labels.iter().all(has)
            && selector.match_expressions.iter().all(|expression| {
                let found = labels.get(&expression.key);
                let is_listed = found.is_some_and(|value| expression.values.contains(value));
                match expression.operator {
                    Operator::In => is_listed,
                    Operator::NotIn => !is_listed,
                    Operator::Exists => found.is_some(),
                    Operator::DoesNotExist => found.is_none(),
                }
            })
    }

    /// Whether it lets so many pods go, by a status that has seen it as it is.
    pub(super) fn allows(&self, gone: u64) -> bool {
        let status = &self.status;
        let is_seen = match (status.observed_generation, self.metadata.generation) {
            (Some(seen), Some(generation)) => seen >= generation,
            (None, _) | (_, None) => false,
        };
        let allowed = status.disruptions_allowed.and_then(|n| u64::try_from(n).ok());
        is_seen && allowed.is_some_and(|allowed| allowed >= gone)
    }
}

/// Gathers the evidence of the configured source.
pub(super) fn evidence(
    reader: &Reader<'_>,
    source: &EvidenceSource,
    request: &EvidenceRequest,
) -> Result<Reply, Refusal> {
    let read_at = now();
    let object = reader.object()?;
    reader.client().check_cluster(Some(&request.target.cluster_id))?;
    reader.check_object(&object, Some(&request.target.target_uid))?;
    let current = reader.declared(&object)?;
    let asked = Asked { kind: reader.place.kind, current, desired: request.desired };
    let measured = match source {
        EvidenceSource::Rollout => asked.by_rollout(&object),
        EvidenceSource::Budget => {
            let budgets = reader.list::<Budget>("poddisruptionbudgets.policy")?;
            asked.by_budgets(&object, &budgets)
        }
        EvidenceSource::Provider(words) => {
            return provided(reader, words, request).map(|found| Reply::Evidence(Box::new(found)));
        }
    };
    Ok(Reply::Evidence(Box::new(Evidence {
        drained: measured.drained,
        stabilized: measured.stabilized,
        resource_version: object.metadata.resource_version.clone(),
        observed_replicas: current,
        remaining_replicas: request.desired,
        quorum_safe: measured.quorum_safe,
        read_at,
    })))
}

/// What a reduction would be.
pub(super) struct Asked {
    pub(super) kind: Kind,
    pub(super) current: Replicas,
    pub(super) desired: Replicas,
}

/// What was measured about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) drained: bool,
    pub(super) stabilized: bool,
    pub(super) quorum_safe: Option<bool>,
}

impl Asked {
    /// Stabilized where the controller is done with all that was wished. Drained where each pod
    /// that goes has its grace: Kubernetes takes it out of service first and lets it finish. Of a
    /// quorum a rollout knows nothing, which for a StatefulSet is not safe.
    pub(super) fn by_rollout(&self, object: &Object) -> Measured {
        let status = &object.status;
        let is_all = |count| object.counted(count) == Some(self.current);
        let same_revision = match (&status.current_revision, &status.update_revision) {
            (Some(current), Some(update)) => current == update,
            (None, _) | (_, None) => self.kind == Kind::Deployment,
        };
        let stabilized = same_revision
            && is_all(status.replicas)
            && is_all(status.updated_replicas)
            && is_all(status.available_replicas);
        let grace = object.spec.template.spec.termination_grace_period_seconds;
        Measured {
            drained: stabilized && grace.is_some_and(|seconds| seconds > 0),
            stabilized,
            quorum_safe: self.quorum(false),
        }
    }

    /// As the rollout says, and every budget that is about the pods lets so many go; there must be
    /// one. A quorum survives where that holds and more than half of the members remain.
    pub(super) fn by_budgets(&self, object: &Object, budgets: &[Budget]) -> Measured {
        let rollout = self.by_rollout(object);
        let gone = self.current.get().saturating_sub(self.desired.get());
        let labels = &object.spec.template.metadata.labels;
        let mut about = budgets.iter().filter(|budget| budget.is_about(labels)).peekable();
        let allowed = about.peek().is_some() && about.all(|budget| budget.allows(gone));
        let most_remain = self.desired.get() > self.current.get() / 2;
        Measured {
            drained: rollout.drained && allowed,
            stabilized: rollout.stabilized,
            quorum_safe: self.quorum(rollout.stabilized && allowed && most_remain),
        }
    }

    /// A Deployment has a quorum only where somebody says so; a StatefulSet always does.
    fn quorum(&self, is_safe: bool) -> Option<bool> {
        match self.kind {
            Kind::StatefulSet => Some(is_safe),
            Kind::Deployment => is_safe.then_some(true),
        }
    }
}

fn provided(
    reader: &Reader<'_>,
    words: &[String],
    request: &EvidenceRequest,
) -> Result<Evidence, Refusal> {
    let found = provider::evidence(words, request, reader.until)?;
    let quorum_safe = match reader.place.kind {
        Kind::StatefulSet => Some(found.quorum_safe == Some(true)),
        Kind::Deployment => found.quorum_safe,
    };
    Ok(Evidence { quorum_safe, ..found })
}
