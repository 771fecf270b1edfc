//! `log --follow`: what has happened, and then each event as it comes.

use std::cell::Cell;

use super::words::{describe, known_as};
use super::{LogArgs, Wanted, event_view, page, subject};
use crate::cli::app::App;
use crate::cli::escape::escape;
use crate::cli::fault::Fault;
use crate::cli::noun::Outcome;
use crate::cli::output::{Answer, Format, Out};
use crate::cli::span::Span;
use crate::domain::time::DurationMs;
use crate::ledger::{EventFilter, Order, StoredEvent, Stream};

/// How long after one look the next one comes.
const LOOK_AGAIN: DurationMs = DurationMs::from_millis(500);

/// Ends where nobody reads any more, or by a signal, which needs no handler: nothing is held and
/// nothing is written.
pub(super) fn run(
    args: &LogArgs,
    filter: &EventFilter,
    span: &Span,
    app: &mut App,
    out: &mut Out,
) -> Outcome {
    let newest =
        EventFilter { limit: Some(1), order: Order::NewestFirst, ..EventFilter::default() };
    // Asked first: what comes between the two questions is in the first page.
    let newest = app.session()?.events_where(&newest, &|_| true)?;
    let first = page(args, filter, app)?;
    for event in &first.events {
        show(event, span, out);
    }
    let seen = newest.iter().chain(&first.events).map(|event| event.position).max();
    let seen = Cell::new(seen.unwrap_or(0));
    let wanted = Wanted::of(args, &app.globals);
    let mut known = app.session()?.identity().clone();
    while !out.is_closed() && !out.waits_for_reader(LOOK_AGAIN) {
        // A file may have been put aside by now, and another one be in its place.
        let found = app.session_anew()?.identity().clone();
        if (&found.ledger_id, found.incarnation) != (&known.ledger_id, known.incarnation) {
            let restored = restored_at(app)?;
            let begins = if restored.is_some() { "its restore" } else { "its first event" };
            out.progress(&format!(
                "note: {} is another history by now, incarnation {}: what follows begins with \
                 {begins}",
                found.path.display(),
                found.incarnation
            ));
            seen.set(restored.unwrap_or(0));
            known = found;
        }
        let more = EventFilter { after: seen.get(), ..EventFilter::default() };
        let is_wanted = |event: &StoredEvent| {
            seen.set(seen.get().max(event.position));
            let key = filter.execution_key.as_ref();
            (filter.streams.is_empty() || filter.streams.contains(&event.stream))
                && key.is_none_or(|key| event.execution_key.as_ref() == Some(key))
                && wanted.has(event)
        };
        for event in app.session()?.events_where(&more, &is_wanted)? {
            show(&event, span, out);
        }
    }
    Ok(Answer::ok().streamed())
}

/// The place before the newest restore, where there is one.
fn restored_at(app: &mut App) -> Result<Option<u64>, Fault> {
    let newest = EventFilter {
        streams: vec![Stream::Registry],
        limit: Some(1),
        order: Order::NewestFirst,
        ..EventFilter::default()
    };
    let is_restore = |event: &StoredEvent| event.kind == "ledger_restored";
    let found = app.session()?.events_where(&newest, &is_restore)?;
    Ok(found.first().map(|event| event.position.saturating_sub(1)))
}

fn show(event: &StoredEvent, span: &Span, out: &mut Out) {
    match out.format() {
        Format::Table => {
            let at = span.stamp(event.at);
            let (subject, said) = (subject(event), describe(event));
            let line = format!("{at}  {subject}  {said}  ({})", known_as(&event.by));
            out.lines(&escape(&line));
        }
        Format::Name => out.lines(&event.position.to_string()),
        Format::Json | Format::Ndjson => out.row(&event_view(event)),
    }
}
