//! `break-glass`: a person passes policy, approval and cooldown once, for one count of one target,
//! and another looks at it afterwards.

use std::path::{Path, PathBuf};

use super::error::OpError;
use super::ids::mint;
use super::lock_wait::write_to;
use super::session::Session;
use super::signing::{Sealed, sign};
use super::transition::{Decided, Deciding, Undecided, decide_in};
use crate::domain::digest::sha256_hex;
use crate::domain::id::{AuthorizationId, ExecutionKey, Replicas, ServiceName};
use crate::domain::scale::command::{AuthorityCommand, Authorize, Command, RegisterService};
use crate::domain::scale::consent::{Incident, OpenAuthorization};
use crate::domain::scale::gates::fresh_count;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::Detail;
use crate::domain::scale::service::Registration;
use crate::domain::scale::signed::{SignedAct, Signing};
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::{DurationMs, Timestamp};
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
    /// The key to sign it with.
    pub sign_with: Option<PathBuf>,
    /// The key of the wish that it is for: the same line again breaks no second glass.
    pub key: Option<ExecutionKey>,
}

/// Permits to break the glass, and raises the upper bound under it, in one transaction.
pub fn authorize(session: &mut Session, ask: &GlassRequest) -> Result<OpenAuthorization, OpError> {
    let id = id_of(ask.key.as_ref())?;
    session.load_policy()?;
    let service = &ask.service;
    let sealed = sign_authorization(session, ask, &id)?;
    let reach = if ask.raises_max { Reach::registration(service) } else { Reach::service(service) };
    let counting = session.counting(reach.clone());
    let mut txn = write_to(&mut session.ledger, &session.lock_wait, counting)?;
    if session.policy.lacks_a_lock(&txn)? {
        drop(txn);
        txn = write_to(&mut session.ledger, &session.lock_wait, reach.counting())?;
    }
    let now = session.clock.read(txn.now());
    let by = sealed.by(&session.by);
    let mut with = Deciding { by: &by, policy: &mut session.policy, now };
    let authorized = decide_in(&mut txn, &mut with, service, &[], |state, txn| {
        let signing = sealed.signing(txn)?;
        let ask = Authorize { signing, ..asked(ask, &id, &state.head, now) };
        Ok(Command::Authority(Box::new(AuthorityCommand::Authorize(ask))))
    });
    let raised = authorized.and_then(|decided| match raise_of(&decided, &id) {
        // What was given before was raised with it.
        _ if decided.events.is_empty() => Ok(decided),
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
        Ok(Decided { state, events, .. }) => {
            // There already: nothing was written.
            if events.is_empty() {
                drop(txn);
                session.ledger.confirm()?;
            } else {
                let _committed = txn.commit()?;
                session.recorded = true;
            }
            let given = state.head.authorizations.get(&id).cloned();
            given.ok_or_else(|| OpError::Internal {
                what: format!("{id} was given and is not there"),
            })
        }
        Err(Undecided::Refused(mut refused)) => {
            drop(txn);
            session.keep_refusals(refused.kept.take().as_slice());
            Err(refused.into_error())
        }
        Err(Undecided::Failed(error)) => Err(error),
    }
}

/// What is asked for, as the service stands.
fn asked(
    ask: &GlassRequest,
    id: &AuthorizationId,
    head: &ServiceHead,
    now: Timestamp,
) -> Authorize {
    let registration = head.registration.as_ref();
    let is_above = registration.is_some_and(|it| ask.desired > it.max_replicas);
    Authorize {
        service: ask.service.clone(),
        authorization_id: id.clone(),
        desired_replicas: ask.desired,
        current: fresh_count(head, now),
        incident: ask.incident.clone(),
        reason: ask.reason.clone(),
        valid_for: ask.valid_for,
        max_uses: ask.max_uses,
        attests_not_drained: ask.attests_not_drained,
        raises_max_to: (ask.raises_max && is_above).then_some(ask.desired),
        signing: Signing::default(),
    }
}

/// Signs what is asked for, as the service stands now; the transaction holds that against what it
/// finds.
fn sign_authorization(
    session: &mut Session,
    ask: &GlassRequest,
    id: &AuthorizationId,
) -> Result<Sealed, OpError> {
    let Some(key) = &ask.sign_with else { return Ok(Sealed::default()) };
    let state = session.load_service(&ask.service)?;
    let ledger_id = session.ledger.identity().ledger_id.clone();
    let (Some(registration), Some(binding)) = (&state.head.registration, &state.head.binding)
    else {
        return Ok(Sealed::default());
    };
    let asked = asked(ask, id, &state.head, session.now());
    let act = SignedAct::authorize(&ledger_id, &asked, registration, &binding.target_uid);
    sign(session, &ask.service, key, &act.content(), id.as_str())
}

/// The settings with the raised bound, where the authorization lets it be raised.
fn raise_of(decided: &Decided, id: &AuthorizationId) -> Option<Registration> {
    let head = &decided.state.head;
    let max_replicas = head.authorizations.get(id)?.authorization.raises_max_to?;
    Some(Registration { max_replicas, ..head.registration.clone()? })
}

/// A name that people say: `bg-` and eight hex digits. It follows from the key of the wish where
/// one is named, so that the same line again finds what it has given; else it is minted.
fn id_of(key: Option<&ExecutionKey>) -> Result<AuthorizationId, OpError> {
    let whole = match key {
        Some(key) => format!("bg-{}", sha256_hex(format!("break-glass {key}").as_bytes())),
        None => mint::<AuthorizationId>("bg-")?.to_string(),
    };
    let text: String = whole.chars().take(11).collect();
    text.parse().map_err(|_| OpError::Internal { what: format!("minted {text}") })
}

/// The authorizations that nobody has reviewed, the oldest first.
pub fn unreviewed(session: &mut Session) -> Result<Vec<OpenAuthorization>, OpError> {
    let heads = session.ledger.read()?.service_heads()?;
    let mut found: Vec<OpenAuthorization> =
        heads.into_iter().flat_map(|(_, head)| head.authorizations.into_values()).collect();
    found.sort_by_key(|open| (open.at, open.authorization.authorization_id.clone()));
    Ok(found)
}

/// The authorization of that name, where nobody has reviewed it.
pub fn glass_named(
    session: &mut Session,
    id: &AuthorizationId,
) -> Result<OpenAuthorization, OpError> {
    let found = unreviewed(session)?;
    found
        .into_iter()
        .find(|glass| glass.authorization.authorization_id == *id)
        .ok_or_else(|| Rejection::NoSuchAuthorization { authorization_id: id.clone() }.into())
}

/// Takes an authorization back.
pub fn revoke(
    session: &mut Session,
    id: &AuthorizationId,
    reason: &Detail,
) -> Result<bool, OpError> {
    let service = glass_named(session, id)?.authorization.service;
    let (named, authorization_id) = (service.clone(), id.clone());
    let reason = reason.clone();
    let command =
        AuthorityCommand::RevokeAuthorization { service: named, authorization_id, reason };
    Ok(session.lay(&service, command)?.committed.is_some())
}

/// Says that somebody has looked at what was done.
pub fn review(
    session: &mut Session,
    id: &AuthorizationId,
    reason: &Detail,
    sign_with: Option<&Path>,
) -> Result<(), OpError> {
    let glass = glass_named(session, id)?;
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
    Ok(())
}
