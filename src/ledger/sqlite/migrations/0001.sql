-- Schema 1. Never edited once released: a change is another file.
PRAGMA application_id = 1399016497;
PRAGMA user_version = 1;

CREATE TABLE ledger (
    -- One row: which ledger this is. Projection of the stream registry.
    singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
    ledger_id TEXT NOT NULL,
    incarnation INTEGER NOT NULL CHECK (incarnation >= 1)
) STRICT;

CREATE TABLE event (
    -- Append-only: what happened, one hash chain per stream. Everything else is a projection.
    position INTEGER PRIMARY KEY,      -- 1, 2, 3 ... over the whole ledger
    stream TEXT NOT NULL,
    sequence INTEGER NOT NULL CHECK (sequence >= 1), -- 1, 2, 3 ... in the stream
    command_id TEXT NOT NULL,
    at INTEGER NOT NULL,               -- microseconds since 1970; as in body
    kind TEXT NOT NULL,                -- as in body
    execution_key TEXT,                -- as in body
    body TEXT NOT NULL,                -- canonical JSON of at, by and body
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    UNIQUE (stream, sequence)          -- used by the head of a stream, its log, and verify
) STRICT;

CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
BEGIN SELECT raise(ABORT, 'events are never changed'); END;

CREATE TRIGGER event_is_never_deleted BEFORE DELETE ON event
BEGIN SELECT raise(ABORT, 'events are never deleted'); END;

CREATE TABLE service (
    -- Projection of a service's stream: everything but its executions.
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL,          -- sequence of the newest event of the stream
    head TEXT NOT NULL                 -- JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE execution (
    -- Projection of a service's stream: one row per execution key.
    position INTEGER PRIMARY KEY,      -- of the event that it began with
    execution_key TEXT NOT NULL UNIQUE,
    service TEXT NOT NULL,
    intent_id TEXT NOT NULL,
    intent_revision INTEGER NOT NULL,
    dry_run INTEGER NOT NULL CHECK (dry_run IN (0, 1)),
    live INTEGER NOT NULL CHECK (live IN (0, 1)),
    unfinished INTEGER NOT NULL CHECK (unfinished IN (0, 1)),
    state TEXT NOT NULL,
    version INTEGER NOT NULL,          -- sequence of the newest event about the key
    document TEXT NOT NULL             -- JSON
) STRICT;

-- Used by SERVICE@REVISION and by lists of one service, newest first.
CREATE INDEX execution_by_revision ON execution (service, intent_revision);
-- Used by every command: what of a service is under way. Small: finished rows are not in it.
CREATE INDEX execution_unfinished ON execution (service, intent_revision) WHERE unfinished = 1;
-- Holds the rule that an intent id and revision are put once. Simulations are outside of it.
CREATE UNIQUE INDEX execution_intent ON execution (intent_id, intent_revision) WHERE dry_run = 0;

CREATE TABLE document (
    -- Projection of the streams registry and policy: the actuators, and the policy that holds.
    kind TEXT NOT NULL CHECK (kind IN ('actuator', 'policy')),
    name TEXT NOT NULL,
    version INTEGER NOT NULL,          -- sequence of the event that set it
    body TEXT NOT NULL,                -- JSON
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
