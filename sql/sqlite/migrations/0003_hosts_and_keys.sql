-- What is owed to hosts across restarts, and the keys that users lend us, encrypted.

CREATE TABLE hosts (
    host           TEXT PRIMARY KEY,
    last_asked_at  INTEGER,
    held_until     INTEGER,
    held_reason    TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    user_id     INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    provider    TEXT    NOT NULL,
    sealed      BLOB    NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (user_id, provider)
) STRICT, WITHOUT ROWID;
