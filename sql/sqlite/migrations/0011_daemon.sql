-- What the daemon must know of itself after a restart: polling that a person paused stays paused.
CREATE TABLE daemon (
    only_row      INTEGER PRIMARY KEY CHECK (only_row = 1),
    paused_since  INTEGER
) STRICT;

INSERT INTO daemon (only_row) VALUES (1);
