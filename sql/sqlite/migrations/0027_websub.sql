-- WebSub. A source keeps the hubs that its feed named when it was last read (one a line), the last verified push that no
-- poll has followed, and how many polls in a row found something new because of a push.
ALTER TABLE sources ADD COLUMN websub      TEXT;
ALTER TABLE sources ADD COLUMN hubs        TEXT;
ALTER TABLE sources ADD COLUMN hub_topic   TEXT;
ALTER TABLE sources ADD COLUMN pushed_at   INTEGER;
ALTER TABLE sources ADD COLUMN push_streak INTEGER NOT NULL DEFAULT 0;

CREATE INDEX sources_with_hubs ON sources (id) WHERE hubs IS NOT NULL;

-- Subscriptions at hubs. A source has at most one that is not being ended. A row outlives its source: the hub has to be
-- told. The secret is sealed if the store has a key; otherwise it stands as it is, because it guards hints only.
CREATE TABLE websub_subscriptions (
    token            TEXT    PRIMARY KEY,
    version          INTEGER NOT NULL DEFAULT 1,
    source_id        INTEGER NOT NULL,
    hub              TEXT    NOT NULL,
    topic            TEXT    NOT NULL,
    public_url       TEXT    NOT NULL,
    secret           BLOB    NOT NULL,
    is_sealed        INTEGER NOT NULL,
    state            TEXT    NOT NULL,
    asked_at         INTEGER,
    verified_at      INTEGER,
    lease_seconds    INTEGER,
    next_attempt_at  INTEGER NOT NULL,
    attempts         INTEGER NOT NULL DEFAULT 0,
    last_error       TEXT,
    created_at       INTEGER NOT NULL,
    pushes           INTEGER NOT NULL DEFAULT 0,
    rejected         INTEGER NOT NULL DEFAULT 0,
    useful           INTEGER NOT NULL DEFAULT 0,
    missed           INTEGER NOT NULL DEFAULT 0,
    last_push_at     INTEGER
) STRICT;

CREATE UNIQUE INDEX websub_subscriptions_of_source ON websub_subscriptions (source_id) WHERE state <> 'leaving';
CREATE INDEX websub_subscriptions_by_source ON websub_subscriptions (source_id);
CREATE INDEX websub_subscriptions_due ON websub_subscriptions (next_attempt_at);
