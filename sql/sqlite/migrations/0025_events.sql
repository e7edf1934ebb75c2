-- What happens to sources, hosts and the daemon, written in the transaction of the change that causes it. Numbers are from
-- the sequence of the ids of posts, so that posts and events have one order and readers one cursor. A source may be gone
-- by the time its event is read. The clean-up bounds age and number of rows.
CREATE TABLE events (
    number     INTEGER PRIMARY KEY,
    type       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    source_id  INTEGER,
    url        TEXT,
    new_url    TEXT,
    host       TEXT,
    node       TEXT,
    reason     TEXT,
    until      INTEGER
) STRICT;

CREATE INDEX events_by_source ON events (source_id, number) WHERE source_id IS NOT NULL;

-- The highest number of an event that the clean-up has removed: a reader behind it has missed events.
ALTER TABLE daemon ADD COLUMN events_removed_to INTEGER;

-- Sources whose silence has an event, until something new comes.
CREATE TABLE silences (
    source_id  INTEGER PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
    noted_at   INTEGER NOT NULL
) STRICT;

-- Webhooks that are there keep their format. Types are a JSON array; NULL means new and changed posts. While two secrets
-- sign, `rotated_at` says since when; both are in `sealed`.
ALTER TABLE webhooks ADD COLUMN format TEXT NOT NULL DEFAULT 'classic';
ALTER TABLE webhooks ADD COLUMN event_types TEXT;
ALTER TABLE webhooks ADD COLUMN rotated_at INTEGER;
