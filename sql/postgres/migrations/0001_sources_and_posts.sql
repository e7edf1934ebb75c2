-- Who is polled for, what is polled, and what was found.

CREATE TABLE users (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text        NOT NULL UNIQUE,
    created_at  timestamptz NOT NULL
);

CREATE TABLE podcasts (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id     bigint      NOT NULL REFERENCES users (id),
    title       text        NOT NULL,
    created_at  timestamptz NOT NULL
);

CREATE INDEX podcasts_by_user ON podcasts (user_id);

-- Every poll rewrites its source's row: the free space in each page lets that happen without touching an index.
CREATE TABLE sources (
    id                             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version                        bigint      NOT NULL,
    created_at                     timestamptz NOT NULL,
    updated_at                     timestamptz NOT NULL,
    podcast_id                     bigint      REFERENCES podcasts (id),
    type                           text        NOT NULL,
    url                            text        NOT NULL,
    title                          text,
    poll_interval_minutes          bigint,
    poll_delay_seconds             bigint,
    max_failures                   bigint,
    max_backoff_hours              bigint,
    enabled                        boolean     NOT NULL DEFAULT true,
    disabled_reason                text,
    first_polled_at                timestamptz,
    last_polled                    timestamptz,
    poll_requested_at              timestamptz,
    last_success_at                timestamptz,
    last_read_at                   timestamptz,
    last_seen_id                   text,
    etag                           text,
    last_modified                  text,
    retry_after                    timestamptz,
    fresh_until                    timestamptz,
    update_period_minutes          bigint,
    skip_hours                     bigint      NOT NULL DEFAULT 0,
    skip_days                      bigint      NOT NULL DEFAULT 0,
    consecutive_failures           bigint      NOT NULL DEFAULT 0,
    consecutive_permanent_failures bigint      NOT NULL DEFAULT 0,
    failure_run_kind               text,
    failure_run_length             bigint,
    last_failure_type              text,
    last_error_type                text,
    last_error                     text,
    feed_disabled_at               timestamptz,
    feed_disable_reason            text,
    feed_disabled_by               text        CHECK (feed_disabled_by IN ('failures', 'person'))
) WITH (fillfactor = 70);

-- The same URL may be followed for several podcasts, but once for each, and once for none. A URL can be longer than an
-- index entry may be, so its hash stands for it.
CREATE UNIQUE INDEX sources_once ON sources (coalesce(podcast_id, 0), type, md5(url));
CREATE INDEX sources_by_url ON sources (md5(url));
CREATE INDEX sources_by_podcast ON sources (podcast_id) WHERE podcast_id IS NOT NULL;

CREATE TABLE posts (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source_id     bigint      NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    title         text        NOT NULL,
    body          text        NOT NULL,
    url           text,
    author        text,
    published_at  timestamptz,
    created_at    timestamptz NOT NULL,
    content_hash  bytea       NOT NULL CHECK (length(content_hash) = 32),
    is_linked     boolean     NOT NULL DEFAULT false
);

-- lz4 packs long bodies half as fast again as the default; servers built without it keep the default.
DO $$
BEGIN
    ALTER TABLE posts ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;

CREATE UNIQUE INDEX posts_once ON posts (source_id, content_hash);
CREATE INDEX posts_by_source ON posts (source_id, id);
-- Cleanup asks for the oldest by this very expression, and meets no post that is kept because it is linked.
CREATE INDEX posts_to_clean ON posts (coalesce(published_at, created_at), id) WHERE NOT is_linked;
