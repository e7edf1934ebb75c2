-- What sources need to be let in (headers, a login), encrypted.

CREATE TABLE source_access (
    source_id   bigint      PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
    sealed      bytea       NOT NULL,
    updated_at  timestamptz NOT NULL
);
