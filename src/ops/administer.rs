//! Whether a person may change the ledger itself. The shared step of `actuator put`, `actuator
//! check` and `policy put`.

use super::error::OpError;
use super::session::Session;
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer, PolicyQuery, PolicyResource};
use crate::domain::scale::provenance::WishSource;
use crate::domain::scale::rejection::Rejection;

/// The question whether this person may change the ledger itself.
pub(crate) fn ledger_query(session: &Session, action: PolicyAction) -> PolicyQuery {
    let resource = PolicyResource::Ledger { id: session.ledger.identity().ledger_id.to_string() };
    PolicyQuery::of(&session.by, action, resource, WishSource::Cli, session.now())
}

/// Whether policy lets this person change the ledger itself.
pub(crate) fn may_administer(
    session: &mut Session,
    action: PolicyAction,
    subject: &str,
) -> Result<PolicyAnswer, OpError> {
    let query = ledger_query(session, action);
    let answer = session.ask_policy(&query)?;
    if answer.allowed {
        return Ok(answer);
    }
    Err(Rejection::Denied {
        actor: session.by.actor.to_string(),
        subject: subject.to_owned(),
        answer: Box::new(answer),
    }
    .into())
}
