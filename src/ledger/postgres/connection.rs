//! The connection: made, kept, lost, made again. Every wait has an end.
//!
//! The client library is asynchronous; its runtime is a detail of this file, runs on the calling
//! thread, and only while somebody waits here.

mod asking;
mod looking;

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::poll_fn;
use tokio::runtime::Runtime;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Client, Connection, Socket, tls::TlsStream};

use super::address::ServerAddress;
use super::problem;
use crate::crash;
use crate::domain::time::DurationMs;
use crate::ledger::error::LedgerError;
use crate::ledger::in_the_way::InTheWay;
use crate::ledger::sql::CommitError;
use crate::ledger::{OpenOptions, WhileAsked};
use asking::sliced;

/// How long one statement may take, and how long a client that has stopped in a transaction may
/// keep its locks.
const STATEMENT_TIMEOUT: DurationMs = DurationMs::from_secs(30);

/// How much longer than the server we wait for its answer before we give the connection up.
const GRACE: Duration = Duration::from_secs(5);

/// How long an end of a transaction that nobody needs may take.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a server may take to answer whoever has no time left: one that is there answers in
/// less, and what it says is worth it.
const ANSWERS: Duration = Duration::from_secs(3);

/// Why there is no answer where whoever waited has ended the wait.
const GIVEN_UP: &str = "its answer is not waited for any more";

/// A server, and the connection to it while there is one.
pub(super) struct Server {
    address: ServerAddress,
    lock_timeout: DurationMs,
    runtime: Runtime,
    link: RefCell<Option<Link>>,
    /// The process of the server that works for us in the open transaction, as far as it has told;
    /// behind a pooler it may be another one in the next.
    backend: Cell<i64>,
    /// When whoever asks has no more time for answers; none where the usual patience is theirs.
    end: Cell<Option<Instant>>,
    /// Who looks after waits for answers, where somebody does.
    watch: RefCell<Option<WhileAsked>>,
    /// Whether the last statement failed: its transaction is lost, and COMMIT would answer well.
    is_aborted: Cell<bool>,
}

/// One connection.
struct Link {
    client: Client,
    /// What the server warned of.
    warnings: Warnings,
}

type Warnings = Arc<Mutex<Vec<String>>>;

/// Reads what the server sends, for as long as somebody waits for it.
async fn drive<S>(mut connection: Connection<Socket, S>, warnings: Warnings)
where
    S: TlsStream + tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            // The other word for it is in the language of the server's messages.
            && notice.parsed_severity() == Some(Severity::Warning)
        {
            let mut warnings = warnings.lock().unwrap_or_else(PoisonError::into_inner);
            warnings.push(notice.message().to_owned());
        }
    }
}

impl Server {
    pub(super) fn connect(
        address: ServerAddress,
        options: OpenOptions,
    ) -> Result<Self, LedgerError> {
        let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = built.map_err(|error| LedgerError::Failed {
            doing: "connect to",
            path: address.shown().into(),
            problem: error.to_string(),
        })?;
        let (link, is_aborted) = (RefCell::new(None), Cell::new(false));
        let (lock_timeout, end) = (options.lock_timeout, Cell::new(None));
        let watch = RefCell::new(options.while_asked.map(|watch| watch()));
        let backend = Cell::new(0);
        let server = Self { address, lock_timeout, runtime, link, backend, end, watch, is_aborted };
        server.answer_within(options.answer_within);
        server.reconnect()?;
        Ok(server)
    }

    /// Another connection in place of the one that is there.
    pub(super) fn reconnect(&self) -> Result<(), LedgerError> {
        drop(self.link.take());
        self.backend.set(0);
        let warnings = Warnings::default();
        let patience = self.in_time(self.address.connect_timeout());
        let silence = async || InTheWay::Silence;
        let connected = self.while_watched(|may_wait| {
            let connected = self.connected(&warnings);
            self.within(patience, sliced(connected, may_wait, silence, &mut None))
        });
        match connected {
            Ok(Some(Ok(client))) => {
                *self.link.borrow_mut() = Some(Link { client, warnings });
                Ok(())
            }
            Ok(Some(Err(error))) => Err(problem::connecting(&self.address, &error)),
            Ok(None) => Err(self.unreachable("connect to", GIVEN_UP)),
            Err(_) => Err(self.unreachable("connect to", &no_answer_within(patience))),
        }
    }

    /// A connection more; the runtime reads what it sends.
    async fn connected(&self, warnings: &Warnings) -> Result<Client, tokio_postgres::Error> {
        let config = self.address.config();
        let Some(tls) = self.address.tls() else {
            let (client, connection) = config.connect(tokio_postgres::NoTls).await?;
            self.runtime.spawn(drive(connection, Arc::clone(warnings)));
            return Ok(client);
        };
        let (client, connection) = config.connect(tls).await?;
        self.runtime.spawn(drive(connection, Arc::clone(warnings)));
        Ok(client)
    }

    /// Keeps which process of the server works for us.
    pub(super) fn is_served_by(&self, backend: i64) {
        self.backend.set(backend);
    }

    pub(super) fn while_asked(&self, ask: WhileAsked) {
        *self.watch.borrow_mut() = Some(ask);
    }

    /// Waits for no answer beyond so long from now, or not far.
    pub(super) fn answer_within(&self, left: Option<Duration>) {
        self.end.set(left.and_then(|left| now().checked_add(left)));
    }

