//! What a write has ended, or will be undone by, that whoever made it would else learn later only.
//!
//! Owns the words. Decides nothing and writes nothing.

use super::session::Notice;
use crate::domain::id::Replicas;
use crate::domain::scale::authority::Override;
use crate::domain::scale::event::{Event, EventBody};
use crate::domain::scale::provenance::WishSource;
use crate::domain::scale::service::Registration;
use crate::domain::scale::state::{ServiceHead, ServiceState};

/// What is to be told of events. `pinned` was in force before them, `state` is what they led to.
pub(super) fn of_events(
    events: &[Event],
    pinned: Option<&Override>,
    state: &ServiceState,
) -> Vec<Notice> {
    let mut told: Vec<Notice> = events.iter().filter_map(|event| ended(event, state)).collect();
    told.extend(events.iter().filter_map(|event| not_the_count_before(event, state)));
    for event in events {
        let EventBody::IntentAccepted { intent, .. } = &event.body else { continue };
        if !intent.dry_run {
            let ended = pinned.filter(|_| state.head.authority.pinned.is_none());
            told.extend(of_wish(intent.source, intent.wish.desired_replicas, ended, &state.head));
        }
    }
    told
}

/// What is to be told of a wish that is accepted, or would be. `ended` is the override that ends.
pub(super) fn of_wish(
    source: WishSource,
    desired: Replicas,
    ended: Option<&Override>,
    head: &ServiceHead,
) -> Vec<Notice> {
    let mut told = Vec::new();
    let Some(registration) = &head.registration else {
        return told;
    };
    let service = &registration.service;
    if let Some(pinned) = ended {
        let text = format!(
            "this ends the override of {service}, {} until {} by {}; the new count is pinned with: \
             scalectl override set {service}={desired} --until {} --reason TEXT",
            pinned.replicas, pinned.until, pinned.actor, pinned.until
        );
        told.push(Notice { code: "override_ended", text });
    }
    // Of an override a tick knows, and its own wish is its own.
    if matches!(source, WishSource::Cli | WishSource::Adopt) {
        told.extend(moved_by_a_tick(registration, desired));
    }
    told
}

fn moved_by_a_tick(registration: &Registration, desired: Replicas) -> Option<Notice> {
    let service = &registration.service;
    let pin = format!("scalectl override set {service}={desired} --until 8h --reason TEXT");
    let text = match (&registration.scaling, registration.declared_replicas) {
        (Some(scaling), _) => format!(
            "{service} is scaled by its signal {}: the next autoscale may wish another count; to \
             keep {desired} for a time: {pin}",
            scaling.signal.name
        ),
        (None, Some(declared)) if declared != desired => format!(
            "{service} has a declared count of {declared}: the next reconcile brings it back to \
             that; to keep {desired}: scalectl service put {service} --replicas {desired}, or for \
             a time: {pin}"
        ),
        (None, Some(_) | None) => return None,
    };
    Some(Notice { code: "tick_moves_it", text })
}

/// What an accepted wish has ended that only waited: nobody may learn of that later only.
fn ended(event: &Event, state: &ServiceState) -> Option<Notice> {
    let EventBody::IntentSuperseded { execution_key, outcome: None, .. } = &event.body else {
        return None;
    };
    // Where the desired count is all there is, nothing was ever to start.
    if state.head.registration.as_ref().is_some_and(Registration::is_desired_state) {
        return None;
    }
    let name = state.executions.get(execution_key).map_or_else(
        || format!("key {execution_key}"),
        |ended| {
            let (service, revision) = (&ended.intent.service, ended.revision());
            format!("{service}@{revision} (key {execution_key})")
        },
    );
    let text = format!("this ends {name}, which had not started");
    Some(Notice { code: "ends_waiting", text })
}

/// A way back to another count than the one before what it undoes is what somebody may have meant;
/// nobody may find it out later only.
fn not_the_count_before(event: &Event, state: &ServiceState) -> Option<Notice> {
    let (EventBody::IntentAccepted { intent, .. } | EventBody::IntentProposed { intent, .. }) =
        &event.body
    else {
        return None;
    };
    let undone = state.executions.get(intent.rolls_back.as_ref()?)?;
    let (before, desired) = (undone.intent.current?, intent.wish.desired_replicas);
    let name = format!("{}@{}", undone.intent.service, undone.revision());
    (before != desired).then(|| Notice {
        code: "not_the_count_before",
        text: format!(
            "this rolls {name} back to {desired}, and {before} ran before it ({before} → {})",
            undone.desired()
        ),
    })
}
