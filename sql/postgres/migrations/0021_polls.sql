-- The history of polls. Rows are only appended and removed from the front, and there is no index by source: a row names
-- the poll before it, and its source the last one. So a poll without news costs one more row at the end of a table, and
-- not a page of an index.
CREATE SEQUENCE poll_ids;
CREATE TABLE polls (
    id                  bigint PRIMARY KEY,
    source_id           bigint NOT NULL,
    previous_id         bigint,
    at                  timestamptz NOT NULL,
    status_code         bigint,
    error_type          text,
    error               text,
    entries             text,
    is_gap              boolean NOT NULL DEFAULT false,
    full_texts_wanted   bigint,
    bytes               bigint NOT NULL,
    duration_ms         bigint NOT NULL,
    next                text NOT NULL,
    linked_feeds        text,
    full_texts          bigint,
    full_text_failures  bigint,
    full_text_error     text
);
ALTER TABLE sources ADD COLUMN last_poll_id bigint;

-- Polls of all sources by hour and outcome. Each run of a process has rows of its own, which it overwrites with its sums:
-- a repeated write counts nothing twice, and no node waits for another one.
CREATE TABLE poll_hours (
    hour           timestamptz NOT NULL,
    run            bigint NOT NULL,
    outcome        text NOT NULL,
    polls          bigint NOT NULL,
    new_posts      bigint NOT NULL,
    updated_posts  bigint NOT NULL,
    bytes          bigint NOT NULL,
    duration_ms    bigint NOT NULL,
    PRIMARY KEY (hour, run, outcome)
);

-- How requests for a source are made, if not as for all others.
ALTER TABLE sources ADD COLUMN user_agent text;
ALTER TABLE sources ADD COLUMN proxy text;
