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