    /// So long, but not far beyond what the caller has.
    fn in_time(&self, patience: Duration) -> Duration {
        let left = self.end.get().map(|end| end.saturating_duration_since(now()));
        left.map_or(patience, |left| patience.min(left.saturating_add(ANSWERS)))
    }

    fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Result<T, Elapsed> {
        self.runtime.block_on(async { timeout(limit, work).await })
    }

    /// The address as errors show it.
    pub(super) fn path(&self) -> PathBuf {
        self.address.shown().into()
    }

    pub(super) fn schema(&self) -> &str {
        self.address.schema()
    }

    /// The search path, the lock timeout and the statement timeout of a transaction.
    pub(super) fn settings(&self) -> [String; 3] {
        [
            format!("\"{}\", pg_temp", self.address.schema()),
            self.lock_timeout.as_millis().max(1).to_string(),
            self.statement_timeout().as_millis().to_string(),
        ]
    }

    fn statement_timeout(&self) -> DurationMs {
        let usual =
            crash::statement_timeout_ms().map_or(STATEMENT_TIMEOUT, DurationMs::from_millis);
        let waiting = self.lock_timeout.as_millis().saturating_mul(2);
        usual.max(DurationMs::from_millis(waiting))
    }

    fn patience(&self) -> Duration {
        let grace = crash::statement_timeout_ms().map_or(GRACE, Duration::from_millis);
        self.statement_timeout().to_std().saturating_add(grace)
    }

    /// What an error of a statement means. After one that takes the connection with it there is
    /// none any more.
    pub(super) fn failed(&self, doing: &'static str, error: &tokio_postgres::Error) -> LedgerError {
        let error = problem::of(doing, self.path(), self.lock_timeout, error);
        self.is_aborted.set(true);
        if error.is_unreachable() {
            drop(self.link.take());
        }
        error
    }

    /// Runs a text without parameters or rows.
    pub(super) fn run(&self, doing: &'static str, text: &str) -> Result<(), LedgerError> {
        self.ask(doing, async |client| client.batch_execute(text).await)
    }

    /// Commits. A warning means that something was not as it should be: after *canceling wait for
    /// synchronous replication* the write is there, and may be gone after a fail-over. Whoever has
    /// no time left is told that nobody knows yet; the server goes on with it.
    pub(super) fn commit(&self) -> Result<(), CommitError> {
        let warnings = self.link.borrow().as_ref().map(|link| Arc::clone(&link.warnings));
        let warnings = warnings.unwrap_or_default();
        let lock = || warnings.lock().unwrap_or_else(PoisonError::into_inner);
        lock().clear();
        if self.is_aborted.get() && self.link.borrow().is_some() {
            let problem = "an earlier statement of it failed".to_owned();
            let (doing, path) = ("commit to", self.path());
            return Err(CommitError::NotApplied(LedgerError::Failed { doing, path, problem }));
        }
        let commit = async |client: &Client| client.batch_execute("COMMIT").await;
        // To end it there would leave a row that no standby has.
        let committed = self.watched("commit to", commit).and_then(|committed| {
            committed.ok_or_else(|| {
                drop(self.link.take());
                self.unreachable("commit to", GIVEN_UP)
            })
        });
        match committed {
            Ok(()) => lock().pop().map_or(Ok(()), |problem| {
                let (doing, path) = ("commit to", self.path());
                Err(CommitError::Unknown(LedgerError::Failed { doing, path, problem }))
            }),
            // What the server refuses at COMMIT it has rolled back.
            Err(error @ (LedgerError::Busy { .. } | LedgerError::Full { .. })) => {
                Err(CommitError::NotApplied(error))
            }
            Err(error) => Err(CommitError::Lost(error)),
        }
    }

    /// Ends a transaction that is not to be kept. A connection on which that does not work is
    /// given up, which ends it too.
    pub(super) fn rollback(&self) {
        let link = self.link.borrow();
        let Some(connected) = link.as_ref().filter(|link| !link.client.is_closed()) else {
            return;
        };
        let ended = self.within(ROLLBACK_TIMEOUT, connected.client.batch_execute("ROLLBACK"));
        let is_ended = matches!(ended, Ok(Ok(())));
        drop(link);
        if !is_ended {
            drop(self.link.take());
        }
    }

    /// There is no ledger in the schema.
    pub(super) fn missing(&self) -> LedgerError {
        LedgerError::Missing { path: self.path(), why: "its schema has no tables of ours" }
    }

    /// Others were in the way for as long as a statement may take.
    pub(super) fn out_of_time(&self, doing: &'static str) -> LedgerError {
        let waited = self.statement_timeout();
        LedgerError::busy(doing, self.path(), waited)
    }

    /// The role may not look into the schema of the ledger.
    pub(super) fn not_permitted(&self, role: &str) -> LedgerError {
        let schema = self.schema();
        let quoted = role.replace('"', "\"\"");
        let problem = format!(
            "{role} may not use the schema {schema}: its owner gives the right with \
             GRANT USAGE ON SCHEMA {schema} TO \"{quoted}\", and those on its tables"
        );
        LedgerError::NotPermitted { doing: "open", path: self.path(), problem }
    }

    /// Nothing was recorded: the server could not be asked.
    pub(super) fn unreachable(&self, doing: &'static str, problem: &str) -> LedgerError {
        LedgerError::Unreachable { doing, path: self.path(), problem: problem.to_owned() }
    }
}

fn no_answer_within(patience: Duration) -> String {
    format!("no answer within {} s", patience.as_secs_f64().ceil())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the caller's deadline is kept elsewhere, on its clock"
)]
fn now() -> Instant {
    Instant::now()
}
