//! Every statement of the ledger, in the words that SQLite and PostgreSQL share.

use super::sql::{Statement, many};

pub(super) const READ_IDENTITY: Statement = Statement::few(
    "read the identity of",
    "SELECT ledger_id, incarnation FROM ledger WHERE singleton = 1",
);

pub(super) const INSERT_IDENTITY: Statement = Statement::few(
    "write the identity of",
    "INSERT INTO ledger (singleton, ledger_id, incarnation) VALUES (1, $1, $2)",
);

pub(super) const RAISE_INCARNATION: Statement = Statement::few(
    "write the identity of",
    "UPDATE ledger SET incarnation = $1 WHERE singleton = 1 AND incarnation < $1",
);

/// Which ledger it is, and what sealed it: that is always the newest event of its registry.
pub(super) const READ_STANDING: Statement = Statement::few(
    "read the identity of",
    "SELECT ledger_id, incarnation,
            (SELECT CASE WHEN kind = 'ledger_sealed' THEN body END FROM event
             WHERE stream = 'registry' ORDER BY sequence DESC LIMIT 1)
           FROM ledger WHERE singleton = 1",
);

pub(super) const READ_STREAM_HEAD: Statement = Statement::few(
    "read the head of a stream of",
    "SELECT sequence, hash FROM event WHERE stream = $1 ORDER BY sequence DESC LIMIT 1",
);

/// `position` is given out by the engine, in the order of writing: in a file that is the order of
/// commits, on a server of those of one chain.
pub(super) const INSERT_EVENT: Statement = Statement::few(
    "append an event to",
    "INSERT INTO event (stream, sequence, command_id, at, kind, execution_key, body, hash)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
);

pub(super) const READ_SERVICE: Statement =
    Statement::few("read a service of", "SELECT version, head FROM service WHERE name = $1");

pub(super) const READ_SERVICES: Statement =
    many!("read the services of", "SELECT name, version, head FROM service ORDER BY name");

pub(super) const INSERT_SERVICE: Statement = Statement::few(
    "write a service of",
    "INSERT INTO service (name, version, head) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
);

pub(super) const UPDATE_SERVICE: Statement = Statement::few(
    "write a service of",
    "UPDATE service SET version = $2, head = $3 WHERE name = $1 AND version = $4",
);

// Every reading of executions answers these eleven columns, in this order (columns.rs).
pub(super) const READ_EXECUTION: Statement = Statement::few(
    "read an execution of",
    "SELECT position, execution_key, service, intent_id, intent_revision, dry_run, live,
                  unfinished, state, version, document
           FROM execution WHERE execution_key = $1",
);

pub(super) const READ_EXECUTION_PLACE: Statement = Statement::few(
    "read an execution of",
    "SELECT position, version, service FROM execution WHERE execution_key = $1",
);

pub(super) const READ_UNFINISHED: Statement = Statement::few(
    "read the unfinished executions of",
    "SELECT position, execution_key, service, intent_id, intent_revision, dry_run, live,
                  unfinished, state, version, document
           FROM execution WHERE service = $1 AND unfinished = 1 AND live = 1
           ORDER BY intent_revision DESC, position DESC",
);

/// Ordered by an expression: by the column alone, the whole table would be walked in its order
/// instead of the small index of what is unfinished.
pub(super) const READ_ALL_UNFINISHED: Statement = many!(
    "read the unfinished executions of",
    "SELECT position, execution_key, service, intent_id, intent_revision, dry_run, live,
                  unfinished, state, version, document
           FROM execution WHERE unfinished = 1 AND live = 1 ORDER BY 0 - position"
);

pub(super) const READ_EXECUTIONS_OF_SERVICE: Statement = many!(
    "read the executions of",
    "SELECT position, execution_key, service, intent_id, intent_revision, dry_run, live,
                  unfinished, state, version, document
           FROM execution WHERE service = $1 ORDER BY intent_revision DESC, position DESC"
);

pub(super) const READ_EXECUTIONS: Statement = many!(
    "read the executions of",
    "SELECT position, execution_key, service, intent_id, intent_revision, dry_run, live,
                  unfinished, state, version, document
           FROM execution ORDER BY position DESC"
);

/// How many live intents of a service were accepted: walked once in the life of a service, before
/// the gateway has counted anything of it.
pub(super) const COUNT_ACCEPTED: Statement = Statement::few(
    "count the executions of",
    "SELECT count(*) FROM event AS accepted
           JOIN execution AS of_it ON of_it.execution_key = accepted.execution_key
           WHERE accepted.stream = $1 AND accepted.kind = 'intent_accepted' AND of_it.dry_run = 0",
);

pub(super) const READ_KEY_AT: Statement = Statement::few(
    "read an execution of",
    "SELECT execution_key FROM execution
           WHERE service = $1 AND intent_revision = $2 AND live = 1",
);

pub(super) const READ_INTENT_OWNER: Statement = Statement::few(
    "read an execution of",
    "SELECT execution_key FROM execution
           WHERE intent_id = $1 AND intent_revision = $2 AND dry_run = 0",
);

/// The position is looked up, so that nobody waits for what the engine has given out.
pub(super) const INSERT_EXECUTION: Statement = Statement::few(
    "write an execution of",
    "INSERT INTO execution (position, execution_key, service, intent_id, intent_revision,
                                  dry_run, live, unfinished, state, version, document)
           VALUES ((SELECT position FROM event WHERE stream = $1 AND sequence = $2),
                   $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING",
);

