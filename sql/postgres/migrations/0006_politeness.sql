-- What politeness has to remember across restarts: how far a permanent redirect is believed, how silent a host was, and
-- what robots.txt said. The robots of an origin are kept for a day, so that websites do not ask for them with each page.

ALTER TABLE sources ADD COLUMN moved_to text;
ALTER TABLE sources ADD COLUMN moved_days bigint;
ALTER TABLE sources ADD COLUMN moved_last_at timestamptz;

ALTER TABLE hosts ADD COLUMN breaker_failures bigint NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN breaker_openings bigint NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN breaker_open_until timestamptz;

CREATE TABLE robots (
    origin      text        COLLATE "C" PRIMARY KEY,
    fetched_at  timestamptz NOT NULL,
    rules       text
);

CREATE INDEX robots_by_age ON robots (fetched_at);
