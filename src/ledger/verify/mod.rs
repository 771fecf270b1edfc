//! Verification: the chains are walked, the events folded, and the projections compared.
//!
//! Proves that no event inside a chain was changed, left out or put in, that every event may follow
//! those before it, and that every projection is what the events say. Against heads that were kept
//! elsewhere it also proves that nothing before them was rewritten or cut off. Without such heads
//! whoever can write the file can write another whole history. Changes nothing.

mod fold;
mod parse;
mod positions;
mod projections;
mod since;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::columns::EventRow;
use super::error::LedgerError;
use super::read::ReadTxn;
use super::sql::Value;
use super::statements as sql;
use super::stream::{Chainer, Head, Stream};
use crate::domain::digest::Digest;
use fold::Fold;
use positions::Positions;
use projections::RowsOf;
use since::SinceThen;

/// How many findings are listed; the rest is only counted.
pub const FINDINGS_LISTED_MAX: usize = 100;

/// How deep the storage below the tables is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// The pages; not whether every index agrees with its table.
    #[default]
    Quick,
    /// The indexes too: much slower on a large ledger.
    Thorough,
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the facts that the texts name")]
pub enum Finding {
    /// The database itself says that it is damaged, or cannot be read.
    #[error("the storage is damaged: {problem}")]
    Storage { problem: String },
    /// A row of `event` that cannot be read, or names no stream.
    #[error("{place} cannot be read: {problem}")]
    Unreadable { place: String, problem: String },
    /// The numbers of a chain are not 1, 2, 3 …
    #[error("{stream}: event {found} where {expected} should be")]
    SequenceGap { stream: String, expected: i64, found: i64 },
    /// The positions are not 1, 2, 3 … over the ledger; or too few, where an engine leaves gaps.
    #[error("positions run from {first} to {last}, but {walked} events are in the chains")]
    PositionGap { first: i64, last: i64, walked: u64 },
    /// A later event of a chain stands before an earlier one.
    #[error("{stream}: event {sequence} stands before the one that it follows")]
    OutOfOrder { stream: String, sequence: i64 },
    /// The hash is not that of the event and the hash before it.
    #[error("{stream}: the hash of event {sequence} does not match")]
    HashMismatch { stream: String, sequence: i64 },
    /// A column of an event does not say what its body says.
    #[error("{stream}: column {column} of event {sequence} contradicts its body")]
    ColumnMismatch { stream: String, sequence: i64, column: &'static str },
    /// An event that is no event, or cannot follow those before it.
    #[error("{stream}: event {sequence} makes no sense: {problem}")]
    IllegalEvent { stream: String, sequence: i64, problem: String },
    /// A projection that the events ask for is not there.
    #[error("{what} is missing")]
    ProjectionMissing { what: String },
    /// A projection that no event asks for.
    #[error("{what} is there, but follows from no event")]
    ProjectionExtra { what: String },
    /// A projection that differs from what the events say.
    #[error("{what} is not what its events say: {column} differs")]
    ProjectionDiffers { what: String, column: &'static str },
    /// A kept head names an event that is not there any more.
    #[error("{stream}: cut off before event {sequence}, which was the head once")]
    CutOff { stream: Stream, sequence: u64 },
    /// A kept head has another hash.
    #[error("{stream}: event {sequence} is not the one that was the head once")]
    Rewritten { stream: Stream, sequence: u64 },
    /// A kept head is of a history that a restore has given up: no damage, and lost all the same.
    #[error(
        "{stream}: events {first} to {last} as they were are lost: the restore that is event \
         {restore} of the registry has put an older state in their place"
    )]
    GivenUp { stream: Stream, first: u64, last: u64, restore: u64 },
}

