//! `restore`: a ledger out of its backup, above all that the lost history may have done.

use std::path::{Path, PathBuf};

use super::administer::may_administer_in;
use super::clock::Clock;
use super::error::OpError;
use super::policy_cache::PolicyInTxn;
use super::seal::seal;
use super::session::{Place, Session};
use super::transition::Deciding;
use crate::domain::id::ServiceName;
use crate::domain::registry::RegistryBody;
use crate::domain::scale::command::{Command, Context};
use crate::domain::scale::decide::decide;
use crate::domain::scale::event::{EventBody, Stamped};
use crate::domain::scale::invariant;
use crate::domain::scale::policy::PolicyAction;
use crate::domain::scale::provenance::Provenance;
use crate::domain::scale::result::Detail;
use crate::domain::scale::state::FenceMark;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::life::{Lost, RestoreOrder, Restoring, Standing};
use crate::ledger::{ExecutionFilter, Head, LedgerError, LedgerIdentity, OpenOptions};

/// What is to be restored.
pub struct Restore<'a> {
    /// The backup.
    pub from: &'a Path,
    /// Where the ledger is to be.
    pub to: &'a Path,
    /// Whether what is there is put aside.
    pub replace: bool,
    /// Whether a ledger that has moved is opened again.
    pub unseal: bool,
    /// Why.
    pub reason: Detail,
    /// How long to wait for others.
    pub lock_timeout: DurationMs,
}

/// What came of it.
pub struct Report {
    /// The ledger.
    pub identity: LedgerIdentity,
    /// Its incarnation now.
    pub incarnation: u64,
    /// Services whose fences were lifted.
    pub services: Vec<ServiceName>,
    /// Keys whose outcome is unknown now.
    pub unknown: Vec<String>,
    /// The ends of its chains.
    pub heads: Vec<Head>,
    /// Where the old one is.
    pub aside: Option<PathBuf>,
    /// Keys of the old one under which a call may still be running: nothing of the new one knows
    /// of them.
    pub running: Vec<String>,
    /// Why the old one could not be asked or sealed.
    pub unreadable: Option<String>,
    /// Side files of a ledger that was not there, under their new names.
    pub orphans: Vec<PathBuf>,
}

/// Puts a backup in place.
pub fn restore(
    order: &Restore<'_>,
    clock: Clock,
    by: Provenance,
    place: Place,
) -> Result<Report, OpError> {
    let open = OpenOptions { lock_timeout: order.lock_timeout, ..OpenOptions::default() };
    let aside = order.replace.then(|| ending(clock.now()));
    let (restoring, ledger) = Restoring::begin(&RestoreOrder {
        from: order.from,
        to: order.to,
        aside: aside.as_deref(),
        command_id: Session::command_id()?,
        open,
    })?;
    let mut session = Session::new(ledger, clock, by.clone(), place.clone());
    let lost = restoring.lost.clone();
    let mut report = raise(&mut session, &lost, order.unseal, &order.reason)?;
    let Session { ledger, clock, .. } = session;
    // What is damaged takes no seal, and is replaced all the same.
    let unsealed = match restoring.old(open) {
        None => None,
        Some(Ok(old)) => {
            let mut old = Session::new(old, clock, by, place);
            let unsealed = seal_the_old(&mut old, order)?;
            // Asked once nothing more can start there.
            report.running = running(&mut old)?;
            unsealed
        }
        Some(Err(error)) if error.is_unavailable() => return Err(error.into()),
        Some(Err(error)) => Some(error.to_string()),
    };
    let restored = restoring.finish(ledger)?;
    report.heads = restored.found.heads;
    report.aside = restored.aside;
    report.orphans = restored.orphans;
    report.unreadable = lost.unreadable.or(unsealed);
    order.to.clone_into(&mut report.identity.path);
    Ok(report)
}

/// The same for a ledger that somebody else has put back: a server's own restore, a snapshot.
pub fn restore_in_place(
    session: &mut Session,
    unseal: bool,
    reason: &Detail,
) -> Result<Report, OpError> {
    let mut report = raise(session, &Lost::default(), unseal, reason)?;
    session.note_recorded();
    report.heads = session.ledger.read()?.stream_heads()?;
    Ok(report)
}

