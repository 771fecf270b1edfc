//! The same key again: the stored answer, or the conflict that names what differs.

use super::{Draft, approval_required};
use crate::domain::canonical::canonical_json;
use crate::domain::scale::command::{PutForm, PutIntent};
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::intent::RetryPolicy;
use crate::domain::scale::rejection::{Difference, Rejection};
use crate::domain::scale::state::ServiceState;

/// What the key of a put answers now: as stored, unless it waited for somebody in vain.
pub(super) fn answered(draft: &Draft<'_>, put: &PutIntent) -> Option<Result<(), Rejection>> {
    let answer = answer_of_key(draft.state, put)?;
    let stored = draft.state.executions.get(put.key());
    Some(answer.and_then(|()| match stored.map(|stored| (stored, &stored.phase)) {
        // Nobody will answer any more: the key is used up, and its wish is not done.
        Some((stored, Phase::Proposed { until })) if *until <= draft.now => {
            Err(approval_required(draft, stored, *until))
        }
        Some(_) | None => Ok(()),
    }))
}

/// What the key of a put answers, before any gate: the stored answer where it names the same wish,
/// a conflict where it names another one, and nothing where it is new.
pub fn answer_of_key(state: &ServiceState, put: &PutIntent) -> Option<Result<(), Rejection>> {
    let key = put.key();
    if let Some((service, revision)) = &put.key_elsewhere {
        return Some(Err(Rejection::KeyConflict {
            key: key.clone(),
            service: service.clone(),
            revision: *revision,
            differences: vec![Difference {
                field: "service".to_owned(),
                stored: service.to_string(),
                submitted: put.service.to_string(),
            }],
        }));
    }
    state.executions.get(key).map(|stored| redelivered(stored, put))
}

/// The same key again: the same wish is a replay, another one is a conflict that names the fields.
fn redelivered(stored: &Execution, put: &PutIntent) -> Result<(), Rejection> {
    if !put.dry_run && !stored.is_live() {
        return Err(Rejection::SimulatedKey { key: stored.key().clone() });
    }
    let differences = differences(stored, put);
    if differences.is_empty() {
        return Ok(());
    }
    Err(Rejection::KeyConflict {
        key: stored.key().clone(),
        service: stored.intent.service.clone(),
        revision: stored.revision(),
        differences,
    })
}

/// Compares what was submitted, and nothing that was minted.
fn differences(stored: &Execution, put: &PutIntent) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |field: &str, stored: String, submitted: String| {
        if stored != submitted {
            found.push(Difference { field: field.to_owned(), stored, submitted });
        }
    };
    let wish = &stored.intent.wish;
    compare("service", stored.intent.service.to_string(), put.service.to_string());
    compare("dry_run", stored.intent.dry_run.to_string(), put.dry_run.to_string());
    match &put.form {
        PutForm::Flags { replicas, reason, retry, .. } => {
            compare("replicas", wish.desired_replicas.to_string(), replicas.to_string());
            compare(
                "source",
                stored.intent.source.as_str().to_owned(),
                put.source.as_str().to_owned(),
            );
            compare("reason", wish.reason.as_str().to_owned(), reason.as_str().to_owned());
            // A whole record always names its retry policy; flags may leave it, or a part of it, to
            // the registration, and what they leave out is no other wish.
            let kept = match (retry.over(wish.retry_policy), stored.intent.submitted.whole_record) {
                (None, true) => None,
                (Some(_), true) => Some(wish.retry_policy),
                (_, false) => stored.intent.submitted.retry_policy,
            };
            let asked = retry.over(kept.unwrap_or(wish.retry_policy));
            let text = |policy: Option<RetryPolicy>| {
                policy.map_or_else(|| "default".to_owned(), |policy| canonical_json(&policy))
            };
            compare("retry_policy", text(kept), text(asked));
        }
        PutForm::Record(record) => {
            let members = |document: String| {
                serde_json::from_str::<serde_json::Map<_, _>>(&document).unwrap_or_default()
            };
            let kept = stored.record().map_or_else(
                || members(canonical_json(wish)),
                |record| members(canonical_json(&record)),
            );
            for (field, submitted) in members(canonical_json(record)) {
                let kept = kept.get(&field).map_or_else(|| "-".to_owned(), ToString::to_string);
                compare(&field, kept, submitted.to_string());
            }
        }
    }
    found
}
