-- An edited post waits anew. A post whose page was fetched already is not pending: the same poll may be settled twice.
INSERT INTO full_text_queue (post_id, host, queued_at, next_at)
SELECT posts.id, wanted.host, wanted.at, wanted.at
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::timestamptz[]) AS wanted (source_id, entry_key, host, at)
JOIN posts ON posts.source_id = wanted.source_id AND posts.entry_key = wanted.entry_key
WHERE posts.text_origin = 'feed_pending'
ON CONFLICT (post_id) DO UPDATE
SET host = excluded.host, queued_at = excluded.queued_at, attempts = 0, next_at = excluded.next_at
