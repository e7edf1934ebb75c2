-- The history of polls. Rows are only appended and removed from the front, and there is no index by source: a row names
-- the poll before it, and its source the last one. So a poll without news costs one more row at the end of a table, and
-- not a page of an index.
CREATE TABLE polls (
    id                  INTEGER PRIMARY KEY,
    source_id           INTEGER NOT NULL,
    previous_id         INTEGER,
    at                  INTEGER NOT NULL,
    status_code         INTEGER,
    error_type          TEXT,
    error               TEXT,
    entries             TEXT,
    is_gap              INTEGER NOT NULL DEFAULT 0,
    full_texts_wanted   INTEGER,
    bytes               INTEGER NOT NULL,
    duration_ms         INTEGER NOT NULL,
    next                TEXT NOT NULL,
    linked_feeds        TEXT,
    full_texts          INTEGER,
    full_text_failures  INTEGER,
    full_text_error     TEXT
);
ALTER TABLE sources ADD COLUMN last_poll_id INTEGER;

-- Polls of all sources by hour and outcome. Each run of a process has rows of its own, which it overwrites with its sums:
-- a repeated write counts nothing twice, and no node waits for another one.
CREATE TABLE poll_hours (
    hour           INTEGER NOT NULL,
    run            INTEGER NOT NULL,
    outcome        TEXT NOT NULL,
    polls          INTEGER NOT NULL,
    new_posts      INTEGER NOT NULL,
    updated_posts  INTEGER NOT NULL,
    bytes          INTEGER NOT NULL,
    duration_ms    INTEGER NOT NULL,
    PRIMARY KEY (hour, run, outcome)
) WITHOUT ROWID;

-- How requests for a source are made, if not as for all others.
ALTER TABLE sources ADD COLUMN user_agent TEXT;
ALTER TABLE sources ADD COLUMN proxy TEXT;
