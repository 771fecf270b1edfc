//! The rows of an answer, as the ledger reads them.

use std::ops::ControlFlow;
use std::path::Path;

use super::problem;
use crate::ledger::columns::nonsense;
use crate::ledger::error::LedgerError;
use crate::ledger::sql::{Row, RowFlow};

/// Gives one row after the other to its reader, until that has enough.
pub(super) fn walk(
    path: &Path,
    rows: &[tokio_postgres::Row],
    read: &mut dyn FnMut(&dyn Row) -> RowFlow,
) -> RowFlow {
    for row in rows {
        if read(&PostgresRow { row, path })?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

struct PostgresRow<'r> {
    row: &'r tokio_postgres::Row,
    path: &'r Path,
}

impl<'r> PostgresRow<'r> {
    fn get<T: tokio_postgres::types::FromSql<'r>>(&self, column: usize) -> Result<T, LedgerError> {
        self.row.try_get(column).map_err(|error| {
            let name = self.row.columns().get(column).map_or("a column", |column| column.name());
            nonsense(self.path, name.to_owned(), &problem::text(&error))
        })
    }
}

impl Row for PostgresRow<'_> {
    fn int(&self, column: usize) -> Result<i64, LedgerError> {
        self.get(column)
    }

    fn text(&self, column: usize) -> Result<&str, LedgerError> {
        self.get(column)
    }

    fn optional_text(&self, column: usize) -> Result<Option<&str>, LedgerError> {
        self.get(column)
    }

    fn bytes(&self, column: usize) -> Result<&[u8], LedgerError> {
        self.get(column)
    }
}