impl Finding {
    /// The word for machines.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Storage { .. } => "storage",
            Self::Unreadable { .. } => "unreadable",
            Self::SequenceGap { .. } => "sequence_gap",
            Self::PositionGap { .. } => "position_gap",
            Self::OutOfOrder { .. } => "out_of_order",
            Self::HashMismatch { .. } => "hash_mismatch",
            Self::ColumnMismatch { .. } => "column_mismatch",
            Self::IllegalEvent { .. } => "illegal_event",
            Self::ProjectionMissing { .. } => "projection_missing",
            Self::ProjectionExtra { .. } => "projection_extra",
            Self::ProjectionDiffers { .. } => "projection_differs",
            Self::CutOff { .. } => "cut_off",
            Self::Rewritten { .. } => "rewritten",
            Self::GivenUp { .. } => "given_up",
        }
    }
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verification {
    /// The end of every chain. Keep them elsewhere.
    pub heads: Vec<Head>,
    /// How many events were walked.
    pub events: u64,
    /// How many executions were compared.
    pub executions: u64,
    /// What is not as it should be, at most [`FINDINGS_LISTED_MAX`].
    pub findings: Vec<Finding>,
    /// How much is not as it should be.
    pub findings_count: u64,
    /// What a restore has given up of what was kept: [`Finding::GivenUp`], a chain each.
    pub given_up: Vec<Finding>,
}

impl Verification {
    /// Whether everything is as it should be.
    pub const fn is_sound(&self) -> bool {
        self.findings_count == 0
    }

    fn report(&mut self, finding: Finding) {
        self.findings_count += 1;
        if self.findings.len() < FINDINGS_LISTED_MAX {
            self.findings.push(finding);
        }
    }

    /// A failure to read is a finding, unless it says only that the ledger could not be asked.
    fn tolerate(&mut self, done: Result<(), LedgerError>) -> Result<(), LedgerError> {
        match done {
            Ok(()) => Ok(()),
            Err(error) if is_no_finding(&error) => Err(error),
            Err(error) => {
                self.report(Finding::Storage { problem: error.to_string() });
                Ok(())
            }
        }
    }
}

/// Whether an error tells of the way to the ledger, and nothing of what is stored there.
const fn is_no_finding(error: &LedgerError) -> bool {
    error.is_unavailable() || matches!(error, LedgerError::NotPermitted { .. })
}

/// The services that were walked, and which of their rows are accounted for.
#[derive(Default)]
struct Services {
    /// Every service that has a chain.
    walked: BTreeSet<String>,
    /// Those whose chain makes no sense: nothing can be said about their rows.
    broken: BTreeSet<String>,
    /// Every row that was compared, by its position.
    agreed: Positions,
}

/// One chain while it is walked.
struct Walk<'s> {
    stream: &'s str,
    rows: RowsOf<'s>,
    sequence: i64,
    position: i64,
    hash: Digest,
    fold: Fold,
}

