//! Many statements in one journey to the server, and the answers that nobody has read yet.
//!
//! Owns what the open transaction has learned ahead of its questions. The answers hold until it
//! changes something: what it decides on is under its locks. After a lost connection there is no
//! transaction, and so nothing of this.

use std::cell::RefCell;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

use crate::ledger::sql::{Bound, Statement, Value};

/// How many statements are under way at once.
pub(super) const AT_ONCE_MAX: usize = 16;

/// What was learned ahead.
#[derive(Default)]
pub(super) struct Ahead(RefCell<Vec<(String, Arc<Vec<Row>>)>>);

impl Ahead {
    /// Keeps the rows that a question was answered with.
    pub(super) fn keep(&self, question: &Bound<'_>, rows: Vec<Row>) {
        let name = name(question.statement, &question.values);
        self.0.borrow_mut().push((name, Arc::new(rows)));
    }

    /// The rows that a question was answered with, if it was.
    pub(super) fn find(&self, statement: Statement, values: &[Value<'_>]) -> Option<Arc<Vec<Row>>> {
        let kept = self.0.borrow();
        if kept.is_empty() {
            return None;
        }
        let name = name(statement, values);
        kept.iter().find(|(question, _)| *question == name).map(|(_, rows)| Arc::clone(rows))
    }

    /// Forgets everything: something was changed, or the transaction is another one.
    pub(super) fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}

/// A question as it is found again. Nothing of it goes to the server.
fn name(statement: Statement, values: &[Value<'_>]) -> String {
    format!("{} {values:?}", statement.text)
}

/// The values of a statement with their types, so that it needs no preparation on the server.
pub(super) fn typed<'v>(values: &'v [Value<'v>]) -> Vec<(&'v (dyn ToSql + Sync), Type)> {
    let typed = |value: &'v Value<'v>| -> (&'v (dyn ToSql + Sync), Type) {
        match value {
            Value::Int(value) => (value, Type::INT8),
            Value::Text(value) => (value, Type::TEXT),
            Value::Bytes(value) => (value, Type::BYTEA),
            Value::OptionalText(value) => (value, Type::TEXT),
        }
    };
    values.iter().map(typed).collect()
}

/// Asks all questions at once; the answers are in their order. After an error of one the server
/// refuses those that follow.
pub(super) async fn ask_all(
    client: &Client,
    questions: &[Bound<'_>],
) -> Vec<Result<Vec<Row>, Error>> {
    join_all(questions.iter().map(async |question| {
        client.query_typed(question.statement.text, &typed(&question.values)).await
    }))
    .await
}

/// Makes all changes at once, in their order; answers how many rows each has changed.
pub(super) async fn change_all(client: &Client, writes: &[Bound<'_>]) -> Vec<Result<u64, Error>> {
    join_all(
        writes.iter().map(async |write| {
            client.execute_typed(write.statement.text, &typed(&write.values)).await
        }),
    )
    .await
}
