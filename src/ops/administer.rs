//! Whether a person may change the ledger itself. The shared step of `actuator put`, `policy put`,
//! `ledger copy` and `restore`, which decide it inside their own write, by the policy that it sees;
//! and of `actuator check`, which writes nothing.

use super::error::OpError;
use super::policy_cache::PolicyInTxn;
use super::session::Session;
use super::transition::Deciding;
use crate::domain::id::LedgerId;
use crate::domain::scale::policy::{
    PolicyAction, PolicyAnswer, PolicyGate as _, PolicyQuery, PolicyResource,
};
use crate::domain::scale::provenance::{Provenance, WishSource};
use crate::domain::scale::rejection::Rejection;
use crate::domain::time::Timestamp;
use crate::ledger::ReadTxn;

/// The question whether this person may change the ledger itself.
pub(crate) fn ledger_query(
    by: &Provenance,
    ledger_id: &LedgerId,
    action: PolicyAction,
    reason: Option<&str>,
    at: Timestamp,
) -> PolicyQuery {
    let resource = PolicyResource::Ledger { id: ledger_id.to_string() };
    let query = PolicyQuery::of(by, action, resource, WishSource::Cli, at);
    PolicyQuery { reason: reason.map(str::to_owned), ..query }
}

/// Whether policy lets this person change the ledger itself, as it stands right now: enough to
/// refuse early, and not to write.
pub(crate) fn may_administer(
    session: &mut Session,
    action: PolicyAction,
    subject: &str,
    reason: Option<&str>,
) -> Result<PolicyAnswer, OpError> {
    let ledger_id = session.ledger.identity().ledger_id.clone();
    let query = ledger_query(&session.by, &ledger_id, action, reason, session.now());
    let answer = session.ask_policy(&query)?;
    allowed(answer, &session.by, subject)
}

/// The same inside a write, by the policy that it sees: nobody replaces that before its end.
pub(super) fn may_administer_in(
    txn: &ReadTxn<'_>,
    with: &mut Deciding<'_>,
    action: PolicyAction,
    subject: &str,
    reason: Option<&str>,
) -> Result<PolicyAnswer, OpError> {
    let query = ledger_query(with.by, &txn.identity().ledger_id, action, reason, with.now);
    let policy = PolicyInTxn::new(txn, with.policy);
    let answer = policy.answer(&query);
    policy.finish()?;
    allowed(answer, with.by, subject)
}

fn allowed(answer: PolicyAnswer, by: &Provenance, subject: &str) -> Result<PolicyAnswer, OpError> {
    if answer.allowed {
        return Ok(answer);
    }
    Err(Rejection::Denied {
        actor: by.actor.to_string(),
        subject: subject.to_owned(),
        answer: Box::new(answer),
    }
    .into())
}
