//! A ledger that moves to another place, event by event.
//!
//! The order keeps the contract: the events are copied while the source is in use; the source is
//! sealed; the rest is copied, and held against the source; the copy gets its identity and is
//! verified; the source records that it hands over; only then does the copy open, by an event of
//! its own. A source that has handed over makes no second copy, wherever the first one is. A copy
//! on a server has tables and no identity until then, one in a file a hidden name. Each step finds
//! what the one before has left, so the same line again goes on after a crash.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::Standing;
use crate::domain::id::CommandId;
use crate::domain::registry::{ChainHead, RegistryBody};
use crate::domain::scale::event::Stamped;
use crate::domain::scale::provenance::Provenance;
use crate::domain::time::Timestamp;
use crate::ledger::columns::{EventRow, column, nonsense, parsed};
use crate::ledger::error::LedgerError;
use crate::ledger::sql::{Engine, Value};
use crate::ledger::sqlite::Draft;
use crate::ledger::write::Copied;
use crate::ledger::{
    Head, Ledger, LedgerIdentity, Location, OpenOptions, Reach, ReadTxn, Stream, Verification,
    postgres, statements as sql,
};

/// How many events of a copy share a commit.
const EVENTS_AT_ONCE: usize = 256;

/// What a copy took over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pulled {
    /// How many events were new to it.
    pub events: u64,
}

/// A ledger on its way to another place.
pub struct Move {
    target: Ledger,
    draft: Option<Draft>,
}

/// What was found in the other place.
pub enum Begun {
    /// The copy, or its beginning.
    Moving(Box<Move>),
    /// The ledger has arrived there already.
    Arrived {
        /// Its incarnation there.
        incarnation: u64,
        /// The ends of its chains there.
        heads: Vec<Head>,
    },
}

/// What the opening of a copy is recorded with.
pub struct Opening {
    /// Who opens it.
    pub by: Provenance,
    /// When, unless a database has a clock of its own.
    pub now: Timestamp,
    /// Where it was, as people write it.
    pub from: String,
    /// The runs that name the copy, hand it over, and open it.
    pub commands: [CommandId; 3],
}

impl Move {
    /// Finds or makes the other place. Once the source has handed over to it, it is never made
    /// again: what is not there then was taken away, and may take writes where it is now.
    pub fn begin(
        source: &mut Ledger,
        to: &Location,
        open: OpenOptions,
    ) -> Result<Begun, LedgerError> {
        match to {
            Location::File(path) => Self::begin_file(source, path, open),
            Location::Server(address) => Self::begin_server(source, address, open),
        }
    }

    fn begin_file(
        source: &mut Ledger,
        path: &Path,
        open: OpenOptions,
    ) -> Result<Begun, LedgerError> {
        let identity = source.identity().clone();
        let seed = format!("copy {}", identity.ledger_id);
        if path.symlink_metadata().is_ok() {
            let mut found = Ledger::open(&Location::File(path.to_owned()), open)?;
            return arrived(source, &mut found)?.ok_or_else(|| other(path));
        }
        if handed_over(&source.read()?)?.is_some() && !Draft::was_begun(path, &seed)? {
            return Err(gone(source, path));
        }
        let draft = Draft::go_on(path, &seed)?;
        let engine = draft.connect(open.lock_timeout)?;
        let target = Ledger::of_file(engine, identity, draft.path());
        Ok(Begun::Moving(Box::new(Self { target, draft: Some(draft) })))
    }

