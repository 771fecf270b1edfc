//! `policy put`: another policy, from now on.

use super::administer::{ledger_query, may_administer_in};
use super::error::OpError;
use super::lock_wait::write_to;
use super::session::Session;
use super::transition::Deciding;
use crate::domain::digest::Digest;
use crate::domain::registry::{PolicyBody, StoredPolicy};
use crate::domain::scale::event::Stamped;
use crate::domain::scale::policy::{PolicyAction, PolicyGate};
use crate::domain::scale::result::Detail;
use crate::ledger::Reach;
use crate::policy::{CheckedPolicy, PolicyEngine, PolicySource, check};

/// What a change of the policy came to.
pub struct PolicyChange {
    /// The policy.
    pub policy: CheckedPolicy,
    /// Whether anything changed.
    pub changed: bool,
}

/// Checks a policy and makes it hold. `expected` is the digest that is believed to hold; the empty
/// text stands for none. One that its maker could not replace again is refused, unless
/// `allow_lockout` says that it is meant.
pub fn policy_put(
    session: &mut Session,
    sources: &[PolicySource],
    expected: Option<&str>,
    allow_lockout: bool,
    reason: &Detail,
) -> Result<PolicyChange, OpError> {
    let policy = check(sources)?;
    session.note_findings(&policy)?;
    let engine = PolicyEngine::load(&policy.compiled)
        .map_err(|error| OpError::Internal { what: error.to_string() })?;
    let document = serde_json::to_string(&policy)
        .map_err(|error| OpError::Internal { what: format!("a policy is no JSON: {error}") })?;
    let by = session.by.clone();
    session.load_policy()?;
    let mut txn = write_to(&mut session.ledger, &session.lock_wait, Reach::policy())?;
    let now = session.clock.read(txn.now());
    let mut with = Deciding { by: &by, policy: &mut session.policy, now };
    let why = Some(reason.as_str());
    let action = PolicyAction::SetPolicy;
    let decision = may_administer_in(&txn, &mut with, action, "the policy", why)?;
    let query = ledger_query(&by, &txn.identity().ledger_id, action, why, now);
    let locks_out = !engine.answer(&query).allowed;
    if locks_out && !allow_lockout {
        return Err(lockout());
    }
    let actual = txn.policy()?.map(|stored| stored.digest);
    check_expected(expected, actual)?;
    if actual == Some(policy.digest) {
        drop(txn);
        session.ledger.confirm()?;
        note_lockout(session, locks_out);
        return Ok(PolicyChange { policy, changed: false });
    }
    let stored = StoredPolicy { digest: policy.digest, document };
    let body = PolicyBody::PolicySet { policy: stored, decision, reason: Some(reason.clone()) };
    txn.append_policy(&Stamped { at: now, by, body })?;
    let _committed = txn.commit()?;
    session.forget_policy();
    note_lockout(session, locks_out);
    Ok(PolicyChange { policy, changed: true })
}

fn check_expected(expected: Option<&str>, actual: Option<Digest>) -> Result<(), OpError> {
    let Some(expected) = expected else {
        return Ok(());
    };
    let actual = actual.map_or_else(String::new, |digest| digest.to_string());
    let agrees = if expected.is_empty() { actual.is_empty() } else { actual.starts_with(expected) };
    if agrees {
        return Ok(());
    }
    Err(OpError::PolicyMoved { expected: expected.to_owned(), actual })
}

const LOCKOUT: &str = "this policy does not let you replace it again (action set_policy)";

/// A policy that its maker cannot replace again is most often a mistake, and there is no way back.
fn lockout() -> OpError {
    OpError::Usage {
        code: "policy_lockout",
        message: LOCKOUT.to_owned(),
        hint: Some(
            "permit set_policy on the ledger to you, or say --allow-lockout: then whoever the \
             policy permits it to can replace it, and nobody else"
                .to_owned(),
        ),
    }
}

fn note_lockout(session: &mut Session, locks_out: bool) {
    if locks_out {
        session.notice("policy_lockout", LOCKOUT);
    }
}
