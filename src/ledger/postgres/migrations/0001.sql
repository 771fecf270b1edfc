-- Schema 1. Never edited once released: a change is another file. As sqlite/migrations/0001.sql, in
-- the words of this engine; texts are compared by their bytes (COLLATE "C"), as SQLite does.
CREATE TABLE ledger_schema (
    -- One row: the version of these tables.
    singleton BIGINT PRIMARY KEY CHECK (singleton = 1),
    version BIGINT NOT NULL
);
INSERT INTO ledger_schema (singleton, version) VALUES (1, 1);

CREATE TABLE ledger (
    -- One row: which ledger this is. Projection of the stream registry.
    singleton BIGINT PRIMARY KEY CHECK (singleton = 1),
    ledger_id TEXT COLLATE "C" NOT NULL,
    incarnation BIGINT NOT NULL CHECK (incarnation >= 1)
);

CREATE TABLE event (
    -- Append-only: what happened, one hash chain per stream. Everything else is a projection.
    position BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- rising, with gaps
    stream TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL CHECK (sequence >= 1), -- 1, 2, 3 ... in the stream
    command_id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,                -- microseconds since 1970; as in body
    kind TEXT COLLATE "C" NOT NULL,    -- as in body
    execution_key TEXT COLLATE "C",    -- as in body
    body TEXT COLLATE "C" NOT NULL,    -- canonical JSON of at, by and body
    hash BYTEA NOT NULL CHECK (length(hash) = 32),
    UNIQUE (stream, sequence)          -- used by the head of a stream, its log, and verify
);

CREATE FUNCTION events_are_never_changed() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'events are never changed and never deleted'; END $$;

CREATE TRIGGER event_is_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON event
    FOR EACH STATEMENT EXECUTE FUNCTION events_are_never_changed();
-- Also where a replication role would switch triggers off.
ALTER TABLE event ENABLE ALWAYS TRIGGER event_is_never_changed;

CREATE TABLE service (
    -- Projection of a service's stream: everything but its executions.
    name TEXT COLLATE "C" PRIMARY KEY,
    version BIGINT NOT NULL,           -- sequence of the newest event of the stream
    head TEXT COLLATE "C" NOT NULL     -- JSON
);

CREATE TABLE execution (
    -- Projection of a service's stream: one row per execution key.
    position BIGINT PRIMARY KEY,       -- of the event that it began with
    execution_key TEXT COLLATE "C" NOT NULL UNIQUE,
    service TEXT COLLATE "C" NOT NULL,
    intent_id TEXT COLLATE "C" NOT NULL,
    intent_revision BIGINT NOT NULL,
    dry_run BIGINT NOT NULL CHECK (dry_run IN (0, 1)),
    live BIGINT NOT NULL CHECK (live IN (0, 1)),
    unfinished BIGINT NOT NULL CHECK (unfinished IN (0, 1)),
    state TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,           -- sequence of the newest event about the key
    document TEXT COLLATE "C" NOT NULL -- JSON
);

-- Used by SERVICE@REVISION and by lists of one service, newest first.
CREATE INDEX execution_by_revision ON execution (service, intent_revision);
-- Used by every command: what of a service is under way. Small: finished rows are not in it.
CREATE INDEX execution_unfinished ON execution (service, intent_revision) WHERE unfinished = 1;
-- Holds the rule that an intent id and revision are put once. Simulations are outside of it.
CREATE UNIQUE INDEX execution_intent ON execution (intent_id, intent_revision) WHERE dry_run = 0;

CREATE TABLE document (
    -- Projection of the streams registry and policy: the actuators, and the policy that holds.
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('actuator', 'policy')),
    name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,           -- sequence of the event that set it
    body TEXT COLLATE "C" NOT NULL,    -- JSON
    PRIMARY KEY (kind, name)
);
