-- Schema 2: placement. Never edited once released: a change is another file.
CREATE TABLE placement (
    -- Projection of the stream placement: one row per thing that is registered or placed.
    kind TEXT NOT NULL CHECK (kind IN ('location', 'cell', 'profile', 'policy', 'pool', 'usage',
        'relocator', 'environment', 'operation')),
    name TEXT NOT NULL,
    version INTEGER NOT NULL,          -- sequence of the newest event about it
    live INTEGER NOT NULL CHECK (live IN (0, 1)), -- 0: an operation that is over
    idempotency_key TEXT UNIQUE,       -- of an operation
    body TEXT NOT NULL,                -- JSON
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- Used by every change of the placement. Small: operations that are over are not in it.
CREATE INDEX placement_live ON placement (kind, name) WHERE live = 1;

PRAGMA user_version = 2;
