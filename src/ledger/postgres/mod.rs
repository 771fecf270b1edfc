//! PostgreSQL: one ledger for more than one host. A schema of its own, no server of ours.
//!
//! Owns the only connection to the server, and the locks that make every write serializable in
//! effect: one advisory lock per chain, for the time of a transaction, always in the order of
//! [`Lock`]. Keeps nothing between transactions but the connection, so that a pooler in transaction
//! mode may stand between. After a lost connection nothing of an open transaction remains, but for
//! one whose COMMIT was sent: see [`CommitError`].

mod address;
mod ahead;
mod check;
mod connection;
mod life;
mod locks;
mod problem;
mod rows;

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::TryStreamExt;
use tokio_postgres::types::{ToSql, Type};

pub use address::{AddressError, ServerAddress, Surroundings};

use super::error::LedgerError;
use super::sql::{Bound, CommitError, Engine, Lock, MayWait, Row, RowFlow, Statement, Value};
use crate::domain::time::Timestamp;
use crate::ledger::{OpenOptions, WhileAsked};
use ahead::{AT_ONCE_MAX, Ahead, typed};
use connection::Server;
pub(super) use life::schema_version;
use locks::{LOCKS, advisory};
use rows::walk;

/// How many rows of a long answer are asked for at once.
const ROWS_AT_ONCE: &str = "FETCH 256 FROM walk";

const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// Each statement sees what was committed before it began, so what is read after the locks is what
/// their last holder has left.
const BEGIN_WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// For this transaction only, because a pooler gives the connection to somebody else after it.
/// Temporary tables come last, so that nobody's can stand in for one of ours. What waits for more
/// than the local disk (`synchronous_commit`) is left as it is.
const SETTINGS: &str = "SELECT set_config('search_path', $1, true),
    set_config('lock_timeout', $2, true), set_config('statement_timeout', $3, true),
    set_config('idle_in_transaction_session_timeout', $3, true),
    set_config('synchronous_commit',
               CASE WHEN current_setting('synchronous_commit') IN ('on', 'remote_apply')
                    THEN current_setting('synchronous_commit') ELSE 'on' END, true)";

/// Its own statement after the locks: whoever held them may have written what is newer than the
/// beginning of this transaction. Beside it whether a COMMIT waits for standbys, and whom the
/// server knows at the other end: a role that was taken on later (`SET ROLE`) does not count.
const CLOCK: &str = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT),
    current_setting('synchronous_standby_names') <> '', CAST(session_user AS TEXT)";

/// Writes to the log alone, in a transaction that has an id: its COMMIT waits for the standbys, who
/// have then everything that was committed before.
const BARRIER: &str = "SELECT pg_logical_emit_message(true, 'scalectl', '')";

const STORAGE_PROBLEMS: Statement = Statement::few(
    "check the storage of",
    "SELECT 'the index ' || CAST(indexrelid AS regclass) || ' is not valid'
     FROM pg_catalog.pg_index WHERE indrelid IN ('ledger'::regclass, 'event'::regclass,
          'service'::regclass, 'execution'::regclass, 'document'::regclass)
          AND NOT (indisvalid AND indisready)
     UNION ALL
     SELECT 'the trigger that holds events as they are is missing or switched off'
     WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_trigger WHERE tgrelid = 'event'::regclass
                       AND tgname = 'event_is_never_changed' AND tgenabled = 'A')
     UNION ALL
     SELECT name || ' is off: a crash of the server can lose or damage what was recorded'
     FROM pg_catalog.pg_settings
     WHERE name IN ('fsync', 'full_page_writes') AND setting <> 'on'",
);

/// One connection.
pub(super) struct PostgresEngine {
    server: Server,
    /// What the server's clock said when the transaction had its locks.
    now: Cell<Option<Timestamp>>,
    /// Whether a COMMIT waits for standbys, as the last transaction has seen it.
    waits_for_standbys: Cell<bool>,
    /// The ledger that was found at first; after a new connection it must be the same.
    identity: RefCell<Option<(String, i64)>>,
    ahead: Ahead,
    /// Whom the server knew at first; after a new connection it must be the same, because it is
    /// evidence of who writes.
    role: RefCell<Option<String>>,
}

impl PostgresEngine {
    /// Connects, and checks that the server keeps what it says to keep. The transaction in which
    /// that was read is left open.
    pub(super) fn open(address: &ServerAddress, options: OpenOptions) -> Result<Self, LedgerError> {
        let engine = Self::connect(address, options)?;
        engine.begin_read()?;
        if !engine.check_server()? {
            return Err(engine.server.missing());
        }
        engine.check_schema()?;
        Ok(engine)
    }

