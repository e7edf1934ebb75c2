-- What sources need to be let in (headers, a login), encrypted.

CREATE TABLE source_access (
    source_id   INTEGER PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
    sealed      BLOB    NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;
