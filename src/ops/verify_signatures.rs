//! The signatures of a ledger, held once more against what its events say.
//!
//! Each is held against the list that held when it was recorded, as of that instant: a key that
//! has expired since then was good. What was signed is made anew from the event.

use super::error::OpError;
use super::session::Session;
use super::ssh_keygen::{self, Said};
use crate::domain::id::LedgerId;
use crate::domain::registry::AllowedSigners;
use crate::domain::scale::consent::{Authorization, Consent};
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::provenance::Signer;
use crate::domain::scale::signed::SignedAct;
use crate::ledger::{EventFilter, StoredEvent};

/// What was found.
#[derive(Debug, Default)]
pub struct Signatures {
    /// How many were found good.
    pub good: usize,
    /// Those that are not, and acts without one where the list asked for it.
    pub bad: Vec<String>,
    /// Why nothing could be checked; none where it could.
    pub unchecked: Option<String>,
}

/// Checks every signature.
pub fn verify_signatures(session: &mut Session) -> Result<Signatures, OpError> {
    let read = session.ledger.read()?;
    let lists = read.signers_history()?;
    let is_act = |event: &StoredEvent| {
        let kinds = ["intent_accepted", "intent_rejected", "authorization_granted"];
        kinds.contains(&event.kind.as_str()) || event.kind == "authorization_reviewed"
    };
    let mut found = Signatures::default();
    if lists.is_empty() {
        return Ok(found);
    }
    let filter = EventFilter { after: lists[0].0, ..EventFilter::default() };
    let events = read.events_where(&filter, &is_act)?;
    drop(read);
    for event in &events {
        let list = lists.iter().rev().find(|(position, _)| *position < event.position);
        let (Some((_, list)), Some(act)) = (list, act_of(session, event)?) else { continue };
        let place = format!("event {} of {}", event.sequence, event.stream);
        let act = match act {
            Ok(act) => act,
            Err(why) => {
                found.bad.push(format!("{place}: {why}"));
                continue;
            }
        };
        match (&event.by.signed_by, list.is_required) {
            (None, true) => found.bad.push(format!("{place} is not signed, and was to be")),
            (None, false) => {}
            (Some(signer), _) => match check(session, event, list, signer, &act) {
                Ok(None) => found.good += 1,
                Ok(Some(why)) => found.bad.push(format!("{place}: {why}")),
                Err(OpError::Usage { message, .. }) => {
                    found.unchecked = Some(message);
                    return Ok(found);
                }
                Err(error) => return Err(error),
            },
        }
    }
    Ok(found)
}

/// Why a signature is not good; none where it is.
fn check(
    session: &Session,
    event: &StoredEvent,
    list: &AllowedSigners,
    signer: &Signer,
    content: &str,
) -> Result<Option<String>, OpError> {
    let place = &session.place;
    let said = ssh_keygen::verify(place, &list.text, &signer.signature, content, event.at)?;
    Ok(match said {
        Said::Bad(why) => Some(why),
        Said::Good(signed) => {
            let is_same =
                signed.principal == signer.principal && signed.fingerprint == signer.fingerprint;
            let why = || format!("it is signed by {}, not {}", signed.principal, signer.principal);
            (!is_same).then(why)
        }
    })
}

/// What was signed, or why nobody can say; none where the event records no act that can be.
type Act = Option<Result<String, &'static str>>;

/// What of an act is not there any more, or was never there.
const NO_WISH: &str = "the wish that it answers is not there, or was never proposed";
const NO_GRANT: &str = "the authorization that it reviews was never given";

fn act_of(session: &mut Session, event: &StoredEvent) -> Result<Act, OpError> {
    let ledger_id = session.ledger.identity().ledger_id.clone();
    let Ok(body) = serde_json::from_value::<EventBody>(event.body.clone()) else {
        return Ok(Some(Err("what it records cannot be read, so neither can what was signed")));
    };
    Ok(match body {
        EventBody::IntentAccepted { intent, acceptance, .. } => {
            let Some(Consent::Approval { approval }) = acceptance.consent else { return Ok(None) };
            let key = intent.wish.execution_key.clone();
            let execution = session.ledger.read()?.find_execution(&key)?;
            let act = answer(&ledger_id, execution.as_ref(), true, &approval.reason);
            Some(act.ok_or(NO_WISH))
        }
        EventBody::IntentRejected { execution_key, reason, .. } => {
            let execution = session.ledger.read()?.find_execution(&execution_key)?;
            Some(answer(&ledger_id, execution.as_ref(), false, &reason).ok_or(NO_WISH))
        }
        EventBody::AuthorizationGranted { authorization } => {
            let valid_for = authorization.until.since(event.at);
            Some(Ok(SignedAct::authorization(&ledger_id, &authorization, valid_for).content()))
        }
        EventBody::AuthorizationReviewed { authorization_id, reason, .. } => {
            let given = given(session, event, authorization_id.as_str())?;
            let act = given.map(|given| SignedAct::review(&ledger_id, &given, &reason).content());
            Some(act.ok_or(NO_GRANT))
        }
        _ => None,
    })
}

fn answer(
    ledger_id: &LedgerId,
    execution: Option<&Execution>,
    grants: bool,
    reason: &crate::domain::scale::result::Detail,
) -> Option<String> {
    let execution = execution?;
    let asked = execution.asked.as_ref()?;
    Some(SignedAct::answer(ledger_id, execution, asked, grants, reason).content())
}

/// The authorization that a review is about, which is not in the service any more: of several of
/// the same name the last before it.
fn given(
    session: &mut Session,
    event: &StoredEvent,
    id: &str,
) -> Result<Option<Authorization>, OpError> {
    let filter = EventFilter { streams: vec![event.stream.clone()], ..EventFilter::default() };
    let reviewed_at = event.position;
    let is_it = |event: &StoredEvent| {
        event.position < reviewed_at
            && event.kind == "authorization_granted"
            && event.body["authorization"]["authorization_id"] == id
    };
    let events = session.ledger.read()?.events_where(&filter, &is_it)?;
    let body = events.last().map(|event| serde_json::from_value::<EventBody>(event.body.clone()));
    Ok(match body {
        Some(Ok(EventBody::AuthorizationGranted { authorization })) => Some(*authorization),
        _ => None,
    })
}
