-- Schema 2: placement. Never edited once released: a change is another file. As
-- sqlite/migrations/0002.sql, in the words of this engine.
CREATE TABLE placement (
    -- Projection of the stream placement: one row per thing that is registered or placed.
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('location', 'cell', 'profile', 'policy', 'pool',
        'usage', 'relocator', 'environment', 'operation')),
    name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,           -- sequence of the newest event about it
    live BIGINT NOT NULL CHECK (live IN (0, 1)), -- 0: an operation that is over
    idempotency_key TEXT COLLATE "C" UNIQUE, -- of an operation
    body TEXT COLLATE "C" NOT NULL,    -- JSON
    PRIMARY KEY (kind, name)
);

-- Used by every change of the placement. Small: operations that are over are not in it.
CREATE INDEX placement_live ON placement (kind, name) WHERE live = 1;

UPDATE ledger_schema SET version = 2 WHERE singleton = 1;
