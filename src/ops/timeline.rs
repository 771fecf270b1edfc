//! `timeline`: the course of one service's count. Reads only.

use std::cell::RefCell;

use super::error::OpError;
use super::session::Session;
use crate::domain::id::ServiceName;
use crate::domain::scale::timeline::{Course, Moment, Timeline, What};
use crate::domain::time::Timestamp;
use crate::ledger::{EventFilter, Head, StoredEvent, Stream};

/// What happens often and moves no count: such an event is not even read.
const PASSED_OVER: [&str; 4] =
    ["lease_acquired", "lease_renewed", "lease_released", "autoscale_evaluated"];

/// A timeline, and the ends of the chains that it rests on.
pub struct Told {
    /// The course of the count.
    pub timeline: Timeline,
    /// The chain of the service, and that of the refusals.
    pub heads: Vec<Head>,
}

impl Session {
    /// What happened to a registered service from `since` on and before `until`, and which ends the
    /// chains had then. The whole history is walked; what is kept goes with the span.
    pub fn timeline(
        &mut self,
        service: &ServiceName,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Told, OpError> {
        self.load_service(service)?;
        let read = self.ledger.read()?;
        let course = RefCell::new(Course::new(since));
        let failed = RefCell::new(None);
        let mut heads = Vec::new();
        for stream in [Stream::Service(service.clone()), Stream::Refusals] {
            let streams = vec![stream.clone()];
            let one = EventFilter { streams, until: Some(until), ..EventFilter::default() };
            read.events_where(&one, &|event| {
                if !PASSED_OVER.contains(&event.kind.as_str()) && is_about(event, service, since) {
                    match moment(event) {
                        Ok(moment) => course.borrow_mut().take(moment),
                        Err(error) => *failed.borrow_mut() = Some(error),
                    }
                }
                false
            })?;
            heads.extend(read.stream_head(&stream)?);
        }
        drop(read);
        match failed.into_inner() {
            Some(error) => Err(error),
            None => Ok(Told { timeline: course.into_inner().end(), heads }),
        }
    }
}

/// Whether an event tells something of this service. Of refusals only those of the span do.
fn is_about(event: &StoredEvent, service: &ServiceName, since: Timestamp) -> bool {
    event.stream != Stream::Refusals
        || (event.at >= since && event.body["service"].as_str() == Some(service.as_str()))
}

fn moment(event: &StoredEvent) -> Result<Moment, OpError> {
    let nonsense = |error: serde_json::Error| OpError::Internal {
        what: format!("event {} of {} is none: {error}", event.sequence, event.stream),
    };
    let body = event.body.clone();
    let what = if event.stream == Stream::Refusals {
        What::Refused(serde_json::from_value(body).map_err(nonsense)?)
    } else {
        What::Happened(serde_json::from_value(body).map_err(nonsense)?)
    };
    Ok(Moment { at: event.at, by: event.by.clone(), what })
}
