//! What people have laid upon services, below the table: holds, overrides, and broken glass that
//! nobody has reviewed.

use super::Row;
use crate::domain::time::Timestamp;

/// One line for each.
pub(super) fn lines(rows: &[Row], now: Timestamp) -> Vec<String> {
    let mut lines = Vec::new();
    let mut unreviewed = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for head in rows.iter().map(|row| &row.head) {
        let Some(registration) = &head.registration else {
            continue;
        };
        let service = &registration.service;
        if !seen.insert(service.clone()) {
            continue;
        }
        if let Some(hold) = head.authority.hold_at(now) {
            let (until, actor) = (hold.until, &hold.actor);
            lines.push(format!("{service} is held until {until} by {actor}: {}", hold.reason));
        }
        if let Some(pinned) = head.authority.pinned_at(now) {
            let (until, actor) = (pinned.until, &pinned.actor);
            let count = pinned.replicas;
            lines.push(format!("{service} is pinned at {count} until {until} by {actor}"));
        }
        unreviewed.extend(head.authorizations.keys().map(ToString::to_string));
    }
    if !unreviewed.is_empty() {
        let verb = if unreviewed.len() == 1 { "is" } else { "are" };
        let (count, names) = (unreviewed.len(), unreviewed.join(", "));
        lines.push(format!("{count} broken glass {verb} unreviewed ({names})"));
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}