    fn begin_server(
        source: &mut Ledger,
        address: &postgres::ServerAddress,
        open: OpenOptions,
    ) -> Result<Begun, LedgerError> {
        let path = PathBuf::from(address.shown());
        let ours = source.identity().clone();
        let is_handed_over = handed_over(&source.read()?)?.is_some();
        let engine = match postgres::PostgresEngine::open(address, open) {
            Ok(engine) => engine,
            Err(LedgerError::Missing { .. }) if is_handed_over => return Err(gone(source, &path)),
            Err(LedgerError::Missing { .. }) => {
                let locks = Reach::everything().locks();
                let engine = postgres::PostgresEngine::create(address, open, &locks)?;
                // Tables without an identity: nobody can use them, and the same line goes on.
                engine.commit().map_err(crate::ledger::sql::CommitError::into_problem)?;
                // What a transaction was told of the schema ends with it.
                engine.begin_read()?;
                engine
            }
            Err(error) => return Err(error),
        };
        let found = identity_of(&engine, &path);
        engine.rollback();
        let (is_named, incarnation) = match found? {
            None if is_handed_over => return Err(gone(source, &path)),
            None => (false, ours.incarnation),
            Some((id, _)) if id != ours.ledger_id.as_str() => return Err(other(&path)),
            Some((_, incarnation)) => (true, incarnation),
        };
        let is_ours = incarnation == ours.incarnation;
        let identity = LedgerIdentity { engine: "postgres", path, incarnation, ..ours };
        let path = identity.path.clone();
        let mut target = Ledger::of(Box::new(engine), identity);
        if is_named && !is_ours {
            return arrived(source, &mut target)?.ok_or_else(|| other(&path));
        }
        // A copy that has its name is sealed, as its source is, until it opens.
        if is_named && target.read()?.standing()?.0 == Standing::Open {
            return Err(other(&path));
        }
        Ok(Begun::Moving(Box::new(Self { target, draft: None })))
    }

    /// Takes over what is new in the source.
    pub fn pull(&mut self, source: &mut Ledger) -> Result<Pulled, LedgerError> {
        pull(&source.read()?, &mut self.target)
    }

    /// Opens the ledger in its new place. The source must be sealed, or it is refused; and it stays
    /// so: from the last look at it until the copy is open under its name nobody else writes there,
    /// neither to put it back in use nor to open the copy as well.
    pub fn open(
        mut self,
        source: &mut Ledger,
        opening: Opening,
    ) -> Result<Verification, LedgerError> {
        let (standing, incarnation) = source.read()?.standing()?;
        if !matches!(standing, Standing::Sealed { .. }) {
            return Err(back_in_use(source.identity()));
        }
        self.pull(source)?;
        let Opening { by, now, from, commands: [naming, handing, opening] } = opening;
        if !self.is_open()? {
            if handed_over(&source.read()?)?.is_none() {
                hold_equal(&source.read()?, &mut self.target)?;
                self.target.name_copy(naming, incarnation)?;
                self.target.read()?.verify_whole()?;
                hand_over(source, handing.clone(), &by, now)?;
            }
            // Heads that are kept of the source, now or later, are those of the copy, too.
            self.pull(source)?;
            hold_equal(&source.read()?, &mut self.target)?;
            self.target.read()?.verify_whole()?;
        }
        let held = source.write_whole_anyway(handing)?;
        if handed_over(&held)?.is_none() {
            return Err(back_in_use(held.identity()));
        }
        if !self.is_open()? {
            hold_equal(&held, &mut self.target)?;
            let mut txn = self.target.write_whole_anyway(opening)?;
            let at = txn.now().unwrap_or(now);
            // Whom the new place knows, not whom the old one did.
            let by = Provenance { db_role: txn.engine().role(), ..by };
            let body = RegistryBody::LedgerOpened { from, incarnation: incarnation + 1 };
            txn.append_registry(&Stamped { at, by, body })?;
            let _committed = txn.commit()?;
        }
        let found = self.target.read()?.verify_whole()?;
        let Self { target, draft } = self;
        drop(target);
        if let Some(draft) = draft {
            draft.publish()?;
        }
        drop(held);
        Ok(found)
    }

