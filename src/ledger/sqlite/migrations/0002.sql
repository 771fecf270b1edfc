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

-- A row of a service is longer than what a page of an index holds many of: in the tree of its own
-- index it is found by three pages where it was fifteen, at 10^5 services.
CREATE TABLE service_by_row (
    name TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,          -- sequence of the newest event of the stream
    head TEXT NOT NULL                 -- JSON
) STRICT;
INSERT INTO service_by_row SELECT name, version, head FROM service ORDER BY name;
DROP TABLE service;
ALTER TABLE service_by_row RENAME TO service;

PRAGMA user_version = 2;
