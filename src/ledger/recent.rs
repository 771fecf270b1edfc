//! How much was changed lately: what a rate limit and a blast radius look at.
//!
//! Counted from the chains themselves, so that there is nothing to keep in step. A service's chain
//! never goes back in time, so a walk from its end is over at the first event that is too old; and
//! a service whose newest write is too old is not walked at all.

use std::ops::ControlFlow;

use serde::Deserialize;

use super::columns::{EventRow, json};
use super::error::LedgerError;
use super::read::ReadTxn;
use super::sql::Value;
use super::statements as sql;
use super::stream::Stream;
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::scale::policy::{CHANGES_WINDOW, Counted, RecentChanges};
use crate::domain::time::Timestamp;

/// As much of an accepted intent as is counted by.
#[derive(Deserialize)]
struct Accepted {
    body: AcceptedBody,
}

#[derive(Deserialize)]
struct AcceptedBody {
    intent: AcceptedIntent,
}

#[derive(Deserialize)]
struct AcceptedIntent {
    #[serde(default)]
    dry_run: bool,
}

impl ReadTxn<'_> {
    /// How many live intents were accepted within the hour before `now`: of `asked`, and of all
    /// services where `counted` asks for them. `own` is not among them: it is what is asked about.
    pub fn recent_changes(
        &self,
        asked: &ServiceName,
        own: Option<&ExecutionKey>,
        counted: Counted,
        now: Timestamp,
    ) -> Result<RecentChanges, LedgerError> {
        let of_service = self.accepted(asked, own, now)?;
        let mut recent = RecentChanges { of_service, of_ledger: None, services: None };
        if counted == Counted::OfLedger {
            let (mut changes, mut services) = (of_service, 1);
            for (name, head) in self.service_heads()? {
                if name != *asked && head.time_mark.is_some_and(|mark| is_recent(mark, now)) {
                    let more = self.accepted(&name, own, now)?;
                    changes += more;
                    services += u32::from(more > 0);
                }
            }
            (recent.of_ledger, recent.services) = (Some(changes), Some(services));
        }
        Ok(recent)
    }

    fn accepted(
        &self,
        service: &ServiceName,
        own: Option<&ExecutionKey>,
        now: Timestamp,
    ) -> Result<u32, LedgerError> {
        let mut found = 0;
        let stream = Stream::Service(service.clone()).to_string();
        let newest_first = sql::READ_STREAM_NEWEST_FIRST;
        self.engine().each(newest_first, &[Value::Text(&stream)], &mut |row| {
            let row = EventRow::of(row)?;
            if Timestamp::from_micros(row.at).is_none_or(|at| !is_recent(at, now)) {
                return Ok(ControlFlow::Break(()));
            }
            let is_own = own.is_some_and(|own| row.execution_key == Some(own.as_str()));
            if row.kind == "intent_accepted" && !is_own {
                let accepted: Accepted = json(self.path(), || row.place(), row.body)?;
                found += u32::from(!accepted.body.intent.dry_run);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }
}

/// What a clock has dated ahead counts as now.
fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    at > now.minus(CHANGES_WINDOW)
}