    /// Whether an earlier run has opened it, and only its name is missing.
    fn is_open(&mut self) -> Result<bool, LedgerError> {
        let read = self.target.read()?;
        let is_named = identity_of(read.engine(), read.path())?.is_some();
        Ok(is_named && read.standing()?.0 == Standing::Open)
    }
}

/// The ends of the chains that a source had when it handed over to its copy, where it has.
fn handed_over(source: &ReadTxn<'_>) -> Result<Option<Vec<ChainHead>>, LedgerError> {
    Ok(match source.seal()? {
        Some(RegistryBody::LedgerSealed { heads, opens: Some(_), .. }) => Some(heads),
        _ => None,
    })
}

/// Records in the source that its copy is whole and opens, before it does: whatever becomes of the
/// copy then, the source makes no second one.
fn hand_over(
    source: &mut Ledger,
    command_id: CommandId,
    by: &Provenance,
    now: Timestamp,
) -> Result<(), LedgerError> {
    let mut txn = source.write_whole_anyway(command_id)?;
    let (at, heads) = (txn.now().unwrap_or(now), txn.chain_heads()?);
    let incarnation = txn.standing()?.1;
    match txn.seal()? {
        Some(RegistryBody::LedgerSealed { to, reason, decision, opens: None, .. }) => {
            let opens = Some(incarnation + 1);
            let body = RegistryBody::LedgerSealed { to, heads, reason, decision, opens };
            txn.append_registry(&Stamped { at, by: by.clone(), body })?;
            txn.commit().map(drop)
        }
        // Another run has come as far.
        Some(RegistryBody::LedgerSealed { opens: Some(_), .. }) => Ok(()),
        _ => Err(back_in_use(txn.identity())),
    }
}

/// Somebody has put the source back in use while it was copied: the copy stays closed.
fn back_in_use(source: &LedgerIdentity) -> LedgerError {
    let problem = "it is not sealed any more: somebody has put it back in use".to_owned();
    LedgerError::OtherLedger { doing: "move", path: source.path.clone(), problem }
}

fn gone(source: &Ledger, to: &Path) -> LedgerError {
    LedgerError::Gone { path: source.identity().path.clone(), to: to.display().to_string() }
}

impl Ledger {
    /// Gives a copy the identity of what it was made of, unless it has one.
    pub(super) fn name_copy(
        &mut self,
        command_id: CommandId,
        incarnation: u64,
    ) -> Result<(), LedgerError> {
        let id = self.identity.ledger_id.clone();
        let txn = self.write_whole_anyway(command_id)?;
        if identity_of(txn.engine(), txn.path())?.is_none() {
            let values = [Value::Text(id.as_str()), Value::Int(column(incarnation))];
            txn.engine().exec(sql::INSERT_IDENTITY, &values)?;
        }
        txn.commit().map(|_| ())
    }
}

