//! A glass that is about to be broken: what is asked for, its name, its signature, and the commands
//! that it makes. `break-glass authorize` gives it alone, `scale` in one write with its wish.

use std::path::PathBuf;

use super::error::OpError;
use super::ids::mint;
use super::policy_cache::PolicyCache;
use super::session::Session;
use super::signing::{Sealed, sign};
use super::transition::{Decided, Deciding, Undecided, decide_in};
use crate::domain::digest::sha256_hex;
use crate::domain::id::{AuthorizationId, ExecutionKey, Replicas, ServiceName};
use crate::domain::scale::command::{
    AuthorityCommand, Authorize, Command, Context, PutIntent, RegisterService,
};
use crate::domain::scale::consent::Incident;
use crate::domain::scale::decide::{decide, on_ledger_clock};
use crate::domain::scale::gates::{Reports, fresh_count, of_put};
use crate::domain::scale::glass::above_max;
use crate::domain::scale::others::Others;
use crate::domain::scale::owners::Owners;
use crate::domain::scale::provenance::Provenance;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::Detail;
use crate::domain::scale::service::Registration;
use crate::domain::scale::signed::{SignedAct, Signing};
use crate::domain::scale::state::{ServiceHead, ServiceState};
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::{Reach, WriteTxn};

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

/// A glass that is about to be broken: its name is known, and it is signed where it is to be.
pub struct Breaking {
    ask: GlassRequest,
    id: AuthorizationId,
    sealed: Sealed,
}

impl Breaking {
    /// Names what is asked for, and signs it. Writes nothing.
    pub fn prepare(session: &mut Session, ask: GlassRequest) -> Result<Self, OpError> {
        let id = id_of(&ask.service, ask.key.as_ref())?;
        let sealed = sign_authorization(session, &ask, &id)?;
        Ok(Self { ask, id, sealed })
    }

    /// Its name.
    pub fn id(&self) -> &AuthorizationId {
        &self.id
    }

    /// What a write of it reads and holds.
    pub(super) fn reach(&self) -> Reach {
        let service = &self.ask.service;
        if self.ask.raises_max { Reach::registration(service) } else { Reach::service(service) }
    }

    fn authorize(&self, head: &ServiceHead, signing: Signing, now: Timestamp) -> Command {
        let ask = Authorize { signing, ..asked(&self.ask, &self.id, head, now) };
        Command::Authority(Box::new(AuthorityCommand::Authorize(ask)))
    }

    /// The raise of the upper bound that was just permitted; none where none is due.
    fn raise(&self, head: &ServiceHead) -> Option<Command> {
        let max_replicas = head.authorizations.get(&self.id)?.authorization.raises_max_to?;
        let registration = Registration { max_replicas, ..head.registration.clone()? };
        Some(Command::RegisterService(Box::new(RegisterService {
            registration,
            binding: head.binding.clone(),
            expected: None,
            accept_uid: None,
            others: Others::default(),
            owners: Owners::default(),
            authorization: Some(self.id.clone()),
        })))
    }

    /// Permits it, and raises the upper bound under it, in a transaction that is not yet durable.
    pub(super) fn decide_in(
        &self,
        txn: &mut WriteTxn<'_>,
        by: &Provenance,
        policy: &mut PolicyCache,
        now: Timestamp,
    ) -> Result<Decided, Undecided> {
        let by = self.sealed.by(by);
        let mut with = Deciding { by: &by, policy, now };
        let service = &self.ask.service;
        let given = decide_in(txn, &mut with, service, &[], |state, txn| {
            Ok(self.authorize(&state.head, self.sealed.signing(txn)?, now))
        })?;
        // What was given before was raised with it.
        match self.raise(&given.state.head).filter(|_| !given.events.is_empty()) {
            None => Ok(given),
            Some(raise) => {
                let raised = decide_in(txn, &mut with, service, &[], |_, _| Ok(raise))?;
                Ok(Decided { events: [given.events, raised.events].concat(), ..raised })
            }
        }
    }

    /// The service as it would stand with the glass broken. Writes nothing.
    pub(super) fn supposed(
        &self,
        session: &mut Session,
        state: &ServiceState,
        now: Timestamp,
    ) -> Result<Result<ServiceState, Rejection>, OpError> {
        let signing = self.sealed.signing(&session.ledger.read()?)?;
        let by = self.sealed.by(&session.by);
        let decided = session.with_context(state, None, |context| {
            let context = Context {
                by: &by,
                ledger_id: context.ledger_id,
                actuator: context.actuator,
                policy: context.policy,
                recent: context.recent,
                placed: None,
            };
            let follow = |state: ServiceState, command: &Command| {
                let decision = decide(&state, command, &context, now)?;
                Ok(decision.events.iter().try_fold(state, ServiceState::apply))
            };
            let given = match follow(state.clone(), &self.authorize(&state.head, signing, now))? {
                Ok(given) => given,
                Err(illegal) => return Ok(Err(illegal)),
            };
            match self.raise(&given.head) {
                None => Ok(Ok(given)),
                Some(raise) => follow(given, &raise),
            }
        })?;
        match decided {
            Ok(Ok(supposed)) => Ok(Ok(supposed)),
            Ok(Err(illegal)) => Err(OpError::Internal { what: illegal.to_string() }),
            Err(rejection) => Ok(Err(rejection)),
        }
    }
}

/// What every gate says of a wish that breaks no glass. Reads nothing but the ledger.
pub fn unbroken(session: &mut Session, put: &PutIntent) -> Result<Reports, OpError> {
    let state = session.load_service(&put.service)?;
    let now = on_ledger_clock(&state, session.now())?;
    let put = PutIntent { authorization: None, ..put.clone() };
    session.with_context(&state, Some(put.key()), |context| of_put(&state, &put, context, now))
}

/// What is asked for, as the service stands.
fn asked(
    ask: &GlassRequest,
    id: &AuthorizationId,
    head: &ServiceHead,
    now: Timestamp,
) -> Authorize {
    let is_above = above_max(head, ask.desired).is_some();
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

/// A name that people say: `bg-` and eight hex digits. It follows from the service and the key of
/// the wish where one is named, so that the same line again finds what it has given, and no two
/// services share a name; else it is minted.
fn id_of(service: &ServiceName, key: Option<&ExecutionKey>) -> Result<AuthorizationId, OpError> {
    let whole = match key {
        Some(key) => {
            format!("bg-{}", sha256_hex(format!("break-glass {service} {key}").as_bytes()))
        }
        None => mint::<AuthorizationId>("bg-")?.to_string(),
    };
    let text: String = whole.chars().take(11).collect();
    text.parse().map_err(|_| OpError::Internal { what: format!("minted {text}") })
}
