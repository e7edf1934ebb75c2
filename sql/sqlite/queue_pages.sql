-- An edited post waits anew. A post whose page was fetched already is not pending: the same poll may be settled twice.
INSERT INTO full_text_queue (post_id, host, queued_at, next_at)
SELECT id, $3, $4, $4
FROM posts
WHERE source_id = $1 AND entry_key = $2 AND text_origin = 'feed_pending'
ON CONFLICT (post_id) DO UPDATE
SET host = excluded.host, queued_at = excluded.queued_at, attempts = 0, next_at = excluded.next_at