/// The identity that is stored, where there is one.
pub(super) fn identity_of(
    engine: &dyn Engine,
    path: &Path,
) -> Result<Option<(String, u64)>, LedgerError> {
    let mut found = None;
    engine.each(sql::READ_IDENTITY, &[], &mut |row| {
        let place = || "its identity".to_owned();
        let incarnation = crate::ledger::columns::number(path, place, row.int(1)?)?;
        found = Some((row.text(0)?.to_owned(), incarnation));
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

fn other(path: &Path) -> LedgerError {
    let problem = "it is there already, and is not where this ledger has moved to".to_owned();
    LedgerError::OtherLedger { doing: "copy to", path: path.to_owned(), problem }
}

/// What was found, if the source has moved to it: it is sealed, and all that it had is there.
fn arrived(source: &mut Ledger, found: &mut Ledger) -> Result<Option<Begun>, LedgerError> {
    let incarnation = found.identity().incarnation;
    if source.identity().ledger_id != found.identity().ledger_id
        || source.identity().incarnation >= incarnation
    {
        return Ok(None);
    }
    let read = source.read()?;
    let is_sealed = matches!(read.standing()?.0, Standing::Sealed { .. });
    let heads = match handed_over(&read)? {
        Some(heads) => heads,
        None => read.chain_heads()?,
    };
    drop(read);
    let there = found.read()?;
    for head in heads {
        if !there.has(&head)? {
            return Ok(None);
        }
    }
    let heads = there.stream_heads()?;
    Ok(is_sealed.then_some(Begun::Arrived { incarnation, heads }))
}

/// Refuses a copy that is not all of the source, to the last event.
fn hold_equal(source: &ReadTxn<'_>, target: &mut Ledger) -> Result<(), LedgerError> {
    let (ours, theirs) = (source.stream_heads()?, target.read()?.stream_heads()?);
    if ours == theirs {
        return Ok(());
    }
    let path = target.identity.path.clone();
    Err(LedgerError::Unsound { path, problem: "it has not the heads of its source".to_owned() })
}

impl ReadTxn<'_> {
    /// Whether exactly this event is there.
    fn has(&self, head: &ChainHead) -> Result<bool, LedgerError> {
        let mut is_there = false;
        let values = [Value::Text(&head.stream), Value::Int(column(head.sequence))];
        self.engine().each(sql::READ_EVENT_HASH, &values, &mut |row| {
            is_there = row.bytes(0)? == head.hash.as_bytes();
            Ok(ControlFlow::Break(()))
        })?;
        Ok(is_there)
    }
}

/// Takes over, in their order, the events that the target lacks. What it has must be the same. Once
/// it has its name, the source is sealed and adds nothing but that it hands over: what follows upon
/// the seal there would open the copy.
pub(super) fn pull(read: &ReadTxn<'_>, target: &mut Ledger) -> Result<Pulled, LedgerError> {
    let mut pulled = Pulled::default();
    let mut heads: BTreeMap<Stream, Option<Head>> = BTreeMap::new();
    let mut chunk: Vec<Copied> = Vec::new();
    let path = read.path().to_owned();
    let named = target.read()?;
    let is_named = identity_of(named.engine(), named.path())?.is_some();
    drop(named);
    read.engine().each(sql::READ_EVENTS, &[Value::Int(0)], &mut |row| {
        let row = EventRow::of(row)?;
        let stream: Stream = parsed(&path, || row.place(), row.stream)?;
        if !heads.contains_key(&stream) {
            let head = target.read()?.stream_head(&stream)?;
            heads.insert(stream.clone(), head);
        }
        if let Some(Some(head)) = heads.get(&stream)
            && row.sequence <= column(head.sequence)
        {
            if row.sequence == column(head.sequence) && row.hash != head.hash.as_bytes() {
                return Err(other(&target.identity.path));
            }
            return Ok(ControlFlow::Continue(()));
        }
        if is_named && row.kind != "ledger_sealed" {
            return Err(back_in_use(read.identity()));
        }
        chunk.push(Copied {
            stream,
            sequence: row.sequence,
            command_id: parsed(&path, || row.place(), row.command_id)?,
            body: row.body.to_owned(),
            hash: crate::domain::digest::Digest::from_bytes(row.hash)
                .ok_or_else(|| nonsense(&path, row.place(), "a hash of another length"))?,
        });
        if chunk.len() >= EVENTS_AT_ONCE {
            pulled.events += flush(target, &mut chunk)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    pulled.events += flush(target, &mut chunk)?;
    Ok(pulled)
}

fn flush(target: &mut Ledger, chunk: &mut Vec<Copied>) -> Result<u64, LedgerError> {
    let Some(first) = chunk.first() else {
        return Ok(0);
    };
    let mut txn = target.write_whole_anyway(first.command_id.clone())?;
    for run in
        chunk.chunk_by(|one, next| one.stream == next.stream && one.command_id == next.command_id)
    {
        txn.append_copied(run)?;
    }
    let _committed = txn.commit()?;
    let count = chunk.len() as u64;
    chunk.clear();
    Ok(count)
}
