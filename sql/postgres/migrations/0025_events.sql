-- What happens to sources, hosts and the daemon, written in the transaction of the change that causes it. Numbers are from
-- the sequence of the ids of posts, so that posts and events have one order and readers one cursor. A source may be gone
-- by the time its event is read. The clean-up bounds age and number of rows.
CREATE TABLE events (
    number     bigint      PRIMARY KEY,
    type       text        NOT NULL,
    at         timestamptz NOT NULL,
    source_id  bigint,
    url        text,
    new_url    text,
    host       text,
    node       text,
    reason     text,
    until      timestamptz
);

CREATE INDEX events_by_source ON events (source_id, number) WHERE source_id IS NOT NULL;

-- Events get their numbers in turns with posts, so that all numbers become visible in their order.
CREATE TRIGGER events_in_order BEFORE INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION take_turns_with_posts();

-- The highest number of an event that the clean-up has removed: a reader behind it has missed events.
ALTER TABLE daemon ADD COLUMN events_removed_to bigint;

-- Sources whose silence has an event, until something new comes.
CREATE TABLE silences (
    source_id  bigint      PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
    noted_at   timestamptz NOT NULL
);

-- Webhooks that are there keep their format. Types are a JSON array; NULL means new and changed posts. While two secrets
-- sign, `rotated_at` says since when; both are in `sealed`.
ALTER TABLE webhooks ADD COLUMN format text NOT NULL DEFAULT 'classic';
ALTER TABLE webhooks ADD COLUMN event_types text;
ALTER TABLE webhooks ADD COLUMN rotated_at timestamptz;
