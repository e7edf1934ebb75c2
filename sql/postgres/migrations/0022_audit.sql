-- Which caller changed what: one row per change, written in the transaction of the change. The fields are JSON objects with
-- the changed fields only, and never contain a secret. The clean-up bounds age and number of rows.

CREATE TABLE audit (
    id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at             timestamptz NOT NULL,
    who            text        NOT NULL,
    user_name      text,
    address        text,
    node           text,
    action         text        NOT NULL,
    target         text        NOT NULL,
    target_id      text,
    target_name    text,
    fields_before  text,
    fields_after   text
);

CREATE INDEX audit_by_target ON audit (target, target_id, id);
