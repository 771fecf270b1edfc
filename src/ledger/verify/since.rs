//! Heads that were kept elsewhere, held against what is there now: cut off, rewritten, or given up
//! by a restore that the registry tells of.
//!
//! A restore gives up what came after its backup. It stands in the registry where the lost history
//! went on, so heads from before it differ there, or end before it; heads from after it do not, and
//! then it explains nothing. What it has put back stands before it in the ledger: if that differs,
//! it was rewritten, whatever was restored.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::{Finding, Verification};
use crate::domain::digest::Digest;
use crate::ledger::columns::{EventRow, column};
use crate::ledger::error::LedgerError;
use crate::ledger::read::ReadTxn;
use crate::ledger::sql::Value;
use crate::ledger::statements as sql;
use crate::ledger::stream::{Head, Stream};

/// What was met on the way along the chains.
#[derive(Default)]
pub(super) struct SinceThen {
    /// The restores of the registry, in their order: sequence and position.
    restores: Vec<(i64, i64)>,
    /// The heads that are not there as they were, and the position of what is there instead.
    differing: Vec<(Head, Option<i64>)>,
}

impl SinceThen {
    /// One more event of a chain, whose stored hash is `hash`.
    pub(super) fn step(
        &mut self,
        row: &EventRow<'_>,
        hash: &Digest,
        heads: &mut BTreeMap<i64, &Head>,
    ) {
        if row.stream == "registry" && row.kind == "ledger_restored" {
            self.restores.push((row.sequence, row.position));
        }
        if let Some(head) = heads.remove(&row.sequence)
            && head.hash != *hash
        {
            self.differing.push((head.clone(), Some(row.position)));
        }
    }

    /// Heads behind which their chains end.
    pub(super) fn cut_off<'h>(&mut self, heads: impl Iterator<Item = &'h Head>) {
        self.differing.extend(heads.map(|head| (head.clone(), None)));
    }

    /// Says what has become of the heads that are not there as they were.
    pub(super) fn report(
        self,
        read: &ReadTxn<'_>,
        since: &[Head],
        found: &mut Verification,
    ) -> Result<(), LedgerError> {
        let restore = self.restore_after(since);
        for (Head { stream, sequence, .. }, position) in self.differing {
            match (restore, position) {
                (Some((restore, from)), at) if at.is_none_or(|at| at >= from) => {
                    let first = first_from(read, &stream, from)?.unwrap_or(sequence).min(sequence);
                    let restore = u64::try_from(restore).unwrap_or(0);
                    found.given_up.push(Finding::GivenUp {
                        stream,
                        first,
                        last: sequence,
                        restore,
                    });
                }
                (_, None) => found.report(Finding::CutOff { stream, sequence }),
                (_, Some(_)) => found.report(Finding::Rewritten { stream, sequence }),
            }
        }
        Ok(())
    }

    /// The first restore after the heads were kept, as far as the head of the registry tells.
    fn restore_after(&self, since: &[Head]) -> Option<(i64, i64)> {
        let of_registry = since.iter().filter(|head| head.stream == Stream::Registry);
        let kept = of_registry.max_by_key(|head| head.sequence)?;
        let differs = self.differing.iter().any(|(head, _)| head == kept);
        let kept = column(kept.sequence);
        self.restores.iter().copied().find(|(sequence, _)| (*sequence <= kept) == differs)
    }
}

/// The first event of a chain that was written from a position on; none where all stand before it.
fn first_from(read: &ReadTxn<'_>, stream: &Stream, from: i64) -> Result<Option<u64>, LedgerError> {
    let (name, mut first, mut end) = (stream.to_string(), None, 0);
    read.engine().each(sql::READ_STREAM, &[Value::Text(&name)], &mut |row| {
        let row = EventRow::of(row)?;
        end = row.sequence;
        if row.position < from {
            return Ok(ControlFlow::Continue(()));
        }
        first = Some(row.sequence);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(u64::try_from(first.unwrap_or(end + 1)).ok())
}