/// `.replaced-20261129T225753Z`, to the millisecond, so that names are in the order of time.
fn ending(now: Timestamp) -> String {
    let micros = now.as_micros();
    let text: String = now.to_string().chars().filter(|c| !"-:Z".contains(*c)).collect();
    let second = text.split('.').next().unwrap_or_default().to_owned();
    format!(".replaced-{second}.{:03}Z", micros.rem_euclid(1_000_000) / 1000)
}

/// Everything in one transaction: nobody sees the old fences in the new incarnation.
fn raise(
    session: &mut Session,
    lost: &Lost,
    unseal: bool,
    reason: &Detail,
) -> Result<Report, OpError> {
    session.load_policy()?;
    let identity = session.ledger.identity().clone();
    let by = session.by.clone();
    let mut txn = session.ledger.write_whole_anyway(Session::command_id()?)?;
    let now = session.clock.read(txn.now());
    let mut with = Deciding { by: &by, policy: &mut session.policy, now };
    let (action, why) = (PolicyAction::Administer, Some(reason.as_str()));
    let decision = may_administer_in(&txn, &mut with, action, "the ledger", why)?;
    let (standing, incarnation) = txn.standing()?;
    match standing {
        Standing::Sealed { to } if !unseal => {
            return Err(LedgerError::Sealed { path: identity.path, to }.into());
        }
        // What is put back goes on under its own name; a backup stays what it is.
        Standing::Backup => return Err(LedgerError::IsBackup { path: identity.path }.into()),
        Standing::Sealed { .. } | Standing::Open => {}
    }
    // Where it has moved to it is another one already.
    let elsewhere = txn.opens_elsewhere()?.unwrap_or_default();
    let incarnation = incarnation.max(lost.incarnation).max(elsewhere).saturating_add(1);
    let body = RegistryBody::LedgerRestored { incarnation, reason: reason.clone(), decision };
    txn.append_registry(&Stamped { at: now, by: by.clone(), body })?;
    // A history that nobody can ask any more has minted nothing above the seconds of this clock:
    // its own restores began below them, and each wish adds to the token.
    let seconds = u64::try_from(now.as_micros() / 1_000_000).unwrap_or(0);
    let lost = FenceMark { epoch: lost.epoch.max(seconds), token: 0, lease_id: None };
    let (mut services, mut unknown) = (Vec::new(), Vec::new());
    for service in txn.service_names()? {
        let state = txn.service_state(&service, &[])?;
        let policy = PolicyInTxn::new(&txn, &mut session.policy);
        let context = Context {
            by: &by,
            ledger_id: &identity.ledger_id,
            actuator: None,
            policy: &policy,
            recent: None,
            placed: None,
        };
        let command = Command::Restore { incarnation, lost: lost.clone() };
        let decided = decide(&state, &command, &context, now);
        policy.finish()?;
        let events = decided?.events;
        let state = txn.append(&service, state, &events)?;
        invariant::check(&state)?;
        unknown.extend(events.iter().filter_map(|event| match &event.body {
            EventBody::AttemptLost { execution_key, .. } => Some(execution_key.to_string()),
            _ => None,
        }));
        services.push(service);
    }
    let _committed = txn.commit()?;
    Ok(Report {
        identity,
        incarnation,
        services,
        unknown,
        heads: Vec::new(),
        aside: None,
        running: Vec::new(),
        unreadable: None,
        orphans: Vec::new(),
    })
}

/// The keys under which a call may be running, or nobody knows what became of one.
fn running(old: &mut Session) -> Result<Vec<String>, OpError> {
    let filter = ExecutionFilter { unfinished: true, ..ExecutionFilter::default() };
    let found = old.ledger.read()?.executions(&filter)?;
    let open = found.iter().filter(|it| it.open_call().is_some());
    Ok(open.map(|it| it.key().to_string()).collect())
}

/// Whoever still has the old one open writes nothing more to it.
fn seal_the_old(old: &mut Session, order: &Restore<'_>) -> Result<Option<String>, OpError> {
    let to = old.ledger.identity().path.display().to_string();
    match seal(old, to, &order.reason) {
        Ok(()) | Err(OpError::Ledger(LedgerError::Sealed { .. })) => Ok(None),
        Err(OpError::Ledger(error)) if !error.is_unavailable() => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}
