-- Whom new posts are sent to. The posts themselves are the outbox: each webhook remembers the last one that was taken, so that
-- nothing is copied and a settlement costs the same however many webhooks there are.

CREATE TABLE webhooks (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    url                TEXT    NOT NULL,
    sealed             BLOB    NOT NULL,
    label              TEXT,
    enabled            INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    disabled_reason    TEXT,
    last_post_id       INTEGER NOT NULL,
    failures           INTEGER NOT NULL DEFAULT 0,
    retry_at           INTEGER,
    last_error         TEXT,
    last_delivered_at  INTEGER,
    created_at         INTEGER NOT NULL
) STRICT;
