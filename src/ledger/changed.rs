//! What was written since somebody looked last: for whoever keeps a sum and does not want to read
//! everything again.
//!
//! In a file positions are those of commits. On a server a write that began earlier may be seen
//! later under a lower position: whoever must not miss any looks at everything from time to time.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::columns::{column, number};
use super::error::LedgerError;
use super::read::ReadTxn;
use super::sql::Value;
use super::statements as sql;
use super::stream::Stream;
use crate::domain::id::ServiceName;

impl ReadTxn<'_> {
    /// The position of the newest event.
    pub fn newest_position(&self) -> Result<u64, LedgerError> {
        let mut newest = 0;
        self.engine().each(sql::READ_BOUNDS, &[], &mut |row| {
            let place = || "the newest event".to_owned();
            newest = number(self.path(), place, row.int(1)?)?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(newest)
    }

    /// The services with events after a position.
    pub fn services_after(&self, position: u64) -> Result<BTreeSet<ServiceName>, LedgerError> {
        let mut services = BTreeSet::new();
        let after = [Value::Int(column(position))];
        self.engine().each(sql::READ_STREAMS_AFTER, &after, &mut |row| {
            if let Ok(Stream::Service(service)) = row.text(0)?.parse() {
                services.insert(service);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(services)
    }
}