pub(super) const UPDATE_EXECUTION: Statement = Statement::few(
    "write an execution of",
    "UPDATE execution SET live = $2, unfinished = $3, state = $4, version = $5, document = $6
           WHERE execution_key = $1 AND version = $7 AND state = $8",
);

pub(super) const READ_DOCUMENT: Statement = Statement::few(
    "read a document of",
    "SELECT version, body FROM document WHERE kind = $1 AND name = $2",
);

pub(super) const READ_DOCUMENTS: Statement = many!(
    "read the documents of",
    "SELECT kind, name, version, body FROM document ORDER BY kind, name"
);

pub(super) const PUT_DOCUMENT: Statement = Statement::few(
    "write a document of",
    "INSERT INTO document (kind, name, version, body) VALUES ($1, $2, $3, $4)
           ON CONFLICT (kind, name) DO UPDATE SET version = excluded.version, body = excluded.body
           WHERE document.version < excluded.version",
);

// Every reading of the placement answers these six columns, in this order (placement.rs).
pub(super) const READ_PLACED: Statement = Statement::few(
    "read the placement of",
    "SELECT kind, name, version, live, idempotency_key, body FROM placement
           WHERE kind = $1 AND name = $2",
);

pub(super) const READ_PLACED_BY_KEY: Statement = Statement::few(
    "read the placement of",
    "SELECT kind, name, version, live, idempotency_key, body FROM placement
           WHERE idempotency_key = $1",
);

pub(super) const READ_PLACEMENT: Statement = many!(
    "read the placement of",
    "SELECT kind, name, version, live, idempotency_key, body FROM placement
           WHERE live = 1 ORDER BY kind, name"
);

pub(super) const READ_WHOLE_PLACEMENT: Statement = many!(
    "read the placement of",
    "SELECT kind, name, version, live, idempotency_key, body FROM placement ORDER BY kind, name"
);

pub(super) const INSERT_PLACED: Statement = Statement::few(
    "write the placement of",
    "INSERT INTO placement (kind, name, version, live, idempotency_key, body)
           VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
);

pub(super) const UPDATE_PLACED: Statement = Statement::few(
    "write the placement of",
    "UPDATE placement SET version = $3, live = $4, body = $5
           WHERE kind = $1 AND name = $2 AND version = $6",
);

// Every reading of events answers these nine columns, in this order (columns.rs).
pub(super) const READ_EVENTS: Statement = many!(
    "read the events of",
    "SELECT position, stream, sequence, command_id, at, kind, execution_key, body, hash
           FROM event WHERE position > $1 ORDER BY position"
);

pub(super) const READ_EVENTS_NEWEST_FIRST: Statement = many!(
    "read the events of",
    "SELECT position, stream, sequence, command_id, at, kind, execution_key, body, hash
           FROM event WHERE position > $1 ORDER BY position DESC"
);

pub(super) const READ_STREAM: Statement = many!(
    "read the events of",
    "SELECT position, stream, sequence, command_id, at, kind, execution_key, body, hash
           FROM event WHERE stream = $1 ORDER BY sequence"
);

/// The same for `verify`. An index holds a copy of the columns that it is ordered by, and the
/// engine takes them from there. Joined to itself, every column is of the row, as `log` shows it.
pub(super) const VERIFY_STREAM: Statement = many!(
    "read the events of",
    "SELECT written.position, written.stream, written.sequence, written.command_id,
                  written.at, written.kind, written.execution_key, written.body, written.hash
           FROM event AS place
           JOIN event AS written ON written.position = place.position
           WHERE place.stream = $1 ORDER BY place.sequence"
);

pub(super) const READ_STREAM_NEWEST_FIRST: Statement = many!(
    "read the events of",
    "SELECT position, stream, sequence, command_id, at, kind, execution_key, body, hash
           FROM event WHERE stream = $1 ORDER BY sequence DESC"
);

/// By position: what was written lately is little. A chain is named once for each of its events.
pub(super) const READ_STREAMS_AFTER: Statement =
    many!("read the events of", "SELECT stream FROM event WHERE position > $1 ORDER BY position");

/// One step over the index instead of a scan of it.
pub(super) const READ_NEXT_STREAM: Statement =
    Statement::few("read the streams of", "SELECT min(stream) FROM event WHERE stream > $1");

pub(super) const COUNT_EXECUTIONS: Statement =
    Statement::few("count the executions of", "SELECT count(*) FROM execution");

/// Each end by itself: both in one SELECT would walk the whole table.
pub(super) const READ_BOUNDS: Statement = Statement::few(
    "count the events of",
    "SELECT coalesce((SELECT min(position) FROM event), 0),
                  coalesce((SELECT max(position) FROM event), 0)",
);

pub(super) const SAVEPOINT: Statement =
    Statement::few("begin a part of a write to", "SAVEPOINT part");

pub(super) const ROLLBACK_TO_SAVEPOINT: Statement =
    Statement::few("undo a part of a write to", "ROLLBACK TO SAVEPOINT part");

pub(super) const RELEASE_SAVEPOINT: Statement =
    Statement::few("end a part of a write to", "RELEASE SAVEPOINT part");

/// Whether exactly this event is there.
pub(super) const READ_EVENT_HASH: Statement = Statement::few(
    "look for the last commit in",
    "SELECT hash FROM event WHERE stream = $1 AND sequence = $2",
);
