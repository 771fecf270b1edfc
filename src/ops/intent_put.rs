//! `intent put`: one wish, recorded.

use super::breaking::Breaking;
use super::error::OpError;
use super::report::Report;
use super::session::Session;
use super::transition::{Deciding, decide_in, elsewhere};
use crate::domain::id::ExecutionKey;
use crate::domain::scale::command::{Command, PutIntent};
use crate::domain::scale::identity::intended_identity;
use crate::domain::scale::left::Left;
use crate::domain::scale::state::ServiceState;
use crate::ledger::{Reach, ReadTxn};

/// Puts a wish. The facts about the rest of the ledger are filled in here.
pub fn intent_put(session: &mut Session, put: PutIntent) -> Result<Report, OpError> {
    put_under(session, None, put)
}

/// The same, and breaks the glass that it is for in the same transaction: a refused wish leaves no
/// authorization behind.
pub(super) fn put_under(
    session: &mut Session,
    breaking: Option<&Breaking>,
    put: PutIntent,
) -> Result<Report, OpError> {
    let key = put.key().clone();
    let service = put.service.clone();
    let keys: Vec<ExecutionKey> =
        std::iter::once(key.clone()).chain(put.rolls_back.clone()).collect();
    let reach = breaking.map_or_else(|| Reach::service(&service), Breaking::reach);
    session.load_policy()?;
    let mut broken = Vec::new();
    let decided = session.decided(reach, &keys, |txn, by, policy, now| {
        // The same line again breaks no second glass.
        if let Some(breaking) = breaking
            && txn.find_execution(&key)?.is_none()
        {
            broken = breaking.decide_in(txn, by, policy, now)?.events;
        }
        decide_in(txn, &mut Deciding { by, policy, now }, &service, &keys, |state, txn| {
            Ok(Command::Put(Box::new(with_ledger_facts(put, state, txn)?)))
        })
    });
    let transition = match decided {
        Ok(transition) => transition,
        Err(error) => {
            // What the key has left is not denied by a put that could not even be answered. Whoever
            // cannot be asked says nothing.
            let found = session.find(&key);
            // The key of another service: that one's calls are nothing of this line's.
            if found.is_ok_and(|it| it.is_some_and(|(_, it)| it.intent.service != service)) {
                session.note_left(Left::Nothing);
            }
            return Err(error);
        }
    };
    session.notify(&broken, &transition.state);
    Report::of(transition, &key)
}

/// What a put must know about the rest of the ledger: whose the key is, and whose the id.
pub(crate) fn with_ledger_facts(
    mut put: PutIntent,
    state: &ServiceState,
    read: &ReadTxn<'_>,
) -> Result<PutIntent, OpError> {
    let key = put.key().clone();
    put.key_elsewhere =
        elsewhere(state, read, &key)?.map(|it| (it.intent.service.clone(), it.revision()));
    if let Some(undone) = &put.rolls_back {
        put.rolls_back_elsewhere = elsewhere(state, read, undone)?.map(Box::new);
    }
    if let Some((id, revision)) = intended_identity(state, &put) {
        let registration = state.head.registration.as_ref();
        let actuator = registration.and_then(|registration| registration.actuator.as_ref());
        read.look_ahead(actuator, Some((&id, revision)))?;
        put.id_owner = read.intent_owner(&id, revision)?.filter(|owner| *owner != key);
    }
    Ok(put)
}
