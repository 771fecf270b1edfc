//! `break-glass`: a person passes policy, approval and cooldown once, for one count of one target,
//! and another looks at it afterwards.

use super::error::OpError;
use super::ids::mint;
use super::session::Session;
use super::transition::{Decided, Deciding, Undecided, decide_in};
use crate::domain::id::{AuthorizationId, Replicas, ServiceName};
use crate::domain::scale::command::{AuthorityCommand, Authorize, Command, RegisterService};
use crate::domain::scale::consent::{Incident, OpenAuthorization, Unauthorized};
use crate::domain::scale::gates::fresh_count;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::Detail;
use crate::domain::scale::service::Registration;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::DurationMs;
use crate::ledger::Reach;

/// What is to be permitted.
pub struct GlassRequest {
    /// The service.
    pub service: ServiceName,
    /// The one count that may be wished under it.
    pub desired: Replicas,
    /// What it is for.
    pub incident: Incident,
    /// Why.
    pub reason: Detail,
    /// How long it lasts.
    pub valid_for: DurationMs,
    /// How many wishes may be carried out under it.
    pub max_uses: u8,
    /// Whether whoever gives it vouches that what is not drained may lose its work.
    pub attests_not_drained: bool,
    /// Whether the upper bound is raised to the count, where it is below.
    pub raises_max: bool,
}

/// An authorization with its service.
pub struct Glass {
    /// The authorization.
    pub open: OpenAuthorization,
    /// The service.
    pub head: ServiceHead,
}

/// Permits to break the glass, and raises the upper bound under it, in one transaction.
pub fn authorize(session: &mut Session, ask: &GlassRequest) -> Result<Glass, OpError> {
    let id = short(&mint::<AuthorizationId>("bg-")?)?;
    session.load_policy()?;
    let service = &ask.service;
    let reach = if ask.raises_max { Reach::registration(service) } else { Reach::service(service) };
    let mut txn = session.ledger.write(Session::command_id()?, reach)?;
    let now = session.clock.read(txn.now());
    let mut with = Deciding { by: &session.by, policy: &mut session.policy, now };
    let authorized = decide_in(&mut txn, &mut with, service, &[], |state, _| {
        let registration = state.head.registration.as_ref();
        let is_above = registration.is_some_and(|it| ask.desired > it.max_replicas);
        let ask = Authorize {
            service: service.clone(),
            authorization_id: id.clone(),
            desired_replicas: ask.desired,
            current: fresh_count(&state.head, now),
            incident: ask.incident.clone(),
            reason: ask.reason.clone(),
            valid_for: ask.valid_for,
            max_uses: ask.max_uses,
            attests_not_drained: ask.attests_not_drained,
            raises_max_to: (ask.raises_max && is_above).then_some(ask.desired),
            signature: None,
        };
        Ok(Command::Authority(Box::new(AuthorityCommand::Authorize(ask))))
    });
    let raised = authorized.and_then(|decided| match raise_of(&decided, &id) {
        None => Ok(decided),
        Some(registration) => decide_in(&mut txn, &mut with, service, &[], |state, _| {
            Ok(Command::RegisterService(Box::new(RegisterService {
                registration,
                binding: state.head.binding.clone(),
                expected: None,
                target_holder: None,
                authorization: Some(id.clone()),
            })))
        }),
    });
    match raised {
        Ok(Decided { state, .. }) => {
            let _committed = txn.commit()?;
            session.recorded = true;
            let head = state.head;
            let open = head.authorizations.get(&id).cloned().ok_or_else(|| OpError::Internal {
                what: format!("{id} was given and is not there"),
            })?;
            Ok(Glass { open, head })
        }
        Err(Undecided::Refused(mut refused)) => {
            drop(txn);
            session.keep_refusals(refused.kept.take().as_slice());
            Err(refused.into_error())
        }
        Err(Undecided::Failed(error)) => Err(error),
    }
}

/// The settings with the raised bound, where the authorization lets it be raised.
fn raise_of(decided: &Decided, id: &AuthorizationId) -> Option<Registration> {
    let head = &decided.state.head;
    let max_replicas = head.authorizations.get(id)?.authorization.raises_max_to?;
    Some(Registration { max_replicas, ..head.registration.clone()? })
}

/// A name that people say: `bg-` and eight hex digits. Two of one ledger that are equal are refused
/// by the fold, and the same line again mints another.
fn short(id: &AuthorizationId) -> Result<AuthorizationId, OpError> {
    let text: String = id.as_str().chars().take(11).collect();
    text.parse().map_err(|_| OpError::Internal { what: format!("minted {text}") })
}

/// The authorizations that nobody has reviewed, the oldest first.
pub fn unreviewed(session: &mut Session) -> Result<Vec<Glass>, OpError> {
    let heads = session.ledger.read()?.service_heads()?;
    let mut found: Vec<Glass> = heads
        .into_iter()
        .flat_map(|(_, head)| {
            let all: Vec<OpenAuthorization> = head.authorizations.values().cloned().collect();
            all.into_iter().map(move |open| Glass { open, head: head.clone() })
        })
        .collect();
    found.sort_by_key(|glass| (glass.open.at, glass.open.authorization.authorization_id.clone()));
    Ok(found)
}

/// The authorization of that name, where nobody has reviewed it.
pub fn glass_named(session: &mut Session, id: &AuthorizationId) -> Result<Glass, OpError> {
    let found = unreviewed(session)?;
    found
        .into_iter()
        .find(|glass| glass.open.authorization.authorization_id == *id)
        .ok_or_else(|| Rejection::NoSuchAuthorization { authorization_id: id.clone() }.into())
}

/// Takes an authorization back.
pub fn revoke(
    session: &mut Session,
    id: &AuthorizationId,
    reason: &Detail,
) -> Result<bool, OpError> {
    let service = glass_named(session, id)?.open.authorization.service;
    let (named, authorization_id) = (service.clone(), id.clone());
    let reason = reason.clone();
    let command =
        AuthorityCommand::RevokeAuthorization { service: named, authorization_id, reason };
    Ok(session.lay(&service, command)?.committed.is_some())
}

/// Says that somebody has looked at what was done.
pub fn review(session: &mut Session, id: &AuthorizationId, reason: &Detail) -> Result<(), OpError> {
    let service = glass_named(session, id)?.open.authorization.service;
    let (named, authorization_id) = (service.clone(), id.clone());
    let reason = reason.clone();
    let command =
        AuthorityCommand::ReviewAuthorization { service: named, authorization_id, reason };
    session.lay(&service, command).map(drop)
}

/// Why an authorization cannot be used any more, for whoever looks at it; none while it can.
pub fn over(open: &OpenAuthorization, now: crate::domain::time::Timestamp) -> Option<Unauthorized> {
    if open.revoked_at.is_some() {
        Some(Unauthorized::Revoked)
    } else if open.authorization.until <= now {
        Some(Unauthorized::Expired)
    } else if open.is_open(now) {
        None
    } else {
        Some(Unauthorized::UsedUp)
    }
}
