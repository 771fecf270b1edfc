//! `break-glass`: a person passes policy, approval and cooldown once, for one count of one target,
//! and another looks at it afterwards.

use std::path::Path;

use super::breaking::{Breaking, GlassRequest};
use super::error::OpError;
use super::session::Session;
use super::signing::{Sealed, sign};
use crate::domain::id::AuthorizationId;
use crate::domain::scale::command::AuthorityCommand;
use crate::domain::scale::consent::{OpenAuthorization, Review};
use crate::domain::scale::event::{Event, EventBody};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::Detail;
use crate::domain::scale::signed::SignedAct;
use crate::ledger::{EventFilter, StoredEvent};

/// Permits to break the glass, and raises the upper bound under it, in one transaction.
pub fn authorize(session: &mut Session, ask: GlassRequest) -> Result<OpenAuthorization, OpError> {
    let breaking = Breaking::prepare(session, ask)?;
    session.load_policy()?;
    let done = session.decided(breaking.reach(), &[], |txn, by, policy, now| {
        breaking.decide_in(txn, by, policy, now)
    })?;
    let given = done.state.head.authorizations.get(breaking.id()).cloned();
    given.ok_or_else(|| OpError::Internal {
        what: format!("{} was given and is not there", breaking.id()),
    })
}

/// The authorizations that nobody has reviewed, the oldest first.
pub fn unreviewed(session: &mut Session) -> Result<Vec<OpenAuthorization>, OpError> {
    let heads = session.ledger.read()?.service_heads()?;
    let mut found: Vec<OpenAuthorization> =
        heads.into_iter().flat_map(|(_, head)| head.authorizations.into_values()).collect();
    found.sort_by_key(|open| (open.at, open.authorization.authorization_id.clone()));
    Ok(found)
}

/// An authorization with its story, reviewed or not.
pub struct Told {
    /// What was given and done.
    pub glass: OpenAuthorization,
    /// Who looked at it; none while nobody has.
    pub review: Option<Review>,
}

/// Every authorization that was ever given, as the chains tell it, the oldest first: what was
/// reviewed is no longer in the head of its service, and is never forgotten.
pub fn all_told(session: &mut Session) -> Result<Vec<Told>, OpError> {
    let filter = EventFilter::default();
    let events = session
        .ledger
        .read()?
        .events_where(&filter, &|stored| stored.kind.starts_with("authorization_"))?;
    let mut found: Vec<Told> = Vec::new();
    for stored in events {
        let StoredEvent { at, by, body, position, .. } = stored;
        let unreadable = |error: serde_json::Error| OpError::Internal {
            what: format!("event {position} is no event of an authorization: {error}"),
        };
        let event = Event { at, by, body: serde_json::from_value(body).map_err(unreadable)? };
        let Some(id) = event.body.authorization_id() else { continue };
        // A name that follows from a key may be given again after its review.
        let told = found.iter_mut().rev().find(|it| it.glass.authorization.authorization_id == *id);
        match (event.body, told) {
            (EventBody::AuthorizationGranted { authorization }, _) => {
                let glass = OpenAuthorization::given(*authorization, event.by, event.at);
                found.push(Told { glass, review: None });
            }
            (EventBody::AuthorizationReviewed { reason, .. }, Some(told)) => {
                told.review = Some(Review { by: event.by, at: event.at, reason });
            }
            (body, Some(told)) => told.glass.follow(&Event { body, ..event }),
            (_, None) => {}
        }
    }
    Ok(found)
}

/// The authorization of that name, reviewed or not.
pub fn told_of(session: &mut Session, id: &AuthorizationId) -> Result<Told, OpError> {
    let open = unreviewed(session)?;
    if let Some(glass) = open.into_iter().find(|it| it.authorization.authorization_id == *id) {
        return Ok(Told { glass, review: None });
    }
    all_told(session)?
        .into_iter()
        .rev()
        .find(|told| told.glass.authorization.authorization_id == *id)
        .ok_or_else(|| Rejection::NoSuchAuthorization { authorization_id: id.clone() }.into())
}

impl Told {
    /// The authorization, where nobody has reviewed it.
    fn unreviewed(self) -> Result<OpenAuthorization, Rejection> {
        let Self { glass, review } = self;
        match review {
            None => Ok(glass),
            Some(review) => Err(Rejection::Reviewed {
                authorization_id: glass.authorization.authorization_id,
                by: review.by.actor.to_string(),
                at: review.at,
            }),
        }
    }
}

/// Takes an authorization back.
pub fn revoke(
    session: &mut Session,
    id: &AuthorizationId,
    reason: &Detail,
) -> Result<bool, OpError> {
    let service = told_of(session, id)?.unreviewed()?.authorization.service;
    let (named, authorization_id) = (service.clone(), id.clone());
    let reason = reason.clone();
    let command =
        AuthorityCommand::RevokeAuthorization { service: named, authorization_id, reason };
    Ok(session.lay(&service, command)?.committed.is_some())
}

/// Says that somebody has looked at what was done. The same person again is told that it is done.
pub fn review(
    session: &mut Session,
    id: &AuthorizationId,
    reason: &Detail,
    sign_with: Option<&Path>,
) -> Result<bool, OpError> {
    let told = told_of(session, id)?;
    if told.review.as_ref().is_some_and(|review| !review.by.is_other_person(&session.by)) {
        return Ok(false);
    }
    let glass = told.unreviewed()?;
    let service = glass.authorization.service.clone();
    let ledger_id = session.ledger.identity().ledger_id.clone();
    let act = SignedAct::review(&ledger_id, &glass.authorization, reason);
    let sealed = match sign_with {
        Some(key) => sign(session, &service, key, &act.content(), id.as_str())?,
        None => Sealed::default(),
    };
    session.sealed(&sealed, &service, &[], |signing| AuthorityCommand::ReviewAuthorization {
        service: service.clone(),
        authorization_id: id.clone(),
        reason: reason.clone(),
        signing,
    })?;
    Ok(true)
}
