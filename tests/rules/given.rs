//! What tests of rules give: identifiers, counts, and a policy.

use std::collections::BTreeSet;

use scalectl::domain::id::Replicas;
use scalectl::domain::scale::policy::{PolicyAction, PolicyAnswer, PolicyGate, PolicyQuery};
use serde::de::DeserializeOwned;

/// Reads a test's own text.
pub(crate) fn id<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_value(text.into()).expect("the test's own identifier")
}

pub(crate) fn count(number: u64) -> Replicas {
    Replicas::new(number).expect("the test's own count")
}

/// A policy that permits whatever is not listed.
#[derive(Default, Clone)]
pub(crate) struct Denying(pub(crate) BTreeSet<(String, PolicyAction)>);

impl PolicyGate for Denying {
    fn answer(&self, query: &PolicyQuery) -> PolicyAnswer {
        let denied = |actor: &str| self.0.contains(&(actor.to_owned(), query.action));
        PolicyAnswer {
            allowed: !denied("*") && !denied(&query.actor),
            action: query.action,
            rules: Vec::new(),
            errors: Vec::new(),
            policy_digest: None,
        }
    }
}
