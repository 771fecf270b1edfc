//! The placement, written: its events, then the rows of exactly what they changed.

use std::collections::BTreeMap;

use super::{Entry, WriteTxn};
use crate::domain::id::{IdempotencyKey, OperationId};
use crate::domain::placement::event::PlacementEvent;
use crate::domain::placement::state::PlacementState;
use crate::ledger::error::LedgerError;
use crate::ledger::placement::{Placed, touched};
use crate::ledger::sql::{Bound, Value};
use crate::ledger::statements as sql;
use crate::ledger::stream::Stream;

impl WriteTxn<'_> {
    /// As [`crate::ledger::ReadTxn::placement`], and remembers the versions, so that
    /// [`Self::append_placement`] updates what was read and nothing else.
    pub fn placement_state(
        &mut self,
        named: &[OperationId],
        key: Option<&IdempotencyKey>,
    ) -> Result<PlacementState, LedgerError> {
        let is_held = self.reach.holds(&Stream::Placement);
        assert!(is_held, "BUG: the placement is read for a decision without its lock");
        let mut versions = BTreeMap::new();
        let read = self.read.placement_with(named, key, &mut |kind, name, version| {
            versions.insert((kind, name.to_owned()), version);
        });
        let state = self.guard(read)?;
        self.placed = versions;
        Ok(state)
    }

    /// Appends events to the chain of the placement and answers the state after them. `state` must
    /// be what [`Self::placement_state`] or the previous call answered in this transaction, else it
    /// is [`LedgerError::Nonsense`].
    pub fn append_placement(
        &mut self,
        state: PlacementState,
        events: &[PlacementEvent],
    ) -> Result<PlacementState, LedgerError> {
        let appended = self.append_placement_as(state, events, None);
        self.guard(appended)
    }

    /// `bodies` are the texts of the events, where these are there already.
    pub(super) fn append_placement_as(
        &mut self,
        state: PlacementState,
        events: &[PlacementEvent],
        bodies: Option<&[&str]>,
    ) -> Result<PlacementState, LedgerError> {
        let stream = Stream::Placement;
        let state = state.fold(events).map_err(|problem| self.illegal(&stream, &problem))?;
        let mut changed: BTreeMap<(&'static str, String), (i64, Placed)> = BTreeMap::new();
        for (at, event) in events.iter().enumerate() {
            let kind = event.body.kind();
            let entry = match bodies {
                None => Entry::of(event, kind, None),
                Some(bodies) => {
                    let body = bodies[at].to_owned();
                    Entry { at: event.at, kind, execution_key: None, body }
                }
            };
            let sequence = self.record(&stream, entry)?;
            for row in touched(&state, &event.body) {
                changed.insert((row.kind, row.name.clone()), (sequence, row));
            }
        }
        for ((kind, name), (version, row)) in changed {
            self.write_placed(&row, version)?;
            self.placed.insert((kind, name), version);
        }
        Ok(state)
    }

    fn write_placed(&self, row: &Placed, version: i64) -> Result<(), LedgerError> {
        let (kind, name) = (Value::Text(row.kind), Value::Text(&row.name));
        let (body, key) = (Value::Text(&row.body), Value::OptionalText(row.key.as_deref()));
        let (version, live) = (Value::Int(version), Value::Int(i64::from(row.live)));
        let Bound { statement, values } = match self.placed.get(&(row.kind, row.name.clone())) {
            None => Bound::new(sql::INSERT_PLACED, [kind, name, version, live, key, body]),
            Some(before) => {
                let values = [kind, name, version, live, body, Value::Int(*before)];
                Bound::new(sql::UPDATE_PLACED, values)
            }
        };
        if self.read.engine().exec(statement, &values)? == 1 {
            return Ok(());
        }
        let place = format!("{} {:?} of the placement", row.kind, row.name);
        let problem = "it is not what was read for this decision";
        Err(crate::ledger::columns::nonsense(self.path(), place, problem))
    }
}
