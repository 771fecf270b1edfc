//! What people have laid upon services, below the table: holds, overrides, and broken glass that
//! nobody has reviewed; each with the line that ends it.

use std::collections::BTreeMap;

use super::Row;
use crate::cli::escape::shell_line;
use crate::cli::problem::ProblemContext;
use crate::cli::table::{Cell, Column, Table};
use crate::cli::upon;
use crate::domain::id::ServiceName;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::Timestamp;
use crate::ops::{OpError, Session};

/// Each service once, whatever it has under way.
pub(super) fn heads(rows: &[Row]) -> BTreeMap<&ServiceName, &ServiceHead> {
    let heads = rows.iter().map(|row| &row.head);
    heads.filter_map(|head| Some((&head.registration.as_ref()?.service, head))).collect()
}

/// One row for each; none where nothing is laid upon any.
pub(super) fn table(
    session: &mut Session,
    rows: &[Row],
    c: &ProblemContext,
) -> Result<Option<Table>, OpError> {
    let mut table = Table::new([
        Column::left("SERVICE"),
        Column::left("LAID UPON IT"),
        Column::left("WHAT").wraps(),
        Column::left("NEXT"),
    ]);
    for (service, head) in heads(rows) {
        let why = session.why_pinned(head)?;
        for fact in upon::laid(service, head, why.as_ref(), &session.by, c) {
            table.row([
                Cell::new(service),
                Cell::new(fact.label),
                Cell::new(&fact.text),
                Cell::maybe(fact.way.as_ref().map(|way| shell_line(way))),
            ]);
        }
    }
    Ok(Some(table).filter(|table| !table.is_empty()))
}

/// Broken glass that is over, and that nobody has reviewed.
pub(super) fn needs(rows: &[Row], now: Timestamp) -> Vec<String> {
    let open = heads(rows).into_values().flat_map(|head| head.authorizations.values());
    let over = open.filter(|glass| glass.over(now).is_some());
    over.map(|glass| {
        format!("{} (broken glass, not reviewed)", glass.authorization.authorization_id)
    })
    .collect()
}
