//! The seal of a ledger that goes on elsewhere. The shared step of `ledger copy` and `restore`.

use super::administer::may_administer_in;
use super::error::OpError;
use super::session::Session;
use super::transition::Deciding;
use crate::domain::registry::RegistryBody;
use crate::domain::scale::event::Stamped;
use crate::domain::scale::policy::PolicyAction;
use crate::domain::scale::result::Detail;

/// Seals a ledger: nothing is written to it after this event.
pub(super) fn seal(session: &mut Session, to: String, reason: &Detail) -> Result<(), OpError> {
    session.load_policy()?;
    let by = session.by.clone();
    let mut txn = session.ledger.write_whole(Session::command_id()?)?;
    let at = session.clock.read(txn.now());
    let mut with = Deciding { by: &by, policy: &mut session.policy, now: at };
    let (action, why) = (PolicyAction::Administer, Some(reason.as_str()));
    let decision = may_administer_in(&txn, &mut with, action, "the ledger", why)?;
    let heads = txn.chain_heads()?;
    let body =
        RegistryBody::LedgerSealed { to, heads, reason: reason.clone(), decision, opens: None };
    txn.append_registry(&Stamped { at, by, body })?;
    let _committed = txn.commit()?;
    session.note_recorded();
    Ok(())
}
