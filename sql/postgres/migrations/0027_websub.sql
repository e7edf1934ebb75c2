-- WebSub. A source keeps the hubs that its feed named when it was last read (one a line), the last verified push that no
-- poll has followed, and how many polls in a row found something new because of a push.
ALTER TABLE sources ADD COLUMN websub      text;
ALTER TABLE sources ADD COLUMN hubs        text;
ALTER TABLE sources ADD COLUMN hub_topic   text;
ALTER TABLE sources ADD COLUMN pushed_at   timestamptz;
ALTER TABLE sources ADD COLUMN push_streak bigint NOT NULL DEFAULT 0;

CREATE INDEX sources_with_hubs ON sources (id) WHERE hubs IS NOT NULL;

-- Subscriptions at hubs. A source has at most one that is not being ended. A row outlives its source: the hub has to be
-- told. The secret is sealed if the store has a key; otherwise it stands as it is, because it guards hints only.
CREATE TABLE websub_subscriptions (
    token            text    PRIMARY KEY,
    version          bigint NOT NULL DEFAULT 1,
    source_id        bigint NOT NULL,
    hub              text    NOT NULL,
    topic            text    NOT NULL,
    public_url       text    NOT NULL,
    secret           bytea    NOT NULL,
    is_sealed        boolean NOT NULL,
    state            text    NOT NULL,
    asked_at         timestamptz,
    verified_at      timestamptz,
    lease_seconds    bigint,
    next_attempt_at  timestamptz NOT NULL,
    attempts         bigint NOT NULL DEFAULT 0,
    last_error       text,
    created_at       timestamptz NOT NULL,
    pushes           bigint NOT NULL DEFAULT 0,
    rejected         bigint NOT NULL DEFAULT 0,
    useful           bigint NOT NULL DEFAULT 0,
    missed           bigint NOT NULL DEFAULT 0,
    last_push_at     timestamptz
);

CREATE UNIQUE INDEX websub_subscriptions_of_source ON websub_subscriptions (source_id) WHERE state <> 'leaving';
CREATE INDEX websub_subscriptions_by_source ON websub_subscriptions (source_id);
CREATE INDEX websub_subscriptions_due ON websub_subscriptions (next_attempt_at);
