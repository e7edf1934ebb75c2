-- What politeness has to remember across restarts: how far a permanent redirect is believed, how silent a host was, and
-- what robots.txt said. The robots of an origin are kept for a day, so that websites do not ask for them with each page.

ALTER TABLE sources ADD COLUMN moved_to TEXT;
ALTER TABLE sources ADD COLUMN moved_days INTEGER;
ALTER TABLE sources ADD COLUMN moved_last_at INTEGER;

ALTER TABLE hosts ADD COLUMN breaker_failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN breaker_openings INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN breaker_open_until INTEGER;

CREATE TABLE robots (
    origin      TEXT    PRIMARY KEY,
    fetched_at  INTEGER NOT NULL,
    rules       TEXT
) STRICT;

CREATE INDEX robots_by_age ON robots (fetched_at);
