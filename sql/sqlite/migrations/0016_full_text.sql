-- Posts whose page is still to be fetched (full text). Apart from the posts, because few posts are in it and its rows
-- change with every attempt. A post in it has the text origin 'feed_pending'.
CREATE TABLE full_text_queue (
    post_id    INTEGER PRIMARY KEY REFERENCES posts (id) ON DELETE CASCADE,
    host       TEXT    NOT NULL,
    queued_at  INTEGER NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    next_at    INTEGER NOT NULL
) STRICT;

-- Pages are fetched host by host.
CREATE INDEX full_text_queue_by_host ON full_text_queue (host, next_at);

-- The age of a post that a backfill stored counts from when it was stored: otherwise it would be removed at the next tick.
DROP INDEX posts_to_clean;
CREATE INDEX posts_to_clean ON posts (CASE WHEN is_page = 1 OR is_backfill = 1 THEN created_at ELSE coalesce(published_at, created_at) END, id)
WHERE is_linked = 0;
