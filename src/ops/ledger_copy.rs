//! `ledger copy`: the ledger goes on in another place, on another engine if that is wanted.

use super::administer::may_administer;
use super::error::OpError;
use super::seal::seal;
use super::session::Session;
use crate::domain::scale::policy::PolicyAction;
use crate::domain::scale::result::Detail;
use crate::domain::time::DurationMs;
use crate::ledger::life::{Begun, Move, Opening, Standing};
use crate::ledger::{Head, LedgerError, Location, OpenOptions, Verification};

/// Where a ledger goes.
pub struct LedgerCopy {
    /// The place.
    pub to: Location,
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
    let open = OpenOptions { lock_timeout: order.lock_timeout, ..OpenOptions::default() };
    let (standing, incarnation) = session.ledger.read()?.standing()?;
    // In full: a name may lead elsewhere by now, and so may an address that leaves things open.
    let place = order.to.place();
    if let Standing::Sealed { to } = &standing
        && *to != place
    {
        let path = session.ledger.identity().path.clone();
        return Err(LedgerError::Sealed { path, to: to.clone() }.into());
    }
    if standing == Standing::Backup {
        let path = session.ledger.identity().path.clone();
        return Err(LedgerError::IsBackup { path }.into());
    }
    // Nothing is begun that could not be ended.
    let why = Some(order.reason.as_str());
    may_administer(session, PolicyAction::Administer, "the ledger", why)?;
    let moving = match Move::begin(&mut session.ledger, &order.to, open)? {
        Begun::Moving(moving) => *moving,
        Begun::Arrived { incarnation, heads } => {
            return Ok(Copied { events: 0, incarnation, heads, was_there: true });
        }
    };
    match go_on(session, order, moving, &standing, &place) {
        Ok((events, found)) => {
            let (incarnation, heads) = (incarnation + 1, found.heads);
            Ok(Copied { events, incarnation, heads, was_there: false })
        }
        // Another run of the same line may have come to the end first.
        Err(error) => match Move::begin(&mut session.ledger, &order.to, open) {
            Ok(Begun::Arrived { incarnation, heads }) => {
                Ok(Copied { events: 0, incarnation, heads, was_there: true })
            }
            Ok(Begun::Moving(_)) | Err(_) => Err(error),
        },
    }
}

/// From the copy as it was found to the one that is open.
fn go_on(
    session: &mut Session,
    order: &LedgerCopy,
    mut moving: Move,
    standing: &Standing,
    place: &str,
) -> Result<(u64, Verification), OpError> {
    let mut events = moving.pull(&mut session.ledger)?.events;
    if *standing == Standing::Open {
        match seal(session, place.to_owned(), &order.reason) {
            // Another run of the same line has.
            Err(OpError::Ledger(LedgerError::Sealed { to, .. })) if to == place => {}
            sealed => sealed?,
        }
    }
    events += moving.pull(&mut session.ledger)?.events;
    let opening = Opening {
        by: session.by.clone(),
        now: session.clock.now(),
        from: order.from_shown.clone(),
        commands: [Session::command_id()?, Session::command_id()?, Session::command_id()?],
    };
    let found = moving.open(&mut session.ledger, opening)?;
    Ok((events, found))
}
