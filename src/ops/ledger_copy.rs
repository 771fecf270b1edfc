//! `ledger copy`: the ledger goes on in another place, on another engine if that is wanted.

use super::administer::may_administer;
use super::error::OpError;
use super::seal::seal;
use super::session::Session;
use crate::domain::registry::RegistryBody;
use crate::domain::scale::event::Stamped;
use crate::domain::scale::policy::PolicyAction;
use crate::domain::scale::result::Detail;
use crate::domain::time::DurationMs;
use crate::ledger::life::{Move, Standing};
use crate::ledger::{Head, LedgerError, Location, OpenOptions};

/// Where a ledger goes.
pub struct LedgerCopy {
    /// The place.
    pub to: Location,
    /// The place, as people write it.
    pub to_shown: String,
    /// Where it comes from, as people write it.
    pub from_shown: String,
    /// Why.
    pub reason: Detail,
    /// How long to wait for others.
    pub lock_timeout: DurationMs,
}

/// What came of it.
pub struct Copied {
    /// How many events this run has copied.
    pub events: u64,
    /// Its incarnation in the new place.
    pub incarnation: u64,
    /// The ends of its chains there.
    pub heads: Vec<Head>,
    /// Whether it had arrived there before.
    pub was_there: bool,
}

/// Moves the ledger. The same line again goes on where it was left.
pub fn ledger_copy(session: &mut Session, order: &LedgerCopy) -> Result<Copied, OpError> {
    let open = OpenOptions { lock_timeout: order.lock_timeout };
    let (standing, incarnation) = session.ledger.read()?.standing()?;
    if let Standing::Sealed { to } = &standing
        && *to != order.to_shown
    {
        let path = session.ledger.identity().path.clone();
        return Err(LedgerError::Sealed { path, to: to.clone() }.into());
    }
    if standing == Standing::Backup {
        let path = session.ledger.identity().path.clone();
        return Err(LedgerError::IsBackup { path }.into());
    }
    // Nothing is begun that could not be ended.
    may_administer(session, PolicyAction::Administer, "the ledger")?;
    let incarnation = incarnation + 1;
    let Some(mut moving) = Move::begin(&mut session.ledger, &order.to, open)? else {
        let heads = session.ledger.read()?.stream_heads()?;
        return Ok(Copied { events: 0, incarnation, heads, was_there: true });
    };
    let mut events = moving.pull(&mut session.ledger)?.events;
    if standing == Standing::Open {
        seal(session, order.to_shown.clone(), &order.reason)?;
    }
    events += moving.pull(&mut session.ledger)?.events;
    let (by, from, now) = (session.by.clone(), order.from_shown.clone(), session.clock.now());
    let commands = [Session::command_id()?, Session::command_id()?];
    let found = moving.open(&mut session.ledger, commands, |incarnation, database| {
        let body = RegistryBody::LedgerOpened { from, incarnation };
        Stamped { at: database.unwrap_or(now), by, body }
    })?;
    Ok(Copied { events, incarnation, heads: found.heads, was_there: false })
}