impl ReadTxn<'_> {
    /// Verifies the whole ledger, and that it still contains the given heads.
    pub fn verify(&self, since: &[Head], depth: Depth) -> Result<Verification, LedgerError> {
        let mut found = Verification::default();
        match self.engine().storage_problems(depth == Depth::Thorough, FINDINGS_LISTED_MAX) {
            Ok(problems) => {
                for problem in problems {
                    found.report(Finding::Storage { problem });
                }
            }
            Err(error) => found.tolerate(Err(error))?,
        }
        let mut kept: BTreeMap<String, BTreeMap<i64, &Head>> = BTreeMap::new();
        for head in since {
            let sequence = super::columns::column(head.sequence);
            kept.entry(head.stream.to_string()).or_default().insert(sequence, head);
        }
        let mut expected = projections::Documents::default();
        let mut services = Services::default();
        let mut since_then = SinceThen::default();
        let mut last = String::new();
        loop {
            let stream = match self.next_stream(&last) {
                Ok(Some(stream)) => stream,
                Ok(None) => break,
                Err(error) => {
                    found.tolerate(Err(error))?;
                    break;
                }
            };
            let mut heads = kept.remove(&stream).unwrap_or_default();
            let tracks = (&mut services.agreed, &mut since_then);
            let fold = self.walk(&stream, &mut heads, tracks, &mut found)?;
            since_then.cut_off(heads.into_values());
            if let Ok(Stream::Service(service)) = stream.parse() {
                self.compare_service(&service, &fold, &mut services, &mut found)?;
            }
            expected.add(&stream, fold);
            last = stream;
        }
        since_then.cut_off(kept.into_values().flat_map(BTreeMap::into_values));
        since_then.report(self, since, &mut found)?;
        self.compare_positions(&mut found)?;
        self.compare_rest(&services, &mut found)?;
        found.executions = services.agreed.count();
        self.compare_documents(expected, &mut found)?;
        Ok(found)
    }

    fn walk(
        &self,
        stream: &str,
        heads: &mut BTreeMap<i64, &Head>,
        (agreed, since_then): (&mut Positions, &mut SinceThen),
        found: &mut Verification,
    ) -> Result<Fold, LedgerError> {
        let typed: Option<Stream> = stream.parse().ok();
        let rows = RowsOf { read: self, stream: typed.as_ref() };
        if typed.is_none() {
            let problem = "there is no such stream".to_owned();
            found.report(Finding::Unreadable { place: format!("stream {stream:?}"), problem });
        }
        let fold = typed.as_ref().map_or(Fold::Broken, Fold::of);
        let mut walk = Walk { stream, rows, sequence: 0, position: 0, hash: Digest::ZERO, fold };
        let mut chainer = Chainer::default();
        let done = self.engine().each(sql::VERIFY_STREAM, &[Value::Text(stream)], &mut |row| {
            found.events += 1;
            match EventRow::of(row) {
                Ok(row) => {
                    walk.step(&row, &mut chainer, agreed, found);
                    since_then.step(&row, &walk.hash, heads);
                }
                Err(error) => {
                    let place = format!("an event of {stream} after {}", walk.sequence);
                    found.report(Finding::Unreadable { place, problem: error.to_string() });
                    walk.fold = Fold::Broken;
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        if done.is_err() {
            walk.fold = Fold::Broken;
        }
        found.tolerate(done)?;
        let Walk { sequence, hash, fold, .. } = walk;
        if let (Some(stream), Ok(sequence @ 1..)) = (typed, u64::try_from(sequence)) {
            found.heads.push(Head { stream, sequence, hash });
        }
        Ok(fold)
    }

    /// Every event has a place of its own, and none is outside the chains.
    fn compare_positions(&self, found: &mut Verification) -> Result<(), LedgerError> {
        let (mut first, mut last) = (0, 0);
        let done = self.engine().each(sql::READ_BOUNDS, &[], &mut |row| {
            (first, last) = (row.int(0)?, row.int(1)?);
            Ok(ControlFlow::Break(()))
        });
        let walked = found.events;
        let is_full = match u64::try_from(last) {
            Ok(last) if self.engine().leaves_gaps() => (first >= 1 || last == 0) && last >= walked,
            Ok(last) => (first == 1 || last == 0) && last == walked,
            Err(_) => false,
        };
        if done.is_ok() && !is_full {
            found.report(Finding::PositionGap { first, last, walked });
        }
        found.tolerate(done)
    }
}

impl Walk<'_> {
    fn step(
        &mut self,
        row: &EventRow<'_>,
        chainer: &mut Chainer,
        agreed: &mut Positions,
        found: &mut Verification,
    ) {
        let (stream, sequence) = (self.stream.to_owned(), row.sequence);
        let expected = self.sequence.saturating_add(1);
        if sequence != expected {
            found.report(Finding::SequenceGap {
                stream: stream.clone(),
                expected,
                found: sequence,
            });
        }
        if row.position <= self.position {
            found.report(Finding::OutOfOrder { stream: stream.clone(), sequence });
        }
        let hash = chainer.link(&self.hash, row.stream, sequence, row.command_id, row.body);
        if row.hash != hash.as_bytes() {
            found.report(Finding::HashMismatch { stream: stream.clone(), sequence });
        }
        // The next event rests on what is stored: one change is one finding, or two.
        self.hash = Digest::from_bytes(row.hash).unwrap_or(hash);
        self.sequence = sequence;
        self.position = row.position;
        match self.fold.step(row, &self.rows, agreed) {
            Ok(None) => {}
            Ok(Some(column)) => found.report(Finding::ColumnMismatch { stream, sequence, column }),
            Err(problem) => found.report(Finding::IllegalEvent { stream, sequence, problem }),
        }
    }
}
