-- Who is polled for, what is polled, and what was found.
-- Times are whole microseconds since 1970; a removed row's number is never given again (AUTOINCREMENT).

CREATE TABLE users (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL UNIQUE,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE podcasts (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    title       TEXT    NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX podcasts_by_user ON podcasts (user_id);

CREATE TABLE sources (
    id                             INTEGER PRIMARY KEY AUTOINCREMENT,
    version                        INTEGER NOT NULL,
    created_at                     INTEGER NOT NULL,
    updated_at                     INTEGER NOT NULL,
    podcast_id                     INTEGER REFERENCES podcasts (id),
    type                           TEXT    NOT NULL,
    url                            TEXT    NOT NULL,
    title                          TEXT,
    poll_interval_minutes          INTEGER,
    poll_delay_seconds             INTEGER,
    max_failures                   INTEGER,
    max_backoff_hours              INTEGER,
    enabled                        INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    disabled_reason                TEXT,
    first_polled_at                INTEGER,
    last_polled                    INTEGER,
    poll_requested_at              INTEGER,
    last_success_at                INTEGER,
    last_read_at                   INTEGER,
    last_seen_id                   TEXT,
    etag                           TEXT,
    last_modified                  TEXT,
    retry_after                    INTEGER,
    fresh_until                    INTEGER,
    update_period_minutes          INTEGER,
    skip_hours                     INTEGER NOT NULL DEFAULT 0,
    skip_days                      INTEGER NOT NULL DEFAULT 0,
    consecutive_failures           INTEGER NOT NULL DEFAULT 0,
    consecutive_permanent_failures INTEGER NOT NULL DEFAULT 0,
    failure_run_kind               TEXT,
    failure_run_length             INTEGER,
    last_failure_type              TEXT,
    last_error_type                TEXT,
    last_error                     TEXT,
    feed_disabled_at               INTEGER,
    feed_disable_reason            TEXT,
    feed_disabled_by               TEXT CHECK (feed_disabled_by IN ('failures', 'person'))
) STRICT;

-- The same URL may be followed for several podcasts, but once for each, and once for none.
CREATE UNIQUE INDEX sources_once ON sources (coalesce(podcast_id, 0), type, url);
CREATE INDEX sources_by_url ON sources (url);
CREATE INDEX sources_by_podcast ON sources (podcast_id) WHERE podcast_id IS NOT NULL;

CREATE TABLE posts (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    source_id     INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    title         TEXT    NOT NULL,
    body          TEXT    NOT NULL,
    url           TEXT,
    author        TEXT,
    published_at  INTEGER,
    created_at    INTEGER NOT NULL,
    content_hash  BLOB    NOT NULL CHECK (length(content_hash) = 32),
    is_linked     INTEGER NOT NULL DEFAULT 0 CHECK (is_linked IN (0, 1))
) STRICT;

CREATE UNIQUE INDEX posts_once ON posts (source_id, content_hash);
CREATE INDEX posts_by_source ON posts (source_id, id);
-- Cleanup asks for the oldest by this very expression, and meets no post that is kept because it is linked.
CREATE INDEX posts_to_clean ON posts (coalesce(published_at, created_at), id) WHERE is_linked = 0;
