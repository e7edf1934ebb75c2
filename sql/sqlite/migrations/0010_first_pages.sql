-- What the first pages of lists need among very many sources: those that are few, and how many sources a label has.

CREATE INDEX sources_of_pages ON sources (id) WHERE type = 'website';
CREATE INDEX sources_inactive ON sources (id) WHERE enabled = 0 OR feed_disabled_at IS NOT NULL;

-- Counting takes as long as there are sources. Whoever adds or removes labels, the count is right.
CREATE TABLE labels (
    label    TEXT    PRIMARY KEY,
    sources  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO labels (label, sources) SELECT label, count(*) FROM source_labels GROUP BY label;

CREATE TRIGGER label_added AFTER INSERT ON source_labels BEGIN
    INSERT INTO labels (label, sources) VALUES (NEW.label, 1) ON CONFLICT (label) DO UPDATE SET sources = sources + 1;
END;

CREATE TRIGGER label_removed AFTER DELETE ON source_labels BEGIN
    UPDATE labels SET sources = sources - 1 WHERE label = OLD.label;
    DELETE FROM labels WHERE label = OLD.label AND sources = 0;
END;