    fn connect(address: &ServerAddress, options: OpenOptions) -> Result<Self, LedgerError> {
        let server = Server::connect(address.clone(), options)?;
        Ok(Self {
            server,
            now: Cell::new(None),
            waits_for_standbys: Cell::new(false),
            identity: RefCell::new(None),
            ahead: Ahead::default(),
            role: RefCell::new(None),
        })
    }

    fn begin(
        &self,
        text: &'static str,
        locks: &[Lock],
        ahead: &[Bound<'_>],
        may_wait: MayWait<'_>,
    ) -> Result<(), LedgerError> {
        let begun = match self.begin_once(text, locks, ahead, may_wait) {
            // The server went away since the last transaction: nothing was begun there.
            Err(error) if error.is_unreachable() => self.begin_anew(text, locks, ahead, may_wait),
            begun => begun,
        };
        // Without the lock the transaction is there all the same; no other could begin.
        begun.inspect_err(|_| self.server.rollback())
    }

    fn begin_anew(
        &self,
        text: &'static str,
        locks: &[Lock],
        ahead: &[Bound<'_>],
        may_wait: MayWait<'_>,
    ) -> Result<(), LedgerError> {
        self.server.reconnect()?;
        self.begin_once(text, locks, ahead, may_wait)?;
        self.check_same_ledger()
    }

    /// Everything in one round trip, the clock only after the locks, and after it what is asked
    /// for first.
    fn begin_once(
        &self,
        text: &'static str,
        locks: &[Lock],
        ahead: &[Bound<'_>],
        may_wait: MayWait<'_>,
    ) -> Result<(), LedgerError> {
        self.ahead.forget();
        let settings = self.server.settings();
        let locks = advisory(self.server.schema(), locks);
        let is_reading = text == BEGIN_READ || locks.is_empty();
        let doing = if is_reading { "read" } else { "write to" };
        let is_out_of_time = Cell::new(false);
        let begun = self.server.ask_while(doing, may_wait, async |client| {
            let settings =
                settings.each_ref().map(|value| (value as &(dyn ToSql + Sync), Type::TEXT));
            let locks: &[(&(dyn ToSql + Sync), Type)] = &[(&locks, Type::TEXT)];
            let (begun, set, locked, clock, answers) = futures_util::join!(
                client.batch_execute(text),
                client.query_typed(SETTINGS, &settings),
                client.query_typed(LOCKS, locks),
                client.query_typed_one(CLOCK, &[]),
                ahead::ask_all(client, ahead),
            );
            begun?;
            set?;
            // Each lock came in time, and all of them together did not.
            is_out_of_time.set(matches!(&locked, Err(e) if problem::is_cancelled(e)));
            locked?;
            let clock = clock?;
            let (now, waits) = (clock.try_get::<_, i64>(0)?, clock.try_get::<_, bool>(1)?);
            Ok((now, waits, clock.try_get::<_, String>(2)?, answers))
        });
        let out_of_time = |error| {
            if is_out_of_time.get() { self.server.out_of_time(doing) } else { error }
        };
        let (now, waits, role, answers) = begun.map_err(out_of_time)?;
        self.waits_for_standbys.set(waits);
        self.now.set(Timestamp::from_micros(now));
        self.check_same_role(role)?;
        self.keep(ahead, answers)
    }

    fn keep(
        &self,
        questions: &[Bound<'_>],
        answers: Vec<Result<Vec<tokio_postgres::Row>, tokio_postgres::Error>>,
    ) -> Result<(), LedgerError> {
        for (question, answer) in questions.iter().zip(answers) {
            let rows =
                answer.map_err(|error| self.server.failed(question.statement.doing, &error))?;
            self.ahead.keep(question, rows);
        }
        Ok(())
    }
}

impl Engine for PostgresEngine {
    fn begin_read(&self) -> Result<(), LedgerError> {
        self.begin(BEGIN_READ, &[], &[], &mut || ControlFlow::Continue(()))
    }

    fn begin_write(&self, locks: &[Lock]) -> Result<(), LedgerError> {
        self.begin(BEGIN_WRITE, locks, &[], &mut || ControlFlow::Continue(()))
    }

    /// A lock is waited for in one go: whoever asks for it anew stands behind all others, and
    /// whoever wants it alone might never come to it.
    fn begin_write_ahead(
        &self,
        locks: &[Lock],
        ahead: &[Bound<'_>],
        may_wait: MayWait<'_>,
    ) -> Result<(), LedgerError> {
        self.begin(BEGIN_WRITE, locks, ahead, may_wait)
    }

    fn look_ahead(&self, questions: &[Bound<'_>]) -> Result<(), LedgerError> {
        let is_new = |it: &&Bound<'_>| self.ahead.find(it.statement, &it.values).is_none();
        let new: Vec<Bound<'_>> = questions.iter().filter(is_new).cloned().collect();
        // One alone costs the same when it is asked.
        if new.len() < 2 {
            return Ok(());
        }
        for some in new.chunks(AT_ONCE_MAX) {
            let answers =
                self.server.ask("read", async |client| Ok(ahead::ask_all(client, some).await));
            self.keep(some, answers?)?;
        }
        Ok(())
    }

    fn while_asked(&self, ask: WhileAsked) {
        self.server.while_asked(ask);
    }

    fn answer_within(&self, left: Option<Duration>) {
        self.server.answer_within(left);
    }

    fn knows(&self, ledger_id: &str, incarnation: i64) {
        *self.identity.borrow_mut() = Some((ledger_id.to_owned(), incarnation));
    }

    fn now(&self) -> Option<Timestamp> {
        self.now.get()
    }

    fn role(&self) -> Option<String> {
        self.role.borrow().clone()
    }

    fn leaves_gaps(&self) -> bool {
        true
    }

    fn check_may_write(&self) -> Result<(), LedgerError> {
        self.refuse_unwritable()
    }

    /// What is read in the same transaction is as of before the locks; nothing is.
    fn outwait(&self, locks: &[Lock], may_wait: MayWait<'_>) -> Result<bool, LedgerError> {
        self.begin(BEGIN_READ, locks, &[], may_wait)?;
        self.server.rollback();
        Ok(true)
    }

    /// A row whose COMMIT was broken off while it waited for a standby is there for everybody, and
    /// is gone if the standby takes over.
    fn confirm(&self) -> Result<(), LedgerError> {
        if !self.waits_for_standbys.get() {
            return Ok(());
        }
        let confirmed = self.begin_write(&[]).and_then(|()| {
            self.server.run("confirm what is in", BARRIER)?;
            self.server.commit().map_err(CommitError::into_problem)
        });
        let path = self.server.path();
        confirmed.map_err(|error| LedgerError::Unconfirmed { path, problem: error.to_string() })
    }

    fn commit(&self) -> Result<(), CommitError> {
        self.server.commit()
    }

    fn rollback(&self) {
        self.server.rollback();
    }

    fn exec(&self, statement: Statement, values: &[Value<'_>]) -> Result<u64, LedgerError> {
        self.ahead.forget();
        let values = typed(values);
        self.server.ask(statement.doing, async |client| {
            client.execute_typed(statement.text, &values).await
        })
    }

    fn exec_all(&self, writes: &[Bound<'_>]) -> Result<Vec<u64>, LedgerError> {
        self.ahead.forget();
        let mut counts = Vec::with_capacity(writes.len());
        for some in writes.chunks(AT_ONCE_MAX) {
            let doing = some[0].statement.doing;
            let changed =
                self.server.ask(doing, async |client| Ok(ahead::change_all(client, some).await))?;
            for (write, count) in some.iter().zip(changed) {
                let failed = |error| self.server.failed(write.statement.doing, &error);
                counts.push(count.map_err(failed)?);
            }
        }
        Ok(counts)
    }

    fn each(
        &self,
        statement: Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> RowFlow,
    ) -> Result<(), LedgerError> {
        let Some(cursor) = statement.cursor else {
            if let Some(rows) = self.ahead.find(statement, values) {
                return walk(&self.server.path(), &rows, row).map(|_| ());
            }
            let values = typed(values);
            let rows = self.server.ask(statement.doing, async |client| {
                client.query_typed(statement.text, &values).await
            })?;
            return walk(&self.server.path(), &rows, row).map(|_| ());
        };
        self.exec(Statement { text: cursor, ..statement }, values)?;
        loop {
            let rows = self.server.ask(statement.doing, async |client| {
                let rows = client.query_typed_raw::<&str, [(&str, Type); 0]>(ROWS_AT_ONCE, []);
                rows.await?.try_collect::<Vec<_>>().await
            })?;
            let walked = walk(&self.server.path(), &rows, row);
            if rows.is_empty() || !matches!(walked, Ok(ControlFlow::Continue(()))) {
                // Also where a row made no sense: the next walk has the same name.
                let closed = self.server.run(statement.doing, "CLOSE walk");
                return walked.map(|_| ()).and(closed);
            }
        }
    }

    fn storage_problems(&self, _thorough: bool, limit: usize) -> Result<Vec<String>, LedgerError> {
        let mut problems = Vec::new();
        self.each(STORAGE_PROBLEMS, &[], &mut |row| {
            problems.push(row.text(0)?.to_owned());
            let is_full = problems.len() >= limit;
            Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(problems)
    }
}
