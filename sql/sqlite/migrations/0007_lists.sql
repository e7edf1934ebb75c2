-- What the lists of the doors need: whose host a source is at, which ones need a person's eye, labels, and posts by time.
-- The host is computed by whoever writes a source, since no SQL knows its one spelling; NULL is not computed yet (an
-- earlier version wrote the row), '' is none, '(x)' is wherever X is asked.

ALTER TABLE sources ADD COLUMN host TEXT;

CREATE INDEX sources_by_host ON sources (host, id);
CREATE INDEX sources_without_host ON sources (id) WHERE host IS NULL;
-- Few among many: without these, a page of them would be looked for in all of the table.
CREATE INDEX sources_disabled ON sources (id) WHERE enabled = 0;
CREATE INDEX sources_resting ON sources (id) WHERE feed_disabled_at IS NOT NULL;
CREATE INDEX sources_failing ON sources (id) WHERE consecutive_failures > 0;

-- The place keeps nested folders of other readers in their order.
CREATE TABLE source_labels (
    source_id  INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    label      TEXT    NOT NULL,
    place      INTEGER NOT NULL,
    PRIMARY KEY (source_id, label)
) STRICT, WITHOUT ROWID;

CREATE INDEX source_labels_by_label ON source_labels (label, source_id);

CREATE INDEX posts_by_time ON posts (created_at, id);
