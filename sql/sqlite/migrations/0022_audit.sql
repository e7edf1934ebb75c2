-- Which caller changed what: one row per change, written in the transaction of the change. The fields are JSON objects with
-- the changed fields only, and never contain a secret. The clean-up bounds age and number of rows.

CREATE TABLE audit (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    at             INTEGER NOT NULL,
    who            TEXT    NOT NULL,
    user_name      TEXT,
    address        TEXT,
    node           TEXT,
    action         TEXT    NOT NULL,
    target         TEXT    NOT NULL,
    target_id      TEXT,
    target_name    TEXT,
    fields_before  TEXT,
    fields_after   TEXT
) STRICT;

CREATE INDEX audit_by_target ON audit (target, target_id, id);
