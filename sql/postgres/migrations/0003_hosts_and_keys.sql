-- What is owed to hosts across restarts, and the keys that users lend us, encrypted.

CREATE TABLE hosts (
    host           text COLLATE "C" PRIMARY KEY,
    last_asked_at  timestamptz,
    held_until     timestamptz,
    held_reason    text
) WITH (fillfactor = 70);

CREATE TABLE api_keys (
    user_id     bigint      NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    provider    text        NOT NULL,
    sealed      bytea       NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (user_id, provider)
);
