-- Whom new posts are sent to. The posts themselves are the outbox: each webhook remembers the last one that was taken, so that
-- nothing is copied and a settlement costs the same however many webhooks there are.

CREATE TABLE webhooks (
    id                 bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url                text        NOT NULL,
    sealed             bytea       NOT NULL,
    label              text        COLLATE "C",
    enabled            boolean     NOT NULL DEFAULT true,
    disabled_reason    text,
    last_post_id       bigint      NOT NULL,
    failures           bigint      NOT NULL DEFAULT 0,
    retry_at           timestamptz,
    last_error         text,
    last_delivered_at  timestamptz,
    created_at         timestamptz NOT NULL
);
