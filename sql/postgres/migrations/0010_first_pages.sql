-- What the first pages of lists need among very many sources: those that are few, and how many sources a label has.

CREATE INDEX sources_of_pages ON sources (id) WHERE type = 'website';
CREATE INDEX sources_inactive ON sources (id) WHERE NOT enabled OR feed_disabled_at IS NOT NULL;

-- Counting takes as long as there are sources. Whoever adds or removes labels, the count is right.
CREATE TABLE labels (
    label    text   COLLATE "C" PRIMARY KEY,
    sources  bigint NOT NULL
) WITH (fillfactor = 70);

INSERT INTO labels (label, sources) SELECT label, count(*) FROM source_labels GROUP BY label;

-- Two transactions that count the same labels in another order would wait for each other for ever, so they take turns.
CREATE FUNCTION take_turns_with_labels() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(7377267653211903);
    RETURN NULL;
END
$$;

CREATE FUNCTION count_added_labels() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO labels (label, sources)
    SELECT label, count(*) FROM added GROUP BY label
    ON CONFLICT (label) DO UPDATE SET sources = labels.sources + excluded.sources;
    RETURN NULL;
END
$$;

CREATE FUNCTION count_removed_labels() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE labels SET sources = labels.sources - gone.sources
    FROM (SELECT label, count(*) AS sources FROM removed GROUP BY label) AS gone
    WHERE labels.label = gone.label;
    DELETE FROM labels WHERE sources = 0 AND label IN (SELECT label FROM removed);
    RETURN NULL;
END
$$;

CREATE TRIGGER labels_in_turn BEFORE INSERT OR DELETE ON source_labels
    FOR EACH STATEMENT EXECUTE FUNCTION take_turns_with_labels();
CREATE TRIGGER labels_added AFTER INSERT ON source_labels
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_added_labels();
CREATE TRIGGER labels_removed AFTER DELETE ON source_labels
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_removed_labels();
