//! `init`: a new ledger.

use super::error::OpError;
use super::lock_wait::write_to;
use super::session::Session;
use crate::domain::registry::{PolicyBody, StoredPolicy};
use crate::domain::scale::event::Stamped;
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer};
use crate::ledger::Reach;
use crate::policy::{PolicySource, check, template};

/// Sets the starter policy of a ledger that was just made: services on a `local` actuator, up to 10
/// replicas, for this user of the operating system.
pub fn set_starter_policy(session: &mut Session) -> Result<(), OpError> {
    let text = template::starter(&session.by.os_user);
    let source = PolicySource { file: "starter-local.cedar".to_owned(), text };
    let policy = check(&[source])?;
    let document = serde_json::to_string(&policy)
        .map_err(|error| OpError::Internal { what: format!("a policy is no JSON: {error}") })?;
    let decision = PolicyAnswer {
        allowed: true,
        action: PolicyAction::SetPolicy,
        rules: Vec::new(),
        errors: Vec::new(),
        policy_digest: None,
    };
    let stored = StoredPolicy { digest: policy.digest, document };
    let body = PolicyBody::PolicySet { policy: stored, decision, reason: None };
    let mut txn = write_to(&mut session.ledger, &session.lock_wait, Reach::policy())?;
    let at = session.clock.read(txn.now());
    let event = Stamped { at, by: session.by.clone(), body };
    txn.append_policy(&event)?;
    let _committed = txn.commit()?;
    session.forget_policy();
    Ok(())
}
